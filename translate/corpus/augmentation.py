"""Variants of training pairs, so that a model can read text as people type it.

    case      HALLO! and hallo for Hallo!: both sides in upper or lower case
    title     Guten Morgen, Tom for Guten Morgen, tom: both sides with a capital at the beginning of each word
    capitals  "Save" for "save": short text without final punctuation, with another first letter
    ending    "Guten Morgen" for "Guten Morgen.": both sides without their final punctuation, or with one
    symbols   words and their translations as placeholders, which stand for variables
    names     "Merkel kommt." for "Tom kommt.": another name in place of one that both sides share
    spelling  "Strasse" and "ueber" in the source alone: without letters that many keyboards lack
    typos     "Gutne Morgen" in the source alone: one or two typing errors
    values    "um 20:15 Uhr" for "um 8 Uhr": other dates, times, numbers and amounts in place of those that both sides
              share, and such text alone; `localized.py` finds and writes them
    joined    a pair and those that follow it in its source, as one long pair

A rate is the probability for a source of 12 words. For other lengths, the probability is inversely proportional to the
number of words, up to 1, since people type short sentences more often; for `joined` and `values`, it is the same for
all lengths, and rare kinds of values give several variants. In scripts without spaces, two characters count as a
word. Variants depend only on the pair, or on the pairs that are joined; `names` also depends on earlier pairs.

A variant that is a validation or test pair is not added.

`formality` adds no variants: it begins a share of the sources whose German translation says "Sie" or "du" with a tag,
and a smaller share of those that speak to nobody with either tag.

If the tokenizer has placeholders, text that a translation must keep unchanged is replaced by a symbol on both sides, as
in translation.
"""

import random
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from math import ceil
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from translate.config.schema import AugmentationConfig
from translate.corpus.cleaning import n_words
from translate.corpus.sources import Pair, untagged, with_symbols
from translate.text.formality import TAGS, form_of_address, speaks_to_nobody
from translate.text.placeholders import SYMBOL, symbol

T = TypeVar("T")

TYPICAL_WORDS = 12

_JOINED_WORDS = 25, 75  # the least and the greatest length of the source of a joined pair
MOST_JOINED = _JOINED_WORDS[1]  # sentences, of a word at least

_END = re.compile("[.!?。！？؟।]$")  # of Latin, Chinese and Japanese, Arabic, and Hindi text
# Full stop and exclamation mark by script: Chinese and Japanese, Hindi and Bengali; others have those of Latin text.
_MARKS = ((re.compile("[\u3041-\u30ff\u3400-\u9fff]"), "。！"), (re.compile("[\u0900-\u09ff]"), "।!"))
_WIDE_ENDS = "。", "！", "？"  # no space follows
_WORD = re.compile(r"\b[^\W_]{2,}\b")
# Times the rate: share of the pairs that speak to nobody and get either tag. A model that never saw a tag before such
# sentences made 55 of 200 speak to somebody.
_TO_NOBODY = 0.2
_FREE_WORD = re.compile(r"(?<!\S)[^\W_]{2,}(?=[\s.,!?;:]|$)")  # that a symbol may stand for
_SHORT = 4  # words of headings and entries of menus
_TYPED = re.compile(r"[^\W\d_]{4,}")  # words that may have a typing error
# Variants of a pair by the rarest kind of expression that its sides share.
_COPIES = {"time": 8, "weekday": 8, "amount": 8, "date": 3, "month": 3, "number": 1}
_ALONE = 2  # pairs of an expression alone for each pair with a rare kind
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{2,}\b")


