"""The synthetic side of monolingual sources, made once and kept.

A translation is kept under the digest of the text, the model and the settings, so the same source is never translated
twice. An interrupted translation continues where it stopped.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from transformer.search.sampling import Sampling
from translate.config.data import DataConfig, MonoSource, Source
from translate.config.schema import ExperimentConfig
from translate.corpus.lines import sample_lines
from translate.corpus.sources import text_file
from translate.errors import Say, UserError
from translate.files import locked, sha256
from translate.inference.engine import Engine
from translate.inference.opening import open_engine
from translate.inference.research import SearchEngine, SearchRules
from translate.inference.translator import WINDOW, Translator
from translate.machine import choose_device
from translate.models.folder import FILES, ModelFolder
from translate.models.registry import locate


def with_synthetic(config: ExperimentConfig, folder: Path, say: Say, *, make: bool = True) -> ExperimentConfig:
    """Make the missing side of each monolingual training source; return the experiment with the files in it.

    Args:
        config: the experiment.
        folder: the place of the files, one per source.
        say: receives each message to the user.
        make: whether to translate what is not there yet; UserError if there is any otherwise.

    Raises UserError if a model or a text cannot be used, or if the model translates another language.
    """
    data = config.data

    def made(sources: Sequence[Source]) -> tuple[Source, ...]:
        return tuple(
            _made(source, data, folder, say, make=make) if isinstance(source, MonoSource) else source
            for source in sources
        )

    changes: dict[str, object] = {"train": made(data.train)}
    if data.replay is not None:
        changes["replay"] = data.replay.model_copy(update={"sources": made(data.replay.sources)})
    return config.model_copy(update={"data": data.model_copy(update=changes)})


def _made(source: MonoSource, data: DataConfig, folder: Path, say: Say, *, make: bool) -> MonoSource:
    if source.synthetic is not None:
        return source
    root = Path(data.root)
    text, model = text_file(source.path, root), locate(Path(source.model), say)
    settings = source.model_dump(include={"method", "lines", *(["seed"] if source.method == "sampling" else [])})
    settings = {name: value for name, value in settings.items() if value is not None}
    digests = [sha256(path) for path in (text, *(model / name for name in FILES))]
    key = hashlib.sha256(json.dumps([digests, settings]).encode()).hexdigest()[:16]
    place = folder / f"{text.name.partition('.')[0]}.{key}.txt"
    if not place.exists():
        if not make:
            raise UserError(
                f"{text}: not translated with {source.model} yet; run `translate prepare`, or the grid without "
                "--table, first"
            )
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, lambda: say(f"waiting for another process that translates text in {folder}")):
            if not place.exists():
                say(f"translating {text} with {source.model}")
                _translate(_translator(source, model, data), [*sample_lines(text, source.lines)], place)
    # Relative to the root, like the other paths, so that the experiment stays the same if the project moves. Resolved,
    # because the parent folder of a linked root is that of the link's target.
    synthetic = os.path.relpath(place.resolve(), root.expanduser().resolve())
    return source.model_copy(update={"synthetic": synthetic})


def _translator(source: MonoSource, model: Path, data: DataConfig) -> Translator:
    """Return the translator from the natural to the synthetic side; UserError for a model of other languages."""
    engine: Engine
    if source.method == "sampling":
        folder = ModelFolder.open(model, choose_device())
        engine = SearchEngine([folder], SearchRules(sampling=Sampling(), seed=source.seed))
    else:
        engine = open_engine(model, precision="auto" if source.method == "greedy" else "fp32")
    languages = (data.source, data.target) if source.side == "source" else (data.target, data.source)
    if (engine.spec.source, engine.spec.target) != languages:
        raise UserError(
            f"{source.path}: needs a model from {languages[0]} to {languages[1]}, and {source.model} translates "
            f"{engine.spec.source} to {engine.spec.target}; name another model"
        )
    return Translator(engine, beam_size=None if source.method == "beam" else 1)


def _translate(translator: Translator, lines: Sequence[str], place: Path) -> None:
    """Write the translation of each line to `place`; a partial file of an earlier process is continued."""
    partial = place.with_name(f".{place.name}.partial")
    n_done = _cut_to_whole_lines(partial)
    with (
        partial.open("a", encoding="utf-8", newline="\n") as file,
        tqdm(desc="translating", total=len(lines), initial=n_done, unit=" lines", disable=None, leave=False) as bar,
    ):
        for start in range(n_done, len(lines), WINDOW):
            window = lines[start : start + WINDOW]
            file.writelines(f"{translation.text}\n" for translation in translator.stream(window))
            file.flush()
            os.fsync(file.fileno())
            bar.update(len(window))
    partial.replace(place)


def _cut_to_whole_lines(path: Path) -> int:
    """Remove an unfinished last line; return the number of lines."""
    if not path.exists():
        return 0
    whole = path.read_bytes().rpartition(b"\n")
    with path.open("r+b") as file:
        file.truncate(len(whole[0]) + len(whole[1]))
    return whole[0].count(b"\n") + len(whole[1])
