"""Pieces of an HTML page: text to translate; tags, comments, scripts, code and translate="no" to copy.

A run of text and inline tags is one piece, so a sentence stays whole; its tags and the code in it are placeholders.
Tags need not match, and no mistake in the page is corrected.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from translate.text.pieces import Piece
from translate.text.placeholders import KEPT_ELEMENT
from translate.text.wrapping import paragraph

_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|q|s|samp|small|span|strike|strong"
    "|sub|sup|time|tt|u|var|wbr"
)
_VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")
_FLAT = re.compile("script|style|textarea")  # a tag of the same name inside them is text
_COPIED = re.compile("script|style|pre|code|textarea|kbd|samp|var|svg|math")
# A comment or declaration without an end goes on to the end of the text, as in a browser. Otherwise the text behind
# each of many such comments would be read once per comment.
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?][^>]*(?:>|\Z)|<(/?)([A-Za-z][\w:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>",
    re.DOTALL,
)
_OPEN_TAG = re.compile(r"<(?:[^\W\d_]|[/!?])[^<>]*\Z")
# Elements whose end tag may be missing, and those that end them, as the end of the element around them does.
_ENDED_BY = {"p": "p", "li": "li", "option": "option|optgroup", "tr": "tr"}
_ENDED_BY |= dict.fromkeys(("dt", "dd"), "d[dt]") | dict.fromkeys(("td", "th"), "t[dhr]")
_AROUND = re.compile("ul|ol|menu|dl|table|select|div|section|article|main|body")
_NO = re.compile(
    r"\btranslate\s*=\s*[\"']?no\b|\bclass\s*=\s*(?:notranslate\b|[\"'](?:[^\"']*\s)?notranslate[\s\"'])", re.IGNORECASE
)
_LONGEST = 2**14  # characters of a tag or of a run of text; a longer one is divided


def read(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of a page; a tag may span lines."""
    run = ""  # of text and inline tags, or the element that is being copied
    copied, depth = "", 0  # name of that element, and number of nested elements of that name
    n_around = 0  # number of open elements inside it that may hold elements of that name
    for text, tag in _tokens(lines):
        run += text
        name = (tag[2] or "").lower() if tag else ""
        is_alone = tag is not None and tag[0].endswith("/>")
        if tag and copied in _ENDED_BY:
            n_around += (-1 if tag[1] else 1) if _AROUND.fullmatch(name) else 0
            if n_around < 0 or (n_around == 0 and not tag[1] and re.fullmatch(_ENDED_BY[copied], name)):
                yield Piece(run, translate=False)
                run = copied = ""
        if copied:
            run += tag[0] if tag else ""
            if tag and name == copied and not is_alone:
                depth += -1 if tag[1] else not _FLAT.fullmatch(copied)
            if not depth or len(run) >= _LONGEST:
                yield Piece(run, translate=False)
                run = ""
            copied = copied if depth else ""
            continue
        if len(run) >= _LONGEST:
            yield from paragraph(run)
            run = ""
        if tag is None:
            continue
        is_inline = _INLINE.fullmatch(name)
        begins = bool(name) and not tag[1] and not is_alone and not _VOID.fullmatch(name)
        placeholder = is_inline and KEPT_ELEMENT.match(tag.string, tag.start())
        if begins and not placeholder and (_COPIED.fullmatch(name) or _NO.search(tag[3] or "")):
            yield from paragraph(run)
            run, copied, depth, n_around = tag[0], name, 1, 0
        elif is_inline:
            run += tag[0]
        else:
            yield from paragraph(run)
            yield Piece(tag[0], translate=False)
            run = ""
    yield from [Piece(run, translate=False)] if copied else paragraph(run)


def _tokens(lines: Iterable[str]) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Yield text and the tag or comment that follows it; None at the end of a line outside a tag."""
    waiting = ""
    for line in chain(lines, [""]):
        waiting += line
        if line and len(waiting) < _LONGEST and _is_unfinished(waiting):
            continue
        start = 0
        for match in _TOKEN.finditer(waiting):
            yield waiting[start : match.start()], match
            start = match.end()
        yield waiting[start:], None
        waiting = ""


def _is_unfinished(text: str) -> bool:
    """Return whether a text ends within a comment or a tag."""
    comment, tag = text.rfind("<!--"), text.rfind("<")
    return (comment >= 0 and text.find("-->", comment) < 0) or (tag >= 0 and _OPEN_TAG.match(text, tag) is not None)
