"""Warnings about lines that a reader of the plain translation should know about."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from translate.commands.messages import say

if TYPE_CHECKING:
    from translate.text.translation import Translation

_LINES_NAMED = 3  # line numbers listed per warning

WARNINGS = {
    "split": "longer than the model reads well at once, so translated in parts",
    "language": "not in the source language, so left unchanged",
    "echo": "mostly copied by the model, as it does with text that is not in its source language",
    "length": "the translation did not end and was cut off",
    "missing": "a number is missing from the translation",
}


class Notes:
    """Flagged lines, collected and reported as one warning per flag.

    Args:
        flags: the flags to report.
    """

    def __init__(self, flags: Collection[str] = tuple(WARNINGS)) -> None:
        self._lines: dict[str, list[int]] = {flag: [] for flag in flags}

    def add(self, translation: "Translation", n: int) -> None:
        """Record the flags of line `n`, counted from 1."""
        for flag in translation.flags:
            if flag in self._lines:
                self._lines[flag].append(n)

    def tell(self) -> None:
        """Report the lines recorded since the last call."""
        for flag, numbers in self._lines.items():
            if numbers:
                more = len(numbers) - _LINES_NAMED
                named = ", ".join(map(str, numbers[:_LINES_NAMED])) + (f" and {more:,} more" if more > 0 else "")
                say(f"warning: line{'s' if len(numbers) > 1 else ''} {named}: {WARNINGS[flag]}")
                numbers.clear()
