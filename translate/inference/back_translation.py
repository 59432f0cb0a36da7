"""The sides of training sources that a model writes, made once and kept.

They are the translations of text in one language, and targets of pairs that a model writes anew. Each is kept under the
digest of the text, the model and the settings, so the same source is never translated twice. An interrupted translation
continues where it stopped.
"""

import collections
import functools
import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tqdm import tqdm

from translate.config.schema import DataConfig, ExperimentConfig, MonoSource, Pairs, PairSource, Source, is_synthetic
from translate.corpus.cleaning import HeldOut
from translate.corpus.sources import Pair, describe, identity, pair_line, read_pairs, text_file
from translate.errors import Say, UserError
from translate.files import evenly, give_mode, hidden, locked, naming, open_hidden, sample_lines, sha256
from translate.inference.search import require_opposite
from translate.inference.translator import Translator
from translate.models.folder import FILES, TranslationSpec
from translate.models.registry import locate
from translate.text.formats import WINDOW
from translate.text.translation import Opening, Precision, Search

if TYPE_CHECKING:
    from sacrebleu import BLEU, CHRF

SYNTHETIC = Path("prepared") / "synthetic"

Item = TypeVar("Item")


@dataclass(frozen=True)
class _Job:
    """A side to make: of a source with a name for messages, by a model, in a file."""

    source: Pairs | MonoSource
    name: str
    model: Path
    place: Path


