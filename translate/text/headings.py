"""Links of Markdown to headings of the same text: `[see below](#next-steps)`.

A heading gets its name from its words, so a translated heading has another name, and its links follow it. The programs
that show Markdown make names in ways of their own; the first way is taken in which a link names a heading.
"""

import re
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence

_TARGET = re.compile(r"""(?P<before>\]\(#|\bhref=["']#)(?P<name>[^\s()"'<>]+)""")
_HEADING = re.compile(r"[ >]{0,9}#{1,6}[ \t]+(?P<text>\S.*?)(?:[ \t]+#+)?[ \t]*\r?\n?\Z")
_NAMED = re.compile(r"\{[^{}]*#[^{}]*\}\Z")  # a heading with a name of its own
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\r?\n?\Z")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_MARK = re.compile(r"\[\^[^\[\]]*\]|<[^<>]*>|[*`]|(?<!\w)_+|_+(?!\w)|\\(?=[^\w\s])")


def _of_github(text: str) -> str:  # and of Hugo, Docusaurus and most editors
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def _of_gitlab(text: str) -> str:
    return re.sub("-+", "-", _of_github(text))


def _of_pandoc(text: str) -> str:
    return re.sub(r"\A[\W\d_]+", "", re.sub(r"\s+", "-", re.sub(r"[^\w\s.-]", "", text.lower())))


def _of_mkdocs(text: str) -> str:
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", _ascii(text)).strip().lower())


def _of_vitepress(text: str) -> str:
    letters = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return (
        re.sub(r"[\s~`!@#$%^&*()\-_+=\[\]{}|\\;:\"'<>,.?/\u201c\u201d\u2018\u2019]+", "-", letters).strip("-").lower()
    )


def _of_kramdown(text: str) -> str:
    return re.sub("[^a-z0-9 -]", "", re.sub("^[^a-zA-Z]+", "", text).lower()).replace(" ", "-")


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


# The functions by which programs name a heading, and the sign before the number of a repeated name.
_WAYS: Sequence[tuple[Callable[[str], str], str]] = (
    (_of_github, "-"),
    (_of_gitlab, "-"),
    (_of_pandoc, "-"),
    (_of_mkdocs, "_"),
    (_of_vitepress, "-"),
    (_of_kramdown, "-"),
)


class Targets:
    """What the links of a text name, which may stand behind them."""

    may_link: re.Pattern[str]  # matches in a line that may have such a link

    def __init__(self) -> None:
        self._fence: re.Pattern[str] | None = None

    def watched(self, lines: Iterator[str]) -> Iterator[str]:
        """Yield the lines; all of them are read before the first one that may have a link."""
        waiting = deque[str]()
        has_read_all = False
        while line := waiting.popleft() if waiting else next(lines, ""):
            if not has_read_all:
                self._see(line)
                if self.may_link.search(line):
                    has_read_all = True
                    for following in lines:
                        self._see(following)
                        waiting.append(following)
            yield line

    def _see(self, line: str) -> None:
        """Keep the target that a line is."""
        raise NotImplementedError

    def _is_code(self, line: str) -> bool:
        """Return whether a line is in a block of code, or begins or ends one."""
        if self._fence is not None:
            self._fence = None if self._fence.match(line) else self._fence
            return True
        if fence := _FENCE.match(line):
            self._fence = re.compile(rf"\s*{fence[1][0]}{{{len(fence[1])},}}\s*\Z")
        return fence is not None


class Headings(Targets):
    """The headings of a text, and the names that they get by their translations.

    Attributes:
        texts: the headings in their order.
    """

    may_link = _TARGET

    def __init__(self) -> None:
        super().__init__()
        self.texts = list[str]()
        self._names: dict[str, str] | None = None
        self._line, self._is_alone = "", False  # the line before, and whether a blank one is before that

    def _see(self, line: str) -> None:
        """Keep the heading that a line is, or that it underlines."""
        heading = None
        if self._is_code(line):
            line = ""
        elif match := _HEADING.match(line):
            heading = match["text"]
        elif self._is_alone and self._line.strip() and _UNDERLINE.match(line):
            heading = self._line.strip()
        if heading and not _NAMED.search(heading):
            self.texts.append(heading)
        self._is_alone, self._line = not self._line.strip() or _HEADING.match(self._line) is not None, line

    @property
    def are_translated(self) -> bool:
        """Whether the names that headings get are known."""
        return self._names is not None

    def translate(self, translations: Sequence[str]) -> None:
        """Learn the translation of each heading."""
        self._names = {}
        for way, sign in reversed(_WAYS):
            self._names |= zip(_named(self.texts, way, sign), _named(translations, way, sign), strict=True)

    def linked(self, text: str) -> str:
        """Return a text whose links to headings are those to their translations."""
        names = self._names or {}
        return _TARGET.sub(lambda link: link["before"] + names.get(link["name"], link["name"]), text)


def links(text: str) -> bool:
    """Return whether a text has a link to a heading."""
    return _TARGET.search(text) is not None


def _named(texts: Sequence[str], way: Callable[[str], str], sign: str) -> list[str]:
    """Return the names of headings, with numbers where there is another of a name."""
    found, counts = list[str](), Counter[str]()
    for text in texts:
        name = way(_MARK.sub("", _LINK.sub(r"\1", text)).strip())
        found.append(f"{name}{sign}{counts[name]}" if counts[name] else name)
        counts[name] += 1
    return found
