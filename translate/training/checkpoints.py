"""Checkpoints: complete, checksummed folders; a crash at any moment costs at most the newest one.

`Checkpoints` decides which ones a run keeps, which one it is resumed from, and which ones make the final model.

    checkpoints/step-00001200/
        config.json model.safetensors tokenizer.model translation.json   a model folder like any other
        optimizer.safetensors    Adam's moments and the random generators
        ema.safetensors          with training.ema: the moving average of the parameters
        state.json               the rest of the state, the SHA-256 of every other file, and its own

A folder is filled under another name, flushed to the disk and renamed, so a folder with such a name is complete.
"""

import math
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from transformer.checkpoint_io import average, load_tensors, load_weights
from transformer.config import CheckpointError
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Position
from translate.errors import Say, UserError, reason
from translate.files import json_sha256, new_folder, read_json, sha256, write_json
from translate.models.folder import ModelFolder, write_model
from translate.training.distributed import Ranks
from translate.training.optimizer import Ema, Muon
from translate.training.run import Run

FORMAT = 2

T = TypeVar("T")

Generators = Mapping[str, Tensor]  # states of random generators by device


@dataclass
class TrainState:
    """The state of a run besides tensors, as plain values.

    Attributes:
        position: the next batch of the sampler.
        best_score: the best BLEU of the validation set, or minus the best loss in nats a token.
        stale_validations: validations since the best one.
        n_batches: micro-batches of all updates, over all ranks.
        n_tokens: source and target tokens trained on, padding not counted.
        n_flops: floating-point operations of all updates up to the last save.
        seconds: time of training and validation, over all starts of the run.
        n_skipped: updates skipped because loss or gradient was not finite.
        warned: keys of the warnings given so far; each is given once.
        n_ranks: processes that trained together at the last save.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    best_score: float | None = None
    best_step: int = 0
    stale_validations: int = 0
    n_batches: int = 0
    n_tokens: int = 0
    n_flops: int = 0
    seconds: float = 0.0
    n_skipped: int = 0
    warned: list[str] = field(default_factory=list)
    n_ranks: int = 1

    @property
    def totals(self) -> dict[str, object]:
        """Tokens and operations so far, for the metrics."""
        return {"tokens": self.n_tokens, "flops": float(f"{self.n_flops:.4g}")}

    def see_validation(self, score: float | None) -> None:
        """Record a score, see `best_score`, if it is finite and the best so far; otherwise count a stale validation."""
        if score is not None and math.isfinite(score) and (self.best_score is None or score > self.best_score):
            self.best_score, self.best_step, self.stale_validations = score, self.step, 0
        else:
            self.stale_validations += 1


class Checkpoints:
    """The checkpoints of one run; all ranks call the methods, and rank 0 writes, with the generators of all ranks.

    Args:
        output: model, tokenizer and specification, as checkpoints hold them.
        optimizer: of the whole model.
        ema: the moving average of the model, if there is one.

    Attributes:
        saved_step: the step of the last checkpoint; 0 without one.
        saved_seconds: `TrainState.seconds` at the last checkpoint.
    """

    def __init__(
        self,
        run: Run,
        config: TrainingConfig,
        output: ModelFolder,
        optimizer: torch.optim.Optimizer,
        ema: Ema | None,
        ranks: Ranks,
        say: Say,
    ) -> None:
        self._run, self._config, self._ranks, self._say = run, config, ranks, say
        self._output, self._ema, self.optimizer = output, ema, optimizer
        self._root = run.checkpoints
        self.saved_step = 0
        self.saved_seconds = 0.0

    def restore(self) -> TrainState:
        """Load the newest undamaged checkpoint; damaged ones are reported and kept under another name.

        Returns its state; a new one if the run has no checkpoint yet. Raises UserError if all checkpoints are damaged.
        """
        ranks = self._ranks
        newest = ranks.on_rank_0(self._restore_newest)
        if newest is None:
            self._say(f"{self._run.folder}: no checkpoint yet, so the run begins")
            return TrainState()
        folder, state = newest
        if not ranks.is_first:
            state = self._load(folder)
        if self._ema:
            self._ema.load(folder / "ema.safetensors")
        self.saved_step, self.saved_seconds = state.step, state.seconds
        self._say(f"resuming from {folder} (step {state.step:,})")
        if state.n_ranks != ranks.size:
            ranks.seed(self._config.seed, state.step)
            self._say(
                f"{state.n_ranks} processes wrote the checkpoint and {ranks.size} continue: batches keep their order, "
                "but updates and dropout differ from those of the run so far"
            )
        return state

    def _restore_newest(self) -> tuple[Path, TrainState] | None:
        for folder in reversed(folders(self._root)):
            if (state := self._unless_damaged(folder, self._load)) is not None:
                return folder, state
        if any(self._root.glob("damaged-step-*")):  # see `set_aside`
            raise UserError(f"{self._root}: no checkpoint is usable; begin another run with --run")
        # A run that was killed during its first save has the line of that save, but none after it.
        if self._run.model.exists() or "checkpoint" in [record.get("kind") for record in self._run.records()[:-1]]:
            raise UserError(f"{self._root}: the checkpoints are gone; restore them, or begin another run with --run")
        return None

    def _load(self, folder: Path) -> TrainState:
        """Restore model, optimizer and random generators, and return the rest of the state.

        A rank that did not exist at the save keeps its own generators. Raises CheckpointError if a file is not the one
        that was saved, UserError if another version wrote the state.
        """
        values, path = verify(folder)["state"], folder / "model.safetensors"
        load_weights(self._output.model, load_tensors(path), path)
        _restore_optimizer(self.optimizer, load_tensors(folder / "optimizer.safetensors"), self._ranks.rank)
        if unknown := sorted(values.keys() - {key.name for key in fields(TrainState)}):
            raise UserError(
                f"{folder / 'state.json'}: written by another version, as this one does not know its "
                f"{', '.join(unknown)}; resume with the version that wrote it"
            )
        return TrainState(**{**values, "position": Position(*values["position"])})

    def _unless_damaged(self, folder: Path, read: Callable[[Path], T]) -> T | None:
        """Return `read(folder)`, or None if the checkpoint is damaged; it is then reported and renamed."""
        try:
            return read(folder)
        except CheckpointError as error:
            self._say(f"skipping a damaged checkpoint, now {set_aside(folder).name}: {error}")
            return None

    def save(self, state: TrainState, *, scheduled: bool, at_end: bool = False) -> None:
        """Write a checkpoint, and delete those no longer needed.

        Args:
            scheduled: whether averaging may use this checkpoint; others only protect against loss.
            at_end: whether it is scheduled only because the run ends; averaging ignores it if the run is prolonged.

        Raises UserError if a file cannot be written; older checkpoints are then unchanged.
        """
        generators = self._ranks.gather(random_generators())
        state.n_ranks = self._ranks.size
        meta = {"format": FORMAT, "scheduled": scheduled, "at_end": at_end, "state": asdict(state)}

        def write() -> None:
            self._write(self._root / name_of(state.step), meta, generators)
            self._prune(state)

        self._ranks.on_rank_0(write)
        self.saved_step, self.saved_seconds = state.step, state.seconds

    def _write(self, folder: Path, meta: dict[str, Any], generators: Sequence[Generators]) -> None:
        """Write one checkpoint; `generators` are those of each rank."""
        try:
            with new_folder(folder, replace=True, durable=True) as partial:
                write_model(self._output.model, self._output.tokenizer, self._output.spec, partial)
                if self._ema:
                    self._ema.save(partial / "ema.safetensors")
                save_file(_optimizer_tensors(self.optimizer, generators), partial / "optimizer.safetensors")
                sealed = meta | {"sha256": {path.name: sha256(path) for path in sorted(partial.iterdir())}}
                write_json(partial / "state.json", {**sealed, "digest": json_sha256(sealed)})
        except (OSError, SafetensorError) as error:  # safetensors has its own error for a full disk
            raise UserError(
                f"{folder}: cannot save the checkpoint: {reason(error)}; earlier checkpoints are untouched"
            ) from error

    def load_final(self, state: TrainState) -> list[int]:
        """Load the mean of the checkpoints that make the final model (6.1); rank 0 alone calls this.

        Returns the steps of the checkpoints.
        """
        self._prune(state)  # in case a kill came between the last save and its deletions
        averaged = self._final(state)
        name = "ema.safetensors" if self._config.ema else "model.safetensors"
        self._output.model.load_state_dict(average([folder / name for folder in averaged]))
        return [step_of(folder) for folder in averaged]

    def size(self) -> int:
        """Return the bytes of one checkpoint: weights, moments, moving average and tokenizer; the rest is small."""
        weights, moments = _n_bytes(self._output.model.parameters()), 0
        for i, group in enumerate(self.optimizer.param_groups):
            n_moments = 1 if i == 0 and isinstance(self.optimizer, Muon) else 2
            moments += n_moments * _n_bytes(group["params"])
        average = weights if self._ema else 0
        return weights + moments + average + len(self._output.tokenizer.serialized)

    def require_space(self, n_scheduled: int) -> None:
        """Raise UserError if the disk has no room for the checkpoints that the run keeps, and for its final model.

        Args:
            n_scheduled: how many the schedule has.
        """
        run, config, size = self._run, self._config, self.size()
        # Besides the last ones of the schedule: the best or the newest one, and the one that is being written.
        n_kept = min(max(config.keep_last, config.average_last), n_scheduled) + 2
        needed = n_kept * size + _n_bytes(self._output.model.parameters())
        files = (path for place in (run.checkpoints, run.model) for path in place.rglob("*") if path.is_file())
        there = sum(path.stat().st_size for path in files)
        free = shutil.disk_usage(run.folder).free
        if needed > there + free:
            raise UserError(
                f"{run.folder}: checkpoints will take about {_megabytes(needed - there)} more ({n_kept} of "
                f"{_megabytes(size)} and the final model), and {_megabytes(free)} are free; make room, lower "
                "training.keep_last and training.average_last, or name another --run"
            )

    def _prune(self, state: TrainState) -> None:
        """Delete all checkpoints but the last scheduled ones, the best, and the newest."""
        n = max(self._config.keep_last, self._config.average_last)
        others = {self._root / name_of(step) for step in (state.step, state.best_step)}
        prune(self._root, {*self._scheduled()[-n:], *others})

    def _final(self, state: TrainState) -> list[Path]:
        """Return the checkpoints that make the final model, oldest first."""
        if self._config.final == "best":
            best = self._root / name_of(state.best_step)
            if best.exists() and self._is_sound(best):
                return [best]
            self._say("warning: there is no usable best checkpoint, so the last ones make the final model")
        n = 1 if self._config.ema else self._config.average_last
        found = [folder for folder in self._scheduled() if self._is_sound(folder)]
        # The newest one is not of the schedule if a lower max_steps ends a run where it was interrupted.
        newest = next((one for one in reversed(folders(self._root)) if one in found or self._is_sound(one)), None)
        return sorted({*found, *([newest] if newest else [])}, key=step_of)[-n:]

    def _is_sound(self, folder: Path) -> bool:
        return self._unless_damaged(folder, verify) is not None

    def _scheduled(self) -> list[Path]:
        return scheduled_folders(self._root, lambda folder: self._unless_damaged(folder, metadata))


def name_of(step: int) -> str:
    """Return the folder name of a step; up to step 99,999,999 names sort like steps."""
    return f"step-{step:08d}"


def step_of(folder: Path) -> int:
    """Return the step in a folder's name."""
    return int(folder.name.removeprefix("step-"))