class Augmenter:
    """Makes variants of pairs and counts them.

    Args:
        n_symbols: placeholders of the tokenizer.
        dictionary: words and their translations, case-folded. Without them only names would occur between tags, and a
            model would learn to copy everything there; and words of titles ("The", "New") would pass for names.
        source, target: language codes, for spellings, values and forms of address.
        is_held_out: returns whether a pair is a validation or test pair.
        names: those of the pairs before, in the order of their first use.

    Attributes:
        added: number of variants by kind.
        refused: number of variants that are held out.
        names: those of the pairs so far.
    """

    def __init__(
        self,
        config: AugmentationConfig,
        n_symbols: int,
        dictionary: Mapping[str, str] = MappingProxyType({}),
        source: str = "",
        target: str = "",
        is_held_out: Callable[[Pair], bool] = lambda pair: False,
        names: Sequence[str] = (),
    ) -> None:
        self._rates = {kind: rate for kind, rate in config.model_dump(exclude={"formality"}).items() if rate}
        self._formality = config.formality
        self._langpair = f"{source}-{target}"
        self.added: dict[str, int] = dict.fromkeys(self._rates, 0)
        self.refused = 0
        self._n_symbols = n_symbols
        self._is_held_out = is_held_out
        variants: dict[str, Callable[[Pair, float], Pair | None]] = {
            "case": _other_case,
            "title": _in_title_case,
            "capitals": _other_capital,
            "ending": _other_ending,
            "symbols": partial(_with_symbols_for_words, dictionary, n_symbols),
            "names": self._renamed,
            "spelling": partial(_respelled, source),
            "typos": _mistyped,
        }
        self._variants = [(kind, self._rates[kind], make) for kind, make in variants.items() if kind in self._rates]
        self._words = {*dictionary, *dictionary.values()}
        self.names = [*names]
        self._seen_names = {*names}

    def __call__(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield each pair of a source with its placeholders, followed by its variants."""
        return self.vary(map(self.outline, pairs))

    def outline(self, tagged: Pair) -> "Outline":
        """Return what variants of a pair and of later ones are made of; it depends on this pair alone."""
        tag, pair = untagged(tagged)
        shown = with_symbols(pair, self._n_symbols)
        names = self._possible_names(shown) if "names" in self._rates else ()
        if "joined" not in self._rates or not _is_whole(pair):
            return Outline(tag, pair, shown, names, 0, 0)
        words = min(n_words(pair[0]), _JOINED_WORDS[1] + 1)
        return Outline(tag, pair, shown, names, words, self._words_wanted(pair))

    def vary(self, outlines: Iterable["Outline"], before: Iterable["Outline"] = ()) -> Iterator[Pair]:
        """Yield each pair of a source with its placeholders, followed by its variants.

        Args:
            before: the pairs right before in the source that may be joined with these: the items of a `SentenceRun`.
        """
        run = SentenceRun[Pair]()
        for outline in before:
            run.add(outline.pair, outline.words, outline.wanted)
        for tag, pair, shown, names, words, wanted in outlines:
            yield self._tagged(tag, shown)
            self.collect_names(names)
            variants = list(self._variants_of(shown))
            if joined := run.add(pair, words, wanted):
                source, target = (_text(sides) for sides in zip(*joined, strict=True))
                variants.append(("joined", with_symbols((source, target), self._n_symbols)))
            for kind, variant in variants:
                if self._is_held_out(variant):
                    self.refused += 1
                else:
                    self.added[kind] += 1
                    yield self._tagged(tag, variant)

    def _tagged(self, tag: str, pair: Pair) -> Pair:
        """Return the pair with a tag before its source, and in a share of the pairs that of the form of address."""
        source, target = pair
        if self._formality and (draw := _draw("formality", pair) / self._formality) < 1:
            form = form_of_address(target, source)
            if form:
                tag += f"{TAGS[form]} "
            elif draw < _TO_NOBODY and speaks_to_nobody(target, source):
                tag += f"{[*TAGS.values()][draw < _TO_NOBODY / 2]} "
        return tag + source, target

    def _variants_of(self, pair: Pair) -> Iterator[tuple[str, Pair]]:
        length = max(1, n_words(pair[0]))
        for kind, rate, make in self._variants:
            draw = _draw(kind, pair)
            chance = min(1.0, rate * TYPICAL_WORDS / length)
            if draw < chance and (variant := make(pair, draw / chance)) is not None:
                yield kind, variant
        if rate := self._rates.get("values"):
            yield from (("values", variant) for variant in self._with_other_values(pair, rate))

    def _with_other_values(self, pair: Pair, rate: float) -> Iterator[Pair]:
        """Yield the pair with other dates, times, numbers and amounts, and such text alone."""
        from translate.corpus import localized  # its patterns take time, which other variants need not

        links = localized.shared(pair, self._langpair)
        copies = max((_COPIES[source.kind] for source, _ in links), default=0)
        for i in range(copies):
            if (draw := _draw(f"values {i}", pair)) < rate:
                if (variant := localized.replaced(pair, links, self._langpair, f"{draw}")) is not None:
                    yield variant
                if i < _ALONE < copies:
                    yield with_symbols(localized.alone(self._langpair, f"{draw}"), self._n_symbols)

    def _possible_names(self, pair: Pair) -> Sequence[str]:
        """Return the names of a pair. The first word of a sentence has a capital in any case and may be none."""
        if not (shared := _shared_names(pair)):
            return ()
        first = _WORD.search(pair[1])
        return [name for name in shared if name.casefold() not in self._words and not (first and first[0] == name)]

    def collect_names(self, names: Iterable[str]) -> None:
        """Remember the names of a pair for later ones."""
        for name in names:
            if name not in self._seen_names:
                self.names.append(name)
                self._seen_names.add(name)

    def _renamed(self, pair: Pair, choice: float) -> Pair | None:
        """Return the pair with the name of an earlier pair in place of one that both sides share."""
        shared = [name for name in _shared_names(pair) if name in self._seen_names]
        i, j = divmod(int(choice * len(shared) * len(self.names)), max(1, len(self.names)))
        if not shared or any(self.names[j] in side for side in pair):
            return None
        source, target = (_with_other_words(side, {shared[i]: self.names[j]}) for side in pair)
        return source, target

    def _words_wanted(self, pair: Pair) -> int:
        """Return the number of words at which a run that the pair begins ends; 0 if it begins none."""
        rate, draw = self._rates["joined"], _draw("joined", pair)
        least, greatest = _JOINED_WORDS
        return ceil(least + (greatest - least) * draw / rate) if draw < rate else 0


class Outline(NamedTuple):
    """What variants of a pair and of later ones are made of.

    Attributes:
        tag: of a synthetic source, with the space after it.
        pair: without the tag.
        shown: the pair with symbols for placeholders.
        names: that later pairs may have in place of others.
        words: of the source, at most one more than a joined pair may have; 0 if it is no whole sentence.
        wanted: words at which a run that the pair begins ends; 0 if it begins none.
    """

    tag: str
    pair: Pair
    shown: Pair
    names: Sequence[str]
    words: int
    wanted: int


class Outlines(NamedTuple):
    """Outlines of consecutive pairs, without what the pairs themselves say: they are small enough to send them about.

    Attributes:
        shown, names: those that are not the pair and (), by the place of the pair.
        words, wanted: of every pair; 0 if there is no outline of it.
    """

    shown: dict[int, Pair]
    names: dict[int, Sequence[str]]
    words: bytearray
    wanted: bytearray

    @classmethod
    def of(cls, outlines: Iterable[tuple[int, Outline]], n_pairs: int) -> "Outlines":
        """Return the outlines of some of `n_pairs` pairs, each with the place of its pair."""
        found = cls({}, {}, bytearray(n_pairs), bytearray(n_pairs))
        for i, outline in outlines:
            if outline.shown is not outline.pair:
                found.shown[i] = outline.shown
            if outline.names:
                found.names[i] = outline.names
            found.words[i], found.wanted[i] = outline.words, outline.wanted
        return found

    def with_pairs(self, pairs: Iterable[Pair]) -> Iterator[Outline]:
        """Yield the outline of each pair."""
        for i, (tagged, words, wanted) in enumerate(zip(pairs, self.words, self.wanted, strict=True)):
            tag, pair = untagged(tagged)
            yield Outline(tag, pair, self.shown.get(i, pair), self.names.get(i, ()), words, wanted)


class SentenceRun(Generic[T]):
    """Sentences in a row that become one pair when they are long enough.

    Attributes:
        items: the sentences so far.
    """

    def __init__(self) -> None:
        self.items: list[T] = []
        self._n_words = self._wanted = 0

    def add(self, item: T, words: int, wanted: int) -> Sequence[T]:
        """Add the next sentence; return those that become one pair now, none for most sentences.

        Args:
            words: its length; 0 for text that is no whole sentence, which ends the run.
            wanted: the length at which a run that it begins ends; 0 if it begins none.
        """
        if words and not self.items:
            self._wanted = wanted
        if not words or not self._wanted:
            self._clear()
            return ()
        self.items.append(item)
        self._n_words += words
        if self._n_words < self._wanted:
            return ()
        items, is_joined = self.items, len(self.items) > 1 and self._n_words <= _JOINED_WORDS[1]
        self._clear()
        return items if is_joined else ()

    def _clear(self) -> None:
        self.items = []
        self._n_words = self._wanted = 0


def _is_whole(pair: Pair) -> bool:
    return all(_END.search(side) for side in pair)


def _other_case(pair: Pair, choice: float) -> Pair | None:
    source, target = (side.upper() if choice < 0.5 else side.lower() for side in pair)
    # A script without case cannot show the case that the other side should have.
    return (source, target) if source != pair[0] and target != pair[1] else None


def _is_named(word: str, side: str) -> bool:
    """Return whether a capital shows that the word is a name or a noun."""
    return word[0].isupper() and not side.startswith(word)


def _in_title_case(pair: Pair, choice: float) -> Pair | None:
    if any(side.isupper() for side in pair):
        return None
    source, target = (re.sub(r"(?<!\S)[^\W\d_]", lambda first: first[0].upper(), side) for side in pair)
    return (source, target) if source != pair[0] else None


def _other_capital(pair: Pair, choice: float) -> Pair | None:
    """Return short text with a capital at the beginning of both sides, or with one less in the source."""
    if any(_END.search(side) for side in pair) or not pair[1] or n_words(pair[0]) > _SHORT or pair[0].isupper():
        return None
    source, target = pair
    if source[:1].islower():
        return source[0].upper() + source[1:], target[0].upper() + target[1:]
    # Languages such as German have capitals of their own, which lower case in the source must not change.
    if source[:1].isupper() and source[1:].islower() and target[1:] == target[1:].lower():
        return source[0].lower() + source[1:], target
    return None


def _mistyped(pair: Pair, choice: float) -> Pair | None:
    """Return the pair with one or two typing errors in the source: a letter left out, doubled, moved or replaced."""
    draw, source = random.Random(f"{choice}{pair[0]}"), pair[0]
    words = [word for word in _TYPED.finditer(source) if not word[0].isupper()]
    for word in sorted(draw.sample(words, min(len(words), draw.choice([1, 1, 2]))), key=lambda word: -word.start()):
        i = word.start() + draw.randrange(1, len(word[0]) - 1)
        here, there = source[i], source[i + 1]
        other = draw.choice(["", here * 2, there, draw.choice(string.ascii_lowercase)])
        source = source[:i] + other + (here if other == there else "") + source[i + 1 + (other == there) :]
    return (source, pair[1]) if source != pair[0] else None


def _other_ending(pair: Pair, choice: float) -> Pair | None:
    source, target = pair
    ends = [_END.search(side) is not None for side in pair]
    if all(ends):
        bare = source[:-1].rstrip(), target[:-1].rstrip()
        return bare if all(bare) else None
    if not any(ends) and source[-1:].isalnum() and target[-1:].isalnum():
        return _ended(source, choice), _ended(target, choice)
    return None


def _respelled(language: str, pair: Pair, choice: float) -> Pair | None:
    """Return the pair with the source in one of the spellings of its language; None if that changes nothing."""
    from translate.text import languages  # the others do without

    rules = languages.find(language)
    if rules is None or not rules.respellings:
        return None
    table = {ord(old): new for old, new in rules.respellings[int(choice * len(rules.respellings))].items()}
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


def _with_symbols_for_words(dictionary: Mapping[str, str], n_symbols: int, pair: Pair, choice: float) -> Pair | None:
    """Return the pair with symbols for one or two names or nouns and their translations, which stand between spaces."""
    if any(SYMBOL.search(side) for side in pair):
        return None
    shared = _links(pair, lambda word: word)
    links = [link for link in [*_links(pair, dictionary.get), *shared] if all(map(_is_free, link, pair))]
    links = [link for link in links if any(map(_is_named, link, pair))]
    n = 2 if choice >= 0.7 and n_symbols >= 2 else 1
    chosen = dict(links[-n:] if choice < 0.3 else links[:n])
    order = [word for word in _WORD.findall(pair[0]) if word in chosen]
    source = _with_other_words(pair[0], {word: symbol(i) for i, word in enumerate(order)})
    target = _with_other_words(pair[1], {chosen[word]: symbol(i) for i, word in enumerate(order)})
    return (source, target) if chosen else None


def _is_free(word: str, side: str) -> bool:
    """Return whether a symbol may stand for the word."""
    return word in _FREE_WORD.findall(side)


def _links(pair: Pair, meaning: Callable[[str], str | None]) -> list[Pair]:
    """Return pairs of a source word and its meaning in the target, longest first; both occur only once."""
    source, target = (_once(side) for side in pair)
    links = [(word, target[there]) for key, word in source.items() if (there := meaning(key)) in target]
    by_target = {there: (word, there) for word, there in sorted(links, key=lambda link: (len(link[0]), link))}
    return sorted(by_target.values(), key=lambda link: (-len(link[0]), link))


def _shared_names(pair: Pair) -> list[str]:
    """Return the capitalised words that occur equally often on both sides, in the order of the source."""
    source, target = (_NAME.findall(side) for side in pair)
    if not source or not target:  # as most
        return []
    counts = Counter(target)
    return [name for name, count in Counter(source).items() if count == counts.get(name)]


def _once(side: str) -> dict[str, str]:
    """Return the words that occur once, by their case-folded form."""
    words = _WORD.findall(side)
    counts = Counter(map(str.casefold, words))
    return {key: word for word in words if counts[key := word.casefold()] == 1}


def _with_other_words(side: str, words: Mapping[str, str]) -> str:
    """Return the side with other words in place of some."""
    return _WORD.sub(lambda match: words.get(match[0], match[0]), side)


def _draw(kind: str, pair: Pair) -> float:
    """Return a number in [0, 1) that depends on the kind and the pair alone."""
    digest = blake2b(f"{kind}:{len(pair[0])}:{pair[0]}{pair[1]}".encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56
