"""Training: from an experiment to a run directory that holds its final model.

`train_experiment` is `translate train` without its command line: rank 0 makes the plan, each rank sets up its parts,
and `train` updates, validates and saves by the schedule until the final model is made.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import FrameType

import torch

from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.schedule import cooldown, inverse_sqrt_lr, noam_lr
from translate.config.load import require_end
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, BatchFeed, Position, longest_source, prefetched, width
from translate.corpus.prepare import Prepared, mixture
from translate.corpus.sources import Pair
from translate.errors import Say, Terminated, UserError
from translate.evaluation.scores import greedy_bleu
from translate.machine import (
    choose_device,
    keep_kernels,
    leave_lost_terminal,
    out_of_memory,
    product_rate,
    relieve_memory,
    tune_malloc,
)
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec
from translate.training import card, reporting
from translate.training.checkpoints import Checkpoints, TrainState, folders, name_of, step_of
from translate.training.distributed import SINGLE_PROCESS, Ranks, Replica, joined, replica_of
from translate.training.optimizer import Ema, new_optimizer
from translate.training.plan import Plan, Start, make_plan
from translate.training.reporting import ADVICE, Reporter
from translate.training.update import MAX_SKIPPED, Meter, OomSplitter, StepStats, Updater, update_flops
from translate.training.validation import ValidationScores, Validator

ScoreBleu = Callable[[ModelFolder, Sequence[Pair]], float]
HANGUP = getattr(signal, "SIGHUP", None)  # of a closed terminal; Windows has none
TERMINATING = [signal.SIGTERM, *([HANGUP] if HANGUP else [])]

Handler = Callable[[int, FrameType | None], None]

MAX_UNREAD = 100  # updates after which their statistics are read without a report, so that divergence is noticed


def train_experiment(start: Start, say: Say) -> bool:
    """Prepare the corpus if needed, train, and write the run directory; every process of torchrun calls this.

    Synthetic text of the corpus that is not there yet is translated first.

    Returns whether the final model equals that of the original; True if there is no original.

    Ctrl-C, SIGTERM and SIGHUP save the state and raise KeyboardInterrupt or Terminated. Raises UserError for mistakes
    in the experiment, the data or the folders.
    """
    run, original = start.run, start.original
    with terminable(), joined() as ranks, ExitStack() as run_lock:
        say = say if ranks.is_first else lambda message: None
        tune_malloc()
        keep_kernels()
        try:
            with ExitStack() as corpus_lock:
                plan = ranks.on_rank_0(
                    lambda: make_plan(start, say, run_lock=run_lock, corpus_lock=corpus_lock, n_ranks=ranks.size)
                )
                prepared = Prepared.open(plan.corpus)
                ranks.wait()  # until all have opened the corpus
            with out_of_memory(
                f"{run.folder}: the model and a batch do not fit into memory; lower training.batch_tokens or the sizes "
                "under [model], or set training.checkpoint_activations = true"
            ):
                state, parts = set_up(plan, prepared, ranks, say=say)
                preflight(state, parts)
                train(state, parts)
            same = ranks.on_rank_0(lambda: original is None or original.compare(run, say))
            ranks.on_rank_0(lambda: card.write(run))
            return same
        except KeyboardInterrupt:
            saved = folders(run.checkpoints)
            say(f"stopped; step {step_of(saved[-1]):,} is saved" if saved else "stopped before anything was saved")
            say("continue with the same command and --resume")
            raise


@dataclass(frozen=True)
class TrainingParts:
    """The parts of the training of one rank.

    Attributes:
        prepared: the corpus.
        trained: the whole model with tokenizer and specification, as it is saved; with FSDP it is on the CPU.
        ema: moving average of its parameters, if the experiment has one.
        replica: the model that updates compute with: the same one or, with FSDP, a sharded copy.
        peak: measured FLOP/s of the device in matrix products.
        clock: returns seconds.
    """

    plan: Plan
    prepared: Prepared
    ranks: Ranks
    say: Say
    trained: ModelFolder
    ema: Ema | None
    replica: Replica
    updater: Updater
    feed: BatchFeed
    schedule: "Schedule"
    validator: Validator
    checkpoints: Checkpoints
    reporter: Reporter
    peak: float
    clock: Callable[[], float] = time.monotonic

    @property
    def config(self) -> TrainingConfig:
        """The settings of the training."""
        return self.plan.config.training


def set_up(
    plan: Plan, prepared: Prepared, ranks: Ranks = SINGLE_PROCESS, *, say: Say, score_bleu: ScoreBleu = greedy_bleu
) -> tuple[TrainState, TrainingParts]:
    """Make the parts of a training, restore the newest checkpoint if the run is resumed, and record the start.

    Args:
        ranks: the processes that train together; all of them call this.
        score_bleu: BLEU of a model's translations of validation pairs.

    Raises UserError if model, corpus and settings do not fit each other, or if no checkpoint can be used.
    """
    config, run, device = plan.config.training, plan.run, choose_device()
    peak = product_rate(plan.dtype, device)
    torch.manual_seed(config.seed)
    model = _new_model(plan, prepared.tokenizer.vocab_size)
    if ranks.size == 1 or config.parallel == "ddp":  # with FSDP the whole model stays in main memory
        model = model.to(device)
    check_positions(model.config, width(config.max_tokens))
    trained = ModelFolder(run.folder, model, prepared.tokenizer, _spec(plan, prepared))
    optimizer = new_optimizer(model, config, plan.dtype)
    replica = replica_of(model, optimizer, config, ranks)
    ema = None if config.ema is None else Ema(model, config.ema)
    weights = mixture(prepared.manifest, plan.config.data)
    feed = BatchFeed(prepared, config, model.config, replica.device, weights, ranks.rank, ranks.size)
    # Sharded ranks exchange parameters in every layer of every batch, so no rank can split a batch on its own.
    splitter = OomSplitter(say, halves=not replica.is_sharded)
    updater = _new_updater(config, plan.dtype, replica, splitter, ranks)
    bleu = partial(score_bleu, trained) if config.valid_bleu_sentences and not replica.is_sharded else None
    validator = Validator(prepared, config, feed.collate, plan.dtype, splitter, ranks, bleu)
    checkpoints = Checkpoints(run, config, trained, optimizer, ema, ranks, say)
    reporter = Reporter(run, say, is_first=ranks.is_first)
    ranks.seed(config.seed, step=0)
    state = checkpoints.restore() if plan.resume else TrainState()
    n_batches = feed.sampler.n_batches
    schedule = Schedule.of(config, model.config.d_model, n_batches, feed.batches_per_update, state)
    parts = TrainingParts(
        plan=plan,
        prepared=prepared,
        ranks=ranks,
        say=say,
        trained=trained,
        ema=ema,
        replica=replica,
        updater=updater,
        feed=feed,
        schedule=schedule,
        validator=validator,
        checkpoints=checkpoints,
        reporter=reporter,
        peak=peak,
    )
    ranks.on_rank_0(lambda: _record_start(state, parts))
    return state, parts


def _new_model(plan: Plan, vocab_size: int) -> Transformer:
    """Return the model with random weights, or with those of the parent if the run has no checkpoint yet."""
    model = Transformer(plan.config.model.architecture(vocab_size))
    model.keeps_activations = not plan.config.training.checkpoint_activations
    if plan.parent is not None and not folders(plan.run.checkpoints):
        plan.parent.load_into(model)
    return model


def _new_updater(
    config: TrainingConfig, dtype: torch.dtype, replica: Replica, splitter: OomSplitter, ranks: Ranks
) -> Updater:
    """Return the updater of the model; one process on a GPU may record its updates."""
    kind = Updater
    if config.cuda_graphs and replica.device.type == "cuda" and ranks.size == 1 and not config.r_drop:
        from translate.training.graphs import GraphUpdater  # for GPUs alone

        kind = GraphUpdater
    return kind(
        replica.model,
        replica.optimizer,
        label_smoothing=config.label_smoothing,
        dtype=dtype,
        clip_norm=config.clip_norm,
        splitter=splitter,
        ranks=ranks,
        r_drop=config.r_drop,
    )


def _spec(plan: Plan, prepared: Prepared) -> TranslationSpec:
    data, longest = plan.config.data, longest_source(prepared.train, plan.config.training.max_tokens)
    spec = TranslationSpec(data.source, data.target, plan.config.decoding.settings(), max_source_tokens=longest)
    return spec if plan.parent is None else plan.parent.spec_after(spec)


def _record_start(state: TrainState, parts: TrainingParts) -> None:
    """Write manifest and configuration, remove the metrics that will be written again, and name the size of the run."""
    plan, run, model, schedule = parts.plan, parts.plan.run, parts.trained.model, parts.schedule
    dtype = str(plan.dtype).removeprefix("torch.")
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    facts = {
        "parameters": n_parameters,
        "dtype": dtype,
        "prepared": str(plan.corpus.resolve()),
        "data": plan.data,
        "parent": None if plan.parent is None else plan.parent.record,
    }
    run.begin(plan.config, facts, parts.peak)
    together = "" if parts.ranks.size == 1 else f", {parts.ranks.size} processes"
    parts.say(
        f"{run.folder}: {n_parameters / 1e6:.2f} M parameters, {choose_device().type}, {dtype} products{together}"
    )
    if plan.resume:
        has_ended = schedule.has_ended(state)
        run.forget_after(state.step, warned=state.warned, end=has_ended)
        if not has_ended and (message := reporting.rate_warning(run.records(), schedule.lr)):
            parts.say(f"warning: {message}")
            parts.reporter.log(state, "warning", {"about": reporting.COOLDOWN_MOVED, "message": message})


def preflight(state: TrainState, parts: TrainingParts) -> None:
    """Check disk and memory before the first update; all ranks call this. UserError if the run could not end.

    Memory for the largest training batch and the largest validation batch is claimed and released: a lack of it shows
    now and not hours later, and claiming the largest blocks first leaves fewer gaps.
    """
    schedule = parts.schedule
    if schedule.has_ended(state):
        return
    n_scheduled = -(-schedule.last_step // schedule.save_every)
    parts.ranks.on_rank_0(lambda: parts.checkpoints.require_space(n_scheduled))
    largest = parts.feed.largest(state.position.epoch)
    parts.updater.warm_up(largest)
    with parts.replica.evaluating() as model:
        parts.validator.warm_up(model, beyond=largest.n_positions)


def train(state: TrainState, parts: TrainingParts) -> None:
    """Update until the schedule ends, then make the final model; all ranks call this together.

    A signal lets the current step end and saves it; see `stop_signals`. Raises UserError if training diverges.
    """
    config, ranks, schedule, checkpoints = parts.config, parts.ranks, parts.schedule, parts.checkpoints
    ranks.copy_from_first(parts.trained.model.parameters())
    parts.replica.scatter()
    if config.tensorboard:
        parts.reporter.open_tensorboard()
    _warn_of_settings(state, parts)
    meter = Meter(parts.clock)
    started, save_seconds = parts.clock() - state.seconds, 60 * config.save_minutes
    updates = prefetched(parts.feed.updates(state.position))
    stopping, progress = stop_signals(parts.say, ranks.size == 1), parts.reporter.progress(state, schedule.last_step)
    with closing(updates), stopping as signals, progress as bar:
        while not schedule.has_ended(state):
            _update(state, parts, meter, *next(updates))
            state.seconds = parts.clock() - started
            bar.update()
            if state.step % config.log_every == 0 or state.step == schedule.last_step:
                _report(state, parts, meter)
            elif len(meter.unread) >= MAX_UNREAD:
                _read_stats(state, parts, meter)
            if schedule.validates(state.step):
                _validate(state, parts)
                state.seconds = parts.clock() - started
            is_scheduled = schedule.saves(state)
            if is_scheduled or state.best_step == state.step:
                _save(state, parts, meter, scheduled=is_scheduled)
            state.seconds = parts.clock() - started
            # Clocks and signals differ between ranks, but all ranks must decide the same.
            stop, is_late = ranks.any(bool(signals), 0 < save_seconds < state.seconds - checkpoints.saved_seconds)
            diverges = meter.n_skipped >= MAX_SKIPPED
            if (stop or is_late or diverges) and checkpoints.saved_step < state.step:
                _save(state, parts, meter, scheduled=False)
            if diverges:
                raise UserError(
                    f"{parts.plan.run.folder}: loss or gradient was not finite in {MAX_SKIPPED} updates in a row; "
                    f"state is saved; {ADVICE}"
                )
            if stop:
                raise interruption(signals)
    _finish(state, parts)


def _warn_of_settings(state: TrainState, parts: TrainingParts) -> None:
    """Warn of settings and data that make training less useful."""
    config, prepared, validator = parts.config, parts.prepared, parts.validator
    train, unk, longest = prepared.train, prepared.tokenizer.unk, config.max_tokens
    n_too_long, pairs = validator.n_too_long, validator.pairs
    warn = partial(parts.reporter.warn, state)
    warn("warm-up", reporting.warmup_warning(parts.schedule.last_step, config.warmup_steps))
    warn("too long", reporting.length_warning(parts.feed.sampler.n_too_long, train.n_pairs, longest))
    warn("validation too long", reporting.length_warning(n_too_long, pairs.n_pairs, longest, "validation "))
    warn("unknown validation", reporting.unknown_warning("validation", pairs, unk))
    if "unknown training" not in state.warned:  # counting takes time
        warn("unknown training", reporting.unknown_warning("training", train, unk))
    if config.valid_bleu_sentences and parts.replica.is_sharded:
        warn("no BLEU", 'BLEU is not measured in training with training.parallel = "fsdp"; use translate evaluate')


def _update(
    state: TrainState, parts: TrainingParts, meter: Meter, batches: Sequence[Batch], position: Position
) -> None:
    """Make one update.

    Args:
        batches: those of this rank.
        position: in the data, after them.
    """
    parts.replica.model.train()
    start = parts.clock()
    update = parts.updater.step(batches, parts.schedule.lr(state.step + 1))
    flops = update_flops(parts.trained.model.config, batches) * (2 if parts.config.r_drop else 1)
    meter.add(update, flops, parts.clock() - start)  # a GPU works while its operations are counted
    state.step += 1
    state.position = position
    state.n_batches += parts.feed.batches_per_update
    state.n_tokens += update.n_tokens
    if parts.ema:
        parts.ema.update(parts.trained.model, state.step, update.finite)


def _report(state: TrainState, parts: TrainingParts, meter: Meter) -> None:
    """Log the last update, with the speed since the line before."""
    *_, stats = _read_stats(state, parts, meter)
    parts.reporter.update(state, stats, parts.schedule.lr(state.step), meter.speed(parts.peak))


def _read_stats(state: TrainState, parts: TrainingParts, meter: Meter) -> list[StepStats]:
    """Return the statistics of the updates since the last call, and count the skipped ones."""
    found = meter.read_stats()
    for step, stats in enumerate(found, state.step - len(found) + 1):
        if not stats.finite:
            state.n_skipped += 1
            parts.reporter.warn(state, "update skipped", reporting.skip_warning(step))
    return found


def _validate(state: TrainState, parts: TrainingParts) -> None:
    """Score the model, or its moving average, on the validation set."""
    config, reporter, last_step = parts.config, parts.reporter, parts.schedule.last_step
    with parts.ema.applied(parts.trained.model) if parts.ema else nullcontext():
        scores = _scores(parts)
    state.see_validation(scores.bleu if config.best_by == "bleu" else -scores.nll)
    reporter.scores(state, "valid", scores, {"source_gain": scores.source_gain})
    warning = reporting.source_warning(scores.source_gain, state.step, config.warmup_steps, last_step)
    reporter.warn(state, "source ignored", warning)
    if state.step >= config.warmup_steps:
        warning = reporting.guessing_warning(state.step, scores.nll, parts.trained.model.config.vocab_size)
        reporter.warn(state, "divergence", warning)
    relieve_memory()


def _scores(parts: TrainingParts) -> ValidationScores:
    with parts.replica.evaluating() as model:
        return parts.validator.scores(model)


def _save(state: TrainState, parts: TrainingParts, meter: Meter, *, scheduled: bool) -> None:
    """Write a checkpoint, and its line in the metrics."""
    parts.replica.gather()
    (broken,) = parts.ranks.any(not has_finite_parameters(parts.trained.model))
    if broken:
        raise UserError(
            f"{parts.plan.run.folder}: parameters are no longer finite at step {state.step:,}, so nothing is saved "
            f"beyond step {parts.checkpoints.saved_step:,}; {ADVICE}"
        )
    _read_stats(state, parts, meter)
    (flops,), meter.unsaved_flops = parts.ranks.sum(meter.unsaved_flops), 0
    state.n_flops += int(flops)
    # Logged first, so that after a kill every checkpoint has its line.
    parts.reporter.log(state, "checkpoint", {"folder": name_of(state.step), **state.totals}, durable=True)
    at_end = scheduled and state.step % parts.schedule.save_every != 0
    parts.checkpoints.save(state, scheduled=scheduled, at_end=at_end)


def _finish(state: TrainState, parts: TrainingParts) -> None:
    """Average the last scheduled checkpoints (6.1), or what the configuration asks for, score and write the result."""
    ranks, trained, say, last_step = parts.ranks, parts.trained, parts.say, parts.schedule.last_step
    steps = ranks.on_rank_0(lambda: _load_final(state, parts))
    ranks.copy_from_first(trained.model.parameters())
    parts.replica.scatter(moments=False)
    scores = _scores(parts)
    ranks.on_rank_0(lambda: _write_final(parts))
    is_early = state.step < last_step  # nothing but patience ends a run before
    values = {"averaged": steps, "ended_by": "patience" if is_early else "schedule", **state.totals}
    parts.reporter.scores(state, "final", scores, values)
    if is_early:
        say(
            f"ended at step {state.step:,} of {last_step:,} by training.patience: {state.stale_validations} "
            f"validations without a better score since step {state.best_step:,}"
        )
    say(f"final model: {parts.plan.run.model}, made of {_made_of(steps, parts.config)}")
    (n_splits,) = map(int, ranks.sum(parts.updater.splitter.n_splits))
    if n_splits:
        parts.reporter.log(state, "memory", {"halved": n_splits})
        say(f"{n_splits:,} times a batch did not fit into memory and was halved")


def _load_final(state: TrainState, parts: TrainingParts) -> list[int]:
    """Load the weights of the final model; return the steps of its checkpoints."""
    steps = parts.checkpoints.load_final(state)
    if parts.config.parent_share and parts.plan.parent is not None:
        parts.plan.parent.mix_into(parts.trained.model, parts.config.parent_share)
    return steps


def _write_final(parts: TrainingParts) -> None:
    """Write the folder of the final model."""
    trained = parts.trained
    spec = trained.spec.with_alignment_layer(trained.model.eval())
    model_folder.save(trained.model, trained.tokenizer, spec, parts.plan.run.model, replace=True)


def _made_of(steps: Sequence[int], config: TrainingConfig) -> str:
    """Return what the final model is made of."""
    parent = f" and the parent, with interpolation weight {config.parent_share}" if config.parent_share else ""
    kind = "the moving average at step" if config.ema else "the checkpoints of steps"
    return f"{kind} {', '.join(f'{step:,}' for step in steps)}{parent}"


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


@dataclass(frozen=True)
class Schedule:
    """The steps of one run, and the learning rate of each.

    Attributes:
        d_model: width of the model, for the paper's learning rate (5.3).
        last_step: the step at which the run ends at the latest.
        valid_every: steps between validations.
        save_every: steps between scheduled checkpoints.
    """

    config: TrainingConfig
    d_model: int
    last_step: int
    valid_every: int
    save_every: int

    @classmethod
    def of(
        cls,
        config: TrainingConfig,
        d_model: int,
        n_batches: Callable[[int], int],
        batches_per_update: int = 1,
        state: TrainState = TrainState(),  # noqa: B008 -- it is only read
    ) -> "Schedule":
        """Return the schedule of the updates after `state`; those before may have had other numbers of batches.

        Args:
            n_batches: returns the number of micro-batches in the first epochs of a run, as many as its argument says.
            batches_per_update: micro-batches in an update, over all ranks.

        Raises UserError if the section names no end.
        """
        require_end(config, "[training]")
        ends = [config.max_steps] if config.max_steps else []
        if config.max_epochs:
            # Updates cross the ends of epochs, so only the total is rounded.
            n_left = n_batches(config.max_epochs) - state.n_batches
            ends.append(state.step + math.ceil(n_left / batches_per_update))
        valid_every = config.valid_every or max(1, n_batches(1) // batches_per_update)
        return cls(config, d_model, min(ends), valid_every, config.save_every or valid_every)

    def lr(self, step: int) -> float:
        """Return the learning rate of 5.3, with the peak and the cooldown of the configuration if it sets them."""
        warmup_steps = self.config.warmup_steps
        factor = cooldown(step, last_step=self.last_step, share=self.config.cooldown)
        if self.config.lr is None:
            return factor * noam_lr(step, d_model=self.d_model, warmup_steps=warmup_steps)
        return factor * inverse_sqrt_lr(step, peak=self.config.lr, warmup_steps=warmup_steps)

    def has_ended(self, state: TrainState) -> bool:
        """Return whether the last step is reached, or patience is exhausted."""
        patience = self.config.patience
        return state.step >= self.last_step or (patience is not None and state.stale_validations >= patience)

    def validates(self, step: int) -> bool:
        """Return whether the run validates after this step."""
        return step % self.valid_every == 0

    def saves(self, state: TrainState) -> bool:
        """Return whether a scheduled checkpoint is due."""
        return state.step % self.save_every == 0 or self.has_ended(state)


def terminable() -> AbstractContextManager[None]:
    """Return a context in which SIGTERM and SIGHUP raise Terminated: cleanup and messages work as with Ctrl-C."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise Terminated(number)

    return _handled_by(handle, *TERMINATING)


