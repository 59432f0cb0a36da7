"""The training loop: updates, validations and checkpoints, and the final model.

`Trainer` runs the loop. `Schedule` has the steps at which it validates, saves and ends, and `BatchFeed` its batches.
"""

import math
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn, TypeVar, cast

import numpy as np
import torch

from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.schedule import cooldown, inverse_sqrt_lr, noam_lr
from translate.config.load import require_end
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, Index, Position, Sampler, collate, largest, width
from translate.corpus.prepare import EncodedPairs, Mixture, Prepared
from translate.corpus.tokenizer import SubwordDropout
from translate.errors import Say, Terminated, UserError
from translate.machine import leave_lost_terminal, relieve_memory
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec, write_model
from translate.training.checkpoints import CheckpointManager, TrainState, name_of
from translate.training.distributed import SINGLE_PROCESS, Ranks, replica_of
from translate.training.optimizer import Ema, new_optimizer
from translate.training.parent import Parent
from translate.training.reporting import (
    ADVICE,
    COOLDOWN_MOVED,
    MAX_SKIPPED,
    Interval,
    Reporter,
    guessing_warning,
    length_warning,
    rate_warning,
    skip_warning,
    source_warning,
    unknown_warning,
    warmup_warning,
)
from translate.training.run import Run
from translate.training.update import (
    UNDIVIDED,
    OomSplitter,
    ScoreBleu,
    Scores,
    StepStats,
    Update,
    Updater,
    Validator,
    read,
    update_flops,
)

Handler = Callable[[int, FrameType | None], None]
T = TypeVar("T")

_TERMINATING = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))  # Windows has no SIGHUP
AHEAD = 2  # updates whose batches are made while one is computed
MAX_UNREAD = 100  # updates after which their statistics are read without a report, so that divergence is noticed


