"""Reports of a run: metrics.jsonl, TensorBoard, the progress bar, and warnings.

The warnings are of settings and data that do not fit, of diverging training, and of problems that a falling loss hides:
an ignored source, and `<unk>`.
"""

import importlib.util
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from tqdm import tqdm

from translate.corpus.prepare import EncodedPairs
from translate.errors import Say, UserError
from translate.training.checkpoints import TrainState
from translate.training.run import Record, Run
from translate.training.update import MAX_SKIPPED, StepStats
from translate.training.validation import ValidationScores, perplexity

# Keys of metrics.jsonl that differ between any two runs.
TIMED = {"seconds", "tokens_per_s", "flops_per_s", "mfu"}

COOLDOWN_MOVED = "cooldown moved"  # the subject of `rate_warning` in the metrics
LEAST_GAIN = 0.05  # nats a token; a model that translates gains one or more, a model that ignores its source nothing
LOOKED_AT = 100_000  # training pairs that are searched for `<unk>`; all of them would have to be read from the disk

ADVICE = "lower training.lr, lengthen training.warmup_steps, or set training.clip_norm"

_AXES = {"step", "epoch", "seconds"}  # axes of the curves


class Reporter:
    """Reports of one run, by rank 0; on other ranks nothing is written or shown."""

    def __init__(self, run: Run, say: Say, *, is_first: bool) -> None:
        self._run, self._say, self._is_first = run, say, is_first
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
            durable: return only when the line is on the disk.
        """
        if not self._is_first:
            return
        place = {"kind": kind, "step": state.step, "epoch": state.position.epoch, "seconds": round(state.seconds, 2)}
        self._run.log({**place, **values}, durable=durable)
        if self._board:
            self._board.add({**place, **values})

    def scores(self, state: TrainState, kind: str, scores: ValidationScores, values: dict[str, object]) -> None:
        """Log the scores of a model and show them to the user.

        Args:
            kind: kind of the line in the metrics, "valid" or "final".
        """
        values = {"nll": scores.nll, "perplexity": perplexity(scores.nll), "bleu": scores.bleu, **values}
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

    def update(self, state: TrainState, stats: StepStats, lr: float, speed: dict[str, object]) -> None:
        """Log an update and show it on the progress bar.

        Args:
            state: after the update.
            speed: of the updates since the last line, see `Meter.speed`.
        """
        self._bar.set_postfix(loss=f"{stats.loss:.3f}", tokens_per_s=f"{speed['tokens_per_s']:,}", refresh=False)
        values = {"loss": stats.loss, "nll": stats.nll, "grad_norm": stats.grad_norm, "lr": lr}
        counts = {"tokens": state.n_tokens, "skipped": state.n_skipped}
        self.log(state, "train", {**values, **counts, **speed})

    def progress(self, state: TrainState, last_step: int) -> "tqdm[None]":
        """Return a new progress bar up to `last_step`."""
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


def require_tensorboard() -> None:
    """Raise UserError if the package is missing."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UserError(
            "training.tensorboard = true needs the package tensorboard; install it with "
            "`pip install '.[tensorboard]'` in a clone of this project, or set it to false"
        )


class TensorBoard:
    """An event file in RUN/tensorboard with the metrics of the run.

    Every start of the run writes the event file anew from the metrics, so the curves of a resumed run hold no points
    that were taken back.

    A curve has the name of the kind of line and of the key, such as valid/nll, and is drawn over updates. Raises the
    UserError of `require_tensorboard`.
    """

    def __init__(self, run: Run) -> None:
        require_tensorboard()
        from torch.utils.tensorboard.writer import SummaryWriter

        records = run.records()
        # The start time of a run without pauses, so that curves over time show time of training.
        self._began = time.time() - max((record.get("seconds", 0.0) for record in records), default=0.0)
        for old in run.tensorboard.glob("events.out.tfevents.*"):
            old.unlink()
        # An open TensorBoard removes the points of the old file when a new one begins with step 0.
        self._writer = SummaryWriter(str(run.tensorboard), purge_step=0)
        for record in records:
            self._draw(record)
        self._writer.flush()

    def add(self, record: Mapping[str, object]) -> None:
        """Add a point for each finite number of a line of the metrics, and flush the file."""
        self._draw(record)
        self._writer.flush()

    def _draw(self, record: Mapping[str, object]) -> None:
        numbers = {key: value for key, value in record.items() if isinstance(value, int | float)}
        step, seconds = numbers["step"], numbers.get("seconds", 0.0)
        for key in numbers.keys() - _AXES:
            if math.isfinite(numbers[key]):
                self._writer.add_scalar(f"{record['kind']}/{key}", numbers[key], step, self._began + seconds)


