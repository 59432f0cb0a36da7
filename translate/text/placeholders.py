"""Parts of a text that its translation must contain unchanged: markup, variables, addresses, code.

Each is replaced by a symbol before the search. A model trained with the symbols copies them to the right places;
`restore` puts the originals back, byte for byte, if each symbol occurs exactly once. Only what is certain to be no
prose is a placeholder; `placeholders.toml` lists the kinds.
"""

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SYMBOL = re.compile("\u27e6([1-9][0-9]?)\u27e7")  # a number in white brackets, which are on no keyboard
MOST_SYMBOLS = 99

_TABLE = tomllib.loads(Path(__file__).with_name("placeholders.toml").read_text(encoding="utf-8"))
_PARTS: dict[str, str] = _TABLE["parts"]
_KINDS = {name: re.sub(r"<<(\w+)>>", lambda part: _PARTS[part[1]], kind) for name, kind in _TABLE["kinds"].items()}

PLACEHOLDER = re.compile("|".join(_KINDS.values()), re.DOTALL)
KEPT_ELEMENT = re.compile(f"{_KINDS['code_element']}|{_KINDS['kept_element']}")
PROSE_ENTITY = re.compile(f"&(?:{_PARTS['prose_entities']});")
# Every placeholder contains one of these. Most sentences contain none, and this search is much faster.
_SIGN = re.compile(rf"[\u27e6`<&@{{[_%$*/\\#\d\u20e3\u00b2\u00b3{_PARTS['signs']}]|--|www\.|\.(?:\w|\.{{6}})")

_ALONE = re.compile(
    "|".join(_KINDS[kind] for kind in ("signs", "empty_element", "reference")) + r"|[\d#*]\ufe0f?\u20e3|#\w+"
)
_TAG = re.compile(rf"<(/?)([A-Za-z][\w:-]*){_PARTS['tag_end']}")
_EMPHASIS = frozenset(["*", "**", "***", "_", "__", "___", "~~"])


@dataclass(frozen=True)
class Protected:
    """A sentence with symbols, and the originals in the order of the symbols' numbers."""

    text: str
    originals: tuple[str, ...]


def symbol(i: int) -> str:
    """Return symbol `i`, counted from 0; a single piece in a tokenizer with more than `i` placeholders."""
    return f"\u27e6{i + 1}\u27e7"


