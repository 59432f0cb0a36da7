"""Training pairs in more than one form, so that a model reads text as people type it.

    case     HALLO! and hallo beside Hallo!: both sides in capitals, or in small letters
    ending   "Guten Morgen" beside "Guten Morgen.": both sides without the mark that ends them, or with one
    markup   a word and its translation, or the whole sentence, between placeholders, as between tags

A rate is the chance of a pair whose source has 12 words. Short sentences stand alone more often in what people type,
so the chance is in inverse proportion to the number of words, up to one. It hangs on the pair alone: whatever else is
in the corpus, and wherever the pair stands, its variants are the same.

With a tokenizer that has placeholders, what a translation must hold unchanged is a symbol on both sides, as it will be
when the model translates.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from types import MappingProxyType

from translate.config.schema import AugmentationConfig
from translate.corpus.sources import Pair
from translate.text.placeholders import SYMBOL, protect, symbol

TYPICAL_WORDS = 12

_END = re.compile(r"[.!?]$")
_WORD = re.compile(r"\b[^\W_]{2,}\b")


class Augmenter:
    """Makes the variants of pairs and counts them.

    Args:
        config: the rates.
        n_symbols: placeholders of the tokenizer.
        dictionary: words and their translations in small letters; a model that meets nothing but names between tags
            learns to copy what stands there.

    Attributes:
        added: variants by kind.
    """

    def __init__(
        self, config: AugmentationConfig, n_symbols: int, dictionary: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.added: dict[str, int] = dict.fromkeys(rates(config), 0)
        self._rates = rates(config)
        self._n_symbols = n_symbols
        self._variants: dict[str, Callable[[Pair, float], Pair | None]] = {
            "case": _other_case,
            "ending": _other_ending,
            "markup": partial(_marked_up, dictionary, n_symbols),
        }

    def __call__(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Each pair with its placeholders, and after it its variants."""
        for pair in pairs:
            source, target = with_symbols(pair, self._n_symbols)
            yield source, target
            for kind, rate in self._rates.items():
                draw = _draw(kind, pair)
                chance = min(1.0, rate * TYPICAL_WORDS / max(1, len(source.split())))
                if draw < chance and (variant := self._variants[kind]((source, target), draw / chance)) is not None:
                    self.added[kind] += 1
                    yield variant


def rates(config: AugmentationConfig) -> dict[str, float]:
    """The kinds of variants that are asked for, with their rates."""
    return {kind: rate for kind, rate in config.model_dump().items() if rate}


def with_symbols(pair: Pair, n_symbols: int) -> Pair:
    """The pair with a symbol for each thing that both sides hold unchanged; the pair itself where they differ in that.

    Symbols are numbered as they appear in the source; of things that occur twice the first is the first.
    """
    if not n_symbols:
        return pair
    source, target = (protect(side) for side in pair)
    if not 0 < len(source.originals) <= n_symbols or sorted(source.originals) != sorted(target.originals):
        return pair
    numbers: dict[str, list[int]] = {}
    for number, original in enumerate(source.originals):
        numbers.setdefault(original, []).append(number)
    renamed = [numbers[original].pop(0) for original in target.originals]
    return source.text, SYMBOL.sub(lambda match: symbol(renamed[int(match[1]) - 1]), target.text)


def _other_case(pair: Pair, choice: float) -> Pair | None:
    source, target = (side.upper() if choice < 0.5 else side.lower() for side in pair)
    return (source, target) if (source, target) != pair else None


def _other_ending(pair: Pair, choice: float) -> Pair | None:
    source, target = pair
    ends = [_END.search(side) is not None for side in pair]
    if all(ends) and len(source) > 1 and len(target) > 1:
        return source[:-1].rstrip(), target[:-1].rstrip()
    if not any(ends) and source[-1:].isalnum() and target[-1:].isalnum():
        mark = "." if choice < 0.5 else "!"
        return source + mark, target + mark
    return None


def _marked_up(dictionary: Mapping[str, str], n_symbols: int, pair: Pair, choice: float) -> Pair | None:
    """One of: the whole sentence between two symbols, a shared word replaced by one, one word or two between two."""
    if any(SYMBOL.search(side) for side in pair):
        return None
    shared = [link for link in _links(pair, lambda word: word) if link[0] == link[1]]
    links = _links(pair, dictionary.get) or shared
    if not links or choice < 0.2:
        first, second = symbol(0), symbol(1)
        return first + pair[0] + second, first + pair[1] + second
    if shared and choice < 0.4:
        return _with_words(pair, shared[:1], lambda i, word: symbol(i))
    n = 2 if choice >= 0.7 and n_symbols >= 4 else 1
    return _with_words(pair, links[:n], lambda i, word: symbol(2 * i) + word + symbol(2 * i + 1))


def _links(pair: Pair, meaning: Callable[[str], str | None]) -> list[Pair]:
    """Words of the source with those of the target that are their meaning, either once there; the longest first."""
    source, target = (_once(side) for side in pair)
    links = [(word, target[there]) for key, word in source.items() if (there := meaning(key)) in target]
    by_target = {there: (word, there) for word, there in sorted(links, key=lambda link: (len(link[0]), link))}
    return sorted(by_target.values(), key=lambda link: (-len(link[0]), link))


def _once(side: str) -> dict[str, str]:
    """The words that stand there once, by their small letters."""
    words = _WORD.findall(side)
    counts = Counter(map(str.casefold, words))
    return {key: word for word in words if counts[key := word.casefold()] == 1}


def _with_words(pair: Pair, links: Sequence[Pair], new: Callable[[int, str], str]) -> Pair:
    """The pair with something else for some words, which are counted as they stand in the source."""
    order = _either(word for word, _ in links).findall(pair[0])
    numbers = [order.index(word) for word, _ in links]
    source, target = (
        _either(words).sub(partial(_numbered, dict(zip(words, numbers, strict=True)), new), side)
        for words, side in zip(zip(*links, strict=True), pair, strict=True)
    )
    return source, target


def _either(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words))


def _numbered(numbers: Mapping[str, int], new: Callable[[int, str], str], match: re.Match[str]) -> str:
    return new(numbers[match[0]], match[0])


def _draw(kind: str, pair: Pair) -> float:
    """A number in [0, 1) that hangs on the kind and the pair."""
    digest = blake2b(f"{kind}:{len(pair[0])}:{pair[0]}{pair[1]}".encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56
