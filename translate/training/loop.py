"""The training loop: batches, updates, validations, checkpoints, and the end of a run."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from tqdm import tqdm

from transformer.checkpoint_io import CheckpointError, average
from transformer.model import Transformer
from transformer.schedule import cooldown, inverse_sqrt_lr, noam_lr
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, EncodedPairs, Pairs, Sampler, by_length, collate, largest, width
from translate.corpus.prepare import Prepared
from translate.errors import UserError
from translate.machine import choose_device, relieve_memory
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec, write_model
from translate.training import checkpoint
from translate.training.checkpoint import Generators, TrainState
from translate.training.data_files import Watched
from translate.training.diagnosis import SourceGain, source_warning, unknown_targets, unknown_warning
from translate.training.distributed import ALONE, Ranks
from translate.training.divergence import ADVICE, Divergence, has_finite_parameters
from translate.training.ema import Ema
from translate.training.memory import Memory
from translate.training.run import Run
from translate.training.sharding import Replica, Shards
from translate.training.signals import interruption, stop_signals
from translate.training.speed import Speed, update_flops
from translate.training.step import StepStats, mean_nll, new_optimizer, rehearse, train_step
from translate.training.tensorboard import TensorBoard

T = TypeVar("T")


@dataclass
class Trainer:
    """What one run needs, gathered once.

    Attributes:
        model, dtype: the parameters, and the type of matrix products.
        spec: languages and decoding, for the model folders that are written.
        bleu: score of the model's translations of the validation set, or None to validate by loss alone.
        say: takes each message to the user.
        peak: measured FLOP/s of this process's device, for the log; None leaves the share out.
        ranks: the processes that train together; every method of this class is called by all of them.
        replay_share: of the old corpus in every epoch, where the prepared corpus holds one.
    """

    run: Run
    config: TrainingConfig
    prepared: Prepared
    model: Transformer
    dtype: torch.dtype
    spec: TranslationSpec
    bleu: Callable[[Transformer], float] | None
    say: Callable[[str], None]
    peak: float | None = None
    ranks: Ranks = ALONE
    replay_share: float = 0.0

    def __post_init__(self) -> None:
        config, self.state = self.config, TrainState()
        self.model.keeps_activations = not config.checkpoint_activations
        self.optimizer = new_optimizer(self.model, config)
        self.working = self._working()
        self.device = self.working.device
        # Sharded ranks exchange parameters in every layer of every batch, so none of them can split on its own.
        self.memory = Memory(self.model.config.pad, self.say) if self.working.model is self.model else None
        self.ema = self._new_ema()
        self.sampler = Sampler(
            *(self.prepared.train, config.batch_tokens, config.max_tokens, config.seed),
            n_replayed=self.prepared.n_replayed,
            replay_share=self.replay_share,
        )
        self.valid = self._valid_batches()
        updates_per_epoch = max(1, len(self.sampler.batches(0)) // self._batches_per_update)
        ends = (config.max_steps, config.max_epochs and config.max_epochs * updates_per_epoch)
        if not any(ends):
            raise UserError("training has no end: set training.max_steps or training.max_epochs")
        self.last_step = min(end for end in ends if end)
        self.valid_every = config.valid_every or updates_per_epoch
        self.save_every = config.save_every or self.valid_every
        self.saved_step = 0
        self._clock = self._saved_at = 0.0  # seconds; set when training begins
        self._board: TensorBoard | None = None
        self._divergence = Divergence(self.say, self.model.config.vocab_size)
        self._speed = Speed(self.peak)
        self._files = Watched(self.prepared.folder, self.prepared.manifest["files"])
        self._check_positions()

    def _working(self) -> Replica:
        """What updates work on: this rank's model and optimizer, or its part of them."""
        if self.config.parallel == "ddp" or self.ranks.size == 1:
            return Replica(self.model, self.optimizer)
        return Shards(self.model, self.optimizer, lambda twin: new_optimizer(twin, self.config), choose_device())

    def _new_ema(self) -> Ema | None:
        """The moving average that the config asks for; UserError where parameters are divided over ranks."""
        if self.config.ema is None:
            return None
        if self.working.model is not self.model:
            raise UserError('training.ema needs whole parameters on every rank; set training.parallel = "ddp"')
        return Ema(self.model, self.config.ema)

    @property
    def _batches_per_update(self) -> int:
        return self.config.accumulate * self.ranks.size

    def _check_positions(self) -> None:
        """UserError if learned positions end before the longest sentence that they will meet."""
        longest = max(width(self.config.max_tokens), *(batch.src.size(1) for batch in self.valid))
        longest = max(longest, *(batch.tgt_in.size(1) for batch in self.valid))
        model = self.model.config
        if model.positions == "learned" and model.max_length < longest:
            raise UserError(
                f"model.max_length = {model.max_length}, but sentences of up to {longest} tokens will be met; raise "
                "it, or lower training.max_tokens and shorten the validation set"
            )

    def _valid_batches(self) -> list[Batch]:
        """The validation set, every sentence of it, encoded once."""
        source, target = zip(*self.prepared.valid, strict=True)
        encode = self.prepared.tokenizer.encode_batch
        pairs = EncodedPairs(encode(source), encode(target))
        self._source_gain = SourceGain(pairs, self.config.batch_tokens, self._collate)
        self._unknown = unknown_warning("validation", unknown_targets(pairs, self.prepared.tokenizer.unk))
        return [self._collate(pairs, i) for i in by_length(pairs, np.arange(pairs.n_pairs), self.config.batch_tokens)]

    def _collate(self, pairs: Pairs, index: np.ndarray) -> Batch:
        special = self.model.config
        batch = collate(pairs, index, pad=special.pad, bos=special.bos, eos=special.eos)
        highest = max(int(batch.src.max()), int(batch.tgt_out.max()))
        if highest >= special.vocab_size:
            raise UserError(
                f"{self.prepared.folder}: holds the token id {highest}, but the model has {special.vocab_size} tokens; "
                "the corpus is damaged or of another tokenizer: run `translate prepare` again"
            )
        return batch.to(self.device)

    def lr(self, step: int) -> float:
        """The learning rate of 5.3, with the paper's peak unless the config names one, and its end if that does."""
        warmup_steps = self.config.warmup_steps
        factor = cooldown(step, last_step=self.last_step, share=self.config.cooldown)
        if self.config.lr is None:
            return factor * noam_lr(step, d_model=self.model.config.d_model, warmup_steps=warmup_steps)
        return factor * inverse_sqrt_lr(step, peak=self.config.lr, warmup_steps=warmup_steps)

    def resume(self) -> None:
        """Go back to the newest checkpoint that is undamaged; a damaged one is named and left for inspection."""
        newest = self.ranks.first(self._newest)
        if newest is None:
            self.say(f"{self.run.folder}: no checkpoint yet, so the run begins")
            return
        if not self.ranks.is_first:
            self.state = checkpoint.load(newest, self.model, self.optimizer, self.ranks.rank)
        if self.ema:
            self.ema.load(newest / "ema.safetensors")
        self.saved_step = self.state.step
        self.say(f"resuming from {newest} (step {self.state.step:,})")
        if self.state.n_ranks != self.ranks.size:
            self.ranks.seed(self.config.seed, self.state.step)
            self.say(
                f"{self.state.n_ranks} processes saved it and {self.ranks.size} go on: batches stay in order, but an "
                "update and its dropout are no longer those of the run before"
            )

    def _newest(self) -> Path | None:
        """The newest undamaged checkpoint, restored into this process; what was logged after it is forgotten."""
        folders = checkpoint.checkpoints(self.run.checkpoints)
        for folder in reversed(folders):
            state = self._unless_damaged(folder, lambda folder: checkpoint.load(folder, self.model, self.optimizer))
            if state is not None:
                self.state = state
                self.run.forget_after(state.step, end=self._has_ended())
                return folder
        if checkpoint.damaged(self.run.checkpoints):
            raise UserError(f"{self.run.checkpoints}: no checkpoint is usable; begin another run with --run")
        self.run.forget_after(0)
        return None

    def _unless_damaged(self, folder: Path, read: Callable[[Path], T]) -> T | None:
        """What `read` makes of a checkpoint, or None if it is damaged; then it is named and set aside."""
        try:
            return read(folder)
        except CheckpointError as error:
            self.say(f"skipping a damaged checkpoint, now {checkpoint.set_aside(folder).name}: {error}")
            return None

    def _is_sound(self, folder: Path) -> bool:
        """Whether a checkpoint is what was saved; if not, it is named and set aside."""
        return self._unless_damaged(folder, checkpoint.verify) is not None

    def train(self) -> None:
        """Update until the end that the config names, or until patience is exhausted; then make the final model."""
        self.ranks.copy_from_first(self.model.parameters())
        self.working.scatter()
        self._board = TensorBoard(self.run) if self.config.tensorboard and self.ranks.is_first else None
        self._rehearse()
        self._warn_at_start()
        batches = self._micro_batches()
        self._clock, self._saved_at = time.monotonic(), self.state.seconds
        with stop_signals(self.say, self.ranks.size == 1) as stop, self._progress() as bar:
            while not self._has_ended():
                stats = self._update(next(batches))
                self._tick()
                self._report(bar, stats)
                self._milestones()
                self._tick()
                if self._divergence.is_hopeless:
                    self._give_up()
                # Clocks and signals differ between ranks; what follows from them must not.
                stopping, saving = self.ranks.any(bool(stop), self._save_is_due(bool(stop)))
                if saving:
                    self._save(scheduled=False)
                if stopping:
                    raise interruption(stop)
        self.ranks.first(self._finish)
        self._tell_splits()

    def _rehearse(self) -> None:
        """Compute once with the largest batch of the epoch: memory that does not suffice shows now and not hours later.

        It also is the first to claim memory, which leaves fewer gaps between blocks than growing does.
        """
        if self.state.step < self.last_step:
            self.working.model.train()
            index = largest(self.prepared.train, self.sampler.batches(self.state.position.epoch))
            rehearse(
                self.working.model,
                self.working.optimizer,
                self._collate(self.prepared.train, index),
                smoothing=self.config.label_smoothing,
                dtype=self.dtype,
                memory=self.memory,
            )

    def _tick(self) -> None:
        """Count the time since the last tick."""
        now = time.monotonic()
        self.state.seconds, self._clock = self.state.seconds + now - self._clock, now

    def _save_is_due(self, stopping: bool) -> bool:
        """Whether a save outside the schedule is due: at a stop, or `save_minutes` after the last one."""
        if self.saved_step == self.state.step:
            return False
        minutes = self.config.save_minutes
        return stopping or (minutes > 0 and self.state.seconds - self._saved_at > 60 * minutes)

    def _micro_batches(self) -> Iterator[list[Batch]]:
        """This rank's batches of one update, dealt out in turns; the state's position follows when they are given."""
        stream = self.sampler.stream(self.state.position)
        while True:
            group = []
            for i in range(self._batches_per_update):
                index, position = next(stream)
                if i % self.ranks.size == self.ranks.rank:
                    group.append(self._collate(self.prepared.train, index))
            self.state.position = position
            yield group

    def _update(self, micro_batches: list[Batch]) -> StepStats:
        self.working.model.train()
        flops = update_flops(self.model.config, micro_batches)
        start = time.monotonic()
        stats = train_step(
            self.working.model,
            self.working.optimizer,
            micro_batches,
            lr=self.lr(self.state.step + 1),
            smoothing=self.config.label_smoothing,
            clip_norm=self.config.clip_norm,
            dtype=self.dtype,
            memory=self.memory,
            ranks=self.ranks,
        )
        self.state.step += 1
        self.state.n_tokens += stats.n_src_tokens + stats.n_tgt_tokens
        self._speed.add(stats.n_src_tokens + stats.n_tgt_tokens, flops, time.monotonic() - start)
        self.state.n_skipped += not stats.finite
        self._divergence.see_update(self.state.step, stats)
        if self.ema and stats.finite:
            self.ema.update(self.model, self.state.step)
        return stats

    def _milestones(self) -> None:
        """Validate and save where the step says so, and save at the end."""
        step = self.state.step
        if step % self.valid_every == 0:
            self._check_files()
            self._validate()
            relieve_memory()
        scheduled = step % self.save_every == 0 or step == self.last_step or self._out_of_patience()
        if scheduled or self.state.best_step == step:
            self._save(scheduled=scheduled)

    def _check_files(self) -> None:
        """UserError, with the state saved, if a file of the corpus has changed since training began."""
        changed = self.ranks.first(self._files.changed)
        if changed is None:
            return
        self._save(scheduled=False)
        raise UserError(
            f"{changed}: has changed while {self.run.folder} was training on it; the state of step "
            f"{self.state.step:,} is saved; restore the file and go on with --resume, or begin another run"
        )

    def _validate(self) -> None:
        self.working.gather()
        with self.ema.applied(self.model) if self.ema else nullcontext():
            nll, bleu, gain = self.ranks.first(self._scores)
        self.state.see_validation(nll, bleu, self.config.best_by)
        self._log("valid", {"nll": nll, "perplexity": _perplexity(nll), "bleu": bleu, "source_gain": gain})
        warning = source_warning(gain, self.state.step, self.config.warmup_steps, self.last_step)
        self._warn("source ignored", warning)
        if self.state.step >= self.config.warmup_steps:
            self._divergence.see_validation(self.state.step, nll)

    def _scores(self) -> tuple[float, float | None, float | None]:
        """Loss in nats a token, BLEU, and the gain from the sources of the present parameters on the validation set."""
        home = next(self.model.parameters()).device
        self.model.to(self.device)
        nll = mean_nll(self.model, self.valid, self.dtype)
        bleu = None if self.bleu is None else self.bleu(self.model.eval())
        gain = self._source_gain(self.model, self.dtype)
        self.model.to(home)
        return nll, bleu, gain

    def _save(self, *, scheduled: bool) -> None:
        """Write a checkpoint and drop those that are no longer needed; rank 0 does so with the generators of all."""
        self.working.gather()
        self._check_parameters()
        # First, so that whoever is killed in between finds the line wherever there is the checkpoint.
        self._log("checkpoint", {"folder": checkpoint.name_of(self.state.step)}, durable=True)
        generators = checkpoint.random_generators()
        by_device = [[(device, state) for state in self.ranks.gather(generators[device])] for device in generators]
        self.state.n_ranks = self.ranks.size
        self.ranks.first(lambda: self._write([dict(states) for states in zip(*by_device, strict=True)], scheduled))
        self.saved_step, self._saved_at = self.state.step, self.state.seconds

    def _check_parameters(self) -> None:
        """UserError if there is nothing worth saving."""
        (broken,) = self.ranks.any(not has_finite_parameters(self.model))
        if broken:
            raise UserError(
                f"{self.run.folder}: parameters are no longer finite at step {self.state.step:,}, so nothing is saved "
                f"beyond step {self.saved_step:,}; {ADVICE}"
            )

    def _write(self, generators: list[Generators], scheduled: bool) -> None:
        checkpoint.save(
            self.run.checkpoints,
            self._write_weights,
            self.optimizer,
            self.state,
            scheduled=scheduled,
            generators=generators,
        )
        self._prune()

    def _prune(self) -> None:
        """Drop all checkpoints but the last of the schedule, the best, and the newest."""
        n = max(self.config.keep_last, self.config.average_last)
        others = {self.run.checkpoints / checkpoint.name_of(step) for step in (self.state.step, self.state.best_step)}
        checkpoint.prune(self.run.checkpoints, {*self._averaged()[-n:], *others})

    def _write_weights(self, folder: Path) -> None:
        """Fill `folder` with what training has made: a model folder, and the moving average if there is one."""
        write_model(self.model, self.prepared.tokenizer, self.spec, folder)
        if self.ema:
            self.ema.save(folder / "ema.safetensors")

    def _finish(self) -> None:
        """Make the final model of the last scheduled checkpoints (6.1), or as the config asks, and validate it."""
        self._prune()  # again, for a run that was killed between its last save and what that had to drop
        folders, what = self._final()
        name = "ema.safetensors" if self.ema else "model.safetensors"
        self.model.load_state_dict(average([folder / name for folder in folders]))
        nll, bleu, _ = self._scores()
        model_folder.save(self.model, self.prepared.tokenizer, self.spec, self.run.model, replace=True)
        steps = [checkpoint.step_of(folder) for folder in folders]
        self._log("final", {"nll": nll, "perplexity": _perplexity(nll), "bleu": bleu, "averaged": steps})
        self.say(f"final model: {self.run.model} ({what})")

    def _final(self) -> tuple[list[Path], str]:
        """The checkpoints whose mean is the final model, and what to call it."""
        best = self.run.checkpoints / checkpoint.name_of(self.state.best_step)
        of = "moving average of " if self.ema else ""
        if self.config.final == "best" and best.exists() and self._is_sound(best):
            return [best], f"{of}the best checkpoint, step {self.state.best_step:,}"
        if self.config.final == "best":
            self.say("warning: there is no usable best checkpoint, so the last ones make the final model")
        n = 1 if self.ema else self.config.average_last
        sound = [folder for folder in self._averaged() if self._is_sound(folder)]
        folders = sound[-n:]
        return folders, f"{of}the last checkpoint" if self.ema else f"mean of {len(folders)} checkpoints"

    def _tell_splits(self) -> None:
        (n_splits,) = map(int, self.ranks.sum(self.memory.n_splits if self.memory else 0))
        if n_splits:
            self._log("memory", {"halved": n_splits})
            self.say(f"{n_splits:,} times a batch did not fit into memory and was halved")

    def _averaged(self) -> list[Path]:
        """Checkpoints of the schedule, oldest first; the end that a run had before it was prolonged is not of it."""

        def counts(folder: Path) -> bool:
            step = checkpoint.step_of(folder)
            is_due = step % self.save_every == 0 or step == self.state.step
            return is_due and self._unless_damaged(folder, checkpoint.is_scheduled) is True

        return [folder for folder in checkpoint.checkpoints(self.run.checkpoints) if counts(folder)]

    def _log(self, kind: str, values: dict[str, object], *, durable: bool = False) -> None:
        if not self.ranks.is_first:
            return
        state = self.state
        record = {"kind": kind, "step": state.step, "epoch": state.position.epoch, "seconds": round(state.seconds, 2)}
        self.run.log({**record, **values}, durable=durable)
        if self._board:
            self._board.add({**record, **values})
        if kind in ("valid", "final"):
            shown = ", ".join(f"{key} {value:.4g}" for key, value in values.items() if isinstance(value, float))
            self.say(f"{kind}: epoch {state.position.epoch}, step {state.step:,}: {shown}")

    def _report(self, bar: "tqdm[None]", stats: StepStats) -> None:
        """Show the update on the bar, and log it where its step is due."""
        state = self.state
        bar.set_postfix(loss=f"{stats.loss:.3f}", tokens_per_s=f"{self._speed.recent:,.0f}", refresh=False)
        bar.update()
        if state.step % self.config.log_every == 0 or state.step == self.last_step:
            values = {"loss": stats.loss, "nll": stats.nll, "grad_norm": stats.grad_norm, "lr": self.lr(state.step)}
            counts = {"tokens": state.n_tokens, "skipped": state.n_skipped}
            self._log("train", {**values, **counts, **self._speed.record()})

    def _progress(self) -> "tqdm[None]":
        # A log file wants a line now and then, a terminal a bar that moves.
        interval = 0.5 if sys.stderr.isatty() else 30.0
        return tqdm(
            desc="training",
            total=self.last_step,
            initial=self.state.step,
            unit="step",
            dynamic_ncols=True,
            mininterval=interval,
            disable=not self.ranks.is_first,
            maxinterval=2 * interval,
        )

    def _has_ended(self) -> bool:
        return self.state.step >= self.last_step or self._out_of_patience()

    def _out_of_patience(self) -> bool:
        patience = self.config.patience
        return patience is not None and self.state.stale_validations >= patience

    def _warn_at_start(self) -> None:
        config, train = self.config, self.prepared.train
        if self.last_step < config.warmup_steps:
            self._warn(
                "warm-up",
                f"training ends at step {self.last_step:,}, before the learning rate has risen to its peak at "
                f"training.warmup_steps = {config.warmup_steps:,}",
            )
        if self.sampler.n_too_long:
            self._warn(
                "too long",
                f"{self.sampler.n_too_long:,} of {train.n_pairs:,} pairs are longer than training.max_tokens = "
                f"{config.max_tokens} tokens and are left out",
            )
        self._warn("unknown validation", self._unknown)
        if "unknown training" not in self.state.warned:
            unknown = unknown_targets(train, self.prepared.tokenizer.unk)
            self._warn("unknown training", unknown_warning("training", unknown))

    def _warn(self, key: str, message: str | None) -> None:
        """Tell the user and the log, once in the life of the run; None is no warning."""
        if message is None or key in self.state.warned:
            return
        self.state.warned.append(key)
        self.say(f"warning: {message}")
        self._log("warning", {"about": key, "message": message})

    def _give_up(self) -> None:
        if self.saved_step < self.state.step:
            self._save(scheduled=False)
        raise UserError(
            f"{self.run.folder}: loss or gradient was not finite in {self._divergence.skipped} updates in a row; state "
            f"is saved; {ADVICE}"
        )


def _perplexity(nll: float) -> float:
    """exp(nll), bounded so that a diverged model still makes a valid record."""
    return math.exp(min(nll, 700.0))
