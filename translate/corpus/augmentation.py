"""Variants of training pairs, so that a model can read text as people type it.

    case     HALLO! and hallo for Hallo!: both sides in upper or lower case
    ending   "Guten Morgen" for "Guten Morgen.": both sides without their final punctuation, or with one
    markup   a word and its translation, or the whole sentence, between placeholders, as between tags
    names    "Merkel kommt." for "Tom kommt.": another name in place of one that both sides share
    spelling "Strasse" and "ueber" in the source alone: without letters that many keyboards lack
    joined   a pair and those that follow it in its source, as one long pair

A rate is the probability for a source of 12 words. For other lengths, the probability is inversely proportional to the
number of words, up to 1, since people type short sentences more often; for `joined`, it is the same for all lengths. In
scripts without spaces, two characters count as a word. Variants depend only on the pair, or on the pairs that are
joined; `names` also depends on earlier pairs.

A variant that is a validation or test pair is not added.

If the tokenizer has placeholders, text that a translation must keep unchanged is replaced by a symbol on both sides, as
in translation.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from types import MappingProxyType

from translate.config.schema import AugmentationConfig
from translate.corpus.cleaning import n_words
from translate.corpus.sources import Pair, untagged, with_symbols
from translate.text import languages
from translate.text.placeholders import SYMBOL, symbol

TYPICAL_WORDS = 12

_JOINED_WORDS = 25, 75  # the least and the greatest length of the source of a joined pair

_END = re.compile("[.!?。！？؟।]$")  # of Latin, Chinese and Japanese, Arabic, and Hindi text
# Full stop and exclamation mark by script: Chinese and Japanese, Hindi and Bengali; others have those of Latin text.
_MARKS = ((re.compile("[\u3041-\u30ff\u3400-\u9fff]"), "。！"), (re.compile("[\u0900-\u09ff]"), "।!"))
_WIDE_ENDS = "。", "！", "？"  # no space follows
_WORD = re.compile(r"\b[^\W_]{2,}\b")
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{2,}\b")


class Augmenter:
    """Makes variants of pairs and counts them.

    Args:
        n_symbols: placeholders of the tokenizer.
        dictionary: words and their translations, case-folded. Without them only names would occur between tags, and a
            model would learn to copy everything there; and words of titles ("The", "New") would pass for names.
        source: language code of the source, for its spellings.
        is_held_out: returns whether a pair is a validation or test pair.

    Attributes:
        added: number of variants by kind.
        refused: number of variants that are held out.
    """

    def __init__(
        self,
        config: AugmentationConfig,
        n_symbols: int,
        dictionary: Mapping[str, str] = MappingProxyType({}),
        source: str = "",
        is_held_out: Callable[[Pair], bool] = lambda pair: False,
    ) -> None:
        rules = languages.find(source)
        self._rates = {kind: rate for kind, rate in config.model_dump().items() if rate}
        self.added: dict[str, int] = dict.fromkeys(self._rates, 0)
        self.refused = 0
        self._n_symbols = n_symbols
        self._is_held_out = is_held_out
        self._variants: dict[str, Callable[[Pair, float], Pair | None]] = {
            "case": _other_case,
            "ending": _other_ending,
            "markup": partial(_marked_up, dictionary, n_symbols),
            "names": self._renamed,
            "spelling": partial(_respelled, rules.respellings if rules else ()),
        }
        self._words = {*dictionary, *dictionary.values()}
        self._names: list[str] = []
        self._seen_names: set[str] = set()

    def __call__(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield each pair of a source with its placeholders, followed by its variants."""
        run: list[Pair] = []  # the pairs to join
        for tagged in pairs:
            tag, pair = untagged(tagged)
            source, target = with_symbols(pair, self._n_symbols)
            yield tag + source, target
            if "names" in self._rates:
                self._collect_names((source, target))
            variants = list(self._variants_of((source, target)))
            if (long := self._joined(run, pair)) is not None:
                variants.append(("joined", with_symbols(long, self._n_symbols)))
            for kind, variant in variants:
                if self._is_held_out(variant):
                    self.refused += 1
                else:
                    self.added[kind] += 1
                    yield tag + variant[0], variant[1]

    def _variants_of(self, pair: Pair) -> Iterator[tuple[str, Pair]]:
        for kind, make in self._variants.items():
            if rate := self._rates.get(kind):
                draw = _draw(kind, pair)
                chance = min(1.0, rate * TYPICAL_WORDS / max(1, n_words(pair[0])))
                if draw < chance and (variant := make(pair, draw / chance)) is not None:
                    yield kind, variant

    def _collect_names(self, pair: Pair) -> None:
        """Remember the names of a pair. The first word of a sentence has a capital in any case and may be none."""
        first = _WORD.search(pair[1])
        for name in _shared_names(pair):
            is_known = name in self._seen_names or name.casefold() in self._words
            if not is_known and not (first and first[0] == name):
                self._names.append(name)
                self._seen_names.add(name)

    def _renamed(self, pair: Pair, choice: float) -> Pair | None:
        """Return the pair with the name of an earlier pair in place of one that both sides share."""
        shared = [name for name in _shared_names(pair) if name in self._seen_names]
        i, j = divmod(int(choice * len(shared) * len(self._names)), max(1, len(self._names)))
        if not shared or any(self._names[j] in side for side in pair):
            return None
        source, target = (_either([shared[i]]).sub(self._names[j], side) for side in pair)
        return source, target

    def _joined(self, run: list[Pair], pair: Pair) -> Pair | None:
        """Add the pair to the run, which it may begin; return the joined run and empty it when it is long enough."""
        rate = self._rates.get("joined", 0.0)
        is_whole = all(_END.search(side) for side in pair)
        if not is_whole or not (run or _draw("joined", pair) < rate):
            run.clear()
            return None
        run.append(pair)
        least, greatest = _JOINED_WORDS
        wanted = least + (greatest - least) * _draw("joined", run[0]) / rate
        total = sum(n_words(source) for source, _ in run)
        if total < wanted:
            return None
        is_joined = len(run) > 1 and total <= greatest
        source, target = (_text(sides) for sides in zip(*run, strict=True))
        run.clear()
        return (source, target) if is_joined else None


