"""The stages of preparing a corpus on a cluster of Ray, with the same bytes as in one process.

Workers do all that depends on a pair alone, for 10,000 pairs at a time: reading, rules, hashes, variants, token ids.
What depends on other pairs is decided here, in the order of the sources, from a few bytes of each pair: duplicates by
their hashes; for `names`, the names before a part; for `joined`, the lengths of sentences, from which follows what is
to be joined at the beginning of a part; and the sample for the tokenizer by numbers of sentences.
"""

import itertools
import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from translate.cluster import Dataset, ObjectRef, PartIndex, Shared
from translate.config.schema import DataConfig, Source
from translate.corpus import stages
from translate.corpus.augmentation import MOST_JOINED, Outline, Outlines, SentenceRun
from translate.corpus.cleaning import CHUNK, Keys, Report, Verdicts, kept
from translate.corpus.sources import Pair, below, describe, read_pairs
from translate.corpus.stages import CleanPairs, Decided, Encoded, Part, Recipe, Varied, in_chunks
from translate.corpus.tokenizer import Tokenizer, WordEncoder, sampled

Pairs = Sequence[Pair]
OutlinedPart = tuple[Part, Outlines]


def clean(recipe: Recipe, folder: Path, *, chunk: int = CHUNK) -> CleanPairs:
    """Do what `translate.corpus.stages.clean` does on the cluster that this process is connected to.

    All nodes need the data at the same place. The pairs stay in the cluster until they are encoded.

    Args:
        folder: not used.
        chunk: pairs that are one part of the work.
    """
    recipe = _with_full_paths(recipe)
    read = Dataset.read([_Read(source, recipe.config.data, chunk) for source in recipe.sources])
    judged = read.map(_Judge(recipe, chunk)).materialize()
    verdicts = Shared(_final(recipe, judged))
    report, names, contexts = _outlined(judged.map(_Outline(recipe, verdicts)))
    varied = judged.map(_Vary(recipe, verdicts, ObjectRef(names), contexts)).materialize()
    return _OnCluster(recipe, report, varied)


def _with_full_paths(recipe: Recipe) -> Recipe:
    """Return the recipe with a root that means the same to workers, whose folder is another."""
    data = recipe.config.data
    data = data.model_copy(update={"root": str(below(".", Path(data.root)).absolute())})
    return replace(recipe, config=recipe.config.model_copy(update={"data": data}))


@dataclass(frozen=True)
class _Read:
    """Reads a source: yields its pairs, some at a time."""

    source: Source
    data: DataConfig
    chunk: int

    def __call__(self) -> Iterator[Pairs]:
        return in_chunks(read_pairs(self.source, Path(self.data.root), self.data.langpair), self.chunk)


@dataclass(frozen=True)
class _Judge:
    """Does `stages.judge`; the outlines stay with the pairs."""

    recipe: Recipe
    chunk: int

    def __call__(self, index: PartIndex, pairs: Pairs) -> tuple[OutlinedPart, tuple[Verdicts, Keys]]:
        part = Part(index.source, index.number * self.chunk + 1, pairs)
        verdicts, digests, outlines = stages.judge(self.recipe, part)
        return (part, outlines), (verdicts, digests)


def _final(recipe: Recipe, judged: Dataset) -> Iterator[tuple[PartIndex, Verdicts]]:
    """Yield the verdicts of all rules, by part."""
    cleaner = recipe.cleaner()
    with tqdm(desc="cleaning", unit=" pairs", disable=None, leave=False) as bar:
        for part, (verdicts, digests) in judged.notes():
            cleaner.drop_duplicates(verdicts, digests)
            yield part, verdicts
            bar.update(len(verdicts))


class _Context(NamedTuple):
    """What the variants of later pairs depend on.

    Attributes:
        names: of the pairs, each once, in the order of their first use.
        words, wanted: those of the `Outline` of each pair that is kept.
        last: the last outlines, at least as many as are ever joined.
    """

    names: list[str]
    words: bytes
    wanted: bytes
    last: list[Outline]


