"""Links of Markdown that name a definition by their own text: `[User guide]` or `[User guide][]`.

Their translation would name no definition. While they are translated, they have the label after their text, as
`[the guide][User guide]` has, with a mark by which a link that kept its text is written as it was.
"""

import re

from translate.text.headings import Targets

_DEFINITION = re.compile(r"[ >]{0,9}\[(?P<label>[^\[\]^@][^\[\]]{0,300})\]:[ \t]*(?:\S|\Z)")
_MAY_REFER = re.compile(r"\[(?![\^@!]|(?:[^\w\[\]]|[\d_])*+\])[^\[\]]*(?:\](?:\[\]|(?![(\[]))|\Z)")
_LINK = re.compile(r"(?<![\]\\\w])\[(?P<text>[^\[\]^@!][^\[\]]{0,300})\](?P<empty>\[\])?(?![\[({])")
_ALONE, _BEFORE_EMPTY = "\ue000", "\ue001"
_WRITTEN_OUT = re.compile(r"(?:\[(?P<text>[^\[\]]*))?\]\[(?P<mark>[\ue000\ue001])(?P<label>[^\[\]]*)\]")


class References(Targets):
    """The definitions of a text."""

    may_link = _MAY_REFER

    def __init__(self) -> None:
        super().__init__()
        self._labels = set[str]()

    def _see(self, line: str) -> None:
        """Keep the label of the definition that a line begins."""
        if self._is_code(line):
            return
        if (definition := _DEFINITION.match(line)) and re.search(r"[^\W\d_]", definition["label"]):
            self._labels.add(_label(definition["label"]))

    def refers(self, text: str) -> bool:
        """Return whether a text has a link that names a definition by its own text."""
        return bool(self._labels) and any(_label(link["text"]) in self._labels for link in _LINK.finditer(text))

    def written_out(self, text: str) -> str:
        """Return a text in which such links have the labels of their definitions."""
        if _ALONE in text or _BEFORE_EMPTY in text:
            return text
        return _LINK.sub(self._with_label, text)

    def _with_label(self, link: re.Match[str]) -> str:
        if _label(link["text"]) not in self._labels:
            return link[0]
        mark = _BEFORE_EMPTY if link["empty"] else _ALONE
        return f"[{link['text']}][{mark}{' '.join(link['text'].split())}]"


def shortened(text: str) -> str:
    """Return a translation of a text that was written out: a link whose text is its label is as it was."""
    return _WRITTEN_OUT.sub(_shortened, text)


def _shortened(link: re.Match[str]) -> str:
    text, label = link["text"], link["label"]
    if text is not None and _label(text) == _label(label):
        return f"[{text}]" + ("[]" if link["mark"] == _BEFORE_EMPTY else "")
    return f"[{text or ''}][{label}]" if text is not None else f"][{label}]"


def _label(text: str) -> str:
    """Return the label that a text is; letter case and white space do not matter."""
    return " ".join(text.split()).casefold()
