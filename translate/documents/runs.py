"""Paragraphs whose text is in runs, each with a format: those of Office Open XML and OpenDocument.

A format reads the `Item`s of a paragraph; `paragraph` makes one text of them. The format that most of a paragraph has
is that of its plain text, and another one is a pair. A translation is written in new runs: one for neighbours of equal
format.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from translate.documents.xml import (
    Atom,
    AtomKind,
    Content,
    Kind,
    Mark,
    Piece,
    Place,
    Tagged,
    Token,
    core,
    with_divided_ends,
    with_spaces,
)
from translate.errors import UserError

NO_BREAK_HYPHEN = "\u2011"


class HeldBytes(bytes):
    """Bytes within the element that holds a text, which a run of PowerPoint or a cell of Excel may have only once."""


# Styles of Word, whose names are English in every version, of LibreOffice and of pandoc.
_CODE_STYLE = re.compile(
    "source (?:code|text)|verbatim char|html (?:code|keyboard|preformatted|sample|typewriter|variable)|macro(?: text)?"
    "|preformatted text|teletype|code(?: char)?"
)
_CODE_FONT = re.compile(
    "mono|courier|consol|code|menlo|monaco|typewriter|fixed|termin|cousine|hack|iosevka|letter gothic", re.IGNORECASE
)
_LARGEST_RUN = 2**16  # bytes without its text: a hundred times as many as programs write
_WIDTHLESS = AtomKind.POINT, AtomKind.SPACE


@dataclass(slots=True)
class TextRun:
    """The format of a text; without tags, that of a text that is in no run.

    Attributes:
        opening: the start tag of the run.
        closing: its end tag.
        properties: the element that says the format, if there is one.
        key: equal for equal formats.
    """

    opening: bytes = b""
    closing: bytes = b""
    properties: Sequence[Piece] = ()
    key: bytes = b""

    @property
    def identity(self) -> tuple[bytes, bytes]:
        """Equal for runs that may be one: of equal formats, and with the prefixes that the start tag declares."""
        return self.key, self.opening if b"xmlns" in self.opening else self.opening[:1]

    @property
    def size(self) -> int:
        """Bytes that each new run of this format needs."""
        properties = sum(len(piece) for piece in self.properties if isinstance(piece, bytes))
        return len(self.opening) + properties + len(self.closing)


_NO_RUN = TextRun()


@dataclass(slots=True)
class Item(Atom):
    """A piece of a paragraph; OPEN and CLOSE are ends of an element or of a range, and POINT if they have no partner.

    Attributes:
        run: the format of TEXT; of OPEN, that of plain text within the pair.
        parts: the bytes, each with the run that it is in, if any; a pair that is formatting alone has none.
        range: of OPEN and CLOSE that are no element: equal for the same range; "" for elements.
        is_field: of OPEN, whether it is an object if it has no text.
        is_picture: of POINT, whether it stands in the line, so that it is an object between words.
    """

    run: TextRun = field(default_factory=TextRun)
    parts: list[tuple[TextRun, Sequence[Piece]]] = field(default_factory=list)
    range: str = ""
    is_field: bool = False
    is_picture: bool = False


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The element that holds a text in a run.

    Attributes:
        name: of the element that holds it, as the file has it; b"" if it is directly in the run.
        has_lines: whether a line break in it is one; elsewhere, it is an element.
        says_space: whether the element says that white space at its ends is kept.
        hyphen: the element for a hyphen without a break, if the paragraph has it.
    """

    name: bytes = b""
    has_lines: bool = False
    says_space: bool = False
    hyphen: Sequence[Piece] = ()


def paragraph(
    items: Sequence[Item],
    original: list[Piece],
    place: Place,
    holder: Holder,
    *,
    initial: Sequence[Item] = (),
    collapses: bool = False,
) -> list[Piece]:
    """Return the unit of a paragraph, or its bytes if it has no text.

    Args:
        original: all pieces of the paragraph.
        initial: those before `items`, of a paragraph that holds the first letter of the text.
        collapses: whether white space is as one space.
    """
    paired, before = _with_pairs(items), _with_pairs(initial)
    if paired is None or before is None or not any(item.text.strip() for item in paired):
        return original
    if any(run.size > _LARGEST_RUN for run in {id(item.run): item.run for item in paired}.values()):
        raise UserError(f"{place.name}, {place.part}: it has a format of more than {_LARGEST_RUN:,} bytes; simplify it")
    root = _set_bases(paired)
    divided = [item for item in with_divided_ends(_with_formats(paired, root)) if isinstance(item, Item)]
    start, stop = core(divided)
    around = [*before, *divided[:start]], divided[stop:]
    initial_text = "".join(item.text for item in around[0]) if initial else ""
    content = _Paragraph(
        divided[start:stop],
        place,
        collapses,
        original=original,
        around=around,
        root=root,
        holder=holder,
        initial=initial_text,
    )
    return [content]


