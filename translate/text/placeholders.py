"""Parts of a text that its translation must contain unchanged: markup, variables, addresses, code.

Each is replaced by a symbol before the search. A model trained with the symbols copies them to the right places;
`restore` puts the originals back if each symbol occurs exactly once. If not, `between` returns the text between the
placeholders, to be translated piece by piece.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from translate.text.characters import PROSE_ENTITIES
from translate.text.pieces import Piece, pieces

SYMBOL = re.compile("\u27e6([1-9][0-9]?)\u27e7")  # a number in white brackets, which are on no keyboard

# An HTML element that is code or has translate="no".
KEPT_ELEMENT = (
    r"<(?P<code>code|kbd|samp|var)\b[^<>\n]{0,1000}>[^<>\n]{0,1000}</(?P=code)>"
    r"|<(?P<kept>[a-z]{1,9})\s(?:[^<>\n]{0,1000}\s)?translate=[\"']?no\b[^<>\n]{0,1000}>[^<>\n]{0,1000}</(?P=kept)>"
)

# Signs other than letters, digits and punctuation of prose: emoji, arrows, (R), 1/2, boxes, mathematics. A model has
# seen few and invents words for them. Excluded: minus, degree, pound, yen, euro and the brackets of the symbols.
_SIGNS = (
    "\u00a2\u00a4\u00a6\u00a7\u00a9\u00ac\u00ae\u00b1-\u00b3\u00b6\u00b7\u00b9\u00bc-\u00be\u00d7\u00f7\u2020-\u2023"
    "\u2030-\u2034\u2043\u2070-\u209c\u20a0-\u20ab\u20ad-\u20c0\u2100-\u2211\u2213-\u27e5\u27e8-\u2bff"
    "\u3000-\u303f\ue000-\uf8ff\ufffc\ufffd\U0001f000-\U0001faff"
)
_SIGNS_JOINED = "\u200d\ufe0e\ufe0f\u20d0-\u20ff\U000e0020-\U000e007f"
_SUFFIXES = "txt|md|csv|pdf|docx?|xlsx?|pptx?|od[tsp]|json|xml|html?|py|js|css|sh|jpe?g|png|gif|svg|mp[34]|zip|gz|exe"
_DOMAINS = "com|org|net|info|io|eu|de|at|ch|uk|us|fr|nl|it|es|pl|gov|edu|app|dev"
_IN_URL = r"[^\s<>\"'()\u201c-\u201e\u00ab\u00bb]"

# Every repetition that overlaps another one is bounded, so that the time is linear in the length of any text.
_KINDS = (
    r"\u27e6\d{1,3}\u27e7",  # text that looks like a symbol
    r"(?<![\w`])(?P<ticks>`{1,3})(?![\s`])[^\n]{1,200}?(?<![\s`])(?P=ticks)(?![\w`])",  # code
    KEPT_ELEMENT,
    r"<!--.{0,1000}?-->|</?[A-Za-z][\w:.-]{0,60}\s?/?>",  # markup
    # Bare attributes: not in a comparison, a<b and c>d.
    r"(?<!\w)</?[A-Za-z][^<>\n]{0,1000}>|<[A-Za-z][^<>\n=]{0,200}=[^<>\n]{0,1000}>",
    rf"&(?!(?:{PROSE_ENTITIES});)" + r"(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",  # entities
    # Punctuation that ends a sentence or closes a bracket is not part of an address.
    rf"(?:\b(?:https?|ftp|file)://|\bwww\.)(?:{_IN_URL}|\({_IN_URL}{{0,200}}\)){{1,2000}}(?<![.,;:!?\]}}])",
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",  # e-mail
    rf"(?<![\w.@-])(?:[\w-]{{1,63}}\.){{1,5}}(?:{_DOMAINS})\b(?:/{_IN_URL}{{0,500}}(?<![.,;:!?\]}}]))?(?![\w.]\w)",
    rf"(?<![\w./\\-])[\w-]{{1,64}}(?:\.[\w-]{{1,16}}){{0,3}}\.(?:{_SUFFIXES})\b",  # file names
    r"\*{2,3}",  # emphasis, in plain text too
    r"\$\{[^{}\n]{1,100}\}|\{\{[^{}\n]{1,100}\}\}|\{[\w.:!,\[\]<>^+#-]{0,60}\}",  # ${x} {{ x }} {x} {0:.2f}
    # %s %(name)d %1$s %-5.2f %1; a sign of per cent has a digit before it or a space after it.
    r"(?<![\d%])%(?:\(\w{1,60}\)|\d{1,2}\$)?[-+#0]{0,3}\d{0,4}(?:\.\d{1,4})?[hlqLjzt]{0,2}[sdiouxXeEfFgGcr](?!\w)",
    r"(?<![\d%])%\d{1,2}(?!\w)",
    r"\$[A-Za-z_]\w{0,60}|(?<![\w-])--[A-Za-z][\w-]{0,60}",  # $HOME --option
    r"(?<![\w/.~-])(?:(?:~|\.{1,2})(?:/[\w.+@-]{0,60}\w){1,40}|(?:/[\w.+@-]{0,60}\w){2,40})/?",  # file paths
    r"(?<!\w)[A-Za-z]:\\[\w.\\+-]{0,200}\w",
    r"(?<![\w&#@])[#@](?=\w{0,60}[^\W\d_])\w{2,60}",  # hashtags and names
    # Codes: of capitals with three digits or more, of hexadecimal digits, versions.
    r"(?<![\w-])(?=[A-Z\d-]{0,60}[A-Z])(?=(?:[A-Z-]{0,60}\d){3})[A-Z\d](?:[A-Z\d-]{5,60})[A-Z\d](?![\w-])",
    r"(?<![\w-])(?=[\da-f-]{0,60}\d)(?=[\da-f-]{0,60}[a-f])[\da-f]{7,64}(?:-[\da-f]{4,12}){0,5}(?![\w-])",
    r"(?<![\w.])\d{1,4}(?:\.\d{1,4}){2,3}-?[A-Za-z]{1,10}\.?\d{0,4}(?!\w|[.-]\w)",
    r"\u00a7{1,2}\s?\d{1,5}[a-z]?(?!\w)",  # sections of laws
    r"[\d#*]\ufe0f?\u20e3|(?:(?<![^\W_])[A-Za-z\u00b5]{1,3})?[\u00b2\u00b3]",  # keycaps, units of areas
    rf"(?:[{_SIGNS}][{_SIGNS_JOINED}]*)+",
)
PLACEHOLDER = re.compile("|".join(_KINDS), re.DOTALL)
# Every placeholder contains one of these. Most sentences contain none, and this search is much faster.
_SIGN = re.compile(rf"[\u27e6`<&@{{%$/\\#\d\u20e3{_SIGNS}]|--|\*\*|\.\w")

_ALONE = re.compile(rf"(?:[{_SIGNS}][{_SIGNS_JOINED}]*)+|[\d#*]\ufe0f?\u20e3|#\w+")
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*)[^<>]*>")
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
    """Return the pattern extended by words with a Latin letter that is neither in a-z nor in `letters`: names."""
    name = (
        rf"(?<![\w\u27e6])\w{{0,30}}[\u00c0-\u024f\u1e00-\u1eff](?<![{re.escape(letters)}])[\w'\u2019-]{{0,30}}(?!\w)"
    )
    return re.compile(f"{pattern.pattern}|{name}", pattern.flags)


def unframed(protected: Protected) -> tuple[str, Protected, str]:
    """Return the layout before the sentence, the sentence, and the layout after it.

    Layout is emoji at either end, and emphasis, a link or an element around the whole sentence.
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
