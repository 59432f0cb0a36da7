"""Marks with which a line of Markdown begins a block, and the backslash that makes them text, as in `3\\. Oktober`.

Only the marks that a translation may begin with: numbers and bullets of lists, headings, comments of MyST.
"""

import re

_BLANK = r"(?![^ \t\r\n])"  # before white space or the end
# The part before the backslash, and the backslash, which may be missing.
MARK = rf"(\d{{1,9}}(?=\\?[.)]{_BLANK})|(?=\\?(?:(?:[-+*]|#{{1,6}}){_BLANK}|%)))(\\?)"
_FIRST = re.compile(rf"\A{MARK}")


def unescaped(text: str) -> str:
    """Return a text without the backslash of a mark at its beginning."""
    return _FIRST.sub(r"\1", text)


def escaped(text: str, like: str) -> str:
    """Return a text with a backslash in a mark at its beginning, unless `like` has a mark there without one."""
    own = _FIRST.match(like)
    return text if own and not own[2] else _FIRST.sub(r"\1\\", text)
