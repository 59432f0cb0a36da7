r"""Texts in the instructions of fields of Word that people read: XE "Apples:green", IF x = 1 "one" "more".

They are entries of an index or of contents, texts that a mail merge chooses or asks with, text to click on, and tips of
links. Word writes an instruction in several runs; a text is translated if one of them has all of it.
"""

import bisect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from translate.documents.xml import (
    Atom,
    AtomKind,
    Content,
    Kind,
    Piece,
    Place,
    Quoted,
    contents,
    decoded,
    tokens,
)

Span = tuple[int, int]
Found = tuple[int, Span]  # the place of a part of an instruction, and where a text is in it

_MAY_HAVE_TEXTS = re.compile(rb">\s*(?:XE|TC|IF|HYPERLINK|MACROBUTTON|FILLIN|ASK|QUOTE)\b", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z]+)(?![A-Za-z])")
_MARKS = '"\u201c\u201d\u201e'
_ARGUMENT = re.compile(
    rf"\\(?P<switch>[A-Za-z])|[{_MARKS}](?P<quoted>(?:\\.|[^{_MARKS}\\])*+)[{_MARKS}]|(?:\\.|[^\s{_MARKS}\\])++",
    re.DOTALL,
)
_OPERATORS = ("=", "<>", "<", ">", "<=", ">=")
# Fields whose last argument without a switch is a text, and the switches before other texts.
_WITH_TEXT = ("XE", "TC", "FILLIN", "ASK", "QUOTE")
_SWITCHES = {"XE": "t", "HYPERLINK": "o", "FILLIN": "d", "ASK": "d"}
_BUTTON = re.compile(r"\s*MACROBUTTON\s+\S+\s+(?P<text>\S.*)", re.DOTALL | re.IGNORECASE)
_LEVEL = re.compile(r"(?:\\.|[^:\\])++", re.DOTALL)  # of an entry of an index
_OTHER = "\0"  # in an instruction, a field within it


@dataclass
class _Field:
    """A field that has begun.

    Attributes:
        parts: of its instruction, each with its place in the file; -1 for a field within it.
        inner: the texts of each field within it, and the number of its part.
        is_open: whether the instruction has not ended.
    """

    parts: list[tuple[int, str]] = field(default_factory=list)
    inner: list[tuple[int, list[Found]]] = field(default_factory=list)
    is_open: bool = True

    def texts(self) -> Iterator[Found]:
        """Yield the place of the part that has a text, and where that is in it; -1 for a text in several parts."""
        code, ends = "".join(text for _, text in self.parts), [*accumulate(len(text) for _, text in self.parts)]
        for start, stop in _texts(code):
            text = code[start:stop]
            a, b = start + len(text) - len(text.lstrip()), stop - len(text) + len(text.rstrip())
            n = bisect.bisect_right(ends, a)
            begin = ends[n - 1] if n else 0
            if any(map(str.isalpha, text)):
                yield self.parts[n][0] if b <= ends[n] else -1, (a - begin, b - begin)
        begin = _begin_of_texts(code)
        for n, found in self.inner:
            yield from found if ends[n] > begin else ()


def texts(
    data: bytes, name: str, prefixes: dict[str, str], report: Callable[[str], None]
) -> Mapping[int, Sequence[Span]]:
    """Return where the texts of the instructions of a part are, by where the elements of these start.

    Args:
        name: of the part, for messages.
        prefixes: of the names of elements.
        report: called if texts are divided into several runs, so that they stay.
    """
    found = dict[int, list[Span]]()
    if not _MAY_HAVE_TEXTS.search(data):
        return found
    opened, instruction = list[_Field](), -1
    for token in tokens(decoded(data, name)[0], name, prefixes):
        if token.name == "w:instrText":
            instruction = token.start if token.kind is Kind.START else -1
            if instruction >= 0 and opened and opened[-1].is_open:
                opened[-1].parts.append((instruction, ""))
        elif token.kind is Kind.TEXT and instruction >= 0 and opened and opened[-1].is_open:
            place, text = opened[-1].parts[-1]
            opened[-1].parts[-1] = place, text + token.text
        elif token.name == "w:fldChar" and token.kind is Kind.START:
            kind = token.attributes.get("w:fldCharType")
            if kind == "begin":
                if opened and opened[-1].is_open:
                    opened[-1].parts.append((-1, _OTHER))
                opened.append(_Field())
            elif kind == "separate" and opened:
                opened[-1].is_open = False
            elif kind == "end" and opened:
                inner = [*opened.pop().texts()]
                if opened and opened[-1].is_open:
                    opened[-1].inner.append((len(opened[-1].parts) - 1, inner))
                    continue
                for place, span in inner:
                    found.setdefault(place, []).append(span)
    if n_divided := len(found.pop(-1, [])):
        report(
            f"{name}: {n_divided} texts in instructions of fields, such as entries of an index, are not translated, as "
            "they are divided or have fields in them; type them again in Word"
        )
    return {place: sorted(spans) for place, spans in found.items()}


