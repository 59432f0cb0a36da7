"""Apostrophes of Java's MessageFormat, which are written twice: one alone quotes what follows, as in '{'."""

import re

_QUOTE = "\ue001"  # either end of a quotation that holds braces, in a text that is translated
_QUOTATION = re.compile("'([^']*[{}][^']*)'")
QUOTED = re.compile(f"{_QUOTE}[^{_QUOTE}]*{_QUOTE}")  # which is a code


def doubles_apostrophes(text: str, *, always: bool) -> bool:
    """Return whether apostrophes are written twice in a text.

    Args:
        always: whether they are in a text without arguments too.
    """
    rest = _QUOTATION.sub("", text.replace("''", ""))
    return "'" not in rest and (always or "''" in text or re.search(r"\{\d", text) is not None)


def read(text: str) -> str:
    """Return a text with each apostrophe once, and its quotations as codes."""
    return _QUOTATION.sub(rf"{_QUOTE}\1{_QUOTE}", text.replace("''", "\0")).replace("\0", "'")


def written(text: str) -> str:
    """Return a text that `read` returned, or a translation of it, as the file writes it."""
    return text.replace("'", "''").replace(_QUOTE, "'")
