"""The weights of a model folder as NumPy arrays, without PyTorch; see `transformer.checkpoint_io` for the format."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

_TYPES = {"F32": np.float32, "I8": np.int8, "BF16": np.uint16}
_SCALE = ".scale"


def read(path: Path) -> dict[str, Array]:
    """Return the tensors of a weights file in float32, as `transformer.checkpoint_io.load_tensors` does.

    Raises OSError, SafetensorError or ValueError if it is not one.
    """
    from safetensors import deserialize

    stored = {name: _array(tensor) for name, tensor in deserialize(path.read_bytes())}  # type: ignore[no-untyped-call]
    scaled = {name: name + _SCALE for name, array in stored.items() if array.dtype == np.int8}
    arrays = {
        name: array.astype(np.float32, copy=False) for name, array in stored.items() if name not in {*scaled.values()}
    }
    for name, scale in scaled.items():
        if scale not in stored or stored[name].shape[:1] != stored[scale].shape:
            raise ValueError(f"{path}: the tensor {name!r} is int8 without a scale for each row")
        arrays[name] *= stored[scale][:, None]
    return arrays


def _array(tensor: dict[str, Any]) -> NDArray[Any]:
    """Return a tensor of safetensors as an array; bf16 becomes float32."""
    if (kind := _TYPES.get(tensor["dtype"])) is None:
        raise ValueError(f"a tensor has the type {tensor['dtype']}, which models do not have")
    array: NDArray[Any] = np.frombuffer(tensor["data"], dtype=kind).reshape(tensor["shape"])
    if tensor["dtype"] == "BF16":  # the upper half of a float32
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array
