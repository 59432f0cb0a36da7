"""The models of the server: loaded on first use, loaded again if their files change, and unloaded when idle."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.search import Engine
from translate.inference.translator import open_engine, towards
from translate.machine import release_memory
from translate.models.folder import CTRANSLATE2_FILE, FILES, TranslationSpec, has_forms_of_address
from translate.models.origin import Origin
from translate.models.registry import card
from translate.serving.observing import event

Pair = tuple[str, str]  # source and target language
_Version = tuple[tuple[int, int, int], ...]  # inode, size and time of each file

RETRY_SECONDS = 30.0


class ModelUnavailableError(Exception):
    """The files of a model are missing or damaged, and it was not loaded before."""


@dataclass
class _Model:
    """A model folder, and its engine if it is loaded.

    Attributes:
        engines: the engine for each target language that was asked for, all of the same loaded model.
        version: of the files that were loaded.
        tried, retry_at: the version that could not be loaded, and when to try it again: the reason may have been
            another than the files, such as a lack of memory.
    """

    folder: Path
    has_forms_of_address: bool
    engine: Engine | None = None
    engines: dict[str, Engine] = field(default_factory=dict)
    version: _Version = ()
    tried: _Version = ()
    retry_at: float = 0.0
    n_users: int = 0
    last_used: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class ModelPool:
    """Engines by language pair.

    Args:
        folders: model folders; of several for one pair the first counts. UserError if one is damaged.
        unload_after: seconds after which an unused model is unloaded.
        open: loads a folder.
        retry_after: seconds after which files that could not be loaded are tried again, if they have not changed.

    Attributes:
        pairs: the language pairs, in alphabetical order.
        cards: what is known of each model, in the order of the folders.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        unload_after: float,
        open: Callable[[Path], Engine] = open_engine,
        retry_after: float = RETRY_SECONDS,
    ) -> None:
        self._models: dict[Pair, _Model] = {}
        self.cards: list[dict[str, object]] = []
        for folder in folders:
            spec = TranslationSpec.load(folder)
            model = _Model(folder, _has_forms_of_address(folder, spec))
            pairs = [(spec.source, target) for target in spec.targets]
            if new := [pair for pair in pairs if pair not in self._models]:
                self._models |= dict.fromkeys(new, model)
                self.cards.append(_card(folder, spec.source, [target for _, target in new]))
        self.pairs = sorted(self._models)
        self._unload_after, self._retry_after = unload_after, retry_after
        self._open = open

    @property
    def n_loaded(self) -> int:
        """Number of models in memory."""
        return len({id(model) for model in self._models.values() if model.engine is not None})

    @property
    def with_forms_of_address(self) -> list[Pair]:
        """The language pairs for which the form of address can be chosen."""
        return [pair for pair in self.pairs if self._models[pair].has_forms_of_address]

    @contextmanager
    def engine(self, pair: Pair) -> Iterator[Engine]:
        """Yield the engine of a language pair, which stays loaded meanwhile; KeyError for an unknown pair.

        If the files have changed, the new model is loaded first. If they are missing or damaged, the old one is used,
        and without an old one ModelUnavailableError is raised.
        """
        model = self._models[pair]
        with model.lock:
            self._refresh(model, pair)
            engine = model.engine
            if engine is None:
                raise ModelUnavailableError(f"The model from {pair[0]} to {pair[1]} cannot be loaded")
            if pair[1] not in model.engines:
                model.engines[pair[1]] = towards(engine, pair[1])
            engine = model.engines[pair[1]]
            model.n_users += 1
        try:
            yield engine
        finally:
            with model.lock:
                model.n_users -= 1
                model.last_used = time.monotonic()

    def unload_idle(self) -> None:
        """Unload the models that have not been used for a while."""
        for pair, model in self._models.items():
            with model.lock:
                is_idle = not model.n_users and time.monotonic() - model.last_used >= self._unload_after
                if model.engine is not None and is_idle:
                    model.engine, model.engines, model.version = None, {}, ()
                    event("model unloaded", {"model": "-".join(pair)})
        release_memory()

    def _refresh(self, model: _Model, pair: Pair) -> None:
        """Load the model unless the loaded one is that of the folder; the lock is held."""
        version, start = _version(model.folder), time.monotonic()
        if model.engine is not None and version == model.version:
            return
        if version == model.tried and start < model.retry_at:
            return
        fields: dict[str, object] = {"model": "-".join(pair), "folder": str(model.folder)}
        try:
            engine = self._open(model.folder)
            if not engine.spec.speaks(*pair):
                raise UserError(f"{model.folder}: has another language pair now; restart the server")
        except Exception as error:  # safetensors, SentencePiece and CTranslate2 have exceptions of their own
            problem = {"problem": str(error), "old model used": model.engine is not None}
            event("model not loaded", fields | problem, logging.WARNING)
            # A damaged folder is not read again for every request.
            model.tried, model.retry_at = version, time.monotonic() + self._retry_after
        else:
            model.engine, model.engines, model.version, model.tried = engine, {}, version, ()
            model.has_forms_of_address = has_forms_of_address(engine.tokenizer, engine.spec)
            event("model loaded", fields | {"seconds": round(time.monotonic() - start, 3)})


def _card(folder: Path, source: str, targets: Sequence[str]) -> dict[str, object]:
    """Return the name of a model, the first line of its card and, of an added model, where it came from."""
    added = Origin.load(folder)
    lines = (line.strip().lstrip("#").strip() for line in (card(folder) or "").split("\n"))
    return {
        "name": folder.parent.name if folder.name == "model" else folder.name,
        "source": source,
        "targets": [*targets],
        "about": next(filter(None, lines), ""),
        "origin": added.source if added else "",
        "revision": added.revision if added else "",
        "license": added.license if added else "",
    }


def _has_forms_of_address(folder: Path, spec: TranslationSpec) -> bool:
    """Return `has_forms_of_address` of a folder, whose model is loaded later; False if that will fail."""
    try:
        return has_forms_of_address(Tokenizer.load(folder / "tokenizer.model"), spec)
    except UserError:
        return False


def _version(folder: Path) -> _Version:
    """Return a value that differs if a file of the folder was replaced."""
    found = []
    for name in (*FILES, CTRANSLATE2_FILE):
        try:
            status = os.stat(os.path.join(folder, name))  # for every request; pathlib takes twice as long
        except OSError:
            continue
        found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