@dataclass
class Trainer:
    """The training of one run; all ranks call its methods together.

    Attributes:
        dtype: type of matrix products.
        spec: languages and decoding, for the model folders that are written.
        score_bleu: BLEU of the model's translations of some pairs, or None to validate by loss alone.
        peak: measured FLOP/s of this process's device.
    """

    run: Run
    config: TrainingConfig
    prepared: Prepared
    model: Transformer
    dtype: torch.dtype
    spec: TranslationSpec
    score_bleu: ScoreBleu | None
    say: Say
    peak: float
    ranks: Ranks = SINGLE_PROCESS
    mixture: Mixture = Mixture()
    parent: Parent | None = None

    def __post_init__(self) -> None:
        config, model = self.config, self.model
        self.state = TrainState()
        model.keeps_activations = not config.checkpoint_activations
        self.optimizer = new_optimizer(model, config, self.dtype)
        self.replica = replica_of(model, self.optimizer, config, self.ranks)
        # Sharded ranks exchange parameters in every layer of every batch, so no rank can split a batch on its own.
        self.splitter = UNDIVIDED if self.replica.is_sharded else OomSplitter(self.say)
        self.updater = Updater(
            self.replica.model,
            self.replica.optimizer,
            config.label_smoothing,
            self.dtype,
            config.clip_norm,
            self.splitter,
            self.ranks,
            config.r_drop,
        )
        self.ema = None if config.ema is None else Ema(model, config.ema)
        self.feed = BatchFeed(self.prepared, config, model.config, self.replica.device, self.ranks, self.mixture)
        self.schedule = Schedule(
            config,
            d_model=model.config.d_model,
            n_batches=self.feed.sampler.n_batches,
            batches_per_update=self.feed.batches_per_update,
        )
        score_bleu = None if self.replica.is_sharded else self.score_bleu
        self.validator = Validator(
            self.prepared, config, self.feed.collate, self.dtype, score_bleu, self.ranks, self.splitter
        )
        self.checkpoints = CheckpointManager(self.run, config, self.ranks, self.say)
        self.reporter = Reporter(self.run, self.say, is_first=self.ranks.is_first)
        self._clock = 0.0  # seconds; set when training begins
        self._n_skipped = 0  # updates in a row
        self._unread: list[Update] = []
        self._interval = Interval()
        self._new_flops = 0  # of this rank since the last save
        check_positions(model.config, width(config.max_tokens))

    def resume(self) -> None:
        """Continue from the newest undamaged checkpoint, if there is one."""
        folder, self.state = self.checkpoints.restore(self.model, self.optimizer)
        self.schedule.resume_from(self.state)
        has_ended = self.schedule.has_ended(self.state)
        state = self.state
        self.ranks.on_rank_0(lambda: self.run.forget_after(state.step, warned=state.warned, end=has_ended))
        if folder is None:
            return
        if self.ema:
            self.ema.load(folder / "ema.safetensors")
        if self.ranks.is_first and not has_ended and (message := rate_warning(self.run.records(), self.schedule.lr)):
            self.say(f"warning: {message}")
            self.reporter.log(self.state, "warning", {"about": COOLDOWN_MOVED, "message": message})

    def train(self) -> None:
        """Update until the schedule ends, then make the final model."""
        self._begin()
        updates = self.feed.updates(self.state.position)
        stopping = stop_signals(self.say, self.ranks.size == 1)
        progress = self.reporter.progress(self.state, self.schedule.last_step)
        with closing(updates), stopping as signals, progress as bar:
            while not self.schedule.has_ended(self.state):
                micro_batches, self.state.position = next(updates)
                self._update(micro_batches)
                self._tick()
                bar.update()
                if self.state.step % self.config.log_every == 0 or self.state.step == self.schedule.last_step:
                    self._report()
                elif len(self._unread) >= MAX_UNREAD:
                    self._read()
                self._validate_and_save()
                self._tick()
                if self._n_skipped >= MAX_SKIPPED:
                    self._fail(self._n_skipped)
                # Clocks and signals differ between ranks, but all ranks must decide the same.
                stop, save = self.ranks.any(bool(signals), self._save_is_due())
                if stop or save:
                    self._save_once()
                if stop:
                    raise interruption(signals)
        self._finish()

    def _begin(self) -> None:
        self.ranks.copy_from_first(self.model.parameters())
        self.replica.scatter()
        if self.config.tensorboard:
            self.reporter.open_tensorboard()
        self._warn_at_start()
        self._clock = time.monotonic()

    def _warn_at_start(self) -> None:
        """Warn of settings and data that make training less useful."""
        config, train, say = self.config, self.prepared.train, partial(self.reporter.warn, self.state)
        say("warm-up", warmup_warning(self.schedule.last_step, config.warmup_steps))
        say("too long", length_warning(self.feed.sampler.n_too_long, train.n_pairs, config.max_tokens))
        n_too_long, pairs = self.validator.n_too_long, self.validator.pairs
        say("validation too long", length_warning(n_too_long, pairs.n_pairs, config.max_tokens, "validation "))
        say("unknown validation", unknown_warning("validation", pairs, self.prepared.tokenizer.unk))
        if "unknown training" not in self.state.warned:  # counting takes time
            say("unknown training", unknown_warning("training", train, self.prepared.tokenizer.unk))
        if self.score_bleu and self.replica.is_sharded:
            message = 'BLEU is not measured in training with training.parallel = "fsdp"; use translate evaluate'
            say("no BLEU", message)

    def _tick(self) -> None:
        """Add the time since the last tick to the state."""
        now = time.monotonic()
        self.state.seconds, self._clock = self.state.seconds + now - self._clock, now

    def _update(self, micro_batches: list[Batch]) -> None:
        self.replica.model.train()
        start = time.monotonic()
        update = self.updater.step(micro_batches, self.schedule.lr(self.state.step + 1))
        self._interval.seconds += time.monotonic() - start
        self._interval.tokens += update.n_tokens
        flops = update_flops(self.model.config, micro_batches) * (2 if self.config.r_drop else 1)
        self._interval.flops += flops
        self._new_flops += flops
        self._unread.append(update)
        self.state.step += 1
        self.state.n_batches += self.feed.batches_per_update
        self.state.n_tokens += update.n_tokens
        if self.ema:
            self.ema.update(self.model, self.state.step, update.finite)

    def _report(self) -> None:
        """Log the last update, with the speed since the line before."""
        *_, stats = self._read()
        self.reporter.update(self.state, stats, self.schedule.lr(self.state.step), self._interval.speed(self.peak))
        self._interval = Interval()

    def _read(self) -> list[StepStats]:
        """Count the skipped ones among the updates since the last call; return the statistics of all.

        The device computes without pause from one call to the next.
        """
        start = time.monotonic()
        updates = read(self._unread)
        self._interval.seconds += time.monotonic() - start
        self._unread.clear()
        for step, stats in enumerate(updates, self.state.step - len(updates) + 1):
            self.state.n_skipped += not stats.finite
            if self._n_skipped < MAX_SKIPPED:  # once reached, the run ends, also if a finite update followed
                self._n_skipped = 0 if stats.finite else self._n_skipped + 1
            if not stats.finite:
                self.reporter.warn(self.state, "update skipped", skip_warning(step))
        return updates

    def _validate_and_save(self) -> None:
        """Validate and save if the schedule says so, or if the model is the best so far."""
        if self.schedule.validates(self.state.step):
            self._validate()
            relieve_memory()
            self._tick()
        scheduled = self.schedule.saves(self.state)
        if scheduled or self.state.best_step == self.state.step:
            self._save(scheduled=scheduled)

    def _save_is_due(self) -> bool:
        """Return whether the last save is older than `save_minutes`."""
        minutes = self.config.save_minutes
        return minutes > 0 and self.state.seconds - self.checkpoints.saved_seconds > 60 * minutes

    def _validate(self) -> None:
        scores, state = self._scores(), self.state
        state.see_validation(scores.bleu if self.config.best_by == "bleu" else -scores.nll)
        self.reporter.scores(state, "valid", scores, {"source_gain": scores.source_gain})
        warning = source_warning(scores.source_gain, state.step, self.config.warmup_steps, self.schedule.last_step)
        self.reporter.warn(state, "source ignored", warning)
        if state.step >= self.config.warmup_steps:
            warning = guessing_warning(state.step, scores.nll, self.model.config.vocab_size)
            self.reporter.warn(state, "divergence", warning)

    def _scores(self, *, averaged: bool = True) -> Scores:
        """Score the model on the validation set; with `averaged`, its moving average if there is one."""
        average_applied = self.ema.applied(self.model) if self.ema and averaged else nullcontext()
        with average_applied, self.replica.evaluating() as model:
            return self.validator.scores(model)

    def _save(self, *, scheduled: bool) -> None:
        self.replica.gather()
        (broken,) = self.ranks.any(not has_finite_parameters(self.model))
        if broken:
            raise UserError(
                f"{self.run.folder}: parameters are no longer finite at step {self.state.step:,}, so nothing is saved "
                f"beyond step {self.checkpoints.saved_step:,}; {ADVICE}"
            )
        self._read()
        (flops,), self._new_flops = self.ranks.sum(self._new_flops), 0
        self.state.n_flops += int(flops)
        # Logged first, so that after a kill every checkpoint has its line.
        line = {"folder": name_of(self.state.step), **self.state.totals}
        self.reporter.log(self.state, "checkpoint", line, durable=True)
        at_end = scheduled and self.state.step % self.schedule.save_every != 0
        self.checkpoints.save(self.state, self._write_weights, self.optimizer, scheduled=scheduled, at_end=at_end)

    def _save_once(self) -> None:
        """Save outside the schedule, unless this step is saved."""
        if self.checkpoints.saved_step < self.state.step:
            self._save(scheduled=False)

    def _write_weights(self, folder: Path) -> None:
        """Write a model folder, and the moving average if there is one."""
        write_model(self.model, self.prepared.tokenizer, self.spec, folder)
        if self.ema:
            self.ema.save(folder / "ema.safetensors")

    def _finish(self) -> None:
        """Average the last scheduled checkpoints (6.1), or what the configuration asks for, and score the result."""
        steps = self.ranks.on_rank_0(self._load_final)
        self.ranks.copy_from_first(self.model.parameters())
        self.replica.scatter(moments=False)
        scores = self._scores(averaged=False)
        self.ranks.on_rank_0(self._write_final)
        is_early = self.state.step < self.schedule.last_step  # nothing but patience ends a run before
        values = {"averaged": steps, "ended_by": "patience" if is_early else "schedule", **self.state.totals}
        self.reporter.scores(self.state, "final", scores, values)
        if is_early:
            self.say(
                f"ended at step {self.state.step:,} of {self.schedule.last_step:,} by training.patience: "
                f"{self.state.stale_validations} validations without a better score since step {self.state.best_step:,}"
            )
        self.say(f"final model: {self.run.model}, made of {_parts(steps, self.config)}")
        (n_splits,) = map(int, self.ranks.sum(self.splitter.n_splits))
        if n_splits:
            self.reporter.log(self.state, "memory", {"halved": n_splits})
            self.say(f"{n_splits:,} times a batch did not fit into memory and was halved")

    def _write_final(self) -> None:
        """Write the folder of the final model."""
        spec = self.spec.with_alignment_layer(self.model.eval())
        model_folder.save(self.model, self.prepared.tokenizer, spec, self.run.model, replace=True)

    def _load_final(self) -> list[int]:
        """Load the weights of the final model; return the steps of its checkpoints."""
        steps = self.checkpoints.load_final(self.model, self.state)
        if self.config.parent_share:
            assert self.parent is not None  # `train_experiment` refuses such a run
            self.parent.mix_into(self.model, self.config.parent_share)
        return steps

    def _fail(self, n_skipped: int) -> NoReturn:
        """Save the state, and raise UserError as the last `n_skipped` updates were skipped."""
        self._save_once()
        raise UserError(
            f"{self.run.folder}: loss or gradient was not finite in {n_skipped} updates in a row; state is saved; "
            f"{ADVICE}"
        )


