"""Validation: loss, BLEU and the use of the source.

The validation set is encoded as training encodes its pairs: with placeholders, and without pairs that are too long.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.augmentation import with_symbols
from translate.corpus.batches import Batch, Index, by_length, eligible
from translate.corpus.prepare import EncodedPairs, Prepared
from translate.corpus.sources import Pair
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.training.distributed import SINGLE_PROCESS, Ranks
from translate.training.update import OomSplitter, mean_nll

ScoreBleu = Callable[[Transformer, Sequence[Pair]], float]
Collate = Callable[[EncodedPairs, Index], Batch]

SAMPLE = 256  # sentences for the source gain


@dataclass(frozen=True)
class Scores:
    """Scores of a model on the validation set.

    Attributes:
        nll: negative log-likelihood in nats a target token.
        bleu: BLEU of translations by greedy search; None if it is not measured.
        source_gain: see `SourceGain`; None if all sentences have the same source.
    """

    nll: float
    bleu: float | None
    source_gain: float | None


class Validator:
    """Measures `Scores`; the ranks share the batches, and rank 0 alone translates.

    Args:
        prepared: the corpus; the pairs of its validation set that training would not skip are used.
        collate: makes a batch on the device of the model.
        score_bleu: BLEU of a model's translations of some pairs, or None to skip it.
        splitter: halves batches that do not fit into memory; None lets them fail.

    Attributes:
        pairs: the whole validation set, encoded.
        n_too_long: its pairs that are skipped.

    Raises UserError if all pairs are too long.
    """

    def __init__(
        self,
        prepared: Prepared,
        config: TrainingConfig,
        collate: Collate,
        dtype: torch.dtype,
        score_bleu: ScoreBleu | None,
        ranks: Ranks,
        splitter: OomSplitter | None,
    ) -> None:
        self.score_bleu, self._dtype, self._ranks, self._splitter = score_bleu, dtype, ranks, splitter
        self.pairs = pairs = encode(prepared.valid, prepared.tokenizer)
        short = eligible(pairs, config.max_tokens)
        if not len(short):
            raise UserError(
                f"no sentence pair of data.valid has at most training.max_tokens = {config.max_tokens} tokens on "
                "either side; raise it, or name other validation text"
            )
        self.n_too_long = pairs.n_pairs - len(short)
        if self.n_too_long:
            pairs = EncodedPairs.of(*([side(int(i)).tolist() for i in short] for side in (pairs.src, pairs.tgt)))
        self._sample = [prepared.valid[i] for i in short[: config.valid_bleu_sentences]]
        self._batches = [collate(pairs, i) for i in by_length(pairs, np.arange(pairs.n_pairs), config.batch_tokens)]
        self._source_gain = SourceGain(pairs, config.batch_tokens, collate)

    def scores(self, model: Transformer) -> Scores:
        """Score the model, which is left in eval mode; all ranks call this with the same parameters."""
        nll = mean_nll(model, self._batches, self._dtype, self._ranks, self._splitter)
        score = self.score_bleu
        bleu = None if score is None else self._ranks.on_rank_0(lambda: score(model, self._sample))
        return Scores(nll, bleu, self._source_gain(model, self._dtype, self._ranks, self._splitter))

    def warm_up(self, model: Transformer) -> None:
        """Score the largest batch and discard the result, so that a lack of memory shows before training."""
        largest = max(self._batches, key=lambda batch: batch.src.numel() + batch.tgt_in.numel())
        mean_nll(model, [largest] * self._ranks.size, self._dtype, self._ranks, self._splitter)


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
        self, model: Transformer, dtype: torch.dtype, ranks: Ranks = SINGLE_PROCESS, splitter: OomSplitter | None = None
    ) -> float | None:
        """Return the gain in nats a target token, None if all sentences have one source; arguments of `mean_nll`."""
        if not self._differ:
            return None
        wrong, right = (mean_nll(model, batches, dtype, ranks, splitter) for batches in (self._wrong, self._right))
        return wrong - right


def encode(pairs: Sequence[Pair], tokenizer: Tokenizer) -> EncodedPairs:
    """Return pairs of text as token ids, as `prepare` encodes training pairs: with placeholders on both sides."""
    source, target = zip(*(with_symbols(pair, tokenizer.n_placeholders) for pair in pairs), strict=True)
    return EncodedPairs.of(tokenizer.encode_batch(source), tokenizer.encode_batch(target))
