"""Warnings about lines that a reader of the plain translation should know about."""

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

from translate.errors import say

if TYPE_CHECKING:
    from translate.text.translation import Translation

_LINES_NAMED = 3  # line numbers listed per warning

WARNINGS = {
    "split": "longer than the model reads well at once, so translated in parts",
    "language": "not in the source language, so left unchanged",
    "echo": "mostly copied by the model, as it does with text that is not in its source language",
    "length": "the translation did not end and was cut off",
    "missing": "a number of the source is missing",
    "symbol": "the model wrote a symbol that stands for a placeholder",
    "empty": "the model gave no translation, so another was searched",
    "repetition": "the model repeated itself, so the translation may be wrong",
    "confidence": "the translation has a low probability and may be wrong",
}


class Notes:
    """Flagged lines, collected and reported as one warning per flag.

    Args:
        flags: the flags to report.
    """

    def __init__(self, flags: Collection[str] = tuple(WARNINGS)) -> None:
        self._flags = frozenset(flags)
        self._counts: Counter[str] = Counter()
        self._first: defaultdict[str, list[int]] = defaultdict(list)  # few numbers, as a file may have many lines

    def add(self, translation: "Translation", n: int) -> None:
        """Record the flags of line `n`, counted from 1."""
        for flag in self._flags.intersection(translation.flags):
            self._counts[flag] += 1
            if self._counts[flag] <= _LINES_NAMED:
                self._first[flag].append(n)

    def tell(self) -> None:
        """Report the lines recorded since the last call."""
        for flag, n_lines in self._counts.items():
            more = f" and {n_lines - _LINES_NAMED:,} more" if n_lines > _LINES_NAMED else ""
            named = ", ".join(map(str, self._first[flag])) + more
            say(f"warning: line{'s' if n_lines > 1 else ''} {named}: {WARNINGS[flag]}")
        self._counts.clear()
        self._first.clear()