def folders(root: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    return sorted((path for path in root.glob("step-*") if path.name.removeprefix("step-").isdigit()), key=step_of)


def set_aside(folder: Path) -> Path:
    """Rename a damaged checkpoint, which keeps it for inspection, and return its new path."""
    aside = folder.with_name(f"damaged-{folder.name}")
    _discard(aside)
    return folder.rename(aside)


def verify(folder: Path) -> dict[str, Any]:
    """Return the metadata of a checkpoint; CheckpointError if a file is missing or was changed."""
    meta = metadata(folder)
    for name, expected in meta["sha256"].items():
        if not (folder / name).is_file():
            raise CheckpointError(f"{folder / name}: the file is missing")
        if sha256(folder / name) != expected:
            raise CheckpointError(f"{folder / name}: the file was changed or damaged after it was saved")
    return meta


def metadata(folder: Path) -> dict[str, Any]:
    """Return the content of state.json; CheckpointError if it is damaged or has another format."""
    path = folder / "state.json"
    try:
        meta = read_json(path)
        known, digest = meta["format"], meta.pop("digest", None)
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: not the state of a checkpoint ({error})") from error
    if known != FORMAT:
        raise CheckpointError(f"{path}: format {known} is unknown here; this version reads {FORMAT}")
    if digest != json_sha256(meta):
        raise CheckpointError(f"{path}: the file was changed or damaged after it was saved")
    return meta


def scheduled_folders(root: Path, read: Callable[[Path], dict[str, Any] | None] = metadata) -> list[Path]:
    """Return the checkpoints that averaging may use, oldest first.

    If a run was prolonged, the checkpoint at its earlier end is skipped.

    Args:
        read: returns the metadata of a checkpoint, or None to skip it.

    Raises CheckpointError if `read` does.
    """
    found = [(folder, read(folder)) for folder in folders(root)]
    return [
        folder
        for folder, meta in found
        if meta and meta["scheduled"] and (folder == found[-1][0] or not meta.get("at_end", False))
    ]


def prune(root: Path, keep: Collection[Path]) -> None:
    """Delete all checkpoints but those in `keep`, and the leftovers of killed saves."""
    for folder in folders(root):
        if folder not in keep:
            _discard(folder)
    for leftover in root.glob(".step-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def random_generators() -> Generators:
    """Return the state of this process's random generators by device."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _optimizer_tensors(optimizer: torch.optim.Optimizer, generators: Sequence[Generators]) -> dict[str, Tensor]:
    """Return the optimizer's state by parameter number, and the generators of every rank, as named tensors."""
    tensors = {
        f"{i}.{name}": value.detach().cpu().contiguous()
        for i, moments in optimizer.state_dict()["state"].items()
        for name, value in moments.items()
    }
    for rank, states in enumerate(generators):
        tensors |= {f"random.{device}.{rank}": state for device, state in states.items()}
    return tensors


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], rank: int) -> None:
    random = {key: tensors.pop(key) for key in list(tensors) if key.startswith("random.")}
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    cpu, cuda = (random.get(f"random.{device}.{rank}") for device in ("cpu", "cuda"))
    if cpu is not None:
        torch.set_rng_state(cpu)
    if cuda is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(cuda)


def _discard(folder: Path) -> None:
    """Delete a folder; it is renamed first, so that a kill cannot leave a part of it under its name."""
    if folder.exists():
        shutil.rmtree(folder.rename(folder.with_name(f".{folder.name}.old")), ignore_errors=True)


def _n_bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{max(n_bytes, 1e5) / 1e6:,.1f} MB"
