"""Pieces of an HTML page: text to translate; tags, comments, scripts, code and translate="no" to copy.

A run of text and inline tags is one piece, so a sentence stays whole; its tags and the code in it are placeholders.
Tags need not match, and no mistake in the page is corrected.
"""

import re
from collections.abc import Iterable, Iterator

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
_TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[!?][^>]*>|<(/?)([A-Za-z][\w:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>", re.DOTALL
)
_OPEN_TAG = re.compile(r"<(?:[^\W\d_]|[/!?])[^<>]*\Z")
_NO = re.compile(
    r"\btranslate\s*=\s*[\"']?no\b|\bclass\s*=\s*(?:notranslate\b|[\"'](?:[^\"']*\s)?notranslate[\s\"'])", re.IGNORECASE
)
_LONGEST = 2**14  # characters of a tag or of a run of text; a longer one is divided


def read(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of a page; a tag may span lines."""
    run = _Run()
    waiting = ""
    for line in lines:
        waiting += line
        if len(waiting) < _LONGEST and _is_unfinished(waiting):
            continue
        yield from run.tokens(waiting)
        waiting = ""
    yield from run.tokens(waiting)
    yield from run.flushed()


def _is_unfinished(text: str) -> bool:
    """Return whether a text ends within a comment or a tag."""
    comment = text.rfind("<!--")
    return (comment >= 0 and text.find("-->", comment) < 0) or _OPEN_TAG.search(text) is not None


class _Run:
    """A run of text and inline tags, and the element that is being copied, if any."""

    def __init__(self) -> None:
        self.text = ""
        self.skipped = ""  # name of the element that is being copied
        self.depth = 0  # of nested elements of that name

    def tokens(self, text: str) -> Iterator[Piece]:
        """Take text with tags and yield the pieces that are complete."""
        start = 0
        for match in _TOKEN.finditer(text):
            yield from self._add(text[start : match.start()], match)
            start = match.end()
        yield from self._add(text[start:], None)

    def _add(self, text: str, tag: re.Match[str] | None) -> Iterator[Piece]:
        """Take text and the tag that follows it."""
        if self.skipped:
            self.text += text + (tag[0] if tag else "")
            if tag and (tag[2] or "").lower() == self.skipped and not tag[0].endswith("/>"):
                self.depth += -1 if tag[1] else not _FLAT.fullmatch(self.skipped)
            if not self.depth or len(self.text) >= _LONGEST:
                yield Piece(self.text, translate=False)
                self.text = ""
            self.skipped = self.skipped if self.depth else ""
            return
        self.text += text
        if len(self.text) >= _LONGEST:
            yield from self.flushed()
        if tag is None:
            return
        name = (tag[2] or "").lower()
        is_inline = _INLINE.fullmatch(name)
        begins = bool(name) and not tag[1] and not tag[0].endswith("/>") and not _VOID.fullmatch(name)
        placeholder = is_inline and KEPT_ELEMENT.match(tag.string, tag.start())
        if begins and not placeholder and (_COPIED.fullmatch(name) or _NO.search(tag[3] or "")):
            yield from self.flushed()
            self.text, self.skipped, self.depth = tag[0], name, 1
        elif is_inline:
            self.text += tag[0]
        else:
            yield from self.flushed()
            yield Piece(tag[0], translate=False)

    def flushed(self) -> Iterator[Piece]:
        """End the run and yield its pieces."""
        text, self.text = self.text, ""
        if self.skipped:
            yield Piece(text, translate=False)
        else:
            yield from paragraph(text)
