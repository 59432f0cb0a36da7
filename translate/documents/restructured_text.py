"""Inline markup of reStructuredText, as the messages of Sphinx have it: formatting and titles of links become pairs.

Literals, roles, substitutions, references to notes and escaped signs become objects. A reference by its name alone is
read as one with a title of its own, `title <name_>`_, so that it leads to the same target when its title is translated.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from translate.documents.edits import Edit, Span, UnwritableError, edited

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
_NAME = re.compile(rf"(?:`([^`<>]+)`|({_SIMPLE}))_")  # of a reference, an object of `_OBJECTS`
_REPEATED = re.compile(r"(?i)`([^`<>]+) <\1_>`_")
# In a catalog: where a message is from, or a role.
_SIGN = re.compile(rf"^#:[^\n]*(?:\.rst:\d|docstring of )|{_ROLE}`[^`\n]+`", re.MULTILINE)


def is_used(catalog: str) -> bool:
    """Return whether the messages of a catalog of gettext are reStructuredText."""
    return _SIGN.search(catalog) is not None


@dataclass(frozen=True)
class Inline:
    """The markup of a message.

    Attributes:
        source: the message.
        tag: name of tags, which the message does not have.
    """

    source: str
    tag: str

    @cached_property
    def text(self) -> str:
        """The message with tags."""
        return self.tagged(self.source)

    @cached_property
    def _marks(self) -> list[tuple[str, ...]]:
        return [*_marks(_with_titles(self.source))]

    @cached_property
    def _held(self) -> dict[str, str]:
        """The marks that tags stand for, by tag."""
        named = (zip(self._names(n), marks, strict=False) for n, marks in enumerate(self._marks))
        return dict(chain.from_iterable(named))

    def _names(self, n: int) -> tuple[str, ...]:
        """Return the tags of a pair or of an object."""
        name = f"{self.tag}{n + 1}"
        return (f"<{name}>", f"</{name}>") if len(self._marks[n]) > 1 else (f"<{name}/>",)

    def tagged(self, text: str) -> str:
        """Return another message with the tags of this one, as far as it has their markup."""
        left, shown = [*range(len(self._marks))], _with_titles(text)
        edits = list[Edit]()
        for spans in _spans(shown):
            marks = tuple(_SPACES.sub("", shown[start:stop]) for start, stop in spans)
            n = next((n for n in left if self._marks[n] == marks), None)
            if n is not None:
                left.remove(n)
                edits += [Edit(*span, name) for span, name in zip(spans, self._names(n), strict=True)]
        return edited(shown, edits)

    def restored(self, translation: str) -> str:
        """Return a translation with the markup of the source; UnwritableError if that is other markup there."""
        if translation == self.text:
            return self.source
        found = self._with_marks(translation)
        wanted, written = Counter(self._marks), Counter(_marks(_with_titles(found)))
        if wrong := [*((wanted - written) or (written - wanted))]:
            raise UnwritableError(f"does not have {'...'.join(wrong[0])!r} as markup exactly as often")
        return _REPEATED.sub(r"`\1`_", found)

    def _with_marks(self, translation: str) -> str:
        """Return a translation with its markup, divided by an escaped space, which is not shown, where it needs one."""
        parts, end = list[str](), 0
        tags = [(match, self._held[match[0]]) for match in re.finditer(rf"</?{self.tag}\d+/?>", translation)]
        for tag, mark in tags:
            between, name = translation[end : tag.start()], tag[0]
            before, after = (between or "".join(parts))[-1:], translation[tag.end() :]
            is_start, is_end = not name.startswith("</"), name.startswith("</") or name.endswith("/>")
            is_markup = not re.fullmatch(_ESCAPED, mark)
            is_joined = is_end and is_markup and re.match(rf"(?!</?{self.tag}\d){_JOINED_AFTER}", after)
            space = "\\ " if is_start and is_markup and re.match(_JOINED_BEFORE, before) else ""
            parts += [between, space, mark, "\\ " if is_joined else ""]
            end = tag.end()
        return "".join([*parts, translation[end:]])


def _spans(text: str) -> Iterator[list[Span]]:
    """Yield where the markup of a message is: an object, or both marks of a pair."""
    for match in _MARKUP.finditer(text):
        start, stop = match.span()
        inside = match.span(match.lastindex) if match.lastindex else None
        yield [(start, inside[0]), (inside[1], stop)] if inside else [(start, stop)]


def _marks(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the markup of a message, without escaped spaces."""
    return (tuple(_SPACES.sub("", text[start:stop]) for start, stop in spans) for spans in _spans(text))


def _with_titles(text: str) -> str:
    """Return a message in which each reference by its name has the name as its title too."""

    def titled(match: re.Match[str]) -> str:
        found = _NAME.fullmatch(_SPACES.sub("", match[0]))
        name = found and (found[1] or found[2])
        return match[0].replace(found[0], f"`{name} <{name}_>`_") if found else match[0]

    return _MARKUP.sub(titled, text)
