"""The training loop: updates, validations and checkpoints, and the final model."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import torch

from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, width
from translate.corpus.manifest import Mixture
from translate.corpus.prepare import Prepared
from translate.errors import Say, UserError
from translate.machine import relieve_memory
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec, write_model
from translate.training.batch_feed import BatchFeed
from translate.training.checkpoint import TrainState, name_of
from translate.training.checkpoint_manager import CheckpointManager
from translate.training.data_files import Watched, change_message
from translate.training.diagnosis import (
    check_positions,
    length_warning,
    source_warning,
    unknown_warning,
    warmup_warning,
)
from translate.training.distributed import ALONE, Ranks
from translate.training.divergence import broken_message, failure, guessing_warning, has_finite_parameters, skip_warning
from translate.training.ema import Ema
from translate.training.memory import OomSplitter
from translate.training.parent import Parent
from translate.training.preflight import preflight
from translate.training.reporting import Reporter
from translate.training.run import Run
from translate.training.schedule import Schedule
from translate.training.sharding import replica_of
from translate.training.signals import interruption, stop_signals
from translate.training.speed import Speed, update_flops
from translate.training.step import StepStats, Updater, new_optimizer
from translate.training.validation import ScoreBleu, Scores, Validator


@dataclass
class Trainer:
    """The training of one run; all ranks call its methods together.

    Attributes:
        run: the run directory.
        config: the section [training].
        prepared: the corpus.
        model: the parameters.
        dtype: type of matrix products.
        spec: languages and decoding, for the model folders that are written.
        score_bleu: BLEU of the model's translations of some pairs, or None to validate by loss alone.
        say: receives each message to the user.
        peak: measured FLOP/s of this process's device.
        ranks: the processes that train together.
        mixture: the weights of the sources.
        parent: the model that the run began with, if there is one.
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
    ranks: Ranks = ALONE
    mixture: Mixture = Mixture()
    parent: Parent | None = None

    def __post_init__(self) -> None:
        config, model = self.config, self.model
        self.state = TrainState()
        model.keeps_activations = not config.checkpoint_activations
        self.optimizer = new_optimizer(model, config, self.dtype)
        self.replica = replica_of(model, self.optimizer, config, self.ranks)
        # Sharded ranks exchange parameters in every layer of every batch, so no rank can split a batch on its own.
        self.splitter = None if self.replica.is_sharded else OomSplitter(model.config.pad, self.say)
        self.updater = Updater(
            *(self.replica.model, self.replica.optimizer, config.label_smoothing, self.dtype),
            *(config.clip_norm, self.splitter, self.ranks),
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
        self.checkpoints = CheckpointManager(self.run, config, self.schedule, self.ranks, self.say)
        self.reporter = Reporter(self.run, self.say, config.log_every, is_first=self.ranks.is_first)
        self._clock = 0.0  # seconds; set when training begins
        self._new_flops = 0  # of this rank since the last save
        self._n_skipped, self._speed = 0, Speed(self.peak)  # skipped updates in a row
        self._files = Watched(self.prepared.folder, self.prepared.manifest["files"])
        check_positions(model.config, width(config.max_tokens))

    def resume(self) -> None:
        """Continue from the newest undamaged checkpoint, if there is one."""
        folder, self.state = self.checkpoints.restore(self.model, self.optimizer)
        if self.ema and folder:
            self.ema.load(folder / "ema.safetensors")

    def train(self) -> None:
        """Update until the schedule ends, then make the final model."""
        self._begin()
        updates = self.feed.updates(self.state.position)
        signals = stop_signals(self.say, self.ranks.size == 1)
        with signals as stop, self.reporter.progress(self.state, self.schedule.last_step):
            while not self.schedule.has_ended(self.state):
                micro_batches, self.state.position = next(updates)
                stats = self._update(micro_batches)
                self._tick()
                self.reporter.update(self.state, stats, self._speed, self.schedule)
                self._validate_and_save()
                self._tick()
                if message := failure(self._n_skipped):
                    self._fail(f"{self.run.folder}: {message}")
                # Clocks and signals differ between ranks, but all ranks must decide the same.
                due = self.checkpoints.is_due(self.state, stopping=(stopped := bool(stop)))
                stopping, saving = self.ranks.any(stopped, due)
                if saving:
                    self._save(scheduled=False)
                if stopping:
                    raise interruption(stop)
        self._finish()

    def _begin(self) -> None:
        self.ranks.copy_from_first(self.model.parameters())
        self.replica.scatter()
        preflight(self)
        if self.config.tensorboard:
            self.reporter.open_tensorboard()
        self._warn_at_start()
        self._clock = time.monotonic()

    def _warn_at_start(self) -> None:
        """Warn of settings and data that make training less useful."""
        config, train, say = self.config, self.prepared.train, partial(self.reporter.warn, self.state)
        say("warm-up", warmup_warning(self.schedule.last_step, config.warmup_steps))
        say("too long", length_warning(self.feed.sampler.n_too_long, train.n_pairs, config.max_tokens))
        for about, message in self.validator.warnings.items():
            say(about, message)
        if "unknown training" not in self.state.warned:  # counting takes time
            say("unknown training", unknown_warning("training", train, self.prepared.tokenizer.unk))
        if self.score_bleu and self.replica.is_sharded:
            message = 'BLEU is not measured in training with training.parallel = "fsdp"; use translate evaluate'
            say("no BLEU", message)

    def _tick(self) -> None:
        """Add the time since the last tick to the state."""
        now = time.monotonic()
        self.state.seconds, self._clock = self.state.seconds + now - self._clock, now

    def _update(self, micro_batches: list[Batch]) -> StepStats:
        self.replica.model.train()
        flops = update_flops(self.model.config, micro_batches)
        start = time.monotonic()
        stats = self.updater.step(micro_batches, self.schedule.lr(self.state.step + 1))
        self._speed.add(stats.n_tokens, flops, time.monotonic() - start)
        self._new_flops += flops
        self.state.step += 1
        self.state.n_batches += self.feed.batches_per_update
        self.state.n_tokens += stats.n_tokens
        self.state.n_skipped += not stats.finite
        self._n_skipped = 0 if stats.finite else self._n_skipped + 1
        if not stats.finite:
            self.reporter.warn(self.state, "update left out", skip_warning(self.state.step))
        elif self.ema:
            self.ema.update(self.model, self.state.step)
        return stats

    def _validate_and_save(self) -> None:
        """Validate and save if the schedule says so, or if the model is the best so far; then stop if data changed."""
        if validates := self.schedule.validates(self.state.step):
            self._validate()
            relieve_memory()
        scheduled = self.schedule.saves(self.state)
        if scheduled or self.state.best_step == self.state.step:
            self._save(scheduled=scheduled)
        if validates and (changed := self.ranks.first(self._files.changed)):
            self._fail(change_message(changed, self.run.folder, self.state.step))

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
            raise UserError(broken_message(self.run.folder, self.state.step, self.checkpoints.saved_step))
        (flops,), self._new_flops = self.ranks.sum(self._new_flops), 0
        self.state.n_flops += int(flops)
        # Logged first, so that after a kill every checkpoint has its line.
        line = {"folder": name_of(self.state.step), **self.state.totals}
        self.reporter.log(self.state, "checkpoint", line, durable=True)
        self.checkpoints.save(self.state, self._write_weights, self.optimizer, scheduled=scheduled)

    def _write_weights(self, folder: Path) -> None:
        """Write a model folder, and the moving average if there is one."""
        write_model(self.model, self.prepared.tokenizer, self.spec, folder)
        if self.ema:
            self.ema.save(folder / "ema.safetensors")

    def _finish(self) -> None:
        """Average the last scheduled checkpoints (6.1), or what the configuration asks for, and score the result."""
        steps = self.ranks.first(lambda: _load_final(self))
        self.ranks.copy_from_first(self.model.parameters())
        self.replica.scatter(moments=False)
        scores = self._scores(averaged=False)
        self.ranks.first(
            lambda: model_folder.save(self.model, self.prepared.tokenizer, self.spec, self.run.model, replace=True)
        )
        self.reporter.scores(self.state, "final", scores, {"averaged": steps, **self.state.totals})
        self.say(f"final model: {self.run.model}, made of {_parts(steps, self.config)}")
        (n_splits,) = map(int, self.ranks.sum(self.splitter.n_splits if self.splitter else 0))
        if n_splits:
            self.reporter.log(self.state, "memory", {"halved": n_splits})
            self.say(f"{n_splits:,} times a batch did not fit into memory and was halved")

    def _fail(self, message: str) -> NoReturn:
        """Save the state, unless it is saved, and raise UserError."""
        if self.checkpoints.saved_step < self.state.step:
            self._save(scheduled=False)
        raise UserError(message)


def _load_final(trainer: Trainer) -> list[int]:
    """Load the weights of the final model; return the steps of its checkpoints."""
    steps = trainer.checkpoints.load_final(trainer.model, trainer.state)
    if trainer.config.parent_share:
        assert trainer.parent is not None  # `session.train` refuses such a run
        trainer.parent.mix_into(trainer.model, trainer.config.parent_share)
    return steps


def _parts(steps: list[int], config: TrainingConfig) -> str:
    """Return what the final model is made of."""
    parent = f" and the parent, with interpolation weight {config.parent_share}" if config.parent_share else ""
    return f"the checkpoints of steps {', '.join(f'{step:,}' for step in steps)}{parent}"
