"""`translate compress`: store a model's weights in fewer bits."""

from dataclasses import dataclass
from typing import Annotated, Literal

from translate.errors import say
from translate.files import new_folder, write_bytes
from translate.models import folder as model_folder
from translate.models import registry
from translate.options import OUTPUT, NamedModel, Out, option


@dataclass(frozen=True, kw_only=True)
class CompressOptions:
    """Store a model's weights in fewer bits."""

    model: NamedModel
    out: Out
    dtype: Annotated[
        Literal["int8", "bf16", "fp32"], option(OUTPUT, "TYPE", "Type of the stored weights: int8, bf16 or fp32.")
    ] = "int8"


def run(options: CompressOptions) -> None:
    """Write a copy of a model, with its card, whose weights are stored as `dtype`.

    "bf16" halves the size of the file, "int8" quarters it; "fp32" only unpacks. Raises UserError if there is no such
    model or `out` exists.
    """
    folder, out = registry.locate(options.model, say), options.out
    original = model_folder.ModelFolder.open(folder)
    with model_folder.writing(out), new_folder(out) as new:
        spec = original.spec.with_alignment_layer(original.model)
        model_folder.write_model(original.model, original.tokenizer, spec, new, options.dtype)
        before, after = (model_folder.Weights.read(place) for place in (folder, new))
        note = f"Stored in {after.precision} by `translate compress`; this card has the scores in {before.precision}."
        for card in registry.card_files(folder):
            heading, _, rest = card.read_bytes().partition(b"\n")
            heading = heading.replace(before.precision.encode(), after.precision.encode())
            write_bytes(new / card.name, b"%s\n%s\n\n%s\n" % (heading, rest.rstrip(), note.encode()))
    say(
        f"wrote {out}: {after.n_parameters / 1e6:.2f} M parameters, {before.precision} to {after.precision}, "
        f"{before.n_bytes / 1e6:.1f} MB to {after.n_bytes / 1e6:.1f} MB"
    )
