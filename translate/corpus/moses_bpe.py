"""The tokenizer of older packages of Argos Translate: Moses, then byte-pair encoding of words (Sennrich et al., 2016).

Punctuation is normalised and words are separated as by Moses, whose Python version is the package sacremoses. Then the
letters of each word are merged, the most frequent pair first; all parts but the last end in "@@". Decoding undoes both,
so the text is not kept exactly, unlike with the tokenizers of this project.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from translate.corpus.tokenizer import EOS, UNK, Tokenizer
from translate.errors import UserError, optional_package

_END = "</w>"  # of a word, in merges
_GOES_ON = "@@"  # after a part that is not the last one of its word


class MosesBpe(Tokenizer):
    """Moses and byte-pair encoding; the ids are places in a list of pieces, of which 0 to 3 are special.

    Args:
        serialized: JSON with `merges`, `pieces`, `source`, `target`, and `ends_apart`: whether the end of a word is a
            symbol of its own in the merges, as in version 0.1 of subword-nmt. ValueError if it is anything else.
    """

    def __init__(self, serialized: bytes) -> None:
        values = json.loads(serialized)
        try:
            self._pieces: list[str] = values["pieces"]
            self._ranks = {
                (a, b): rank for rank, (a, b) in reversed([*enumerate(values["merges"])])
            }  # the first counts
            self._languages: tuple[str, str] = (values["source"], values["target"])
            self._ends_apart: bool = values["ends_apart"]
        except (TypeError, KeyError, ValueError) as error:
            raise ValueError("not a list of merges and pieces") from error
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        self.serialized = serialized
        self.target = self

    @classmethod
    def of(cls, codes: bytes, pieces: Sequence[str], source: str, target: str) -> "MosesBpe":
        """Return the tokenizer of a file of merges, as subword-nmt writes it.

        UserError if it is none, or if the package sacremoses is missing.

        Args:
            pieces: the special ones and the words of both vocabularies.
            source, target: language codes, which Moses has rules for.
        """
        optional_package("sacremoses", "paper")  # now, and not at the first translation
        try:
            lines = codes.decode("utf-8").replace("\r\n", "\n").split("\n")  # U+0085 may be in a piece
        except UnicodeDecodeError as error:
            raise UserError("bpe.model is not UTF-8 text; get the package again") from error
        is_new = bool(lines) and lines[0].startswith("#version:") and not lines[0].endswith(" 0.1")
        merges = [line.split(" ") for line in lines if line.strip() and not line.startswith("#version")]
        if not merges or any(len(merge) != 2 for merge in merges):
            raise UserError("bpe.model is no list of merges; get the package again")
        values = {"merges": merges, "pieces": [*pieces], "source": source, "target": target, "ends_apart": not is_new}
        return cls(json.dumps(values, ensure_ascii=False).encode())

    @property
    def vocab_size(self) -> int:
        """Number of pieces, including special ones."""
        return len(self._pieces)

    @property
    def is_bpe(self) -> bool:
        """True, but its pieces are not those of SentencePiece."""
        return True

    @property
    def splits_at_spaces(self) -> bool:
        """False: marks of abbreviations depend on the word after them."""
        return False

    @property
    def n_placeholders(self) -> int:
        """0: no piece stands for a placeholder."""
        return 0

    @cached_property
    def _moses(self) -> tuple[Any, Any, Any]:
        """The normaliser, the tokenizer and the detokenizer; UserError if sacremoses is missing."""
        sacremoses = optional_package("sacremoses", "paper")
        source, target = self._languages
        return (
            sacremoses.MosesPunctNormalizer(source),
            sacremoses.MosesTokenizer(source),
            sacremoses.MosesDetokenizer(target),
        )

    def _cut(self, text: str) -> list[str]:
        normaliser, tokenizer, _ = self._moses
        words = tokenizer.tokenize(normaliser.normalize(text)) if text.strip() else []
        return [part for word in words for part in self._parts(word)]

    def _parts(self, word: str) -> list[str]:
        """Return the parts of a word: the pair of parts with the lowest rank is merged until there is none."""
        parts = [*word, _END] if self._ends_apart else [*word[:-1], word[-1] + _END]
        while len(parts) > 1:
            ranks = [self._ranks.get(pair, len(self._ranks)) for pair in pairwise(parts)]
            if (best := min(ranks)) == len(self._ranks):
                break
            merged, i = list[str](), 0
            while i < len(parts):
                is_pair = i < len(ranks) and ranks[i] == best
                merged.append(parts[i] + parts[i + 1] if is_pair else parts[i])
                i += 2 if is_pair else 1
            parts = merged
        *others, last = parts[:-1] if parts[-1] == _END else parts
        return [*(part + _GOES_ON for part in others), last.removesuffix(_END)]

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without bos and eos."""
        return self.ids(self._cut(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return `encode` of each text."""
        return [self.encode(text) for text in texts]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the characters of the text that each piece of `encode(text)` stands for; none if it is not found."""
        from html import unescape

        found, at = list[tuple[int, int]](), 0
        for part in self._cut(text):
            letters = unescape(part.removesuffix(_GOES_ON))
            if (start := text.find(letters, at)) >= 0:
                at = start + len(letters)
                found.append((start, at))
            else:
                found.append((at, at))
        return found

    @cached_property
    def _letters(self) -> tuple[frozenset[str], frozenset[str]]:
        pieces = [piece.removesuffix(_GOES_ON) for piece in self._pieces[EOS + 2 :]]
        return frozenset().union(*pieces), frozenset().union(*(piece for piece in pieces if len(piece) > 1))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids; special pieces are dropped, but for the unknown one, which becomes U+2047."""
        parts = ["\u2047" if i == UNK else self._pieces[i] for i in ids if i > EOS]
        words = re.sub(f"{_GOES_ON} |{_GOES_ON}$", "", " ".join(parts))
        return str(self._moses[2].detokenize(words.split(" "))) if parts else ""

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the token of each id."""
        return [self._pieces[i] for i in ids]

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """Return the id of each token; that of the unknown token if there is no such token."""
        return [self._ids.get(token, UNK) for token in tokens]

    def scores(self) -> dict[str, tuple[int, float]]:
        """Return no piece: subword dropout is of SentencePiece."""
        return {}
