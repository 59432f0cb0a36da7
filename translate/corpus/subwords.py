"""Subword dropout: pieces split at random into shorter ones, differently each time that a sentence is used.

A model that sees a word as different sequences of pieces learns what the pieces mean, which helps with rare words and
small corpora: BPE-dropout (Provilkov et al., 2020). That method skips merges while it encodes text. This one undoes
merges of encoded text, so training does not need the text. Every sequence decodes to the same text.
"""

from collections.abc import Mapping

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
        for id, found in parts(tokenizer.scores()).items():
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


def parts(pieces: Mapping[str, tuple[int, float]]) -> dict[int, tuple[int, int]]:
    """Return the ids of the two parts of each piece, by its id; pieces that no two others make up are left out.

    A piece is split where its parts have the highest total score. In BPE a score is the
    negative rank of a merge, so these are early merges; in a unigram model these are the most probable pieces.

    Args:
        pieces: id and score of each piece of text.
    """
    found = {}
    for piece, (id, _) in pieces.items():
        splits = ((piece[:i], piece[i:]) for i in range(1, len(piece)))
        known = [(pieces[a], pieces[b]) for a, b in splits if a in pieces and b in pieces]
        if known:
            (a, _), (b, _) = max(known, key=lambda pair: pair[0][1] + pair[1][1])
            found[id] = a, b
    return found
