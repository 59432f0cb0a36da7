"""`translate compress`: a model folder with smaller weights."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from translate.commands.messages import say
from translate.models import folder as model_folder
from translate.models import registry as installed

if TYPE_CHECKING:
    from transformer.checkpoint_io import Storage


def compress(path: Path, *, to: Path, dtype: "Storage") -> None:
    """Write a model once more, with its card, and with weights stored in `dtype`.

    Args:
        path: path or name of a model folder or run.
        to: the new model folder.
        dtype: "bf16" halves the file, "int8" quarters it; "fp32" only unpacks.

    Raises UserError if there is no such model or `to` exists.
    """
    folder = installed.locate(path, say)
    parts = model_folder.ModelFolder.open(folder)
    model_folder.save(parts.model, parts.tokenizer, parts.spec, to, dtype=dtype)
    for name in installed.CARDS:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, to / name)
    before, after = (installed.Weights.read(place / "model.safetensors") for place in (folder, to))
    say(
        f"wrote {to}: {after.n_parameters / 1e6:.2f} M parameters, {before.precision} to {after.precision}, "
        f"{before.n_bytes / 1e6:.1f} MB to {after.n_bytes / 1e6:.1f} MB"
    )
