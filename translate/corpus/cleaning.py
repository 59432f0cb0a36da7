"""Rules that drop training pairs, in a fixed order; a dropped pair is counted under the first rule that applies.

    empty         a side is empty or white space
    too_long      a side has more than `max_words` words or more than `max_characters` characters
    ratio         the longer side has more than `max_ratio` times the characters of the shorter one; pairs with fewer
                  than 20 characters on both sides are exempt, since their ratios vary more ("Ja." "Yes, I do.")
    identical     both sides are the same text
    duplicate     the same pair occurred before
    test_overlap  the pair is a validation or test pair, or a side of 4 words or more is a side of one, whatever its
                  case, punctuation and white space

The tag of a synthetic source counts for `duplicate` alone, so that a natural pair never gives way to a synthetic one.
For `test_overlap`, two characters of a script without spaces are a word. `augmentation` asks `HeldOut` about every
variant again, since a variant may be a test pair although its original is none.

Sentences are never changed. Pairs are remembered as 8-byte hashes, in 8 to 9 bytes of memory each. The probability of
any collision is 3 in a million among ten million pairs, and 3 in ten thousand among a hundred million.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from translate.config.schema import CleaningConfig
from translate.corpus.sources import Pair, untagged
from translate.text.placeholders import SYMBOL

T = TypeVar("T")

RULES = ("empty", "too_long", "ratio", "identical", "duplicate", "test_overlap")

Verdicts = NDArray[np.uint8]  # of each pair: 0 keeps it, 1 and more is the place of a rule in RULES
_KEPT, _EMPTY, _TOO_LONG, _RATIO, _IDENTICAL, _DUPLICATE, _OVERLAP = range(len(RULES) + 1)
Keys = NDArray[np.uint64]  # hashes of pairs

_EXEMPT_CHARACTERS = 20
_OVERLAP_WORDS = 4
CHUNK = 10_000  # pairs looked at together
_MAX_EXAMPLES = 3
_EXAMPLE_CHARACTERS = 80


class Cleaner:
    """Applies the rules; one cleaner for all training sources also finds duplicates between them.

    Only `drop_duplicates` remembers pairs, so the other rules may be applied anywhere and in any order.
    """

    def __init__(self, config: CleaningConfig, held_out: "HeldOut") -> None:
        self.report = Report()
        self._config = config
        self._held_out = held_out
        self._seen = Seen()

    def clean(self, pairs: Iterable[Pair], origin: str = "", *, keep_identical: bool = False) -> Iterator[Pair]:
        """Yield the pairs that pass all rules.

        Args:
            origin: name of the source in the report.
            keep_identical: whether the rule `identical` does not apply to this source.
        """
        self.report.origins.setdefault(origin, {"read": 0, "kept": 0})
        pairs, line = iter(pairs), 1
        while chunk := list(islice(pairs, CHUNK)):
            verdicts = self.verdicts(chunk, keep_identical=keep_identical)
            self.drop_duplicates(verdicts, self.digests(chunk, verdicts))
            self.drop_overlaps(verdicts, chunk)
            self.report.add(origin, line, chunk, verdicts)
            yield from kept(chunk, verdicts)
            line += len(chunk)

    def verdicts(self, pairs: Sequence[Pair], *, keep_identical: bool) -> Verdicts:
        """Return the verdicts (n,) of the rules that need no other pair: the first four."""
        rules = (self._rule_against(*untagged(pair)[1], keep_identical) for pair in pairs)
        return np.fromiter(rules, dtype=np.uint8, count=len(pairs))

    def _rule_against(self, source: str, target: str, keep_identical: bool) -> int:
        """Return the verdict of the rules that need no other pair."""
        config = self._config
        words = len(source.split()), len(target.split())
        characters = len(source), len(target)
        if not min(words):
            return _EMPTY
        if max(words) > config.max_words or max(characters) > config.max_characters:
            return _TOO_LONG
        if max(characters) >= _EXEMPT_CHARACTERS and max(characters) > config.max_ratio * min(characters):
            return _RATIO
        if config.identical and not keep_identical and source == target:
            return _IDENTICAL
        return _KEPT

    def digests(self, pairs: Sequence[Pair], verdicts: Verdicts) -> Keys:
        """Return the keys of the pairs that are kept so far, for `drop_duplicates`."""
        if not self._config.duplicates:
            return np.empty(0, dtype=np.uint64)
        return np.frombuffer(b"".join(_pair_digest(*pair) for pair in kept(pairs, verdicts)), dtype=np.uint64)

    def drop_duplicates(self, verdicts: Verdicts, digests: Keys) -> None:
        """Remember pairs, and change the verdicts on those that occurred before.

        Args:
            digests: of the pairs that the first four rules keep.
        """
        if self._config.duplicates:
            passed = np.flatnonzero((verdicts == _KEPT) | (verdicts == _OVERLAP))
            verdicts[passed[self._seen.add(digests)]] = _DUPLICATE

    def drop_overlaps(self, verdicts: Verdicts, pairs: Sequence[Pair]) -> None:
        """Change the verdicts on pairs that overlap with those held out, of the pairs that are kept so far."""
        if self._config.test_overlap:
            for i in np.flatnonzero(verdicts == _KEPT).tolist():
                if self._held_out.overlaps(untagged(pairs[i])[1]):
                    verdicts[i] = _OVERLAP


def kept(pairs: Iterable[T], verdicts: Verdicts) -> Iterator[T]:
    """Yield the pairs, or what there is of each, that no rule drops."""
    return compress(pairs, (verdicts == _KEPT).tolist())


@dataclass
class Report:
    """Counts that grow while pairs are cleaned.

    Attributes:
        examples: the first few dropped pairs of each rule: source, number of the pair in it (from 1; "line", which it
            is in most sources) and the beginning of both sides.
        origins: number of pairs read and kept, by source.
    """

    kept: int = 0
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))
    examples: dict[str, list[dict[str, object]]] = field(default_factory=lambda: {rule: [] for rule in RULES})
    origins: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def read(self) -> int:
        """Number of pairs read."""
        return self.kept + sum(self.dropped.values())

    def add(self, origin: str, line: int, pairs: Sequence[Pair], verdicts: Verdicts) -> None:
        """Count pairs that follow one another in a source, from number `line` on."""
        counts = self.origins.setdefault(origin, {"read": 0, "kept": 0})
        kept, *dropped = np.bincount(verdicts, minlength=len(RULES) + 1).tolist()
        counts["read"] += len(verdicts)
        counts["kept"] += kept
        self.kept += kept
        for n, (rule, n_dropped) in enumerate(zip(RULES, dropped, strict=True), start=1):
            self.dropped[rule] += n_dropped
            wanted = min(n_dropped, _MAX_EXAMPLES - len(self.examples[rule]))
            for i in np.flatnonzero(verdicts == n)[:wanted].tolist():
                source, target = (side[:_EXAMPLE_CHARACTERS] for side in pairs[i])
                self.examples[rule].append({"origin": origin, "line": line + i, "source": source, "target": target})

    def extend(self, later: "Report") -> None:
        """Add the counts of pairs that follow those of this report."""
        self.kept += later.kept
        for rule in RULES:
            self.dropped[rule] += later.dropped[rule]
            self.examples[rule] += later.examples[rule][: _MAX_EXAMPLES - len(self.examples[rule])]
        for origin, counts in later.origins.items():
            known = self.origins.setdefault(origin, {"read": 0, "kept": 0})
            for key, n in counts.items():
                known[key] += n

    def as_dict(self) -> dict[str, object]:
        """Return plain data for JSON."""
        counts = {"read": self.read, "kept": self.kept, "dropped": self.dropped, "sources": self.origins}
        return {**counts, "examples": self.examples}


class HeldOut:
    """The validation and test pairs, which no training pair may repeat.

    Texts are compared without case, punctuation, white space and placeholder symbols.
    """

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self._sides: set[str] = set()
        self._pairs: set[Pair] = set()
        for pair in pairs:
            source, target = map(_core, pair)
            self._pairs |= {(source, target), (target, source)}
            self._sides |= {core for side, core in zip(pair, (source, target), strict=True) if _is_long(side)}

    def overlaps(self, pair: Pair) -> bool:
        """Return whether the pair is held out, either way round, or shares a side of 4 words or more with one."""
        if not self._pairs:
            return False
        cores = _core(pair[0]), _core(pair[1])
        return cores in self._pairs or any(
            core in self._sides and _is_long(side) for side, core in zip(pair, cores, strict=True)
        )


def _is_long(side: str) -> bool:
    return n_words(side) >= _OVERLAP_WORDS


# Han, kana, Thai, Lao, Burmese and Khmer.
_WITHOUT_SPACES = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3041-\u30ff\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]"
)


def n_words(text: str) -> int:
    """Return the number of words between white space; of scripts without spaces, two characters are a word."""
    words = len(text.split())
    return words if text.isascii() else max(words, len(_WITHOUT_SPACES.findall(text)) // 2)


def _core(side: str) -> str:
    """Return the text without case, punctuation, white space and symbols; without white space alone if none is left."""
    text = unicodedata.normalize("NFC", SYMBOL.sub("", side)).casefold()
    try:
        core = text.encode("latin-1").translate(None, _NOT_COMPARED).decode("latin-1")
    except UnicodeEncodeError:
        core = text.translate(_COMPARED)
    return core or "".join(text.split())


class _Compared(dict[int, int | None]):
    """What `str.translate` makes of each character: nothing of punctuation, separators and control characters."""

    def __missing__(self, code: int) -> int | None:
        kept = None if unicodedata.category(chr(code))[0] in "PZC" else code
        self[code] = kept
        return kept


_COMPARED = _Compared()
# The same for bytes of Latin-1, which most text of western languages is: that takes half of the time.
_NOT_COMPARED = bytes(code for code in range(256) if _COMPARED[code] is None)


def _pair_digest(source: str, target: str) -> bytes:
    # The length distinguishes ("ab", "c") from ("a", "bc"), for all characters.
    return blake2b(f"{len(source)}:{source}{target}".encode(), digest_size=8).digest()


_PART_BITS = 4
_PART_STARTS = np.arange(1, 2**_PART_BITS, dtype=np.uint64) << np.uint64(64 - _PART_BITS)  # but for the first


class Seen:
    """A set of 64-bit keys in 8 bytes each; a Python set takes about 70 bytes per integer.

    The keys are in sorted arrays by their first 4 bits. Of each, every array is at least twice as long as the next. So
    there are at most log2(n) + 1 arrays for n keys, a key is merged with others at most as often, and only a part of
    the keys is in memory twice meanwhile.
    """

    def __init__(self) -> None:
        self._parts: list[list[Keys]] = [[] for _ in range(2**_PART_BITS)]

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add keys (n,); return True for those that occurred before, in `keys` or in an earlier call."""
        distinct, first = np.unique(keys, return_index=True)
        ends = np.searchsorted(distinct, _PART_STARTS)
        known = np.concatenate([*map(_add, self._parts, np.split(distinct, ends))])
        repeated = np.ones(len(keys), dtype=bool)
        repeated[first] = known
        return repeated


def _add(runs: list[Keys], keys: Keys) -> NDArray[np.bool_]:
    """Add sorted keys, each once, to sorted arrays; return which of them occurred before."""
    known = np.zeros(len(keys), dtype=bool)
    for run in runs:
        known |= run.take(np.searchsorted(run, keys), mode="clip") == keys
    if not known.all():
        runs.append(keys[~known])
    while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
        merged = np.concatenate(runs[-2:])
        del runs[-2:]
        merged.sort(kind="stable")  # linear for two sorted arrays
        runs.append(merged)
    return known
