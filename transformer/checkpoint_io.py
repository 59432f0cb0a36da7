"""A model as a folder: `config.json` and `model.safetensors`. Nothing is pickled.

A missing, truncated or foreign file raises CheckpointError with one sentence.

Weights are stored exactly ("fp32"), rounded ("bf16"), or as integers from -127 to 127 with a scale for each row of a
matrix ("int8": the tensor `name` and `name.scale`). A model is always loaded as float32.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer.config import FORMAT, CheckpointError, load_config
from transformer.model import Transformer

Storage = Literal["fp32", "bf16", "int8"]
_SCALE = ".scale"


def save_model(model: Transformer, folder: Path | str, dtype: Storage = "fp32") -> None:
    """Write config and weights.

    Args:
        folder: an existing folder.
        dtype: how matrices are stored; "fp32" is exact for weights of at most 32 bits. ValueError if there is no such
            type.
    """
    if dtype not in get_args(Storage):
        raise ValueError(f"dtype = {dtype!r} is none of: {', '.join(get_args(Storage))}")
    folder = Path(folder)
    description = {"format": FORMAT, "model": asdict(model.config)}
    tensors = {name: t.detach().float().contiguous() for name, t in model.state_dict().items()}
    # Both are complete before one of them has its name: a full disk must not leave this config with older weights.
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving.") as partial:
        Path(partial, "config.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        save_file(_compact(tensors, dtype), Path(partial, "model.safetensors"))
        for name in ("model.safetensors", "config.json"):
            Path(partial, name).replace(folder / name)


def _compact(tensors: dict[str, Tensor], dtype: Storage) -> dict[str, Tensor]:
    """Return the tensors to store. Vectors stay in float32: they are small, and norms are sensitive."""
    stored = dict(tensors)
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and dtype == "bf16":
            stored[name] = tensor.bfloat16()
        elif tensor.ndim == 2 and dtype == "int8":
            stored[name], stored[name + _SCALE] = quantise(tensor)
    return stored


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return integers from -127 to 127 (int8) and the scale of each row; the rounding error is at most scale / 2.

    A row that is not finite has a scale that is not finite, so that a diverged model stays one.
    """
    matrix = matrix.float()
    scale = matrix.abs().amax(dim=1) / 127
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)  # a row of zeros
    return (matrix / scale[:, None]).round().clamp(-127, 127).to(torch.int8), scale


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Return all tensors of a safetensors file; int8 tensors with scales are converted to float32."""
    try:
        return _expanded(load_file(path), path)
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: the file is missing; copy the folder again") from error
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: the file is damaged or truncated ({error}); copy it again") from error


def _expanded(stored: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return the tensors, with scales applied."""
    scaled = [name for name, tensor in stored.items() if tensor.dtype == torch.int8]
    scales = {name + _SCALE for name in scaled}
    tensors = {name: tensor for name, tensor in stored.items() if name not in scales}
    for name in scaled:
        matrix, scale = stored[name], stored.get(name + _SCALE)
        if scale is None or matrix.ndim != 2 or scale.shape != matrix.shape[:1]:
            raise CheckpointError(f"{path}: the tensor {name!r} is int8 without a scale for each row; copy it again")
        tensors[name] = matrix.float() * scale[:, None].float()
    return tensors


def _check_weights(tensors: dict[str, Tensor], path: Path) -> None:
    """Raise CheckpointError if a tensor holds something else, which a copy would convert silently."""
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise CheckpointError(
                f"{path}: the tensor {name!r} has type {tensor.dtype}, not that of weights; copy the folder again"
            )


_DRAWS = {Tensor.uniform_, Tensor.normal_, nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_}


class _Undrawn(TorchFunctionMode):
    """Draws no initial values, which takes longer than to read those that replace them."""

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function of torch, or return the tensor that it would fill at random."""
        kwargs = kwargs or {}
        return (args[0] if args else kwargs["tensor"]) if func in _DRAWS else func(*args, **kwargs)


def load_model(folder: Path | str, device: torch.device | str = "cpu") -> Transformer:
    """Return the model in `folder`, in eval mode."""
    folder = Path(folder)
    config = load_config(folder)
    tensors = load_tensors(folder / "model.safetensors")  # before the memory for a model of the config's sizes
    try:
        with _Undrawn():
            model = Transformer(config)
    except (RuntimeError, TypeError, MemoryError) as error:  # TypeError: a size beyond 64 bits
        raise CheckpointError(f"{folder / 'config.json'}: a model of these sizes does not fit into memory") from error
    load_weights(model, tensors, folder / "model.safetensors")
    return model.to(device).eval()


def load_weights(model: Transformer, tensors: dict[str, Tensor], path: Path) -> None:
    """Copy tensors into the model.

    Args:
        tensors: a tensor for each name in the model's state dict. CheckpointError names the first that is missing,
            unexpected or of another shape.
        path: their file, for messages.
    """
    _check_weights(tensors, path)
    expected = model.state_dict()
    for name in sorted(expected.keys() ^ tensors.keys()):
        what = "is missing" if name in expected else "is not part of this model"
        raise CheckpointError(
            f"{path}: the tensor {name!r} {what}; config and weights do not belong together, so copy the folder again"
        )
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise CheckpointError(
                f"{path}: the tensor {name!r} has shape {tuple(tensor.shape)}, the config asks for "
                f"{tuple(expected[name].shape)}; config and weights do not belong together, so copy the folder again"
            )
    model.load_state_dict(tensors)


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Return the mean weights of several safetensors files of one model (6.1): sums in float64, means in float32."""
    if not paths:
        raise CheckpointError("no checkpoints to average")
    first = load_tensors(paths[0])
    _check_weights(first, paths[0])
    total = {name: tensor.double() for name, tensor in first.items()}
    for path in paths[1:]:
        tensors = load_tensors(path)
        _check_weights(tensors, path)
        if {n: t.shape for n, t in tensors.items()} != {n: t.shape for n, t in first.items()}:
            raise CheckpointError(
                f"{path}: its tensors differ from those of {paths[0]}; average one model's checkpoints"
            )
        for name, tensor in tensors.items():
            total[name] += tensor
    wide = {name: torch.promote_types(tensor.dtype, torch.float32) for name, tensor in first.items()}
    return {name: (tensor / len(paths)).to(wide[name]) for name, tensor in total.items()}
