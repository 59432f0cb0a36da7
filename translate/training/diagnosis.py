"""Settings and data that do not fit, and problems that a falling loss hides: an ignored source, and `<unk>`."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.corpus.batches import Batch, Index, by_length
from translate.corpus.tokens import EncodedPairs
from translate.errors import UserError
from translate.training.distributed import ALONE, Ranks
from translate.training.memory import OomSplitter
from translate.training.run import Record
from translate.training.step import mean_nll

Collate = Callable[[EncodedPairs, Index], Batch]

SAMPLE = 256  # validation sentences for the source gain
LEAST_GAIN = 0.05  # nats a token; a model that translates gains one or more, a model that ignores its source nothing
LOOKED_AT = 100_000  # training pairs that are searched for `<unk>`; this takes about a tenth of a second


class SourceGain:
    """The gain from the sources: the loss with wrong sources minus the loss with the right ones.

    The wrong source of a sentence is that of its neighbour in order of length, so that its length tells little. The
    choice of sentences depends on the data alone.

    Args:
        pairs: the validation set; at most SAMPLE pairs, spread over all lengths, are used.
        batch_tokens: padded tokens a side in one batch.
        make: makes a batch of the pairs in an index.
    """

    def __init__(self, pairs: EncodedPairs, batch_tokens: int, make: Collate) -> None:
        order = np.concatenate(by_length(pairs, np.arange(pairs.n_pairs), batch_tokens))
        order = order[np.unique(np.linspace(0, pairs.n_pairs - 1, SAMPLE).astype(np.int64))]
        src, tgt = [pairs.src(int(i)).tolist() for i in order], [pairs.tgt(int(i)).tolist() for i in order]
        self._right, self._wrong = (self._batches(rows, tgt, batch_tokens, make) for rows in (src, src[-1:] + src[:-1]))
        self._differ = src[-1:] + src[:-1] != src

    @staticmethod
    def _batches(src: list[list[int]], tgt: list[list[int]], batch_tokens: int, make: Collate) -> list[Batch]:
        pairs = EncodedPairs.of(src, tgt)
        return [make(pairs, index) for index in by_length(pairs, np.arange(pairs.n_pairs), batch_tokens)]

    def __call__(
        self, model: Transformer, dtype: torch.dtype, ranks: Ranks = ALONE, splitter: OomSplitter | None = None
    ) -> float | None:
        """Return the gain in nats a target token; None if all sentences have the same source.

        Args:
            model: in eval mode afterwards.
            dtype: type of matrix products.
            ranks: the processes that share the work.
            splitter: halves batches that do not fit into memory; None lets them fail.
        """
        if not self._differ:
            return None
        wrong, right = (mean_nll(model, batches, dtype, ranks, splitter) for batches in (self._wrong, self._right))
        return wrong - right


def check_positions(config: ModelConfig, longest: int) -> None:
    """Raise UserError if the model has fewer learned positions than the longest sentence may need."""
    if config.positions == "learned" and config.max_length < longest:
        raise UserError(
            f"model.max_length = {config.max_length} is too small for sentences of up to {longest} tokens, which "
            "training.max_tokens allows; raise it, or lower training.max_tokens"
        )


def warmup_warning(last_step: int, warmup_steps: int) -> str | None:
    """Return a message if training ends before the warm-up does, or None."""
    if last_step >= warmup_steps:
        return None
    return (
        f"training ends at step {last_step:,}, before the learning rate has risen to its peak at "
        f"training.warmup_steps = {warmup_steps:,}"
    )


def rate_warning(records: Sequence[Record], lr: Callable[[int], float]) -> str | None:
    """Return a message if the learning rate of the last update in the metrics is another one now, or None.

    Args:
        records: the lines of the metrics.
        lr: the learning rate of a step.
    """
    update = next((record for record in reversed(records) if record.get("kind") == "train"), {})
    before, step = update.get("lr"), update.get("step", 0)
    if before is None or math.isclose(before, lr(step), rel_tol=1e-6):
        return None
    return (
        f"the last step is another one than before, and training.cooldown counts from it: the learning rate was "
        f"{before:.3g} at step {step:,}, and is {lr(step + 1):.3g} at the next"
    )


def length_warning(n_too_long: int, n_pairs: int, max_tokens: int, kind: str = "") -> str | None:
    """Return a message if long pairs are skipped, or None.

    Args:
        n_too_long: pairs that are skipped.
        n_pairs: all pairs.
        max_tokens: the limit for one side of a pair.
        kind: of the pairs, with a space after it, such as "validation "; "" for training.
    """
    if not n_too_long:
        return None
    return (
        f"{n_too_long:,} of {n_pairs:,} {kind}pairs are longer than training.max_tokens = {max_tokens} tokens and are "
        "skipped"
    )


def source_warning(gain: float | None, step: int, warmup_steps: int, last_step: int) -> str | None:
    """Return a message if the model ignores its source, or None.

    Early in training there is no message, as every model learns the frequencies of words first: before step 500, and
    before twice the warm-up, unless the run ends.

    Args:
        gain: the gain from the sources in nats a token; None if it is not measured.
        step: the current step.
        warmup_steps: steps of rising learning rate.
        last_step: the end of the run.
    """
    if gain is None or gain >= LEAST_GAIN or (step < max(2 * warmup_steps, 500) and step != last_step):
        return None
    return (
        f"the model ignores its source: at step {step:,} its loss with the sources of other sentences is only "
        f"{gain:+.3f} nats a token higher, instead of at least {LEAST_GAIN}; check that line n of the source "
        "translates line n of the target, lower training.lr, or lengthen training.warmup_steps"
    )


def unknown_warning(where: str, pairs: EncodedPairs, unk: int) -> str | None:
    """Return a message if references hold `<unk>`, or None.

    Args:
        where: name of the set, such as "validation".
        pairs: the set; the first LOOKED_AT pairs are searched.
        unk: id of `<unk>`.
    """
    n = min(pairs.n_pairs, LOOKED_AT)
    found = [i for i in range(n) if (pairs.tgt(i) == unk).any()]
    if not found:
        return None
    return (
        f"<unk> stands in {len(found):,} of {n:,} references of the {where} set, first in pair {found[0] + 1:,}, and "
        "cannot be translated; set tokenizer.byte_fallback = true"
    )