def is_code_style(name: str) -> bool:
    """Return whether a style is for code; some programs write the spaces of its name in another way."""
    return _CODE_STYLE.fullmatch(name.lower().replace("_20_", " ").replace("_", " ")) is not None


def is_code_font(name: str) -> bool:
    """Return whether a font is for code."""
    return _CODE_FONT.search(name) is not None


# From items to a text


def _with_pairs(items: Sequence[Item]) -> list[Item] | None:
    """Return the items with ranges that are complete and nested as pairs, others as points; None if elements are not.

    A field without text and a picture between words are objects, and neighbours without width are one.
    """
    partners, opened = dict[int, int](), list[int]()
    elements, ranges = list[int](), dict[str, list[int]]()  # how many were open before each of those that are open
    for i, item in enumerate(items):
        if item.kind is AtomKind.OPEN:
            (ranges.setdefault(item.range, []) if item.range else elements).append(len(opened))
            opened.append(i)
        elif item.kind is AtomKind.CLOSE:
            own = ranges.get(item.range, []) if item.range else elements
            if item.range and (not own or (elements and own[-1] < elements[-1])):
                continue
            if not own:
                return None
            n = own[-1]
            partners[opened[n]] = i
            for other in opened[n:]:
                (ranges[items[other].range] if items[other].range else elements).pop()
            del opened[n:]
    if elements:
        return None
    complete = {*partners, *partners.values()}
    for i, item in enumerate(items):
        if item.kind in (AtomKind.OPEN, AtomKind.CLOSE) and i not in complete:
            item.kind = AtomKind.POINT
    return _with_objects(items, partners)


def _with_objects(items: Sequence[Item], partners: Mapping[int, int]) -> list[Item]:
    out, i = list[Item](), 0
    n_texts = [0, *accumulate(item.kind is AtomKind.TEXT for item in items)]
    while i < len(items):
        item, stop = items[i], partners.get(i, i) + 1
        if item.is_field and stop > i + 1 and n_texts[i] == n_texts[stop]:
            item = replace(item, kind=AtomKind.OBJECT, parts=[part for other in items[i:stop] for part in other.parts])
            i = stop - 1
        elif item.is_picture and 0 < n_texts[i] < n_texts[-1]:
            item = replace(item, kind=AtomKind.OBJECT)
        last = out[-1] if out else None
        if last and item.kind in _WIDTHLESS and last.kind in _WIDTHLESS:
            last.kind = AtomKind.SPACE if AtomKind.SPACE in (item.kind, last.kind) else AtomKind.POINT
            last.parts += item.parts
        elif last and item.kind is last.kind is AtomKind.OBJECT:
            last.parts += item.parts
        else:
            out.append(item)
        i += 1
    return out


def _set_bases(items: Sequence[Item]) -> TextRun:
    """Set the format of plain text within each pair, which most of it has, and return that of the paragraph."""
    first = next(item.run for item in items if item.kind is AtomKind.TEXT)
    runs, opened = dict[bytes, TextRun](), list[Item]()
    counts: list[dict[bytes, int]] = [{}]
    for item in items:
        if item.kind is AtomKind.TEXT:
            runs.setdefault(item.run.key, item.run)
            counts[-1][item.run.key] = counts[-1].get(item.run.key, 0) + len(item.text.strip())
        elif item.kind is AtomKind.OPEN:
            opened.append(item)
            counts.append({})
        elif item.kind is AtomKind.CLOSE:
            opened.pop().run = _base(counts.pop(), runs, first)
    return _base(counts[0], runs, first)


def _base(counts: Mapping[bytes, int], runs: Mapping[bytes, TextRun], first: TextRun) -> TextRun:
    """Return the format of most characters; a run without properties if there are none."""
    if counts:
        return runs[max(counts, key=lambda key: counts[key])]
    return replace(first, properties=(), key=b"") if first.properties else _NO_RUN if first.key else first


def _with_formats(items: Sequence[Item], root: TextRun) -> list[Item]:
    """Return the items with a pair around each text whose format is not that of plain text around it."""
    out, bases = list[Item](), [root]
    inside: TextRun | None = None  # the format of the open pair
    after = 0  # items since the last text in it

    def close() -> None:
        nonlocal inside, after
        if inside is not None:
            out.insert(len(out) - after, Item(AtomKind.CLOSE, Token(Kind.END, b"", 0), []))
        inside, after = None, 0

    for item in items:
        if item.kind is AtomKind.TEXT:
            if inside is None or inside.key != item.run.key:
                close()
                if item.run.key != bases[-1].key and item.text.strip():
                    out.append(Item(AtomKind.OPEN, item.token._replace(name=""), [], run=item.run))
                    inside = item.run
            after = 0
        elif item.kind in (AtomKind.OPEN, AtomKind.CLOSE):
            close()
            if item.kind is AtomKind.OPEN:
                bases.append(item.run)
            else:
                bases.pop()
        else:
            after += inside is not None
        out.append(item)
    close()
    return out


