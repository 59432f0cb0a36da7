"""What translations must contain: terms of a file, and the token ids of text that is forced."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from transformer.config import Ids
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.files import read_lines
from translate.inference.search import Engine

if TYPE_CHECKING:
    from transformer.model import Transformer

_NEVER = -5000  # below this is the bias of a token that an imported model cannot write


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

    Their letters are composed (NFC), as in nearly all text that models are trained on.

    Args:
        lines: the lines of the file; blank lines are skipped.
        name: of the file, for messages. UserError for a line with more tabs or without a target.
    """
    for n, line in enumerate(lines, start=1):
        *source, target = (normalize("NFC", column.strip()) for column in line.split("\t"))
        if not line.strip():
            continue
        if len(source) > 1 or not target:
            raise UserError(f"{name}, line {n}: not a term; write SOURCE, a tab and TARGET, or TARGET alone")
        yield Term("".join(source), target)


def forced_ids(tokenizer: Tokenizer, text: str, models: "Sequence[Transformer]" = ()) -> Ids:
    """Return the token ids of a text that a translation must contain, with composed letters (NFC).

    UserError if the vocabulary, or one of the models, cannot write it.
    """
    ids = tokenizer.target.encode(normalize("NFC", text.strip()))
    if tokenizer.unk in ids:
        raise UserError(f"{text.strip()!r}: has characters that the model's vocabulary has no pieces for; leave it out")
    for bias_V in (model.output_bias_V for model in models):
        if bias_V is not None and ids and bias_V[ids].min() < _NEVER:
            raise UserError(
                f"{text.strip()!r}: has pieces that the target vocabulary of the imported model lacks; leave it out"
            )
    return tuple(ids)


class Constraints:
    """Terms that the translations of an engine must contain; UserError for a term that it cannot write."""

    def __init__(self, engine: Engine, terms: Iterable[Term] = ()) -> None:
        self._tokenizer, models = engine.tokenizer, getattr(engine, "models", ())
        self._phrases = {term: forced_ids(engine.tokenizer, term.target, models) for term in terms}

    @classmethod
    def read(cls, path: Path | str | None, engine: Engine) -> "Constraints":
        """Return the terms of a file, or none."""
        return cls(engine, () if path is None else read_terms(read_lines(Path(path)), Path(path)))

    def phrases(self, ids: Sequence[int]) -> tuple[Ids, ...]:
        """Return the token ids of the terms that the translation of a source must contain."""
        sentence = normalize("NFC", self._tokenizer.decode(ids))
        return tuple(own for term, own in self._phrases.items() if term.occurs_in(sentence))
