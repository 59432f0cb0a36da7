"""Content controls of Word that are bound to a part with custom XML, whose text Word shows in them.

Where that is the text of the control, in an element or an attribute, it is a unit as this is, so that both are
translated. A date, a chosen entry of a list and a picture have a value there, which stays.
"""

import re
from collections import Counter

from translate.documents.xml import Kind, tokens

# The names of elements, and their places among those of the name; of an attribute "@" and its name, without a place.
_Path = tuple[tuple[str, int], ...]
_STEP = re.compile(r"/(@)?(?:([\w.-]+):)?([\w.-]+)(?:\[(\d+)\])?")
_NAMESPACE = re.compile(r"""xmlns:([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_WITH_VALUES = {"w:date", "w:dropDownList", "w:comboBox", "w:picture"}


class _Control:
    """A content control that has begun."""

    def __init__(self) -> None:
        self.path: _Path = ()
        self.has_value = False
        self.text = ""


class Bindings:
    """The texts of content controls, by the elements and attributes that they are bound to."""

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

    def starts(self, data: bytes, name: str) -> dict[int, set[str]]:
        """Return where elements of a part with custom XML begin that have the text of a control, and what has it.

        That is "" for the text of the element, and otherwise the name of an attribute.
        """
        found, path, places = dict[int, set[str]](), list[tuple[str, int]](), [Counter[str]()]
        text, start = "", -1  # of an element without elements in it
        for token in tokens(data, name) if self._texts else ():
            if token.kind is Kind.START:
                places[-1][token.name] += 1
                path.append((token.name, places[-1][token.name]))
                places.append(Counter())
                text, start = "", token.start
                for own, value in token.attributes.items():
                    if self._has((*path, (f"@{own}", 0)), value):
                        found.setdefault(start, set()).add(own)
            elif token.kind is Kind.END:
                if start >= 0 and self._has(tuple(path), text):
                    found.setdefault(start, set()).add("")
                path.pop()
                places.pop()
                start = -1
            elif token.kind is Kind.TEXT:
                text += token.text
        return found

    def _has(self, path: _Path, text: str) -> bool:
        """Return whether a control that is bound to a place shows a text."""
        return _without_space(text) in self._texts.get(path, ())


def _without_space(text: str) -> str:
    """Return a text without white space, as a line break is an element in a control."""
    return "".join(text.split())


def _path(xpath: str, mappings: str) -> _Path:
    """Return the steps of an XPath to an element or attribute, named as tokens are; none if it is of another kind."""
    spaces = {match[1]: match[2] or match[3] or "" for match in _NAMESPACE.finditer(mappings)}
    steps = list(_STEP.finditer(xpath))
    if "".join(step[0] for step in steps) != xpath.strip() or any(step[1] for step in steps[:-1]):
        return ()
    names = [f"{{{spaces.get(step[2], '')}}}{step[3]}" if step[2] else step[3] for step in steps]
    return tuple(
        (f"@{name}", 0) if step[1] else (name, int(step[4] or 1)) for name, step in zip(names, steps, strict=True)
    )
