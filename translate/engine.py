"""What searches for translations of token ids: PyTorch here, or another engine behind the same signature.

The text around it (`translate.translator`) knows nothing else of the model, and so needs no torch for an engine that
needs none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from transformer.hypothesis import Hypothesis
from translate.corpus.tokenizer import Tokenizer
from translate.model_folder import ModelFolder, Task


class Engine(Protocol):
    """A model folder that can be searched."""

    @property
    def folder(self) -> Path:
        """Where the model is."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Text to ids and back."""

    @property
    def task(self) -> Task:
        """Languages and decoding."""

    @property
    def max_positions(self) -> int | None:
        """Tokens, ends included, that either side may have; None where there is no limit."""

    def search(
        self,
        sources: Sequence[Sequence[int]],
        *,
        beam_size: int,
        alpha: float,
        n_best: int,
        max_lengths: Sequence[int],
        no_repeat: int,
    ) -> list[list[Hypothesis]]:
        """The n_best hypotheses of each source of one batch, best first; see `transformer.decoding.translate_ids`.

        A sentence of which the model has no finite probabilities has no hypotheses.
        """


@dataclass(frozen=True)
class TorchEngine:
    """A model folder searched by this project's own code."""

    parts: ModelFolder

    @property
    def folder(self) -> Path:
        """Where the model is."""
        return self.parts.folder

    @property
    def tokenizer(self) -> Tokenizer:
        """Text to ids and back."""
        return self.parts.tokenizer

    @property
    def task(self) -> Task:
        """Languages and decoding."""
        return self.parts.task

    @property
    def max_positions(self) -> int | None:
        """All that were learned (table 3, row E); sinusoids have no end."""
        config = self.parts.model.config
        return config.max_length if config.positions == "learned" else None

    def search(
        self,
        sources: Sequence[Sequence[int]],
        *,
        beam_size: int,
        alpha: float,
        n_best: int,
        max_lengths: Sequence[int],
        no_repeat: int,
    ) -> list[list[Hypothesis]]:
        """The n_best hypotheses of each source, best first."""
        from transformer.decoding import translate_ids

        return translate_ids(
            self.parts.model,
            sources,
            beam_size=beam_size,
            alpha=alpha,
            n_best=n_best,
            max_lengths=max_lengths,
            no_repeat=no_repeat,
        )
