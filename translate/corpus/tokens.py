"""The training pairs as arrays of token ids on disk, memory-mapped.

train.src.ids.npy        ids of all source sentences, concatenated, without <s> and </s>; uint16 or uint32
train.src.offsets.npy    int64, number of pairs + 1: sentence i is ids[offsets[i]:offsets[i + 1]]
train.tgt.*.npy          the same for the target side
"""

import contextlib
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from translate.corpus.sources import Pair
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError

SIDES = ("src", "tgt")
Side = tuple[NDArray[np.integer], NDArray[np.integer]]

_CHUNK = 10_000  # sentences encoded at a time


class EncodedPairs:
    """Sentence pairs as token ids, without bos and eos.

    Args:
        src, tgt: the sides, each as all ids in a row and the offset of each sentence and of the end: sentence i is
            ids[offsets[i] : offsets[i + 1]].

    Attributes:
        n_pairs: number of pairs.
        src_lengths, tgt_lengths: (n_pairs,) int32, tokens of each sentence.
    """

    def __init__(self, src: Side, tgt: Side) -> None:
        self._src, self._tgt = src, tgt
        self.src_lengths, self.tgt_lengths = (np.diff(offsets).astype(np.int32) for _, offsets in (src, tgt))
        self.n_pairs = len(self.src_lengths)

    @classmethod
    def of(cls, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> "EncodedPairs":
        """Return the pairs of lists of token ids."""
        return cls(_side(src), _side(tgt))

    def src(self, i: int) -> NDArray[np.integer]:
        """Return the ids of source sentence i, a view."""
        ids, offsets = self._src
        return ids[offsets[i] : offsets[i + 1]]

    def tgt(self, i: int) -> NDArray[np.integer]:
        """Return the ids of target sentence i, a view."""
        ids, offsets = self._tgt
        return ids[offsets[i] : offsets[i + 1]]


def _side(sentences: Sequence[Sequence[int]]) -> Side:
    ids = np.fromiter(itertools.chain.from_iterable(sentences), dtype=np.int64)
    return ids, np.cumsum([0, *map(len, sentences)])


def read_tokens(folder: Path) -> EncodedPairs:
    """Open the pairs of a prepared folder, memory-mapped: only the sentences that are read take memory.

    UserError if a file is missing or damaged.
    """
    arrays = [_load_array(folder / f"train.{side}.{part}.npy") for side in SIDES for part in ("ids", "offsets")]
    return EncodedPairs((arrays[0], arrays[1]), (arrays[2], arrays[3]))


def write_tokens(pairs: Iterable[Pair], n_pairs: int, tokenizer: Tokenizer, folder: Path) -> dict[str, int]:
    """Encode pairs and write their ids and offsets.

    Args:
        pairs: the pairs, read once.
        n_pairs: number of pairs.
        tokenizer: encodes both sides.
        folder: the folder of the arrays.

    Returns the number of tokens of each side.
    """
    dtype = np.dtype(np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32)
    offsets = {side: np.zeros(n_pairs + 1, dtype=np.int64) for side in SIDES}
    with contextlib.ExitStack() as stack:
        files = {side: stack.enter_context((folder / f"train.{side}.ids.npy").open("wb")) for side in SIDES}
        for file in files.values():
            _write_header(file, dtype, 0)
        pairs, start = iter(pairs), 0
        while chunk := list(itertools.islice(pairs, _CHUNK)):
            for side, texts in zip(SIDES, zip(*chunk, strict=True), strict=True):
                ids, ends = _side(tokenizer.encode_batch(texts))
                offsets[side][start : start + len(ends)] = offsets[side][start] + ends
                files[side].write(ids.astype(dtype).tobytes())
            start += len(chunk)
        for side, file in files.items():
            np.save(folder / f"train.{side}.offsets.npy", offsets[side])
            file.seek(0)
            _write_header(file, dtype, int(offsets[side][-1]))
    return {side: int(offsets[side][-1]) for side in SIDES}


def _write_header(file: IO[bytes], dtype: np.dtype, length: int) -> None:
    """Write the header of a one-dimensional .npy file; it takes the same room for every length."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)


def _load_array(path: Path) -> np.ndarray:
    try:
        # A plain array over the same mapping: slices of np.memmap itself are several times slower.
        return np.asarray(np.load(path, mmap_mode="r"))
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path}: missing or damaged; run `translate prepare` again") from error
