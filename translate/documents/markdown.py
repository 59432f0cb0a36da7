"""Inline markup of Markdown, as the messages of MyST, mdBook and po4a have it.

Emphasis, links, pictures and roles of MyST with a title become pairs; code, other roles and escaped signs become
objects. So do blocks of code within a message.
"""

import re
from collections.abc import Iterator

from translate.documents.edits import Span, outermost
from translate.documents.inline import Inline
from translate.text import blocks
from translate.text.formats import markup, reader
from translate.text.placeholders import EMPHASIS, INLINE_NOTE, LINK_ENDS, PICTURE, ROLE, TAG, placeholder_spans

_ORIGIN = re.compile(r"\.(?:md|markdown|mdx)(?![\w.])")


def is_origin(comment: str) -> bool:
    """Return whether a comment of PO says that a message is from a page of Markdown."""
    return _ORIGIN.search(comment) is not None


class Markdown(Inline):
    """The markup of a message from a page of Markdown."""

    block = re.compile(f"^{blocks.MARK}", re.MULTILINE)

    def has_blocks(self) -> bool:
        """Return whether a message has marks of blocks; a line alone that begins with a number is a heading."""
        is_numbered = "\n" not in self.source and self.source[:1].isdigit()  # items of lists come without numbers
        return not is_numbered and super().has_blocks()

    def spans(self, text: str) -> Iterator[list[Span]]:
        """Yield where the markup of a message is."""
        opened: dict[str, list[Span]] = {}
        signs = {span for span in placeholder_spans(text) if not any(map(str.isalnum, text[slice(*span)]))}
        for start, stop in outermost([*_blocks(text), *placeholder_spans(text, markup("markdown"))]):
            mark = text[start:stop]
            if title := _title(mark):
                a, b = title
                yield [(start, start + a), (start + b, stop)]
            elif mark == "[" or mark in EMPHASIS or mark.startswith(LINK_ENDS):
                waiting = opened.setdefault(mark if mark in EMPHASIS else "[", [])
                closes = mark != "[" and text[max(start - 1, 0) : start].strip() != ""
                if closes and waiting:
                    yield [waiting.pop(), (start, stop)]
                elif not mark.startswith(LINK_ENDS) and text[stop : stop + 1].strip():
                    waiting.append((start, stop))
            elif (start, stop) not in signs and not TAG.fullmatch(mark):  # bars end a sentence, as in a table
                yield [(start, stop)]


def is_code(text: str) -> bool:
    """Return whether a message has no text, such as a block of code."""
    return not any(piece.translate for piece in reader("markdown")(text.splitlines(keepends=True)))


def _blocks(text: str) -> Iterator[Span]:
    """Yield where lines of code and other lines with words are that are no text."""
    place = 0
    for piece in reader("markdown")(text.splitlines(keepends=True)) if "\n" in text else ():
        start, place = place, place + len(piece.text)
        if not piece.translate and any(map(str.isalpha, piece.text)):
            yield start, start + len(piece.text.rstrip())


def _title(mark: str) -> Span | None:
    """Return where the text of a picture or a note is, or the title in a role with a target."""
    if note := re.fullmatch(INLINE_NOTE, mark):
        return note.span("note")
    picture = re.fullmatch(PICTURE, mark)
    if picture and picture["alt"].strip():
        return picture.span("alt")
    role = re.fullmatch(ROLE, mark)
    if role is None or not role["target"]:
        return None
    start, stop = role.span("shown")
    return start, start + len(mark[start:stop].rstrip())
