"""Training pairs in more than one form, so that a model reads text as people type it.

    case     HALLO! and hallo beside Hallo!: both sides in capitals, or in small letters
    ending   "Guten Morgen" beside "Guten Morgen.": both sides without the mark that ends them, or with one
    markup   a word that both sides share, or the whole sentence, between placeholders, as between tags

A rate is the chance of a pair whose source has 12 words. Short sentences stand alone more often in what people type,
so the chance is in inverse proportion to the number of words, up to one. It hangs on the pair alone: whatever else is
in the corpus, and wherever the pair stands, its variants are the same.

With a tokenizer that has placeholders, what a translation must hold unchanged is a symbol on both sides, as it will be
when the model translates.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from translate.config import AugmentationConfig
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

    Attributes:
        added: variants by kind.
    """

    def __init__(self, config: AugmentationConfig, n_symbols: int) -> None:
        self.added: dict[str, int] = dict.fromkeys(rates(config), 0)
        self._rates = rates(config)
        self._n_symbols = n_symbols

    def __call__(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Each pair with its placeholders, and after it its variants."""
        for pair in pairs:
            source, target = with_symbols(pair, self._n_symbols)
            yield source, target
            for kind, rate in self._rates.items():
                draw = _draw(kind, pair)
                chance = min(1.0, rate * TYPICAL_WORDS / max(1, len(source.split())))
                if draw < chance and (variant := _VARIANTS[kind]((source, target), draw / chance)) is not None:
                    self.added[kind] += 1
                    yield variant


def rates(config: AugmentationConfig) -> dict[str, float]:
    """The kinds of variants that are asked for, with their rates."""
    return {kind: rate for kind, rate in config.model_dump().items() if rate}


def with_symbols(pair: Pair, n_symbols: int) -> Pair:
    """The pair with a symbol for each thing that both sides hold unchanged; the pair itself where they differ in that.

    Symbols are numbered as they appear in the source; of things that occur twice the first is the first.
    """
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


def _marked_up(pair: Pair, choice: float) -> Pair | None:
    """One of: a shared word replaced by a symbol, a shared word between two, the whole sentence between two."""
    if any(SYMBOL.search(side) for side in pair):
        return None
    first, second = symbol(0), symbol(1)
    word = _shared_word(pair)
    if word is None or choice < 0.2:
        return first + pair[0] + second, first + pair[1] + second
    new = first if choice < 0.6 else first + word + second
    source, target = (re.sub(rf"\b{re.escape(word)}\b", lambda _: new, side, count=1) for side in pair)
    return source, target


def _shared_word(pair: Pair) -> str | None:
    """The longest word, such as a name or a number, that stands exactly once on either side."""
    words = [_WORD.findall(side) for side in pair]
    shared = {word for word in words[0] if all(side.count(word) == 1 for side in words)}
    return max(shared, key=lambda word: (len(word), word), default=None)


_VARIANTS = {"case": _other_case, "ending": _other_ending, "markup": _marked_up}


def _draw(kind: str, pair: Pair) -> float:
    """A number in [0, 1) that hangs on the kind and the pair."""
    digest = blake2b(f"{kind}:{len(pair[0])}:{pair[0]}{pair[1]}".encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56