def check_positions(config: ModelConfig, longest: int) -> None:
    """Raise UserError if the model has fewer learned positions than the longest sentence may need."""
    if config.max_positions is not None and config.max_positions < longest:
        raise UserError(
            f"model.max_length = {config.max_length} is too small for sentences of up to {longest} tokens, which "
            "training.max_tokens allows; raise it, or lower training.max_tokens"
        )


def has_finite_parameters(model: torch.nn.Module) -> bool:
    """Return whether all parameters are finite; otherwise every later loss is NaN."""
    return bool(torch.stack([parameter.detach().isfinite().all() for parameter in model.parameters()]).all())


def _parts(steps: list[int], config: TrainingConfig) -> str:
    """Return what the final model is made of."""
    parent = f" and the parent, with interpolation weight {config.parent_share}" if config.parent_share else ""
    kind = "the moving average at step" if config.ema else "the checkpoints of steps"
    return f"{kind} {', '.join(f'{step:,}' for step in steps)}{parent}"


class Schedule:
    """The steps of one run; `resume_from` adapts them to the updates before a resume.

    Args:
        d_model: width of the model, for the paper's learning rate (5.3).
        n_batches: returns the number of micro-batches in the first epochs of a run, as many as its argument says.
        batches_per_update: micro-batches in an update, over all ranks.

    Attributes:
        last_step: the step at which the run ends at the latest.

    Raises UserError if the section names no end.
    """

    def __init__(
        self, config: TrainingConfig, *, d_model: int, n_batches: Callable[[int], int], batches_per_update: int
    ) -> None:
        self._config, self._d_model = config, d_model
        self._n_batches = n_batches(config.max_epochs) if config.max_epochs else 0
        self._batches_per_update = batches_per_update
        require_end(config, "[training]")
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