# From a translation to runs


@dataclass(eq=False)
class _Paragraph(Content):
    """The text of a paragraph.

    Attributes:
        original: all pieces of the paragraph.
        around: the items before the first word and after the last.
        root: the format of plain text.
        holder: how a text is written.
        initial: the text before the first word, if the first letter of that, or the word before it, is a drop cap in a
            paragraph of its own; otherwise "".
    """

    original: list[Piece] = field(kw_only=True)
    around: tuple[Sequence[Item], Sequence[Item]] = field(kw_only=True)
    root: TextRun = field(kw_only=True)
    holder: Holder = field(kw_only=True)
    initial: str = field(kw_only=True)

    @property
    def raw(self) -> list[Piece]:
        """The pieces of the paragraph as the file has them."""
        return self.original

    def tagged(self, tag: str) -> Tagged:
        """Return the text with its tags, and what they stand for."""
        found = super().tagged(tag)
        return found._replace(text=self.initial + found.text)

    def write(self, translation: str, tag: str) -> list[Piece]:
        """Return a translation in new runs; UserError if its tags are not those of the text."""
        found = self.tagged(tag)
        if translation == found.text:
            return self.original
        writer = _Writer(self)
        initial, marks = self._divided(with_spaces(self.marks(translation, found.text, tag), found))
        for item in self.around[0]:
            if self.initial and item.kind is AtomKind.TEXT:
                item, initial = replace(item, text=initial), ""
            writer.item(item)
        for mark in marks:
            if isinstance(mark, str):
                writer.text(mark)
            else:
                self._element(writer, mark, found.elements[mark.number])
        for item in self.around[1]:
            writer.item(item)
        writer.leave()
        return writer.out

    def _divided(self, marks: Sequence[str | Mark]) -> tuple[str, Sequence[str | Mark]]:
        """Return the drop cap of a translation, and the rest: a letter, or a word if that of the source has more."""
        first = next((i for i, mark in enumerate(marks) if isinstance(mark, str) and re.search(r"\w", mark)), None)
        if first is None or not self.initial:
            return "", marks
        text = str(marks[first])
        length = re.match(r"\W*\w" if len(re.findall(r"\w", self.initial)) == 1 else r"\W*\w\S*", text)
        end = length.end() if length else 0
        return text[:end], [*marks[:first], text[end:], *marks[first + 1 :]]

    @staticmethod
    def _element(writer: "_Writer", mark: Mark, atoms: Sequence[Atom]) -> None:
        item = atoms[-1] if mark.kind is AtomKind.CLOSE else atoms[0]
        if isinstance(item, Item) and (mark.kind is not AtomKind.CLOSE or item.kind is AtomKind.CLOSE):
            writer.item(item)


class _Writer:
    """Writes texts in runs, and elements as they were."""

    def __init__(self, content: _Paragraph) -> None:
        self.out = list[Piece]()
        self._content = content
        self._run = _NO_RUN
        self._bases = [content.root]
        self._text = b""  # of the element that holds text

    def item(self, item: Item) -> None:
        """Write an item as it was."""
        if item.kind is AtomKind.TEXT and item.token.kind is Kind.TEXT:
            self._enter(item.run)
            self._held(item.text)
            return
        if item.kind is AtomKind.CLOSE:
            self._bases.pop()
        for run, raw in item.parts:
            self._enter(run)
            for piece in raw:
                if isinstance(piece, HeldBytes):
                    self._text += piece
                else:
                    self._end_text()
                    self.out.append(piece)
        if item.kind is AtomKind.OPEN:
            self._bases.append(item.run)

    def text(self, text: str) -> None:
        """Write a text in the format of plain text of the innermost pair."""
        self._enter(self._bases[-1])
        self._held(text)

    def _held(self, text: str) -> None:
        holder = self._content.holder
        text = text if holder.has_lines else text.replace("\n", " ")
        for n, part in enumerate(text.split(NO_BREAK_HYPHEN) if holder.hyphen else [text]):
            if n:
                self._end_text()
                self.out += holder.hyphen
            self._text += self._content.escaped(part)

    def _end_text(self) -> None:
        """Write the text until now, in one element."""
        holder, text = self._content.holder, self._text
        if text and holder.name:
            space = b' xml:space="preserve"' if holder.says_space and text != text.strip() else b""
            self.out.append(b"<" + holder.name + space + b">" + text + b"</" + holder.name + b">")
        elif text:
            self.out.append(text)
        self._text = b""

    def _enter(self, run: TextRun) -> None:
        if run.identity != self._run.identity:
            self.leave()
            self.out += [run.opening, *run.properties]
            self._run = run

    def leave(self) -> None:
        """End the run that is open."""
        self._end_text()
        self.out.append(self._run.closing)
        self._run = _NO_RUN
