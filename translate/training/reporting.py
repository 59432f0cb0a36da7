"""Reports of a run: metrics.jsonl, TensorBoard, the progress bar, and warnings."""

import math
import sys

from tqdm import tqdm

from translate.errors import Say
from translate.training.checkpoint import TrainState
from translate.training.run import Run
from translate.training.schedule import Schedule
from translate.training.speed import Speed
from translate.training.step import StepStats
from translate.training.tensorboard import TensorBoard
from translate.training.validation import Scores


class Reporter:
    """Reports of one run, by rank 0; on other ranks nothing is written or shown.

    Args:
        run: the run directory.
        say: receives each message to the user.
        log_every: steps between lines of the metrics on updates.
        is_first: whether this is rank 0.
    """

    def __init__(self, run: Run, say: Say, log_every: int, *, is_first: bool) -> None:
        self._run, self._say, self._log_every, self._is_first = run, say, log_every, is_first
        self._board: TensorBoard | None = None
        self._bar: tqdm[None]

    def open_tensorboard(self) -> None:
        """Also write everything that follows for TensorBoard; the metrics so far are copied."""
        if self._is_first:
            self._board = TensorBoard(self._run)

    def log(self, state: TrainState, kind: str, values: dict[str, object], *, durable: bool = False) -> None:
        """Add a line to the metrics.

        Args:
            state: gives step, epoch and seconds.
            kind: of the line, such as "train" or "checkpoint".
            values: the other keys.
            durable: return only when the line is on the disk.
        """
        if not self._is_first:
            return
        place = {"kind": kind, "step": state.step, "epoch": state.position.epoch, "seconds": round(state.seconds, 2)}
        self._run.log({**place, **values}, durable=durable)
        if self._board:
            self._board.add({**place, **values})

    def scores(self, state: TrainState, kind: str, scores: Scores, values: dict[str, object]) -> None:
        """Log the scores of a model and show them to the user.

        Args:
            state: when they were measured.
            kind: kind of the line in the metrics, "valid" or "final".
            scores: the scores.
            values: more values for the metrics.
        """
        # Bounded, so that a diverged model still gives a number.
        perplexity = math.exp(min(scores.nll, 700.0))
        values = {"nll": scores.nll, "perplexity": perplexity, "bleu": scores.bleu, **values}
        self.log(state, kind, values)
        keys = ("nll", "perplexity", "bleu", "source_gain")
        shown = ", ".join(f"{key} {value:.4g}" for key in keys if isinstance(value := values.get(key), float))
        self._say(f"{kind}: epoch {state.position.epoch}, step {state.step:,}: {shown}")

    def warn(self, state: TrainState, key: str, message: str | None) -> None:
        """Show a warning to the user and log it, at most once per key in a run.

        Args:
            state: remembers the keys of earlier warnings.
            key: the subject of the warning.
            message: the warning; None does nothing.
        """
        if message is not None and key not in state.warned:
            state.warned.append(key)
            self._say(f"warning: {message}")
            self.log(state, "warning", {"about": key, "message": message})

    def update(self, state: TrainState, stats: StepStats, speed: Speed, schedule: Schedule) -> None:
        """Show an update on the progress bar, and log it every `log_every` steps.

        Args:
            state: after the update.
            stats: of the update.
            speed: of the updates so far.
            schedule: gives the learning rate and the last step, which is always logged.
        """
        self._bar.set_postfix(loss=f"{stats.loss:.3f}", tokens_per_s=f"{speed.recent:,.0f}", refresh=False)
        self._bar.update()
        if state.step % self._log_every == 0 or state.step == schedule.last_step:
            lr = schedule.lr(state.step)
            values = {"loss": stats.loss, "nll": stats.nll, "grad_norm": stats.grad_norm, "lr": lr}
            counts = {"tokens": state.n_tokens, "skipped": state.n_skipped}
            self.log(state, "train", {**values, **counts, **speed.record()})

    def progress(self, state: TrainState, last_step: int) -> "tqdm[None]":
        """Return a new progress bar up to `last_step`; `update` moves it."""
        # A log file gets a line every half minute, a terminal a moving bar.
        interval = 0.5 if sys.stderr.isatty() else 30.0
        self._bar = tqdm(
            desc="training",
            total=last_step,
            initial=state.step,
            unit="step",
            dynamic_ncols=True,
            mininterval=interval,
            maxinterval=2 * interval,
            disable=not self._is_first,
        )
        return self._bar
