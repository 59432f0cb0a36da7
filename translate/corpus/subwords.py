"""Subword dropout: pieces split at random into shorter ones, differently each time that a sentence is used.

A model that sees a word as different sequences of pieces learns what the pieces mean, which helps with rare words and
small corpora: BPE-dropout (Provilkov et al., 2020). That method skips merges while it encodes text. This one undoes
merges of encoded text, so training does not need the text. Every sequence decodes to the same text.
"""

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from translate.corpus.tokenizer import Tokenizer

NO_PARTS = -1


class SubwordDropout:
    """Splits pieces at random.

    Args:
        tokenizer: its pieces.
        rate: probability that a piece is split; each part is split again with the same probability.
        max_tokens: longest sentence in tokens, its end included; one that would become longer is not split.
    """

    def __init__(self, tokenizer: Tokenizer, rate: float, max_tokens: int) -> None:
        self._rate, self._max_tokens = rate, max_tokens
        self._parts = np.full((tokenizer.vocab_size, 2), NO_PARTS)
        for id, found in parts(tokenizer.scores(), merges=tokenizer.is_bpe).items():
            self._parts[id] = found

    def __call__(self, ids: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.integer]:
        """Return the ids of one sentence, (T,), with some pieces in parts, (at least T,)."""
        whole = ids
        is_new = np.ones(len(ids), dtype=bool)
        while True:
            chosen = is_new & (self._parts[ids, 0] != NO_PARTS)
            chosen &= rng.random(len(ids)) < self._rate
            if not chosen.any():
                return ids if len(ids) < self._max_tokens else whole
            n_parts = np.where(chosen, 2, 1)
            first = np.cumsum(n_parts)[chosen] - 2  # position of the first part of each chosen piece
            found = self._parts[ids[chosen]]
            ids, is_new = np.repeat(ids, n_parts), np.repeat(chosen, n_parts)
            ids[first], ids[first + 1] = found[:, 0], found[:, 1]


def parts(pieces: Mapping[str, tuple[int, float]], *, merges: bool) -> dict[int, tuple[int, int]]:
    """Return the ids of the two parts of each piece, by its id; pieces that no two others make up are skipped.

    Args:
        pieces: id and score of each piece of text.
        merges: whether the pieces are merges of BPE, whose score is the negative rank of the merge: then the parts are
            the two that BPE merges into the piece. In a unigram model they are the two with the highest total score,
            its most probable segmentation in two.
    """
    split = _merged if merges else _most_probable
    found = {id: split(piece, pieces) for piece, (id, _) in pieces.items()}
    return {id: (pieces[two[0]][0], pieces[two[1]][0]) for id, two in found.items() if two is not None}


def _merged(piece: str, pieces: Mapping[str, tuple[int, float]]) -> tuple[str, str] | None:
    """Return the two pieces of the last merge when BPE encodes the text of `piece`."""
    text = list(piece)
    while len(text) > 2:
        joined = [a + b for a, b in pairwise(text)]
        scores = [pieces[one][1] if one in pieces else -math.inf for one in joined]
        best = max(scores)
        if best == -math.inf:
            return None
        i = scores.index(best)
        text[i : i + 2] = [joined[i]]
    return (text[0], text[1]) if len(text) == 2 and all(part in pieces for part in text) else None


def _most_probable(piece: str, pieces: Mapping[str, tuple[int, float]]) -> tuple[str, str] | None:
    splits = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
    known = [(a, b) for a, b in splits if a in pieces and b in pieces]
    return max(known, key=lambda two: pieces[two[0]][1] + pieces[two[1]][1], default=None)
