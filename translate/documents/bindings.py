"""Content controls of Word that are bound to a part with custom XML, whose text Word shows in them.

Where that is the text of the control, it is a unit as this is, so that both are translated. A date, a chosen entry of a
list and a picture have a value there, which stays.
"""

import re
from collections import Counter

from translate.documents.xml import Kind, tokens

_Path = tuple[tuple[str, int], ...]  # the names of elements, and their places among those of the name
_STEP = re.compile(r"/(?:([\w.-]+):)?([\w.-]+)(?:\[(\d+)\])?")
_NAMESPACE = re.compile(r"""xmlns:([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_WITH_VALUES = {"w:date", "w:dropDownList", "w:comboBox", "w:picture"}


class _Control:
    """A content control that has begun."""

    def __init__(self) -> None:
        self.path: _Path = ()
        self.has_value = False
        self.text = ""


class Bindings:
    """The texts of content controls, by the elements that they are bound to."""

    def __init__(self) -> None:
        self._texts = dict[_Path, set[str]]()

    def read(self, data: bytes, name: str, prefixes: dict[str, str]) -> None:
        """Add the controls of a part.

        Args:
            name: of the part, for messages.
            prefixes: of the names of elements.
        """
        if b"dataBinding" not in data:
            return
        opened, is_text = list[_Control](), False
        for token in tokens(data, name, prefixes):
            is_start = token.kind is Kind.START
            if token.name == "w:sdt" and is_start:
                opened.append(_Control())
            elif token.name == "w:sdt":
                self._add(opened.pop())
            elif token.name == "w:dataBinding" and is_start and opened:
                opened[-1].path = _path(
                    token.attributes.get("w:xpath", ""), token.attributes.get("w:prefixMappings", "")
                )
            elif token.name in _WITH_VALUES and opened:
                opened[-1].has_value = True
            elif token.name == "w:t":
                is_text = is_start
            elif token.kind is Kind.TEXT and is_text:
                for control in opened:
                    control.text += token.text

    def _add(self, control: _Control) -> None:
        if control.path and not control.has_value and control.text.strip():
            self._texts.setdefault(control.path, set()).add(_without_space(control.text))

    def starts(self, data: bytes, name: str) -> set[int]:
        """Return the bytes at which elements of a part with custom XML begin that have the text of their control."""
        found, path, places = set[int](), list[tuple[str, int]](), [Counter[str]()]
        text, start = "", -1  # of an element without elements in it
        for token in tokens(data, name) if self._texts else ():
            if token.kind is Kind.START:
                places[-1][token.name] += 1
                path.append((token.name, places[-1][token.name]))
                places.append(Counter())
                text, start = "", token.start
            elif token.kind is Kind.END:
                if start >= 0 and _without_space(text) in self._texts.get(tuple(path), ()):
                    found.add(start)
                path.pop()
                places.pop()
                start = -1
            elif token.kind is Kind.TEXT:
                text += token.text
        return found


def _without_space(text: str) -> str:
    """Return a text without white space, as a line break is an element in a control."""
    return "".join(text.split())


def _path(xpath: str, mappings: str) -> _Path:
    """Return the elements of an XPath, named as tokens are; none if it is of another kind, as for an attribute."""
    spaces = {match[1]: match[2] or match[3] or "" for match in _NAMESPACE.finditer(mappings)}
    steps = list(_STEP.finditer(xpath))
    if "".join(step[0] for step in steps) != xpath.strip():
        return ()
    return tuple(
        (f"{{{spaces.get(step[1], '')}}}{step[2]}" if step[1] else step[2], int(step[3] or 1)) for step in steps
    )
