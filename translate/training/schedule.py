"""The schedule of a run: the steps at which it validates, saves and ends, and the learning rate of each step."""

import math
from collections.abc import Callable

from transformer.schedule import cooldown, inverse_sqrt_lr, noam_lr
from translate.config.schema import TrainingConfig
from translate.errors import UserError
from translate.training.checkpoint import TrainState


class Schedule:
    """The steps of one run; `resume_from` adapts them to the updates before a resume.

    Args:
        config: the section [training].
        d_model: width of the model, for the paper's learning rate (5.3).
        n_batches: returns the number of micro-batches in the first epochs of a run, as many as its argument says.
        batches_per_update: micro-batches in an update, over all ranks.

    Attributes:
        last_step: the step at which the run ends at the latest.
        valid_every: steps between validations.
        save_every: steps between scheduled checkpoints.

    Raises UserError if the section names no end.
    """

    def __init__(
        self, config: TrainingConfig, *, d_model: int, n_batches: Callable[[int], int], batches_per_update: int
    ) -> None:
        self._config, self._d_model = config, d_model
        self._n_batches = n_batches(config.max_epochs) if config.max_epochs else 0
        self._batches_per_update = batches_per_update
        if not (config.max_steps or config.max_epochs):
            raise UserError("training has no end: set training.max_steps or training.max_epochs")
        self.resume_from(TrainState())
        self.valid_every = config.valid_every or max(1, n_batches(1) // batches_per_update)
        self.save_every = config.save_every or self.valid_every

    def resume_from(self, state: TrainState) -> None:
        """Set `last_step` for the updates after `state`; those before may have had other numbers of batches."""
        config, ends = self._config, []
        if config.max_steps:
            ends.append(config.max_steps)
        if config.max_epochs:
            # Updates cross the ends of epochs, so only the total is rounded.
            n_left = self._n_batches - state.n_batches
            ends.append(state.step + math.ceil(n_left / self._batches_per_update))
        self.last_step = min(ends)

    def lr(self, step: int) -> float:
        """Return the learning rate of 5.3, with the peak and the cooldown of the configuration if it sets them."""
        warmup_steps = self._config.warmup_steps
        factor = cooldown(step, last_step=self.last_step, share=self._config.cooldown)
        if self._config.lr is None:
            return factor * noam_lr(step, d_model=self._d_model, warmup_steps=warmup_steps)
        return factor * inverse_sqrt_lr(step, peak=self._config.lr, warmup_steps=warmup_steps)

    def has_ended(self, state: TrainState) -> bool:
        """Return whether the last step is reached, or patience is exhausted."""
        patience = self._config.patience
        return state.step >= self.last_step or (patience is not None and state.stale_validations >= patience)

    def validates(self, step: int) -> bool:
        """Return whether the run validates after this step."""
        return step % self.valid_every == 0

    def saves(self, state: TrainState) -> bool:
        """Return whether a scheduled checkpoint is due."""
        return state.step % self.save_every == 0 or self.has_ended(state)
