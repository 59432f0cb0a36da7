"""Checkpoints: complete, checksummed, and written so that a crash at any moment costs at most the newest one.

    checkpoints/step-00001200/
        config.json model.safetensors tokenizer.model translation.json   a model folder like any other
        optimizer.safetensors    Adam's moments and the random generators
        ema.safetensors          with training.ema: the moving average of the parameters
        state.json               the rest of the state as plain values, the SHA-256 of every other file, and its own

A folder is filled under another name, flushed to the disk, and renamed: a name of that form is always complete.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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

FORMAT = 1

Generators = Mapping[str, Tensor]  # states of random generators by device


@dataclass
class TrainState:
    """All that a run remembers beside tensors, as plain values.

    Attributes:
        step: updates done.
        position: the next batch of the sampler.
        best_nll, best_bleu: the best validation loss, nats a token, or the best BLEU; the other one stays None.
        best_step: where it was met.
        stale_validations: validations since then.
        n_tokens: source and target tokens trained on, padding not counted.
        seconds: time spent training and validating, over all starts of the run.
        n_skipped: updates left out because loss or gradient was not finite.
        warned: warnings that the run has given, by key; each is given once.
        n_ranks: processes that trained together at the last save.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    best_nll: float | None = None
    best_bleu: float | None = None
    best_step: int = 0
    stale_validations: int = 0
    n_tokens: int = 0
    seconds: float = 0.0
    n_skipped: int = 0
    warned: list[str] = field(default_factory=list)
    n_ranks: int = 1

    def see_validation(self, nll: float, bleu: float | None, best_by: str) -> None:
        """Keep the score that `best_by` names if it is the best so far, else count one more that is not.

        Args:
            nll: validation loss in nats a token.
            bleu: of the validation set, or None.
            best_by: "loss" or "bleu".
        """
        if best_by == "bleu" and bleu is not None and (self.best_bleu is None or bleu > self.best_bleu):
            self.best_bleu = bleu
        elif best_by == "loss" and math.isfinite(nll) and (self.best_nll is None or nll < self.best_nll):
            self.best_nll = nll
        else:
            self.stale_validations += 1
            return
        self.best_step, self.stale_validations = self.step, 0


def name_of(step: int) -> str:
    """The folder's name for a step; names sort as steps do up to 99,999,999."""
    return f"step-{step:08d}"


def step_of(folder: Path) -> int:
    """The step in a folder's name."""
    return int(folder.name.removeprefix("step-"))


