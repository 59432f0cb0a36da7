"""Subword dropout changes the pieces of a sentence but never its text."""

from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2

from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import SubwordDropout, Tokenizer, parts, train
from translate.models.registry import locate
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
    assert not parts(tokenizer.scores(), merges=tokenizer.is_bpe).keys() & set(dropped.tolist())


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_a_tag_stays_whole(algorithm: str) -> None:
    """A model knows a tag by its one token; its letters, which are pieces too, would not say the same."""
    config = TokenizerConfig(vocab_size=299, algorithm=algorithm, placeholders=3)
    tagged = train(SENTENCES, config, ["de", "<BT>"])
    ids = np.array(tagged.encode("de <BT>"))
    assert {"de", "<BT>"} <= set(tagged.tokens(ids))
    assert SubwordDropout(tagged, 1.0, 99)(ids, np.random.default_rng(0)).tolist() == ids.tolist()


def test_a_sentence_that_would_be_too_long_stays_whole(tokenizer: Tokenizer) -> None:
    ids = np.array(tokenizer.encode("der Hund schläft nicht"))
    n = len(SubwordDropout(tokenizer, 1.0, 99)(ids, np.random.default_rng(0)))
    for max_tokens, length in ((n + 1, n), (n, len(ids))):
        assert len(SubwordDropout(tokenizer, 1.0, max_tokens)(ids, np.random.default_rng(0))) == length


def test_pieces_are_split_at_the_rate_and_the_same_way_for_the_same_seed(tokenizer: Tokenizer) -> None:
    word = next(iter(parts({"a": (7, -1.0), "b": (5, -2.0), "ab": (3, -3.0)}, merges=True).items()))
    assert word == (3, (7, 5))
    splittable = parts(tokenizer.scores(), merges=tokenizer.is_bpe)
    leaves = [id for id, (a, b) in splittable.items() if a not in splittable and b not in splittable]
    ids = np.array(leaves[:1] * 4000)
    first, again = (SubwordDropout(tokenizer, 0.3, 9999)(ids, np.random.default_rng(3)) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert len(first) - len(ids) == pytest.approx(0.3 * 4000, abs=5 * (4000 * 0.3 * 0.7) ** 0.5)


def test_the_most_probable_parts_of_a_unigram_piece_are_chosen() -> None:
    pieces = {piece: (id, score) for id, (piece, score) in enumerate([("a", -9), ("bc", -2), ("ab", -1), ("c", -3)])}
    assert parts({**pieces, "abc": (11, -20)}, merges=False)[11] == (2, 3)


def test_the_parts_of_a_bpe_piece_are_those_that_sentencepiece_merges() -> None:
    """SentencePiece splits a piece that is marked as unused into the two that it merged."""
    tokenizer = Tokenizer.load(locate(Path("de-en"), print) / "tokenizer.model")
    assert tokenizer.is_bpe
    pieces = tokenizer.scores()
    text = {id: piece for piece, (id, _) in pieces.items()}
    found = parts(pieces, merges=True)
    # A space is added before a text, so only pieces that begin with one can be compared.
    chosen = [id for id in found if text[id].startswith("\u2581")][:2000:29]
    assert len(chosen) > 60
    for id in chosen:
        model = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.serialized)
        model.pieces[id].type = model.SentencePiece.UNUSED
        reference = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
        assert reference.encode(text[id][1:], out_type=str) == [text[part] for part in found[id]]