def warmup_warning(last_step: int, warmup_steps: int) -> str | None:
    """Return a message if training ends before the warm-up does, or None."""
    if last_step >= warmup_steps:
        return None
    return (
        f"training ends at step {last_step:,}, before the learning rate has risen to its peak at "
        f"training.warmup_steps = {warmup_steps:,}; lower it, or train longer or with smaller batches"
    )


def rate_warning(records: Sequence[Record], lr: Callable[[int], float]) -> str | None:
    """Return a message if the learning rate of the last update in the metrics is another one now, or None.

    Args:
        lr: the learning rate of a step.
    """
    update = next((record for record in reversed(records) if record.get("kind") == "train"), {})
    before, step = update.get("lr"), update.get("step", 0)
    if before is None or math.isclose(before, lr(step), rel_tol=1e-6):
        return None
    return (
        f"the last step is another one than before, and training.cooldown counts from it: the learning rate was "
        f"{before:.3g} at step {step:,}, and is {lr(step + 1):.3g} at the next"
    )


def length_warning(n_too_long: int, n_pairs: int, max_tokens: int, kind: str = "") -> str | None:
    """Return a message if long pairs are skipped, or None.

    Args:
        kind: of the pairs, with a space after it, such as "validation "; "" for training.
    """
    if not n_too_long:
        return None
    return (
        f"{n_too_long:,} of {n_pairs:,} {kind}pairs are longer than training.max_tokens = {max_tokens} tokens and are "
        "skipped"
    )


def source_warning(gain: float | None, step: int, warmup_steps: int, last_step: int) -> str | None:
    """Return a message if the model ignores its source, or None.

    Early in training there is no message, as every model learns the frequencies of words first: before step 500, and
    before twice the warm-up, unless the run ends.

    Args:
        gain: the gain from the sources in nats a token; None if it is not measured.
    """
    if gain is None or gain >= LEAST_GAIN or (step < max(2 * warmup_steps, 500) and step != last_step):
        return None
    return (
        f"the model ignores its source: at step {step:,} its loss with the sources of other sentences is only "
        f"{gain:+.3f} nats a token higher, instead of at least {LEAST_GAIN}; check that line n of the source "
        "translates line n of the target, lower training.lr, or lengthen training.warmup_steps"
    )


def unknown_warning(where: str, pairs: EncodedPairs, unk: int) -> str | None:
    """Return a message if references hold `<unk>`, or None.

    Args:
        where: name of the set, such as "validation".
        pairs: the set; the first LOOKED_AT pairs are searched.
    """
    n = min(pairs.n_pairs, LOOKED_AT)
    ids, offsets, _ = pairs.tgt_side
    places = np.flatnonzero(ids[: offsets[n]] == unk)
    if not len(places):
        return None
    found = np.unique(np.searchsorted(offsets, places, side="right"))  # numbers of pairs, from 1
    return (
        f"<unk> stands in {len(found):,} of {n:,} references of the {where} set, first in pair {found[0]:,}, and "
        "cannot be translated; set tokenizer.byte_fallback = true"
    )


def skip_warning(step: int) -> str:
    """Return a message about the first update that was skipped because loss or gradient was not finite."""
    return (
        f"loss or gradient was not finite at step {step:,}, so its update is skipped; 'skipped' in metrics.jsonl "
        f"counts such steps, and {MAX_SKIPPED} in a row end the run"
    )


def guessing_warning(step: int, nll: float, vocab_size: int) -> str | None:
    """Return a message if the validation loss is no better than random guessing, or None.

    Args:
        nll: the loss in nats a token; it may be NaN.
        vocab_size: its logarithm is the loss of random guessing.
    """
    guessing = math.log(vocab_size)
    if nll < guessing:
        return None
    return (
        f"at step {step:,} the validation loss of {nll:.4g} is no better than random guessing ({guessing:.3g}), so "
        f"training diverges; {ADVICE}"
    )
