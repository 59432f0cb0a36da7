"""Properties of a corpus before it is prepared, and its suspicious pairs.

Checks of content and vocabularies read evenly spaced training pairs; everything else is counted over all of them.
"""

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from translate.config.schema import AugmentationConfig, ExperimentConfig, MonoSource, Source, TokenizerConfig
from translate.corpus.cleaning import Cleaner, HeldOut, Report
from translate.corpus.prepare import source_tags
from translate.corpus.sources import Pair, describe, read_pairs
from translate.corpus.tokenizer import LargeVocabularyError, VocabularyError, sample, train
from translate.errors import UserError
from translate.text import languages, numbers
from translate.text.placeholders import without_symbols

SAMPLE = 20_000  # pairs whose content is checked
EXAMPLES = 3  # shown for each check

_TOKENIZED = 100_000  # sentences that the vocabularies are compared on
_SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000)
# Gowda and May (2020): the largest vocabulary in which 95 % of the pieces occur 100 times or more.
_OFTEN, _SHARE = 100, 0.95
_BUCKETS = (1, 3, 5, 10, 15, 20, 30, 40, 60, 80, 120, 250)
_END = re.compile(r"([.?!\u2026:;,])(?:[\"'\u201c\u201d\u00ab\u00bb)\]]|\s\u00bb)*\s*$")
_ENTITY = re.compile(r"&(?:#\d+|[a-z]{2,8});", re.IGNORECASE)


@dataclass
class Check:
    """Pairs that a check found."""

    count: int = 0
    examples: list[Pair] = field(default_factory=list)

    def add(self, pair: Pair) -> None:
        """Count a pair."""
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(pair)


@dataclass(frozen=True)
class SampleVocabulary:
    """A vocabulary trained on a sample of the corpus.

    Attributes:
        tokens_per_sentence: mean over the sample.
        unknown: share of <unk> in the validation set without byte fallback.
        frequent: share of the pieces that occur 100 times or more in the whole corpus, by extrapolation.
    """

    size: int
    tokens_per_sentence: float
    unknown: float
    frequent: float


@dataclass(frozen=True)
class Examination:
    """Everything that was found.

    Attributes:
        cleaning: what `translate prepare` would drop, with examples.
        lengths: number of sentences by words, for each side.
        ratios: number of pairs by characters of the target / characters of the source, rounded to tenths.
        n_sides: distinct sentences of each side.
        n_checked: pairs whose content was checked.
        checks: pairs with a suspicious content, by check.
        suggested: the largest vocabulary with enough examples of each piece; None if there is none.
        refusal: why `translate prepare` will refuse the tokenizer of the experiment; "" if nothing shows that.
        skipped: sources that could not be read yet.
    """

    cleaning: Report
    lengths: tuple[Counter[int], Counter[int]]
    ratios: Counter[float]
    n_sides: tuple[int, int]
    n_checked: int
    checks: dict[str, Check]
    vocabularies: list[SampleVocabulary]
    suggested: int | None
    refusal: str
    skipped: list[str]


