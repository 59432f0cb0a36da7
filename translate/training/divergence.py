"""Detection of diverging training: a warning at the first sign, and an end before good checkpoints are lost."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from translate.training.step import StepStats

MAX_SKIPPED = 20  # updates in a row without a finite loss, after which a run does not recover

ADVICE = "lower training.lr, lengthen training.warmup_steps, or set training.clip_norm"


@dataclass
class Divergence:
    """A watch over the updates and validations of one run; each warning is given once.

    Attributes:
        say: receives each warning.
        vocab_size: its logarithm is the loss of random guessing.
        skipped: updates in a row that were left out because loss or gradient was not finite.
    """

    say: Callable[[str], None]
    vocab_size: int
    skipped: int = 0
    _warned_of_skip: bool = False
    _warned_of_loss: bool = False

    @property
    def failure(self) -> str | None:
        """A message if the run will not recover, or None."""
        if self.skipped < MAX_SKIPPED:
            return None
        return f"loss or gradient was not finite in {self.skipped} updates in a row; state is saved; {ADVICE}"

    def see_update(self, step: int, stats: StepStats) -> None:
        """Count the update if it was left out, and warn of the first one."""
        self.skipped = 0 if stats.finite else self.skipped + 1
        if self.skipped and not self._warned_of_skip:
            self._warned_of_skip = True
            self.say(
                f"warning: loss or gradient was not finite at step {step:,}, so its update is left out; 'skipped' in "
                f"metrics.jsonl counts such steps, and {MAX_SKIPPED} in a row end the run"
            )

    def see_validation(self, step: int, nll: float) -> None:
        """Warn if the loss, in nats a token, is no better than random guessing."""
        guessing = math.log(self.vocab_size)
        if not nll < guessing and not self._warned_of_loss:
            self._warned_of_loss = True
            self.say(
                f"warning: at step {step:,} the validation loss of {nll:.4g} is no better than random guessing "
                f"({guessing:.3g}), so training diverges; {ADVICE}"
            )


def has_finite_parameters(model: torch.nn.Module) -> bool:
    """Return whether all parameters are finite; otherwise every later loss is NaN."""
    return all(bool(parameter.detach().isfinite().all()) for parameter in model.parameters())
