"""The synthetic side of monolingual sources, made once and kept.

A translation is kept under the digest of the text, the model and the settings, so the same source is never translated
twice. An interrupted translation continues where it stopped.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from translate.config.schema import DataConfig, ExperimentConfig, MonoSource, Source
from translate.corpus.sources import text_file
from translate.errors import Say, UserError
from translate.files import give_mode, hidden, locked, naming, open_hidden, sample_lines, sha256
from translate.inference.search import require_opposite
from translate.inference.translator import Translator
from translate.models.folder import FILES, TranslationSpec
from translate.models.registry import locate
from translate.text.formats import WINDOW
from translate.text.translation import Opening, Search

SYNTHETIC = Path("prepared") / "synthetic"


@dataclass(frozen=True)
class _Job:
    """A text to translate: a source of an experiment, its text and model, and the place of the translation."""

    source: MonoSource
    text: Path
    model: Path
    place: Path


class BackTranslations:
    """The synthetic sides of an experiment's monolingual training sources.

    Attributes:
        config: the experiment with the file of each side, which `make` writes if it does not exist.
    """

    def __init__(self, config: ExperimentConfig, say: Say, folder: Path = SYNTHETIC) -> None:
        """Find the place of each side and check texts and models, all before the first translation.

        Args:
            folder: the place of the files, one per source.

        Raises UserError if a text or a model cannot be used, or if a model translates other languages.
        """
        self._folder, self._say = folder, say
        self._jobs: list[_Job] = []
        data = config.data
        changes: dict[str, object] = {"train": self._with_sides(data.train, data)}
        if data.replay is not None:
            changes["replay"] = data.replay.model_copy(update={"sources": self._with_sides(data.replay.sources, data)})
        self.config = config.model_copy(update={"data": data.model_copy(update=changes)})

    def make(self) -> None:
        """Translate what is not there yet; another process that translates into the folder is waited for."""
        for job in self._missing():
            self._folder.mkdir(parents=True, exist_ok=True)
            with locked(
                self._folder, lambda: self._say(f"waiting for another process that translates text in {self._folder}")
            ):
                if not job.place.exists():
                    self._say(f"translating {job.text} with {job.source.model}")
                    _translate(_translator(job), [*sample_lines(job.text, job.source.lines)], job.place)

    def require(self) -> None:
        """Raise UserError if a side is not there yet."""
        for job in self._missing():
            raise UserError(
                f"{job.text}: not translated with {job.source.model} yet; run `translate prepare`, or the grid without "
                "--table, first"
            )

    def _missing(self) -> list[_Job]:
        return [job for job in self._jobs if not job.place.exists()]

    def _with_sides(self, sources: Sequence[Source], data: DataConfig) -> tuple[Source, ...]:
        return tuple(self._with_side(s, data) if isinstance(s, MonoSource) else s for s in sources)

    def _with_side(self, source: MonoSource, data: DataConfig) -> MonoSource:
        if source.synthetic is not None or source.model is None:
            return source
        root = Path(data.root)
        text, model = text_file(source.path, root), locate(source.model, self._say)
        _check_languages(source, model, data)
        drawn = ["seed", "top_k"] if source.method == "sampling" else []
        settings = source.model_dump(include={"method", "lines", "beam_size", *drawn})
        settings = {name: value for name, value in settings.items() if value is not None}
        models = [model]
        if source.rerank is not None:
            models.append(locate(source.rerank, self._say))
            require_opposite(models[1], *(TranslationSpec.load(folder) for folder in models[::-1]))
        digests = [sha256(path) for path in (text, *(folder / name for folder in models for name in FILES))]
        key = hashlib.sha256(json.dumps([digests, settings]).encode()).hexdigest()[:16]
        # The end of the name tells `translate.corpus.sources.identity` that this program made the file.
        place = self._folder / f"{text.name.partition('.')[0]}.{key}.txt"
        self._jobs.append(_Job(source, text, model, place))
        # Relative to the root, like the other paths, so that the experiment stays the same if the project moves.
        # Resolved, because the parent folder of a linked root is that of the link's target.
        synthetic = os.path.relpath(place.resolve(), root.expanduser().resolve())
        return source.model_copy(update={"synthetic": synthetic})


def _check_languages(source: MonoSource, model: Path, data: DataConfig) -> None:
    """UserError if the model does not translate from the natural to the synthetic side."""
    spec = TranslationSpec.load(model)
    languages = (data.source, data.target) if source.side == "source" else (data.target, data.source)
    if (spec.source, spec.target) != languages:
        raise UserError(
            f"{source.path}: needs a model from {languages[0]} to {languages[1]}, and {source.model} translates "
            f"{spec.source} to {spec.target}; name another model"
        )


def _translator(job: _Job) -> Translator:
    """Return the translator from the natural to the synthetic side."""
    source = job.source
    if source.method == "sampling":
        search, opening = Search(sample=True, top_k=source.top_k or 0, seed=source.seed), Opening(engine="torch")
    elif source.method == "greedy":
        search, opening = Search(beam_size=1), Opening(precision="auto")
    else:
        search = Search(beam_size=source.beam_size, rerank=source.rerank)
        opening = Opening(precision="auto" if source.rerank else "fp32")
    return Translator.load(job.model, search, opening=opening)


def _translate(translator: Translator, lines: Sequence[str], place: Path) -> None:
    """Write the translation of each line to `place`; a partial file of an earlier process is continued."""
    partial = hidden(place, "partial")
    descriptor = open_hidden(partial)
    n_done = _cut_to_whole_lines(partial)
    with (
        naming(place),
        open(descriptor, "a", encoding="utf-8", newline="\n") as file,
        tqdm(desc="translating", total=len(lines), initial=n_done, unit=" lines", disable=None, leave=False) as bar,
    ):
        for start in range(n_done, len(lines), WINDOW):
            window = lines[start : start + WINDOW]
            file.writelines(f"{translation.text}\n" for translation in translator.translate_lines(window))
            file.flush()
            os.fsync(file.fileno())
            bar.update(len(window))
        give_mode(file.fileno(), place)
    partial.replace(place)


def _cut_to_whole_lines(path: Path) -> int:
    """Remove an unfinished last line; return the number of lines."""
    if not path.exists():
        return 0
    whole = path.read_bytes().rpartition(b"\n")
    with path.open("r+b") as file:
        file.truncate(len(whole[0]) + len(whole[1]))
    return whole[0].count(b"\n") + len(whole[1])