@dataclass(frozen=True)
class _Outline:
    """Counts what is dropped, and finds what the variants of later pairs depend on."""

    recipe: Recipe
    verdicts: Shared

    def __call__(self, index: PartIndex, value: OutlinedPart) -> tuple[None, tuple[Report, _Context]]:
        (part, outlines), report, verdicts = value, Report(), self.verdicts[index]
        report.add(describe(self.recipe.sources[part.source]), part.start, part.pairs, verdicts)
        own = [*kept(outlines.with_pairs(part.pairs), verdicts)]
        names = [*dict.fromkeys(name for outline in own for name in outline.names)]
        words, wanted = bytes(outline.words for outline in own), bytes(outline.wanted for outline in own)
        return None, (report, _Context(names, words, wanted, own[-MOST_JOINED:]))


def _outlined(outlines: Dataset) -> tuple[Report, list[str], Shared]:
    """Return the report, all names, and by part the number of names before it and the pairs that it continues."""
    report, names = Report(), dict[str, None]()
    contexts: list[tuple[PartIndex, tuple[int, list[Outline]]]] = []
    run, last = SentenceRun[None](), deque[Outline]()
    for part, (dropped, context) in outlines.notes():
        if part.number == 0:
            run, last = SentenceRun[None](), deque[Outline](maxlen=MOST_JOINED)
        n_before = len(run.items)
        contexts.append((part, (len(names), [*last][len(last) - n_before :])))
        report.extend(dropped)
        names |= dict.fromkeys(context.names)
        last.extend(context.last)
        for words, wanted in zip(context.words, context.wanted, strict=True):
            run.add(None, words, wanted)
    return report, [*names], Shared(contexts)


@dataclass(frozen=True)
class _Vary:
    """Does `stages.vary`; the lines stay in the cluster."""

    recipe: Recipe
    verdicts: Shared
    names: ObjectRef
    contexts: Shared

    def __call__(self, index: PartIndex, value: OutlinedPart) -> tuple[bytes, Varied]:
        (part, outlines), (n_names, before) = value, self.contexts[index]
        names = self.names.get()[:n_names]
        varied = stages.vary(self.recipe, Decided(part, self.verdicts[index], outlines, names, before))
        return varied.lines, varied._replace(lines=b"")


class _OnCluster(CleanPairs):
    """Pairs that are stored in the cluster, as JSON lines."""

    def __init__(self, recipe: Recipe, report: Report, parts: Dataset) -> None:
        super().__init__(recipe, report)
        self._parts = parts
        self._n_pairs: list[tuple[PartIndex, int]] = []
        for part, varied in parts.notes():
            self.count(varied)
            self._n_pairs.append((part, varied.n_pairs))

    def sample(self, n: int) -> Iterator[str]:
        chosen = sampled(2 * sum(self.counts), n)
        masks = ((part, np.fromiter(chosen, dtype=bool, count=2 * n_pairs)) for part, n_pairs in self._n_pairs)
        found = self._parts.map(_Sample(Shared((part, np.packbits(mask)) for part, mask in masks)))
        return itertools.chain.from_iterable(sentences for _, sentences in found.notes())

    def encoded(self, tokenizer: Tokenizer) -> Iterator[Encoded]:
        with tqdm(total=sum(self.counts), desc="encoding", unit=" pairs", disable=None, leave=False) as bar:
            for _, encoded in self._parts.map(_Encode(WordEncoder(tokenizer))).notes():
                if encoded is not None:
                    yield encoded
                    bar.update(len(encoded[0].lengths))


@dataclass(frozen=True)
class _Sample:
    """Finds the sentences that are chosen, by their numbers."""

    masks: Shared

    def __call__(self, part: PartIndex, lines: bytes) -> tuple[None, list[str]]:
        sentences = [*itertools.chain.from_iterable(map(json.loads, lines.splitlines()))]
        mask = np.unpackbits(self.masks[part], count=len(sentences))
        return None, [*itertools.compress(sentences, mask.tolist())]


@dataclass(frozen=True)
class _Encode:
    """Does `stages.encode`; None for a part without pairs."""

    words: WordEncoder

    def __call__(self, part: PartIndex, lines: bytes) -> tuple[None, Encoded | None]:
        return None, stages.encode(self.words, lines.splitlines()) if lines else None
