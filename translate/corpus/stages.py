"""The stages of preparing a corpus: sources are read, cleaned, varied and encoded.

`Recipe` has what they depend on, as a value that other processes can have too. In `clean`, what depends on a pair alone
is a function of a part of the pairs, which workers call if the corpus is large. This process reads, decides in between
what depends on earlier pairs, and writes. `translate.corpus.cluster` has the same stages on a cluster, and the same
bytes as their result.
"""

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from translate.config.schema import ExperimentConfig, Source
from translate.corpus.augmentation import Augmenter, Outline, Outlines, SentenceRun
from translate.corpus.cleaning import CHUNK, Cleaner, HeldOut, Keys, Report, Verdicts, kept
from translate.corpus.sources import Pair, describe, dictionary, pair_lines, read_pairs, with_symbols
from translate.corpus.tokenizer import TextSize, Tokenizer, WordEncoder, sampled
from translate.machine import n_cores
from translate.workers import Workers

SMALL = 50_000  # pairs that one process cleans or encodes as soon as several, which have to start
_MOST_WORKERS = 6  # of 0.1 to 0.14 GB each; without variants, four keep this process busy


@dataclass(frozen=True)
class Recipe:
    """What cleaning and varying depend on, apart from the pairs.

    Attributes:
        known: the validation and test pairs.
        refused: what no variant may be: these pairs, and the same as a model reads them, with symbols for placeholders.
        words: the dictionary of the languages.
        n_symbols: placeholders of the tokenizer.
    """

    config: ExperimentConfig
    known: HeldOut
    refused: HeldOut
    words: Mapping[str, str]
    n_symbols: int

    @classmethod
    def of(cls, config: ExperimentConfig, held_out: Sequence[Pair], n_symbols: int) -> "Recipe":
        """Return the recipe of an experiment; `held_out` has the validation and test pairs."""
        pairs = held_out if config.cleaning.test_overlap else []
        refused = HeldOut([*pairs, *(with_symbols(pair, n_symbols) for pair in pairs)])
        return cls(config, HeldOut(pairs), refused, dictionary(config.data.langpair), n_symbols)

    @property
    def sources(self) -> Sequence[Source]:
        """Sources of training pairs; those of data.replay are last, so that of a pair in both the new one is kept."""
        return self.config.data.training_sources

    def read(self, source: Source) -> Iterator[Pair]:
        """Yield the pairs of a source."""
        return read_pairs(source, Path(self.config.data.root), self.config.data.langpair)

    def parts(self) -> Iterator["Part"]:
        """Yield the pairs of all sources, some thousand at a time; of a source without pairs, an empty part."""
        for n, source in enumerate(self.sources):
            for i, pairs in enumerate(in_chunks(self.read(source), CHUNK)):
                yield Part(n, 1 + i * CHUNK, pairs)

    def cleaner(self) -> Cleaner:
        """Return a cleaner that has seen no pair."""
        return Cleaner(self.config.cleaning, self.known)

    def augmenter(self, names: Sequence[str] = ()) -> Augmenter:
        """Return what makes variants; `names` are those of earlier pairs."""
        data = self.config.data
        return Augmenter(
            self.config.augmentation, self.n_symbols, self.words, data.source, data.target, self.refused.overlaps, names
        )


def in_chunks(pairs: Iterator[Pair], n: int) -> Iterator[list[Pair]]:
    """Yield pairs, `n` at a time; at least one list, which may be empty."""
    yield list(itertools.islice(pairs, n))
    while following := list(itertools.islice(pairs, n)):
        yield following


class Part(NamedTuple):
    """Consecutive pairs of a source.

    Attributes:
        source: the number of the source.
        start: the number of the first pair in it, from 1.
    """

    source: int
    start: int
    pairs: Sequence[Pair]


class EncodedSide(NamedTuple):
    """One side of consecutive pairs.

    Attributes:
        ids: of all sentences in a row, uint16 or uint32.
        lengths: (n_pairs,), tokens of each sentence.
    """

    ids: NDArray[np.unsignedinteger]
    lengths: NDArray[np.int64]


Encoded = tuple[EncodedSide, EncodedSide]


class CleanPairs(ABC):
    """The training pairs after cleaning, with their variants, in the order of the sources.

    Args:
        report: what was dropped.

    Attributes:
        counts: number of pairs by source.
        added: number of variants by kind.
        refused: number of variants that are held out.
        size: of the pairs as JSON lines.
    """

    def __init__(self, recipe: Recipe, report: Report) -> None:
        self.report = report
        self.counts = [0 for _ in recipe.sources]
        self.added = dict(recipe.augmenter().added)
        self.refused = 0
        self.size = TextSize(0, 0)

    def count(self, varied: "Varied") -> None:
        """Add a part to the numbers."""
        self.counts[varied.source] += varied.n_pairs
        self.size = TextSize.total([self.size, varied.size])
        self.added = {kind: n + varied.added[kind] for kind, n in self.added.items()}
        self.refused += varied.refused

    @abstractmethod
    def sample(self, n: int) -> Iterator[str]:
        """Yield the `translate.corpus.tokenizer.sample` of `n` of their sentences, sources and targets in turn."""

    @abstractmethod
    def encoded(self, tokenizer: Tokenizer) -> Iterator[Encoded]:
        """Yield the token ids of all pairs, some thousand pairs at a time; the pairs may be gone afterwards."""


Clean = Callable[[Recipe, Path], CleanPairs]  # the second argument is a folder for files that do not stay


def clean(recipe: Recipe, folder: Path, *, n_workers: int | None = None) -> CleanPairs:
    """Read and clean the pairs of all sources and make their variants; they are in a file in `folder` until encoded.

    Args:
        n_workers: processes that help; None for as many as are worth their start.
    """
    return _InFile(recipe, folder / "train.jsonl", n_workers)


