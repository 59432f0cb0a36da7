"""Checkpoints: complete, checksummed folders; a crash at any moment costs at most the newest one.

    checkpoints/step-00001200/
        config.json model.safetensors tokenizer.model translation.json   a model folder like any other
        optimizer.safetensors    Adam's moments and the random generators
        ema.safetensors          with training.ema: the moving average of the parameters
        state.json               the rest of the state, the SHA-256 of every other file, and its own

A folder is filled under another name, flushed to the disk and renamed, so a folder with such a name is complete.
"""

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from transformer.checkpoint_io import CheckpointError, load_tensors, load_weights
from transformer.model import Transformer
from translate.corpus.batches import Position
from translate.errors import UserError
from translate.files import new_folder, read_json, sha256, write_json

FORMAT = 2

Generators = Mapping[str, Tensor]  # states of random generators by device


@dataclass
class TrainState:
    """The state of a run besides tensors, as plain values.

    Attributes:
        step: number of updates.
        position: the next batch of the sampler.
        best_score: the best BLEU of the validation set, or minus the best loss in nats a token.
        best_step: the step of the best score.
        stale_validations: validations since the best one.
        n_batches: micro-batches of all updates, over all ranks.
        n_tokens: source and target tokens trained on, padding not counted.
        n_flops: floating-point operations of all updates up to the last save.
        seconds: time of training and validation, over all starts of the run.
        n_skipped: updates left out because loss or gradient was not finite.
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


def name_of(step: int) -> str:
    """Return the folder name of a step; up to step 99,999,999 names sort like steps."""
    return f"step-{step:08d}"


def step_of(folder: Path) -> int:
    """Return the step in a folder's name."""
    return int(folder.name.removeprefix("step-"))


def checkpoints(root: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    return sorted((path for path in root.glob("step-*") if path.name.removeprefix("step-").isdigit()), key=step_of)


def set_aside(folder: Path) -> Path:
    """Rename a damaged checkpoint, which keeps it for inspection, and return its new path."""
    aside = folder.with_name(f"damaged-{folder.name}")
    _discard(aside)
    return folder.rename(aside)


def save(
    root: Path,
    write_model: Callable[[Path], None],
    optimizer: torch.optim.Optimizer,
    state: TrainState,
    *,
    scheduled: bool,
    at_end: bool = False,
    generators: Sequence[Generators] | None = None,
) -> Path:
    """Write one checkpoint and return its folder.

    Args:
        root: the folder of all checkpoints.
        write_model: writes the model folder's files, and others, into a folder.
        optimizer: its state is saved.
        state: the rest of the state.
        scheduled: whether averaging may use this checkpoint; others only protect against loss.
        at_end: whether it is scheduled only because the run ends; averaging ignores it if the run is prolonged.
        generators: random generators of each rank; None takes those of this process.

    Raises UserError if a file cannot be written; older checkpoints are then unchanged.
    """
    folder = root / name_of(state.step)
    try:
        with new_folder(folder, replace=True, durable=True) as partial:
            write_model(partial)
            tensors = _optimizer_tensors(optimizer, generators or [random_generators()])
            save_file(tensors, partial / "optimizer.safetensors")
            hashes = {path.name: sha256(path) for path in sorted(partial.iterdir())}
            meta = {
                "format": FORMAT,
                "scheduled": scheduled,
                "at_end": at_end,
                "state": asdict(state),
                "sha256": hashes,
            }
            write_json(partial / "state.json", {**meta, "digest": _digest(meta)})
    except (OSError, SafetensorError) as error:  # safetensors has its own error for a full disk
        raise UserError(f"{folder}: cannot save the checkpoint: {error}; earlier checkpoints are untouched") from error
    return folder


def load(folder: Path, model: Transformer, optimizer: torch.optim.Optimizer, rank: int = 0) -> TrainState:
    """Restore model, optimizer and random generators, and return the rest of the state.

    Args:
        folder: the checkpoint.
        model, optimizer: receive the saved values.
        rank: whose random generators to restore; a rank that did not exist at the save keeps its own.

    Raises CheckpointError if a file is not the one that was saved, UserError if another version wrote the state.
    """
    meta = verify(folder)
    path = folder / "model.safetensors"
    load_weights(model, load_tensors(path), path)
    _restore_optimizer(optimizer, load_tensors(folder / "optimizer.safetensors"), rank)
    values = meta["state"]
    if unknown := sorted(values.keys() - {key.name for key in fields(TrainState)}):
        raise UserError(
            f"{folder / 'state.json'}: written by another version, as this one does not know its {', '.join(unknown)}; "
            "resume with the version that wrote it"
        )
    return TrainState(**{**values, "position": Position(*values["position"])})


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
    if digest != _digest(meta):
        raise CheckpointError(f"{path}: the file was changed or damaged after it was saved")
    return meta


def _digest(meta: dict[str, Any]) -> str:
    """Return the SHA-256 of values, independent of the order of keys and of white space."""
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def scheduled(root: Path) -> list[Path]:
    """Return the checkpoints that averaging may use, oldest first; CheckpointError if a state cannot be read.

    If a run was prolonged, the checkpoint at its earlier end is left out.
    """
    steps = checkpoints(root)
    states = [metadata(step) for step in steps]
    return [
        step
        for step, meta in zip(steps, states, strict=True)
        if meta["scheduled"] and (step == steps[-1] or not meta.get("at_end", False))
    ]


def prune(root: Path, keep: Collection[Path]) -> None:
    """Delete all checkpoints but those in `keep`, and the leftovers of killed saves."""
    for folder in checkpoints(root):
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
