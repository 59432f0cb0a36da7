"""Inline markup of messages, in which formatting and titles of links become pairs of tags, and other markup objects."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar

from translate.documents.edits import Edit, Span, UnwritableError, edited


@dataclass(frozen=True)
class Inline(ABC):
    """The markup of a message.

    Attributes:
        source: the message.
        tag: name of tags, which the message does not have.
        block: the mark of a block, such as a list, at the beginning of a line: the part before the backslash that makes
            it text, and the backslash, which may be missing.
    """

    source: str
    tag: str
    block: ClassVar[re.Pattern[str]]

    @abstractmethod
    def spans(self, text: str) -> Iterator[list[Span]]:
        """Yield where the markup of a message is: an object, or both marks of a pair."""

    def mark(self, text: str) -> str:
        """Return a mark by which it is found in another message."""
        return text

    def read(self, text: str) -> str:
        """Return a message with marks that its translation may move."""
        return text

    def written(self, text: str) -> str:
        """Return the opposite of `read`."""
        return text

    def around(self, before: str, tag: str, mark: str, after: str) -> str:
        """Return a mark as it is written between two texts in the place of a tag."""
        return mark

    def has_blocks(self) -> bool:
        """Return whether the message has marks of blocks, as its translation may."""
        return any(not mark[2] for mark in self.block.finditer(self.source))

    @cached_property
    def text(self) -> str:
        """The message with tags."""
        return self.tagged(self.source)

    @cached_property
    def _marks(self) -> list[tuple[str, ...]]:
        return self._found(self._read(self.source))

    @cached_property
    def _held(self) -> dict[str, str]:
        """The marks that tags stand for, by tag."""
        named = (zip(self._names(n), marks, strict=False) for n, marks in enumerate(self._marks))
        return dict(chain.from_iterable(named))

    def _read(self, text: str) -> str:
        """Return a message as it is read, with marks of blocks that are text without their backslashes."""
        return self.read(self.block.sub(r"\1", text))

    def _names(self, n: int) -> tuple[str, ...]:
        """Return the tags of a pair or of an object."""
        name = f"{self.tag}{n + 1}"
        return (f"<{name}>", f"</{name}>") if len(self._marks[n]) > 1 else (f"<{name}/>",)

    def _found(self, text: str) -> list[tuple[str, ...]]:
        """Return the markup of a message that was read."""
        return [self._at(text, spans) for spans in self.spans(text)]

    def _at(self, text: str, spans: list[Span]) -> tuple[str, ...]:
        return tuple(self.mark(text[start:stop]) for start, stop in spans)

    def tagged(self, text: str) -> str:
        """Return another message with the tags of this one, as far as it has their markup."""
        left, shown = [*range(len(self._marks))], self._read(text)
        edits = list[Edit]()
        for spans in self.spans(shown):
            marks = self._at(shown, spans)
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
        wanted, written = Counter(self._marks), Counter(self._found(self._read(found)))
        if wrong := [*((wanted - written) or (written - wanted))]:
            raise UnwritableError(f"does not have {'...'.join(wrong[0])!r} as markup exactly as often")
        text = self.written(found)
        return text if self.has_blocks() else self.block.sub(r"\1\\", text)

    def _with_marks(self, translation: str) -> str:
        """Return a translation with marks in the place of its tags."""
        parts, end = list[str](), 0
        tags = [(match, self._held[match[0]]) for match in re.finditer(rf"</?{self.tag}\d+/?>", translation)]
        for tag, mark in tags:
            between = translation[end : tag.start()]
            before = (between or "".join(parts))[-1:]
            parts += [between, self.around(before, tag[0], mark, translation[tag.end() :])]
            end = tag.end()
        return "".join([*parts, translation[end:]])
