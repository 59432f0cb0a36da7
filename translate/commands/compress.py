"""`translate compress`: store a model's weights in fewer bits."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from translate.commands.messages import say
from translate.models import folder as model_folder
from translate.models import registry

if TYPE_CHECKING:
    from transformer.checkpoint_io import Storage


def compress(model: Path, *, to: Path, dtype: "Storage") -> None:
    """Write a copy of a model, with its card, whose weights are stored as `dtype`.

    Args:
        model: path or name of a model.
        to: the new model folder.
        dtype: "bf16" halves the size of the file, "int8" quarters it; "fp32" only unpacks.

    Raises UserError if there is no such model or `to` exists.
    """
    folder = registry.locate(model, say)
    original = model_folder.ModelFolder.open(folder)
    model_folder.save(original.model, original.tokenizer, original.spec, to, dtype=dtype)
    for name in registry.CARDS:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, to / name)
    before, after = (registry.Weights.read(place / "model.safetensors") for place in (folder, to))
    say(
        f"wrote {to}: {after.n_parameters / 1e6:.2f} M parameters, {before.precision} to {after.precision}, "
        f"{before.n_bytes / 1e6:.1f} MB to {after.n_bytes / 1e6:.1f} MB"
    )
