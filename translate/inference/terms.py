"""Terms: words that must occur in translations."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError


@dataclass(frozen=True)
class Term:
    """A rule: the translation of a sentence that contains `source` must contain `target`.

    An empty `source` is in every sentence.
    """

    source: str
    target: str

    def occurs_in(self, sentence: str) -> bool:
        """Return whether the sentence contains the source as whole words."""
        if self.source not in sentence:  # most terms are in few sentences, and to compile a pattern takes long
            return False
        pattern = rf"(?<![^\W_]){re.escape(self.source)}(?![^\W_])"
        return not self.source or re.search(pattern, sentence) is not None


def read_terms(lines: Iterable[str], name: Path) -> Iterator[Term]:
    """Yield the terms of a file: SOURCE, a tab and TARGET, or TARGET alone if it must occur in every translation.

    Args:
        lines: the lines of the file; blank lines are skipped.
        name: of the file, for messages. UserError for a line with more tabs or without a target.
    """
    for n, line in enumerate(lines, start=1):
        *source, target = (column.strip() for column in line.split("\t"))
        if not line.strip():
            continue
        if len(source) > 1 or not target:
            raise UserError(f"{name}, line {n}: not a term; write SOURCE, a tab and TARGET, or TARGET alone")
        yield Term("".join(source), target)


def forced_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the token ids of a text that a translation must contain; UserError if the vocabulary cannot write it."""
    ids = tokenizer.encode(text.strip())
    if tokenizer.unk in ids:
        raise UserError(f"{text.strip()!r}: has characters that the model's vocabulary has no pieces for; leave it out")
    return ids
