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
from translate.corpus.batches import by_length, eligible
from translate.corpus.prepare import Prepared
from translate.corpus.sources import Pair
from translate.corpus.tokenizer import Tokenizer
from translate.corpus.tokens import EncodedPairs
from translate.errors import UserError
from translate.training.diagnosis import Collate, SourceGain, length_warning, unknown_warning
from translate.training.distributed import Ranks
from translate.training.memory import OomSplitter
from translate.training.step import mean_nll

ScoreBleu = Callable[[Transformer, Sequence[Pair]], float]


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
        config: the section [training].
        collate: makes a batch on the device of the model.
        dtype: type of matrix products.
        score_bleu: BLEU of a model's translations of some pairs, or None to skip it.
        ranks: the processes that train together.
        splitter: halves batches that do not fit into memory; None lets them fail.

    Attributes:
        score_bleu: the argument.
        warnings: messages by subject; None where there is nothing to warn of.

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
        everything = encode(prepared.valid, prepared.tokenizer)
        short = eligible(everything, config.max_tokens)
        if not len(short):
            raise UserError(
                f"no sentence pair of data.valid has at most training.max_tokens = {config.max_tokens} tokens on "
                "either side; raise it, or name other validation text"
            )
        n_too_long = everything.n_pairs - len(short)
        pairs = everything
        if n_too_long:
            pairs = EncodedPairs.of(
                [everything.src(int(i)).tolist() for i in short], [everything.tgt(int(i)).tolist() for i in short]
            )
        self._sample = [prepared.valid[i] for i in short[: config.valid_bleu_sentences]]
        self._batches = [collate(pairs, i) for i in by_length(pairs, np.arange(pairs.n_pairs), config.batch_tokens)]
        self._source_gain = SourceGain(pairs, config.batch_tokens, collate)
        self.warnings = {
            "validation too long": length_warning(n_too_long, everything.n_pairs, config.max_tokens, "validation "),
            "unknown validation": unknown_warning("validation", everything, prepared.tokenizer.unk),
        }

    def scores(self, model: Transformer) -> Scores:
        """Score the model, which is left in eval mode; all ranks call this with the same parameters."""
        nll = mean_nll(model, self._batches, self._dtype, self._ranks, self._splitter)
        score = self.score_bleu
        bleu = None if score is None else self._ranks.first(lambda: score(model, self._sample))
        return Scores(nll, bleu, self._source_gain(model, self._dtype, self._ranks, self._splitter))

    def warm_up(self, model: Transformer) -> None:
        """Score the largest batch and discard the result, so that a lack of memory shows before training."""
        largest = max(self._batches, key=lambda batch: batch.src.numel() + batch.tgt_in.numel())
        mean_nll(model, [largest] * self._ranks.size, self._dtype, self._ranks, self._splitter)


def encode(pairs: Sequence[Pair], tokenizer: Tokenizer) -> EncodedPairs:
    """Return pairs of text as token ids, as `prepare` encodes training pairs: with placeholders on both sides."""
    source, target = zip(*(with_symbols(pair, tokenizer.n_placeholders) for pair in pairs), strict=True)
    return EncodedPairs.of(tokenizer.encode_batch(source), tokenizer.encode_batch(target))
