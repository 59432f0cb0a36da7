"""The stages of preparing a corpus: sources are read, cleaned, varied and encoded.

`Recipe` has what they depend on, as a value that other processes can have too. `clean` is the first stages in this
process; `translate.corpus.cluster` has the same ones on a cluster, and the same bytes as their result.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from translate.config.schema import ExperimentConfig, Source
from translate.corpus.augmentation import Augmenter
from translate.corpus.cleaning import Cleaner, HeldOut, Report
from translate.corpus.sources import Pair, describe, dictionary, read_pair_lines, read_pairs, with_symbols, write_pairs
from translate.corpus.tokenizer import TextSize, Tokenizer, WordEncoder, sample

CHUNK = 10_000  # pairs encoded at a time


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

    def cleaner(self) -> Cleaner:
        """Return a cleaner that has seen no pair."""
        return Cleaner(self.config.cleaning, self.known)

    def augmenter(self, names: Sequence[str] = ()) -> Augmenter:
        """Return what makes variants; `names` are those of earlier pairs."""
        data = self.config.data
        return Augmenter(
            self.config.augmentation, self.n_symbols, self.words, data.source, data.target, self.refused.overlaps, names
        )


class EncodedSide(NamedTuple):
    """One side of consecutive pairs.

    Attributes:
        ids: of all sentences in a row, uint16 or uint32.
        lengths: (n_pairs,), tokens of each sentence.
    """

    ids: NDArray[np.unsignedinteger]
    lengths: NDArray[np.int64]


Encoded = tuple[EncodedSide, EncodedSide]


class CleanPairs(Protocol):
    """The training pairs after cleaning, with their variants, in the order of the sources.

    Attributes:
        report: what was dropped.
        counts: number of pairs by source.
        added: number of variants by kind.
        refused: number of variants that are held out.
    """

    report: Report
    counts: list[int]
    added: dict[str, int]
    refused: int

    def size(self) -> TextSize:
        """Return the size of the pairs as JSON lines."""

    def sample(self, n: int) -> Iterator[str]:
        """Yield the `translate.corpus.tokenizer.sample` of `n` of their sentences, sources and targets in turn."""

    def encoded(self, tokenizer: Tokenizer) -> Iterator[Encoded]:
        """Yield the token ids of all pairs, some thousand pairs at a time; the pairs may be gone afterwards."""


Clean = Callable[[Recipe, Path], CleanPairs]  # the second argument is a folder for files that do not stay


class _InFile:
    """Pairs in a file; see `CleanPairs`."""

    def __init__(self, file: Path, report: Report, counts: list[int], augmenter: Augmenter) -> None:
        self.report, self.counts = report, counts
        self.added, self.refused = augmenter.added, augmenter.refused
        self._file = file

    def size(self) -> TextSize:
        return TextSize.of_file(self._file)

    def sample(self, n: int) -> Iterator[str]:
        return sample(itertools.chain.from_iterable(read_pair_lines(self._file)), 2 * sum(self.counts), n)

    def encoded(self, tokenizer: Tokenizer) -> Iterator[Encoded]:
        pairs, encoder = read_pair_lines(self._file), WordEncoder(tokenizer)
        with tqdm(total=sum(self.counts), desc="encoding", unit=" pairs", disable=None, leave=False) as bar:
            while chunk := list(itertools.islice(pairs, CHUNK)):
                yield encode(chunk, encoder)
                bar.update(len(chunk))
        self._file.unlink()


def clean(recipe: Recipe, folder: Path) -> CleanPairs:
    """Read and clean the pairs of all sources and make their variants; they are in a file in `folder` until encoded."""
    cleaner, augmenter = recipe.cleaner(), recipe.augmenter()
    counts: list[int] = []

    def pairs() -> Iterator[Pair]:
        for source in recipe.sources:
            counts.append(0)
            read = cleaner.clean(recipe.read(source), describe(source), keep_identical=source.keep_identical)
            for pair in augmenter(read):
                counts[-1] += 1
                yield pair

    file = folder / "train.jsonl"
    write_pairs(file, tqdm(pairs(), desc="cleaning", unit=" pairs", disable=None, leave=False))
    return _InFile(file, cleaner.report, counts, augmenter)


def id_type(tokenizer: Tokenizer) -> np.dtype[np.unsignedinteger]:
    """Return the smallest type of array for the ids of a tokenizer."""
    return np.dtype(np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32)


def encode(pairs: Sequence[Pair], encoder: WordEncoder) -> Encoded:
    """Return the token ids of pairs, without bos and eos."""
    src, tgt = (_encode_side(texts, encoder) for texts in zip(*pairs, strict=True))
    return src, tgt


def _encode_side(texts: Sequence[str], encoder: WordEncoder) -> EncodedSide:
    sentences, dtype = encoder(texts), id_type(encoder.tokenizer)
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    ids = np.fromiter(itertools.chain.from_iterable(sentences), dtype=dtype, count=int(lengths.sum()))
    return EncodedSide(ids, lengths)
