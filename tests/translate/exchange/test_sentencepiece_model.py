"""A SentencePiece model with reordered ids splits text as before."""

import io
import random

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as protocol

from tests.translate.conftest import SENTENCES
from tests.translate.exchange.plain import pieces_of, spm
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange.foreign_model import joint_vocabulary, produced, rearranged

TEXTS = [*SENTENCES[::17], "  das   Kind ", "", "\uff21\uff22 x", "日本 der Hund"]


@pytest.mark.parametrize("options", [{}, {"byte_fallback": True, "vocab_size": 330}, {"model_type": "bpe"}], ids=str)
def test_reordered_ids_have_the_same_pieces(options: dict[str, object]) -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=model, minloglevel=2, hard_vocab_limit=False,
        **{"vocab_size": 71, **options},
    )  # fmt: skip
    before = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    names = [before.id_to_piece(i) for i in range(before.vocab_size())]
    assert produced(model.getvalue()) == names[3:]
    words = [*names[3:], "never", "\u2581seen"]
    random.Random(3).shuffle(words)
    after = Tokenizer(rearranged(model.getvalue(), ["<pad>", "<bos>", "<end>", "<unk>", *words]))
    assert after.vocab_size == len(words) + 4
    assert after.decode([4 + words.index("never"), 4 + words.index("\u2581seen")]) == "never seen"
    for text in TEXTS:
        ids = after.encode(text)
        assert after.tokens(ids) == [before.id_to_piece(i) for i in before.encode(text)]
        assert after.decode(ids) == before.decode(before.encode(text))


@pytest.mark.parametrize("data", [b"", b"no model", b"\x0a\xff"])
def test_a_file_that_is_not_a_model_gives_a_one_sentence_error(data: bytes) -> None:
    with pytest.raises(UserError, match="not a SentencePiece model"):
        rearranged(data, ["<pad>", "<s>", "</s>", "<unk>"])


def test_a_damaged_part_of_a_model_gives_a_one_sentence_error() -> None:
    """A piece is no UTF-8, or SentencePiece refuses the table of the normalizer."""
    tokenizer = spm(SENTENCES, 71)
    names = ["<pad>", "<s>", "</s>", "<unk>", *pieces_of(tokenizer)]
    ids, special = {name: i for i, name in enumerate(names)}, dict(enumerate(names[:4]))
    assert joint_vocabulary(ids, ids, (tokenizer, tokenizer), special).source == [*range(len(names))]
    refused = protocol.ModelProto.FromString(tokenizer)
    refused.normalizer_spec.precompiled_charsmap = b"short"
    for damaged in (tokenizer.replace(b"\xe2\x96\x81", b"\xe2\x96\xff", 1), refused.SerializeToString()):
        with pytest.raises(UserError, match="not a SentencePiece model, or is damaged"):
            joint_vocabulary(ids, ids, (damaged, damaged), special)
