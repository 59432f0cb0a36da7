"""Validation: loss, BLEU and the use of the source.

The validation set is encoded as training encodes its pairs: with placeholders, and without pairs that are too long.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, Index, batches_by_length, eligible
from translate.corpus.prepare import EncodedPairs, Prepared
from translate.corpus.sources import Pair, with_symbols
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.training.distributed import SINGLE_PROCESS, Ranks
from translate.training.update import UNSPLIT, OomSplitter, batch_loss

Collate = Callable[[EncodedPairs, Index], Batch]

SAMPLE = 256  # sentences for the source gain


@torch.no_grad()
def mean_nll(
    model: Transformer,
    batches: Sequence[Batch],
    dtype: torch.dtype,
    ranks: Ranks = SINGLE_PROCESS,
    splitter: OomSplitter = UNSPLIT,
) -> float:
    """Return the negative log-likelihood of held-out batches in nats a target token; its exponential is perplexity.

    Args:
        model: in eval mode afterwards; it may be sharded.
        batches: all batches, the same on all ranks; each rank computes its share.
        dtype: type of matrix products; see `precision`.
        splitter: runs the batches, and may halve those that do not fit into memory.
    """

    def one(batch: Batch) -> Tensor:
        return batch_loss(model, batch, 0.0, dtype)[1].double()

    model.eval()
    losses: list[Tensor] = []
    n_tokens = 0
    for start in range(0, len(batches), ranks.size):
        i = start + ranks.rank
        # A sharded model needs all ranks in every pass, so a rank without a batch repeats the last one uncounted.
        batch = batches[min(i, len(batches) - 1)]
        parts = splitter.each([batch], one, undo=lambda: None)
        if i < len(batches):
            losses += parts
            n_tokens += batch.n_tgt_tokens
    total, n = ranks.sum(torch.stack(losses).sum().item() if losses else 0.0, n_tokens)
    return total / n


@dataclass(frozen=True)
class ValidationScores:
    """Scores of a model on the validation set.

    Attributes:
        nll: negative log-likelihood in nats a target token.
        bleu: BLEU of translations by greedy search; None if it is not measured.
        source_gain: the loss with wrong sources minus that with the right ones, nats a token; None if all sentences
            have the same source.
    """

    nll: float
    bleu: float | None
    source_gain: float | None


class Validator:
    """Measures `ValidationScores`; the ranks share the batches, and rank 0 alone translates.

    Args:
        prepared: the corpus; the pairs of its validation set that training would not skip are used.
        collate: makes a batch on the device of the model.
        dtype: type of matrix products.
        splitter: runs the batches, and may halve those that do not fit into memory.
        score_bleu: BLEU of the model's translations of some pairs, or None to skip it.

    Attributes:
        pairs: the whole validation set, encoded.
        n_too_long: its pairs that are skipped.
        batches: the others.

    Raises UserError if all pairs are too long.
    """

    def __init__(
        self,
        prepared: Prepared,
        config: TrainingConfig,
        collate: Collate,
        dtype: torch.dtype,
        splitter: OomSplitter,
        ranks: Ranks = SINGLE_PROCESS,
        score_bleu: Callable[[Sequence[Pair]], float] | None = None,
    ) -> None:
        self._score_bleu, self._ranks = score_bleu, ranks
        self._nll = partial(mean_nll, dtype=dtype, ranks=ranks, splitter=splitter)
        self.pairs = pairs = encode(prepared.valid, prepared.tokenizer)
        short = eligible(pairs, config.max_tokens)
        if not len(short):
            raise UserError(
                f"no sentence pair of data.valid has at most training.max_tokens = {config.max_tokens} tokens on "
                "either side; raise it, or name other validation text"
            )
        self.n_too_long = pairs.n_pairs - len(short)
        self._sample = [prepared.valid[i] for i in short[: config.valid_bleu_sentences]]
        found = batches_by_length(pairs, short, config.batch_tokens)
        self.batches = [collate(pairs, index) for index in found]
        self._exchanged = with_exchanged_sources(pairs, np.concatenate(found), config.batch_tokens, collate)

    def scores(self, model: Transformer) -> ValidationScores:
        """Score the model, which is left in eval mode; all ranks call this with the same parameters."""
        nll = self._nll(model, self.batches)
        score = self._score_bleu
        bleu = None if score is None else self._ranks.on_rank_0(lambda: score(self._sample))
        losses = [self._nll(model, batches) for batches in self._exchanged or ()]
        return ValidationScores(nll, bleu, losses[0] - losses[1] if losses else None)

    def warm_up(self, model: Transformer, beyond: int = 0) -> None:
        """Score the largest batch and discard the result, so that a lack of memory shows before training.

        Args:
            beyond: positions for which memory has sufficed in training, which needs more; no smaller batch is scored.
        """
        largest = max(self.batches, key=lambda batch: batch.n_positions)
        if largest.n_positions > beyond:
            self._nll(model, [largest] * self._ranks.size)


def with_exchanged_sources(
    pairs: EncodedPairs, order: Index, batch_tokens: int, make: Collate
) -> tuple[list[Batch], list[Batch]] | None:
    """Return batches of some pairs with wrong sources, and with the right ones; None if all have the same source.

    The wrong source of a sentence is that of its neighbour in order of length, so that its length tells little. The
    choice of sentences depends on the data alone.

    Args:
        order: the pairs to choose from, in order of length; at most SAMPLE of them, at even distances, are used.
        batch_tokens: padded tokens a side in one batch.
        make: makes a batch of the pairs in an index.
    """
    order = order[np.unique(np.linspace(0, len(order) - 1, SAMPLE).astype(np.int64))]
    src, tgt = [pairs.src(int(i)).tolist() for i in order], [pairs.tgt(int(i)).tolist() for i in order]
    exchanged = src[-1:] + src[:-1]

    def batches(sources: list[list[int]]) -> list[Batch]:
        made = EncodedPairs.of(sources, tgt)
        return [make(made, index) for index in batches_by_length(made, np.arange(made.n_pairs), batch_tokens)]

    return None if exchanged == src else (batches(exchanged), batches(src))


def perplexity(nll: float) -> float:
    """Return the exponential of a loss in nats a token, bounded so that a diverged model still gives a number."""
    return math.exp(min(nll, 700.0))


def encode(pairs: Sequence[Pair], tokenizer: Tokenizer) -> EncodedPairs:
    """Return pairs of text as token ids, as `prepare` encodes training pairs: with placeholders on both sides."""
    source, target = zip(*(with_symbols(pair, tokenizer.n_placeholders) for pair in pairs), strict=True)
    return EncodedPairs.of(tokenizer.encode_batch(source), tokenizer.encode_batch(target))
