"""Validation: loss, BLEU and the use of the source, on the whole validation set."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from transformer.model import Transformer
from translate.corpus.batches import by_length
from translate.corpus.prepare import Prepared
from translate.corpus.tokens import EncodedPairs
from translate.training.diagnosis import Collate, SourceGain, unknown_warning
from translate.training.distributed import Ranks
from translate.training.step import mean_nll


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
        prepared: the corpus; every pair of its validation set is used.
        batch_tokens: padded tokens a side in one batch.
        collate: makes a batch on the device of the model.
        dtype: type of matrix products.
        bleu: score of the model's translations, or None to leave it out.
        ranks: the processes that train together.

    Attributes:
        longest: positions of the longest sentence on either side.
        warning: a message if references hold unknown tokens, or None.
    """

    def __init__(
        self,
        prepared: Prepared,
        batch_tokens: int,
        collate: Collate,
        dtype: torch.dtype,
        bleu: Callable[[Transformer], float] | None,
        ranks: Ranks,
    ) -> None:
        self.bleu, self._dtype, self._ranks = bleu, dtype, ranks
        source, target = zip(*prepared.valid, strict=True)
        encode = prepared.tokenizer.encode_batch
        pairs = EncodedPairs.of(encode(source), encode(target))
        self._batches = [collate(pairs, i) for i in by_length(pairs, np.arange(pairs.n_pairs), batch_tokens)]
        self._source_gain = SourceGain(pairs, batch_tokens, collate)
        self.longest = max(max(batch.src.size(1), batch.tgt_in.size(1)) for batch in self._batches)
        self.warning = unknown_warning("validation", pairs, prepared.tokenizer.unk)

    def scores(self, model: Transformer) -> Scores:
        """Score the model, which is left in eval mode; all ranks call this with the same parameters."""
        nll = mean_nll(model, self._batches, self._dtype, self._ranks)
        score = self.bleu
        bleu = None if score is None else self._ranks.first(lambda: score(model))
        return Scores(nll, bleu, self._source_gain(model, self._dtype, self._ranks))