class BackTranslations:
    """The sides of an experiment's training sources that models write.

    Attributes:
        config: the experiment with the file of each side, which `make` writes if it does not exist.
    """

    def __init__(self, config: ExperimentConfig, say: Say, folder: Path = SYNTHETIC) -> None:
        """Find the place of each side and check texts and models, all before the first translation.

        Args:
            folder: the place of the files, one per source.

        Raises UserError if a text or a model cannot be used, or if a model translates other languages.
        """
        self._folder, self._say, self._data = folder, say, config.data
        held_out = (config.data.valid, *config.data.test.values(), *config.data.held_out)
        self._held_out = held_out if config.cleaning.test_overlap else ()
        self._jobs: list[_Job] = []
        data = config.data
        changes: dict[str, object] = {"train": self._with_sides(data.train)}
        if data.replay is not None:
            changes["replay"] = data.replay.model_copy(update={"sources": self._with_sides(data.replay.sources)})
        self.config = config.model_copy(update={"data": data.model_copy(update=changes)})

    def make(self) -> None:
        """Translate what is not there yet; another process that translates into the folder is waited for.

        Raises UserError, before the first translation, if pairs cannot be read.
        """
        missing = self._missing()
        for job in missing:
            if isinstance(job.source, PairSource):
                collections.deque(read_pairs(job.source, Path(self._data.root), self._data.langpair), maxlen=0)
        for (model, search, opening), jobs in itertools.groupby(missing, _settings):
            # Loaded by the first job whose file is not there.
            load = functools.cache(functools.partial(Translator.load, model, search, opening=opening))
            for job in jobs:
                self._make(job, load)

    def _make(self, job: _Job, load: Callable[[], Translator]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with locked(
            self._folder, lambda: self._say(f"waiting for another process that translates text in {self._folder}")
        ):
            if not job.place.exists():
                self._say(f"translating {job.name} with {job.source.model}")
                self._translate(job, load())

    def require(self) -> None:
        """Raise UserError if a side is not there yet."""
        for job in self._missing():
            raise UserError(
                f"{job.name}: not translated with {job.source.model} yet; run `translate prepare`, or the grid without "
                "--table, first"
            )

    def _missing(self) -> list[_Job]:
        return [job for job in self._jobs if not job.place.exists()]

    def _translate(self, job: _Job, translator: Translator) -> None:
        root = Path(self._data.root)
        if isinstance(job.source, MonoSource):
            lines = [*sample_lines(text_file(job.source.path, root), job.source.lines)]
            _write(lines, lambda window: (f"{one.text}\n" for one in translator.translate_lines(window)), job.place)
        else:
            pairs, stays = _sample(job.source, root, self._data.langpair), self._known.overlaps
            _write(pairs, lambda window: map(pair_line, interpolated(translator, window, stays)), job.place)

    @functools.cached_property
    def _known(self) -> HeldOut:
        """The validation and test pairs: cleaning drops pairs with them, as long as they have their own targets."""
        root, langpair = Path(self._data.root), self._data.langpair
        return HeldOut(pair for source in self._held_out for pair in read_pairs(source, root, langpair))

    @functools.cached_property
    def _digests(self) -> list[str]:
        """The digests of the validation and test sets."""
        root, langpair = Path(self._data.root), self._data.langpair
        return [digest for source in self._held_out for digest in identity(source, root, langpair).values()]

    def _with_sides(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        return tuple(map(self._with_side, sources))

    def _with_side(self, source: Source) -> Source:
        if not is_synthetic(source) or source.synthetic is not None or source.model is None:
            return source
        root, model = Path(self._data.root), locate(source.model, self._say)
        models = [model]
        if isinstance(source, MonoSource):
            text = text_file(source.path, root)
            name, stem, ending, digests = str(text), text.name, "txt", [sha256(text)]
            drawn = ["seed", "top_k"] if source.method == "sampling" else []
            settings = source.model_dump(include={"method", "lines", "beam_size", *drawn})
            if source.rerank is not None:
                models.append(locate(source.rerank, self._say))
                require_opposite(models[1], *(TranslationSpec.load(folder) for folder in models[::-1]))
            changes: dict[str, object] = {}
        else:
            name, ending = describe(source), "jsonl"
            stem = Path(name.partition(" ")[0]).name
            digests = [*identity(source, root, self._data.langpair).values(), *self._digests]
            settings = source.model_dump(exclude={"model", "synthetic", "weight", "keep_identical"})
            settings["share"] = _share(source)
            changes = {"weight": max(1.0, source.weight)}
        _check_languages(source, name, model, self._data)
        settings = {key: value for key, value in settings.items() if value is not None}
        digests += [sha256(folder / file) for folder in models for file in FILES]
        key = hashlib.sha256(json.dumps([digests, settings]).encode()).hexdigest()[:16]
        # The end of the name tells `translate.corpus.sources.identity` that this program made the file.
        place = self._folder / f"{stem.partition('.')[0]}.{key}.{ending}"
        self._jobs.append(_Job(source, name, model, place))
        # Relative to the root, like the other paths, so that the experiment stays the same if the project moves.
        # Resolved, because the parent folder of a linked root is that of the link's target.
        synthetic = os.path.relpath(place.resolve(), root.expanduser().resolve())
        return source.model_copy(update={"synthetic": synthetic, **changes})


def _check_languages(source: Pairs | MonoSource, name: str, model: Path, data: DataConfig) -> None:
    """UserError if the model does not translate from the natural to the synthetic side."""
    spec = TranslationSpec.load(model)
    from_source = not isinstance(source, MonoSource) or source.side == "source"
    languages = (data.source, data.target) if from_source else (data.target, data.source)
    if (spec.source, spec.target) != languages:
        raise UserError(
            f"{name}: needs a model from {languages[0]} to {languages[1]}, and {source.model} translates "
            f"{spec.source} to {spec.target}; name another model"
        )


def _settings(job: _Job) -> tuple[Path, Search, Opening]:
    """Return what the translator from the natural to the synthetic side depends on."""
    source = job.source
    if isinstance(source, PairSource):
        return job.model, Search(beam_size=source.beam_size), Opening(precision="auto")
    if source.method == "sampling":
        return job.model, Search(sample=True, top_k=source.top_k or 0, seed=source.seed), Opening(engine="torch")
    if source.method == "greedy":
        return job.model, Search(beam_size=1), Opening(precision="auto")
    precision: Precision = "auto" if source.rerank else "fp32"
    return job.model, Search(beam_size=source.beam_size, rerank=source.rerank), Opening(precision=precision)


# Targets that a model writes anew


def _share(source: Pairs) -> float:
    """Return the share of the pairs that an epoch has."""
    return min(1.0, source.weight)


def _sample(source: Pairs, root: Path, langpair: str) -> list[Pair]:
    """Return the pairs whose targets the model writes: what an epoch has, at most `lines`, evenly spaced."""
    total = sum(1 for _ in read_pairs(source, root, langpair))
    n = math.ceil(_share(source) * total)
    return [*evenly(read_pairs(source, root, langpair), total, min(n, source.lines or n))]


def interpolated(translator: Translator, pairs: Sequence[Pair], stays: Callable[[Pair], bool]) -> Iterator[Pair]:
    """Yield each pair with the nearest of the best hypotheses of the translator's beam as target.

    Sequence-level interpolation (Kim and Rush, 2016, section 3.3): between what people wrote and what the model finds
    probable, which greedy search can learn to find. A pair with an empty side stays as it is.

    Args:
        stays: says which other pairs keep their targets.
    """
    from sacrebleu import BLEU, CHRF

    bleu, chrf = BLEU(effective_order=True), CHRF()
    n = translator.sentence_search.config.beam_size
    found = translator.n_best((source for source, _ in pairs), n)
    for (source, target), hypotheses in zip(pairs, found, strict=True):
        texts = [hypothesis.text for hypothesis in hypotheses if hypothesis.text.strip()]
        is_new = texts and source.strip() and target.strip() and not stays((source, target))
        yield source, _nearest(texts, target, bleu, chrf) if is_new else target


def _nearest(texts: Sequence[str], target: str, bleu: "BLEU", chrf: "CHRF") -> str:
    """Return the text with the highest sentence BLEU, of equal ones that with the highest chrF, the first if equal."""
    if target in texts or len(texts) == 1:
        return target if target in texts else texts[0]
    scores = [bleu.sentence_score(text, [target]).score for text in texts]
    best = [text for text, score in zip(texts, scores, strict=True) if math.isclose(score, max(scores))]
    return best[0] if len(best) == 1 else max(best, key=lambda text: chrf.sentence_score(text, [target]).score)


# Files


def _write(items: Sequence[Item], made: Callable[[Sequence[Item]], Iterable[str]], place: Path) -> None:
    """Write a line for each item to `place`; a partial file of an earlier process is continued.

    Args:
        made: returns the lines of some items, with their ends.
    """
    partial = hidden(place, "partial")
    descriptor = open_hidden(partial)
    n_done = _cut_to_whole_lines(partial)
    with (
        naming(place),
        open(descriptor, "a", encoding="utf-8", newline="\n") as file,
        tqdm(desc="translating", total=len(items), initial=n_done, unit=" lines", disable=None, leave=False) as bar,
    ):
        for start in range(n_done, len(items), WINDOW):
            window = items[start : start + WINDOW]
            file.writelines(made(window))
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