class BatchFeed:
    """The micro-batches of this rank's updates, on its device.

    Args:
        model: gives the special tokens and the size of the vocabulary.

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
        self._prepared, self._model, self._ranks = prepared, model, ranks
        # With its number: in the thread that makes batches, "cuda" is the first GPU, even if this process uses another.
        self._device = torch.empty(0, device=device).device
        self.batches_per_update = config.accumulate * ranks.size
        self.sampler = Sampler(prepared.train, config.batch_tokens, config.max_tokens, config.seed, mixture)
        rate = config.subword_dropout
        self._dropout = SubwordDropout(prepared.tokenizer, rate, config.max_tokens) if rate else None

    def updates(self, position: Position) -> Generator[tuple[list[Batch], Position]]:
        """Yield this rank's micro-batches of each update, and the position after it; batches go to ranks in turn.

        A thread makes the next ones in the meantime.
        """
        return prefetched(self._updates(position), AHEAD)

    def _updates(self, position: Position) -> Iterator[tuple[list[Batch], Position]]:
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


def prefetched(items: Iterator[T], n: int) -> Generator[T]:
    """Yield the items in their order, while a thread makes up to `n` of them ahead.

    What `items` raises is raised at its place. Closing the generator ends the thread.
    """
    pool, end = ThreadPoolExecutor(1, thread_name_prefix="batches"), object()
    ahead = deque(pool.submit(next, items, end) for _ in range(n))
    try:
        while True:
            ahead.append(pool.submit(next, items, end))
            item = ahead.popleft().result()
            if item is end:
                return
            yield cast(T, item)
    finally:
        pool.shutdown(cancel_futures=True)


def terminable() -> AbstractContextManager[None]:
    """Return a context in which SIGTERM and SIGHUP raise Terminated: cleanup and messages work as with Ctrl-C."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise Terminated

    return _handled_by(handle, *_TERMINATING)


@contextmanager
def stop_signals(say: Say, single: bool) -> Iterator[list[int]]:
    """Yield a list that collects Ctrl-C, SIGTERM and SIGHUP, so that the current step can be finished and saved.

    Args:
        say: receives a message at the first signal.
        single: whether a second signal ends the process at once. Under torchrun it must not, as torchrun sends signals
            to ranks that have received them already.
    """
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if received and single:
            raise interruption([number])
        if not received:
            say("finishing this step, then saving" + ("; Ctrl-C again stops at once" if single else ""))
        received.append(number)

    with _handled_by(handle, signal.SIGINT, *_TERMINATING):
        yield received


def interruption(received: list[int]) -> KeyboardInterrupt:
    """Return the exception for these signals, or for a signal to another process of the run if there are none."""
    return Terminated() if {*_TERMINATING} & {*received} else KeyboardInterrupt()


@contextmanager
def _handled_by(handle: Handler, *numbers: signal.Signals) -> Iterator[None]:
    def heard(number: int, frame: FrameType | None) -> None:
        leave_lost_terminal()
        handle(number, frame)

    try:
        before = {
            number: signal.signal(number, heard)
            for number in numbers
            if number in (signal.SIGINT, signal.SIGTERM) or signal.getsignal(number) != signal.SIG_IGN  # by nohup
        }
    except ValueError:  # not in the main thread, which alone can set handlers
        yield
        return
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