def _texts(code: str) -> Iterator[Span]:
    """Yield where the texts of an instruction are."""
    if button := _BUTTON.match(code):
        yield button.span("text")
    kind, arguments = _arguments(code)
    if kind == "IF":
        yield from (one.span("quoted") for one in arguments[_compared(arguments) :] if one["quoted"])
        return
    switches = ["", *(one["switch"] or "" for one in arguments)]
    quoted = [(one.span("quoted"), switch) for switch, one in zip(switches, arguments, strict=False) if one["quoted"]]
    yield from (span for span, switch in quoted if switch and switch in _SWITCHES.get(kind, ""))
    for a, b in [span for span, switch in quoted if not switch][-1:] if kind in _WITH_TEXT else []:
        levels = _LEVEL.finditer(code, a, b) if kind == "XE" else []
        yield from (level.span() for level in levels)
        if kind != "XE":
            yield a, b


def _begin_of_texts(code: str) -> int:
    """Return where the arguments that are texts begin; a field before that is compared, or names a file or the like."""
    kind, arguments = _arguments(code)
    if kind == "IF" and (compared := _compared(arguments)) <= len(arguments):
        return arguments[compared - 1].end()
    return 0 if kind in _WITH_TEXT else len(code)


def _arguments(code: str) -> tuple[str, list[re.Match[str]]]:
    """Return the name of a field, and its arguments."""
    name = _NAME.match(code)
    kind = name[1].upper() if name else ""
    return kind, [*_ARGUMENT.finditer(code, name.end())] if name and kind != "MACROBUTTON" else []


def _compared(arguments: Sequence[re.Match[str]]) -> int:
    """Return how many arguments of IF are compared: up to the one behind the operator."""
    return 2 + next((n for n, one in enumerate(arguments) if one[0] in _OPERATORS), len(arguments))


def units(atoms: Sequence[Atom], place: Place, spans: Sequence[Span]) -> list[Piece]:
    """Return the texts of a part of an instruction as units, and the bytes around them."""
    if any(atom.kind is not AtomKind.TEXT for atom in atoms):
        return [piece for atom in atoms for piece in atom.raw]
    found, end = list[Piece](), 0
    for a, b in spans:
        found += [piece for atom in _sliced(atoms, end, a) for piece in atom.raw]
        found += [
            Quoted(piece.atoms, place) if isinstance(piece, Content) else piece
            for piece in contents(_sliced(atoms, a, b), place)
        ]
        end = b
    return [*found, *(piece for atom in _sliced(atoms, end, None) for piece in atom.raw)]


def _sliced(atoms: Sequence[Atom], start: int, stop: int | None) -> list[Atom]:
    """Return the part of texts from one character to another; a reference is one character."""
    out, place = list[Atom](), 0
    for atom in atoms:
        length = len(atom.text)
        a, b = max(start - place, 0), min(length if stop is None else stop - place, length)
        if a < b and (a, b) == (0, length):
            out.append(atom)
        elif a < b:
            text = atom.text[a:b]
            begin = atom.token.start + len(atom.text[:a].encode())
            token = atom.token._replace(raw=text.encode(), text=text, start=begin)
            out.append(replace(atom, token=token, raw=[token.raw], text=text))
        place += length
    return out
