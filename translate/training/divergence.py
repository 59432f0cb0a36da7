"""Training that diverges: told at its first sign, counted, and ended before it costs a good checkpoint."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from translate.training.step import StepStats

MAX_SKIPPED = 20  # updates in a row without a finite loss; after so many the run will not recover by itself

ADVICE = "lower training.lr, lengthen training.warmup_steps, or set training.clip_norm"


@dataclass
class Divergence:
    """Watches the updates and validations of one run; each warning comes once.

    Attributes:
        say: takes each warning.
        vocab_size: a model that guesses blindly among so many tokens has a loss of its logarithm.
        skipped: updates in a row that were left out because loss or gradient was not finite.
    """

    say: Callable[[str], None]
    vocab_size: int
    skipped: int = 0
    _told_skip: bool = False
    _told_blind: bool = False

    @property
    def is_hopeless(self) -> bool:
        """Whether the run will not recover by itself."""
        return self.skipped >= MAX_SKIPPED

    def see_update(self, step: int, stats: StepStats) -> None:
        """Count the update of this step if it was left out, and tell the first."""
        self.skipped = 0 if stats.finite else self.skipped + 1
        if self.skipped and not self._told_skip:
            self._told_skip = True
            self.say(
                f"warning: loss or gradient was not finite at step {step:,}, so its update is left out; 'skipped' in "
                f"metrics.jsonl counts such steps, and {MAX_SKIPPED} in a row end the run"
            )

    def see_validation(self, step: int, nll: float) -> None:
        """Warn of a loss, in nats a token, that explodes but stays finite."""
        blind = math.log(self.vocab_size)
        if not nll < blind and not self._told_blind:
            self._told_blind = True
            self.say(
                f"warning: at step {step:,} the validation loss of {nll:.4g} is no better than blind guessing "
                f"({blind:.3g}), so training diverges; {ADVICE}"
            )


def has_finite_parameters(model: torch.nn.Module) -> bool:
    """Whether no parameter has overflowed, which would make every later loss NaN."""
    return all(bool(parameter.detach().isfinite().all()) for parameter in model.parameters())
