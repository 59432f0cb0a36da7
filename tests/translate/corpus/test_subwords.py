"""Subword dropout changes the pieces of a sentence but never its text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.config.schema import TokenizerConfig
from translate.corpus.subwords import SubwordDropout, parts
from translate.corpus.tokenizer import Tokenizer, train
from translate.text.placeholders import symbol

WORDS = ["der", "Hund", "die", "Katze", "läuft", "schläft", "schlafend", "nicht", "nichts", "schnell", "schneller"]
WORDS += ["the", "dog", "dogs", "cat", "cats", "sleeps", "sleeping"]
SENTENCES = [f"{a} {b} {c}." for a in WORDS for b in WORDS for c in WORDS[::3]]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train(SENTENCES, TokenizerConfig(vocab_size=299, algorithm=request.param, placeholders=3))


@given(
    text=st.text(max_size=30) | st.lists(st.sampled_from([*WORDS, symbol(1)]), max_size=9).map(" ".join),
    rate=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 999),
)
def test_subword_dropout_keeps_the_text(tokenizer: Tokenizer, text: str, rate: float, seed: int) -> None:
    ids = np.array(tokenizer.encode(text), dtype=np.uint16)
    dropped = SubwordDropout(tokenizer, rate, 99)(ids, np.random.default_rng(seed))
    assert tokenizer.decode(dropped) == text
    assert len(dropped) >= len(ids)
    assert dropped.dtype == ids.dtype
    if rate == 0:
        assert dropped.tolist() == ids.tolist()


def test_rate_1_leaves_only_pieces_without_parts(tokenizer: Tokenizer) -> None:
    ids = np.array(tokenizer.encode("der Hund schläft nicht"))
    dropped = SubwordDropout(tokenizer, 1.0, 99)(ids, np.random.default_rng(0))
    assert len(dropped) > len(ids)
    assert not parts(tokenizer.scores()).keys() & set(dropped.tolist())


def test_a_sentence_that_would_be_too_long_stays_whole(tokenizer: Tokenizer) -> None:
    ids = np.array(tokenizer.encode("der Hund schläft nicht"))
    n = len(SubwordDropout(tokenizer, 1.0, 99)(ids, np.random.default_rng(0)))
    for max_tokens, length in ((n + 1, n), (n, len(ids))):
        assert len(SubwordDropout(tokenizer, 1.0, max_tokens)(ids, np.random.default_rng(0))) == length


def test_pieces_are_split_at_the_rate_and_the_same_way_for_the_same_seed(tokenizer: Tokenizer) -> None:
    word = next(iter(parts({"a": (7, -1.0), "b": (5, -2.0), "ab": (3, -3.0)}).items()))
    assert word == (3, (7, 5))
    splittable = parts(tokenizer.scores())
    leaves = [id for id, (a, b) in splittable.items() if a not in splittable and b not in splittable]
    ids = np.array(leaves[:1] * 4000)
    first, again = (SubwordDropout(tokenizer, 0.3, 9999)(ids, np.random.default_rng(3)) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert len(first) - len(ids) == pytest.approx(0.3 * 4000, abs=5 * (4000 * 0.3 * 0.7) ** 0.5)


def test_the_parts_with_the_highest_total_score_are_chosen() -> None:
    pieces = {piece: (id, score) for id, (piece, score) in enumerate([("a", -9), ("bc", -2), ("ab", -1), ("c", -3)])}
    assert parts({**pieces, "abc": (11, -20)})[11] == (2, 3)
