"""The training pairs as arrays of token ids on disk, memory-mapped.

train.src.ids.npy        ids of all source sentences, concatenated, without <s> and </s>; uint16 or uint32
train.src.offsets.npy    int64, number of pairs + 1: sentence i is ids[offsets[i]:offsets[i + 1]]
train.tgt.*.npy          the same for the target side
"""

import contextlib
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np

from translate.corpus.sources import Pair
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError

SIDES = ("src", "tgt")

_CHUNK = 10_000  # sentences encoded at a time


class TokenStore:
    """The training pairs as token ids, memory-mapped: only the sentences that are read take memory.

    Args:
        folder: a prepared folder; UserError if a file is missing or damaged.

    Attributes:
        n_pairs: number of pairs.
        src_lengths, tgt_lengths: (n_pairs,) int32, tokens of each sentence without <s> and </s>.
    """

    def __init__(self, folder: Path) -> None:
        self._ids = {side: _load_array(folder / f"train.{side}.ids.npy") for side in SIDES}
        self._offsets = {side: _load_array(folder / f"train.{side}.offsets.npy") for side in SIDES}
        self.src_lengths, self.tgt_lengths = (np.diff(self._offsets[side]).astype(np.int32) for side in SIDES)
        self.n_pairs = len(self.src_lengths)

    def src(self, i: int) -> np.ndarray:
        """Return the ids of source sentence `i`: (src_lengths[i],), a read-only view of the file."""
        return self._sentence("src", i)

    def tgt(self, i: int) -> np.ndarray:
        """Return the ids of target sentence `i`: (tgt_lengths[i],), a read-only view of the file."""
        return self._sentence("tgt", i)

    def _sentence(self, side: str, i: int) -> np.ndarray:
        if not 0 <= i < self.n_pairs:
            raise IndexError(f"pair {i} of {self.n_pairs}")
        start, end = self._offsets[side][i : i + 2]
        return self._ids[side][start:end]


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
                ids = tokenizer.encode_batch(texts)
                lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
                offsets[side][start + 1 : start + 1 + len(ids)] = lengths
                flat = np.fromiter(itertools.chain.from_iterable(ids), dtype, count=int(lengths.sum()))
                files[side].write(flat.tobytes())
            start += len(chunk)
        for side, file in files.items():
            np.cumsum(offsets[side], out=offsets[side])
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
