"""The training batches of one rank."""

from collections.abc import Iterator

import numpy as np
import torch

from transformer.config import ModelConfig
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, Index, Position, Sampler, collate, largest
from translate.corpus.manifest import Mixture
from translate.corpus.prepare import Prepared
from translate.corpus.tokenizer import SubwordDropout
from translate.corpus.tokens import EncodedPairs
from translate.errors import UserError
from translate.training.distributed import Ranks


class BatchFeed:
    """The micro-batches of this rank's updates, on its device.

    Args:
        prepared: the corpus.
        config: the section [training].
        model: gives the special tokens and the size of the vocabulary.
        device: of the batches.
        ranks: the processes that train together.
        mixture: the weights of the sources.

    Attributes:
        sampler: the order of all batches, the same on all ranks.
        batches_per_update: micro-batches in an update, over all ranks.
    """

    def __init__(
        self,
        prepared: Prepared,
        config: TrainingConfig,
        model: ModelConfig,
        device: torch.device,
        ranks: Ranks,
        mixture: Mixture,
    ) -> None:
        self._prepared, self._model, self._device, self._ranks = prepared, model, device, ranks
        self.batches_per_update = config.accumulate * ranks.size
        self.sampler = Sampler(prepared.train, config.batch_tokens, config.max_tokens, config.seed, mixture)
        rate = config.subword_dropout
        self._dropout = SubwordDropout(prepared.tokenizer, rate, config.max_tokens) if rate else None

    def updates(self, position: Position) -> Iterator[tuple[list[Batch], Position]]:
        """Yield this rank's micro-batches of each update, and the position after it; batches go to ranks in turn."""
        stream = self.sampler.stream(position)
        while True:
            group = []
            for i in range(self.batches_per_update):
                index, position = next(stream)
                if i % self._ranks.size == self._ranks.rank:
                    group.append(self._training_batch(index, position))
            yield group, position

    def _training_batch(self, index: Index, position: Position) -> Batch:
        """Return the training pairs in `index` as a batch, with subword dropout if it is on.

        Args:
            index: the pairs.
            position: the sampler's, which together with the seed determines the dropout.
        """
        pairs = self._prepared.train
        if self._dropout is not None:
            rng = np.random.default_rng([self.sampler.seed, *position])
            sides = [[self._dropout(side(int(i)), rng).tolist() for i in index] for side in (pairs.src, pairs.tgt)]
            pairs, index = EncodedPairs.of(*sides), np.arange(len(index))
        return self.collate(pairs, index)

    def largest(self, epoch: int) -> Batch:
        """Return the batch of an epoch that needs the most memory."""
        return self.collate(self._prepared.train, largest(self._prepared.train, self.sampler.batches(epoch)))

    def collate(self, pairs: EncodedPairs, index: Index) -> Batch:
        """Return the pairs in `index` as a batch on the device; UserError if a token id is beyond the vocabulary."""
        model = self._model
        batch = collate(pairs, index, pad=model.pad, bos=model.bos, eos=model.eos)
        highest = max(int(batch.src.max()), int(batch.tgt_out.max()))
        if highest >= model.vocab_size:
            raise UserError(
                f"{self._prepared.folder}: holds the token id {highest}, but the model has {model.vocab_size} tokens; "
                "the corpus is damaged or of another tokenizer: run `translate prepare` again"
            )
        return batch.to(self._device)
