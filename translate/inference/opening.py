"""The choice of an engine: CTranslate2 on CPUs, PyTorch where that is missing or cannot do what is asked for."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from translate.errors import UserError
from translate.inference.engine import Engine, TorchEngine
from translate.machine import bf16_pays, choose_device
from translate.models.folder import CTRANSLATE2_FILE, ModelFolder
from translate.models.registry import Weights

if TYPE_CHECKING:
    import torch

    from translate.inference.ctranslate2_engine import CTranslate2Engine

EngineName = Literal["auto", "ctranslate2", "torch"]
AnyPrecision = Literal["fp32", "bf16", "int8", "auto"]


def open_engine(
    folder: Path,
    name: EngineName = "auto",
    *,
    device: "torch.device | str | None" = None,
    precision: AnyPrecision | None = None,
    threads: int | None = None,
) -> "CTranslate2Engine | TorchEngine":
    """Load a model folder, or a CTranslate2 folder of `translate export`.

    Args:
        folder: the path.
        name: "ctranslate2" computes on the CPU, "torch" on any device; "auto" is PyTorch on GPUs, for bf16, and for
            models that CTranslate2 cannot load, else CTranslate2.
        device: where to compute; None chooses CUDA if available.
        precision: "fp32" gives the same translations in both engines, if no repetitions are forbidden; "auto" is the
            fastest one of the engine; None is int8 in CTranslate2 if the weights are stored in it, or else fp32.
        threads: batches that CTranslate2 translates at a time; None is one for each core.

    Raises UserError or CheckpointError if the folder cannot be used, or if the engine has no such precision or device.
    """
    from translate.inference.ctranslate2_engine import CTranslate2Engine

    if (folder / CTRANSLATE2_FILE).is_file():
        if name == "torch" or precision not in (None, "fp32"):
            raise UserError(f"{folder}: a CTranslate2 folder has an engine and a precision of its own; leave them out")
        return CTranslate2Engine.open(folder, threads, "auto" if device is None else str(device))
    require_precision(name, precision)
    if name == "ctranslate2" and device is not None and not _on_cpu(device):
        raise UserError(f"the engine ctranslate2 computes on the CPU, not on {device}; leave one of them out")
    if name == "ctranslate2" or (name == "auto" and precision != "bf16" and _on_cpu(device)):
        try:
            chosen = precision or ("int8" if _is_stored_in_int8(folder) else "fp32")
            return CTranslate2Engine.convert(folder, threads, "float32" if chosen == "fp32" else "int8")
        except UserError:  # PyTorch says better what is wrong with a folder
            if name == "ctranslate2" or precision == "int8":
                raise
    if precision == "int8":
        raise UserError("int8 needs CTranslate2, which computes on the CPU; leave the device out, or use bf16")
    where = choose_device() if device is None else device
    model = ModelFolder.open(folder, where)
    is_half = precision == "bf16" or (precision == "auto" and bf16_pays(model.model.device))
    return TorchEngine(model, "bf16" if is_half else "fp32")


def require_precision(name: EngineName, precision: AnyPrecision | None) -> None:
    """Raise UserError if an engine has no such precision."""
    for engine, impossible, other in (("ctranslate2", "bf16", "int8"), ("torch", "int8", "bf16")):
        if (name, precision) == (engine, impossible):
            raise UserError(f"the engine {engine} has no precision {impossible}; use {other}")


def open_scorer(
    folder: Path,
    name: EngineName,
    *,
    device: "torch.device | str | None" = None,
    precision: AnyPrecision | None = None,
    threads: int | None = None,
) -> "CTranslate2Engine | TorchEngine":
    """Open a model that scores given translations; the arguments are those of `open_engine`.

    Scores are never in bf16, whose rounding would change which sentences are flagged.
    """
    precision = "fp32" if precision == "bf16" else precision
    return open_engine(folder, name, device=device, precision=precision, threads=threads)


def torch_engine(engine: Engine) -> TorchEngine | None:
    """Return the engine of PyTorch for the same model; None if there is only a CTranslate2 folder."""
    if isinstance(engine, TorchEngine):
        return engine
    twin = getattr(engine, "twin", None)
    return None if twin is None else twin.engine


def _is_stored_in_int8(folder: Path) -> bool:
    return Weights.read(folder / "model.safetensors").precision == "int8"


def _on_cpu(device: "torch.device | str | None") -> bool:
    """Return whether the device is a CPU; torch is imported only if there is a GPU that it might use."""
    if device is not None:
        return str(device) == "cpu"
    from translate.inference.ctranslate2_engine import package

    try:
        has_gpu = package().get_cuda_device_count() > 0
    except (UserError, RuntimeError):  # CTranslate2 is missing or broken, so PyTorch is used anyway
        return False
    return not has_gpu or choose_device().type == "cpu"