@contextmanager
def stop_signals(say: Say, single: bool) -> Iterator[list[int]]:
    """Yield a list that collects Ctrl-C, SIGTERM and SIGHUP, so that the current step can be finished and saved.

    Args:
        say: receives a message at the first signal.
        single: whether a second Ctrl-C or SIGTERM ends the process at once. Under torchrun it must not, as torchrun
            sends signals to ranks that have received them already. A closed terminal sends SIGHUP more than once.
    """
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if received and single and number != HANGUP:
            raise interruption([number])
        received.append(number)
        if len(received) == 1:
            say("finishing this step, then saving" + ("; Ctrl-C again stops at once" if single else ""))

    with _handled_by(handle, signal.SIGINT, *TERMINATING):
        yield received


def interruption(received: Sequence[int]) -> KeyboardInterrupt:
    """Return the exception for these signals, or for a signal to another process of the run if there are none."""
    return next((Terminated(number) for number in received if number in TERMINATING), KeyboardInterrupt())


@contextmanager
def _handled_by(handle: Handler, *numbers: int) -> Iterator[None]:
    """Handle signals in this block; a hangup that is ignored, as under nohup, stays ignored."""
    handled = [number for number in numbers if number != HANGUP or signal.getsignal(number) != signal.SIG_IGN]

    def heard(number: int, frame: FrameType | None) -> None:
        leave_lost_terminal()
        handle(number, frame)

    try:
        before = {number: signal.signal(number, heard) for number in handled}
    except ValueError:  # not in the main thread, which alone can set handlers
        yield
        return
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
