"""Halving of batches that do not fit into memory.

The loss of an update is a sum over tokens that is divided once, so splitting its batches changes the gradient only by
rounding and by the random numbers of dropout. Each rank splits its own batches.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from translate.corpus.batches import Batch, halves
from translate.errors import Say, UserError
from translate.machine import release_memory

T = TypeVar("T")
Shape = tuple[int, int, int]  # sentences, source positions, target positions


class OomSplitter:
    """Runs a computation on batches, and halves those that do not fit into memory.

    Args:
        pad: id of the padding token.
        say: receives a message at the first failure.

    Attributes:
        n_splits: number of failures, each followed by halving.
    """

    def __init__(self, pad: int, say: Say) -> None:
        self.n_splits = 0
        self._pad, self._say = pad, say
        self._failed: list[Shape] = []

    def each(self, batches: Sequence[Batch], act: Callable[[Batch], T], undo: Callable[[], None]) -> list[T]:
        """Return `act(batch)` for every batch, or for every portion of a batch that does not fit.

        Args:
            batches: the batches.
            act: the computation. If it runs out of memory, the failed portion is halved and everything is done again;
                later batches of that size are halved at once.
            undo: discards the effects of all calls of `act` so far; a failed backward pass leaves partial gradients.

        Raises UserError if a single sentence does not fit.
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
        """Yield the batch in portions smaller than any that has failed."""
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
                f"a batch of {n} x ({s} + {t}) tokens does not fit into memory: batches of this size are halved, "
                "and the update stays the same; a lower training.batch_tokens, with a higher accumulate, is faster"
            )
        self.n_splits += 1
        self._failed.append(shape)


def _attempt(act: Callable[[Batch], T], batch: Batch) -> T | None:
    """Return `act(batch)`, or None if memory does not suffice; its allocations are then released."""
    try:
        return act(batch)
    except (torch.OutOfMemoryError, MemoryError):
        return None
    except RuntimeError as error:
        # The message of the CPU's allocator, which has no exception class.
        if "can't allocate memory" not in str(error):
            raise
        return None


def _shape(batch: Batch) -> Shape:
    return batch.src.size(0), batch.src.size(1), batch.tgt_in.size(1)
