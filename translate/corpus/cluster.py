"""The stages of preparing a corpus on a cluster of Ray, with the same bytes as in one process.

Workers do all that depends on a pair alone, for 10,000 pairs at a time: reading, rules, hashes, variants, token ids.
What depends on other pairs is decided here, in the order of the sources, from a few bytes of each pair: duplicates by
their hashes; for `names`, the names before a part; for `joined`, the lengths of sentences, from which follows what is
to be joined at the beginning of a part; and the sample for the tokenizer by numbers of sentences.
"""

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from translate.cluster import Dataset, ObjectRef, PartIndex, Shared
from translate.config.schema import DataConfig, Source
from translate.corpus.augmentation import MOST_JOINED, Context, SentenceRun
from translate.corpus.cleaning import CHUNK, Report, Verdicts, kept
from translate.corpus.sources import Pair, below, describe, pair_lines, read_pairs
from translate.corpus.stages import CleanPairs, Encoded, Encoder, Recipe
from translate.corpus.tokenizer import TextSize, Tokenizer, sampled

Pairs = Sequence[Pair]


def clean(recipe: Recipe, folder: Path, *, chunk: int = CHUNK) -> CleanPairs:
    """Do what `translate.corpus.stages.clean` does on the cluster that this process is connected to.

    All nodes need the data at the same place. The pairs stay in the cluster until they are encoded.

    Args:
        folder: not used.
        chunk: pairs that are one part of the work.
    """
    recipe = _with_full_paths(recipe)
    read = Dataset.read([_Read(source, recipe.config.data, chunk) for source in recipe.sources])
    judged = read.map(_Judge(recipe)).materialize()
    verdicts = Shared(_final(recipe, judged))
    report, names, contexts = _outlined(judged.map(_Outline(recipe, verdicts, chunk)))
    varied = judged.map(_Vary(recipe, verdicts, ObjectRef(names), contexts)).materialize()
    return _OnCluster(varied, report)


def _with_full_paths(recipe: Recipe) -> Recipe:
    """Return the recipe with a root that means the same to workers, whose folder is another."""
    data = recipe.config.data
    data = data.model_copy(update={"root": str(below(".", Path(data.root)).absolute())})
    return replace(recipe, config=recipe.config.model_copy(update={"data": data}))


@dataclass(frozen=True)
class _Read:
    """Reads a source: yields its pairs, some at a time, at least one empty list."""

    source: Source
    data: DataConfig
    chunk: int

    def __call__(self) -> Iterator[Pairs]:
        pairs = read_pairs(self.source, Path(self.data.root), self.data.langpair)
        yield list(itertools.islice(pairs, self.chunk))
        while following := list(itertools.islice(pairs, self.chunk)):
            yield following


@dataclass(frozen=True)
class _Judge:
    """Applies the rules that need no other pair, and makes the keys for the one that does."""

    recipe: Recipe

    def __call__(self, part: PartIndex, pairs: Pairs) -> tuple[Pairs, Any]:
        cleaner = self.recipe.cleaner()
        verdicts = cleaner.verdicts(pairs, keep_identical=self.recipe.sources[part.source].keep_identical)
        digests = cleaner.digests(pairs, verdicts)
        cleaner.drop_overlaps(verdicts, pairs)
        return pairs, (verdicts, digests)


def _final(recipe: Recipe, judged: Dataset) -> Iterator[tuple[PartIndex, Verdicts]]:
    """Yield the verdicts of all rules, by part."""
    cleaner = recipe.cleaner()
    with tqdm(desc="cleaning", unit=" pairs", disable=None, leave=False) as bar:
        for part, (verdicts, digests) in judged.notes():
            cleaner.drop_duplicates(verdicts, digests)
            yield part, verdicts
            bar.update(len(verdicts))


