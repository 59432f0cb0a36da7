"""Batches that do not fit into memory are halved, and the update comes out the same.

The loss of an update is a sum over tokens that is divided once, so any split of its batches has the same gradient up to
rounding and to the numbers that dropout draws. Ranks exchange nothing here: each may split on its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from translate.corpus.batches import Batch, halves
from translate.errors import UserError
from translate.machine import release_memory

T = TypeVar("T")
Shape = tuple[int, int, int]  # sentences, source positions, target positions


class Memory:
    """Computes with batches, in smaller portions where the whole does not fit.

    Attributes:
        n_splits: how often a batch had to be halved because it failed.
    """

    def __init__(self, pad: int, say: Callable[[str], None]) -> None:
        self.n_splits = 0
        self._pad, self._say = pad, say
        self._failed: list[Shape] = []

    def each(self, batches: Sequence[Batch], act: Callable[[Batch], T], undo: Callable[[], None]) -> list[T]:
        """What `act` returns for every batch, or for every portion of one.

        Where one fails for want of memory, `undo` discards what all have done so far, and everything is done again with
        the failed one in halves: a backward pass that fails has added part of its gradients already. Shapes that
        failed are remembered, so the next batch that is no smaller is split before it fails.

        UserError if a single sentence does not fit.
        """
        while True:
            results: list[T] = []
            for portion in (portion for batch in batches for portion in self._portions(batch)):
                if (result := _attempt(act, portion)) is None:
                    undo()
                    self._remember(portion)
                    break
                results.append(result)
            else:
                return results

    def _portions(self, batch: Batch) -> Iterator[Batch]:
        """The batch in pieces, none of which is known not to fit."""
        n, s, t = _shape(batch)
        if n > 1 and any(n >= rows and s >= src and t >= tgt for rows, src, tgt in self._failed):
            for half in halves(batch, self._pad):
                yield from self._portions(half)
        else:
            yield batch

    def _remember(self, portion: Batch) -> None:
        n, s, t = shape = _shape(portion)
        if n == 1:
            raise UserError(
                f"a sentence pair of {s} and {t} tokens does not fit into memory by itself; lower training.max_tokens, "
                "or set training.checkpoint_activations = true"
            )
        release_memory()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if not self._failed:
            self._say(
                f"a batch of {n} x ({s} + {t}) tokens does not fit into memory: it and its like are halved, with the "
                "same effective batch; a lower training.batch_tokens and a higher training.accumulate would be faster"
            )
        self.n_splits += 1
        self._failed.append(shape)


def _attempt(act: Callable[[Batch], T], batch: Batch) -> T | None:
    """What `act` returns, or None where memory did not suffice; nothing that it had allocated is held any longer."""
    try:
        return act(batch)
    except (torch.OutOfMemoryError, MemoryError):
        return None
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):  # the words of the CPU's allocator, which has no class for it
            raise
        return None


def _shape(batch: Batch) -> Shape:
    return batch.src.size(0), batch.src.size(1), batch.tgt_in.size(1)