def protect(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> Protected:
    """Replace every match of `pattern` by a symbol, numbered in order of appearance."""
    return _replaced(sentence, placeholder_spans(sentence, pattern), ())


def hold(text: str, spans: Iterable[tuple[int, int]]) -> Protected:
    """Replace spans of a protected text by symbols, numbered after those that it contains, which stay symbols."""
    return _replaced(text, spans, [symbol(i) for i in range(len(SYMBOL.findall(text)))])


def _replaced(text: str, spans: Iterable[tuple[int, int]], before: Sequence[str]) -> Protected:
    """Return the text with symbols in place of the spans, which follow the originals `before` in the numbering."""
    parts, originals, end = list[str](), [*before], 0
    for start, stop in spans:
        parts += [text[end:start], symbol(len(originals))]
        originals.append(text[start:stop])
        end = stop
    return Protected("".join([*parts, text[end:]]), tuple(originals))


def hold_as(protected: Protected, spans: Iterable[tuple[int, int, str]]) -> Protected:
    """Replace spans of a protected text by symbols that stand for other texts.

    All symbols are numbered in order of appearance. If there are more than `SYMBOL` has numbers for, the text stays.
    """
    spans = list(spans)
    if not spans:
        return protected
    if len(protected.originals) + len(spans) > MOST_SYMBOLS:
        return Protected(protected.text, (*protected.originals, *(original for _, _, original in spans)))
    held = [(*match.span(), protected.originals[int(match[1]) - 1]) for match in SYMBOL.finditer(protected.text)]
    parts, originals, end = list[str](), list[str](), 0
    for start, stop, original in sorted([*held, *spans]):
        parts += [protected.text[end:start], symbol(len(originals))]
        originals.append(original)
        end = stop
    return Protected("".join([*parts, protected.text[end:]]), tuple(originals))


def may_match(text: str, pattern: re.Pattern[str]) -> bool:
    """Return False for text that is quickly seen to have no match of `pattern`, such as most sentences."""
    return pattern is not PLACEHOLDER or _SIGN.search(text) is not None


def placeholder_spans(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> list[tuple[int, int]]:
    """Return where the placeholders of a sentence start and stop.

    They are found in composed letters, as an accent by itself would end a name.
    """
    if not may_match(sentence, pattern):
        return []
    if unicodedata.is_normalized("NFC", sentence):
        return [match.span() for match in pattern.finditer(sentence)]
    shown, places = composed(sentence)
    return [(places[match.start()], places[match.end()]) for match in pattern.finditer(shown)]


def composed(text: str) -> tuple[str, Sequence[int]]:
    """Return the text with composed letters, and the place in `text` of each of its characters and of its end."""
    starts = [i for i, character in enumerate(text) if not i or not unicodedata.combining(character)]
    composed = [unicodedata.normalize("NFC", text[i:j]) for i, j in itertools.pairwise([*starts, len(text)])]
    places = [i for i, letters in zip(starts, composed, strict=True) for _ in letters]
    return "".join(composed), [*places, len(text)]


def unframed(protected: Protected) -> tuple[str, Protected, str]:
    """Return the layout before the sentence, the sentence, and the layout after it.

    Layout is signs such as emoji and bars, references and empty elements at either end, and emphasis, a link or an
    element around the whole sentence.
    """
    text, originals = protected.text, protected.originals
    before = after = ""
    while len(originals) <= MOST_SYMBOLS:
        first = re.match(rf"{symbol(0)}\s*", text) if originals else None
        last = re.search(rf"\s*{symbol(len(originals) - 1)}\Z", text) if originals else None
        is_pair = first and last and _is_pair(originals)
        takes_first = first and (is_pair or _ALONE.fullmatch(originals[0]))
        takes_last = last and (is_pair or (_ALONE.fullmatch(originals[-1]) and not takes_first))
        if takes_last and last:
            after = last[0].replace(symbol(len(originals) - 1), originals[-1]) + after
            text, originals = text[: last.start()], originals[:-1]
        if takes_first and first:
            before += first[0].replace(symbol(0), originals[0])
            text = SYMBOL.sub(lambda match: symbol(int(match[1]) - 2), text[first.end() :])
            originals = originals[1:]
        if not (takes_first or takes_last):
            break
    return before, Protected(text, originals), after


def _is_pair(marks: Sequence[str]) -> bool:
    """Return whether the first and the last mark are a pair: no mark between them closes or opens one of them."""
    if len(marks) < 2:
        return False
    opening, *between, closing = marks
    if opening in _EMPHASIS:
        return opening == closing and opening not in between
    if opening in ("[", "!["):
        return closing.startswith("](") and not any(mark.startswith(("[", "![", "](")) for mark in between)
    tags = [tag for mark in marks if (tag := _TAG.fullmatch(mark))]
    names = [tag[2].lower() for tag in tags]
    return (
        len(tags) > 1
        and (tags[0][0], tags[-1][0]) == (opening, closing)
        and (tags[0][1], tags[-1][1]) == ("", "/")
        and names[0] == names[-1]
        and names.count(names[0]) == 2
    )


def is_emptied(translation: str, protected: Protected) -> bool:
    """Return whether two marks around words, such as those of emphasis or a link, are around nothing any more."""
    return any(
        _is_pair(protected.originals[i : i + 2])
        and re.search(rf"{symbol(i)}\s*{symbol(i + 1)}", translation) is not None
        and re.search(rf"{symbol(i)}\s*{symbol(i + 1)}", protected.text) is None
        for i in range(len(protected.originals) - 1)
    )


def restore(translation: str, originals: tuple[str, ...]) -> str | None:
    """Return the translation with the originals in place of the symbols; None unless each occurs exactly once."""
    found = [int(number) - 1 for number in SYMBOL.findall(translation)]
    if sorted(found) != list(range(len(originals))):
        return None
    return SYMBOL.sub(lambda match: originals[int(match[1]) - 1], translation)
