"""Read and reorder the pieces of a SentencePiece model file, which is a protocol buffer."""

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2 as protocol

from translate.corpus.tokenizer import BOS, EOS, PAD, UNK
from translate.errors import UserError

_Piece = protocol.ModelProto.SentencePiece
_SPECIAL = {PAD: _Piece.CONTROL, BOS: _Piece.CONTROL, EOS: _Piece.CONTROL, UNK: _Piece.UNKNOWN}


def produced(serialized: bytes) -> list[str]:
    """Return the pieces that are not special, ordered by id; UserError if the file is not a SentencePiece model."""
    return [piece.piece for piece in _model(serialized).pieces if piece.type not in _SPECIAL.values()]


def rearranged(serialized: bytes, names: Sequence[str]) -> bytes:
    """Return a model file that segments text as before, with other ids.

    Args:
        serialized: the model file; UserError if it is none.
        names: pieces by id, PAD, BOS, EOS and UNK first. They must include every piece that the model produces. Pieces
            that it does not have can be decoded, and encoding never produces them.
    """
    model = _model(serialized)
    known = {piece.piece: piece for piece in model.pieces if piece.type not in _SPECIAL.values()}
    unused = _Piece(score=min(piece.score for piece in model.pieces) - 1, type=_Piece.UNUSED)
    entries = []
    for i, name in enumerate(names):
        old = _Piece(score=0.0, type=_SPECIAL[i]) if i in _SPECIAL else known.get(name, unused)
        entries.append(_Piece(piece=name, score=old.score, type=old.type))
    del model.pieces[:]
    model.pieces.extend(entries)
    trainer = model.trainer_spec
    trainer.vocab_size = len(names)
    trainer.pad_id, trainer.bos_id, trainer.eos_id, trainer.unk_id = PAD, BOS, EOS, UNK
    trainer.pad_piece, trainer.bos_piece, trainer.eos_piece, trainer.unk_piece = names[: len(_SPECIAL)]
    return bytes(model.SerializeToString())


def _model(serialized: bytes) -> Any:
    """Return the model as a message."""
    try:
        model = protocol.ModelProto.FromString(serialized)
        if not model.pieces:
            raise DecodeError("no pieces")
    except DecodeError as error:
        raise UserError("the tokenizer is not a SentencePiece model, or is damaged; copy the folder again") from error
    return model
