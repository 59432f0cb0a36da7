"""Read and reorder the pieces of a SentencePiece model file.

A model file is a protocol buffer: a sequence of fields, each a key (number * 8 + wire type) and a value. Wire type 0 is
a varint, 1 is eight bytes, 2 is a length and that number of bytes, 5 is four bytes. If a field that is not repeated
occurs twice, the last one counts, so a setting is changed by appending it.

Source of the numbers: sentencepiece_model.proto of SentencePiece.
"""

import struct
from collections.abc import Iterator, Sequence

from translate.corpus.tokenizer import BOS, EOS, PAD, UNK
from translate.errors import UserError

NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5

_PIECES, _TRAINER = 1, 2
_TEXT, _SCORE, _KIND = 1, 2, 3
_VOCAB_SIZE, _IDS, _NAMES = 4, {UNK: 40, BOS: 41, EOS: 42, PAD: 43}, {UNK: 45, BOS: 46, EOS: 47, PAD: 48}


def pieces(serialized: bytes) -> dict[str, tuple[float, int]]:
    """Return score and type of each piece, ordered by id; UserError if the file is not a SentencePiece model."""
    found = {}
    try:
        for number, value in _fields(serialized):
            if number == _PIECES:
                fields = dict(_fields(value))
                score = struct.unpack("<f", fields.get(_SCORE, bytes(4)))[0]
                found[fields[_TEXT].decode("utf-8")] = (score, fields.get(_KIND, bytes([NORMAL]))[0])
        if not found:
            raise ValueError("no pieces")
    except (ValueError, IndexError, KeyError, struct.error) as error:
        raise UserError("the tokenizer is not a SentencePiece model, or is damaged; copy the folder again") from error
    return found


def rearranged(serialized: bytes, names: Sequence[str]) -> bytes:
    """Return a model file that segments text as before, with other ids.

    Args:
        serialized: the model file; UserError if it is none.
        names: pieces by id, PAD, BOS, EOS and UNK first. They must include every piece that the model produces. Pieces
            that it does not have can be decoded, and encoding never produces them.
    """
    known = pieces(serialized)
    rest = b"".join(_field(number, value) for number, value in _fields(serialized) if number > _TRAINER)
    trainer = b"".join(value for number, value in _fields(serialized) if number == _TRAINER)
    kinds = {PAD: CONTROL, BOS: CONTROL, EOS: CONTROL, UNK: UNKNOWN}
    lowest = min(score for score, _ in known.values()) - 1
    entries = []
    for i, name in enumerate(names):
        score, kind = known.get(name, (lowest, UNUSED))
        if i in kinds:
            score, kind = 0.0, kinds[i]
        elif kind in (UNKNOWN, CONTROL):
            kind = UNUSED  # encoding does not produce the special pieces either
        entry = _field(_TEXT, name.encode()) + _fixed(_SCORE, score) + _whole(_KIND, kind)
        entries.append(_field(_PIECES, entry))
    trainer += _whole(_VOCAB_SIZE, len(names))
    for i in kinds:
        trainer += _whole(_IDS[i], i) + _field(_NAMES[i], names[i].encode())
    return b"".join(entries) + _field(_TRAINER, trainer) + rest


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and value of each field; ValueError or IndexError if `data` is not a protocol buffer."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        start = at
        if key % 8 == 0:
            _, at = _number(data, at)
        elif key % 8 in (1, 5):
            at += 8 if key % 8 == 1 else 4
        elif key % 8 == 2:
            length, start = _number(data, at)
            at = start + length
        else:
            raise ValueError(key)
        if at > len(data):
            raise ValueError("truncated")
        yield key // 8, data[start:at]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the varint that begins at `at`, and its end."""
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def _varint(value: int) -> bytes:
    head = b""
    while value > 127:
        head, value = head + bytes([value & 127 | 128]), value >> 7
    return head + bytes([value])


def _field(number: int, value: bytes) -> bytes:
    return _varint(number * 8 + 2) + _varint(len(value)) + value


def _whole(number: int, value: int) -> bytes:
    return _varint(number * 8) + _varint(value)


def _fixed(number: int, value: float) -> bytes:
    return _varint(number * 8 + 5) + struct.pack("<f", value)