def examine(config: ExperimentConfig) -> Examination:
    """Read the corpus of an experiment twice and examine it; UserError if a source cannot be read."""
    data, root = config.data, Path(config.data.root)
    sources = [source for source in data.training_sources if not _is_unmade(source)]
    skipped = [describe(source) for source in data.training_sources if _is_unmade(source)]
    valid = list(read_pairs(data.valid, root, data.langpair))
    tests = itertools.chain.from_iterable(
        read_pairs(source, root, data.langpair) for source in (*data.test.values(), *data.held_out)
    )
    cleaner = Cleaner(config.cleaning, HeldOut(itertools.chain(valid, tests)))
    lengths: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    ratios: Counter[float] = Counter()
    sides: tuple[set[int], set[int]] = (set(), set())

    def measured(pairs: Iterator[Pair]) -> Iterator[Pair]:
        for pair in pairs:
            for counter, seen, side in zip(lengths, sides, pair, strict=True):
                counter[len(side.split())] += 1
                seen.add(hash(side))
            if all(pair):
                ratios[round(len(pair[1]) / len(pair[0]), 1)] += 1
            yield pair

    kept = list[Pair]()  # the first of them
    for source in sources:
        pairs = measured(read_pairs(source, root, data.langpair))
        for pair in cleaner.clean(pairs, describe(source), keep_identical=source.keep_identical):
            if len(kept) < SAMPLE:
                kept.append(pair)
    n = cleaner.report.read
    if not n:
        raise UserError("data.train: has no pairs to examine; see the sources of the experiment")
    stride = max(1, n // SAMPLE)
    pairs = (pair for source in sources for pair in read_pairs(source, root, data.langpair))
    chosen = list(itertools.islice(pairs, 0, None, stride))
    vocabularies = list(_vocabularies(chosen, valid, config.tokenizer, n))
    is_all = len(kept) == cleaner.report.kept and not skipped and config.augmentation == AugmentationConfig()
    return Examination(
        cleaning=cleaner.report,
        lengths=lengths,
        ratios=ratios,
        n_sides=(len(sides[0]), len(sides[1])),
        n_checked=len(chosen),
        checks=_checked(chosen, data.source, data.target),
        vocabularies=vocabularies,
        suggested=max((vocabulary.size for vocabulary in vocabularies if vocabulary.frequent >= _SHARE), default=None),
        refusal=_refusal(kept, config, is_all=is_all),
        skipped=skipped,
    )


def histogram(lengths: Counter[int]) -> dict[str, int]:
    """Return the number of sentences in each range of lengths, such as "6-10"."""
    found: dict[str, int] = {"0": lengths[0]} if lengths[0] else {}
    low = 1
    for high in _BUCKETS:
        found[f"{low}-{high}" if low < high else f"{high}"] = sum(lengths[n] for n in range(low, high + 1))
        low = high + 1
    found[f"over {_BUCKETS[-1]}"] = sum(n for length, n in lengths.items() if length > _BUCKETS[-1])
    return found


def quantile(counts: Mapping[int, int] | Mapping[float, int], share: float) -> float:
    """Return the value that `share` of the counted values do not exceed."""
    wanted = share * sum(counts.values())
    totals = itertools.accumulate(n for _, n in sorted(counts.items()))
    return next(value for value, total in zip(sorted(counts), totals, strict=True) if total >= wanted)


def _is_unmade(source: Source) -> bool:
    """Return whether a source still lacks the side that `translate prepare` makes."""
    return isinstance(source, MonoSource) and source.synthetic is None


def _checked(pairs: Sequence[Pair], source: str, target: str) -> dict[str, Check]:
    """Run the checks of content."""
    names = ("foreign source", "foreign target", "numbers", "end of sentence", "encoding", "control characters")
    checks = {name: Check() for name in names}
    for pair in pairs:
        given, made = map(without_symbols, pair)
        found = (
            languages.is_foreign(pair[0], source),
            languages.is_foreign(pair[1], target),
            bool(numbers.missing(made, given, target, source)),
            _end(pair[0]) != _end(pair[1]),
            any(map(_is_misread, pair)),
            any(unicodedata.category(character) == "Cc" for side in pair for character in side if character != "\t"),
        )
        for name, is_suspicious in zip(names, found, strict=True):
            if is_suspicious:
                checks[name].add(pair)
    return checks


def _end(text: str) -> str | None:
    """Return the punctuation mark that ends a sentence; an ellipsis counts as a full stop."""
    match = _END.search(text)
    return None if match is None else match[1].replace("\u2026", ".")


def _is_misread(text: str) -> bool:
    """Return whether a text has replacement characters, entities, or UTF-8 that was read as another encoding."""
    if "\ufffd" in text or _ENTITY.search(text):
        return True
    for encoding in ("cp1252", "latin-1"):
        try:
            return not text.isascii() and text.encode(encoding).decode("utf-8") != text
        except UnicodeError:
            continue
    return False


def _refusal(pairs: Sequence[Pair], config: ExperimentConfig, *, is_all: bool) -> str:
    """Return why the tokenizer of the experiment cannot be trained; "" if it can, or if more text may change that.

    Args:
        is_all: whether it is trained on the pairs alone.
    """
    try:
        train(itertools.chain.from_iterable(pairs), config.tokenizer, {*config.tokenizer.tags, *source_tags(config)})
    except VocabularyError as error:
        return str(error) if is_all or not isinstance(error, LargeVocabularyError) else ""
    return ""


def _vocabularies(
    pairs: Sequence[Pair], valid: Sequence[Pair], config: TokenizerConfig, n_pairs: int
) -> Iterator[SampleVocabulary]:
    """Yield vocabularies of growing size, up to the largest that the sample has text for."""
    everything = list(itertools.chain.from_iterable(pairs))
    texts = list(sample(everything, len(everything), _TOKENIZED))
    held_out = list(itertools.chain.from_iterable(valid))
    growth = 2 * n_pairs / len(texts)
    for size in sorted({*_SIZES, config.vocab_size}):
        settings = config.model_copy(update={"vocab_size": size, "byte_fallback": False, "placeholders": 0})
        try:
            tokenizer = train(texts, settings)
        except VocabularyError:  # too small for the characters, or too large for the text
            continue
        ids = Counter(itertools.chain.from_iterable(tokenizer.encode_batch(texts)))
        often = sum(n * growth >= _OFTEN for n in ids.values())
        of_valid = Counter(itertools.chain.from_iterable(tokenizer.encode_batch(held_out)))
        unknown = of_valid[tokenizer.unk] / max(1, of_valid.total())
        yield SampleVocabulary(size, ids.total() / len(texts), unknown, often / size)