def checkpoints(root: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return sorted((path for path in root.glob("step-*") if path.name.removeprefix("step-").isdigit()), key=step_of)


def damaged(root: Path) -> list[Path]:
    """Checkpoints that were set aside."""
    return sorted(root.glob("damaged-step-*"))


def set_aside(folder: Path) -> Path:
    """Rename a damaged checkpoint, so that nothing takes it for a good one and its owner can still look at it."""
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
    generators: Sequence[Generators] | None = None,
) -> Path:
    """Write one checkpoint and return its folder; UserError if the disk refuses, and then nothing has changed.

    `generators` are those of each rank; None stands for this process alone. `scheduled` tells those of the step count,
    which averaging may use, from those that only guard against loss.
    """
    final = root / name_of(state.step)
    partial = root / f".{final.name}.partial"
    try:
        root.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        write_model(partial)
        save_file(_optimizer_tensors(optimizer, generators or [random_generators()]), partial / "optimizer.safetensors")
        hashes = {path.name: sha256(path) for path in sorted(partial.iterdir())}
        meta = {"format": FORMAT, "scheduled": scheduled, "state": asdict(state), "sha256": hashes}
        meta["digest"] = _digest(meta)
        (partial / "state.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
        for path in (*partial.iterdir(), partial):
            _flush(path)
        _discard(final)
        partial.rename(final)
        _flush(root)
    except (OSError, SafetensorError) as error:  # safetensors has its own error for a full disk
        shutil.rmtree(partial, ignore_errors=True)
        raise UserError(f"{final}: cannot save the checkpoint: {error}; earlier checkpoints are untouched") from error
    return final


def load(folder: Path, model: Transformer, optimizer: torch.optim.Optimizer, rank: int = 0) -> TrainState:
    """Restore everything, random generators included; CheckpointError if a file is not what was saved.

    A rank beyond those that saved keeps the generators that it has.
    """
    meta = verify(folder)
    path = folder / "model.safetensors"
    load_weights(model, load_tensors(path), path)
    path = folder / "optimizer.safetensors"
    _restore_optimizer(optimizer, load_tensors(path), path, rank)
    values = meta["state"]
    return TrainState(**{**values, "position": Position(*values["position"])})


def verify(folder: Path) -> dict[str, Any]:
    """The metadata of a checkpoint whose files are all present and unchanged; CheckpointError otherwise."""
    meta = _metadata(folder)
    for name, expected in meta["sha256"].items():
        if not (folder / name).is_file():
            raise CheckpointError(f"{folder / name}: the file is missing")
        if sha256(folder / name) != expected:
            raise CheckpointError(f"{folder / name}: the file was changed or damaged after it was saved")
    return meta


def _metadata(folder: Path) -> dict[str, Any]:
    """The parsed state.json; one that bears no digest is from before there was such a field."""
    path = folder / "state.json"
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        if meta["format"] != FORMAT:
            raise CheckpointError(f"{path}: format {meta['format']} is unknown here; this version reads {FORMAT}")
        if meta.pop("digest", digest := _digest(meta)) != digest:
            raise CheckpointError(f"{path}: the file was changed or damaged after it was saved")
        return {key: meta[key] for key in ("scheduled", "state", "sha256")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{path}: not the state of a checkpoint ({error})") from error


def _digest(meta: dict[str, Any]) -> str:
    """SHA-256 of all values but the digest itself, whatever their order and spacing."""
    values = {key: value for key, value in meta.items() if key != "digest"}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def is_scheduled(folder: Path) -> bool:
    """Whether averaging may use this checkpoint; CheckpointError if its state cannot be read."""
    return bool(_metadata(folder)["scheduled"])


def prune(root: Path, keep: Collection[Path]) -> None:
    """Delete the checkpoints that are not to be kept, and what killed saves have left."""
    for folder in checkpoints(root):
        if folder not in keep:
            _discard(folder)
    for leftover in root.glob(".step-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def sha256(path: Path) -> str:
    """Hexadecimal digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def random_generators() -> Generators:
    """The state of this process's random generators by device."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _optimizer_tensors(optimizer: torch.optim.Optimizer, generators: Sequence[Generators]) -> dict[str, Tensor]:
    """Adam's state by parameter number, and the generators of every rank, as named tensors."""
    tensors = {
        f"{i}.{name}": value.detach().cpu().contiguous()
        for i, moments in optimizer.state_dict()["state"].items()
        for name, value in moments.items()
    }
    for rank, states in enumerate(generators):
        tensors |= {_random_name(device, rank): state for device, state in states.items()}
    return tensors


def _random_name(device: str, rank: int) -> str:
    return f"random.{device}.{rank}" if rank else f"random.{device}"


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], path: Path, rank: int) -> None:
    random = {key: tensors.pop(key) for key in list(tensors) if key.startswith("random.")}
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    saved = optimizer.state_dict()
    n_parameters = len(saved["param_groups"][0]["params"])
    if "random.cpu" not in random or (state and len(state) != n_parameters):
        raise CheckpointError(f"{path}: holds the state of another optimizer; it cannot continue this run")
    optimizer.load_state_dict({"state": state, "param_groups": saved["param_groups"]})
    cpu, cuda = (random.get(_random_name(device, rank)) for device in ("cpu", "cuda"))
    if cpu is not None:
        torch.set_rng_state(cpu)
    if cuda is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(cuda)


def _discard(folder: Path) -> None:
    """Delete a folder; renamed first, so that a kill in between leaves no half of one under a good name."""
    if folder.exists():
        shutil.rmtree(folder.rename(folder.with_name(f".{folder.name}.old")), ignore_errors=True)


def _flush(path: Path) -> None:
    """Make a file or a folder's entries survive a power cut, where the system can be asked to."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
