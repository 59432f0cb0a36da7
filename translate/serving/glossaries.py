"""Glossaries of requests: built in the thread of the request, and kept, as clients send one again and again."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterator, Mapping

from translate.errors import UserError
from translate.serving.access import RefusedError
from translate.text.glossary import Glossary

Terms = dict[str, str] | str  # as a request has them: a mapping, or the lines of a file

_MOST_CHARACTERS = 2**20  # of all glossaries that are kept; each takes about 50 bytes of memory


def n_characters(terms: Terms | None) -> int:
    """Return the number of characters of a glossary, which count like those of the text; 0 for None."""
    if terms is None:
        return 0
    return len(terms) if isinstance(terms, str) else sum(len(str(part)) for term in terms.items() for part in term)


class Glossaries:
    """Glossaries by the digest of their terms; the one that was not used for the longest time gives way."""

    def __init__(self, most_characters: int = _MOST_CHARACTERS) -> None:
        self._most = most_characters
        self._kept: OrderedDict[bytes, tuple[Glossary, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, terms: Terms | None, raise_if_cancelled: Callable[[], None] = lambda: None) -> Glossary | None:
        """Return the glossary of a request, None for None; RefusedError if it is wrong.

        Args:
            raise_if_cancelled: called for each term; may raise an exception to give up.
        """
        if terms is None:
            return None
        key = hashlib.sha256(json.dumps(terms).encode()).digest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        glossary = _built(terms, raise_if_cancelled)
        with self._lock:
            self._kept[key] = glossary, n_characters(terms)
            while sum(n for _, n in self._kept.values()) > self._most:
                self._kept.popitem(last=False)
        return glossary


def _built(terms: Terms, raise_if_cancelled: Callable[[], None]) -> Glossary:
    try:
        if isinstance(terms, str):  # maybe a file with a byte order mark, which would belong to the first term
            return Glossary.read(_checked(terms.removeprefix("\ufeff").split("\n"), raise_if_cancelled), "glossary")
        return Glossary.of(_CheckedTerms(terms, raise_if_cancelled))
    except UserError as error:
        raise RefusedError(400, f"Invalid request: {error}") from error


def _checked(lines: list[str], raise_if_cancelled: Callable[[], None]) -> Iterator[str]:
    for line in lines:
        raise_if_cancelled()
        yield line


class _CheckedTerms(Mapping[str, str]):
    """Terms that call a function before each one."""

    def __init__(self, terms: dict[str, str], raise_if_cancelled: Callable[[], None]) -> None:
        self._terms, self._raise_if_cancelled = terms, raise_if_cancelled

    def __getitem__(self, forms: str) -> str:
        self._raise_if_cancelled()
        return self._terms[forms]

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def items(self) -> ItemsView[str, str]:
        """Return the terms; the view of a mapping calls `__getitem__` for each."""
        return ItemsView(self)
