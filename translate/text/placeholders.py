"""Parts of a text that its translation must contain unchanged: markup, variables, addresses, code.

Each is replaced by a symbol before the search. A model trained with the symbols copies them to the right places;
`restore` puts the originals back if each symbol occurs exactly once. If not, `between` returns the text between the
placeholders, to be translated piece by piece.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from translate.text.characters import PROSE_ENTITIES
from translate.text.pieces import Piece, pieces

SYMBOL = re.compile("\u27e6([1-9][0-9]?)\u27e7")  # a number in white brackets, which are on no keyboard

_TABLE = tomllib.loads(Path(__file__).with_name("placeholders.toml").read_text(encoding="utf-8"))
_PARTS: dict[str, str] = {"prose_entities": PROSE_ENTITIES, **_TABLE["parts"]}
_KINDS = {name: re.sub(r"<<(\w+)>>", lambda part: _PARTS[part[1]], kind) for name, kind in _TABLE["kinds"].items()}

PLACEHOLDER = re.compile("|".join(_KINDS.values()), re.DOTALL)
KEPT_ELEMENT = re.compile(f"{_KINDS['code_element']}|{_KINDS['kept_element']}")
# Every placeholder contains one of these. Most sentences contain none, and this search is much faster.
_SIGN = re.compile(
    rf"[\u27e6`<&@{{[_%$*/\\#\d\u20e3{_PARTS['signs']}]|BIC|SWIFT|--|www\.|\.(?:\w|\.{{6}})"
    r"|(?<!\S)(?:[\u2039\u203a\u00ab\u00bb:;=xX^~>}\]]|!=|-{1,2}>)"
)

# Letters that are not Latin, with their accents: Greek, Cyrillic, Chinese, and the micro sign.
_OTHERS = "\u00b5\u0370-\u1dff\u1f00-\u1fff\u2c00-\u2fff\u3040-\ud7ff\uf900-\ufaff\ufb07-\ufdff\ufe70-\uffdc"
OTHER_SCRIPT = re.compile(f"[{_OTHERS}]")

_LAYOUT = "signs", "box", "empty_element", "emoticon", "reference", "angle", "operator"
_ALONE = re.compile("|".join(_KINDS[kind] for kind in _LAYOUT) + r"|[\d#*]\ufe0f?\u20e3|#\w+")
_TAG = re.compile(rf"<(/?)([A-Za-z][\w:-]*){_PARTS['tag_end']}")
_EMPHASIS = frozenset(["*", "**", "***", "_", "__", "___", "~~"])
_RULES = frozenset("*_=~#|-")


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
    if pattern is PLACEHOLDER and not _SIGN.search(sentence):
        return Protected(sentence, ())
    originals: list[str] = []

    def replace(match: re.Match[str]) -> str:
        originals.append(match[0])
        return symbol(len(originals) - 1)

    return Protected(pattern.sub(replace, sentence), tuple(originals))


@cache
def with_names(pattern: re.Pattern[str], letters: str) -> re.Pattern[str]:
    """Return the pattern extended by words with a Latin letter outside of a-z and `letters`: names."""
    name = (
        rf"(?<![\w\u27e6])\w{{0,30}}[\u00c0-\u024f\u1e00-\u1eff](?<![{re.escape(letters)}])[\w'\u2019-]{{0,30}}(?!\w)"
    )
    return re.compile(f"{pattern.pattern}|{name}", pattern.flags)


@cache
def with_other_scripts(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Return the pattern extended by words with a letter that is not Latin; adjacent ones are one placeholder."""
    word = rf"\w{{0,30}}(?=[{_OTHERS}])[^\W\d_][\w{_OTHERS}]*+"
    return re.compile(rf"{pattern.pattern}|(?<![\w\u27e6]){word}(?:[ '\u2019-]{word}){{0,20}}", pattern.flags)


def unframed(protected: Protected) -> tuple[str, Protected, str]:
    """Return the layout before the sentence, the sentence, and the layout after it.

    Layout is emoji, bars, boxes and empty elements at either end, and emphasis, a link or an element around the whole
    sentence.
    """
    text, originals = protected.text, protected.originals
    before = after = ""
    while len(originals) < 100:  # there are 99 symbols
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
            text, originals = _renumbered(text[first.end() :]), originals[1:]
        if takes_first or takes_last:
            continue
        inner = text.strip(text[:1]).strip() if text[:1] in _RULES and text[-1:] == text[:1] else ""
        if not inner or inner[0] in _RULES or inner[-1] in _RULES:
            break
        start = text.index(inner)
        before, text, after = before + text[:start], inner, text[start + len(inner) :] + after
    return before, Protected(text, originals), after


def _renumbered(text: str) -> str:
    """Return the text with the numbers of its symbols reduced by one."""
    return SYMBOL.sub(lambda match: symbol(int(match[1]) - 2), text)


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


def tightened(translation: str, protected: Protected) -> str:
    """Remove spaces on the inner side of the symbols of marks that had none there in the source."""
    for i, original in enumerate(protected.originals):
        if not original.startswith(("[", "![", "](")) and original not in _EMPHASIS and not _TAG.fullmatch(original):
            continue
        place = protected.text.find(symbol(i))
        before, after = protected.text[place - 1 : place], protected.text[place + len(symbol(i)) :][:1]
        if after.strip() and not before.strip():
            translation = re.sub(rf"(?<![^\s])({re.escape(symbol(i))})\s+", r"\1", translation)
        elif before.strip() and not after.isalnum():
            translation = re.sub(rf"\s+({re.escape(symbol(i))})", r"\1", translation)
    return translation


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


def between(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> list[Piece]:
    """Divide the sentence: matches are copied, and the text between them is translated piece by piece."""
    ends = [0, *(end for match in pattern.finditer(sentence) for end in match.span()), len(sentence)]
    return pieces(sentence, list(zip(ends[::2], ends[1::2], strict=True)))
