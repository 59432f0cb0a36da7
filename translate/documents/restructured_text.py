"""Inline markup of reStructuredText, as the messages of Sphinx have it: formatting and titles of links become pairs.

Literals, roles, substitutions, references to notes and escaped signs become objects. A reference by its name alone is
read as one with a title of its own, `title <name_>`_, so that it leads to the same target when its title is translated.
"""

import re
from collections.abc import Iterator

from translate.documents.edits import Span
from translate.documents.inline import Inline

# https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#inline-markup-recognition-rules
_JOINED_BEFORE, _JOINED_AFTER = r"[\w)\]}>.,;!?*`|\\]", r"[\w(\[{<*`|]"  # signs that must not be beside markup
_BEFORE, _AFTER = rf"(?:\\\s|(?<!{_JOINED_BEFORE}))", rf"(?!{_JOINED_AFTER})(?:\\\s)?"
# Repetitions have limits, and words a start: text without markup would take quadratic time.
_ROLE = r":(?:[A-Za-z][\w+.-]{0,60}:){1,3}"
_SIMPLE = r"[^\W_]+(?:[-._+:][^\W_]+){0,20}"
_PAIRS = (  # the text of each is a group
    r"\*\*(?![\s*])(.{1,2000}?)(?<![\s*\\])\*\*",
    r"\*(?![\s*])([^*]*(?<![\s*\\]))\*",
    rf"(?:(?!:(?:math|code|kbd|samp|file):){_ROLE})?`(?!\s)([^`<>]*[^`<>\s])\s*<[^`<>]+>`_{{0,2}}",
    r"`(?!\s)([^`<>]+)`__",
)
_OBJECTS = (
    r"``(?!\s).{1,2000}?(?<!\s)``",
    rf"_`[^`]+`|{_ROLE}`[^`]+`|`[^`]+`(?:{_ROLE}|_)?",
    r"\|(?![\s|])[^|]*(?<!\s)\|_{0,2}",
    r"\[(?:\d+|[#*]|#?[A-Za-z][\w.-]*)\]_",
    rf"{_SIMPLE}__?",
)
_SPACES = re.compile(r"\A\\\s|\\\s\Z")  # escaped, which divide markup from letters beside it, and are not shown
_DIRECTIVE, _ESCAPED = r"\A\.\. .*", r"(?<!\w)\w*(?:\\(?:_|[^\w\s])\w*)+"
_MARKUP = re.compile(rf"{_DIRECTIVE}|{_BEFORE}(?:{'|'.join([*_PAIRS, *_OBJECTS])}){_AFTER}|{_ESCAPED}", re.DOTALL)
# The marks of docutils that a text may begin with: a number, a bullet, the name of a field, and the like.
_NUMBER, _BLANK = "(?:[0-9]+|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+|#)", r"(?![^ \t\n])"
_FIELD = r":(?![: ])(?:[^:\\\n]|\\.|:(?![ `\n]|\Z))*(?<! ):"
_BLOCK = re.compile(
    rf"\A({_NUMBER}(?=\\?[.)]{_BLANK})|(?=\\?(?:\({_NUMBER}\)|[-+*|\u2022\u2023\u2043]|\.\.|__|>>>|{_FIELD}){_BLANK}))(\\?)"
)
_NAME = re.compile(rf"(?:`([^`<>]+)`|({_SIMPLE}))_")  # of a reference, an object of `_OBJECTS`
_REPEATED = re.compile(r"(?i)`([^`<>]+) <\1_>`_")
# In a catalog: where a message is from, or a role.
_SIGN = re.compile(rf"^#:[^\n]*(?:\.rst:\d|docstring of )|{_ROLE}`[^`\n]+`", re.MULTILINE)


def is_used(catalog: str) -> bool:
    """Return whether the messages of a catalog of gettext are reStructuredText."""
    return _SIGN.search(catalog) is not None


class RestructuredText(Inline):
    """The markup of a message of Sphinx."""

    block = _BLOCK

    def spans(self, text: str) -> Iterator[list[Span]]:
        """Yield where the markup of a message is."""
        for match in _MARKUP.finditer(text):
            start, stop = match.span()
            inside = match.span(match.lastindex) if match.lastindex else None
            yield [(start, inside[0]), (inside[1], stop)] if inside else [(start, stop)]

    def mark(self, text: str) -> str:
        """Return a mark without escaped spaces beside it."""
        return _SPACES.sub("", text)

    def read(self, text: str) -> str:
        """Return a message in which each reference by its name has the name as its title too."""

        def titled(match: re.Match[str]) -> str:
            found = _NAME.fullmatch(_SPACES.sub("", match[0]))
            name = found and (found[1] or found[2])
            return match[0].replace(found[0], f"`{name} <{name}_>`_") if found else match[0]

        return _MARKUP.sub(titled, text)

    def written(self, text: str) -> str:
        """Return the opposite of `read`."""
        return _REPEATED.sub(r"`\1`_", text)

    def around(self, before: str, tag: str, mark: str, after: str) -> str:
        """Return a mark divided by an escaped space, which is not shown, from what must not be beside it."""
        is_start, is_end = not tag.startswith("</"), tag.startswith("</") or tag.endswith("/>")
        is_markup = not re.fullmatch(_ESCAPED, mark)
        is_joined = is_end and is_markup and re.match(rf"(?!</?{self.tag}\d){_JOINED_AFTER}", after)
        space = "\\ " if is_start and is_markup and re.match(_JOINED_BEFORE, before) else ""
        return space + mark + ("\\ " if is_joined else "")
