"""Glossaries: terms with a given translation.

A term is translated freely first; if the target term is then missing, a symbol stands for it in a new search. A line of
the file of a glossary is one or more forms, separated by bars, a tab, and the target term:

    Hund|Hundes	dog
    Hunde|Hunden	dogs

A form matches as whole words, in the capital and small letters that it is given in, and with a capital at the beginning
of a sentence too. Of several terms in one place the longest is taken.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from translate.errors import UserError
from translate.text.placeholders import SYMBOL, composed

_PART = re.compile(r"\w+|[^\w\s]|\s+")  # a word, a sign or white space
_WORD = re.compile(r"\w")
_SYMBOL_MARK = "\0"  # stands for the characters of a symbol: part of no term
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, order=True)
class FoundTerm:
    """A term in a text: its start and end, and its translation."""

    start: int
    stop: int
    target: str


@dataclass(frozen=True, eq=False)
class Glossary(Mapping[str, str]):
    """The target term of each form of the source terms.

    Attributes:
        terms: target terms by form; `read` and `of` check them.
    """

    terms: Mapping[str, str]

    @classmethod
    def read(cls, lines: Iterable[str], name: str) -> "Glossary":
        """Return the glossary of the lines of a file; blank lines are skipped.

        UserError, with `name` and the number of the line, for a line that is no term or contradicts another one.
        """
        rows = []
        for n, line in enumerate(lines, start=1):
            columns = line.split("\t")
            if not line.strip():
                continue
            if len(columns) != 2:
                raise UserError(f"{name}, line {n}: not a term; write SOURCE, a tab and TARGET")
            rows.append((f"{name}, line {n}", columns[0], columns[1]))
        return cls(_checked(rows))

    @classmethod
    def of(cls, terms: Mapping[str, str]) -> "Glossary":
        """Return the glossary of a mapping from the forms of a term, separated by bars, to the target term."""
        for forms, target in terms.items():
            if not isinstance(forms, str) or not isinstance(target, str):
                raise UserError(f"terms, {forms!r}: {target!r} is not a term; both sides must be text")
        return cls(_checked((f"terms, {forms!r}", forms, target) for forms, target in terms.items()))

    def __getitem__(self, form: str) -> str:
        return self.terms[form]

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def find(self, text: str) -> list[FoundTerm]:
        """Return the terms of a sentence, in order, none within a placeholder's symbol or within another term."""
        shown, places = composed(text)
        shown = SYMBOL.sub(lambda match: _SYMBOL_MARK * len(match[0]), shown)
        parts = [match.span() for match in _PART.finditer(shown)]
        found, end, is_begun = list[FoundTerm](), 0, False
        for i, (start, stop) in enumerate(parts):
            if start < end:
                continue
            if longest := self._longest(shown, parts, i, is_begun):
                end = longest.stop
                found.append(FoundTerm(places[start], places[end], longest.target))
            is_begun = is_begun or _WORD.match(shown, start, stop) is not None
        return found

    def _longest(self, text: str, parts: Sequence[tuple[int, int]], i: int, is_begun: bool) -> FoundTerm | None:
        """Return the longest term that begins with part `i` of the text, if any; `is_begun` after the first word."""
        longest, node = None, self._trie
        for start, stop in (parts[k] for k in range(i, len(parts))):
            part = text[start:stop]
            following = node.after.get(" " if part.isspace() else part)
            if following is None:
                break
            node = following
            target = node.target if node.target or is_begun else node.first
            if target and _is_whole(text, parts[i][0], stop):
                longest = FoundTerm(parts[i][0], stop, target)
        return longest

    @cached_property
    def _trie(self) -> "_Node":
        """The trie of all forms: the time to find one does not depend on their number."""
        root = _Node()
        for form, target in self.terms.items():
            root.end_of(form).target = target
            if (capital := form[:1].upper() + form[1:]) != form:
                node = root.end_of(capital)
                node.first = node.first or target
        return root


@dataclass(slots=True)
class _Node:
    """Node of a trie of forms, reached by the first parts of a form.

    Attributes:
        after: the next nodes, by the part between; white space of any length is one space.
        target: the target term of the form that ends here, and `first`, of one that does with an added capital, which
            stands only at the beginning of a sentence.
    """

    after: dict[str, "_Node"] = field(default_factory=dict)
    target: str | None = None
    first: str | None = None

    def end_of(self, form: str) -> "_Node":
        """Return the node below where a form ends, which is made if it is missing."""
        node = self
        for part in _PART.findall(form):
            node = node.after.setdefault(part, _Node())
        return node


def _checked(rows: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return the target of each form; a row has its place for messages, the forms and the target."""
    terms: dict[str, str] = {}
    for where, forms, target in rows:
        target = target.strip()
        if not target:
            raise UserError(f"{where}: has no target term; write it after the tab")
        if control := _CONTROL.search(forms.strip() + target):
            raise UserError(f"{where}: has the control character {control[0]!r}; leave it out")
        for form in forms.split("|"):
            form = unicodedata.normalize("NFC", " ".join(form.split()))
            if not _WORD.search(form) or SYMBOL.search(form):
                raise UserError(f"{where}: {form!r} is no source term, which has a letter or a digit; correct it")
            if terms.setdefault(form, target) != target:
                raise UserError(
                    f"{where}: {form!r} is {terms[form]!r} in an earlier line and {target!r} here; leave one out"
                )
    return terms


def missing_terms(text: str, targets: Iterable[str], *, whole_words: bool = True) -> list[str]:
    """Return the target terms that a translation has less often than they are in `targets`, longest first.

    Args:
        text: the translation; each of its words is counted for one term, and letters may be composed or not.
        targets: the terms.
        whole_words: whether a term must be a whole word, which may have a capital at the beginning of the text.
    """
    lost, text = [], unicodedata.normalize("NFC", text)
    for target, n in sorted(Counter(targets).items(), key=lambda item: (-len(item[0]), item[0])):
        wanted = unicodedata.normalize("NFC", target)
        pattern = re.escape(wanted)
        if whole_words:
            before, after = _bounds(wanted)
            capital = re.escape(wanted[0].upper() + wanted[1:])
            pattern = rf"(?:\A\W*{capital}|{before}{pattern}){after}"
        text, n_found = re.subn(pattern, _SYMBOL_MARK, text, count=n)
        if n_found < n:
            lost.append(target)
    return lost


def _is_whole(text: str, start: int, stop: int) -> bool:
    """Return whether a term in a text is a whole word there."""
    before, after = map(re.compile, _bounds(text[start:stop]))
    return bool(before.match(text, start) and after.match(text, stop))


def _bounds(term: str) -> tuple[str, str]:
    """Return the patterns before and after a term that is a whole word: no letter or digit.

    So .NET is not in ASP.NET, C++ not in C++11. But a hyphen at either end of a term ends the word there, as -fach does
    in 3-fach, and so does a full stop or an apostrophe at its end, as Nr. does in Nr.5.
    """
    return ("" if term[0] == "-" else r"(?<!\w)"), ("" if term[-1] in "-.'\u2019" else r"(?!\w)")
