"""Texts of cells that a workbook looks for by their words: in formulas, lists, rules, filters and pivot tables.

They stay, as what looks for them does. Capital and small letters are the same, as they are for spreadsheets.
"""

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable

_LITERAL = re.compile(
    r'(?P<within>\b(?:(?:SEARCH|FIND)B?|contains-text|begins-with|ends-with)\(\s*)?"(?P<text>(?:[^"]|"")*+)"',
    re.IGNORECASE,
)
_KEY = 3
# Letters that each text of a pattern has. Without them, a part of texts would be in most of them.
_LETTERS = re.compile(rf"[^\W\d_]{{{_KEY}}}")
_WILDCARD = re.compile(r"(?<!~)[*?]")
_ESCAPED = re.compile(r"~([*?~])|\[")  # for spreadsheets, and for `fnmatch`


class NamedCells:
    """The texts that cells may have which a workbook names.

    A text is compared only with the patterns whose first three letters in a row it has, so there may be many.
    """

    def __init__(self) -> None:
        self._texts = set[str]()
        self._patterns = defaultdict[str, dict[str, re.Pattern[str]]](dict)  # by their letters

    def add(self, texts: Iterable[str]) -> None:
        """Add whole texts, such as the names of columns."""
        self._texts.update(text.strip().casefold() for text in texts)

    def add_criterion(self, text: str) -> None:
        """Add a text in which * and ? may stand for others."""
        if not _WILDCARD.search(text):
            self.add([_ESCAPED.sub(lambda match: match[1] or match[0], text)])
        elif letters := _LETTERS.search(text):
            shell = _ESCAPED.sub(lambda match: f"[{match[1] or '['}]", text)
            key = letters[0].casefold()[:_KEY]
            if shell not in self._patterns[key]:
                self._patterns[key][shell] = re.compile(fnmatch.translate(shell), re.IGNORECASE)

    def add_part(self, text: str) -> None:
        """Add a part of texts."""
        self.add_criterion(f"*{text}*")

    def add_formula(self, formula: str) -> None:
        """Add the texts in a formula, or the values that a list offers."""
        formula = formula.strip()
        literals = list(_LITERAL.finditer(formula))
        for literal in literals:
            text = literal["text"].replace('""', '"')
            if literal["within"]:
                self.add_part(text)
            else:
                self.add_criterion(text)
        if len(literals) == 1 and literals[0].span() == (0, len(formula)):
            self.add(literals[0]["text"].split(","))

    def __contains__(self, text: str) -> bool:
        """Return whether a cell with this text is named; an empty one never is."""
        text = text.strip()
        folded = text.casefold()
        if folded in self._texts:
            return bool(text)
        keys = {folded[i : i + _KEY] for i in range(len(folded) - _KEY + 1)} if self._patterns else ()
        return any(one.match(text) for key in keys if key in self._patterns for one in self._patterns[key].values())