def _other_case(pair: Pair, choice: float) -> Pair | None:
    source, target = (side.upper() if choice < 0.5 else side.lower() for side in pair)
    # A script without case cannot show the case that the other side should have.
    return (source, target) if source != pair[0] and target != pair[1] else None


def _other_ending(pair: Pair, choice: float) -> Pair | None:
    source, target = pair
    ends = [_END.search(side) is not None for side in pair]
    if all(ends):
        bare = source[:-1].rstrip(), target[:-1].rstrip()
        return bare if all(bare) else None
    if not any(ends) and source[-1:].isalnum() and target[-1:].isalnum():
        return _ended(source, choice), _ended(target, choice)
    return None


def _respelled(respellings: Sequence[Mapping[str, str]], pair: Pair, choice: float) -> Pair | None:
    """Return the pair with the source in one of the spellings; None if that changes nothing."""
    if not respellings:
        return None
    table = {ord(old): new for old, new in respellings[int(choice * len(respellings))].items()}
    source = pair[0].translate(table)
    if pair[0].isupper():
        source = source.upper()
    return (source, pair[1]) if source != pair[0] else None


def _ended(side: str, choice: float) -> str:
    """Return the side with a full stop or an exclamation mark of its script."""
    marks = next((marks for script, marks in _MARKS if script.match(side[-1])), ".!")
    return side + marks[choice >= 0.5]


def _text(sentences: Sequence[str]) -> str:
    """Return sentences as one text, with a space between two unless the first ends with a wide mark."""
    text = sentences[0]
    for sentence in sentences[1:]:
        text += sentence if text.endswith(_WIDE_ENDS) else f" {sentence}"
    return text


def _marked_up(dictionary: Mapping[str, str], n_symbols: int, pair: Pair, choice: float) -> Pair | None:
    """Return the sentence between two symbols, or a shared word as a symbol, or one or two words between symbols."""
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
    """Return pairs of a source word and its meaning in the target, longest first; both occur only once."""
    source, target = (_once(side) for side in pair)
    links = [(word, target[there]) for key, word in source.items() if (there := meaning(key)) in target]
    by_target = {there: (word, there) for word, there in sorted(links, key=lambda link: (len(link[0]), link))}
    return sorted(by_target.values(), key=lambda link: (-len(link[0]), link))


def _shared_names(pair: Pair) -> list[str]:
    """Return the capitalised words that occur equally often on both sides, in the order of the source."""
    source, target = (Counter(_NAME.findall(side)) for side in pair)
    return [name for name, count in source.items() if count == target.get(name)]


def _once(side: str) -> dict[str, str]:
    """Return the words that occur once, by their case-folded form."""
    words = _WORD.findall(side)
    counts = Counter(map(str.casefold, words))
    return {key: word for word in words if counts[key := word.casefold()] == 1}


def _with_words(pair: Pair, links: Sequence[Pair], new: Callable[[int, str], str]) -> Pair:
    """Return the pair with `new(i, word)` for each linked word; i counts the links in the order of the source."""
    order = _either(word for word, _ in links).findall(pair[0])

    def replaced(side: str, words: Sequence[str]) -> str:
        numbers = {word: order.index(source) for word, (source, _) in zip(words, links, strict=True)}
        return _either(words).sub(lambda match: new(numbers[match[0]], match[0]), side)

    return replaced(pair[0], [source for source, _ in links]), replaced(pair[1], [target for _, target in links])


def _either(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words))


def _draw(kind: str, pair: Pair) -> float:
    """Return a number in [0, 1) that depends on the kind and the pair alone."""
    digest = blake2b(f"{kind}:{len(pair[0])}:{pair[0]}{pair[1]}".encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56
