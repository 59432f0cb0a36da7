"""Which checkpoints a run keeps, which one it is resumed from, and which ones make the final model."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from transformer.checkpoint_io import CheckpointError, average
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.errors import Say, UserError
from translate.training import checkpoint
from translate.training.checkpoint import TrainState, checkpoints, name_of, step_of
from translate.training.diagnosis import rate_warning
from translate.training.distributed import Ranks
from translate.training.run import Run
from translate.training.schedule import Schedule

T = TypeVar("T")


class CheckpointManager:
    """The checkpoints of one run; rank 0 writes them with the random generators of all ranks.

    Args:
        run: the run directory.
        config: the section [training].
        schedule: the steps of the run.
        ranks: the processes that train together.
        say: receives each message to the user.

    Attributes:
        saved_step: the step of the last checkpoint; 0 without one.
    """

    def __init__(self, run: Run, config: TrainingConfig, schedule: Schedule, ranks: Ranks, say: Say) -> None:
        self._run, self._config, self._schedule, self._ranks, self._say = run, config, schedule, ranks, say
        self._root = run.checkpoints
        self.saved_step = 0
        self._saved_seconds = 0.0

    def restore(self, model: Transformer, optimizer: torch.optim.Optimizer) -> tuple[Path | None, TrainState]:
        """Load the newest undamaged checkpoint; damaged ones are reported and kept under another name.

        Args:
            model, optimizer: receive the saved values.

        Returns the folder and the state; None and a new state if the run has no checkpoint yet. Raises UserError if
        all checkpoints are damaged.
        """
        ranks = self._ranks
        newest = ranks.first(lambda: self._restore_newest(model, optimizer))
        if newest is None:
            self._say(f"{self._run.folder}: no checkpoint yet, so the run begins")
            return None, TrainState()
        folder, state = newest
        if not ranks.is_first:
            state = self._load(folder, model, optimizer, ranks.rank)
        self.saved_step, self._saved_seconds = state.step, state.seconds
        self._say(f"resuming from {folder} (step {state.step:,})")
        goes_on = ranks.is_first and not self._schedule.has_ended(state)
        if goes_on and (message := rate_warning(self._run.records(), self._schedule.lr)):
            self._say(f"warning: {message}")
        if state.n_ranks != ranks.size:
            ranks.seed(self._config.seed, state.step)
            self._say(
                f"{state.n_ranks} processes wrote the checkpoint and {ranks.size} continue: batches keep their order, "
                "but updates and dropout differ from those of the run so far"
            )
        return folder, state

    def _restore_newest(self, model: Transformer, optimizer: torch.optim.Optimizer) -> tuple[Path, TrainState] | None:
        for folder in reversed(checkpoints(self._root)):
            state = self._unless_damaged(folder, lambda folder: self._load(folder, model, optimizer))
            if state is not None:
                self._run.forget_after(state.step, end=self._schedule.has_ended(state))
                return folder, state
        if any(self._root.glob("damaged-step-*")):  # see `checkpoint.set_aside`
            raise UserError(f"{self._root}: no checkpoint is usable; begin another run with --run")
        # A run that was killed during its first save has the line of that save, but none after it.
        if self._run.model.exists() or "checkpoint" in [record.get("kind") for record in self._run.records()[:-1]]:
            raise UserError(f"{self._root}: the checkpoints are gone; restore them, or begin another run with --run")
        self._run.forget_after(0)
        return None

    def _load(self, folder: Path, model: Transformer, optimizer: torch.optim.Optimizer, rank: int = 0) -> TrainState:
        """Load a checkpoint, and adapt the schedule to it."""
        state = checkpoint.load(folder, model, optimizer, rank)
        if not state.n_batches:  # not in checkpoints of earlier versions
            state.n_batches = state.step * self._config.accumulate * state.n_ranks
        self._schedule.resume_from(state)
        return state

    def _unless_damaged(self, folder: Path, read: Callable[[Path], T]) -> T | None:
        """Return `read(folder)`, or None if the checkpoint is damaged; it is then reported and renamed."""
        try:
            return read(folder)
        except CheckpointError as error:
            self._say(f"skipping a damaged checkpoint, now {checkpoint.set_aside(folder).name}: {error}")
            return None

    def is_due(self, state: TrainState, *, stopping: bool) -> bool:
        """Return whether to save outside the schedule: when stopping, or `save_minutes` after the last save."""
        minutes = self._config.save_minutes
        late = minutes > 0 and state.seconds - self._saved_seconds > 60 * minutes
        return self.saved_step != state.step and (stopping or late)

    def save(
        self,
        state: TrainState,
        write_model: Callable[[Path], None],
        optimizer: torch.optim.Optimizer,
        *,
        scheduled: bool,
    ) -> None:
        """Write a checkpoint and delete those no longer needed; all ranks call this.

        Args:
            state: the state besides tensors.
            write_model: writes the files of a model folder, and others, into a folder.
            optimizer: its state is saved.
            scheduled: whether averaging may use this checkpoint.

        Raises UserError if a file cannot be written.
        """
        generators = self._ranks.gather(checkpoint.random_generators())
        state.n_ranks = self._ranks.size
        at_end = scheduled and state.step % self._schedule.save_every != 0

        def write() -> None:
            checkpoint.save(
                *(self._root, write_model, optimizer, state),
                scheduled=scheduled,
                at_end=at_end,
                generators=generators,
            )
            self._prune(state)

        self._ranks.first(write)
        self.saved_step, self._saved_seconds = state.step, state.seconds

    def load_final(self, model: Transformer, state: TrainState) -> list[int]:
        """Load the mean of the checkpoints that make the final model (6.1); rank 0 alone calls this.

        Args:
            model: receives the parameters.
            state: at the end of the run.

        Returns the steps of the checkpoints.
        """
        self._prune(state)  # in case a kill came between the last save and its deletions
        folders = self._final(state)
        name = "ema.safetensors" if self._config.ema else "model.safetensors"
        model.load_state_dict(average([folder / name for folder in folders]))
        return [step_of(folder) for folder in folders]

    def _prune(self, state: TrainState) -> None:
        """Delete all checkpoints but the last scheduled ones, the best, and the newest."""
        n = max(self._config.keep_last, self._config.average_last)
        others = {self._root / name_of(step) for step in (state.step, state.best_step)}
        checkpoint.prune(self._root, {*self._scheduled(state)[-n:], *others})

    def _final(self, state: TrainState) -> list[Path]:
        if self._config.final == "best":
            best = self._root / name_of(state.best_step)
            if best.exists() and self._is_sound(best):
                return [best]
            self._say("warning: there is no usable best checkpoint, so the last ones make the final model")
        n = 1 if self._config.ema else self._config.average_last
        return [folder for folder in self._scheduled(state) if self._is_sound(folder)][-n:]

    def _is_sound(self, folder: Path) -> bool:
        return self._unless_damaged(folder, checkpoint.verify) is not None

    def _scheduled(self, state: TrainState) -> list[Path]:
        """Return the scheduled checkpoints, oldest first.

        The last checkpoint of a run that was later prolonged counts only if it was due in any case.
        """

        def counts(folder: Path) -> bool:
            step, meta = step_of(folder), self._unless_damaged(folder, checkpoint.metadata)
            if meta is None or not meta["scheduled"]:
                return False
            # Checkpoints of earlier versions lack the key; `save_every` may depend on the number of ranks.
            return step == state.step or not meta.get("at_end", step % self._schedule.save_every != 0)

        return [folder for folder in checkpoints(self._root) if counts(folder)]