@dataclass(frozen=True)
class _Outline:
    """Counts what is dropped, and finds what the variants of later pairs depend on."""

    recipe: Recipe
    verdicts: Shared
    chunk: int

    def __call__(self, part: PartIndex, pairs: Pairs) -> tuple[None, tuple[Report, Context]]:
        report, verdicts = Report(), self.verdicts[part]
        report.add(describe(self.recipe.sources[part.source]), part.number * self.chunk + 1, pairs, verdicts)
        return None, (report, self.recipe.augmenter().context(kept(pairs, verdicts)))


def _outlined(outlines: Dataset) -> tuple[Report, list[str], Shared]:
    """Return the report, all names, and by part the number of names before it and the pairs that it continues."""
    report, names = Report(), dict[str, None]()
    contexts: list[tuple[PartIndex, tuple[int, Pairs]]] = []
    run, last = SentenceRun[None](), deque[Pair]()
    for part, (dropped, context) in outlines.notes():
        if part.number == 0:
            run, last = SentenceRun[None](), deque[Pair](maxlen=MOST_JOINED)
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
    """Leaves out what was dropped, and adds variants."""

    recipe: Recipe
    verdicts: Shared
    names: ObjectRef
    contexts: Shared

    def __call__(self, part: PartIndex, pairs: Pairs) -> tuple[Pairs, Any]:
        n_names, before = self.contexts[part]
        augmenter = self.recipe.augmenter(self.names.get()[:n_names])
        varied = list(augmenter(kept(pairs, self.verdicts[part]), before))
        return varied, (len(varied), TextSize.of(pair_lines(varied)), augmenter.added, augmenter.refused)


class _OnCluster:
    """Pairs that are stored in the cluster; see `translate.corpus.stages.CleanPairs`."""

    def __init__(self, parts: Dataset, report: Report) -> None:
        self.report = report
        self.counts: list[int] = []
        self.added: dict[str, int] = {}
        self.refused = 0
        self._parts = parts
        self._n_pairs: list[tuple[PartIndex, int]] = []
        self._size = TextSize(0, 0)
        for part, (n_pairs, size, added, refused) in parts.notes():
            if part.number == 0:
                self.counts.append(0)
            self.counts[-1] += n_pairs
            self._n_pairs.append((part, n_pairs))
            self._size = TextSize.total([self._size, size])
            self.added = {kind: self.added.get(kind, 0) + n for kind, n in added.items()}
            self.refused += refused

    def size(self) -> TextSize:
        return self._size

    def sample(self, n: int) -> Iterator[str]:
        chosen = sampled(2 * sum(self.counts), n)
        masks = ((part, np.fromiter(chosen, dtype=bool, count=2 * n_pairs)) for part, n_pairs in self._n_pairs)
        found = self._parts.map(_Sample(Shared((part, np.packbits(mask)) for part, mask in masks)))
        return itertools.chain.from_iterable(sentences for _, sentences in found.notes())

    def encoded(self, tokenizer: Tokenizer) -> Iterator[Encoded]:
        with tqdm(total=sum(self.counts), desc="encoding", unit=" pairs", disable=None, leave=False) as bar:
            for _, encoded in self._parts.map(_Encode(tokenizer.serialized)).notes():
                if encoded is not None:
                    yield encoded
                    bar.update(len(encoded[0].lengths))


@dataclass(frozen=True)
class _Sample:
    """Finds the sentences that are chosen, by their numbers."""

    masks: Shared

    def __call__(self, part: PartIndex, pairs: Pairs) -> tuple[None, list[str]]:
        mask = np.unpackbits(self.masks[part], count=2 * len(pairs))
        return None, [*itertools.compress(itertools.chain.from_iterable(pairs), mask.tolist())]


class _Encode:
    """Encodes pairs; None for none."""

    def __init__(self, serialized: bytes) -> None:
        self._encoder = Encoder(serialized)

    def __call__(self, part: PartIndex, pairs: Pairs) -> tuple[None, Encoded | None]:
        return None, self._encoder(pairs) if pairs else None
