"""What may be wrong with a run though its loss falls: a source that is ignored, and references with `<unk>`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from transformer.model import Transformer
from translate.corpus.batches import Batch, EncodedPairs, Index, Pairs, by_length
from translate.training.step import mean_nll

Collate = Callable[[Pairs, Index], Batch]

SAMPLE = 256  # validation sentences that the gain is measured on, twice: a fraction of a validation
LEAST_GAIN = 0.05  # nats a token; models that translate gain one or more, those that ignore the source exactly none
LOOKED_AT = 100_000  # training pairs that are searched for `<unk>`, in about a tenth of a second


class SourceGain:
    """How much the sources help: the loss with wrong ones minus that with the right ones.

    The wrong source of a sentence is that of its neighbour in order of length, so lengths tell next to nothing. Which
    sentences are taken depends on the data alone.

    Args:
        pairs: the validation set; at most SAMPLE pairs, spread over all lengths, are used.
        batch_tokens: budget of a batch.
        make: pads the pairs of an index to a batch.
    """

    def __init__(self, pairs: EncodedPairs, batch_tokens: int, make: Collate) -> None:
        order = np.concatenate(by_length(pairs, np.arange(pairs.n_pairs), batch_tokens))
        order = order[np.unique(np.linspace(0, pairs.n_pairs - 1, SAMPLE).astype(np.int64))]
        src, tgt = [pairs.src(int(i)).tolist() for i in order], [pairs.tgt(int(i)).tolist() for i in order]
        self._right, self._wrong = (self._batches(rows, tgt, batch_tokens, make) for rows in (src, src[-1:] + src[:-1]))
        self._differ = src[-1:] + src[:-1] != src

    @staticmethod
    def _batches(src: list[list[int]], tgt: list[list[int]], batch_tokens: int, make: Collate) -> list[Batch]:
        pairs = EncodedPairs(src, tgt)
        return [make(pairs, index) for index in by_length(pairs, np.arange(pairs.n_pairs), batch_tokens)]

    def __call__(self, model: Transformer, dtype: torch.dtype) -> float | None:
        """Nats a target token; None where all sentences have the same source."""
        if not self._differ:
            return None
        return mean_nll(model, self._wrong, dtype) - mean_nll(model, self._right, dtype)


@dataclass(frozen=True)
class Unknown:
    """Target sentences that hold `<unk>`.

    Attributes:
        n: how many of them.
        of: how many sentences were looked at.
        first: number of the first one, from 1.
    """

    n: int
    of: int
    first: int


def unknown_targets(pairs: Pairs, unk: int) -> Unknown | None:
    """The target sentences with the token `unk` among the first LOOKED_AT pairs; None if there are none."""
    n = min(pairs.n_pairs, LOOKED_AT)
    found = [i for i in range(n) if (pairs.tgt(i) == unk).any()]
    return Unknown(len(found), n, found[0] + 1) if found else None


def source_warning(gain: float | None, step: int, warmup_steps: int, last_step: int) -> str | None:
    """A sentence if the model ignores its source at an age at which it should not.

    That is at the end of the run, and from twice the warm-up on, though not before step 500: every model learns the
    frequencies of words first.
    """
    if gain is None or gain >= LEAST_GAIN or (step < max(2 * warmup_steps, 500) and step != last_step):
        return None
    return (
        f"the model ignores its source: with the sources of other sentences its loss is {gain:+.3f} nats a token "
        f"higher at step {step:,}, and it should be at least {LEAST_GAIN}; see that line n of the source translates "
        "line n of the target, lower training.lr, or lengthen training.warmup_steps"
    )


def unknown_warning(where: str, unknown: Unknown | None) -> str | None:
    """A sentence on the references of one set, named by `where`."""
    if unknown is None:
        return None
    return (
        f"<unk> stands in {unknown.n:,} of {unknown.of:,} references of the {where} set, first in pair "
        f"{unknown.first:,}, and cannot be translated; set tokenizer.byte_fallback = true"
    )
