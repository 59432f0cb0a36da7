"""A glossary: terms of the source language, each with its translation.

A line of its file is one or more forms, separated by bars, a tab, and the target term:

    Hund|Hundes	dog
    Hunde|Hunden	dogs

A form matches as whole words, in the capital and small letters that it is given in, and with a capital at the beginning
of a sentence too. Of several terms in one place the longest is taken.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from translate.errors import UserError
from translate.text.placeholders import SYMBOL, composed

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w")
_SYMBOL_MARK = "\0"  # stands for the characters of a symbol: part of no term
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, order=True)
class Found:
    """A term in a text: its start and end, and its translation."""

    start: int
    stop: int
    target: str


@dataclass(frozen=True)
class _Form:
    """A form of a source term; one with an added capital is only at the beginning of a sentence."""

    text: str
    target: str
    begins: bool

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        words = r"\s+".join(map(re.escape, self.text.split(" ")))
        return re.compile(words + (r"(?!\w)" if _WORD.match(self.text[-1]) else ""))


@dataclass(frozen=True)
class Glossary:
    """Source terms and target terms.

    Attributes:
        terms: pairs of a form and its target term; `read` and `of` check them. No form is there twice.
    """

    terms: tuple[tuple[str, str], ...]

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

    @cached_property
    def _forms(self) -> dict[str, list[_Form]]:
        """The forms by their first word or sign, longest first."""
        forms = defaultdict(list)
        for text, target in self.terms:
            capital = text[:1].upper() + text[1:]
            for form in (_Form(text, target, False), *([_Form(capital, target, True)] if capital != text else [])):
                token = _TOKEN.match(form.text)
                assert token  # the form has a letter or digit and no white space before it
                forms[token[0]].append(form)
        return {
            token: sorted(several, key=lambda form: (-len(form.text), form.begins)) for token, several in forms.items()
        }

    def find(self, text: str) -> list[Found]:
        """Return the terms of a sentence, in order, none within a placeholder's symbol or within another term."""
        shown, places = (text, None) if unicodedata.is_normalized("NFC", text) else composed(text)
        shown = SYMBOL.sub(lambda match: _SYMBOL_MARK * len(match[0]), shown)
        found, end, is_begun = list[Found](), 0, False
        for token in _TOKEN.finditer(shown):
            if token.start() < end:
                continue
            for form in self._forms.get(token[0], ()):
                match = None if form.begins and is_begun else form.pattern.match(shown, token.start())
                if match:
                    start, end = match.span()
                    found.append(
                        Found(places[start], places[end], form.target) if places else Found(start, end, form.target)
                    )
                    break
            is_begun = is_begun or _WORD.match(token[0]) is not None
        return found


def _checked(rows: Iterable[tuple[str, str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the forms and targets of rows, each after its place for messages."""
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
    return tuple(terms.items())


def missing(text: str, targets: Iterable[str], *, whole_words: bool = True) -> list[str]:
    """Return the target terms that a translation has less often than they are in `targets`, longest first.

    Args:
        text: the translation; each of its words is counted for one term.
        targets: the terms.
        whole_words: whether a term must be a whole word, which may have a capital at the beginning of the text.
    """
    lost = []
    for target, n in sorted(Counter(targets).items(), key=lambda item: (-len(item[0]), item[0])):
        pattern = re.escape(target)
        if whole_words:
            before, after = (
                (r"(?<!\w)" if _WORD.match(target[0]) else ""),
                (r"(?!\w)" if _WORD.match(target[-1]) else ""),
            )
            capital = re.escape(target[0].upper() + target[1:])
            pattern = rf"(?:\A\W*{capital}|{before}{pattern}){after}"
        text, n_found = re.subn(pattern, _SYMBOL_MARK, text, count=n)
        if n_found < n:
            lost.append(target)
    return lost