def _worthwhile(n_pairs: int) -> int:
    """Return how many workers are worth their start for this many pairs or more."""
    n = n_cores()
    return min(n, _MOST_WORKERS) if n > 1 and n_pairs >= SMALL else 0


def _peek(parts: Iterator[Part]) -> tuple[int, Iterator[Part]]:
    """Return the number of pairs, not counted on from `SMALL`, and the parts."""
    first, n_pairs = list[Part](), 0
    while n_pairs < SMALL and (part := next(parts, None)):
        first.append(part)
        n_pairs += len(part.pairs)
    return n_pairs, itertools.chain(first, parts)


class _InFile(CleanPairs):
    """Pairs in a file."""

    def __init__(self, recipe: Recipe, file: Path, n_workers: int | None) -> None:
        super().__init__(recipe, Report())
        self._file, self._n_workers = file, n_workers
        n_pairs, parts = _peek(recipe.parts())
        with (
            Workers(_worthwhile(n_pairs) if n_workers is None else n_workers, recipe) as workers,
            file.open("wb") as lines,
            tqdm(desc="cleaning", unit=" pairs", disable=None, leave=False) as bar,
        ):
            parts, known = itertools.tee(parts)  # `_decided` needs the pairs of those that workers have at the moment
            judged = workers.map(judge, parts)
            for varied in workers.map(vary, _decided(recipe, zip(known, judged, strict=True), self.report)):
                lines.write(varied.lines)
                self.count(varied)
                bar.update(varied.n_pairs)

    def sample(self, n: int) -> Iterator[str]:
        chosen = sampled(2 * sum(self.counts), n)
        with self._file.open("rb") as lines:
            for line, sides in zip(lines, zip(chosen, chosen, strict=True), strict=True):
                if any(sides):
                    yield from itertools.compress(json.loads(line), sides)

    def encoded(self, tokenizer: Tokenizer) -> Iterator[Encoded]:
        n_pairs = sum(self.counts)
        n_workers = _worthwhile(n_pairs) if self._n_workers is None else self._n_workers
        with (
            Workers(n_workers, WordEncoder(tokenizer)) as workers,
            self._file.open("rb") as lines,
            tqdm(total=n_pairs, desc="encoding", unit=" pairs", disable=None, leave=False) as bar,
        ):
            chunks = iter(lambda: [*itertools.islice(lines, CHUNK)], [])
            for encoded in workers.map(encode, chunks):
                yield encoded
                bar.update(len(encoded[0].lengths))
        self._file.unlink()


class Judged(NamedTuple):
    """What the rules say of a part that need no other pair, and the outlines of the pairs that these rules keep."""

    verdicts: Verdicts
    digests: Keys
    outlines: Outlines


def judge(recipe: Recipe, part: Part) -> Judged:
    """Apply the rules that need no other pair, and outline the pairs that they keep."""
    cleaner, pairs = recipe.cleaner(), part.pairs
    verdicts = cleaner.verdicts(pairs, keep_identical=recipe.sources[part.source].keep_identical)
    digests = cleaner.digests(pairs, verdicts)
    cleaner.drop_overlaps(verdicts, pairs)
    outlines = zip(
        kept(range(len(pairs)), verdicts), map(recipe.augmenter().outline, kept(pairs, verdicts)), strict=True
    )
    return Judged(verdicts, digests, Outlines.of(outlines, len(pairs)))


class Decided(NamedTuple):
    """A part with the verdicts of all rules, and what variants depend on: names before it, and pairs to join."""

    part: Part
    verdicts: Verdicts
    outlines: Outlines
    names: list[str]
    before: list[Outline]


def _decided(recipe: Recipe, judged: Iterable[tuple[Part, Judged]], report: Report) -> Iterator[Decided]:
    """Drop duplicates, count what is dropped, and remember what the variants of later pairs depend on."""
    cleaner, augmenter, run = recipe.cleaner(), recipe.augmenter(), SentenceRun[Outline]()
    for part, (verdicts, digests, outlines) in judged:
        if part.start == 1:
            run = SentenceRun[Outline]()
        cleaner.drop_duplicates(verdicts, digests)
        report.add(describe(recipe.sources[part.source]), part.start, part.pairs, verdicts)
        yield Decided(part, verdicts, outlines, [*augmenter.names], [*run.items])
        for outline in kept(outlines.with_pairs(part.pairs), verdicts):
            augmenter.collect_names(outline.names)
            run.add(outline, outline.words, outline.wanted)


class Varied(NamedTuple):
    """The pairs of a part with their variants, as JSON lines."""

    source: int
    lines: bytes
    n_pairs: int
    size: TextSize
    added: dict[str, int]
    refused: int


def vary(recipe: Recipe, decided: Decided) -> Varied:
    """Leave out the pairs that were dropped, and add variants."""
    part, verdicts, outlines, names, before = decided
    augmenter = recipe.augmenter(names)
    varied = [*augmenter.vary(kept(outlines.with_pairs(part.pairs), verdicts), before)]
    lines = pair_lines(varied)
    return Varied(part.source, lines, len(varied), TextSize.of(lines), augmenter.added, augmenter.refused)


def encode(words: WordEncoder, lines: Sequence[bytes]) -> Encoded:
    """Return the token ids, without bos and eos, of pairs in JSON lines, of which there must be one."""
    dtype = np.dtype(words.tokenizer.id_type)

    def side(texts: Sequence[str]) -> EncodedSide:
        sentences = words(texts)
        lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences)) // dtype.itemsize
        return EncodedSide(np.frombuffer(b"".join(sentences), dtype=dtype), lengths)

    src, tgt = map(side, zip(*json.loads(b"[%b]" % b",".join(lines)), strict=True))
    return src, tgt
