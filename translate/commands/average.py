"""`translate average`: the mean of several checkpoints as one model (6.1)."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from transformer.config import load_config
from translate.errors import UserError, say
from translate.models import folder as model_folder
from translate.models import registry
from translate.options import Out, model_argument, option


@dataclass(frozen=True, kw_only=True)
class AverageOptions:
    """Average the weights of several checkpoints into one model."""

    folders: Annotated[list[Path], model_argument("FOLDER", "Runs, checkpoints or models.")]
    out: Out
    last: Annotated[int, option("Checkpoints", "N", "Checkpoints taken from each run.", min=1)] = 5


def run(options: AverageOptions) -> None:
    """Write the mean of several models' weights as a new model folder; a run contributes its newest checkpoints.

    Raises UserError if there is nothing to average, if the models differ, or if `out` exists; CheckpointError if a
    checkpoint has changed since it was saved.
    """
    from transformer import checkpoint_io
    from translate.corpus.tokenizer import Tokenizer
    from translate.training import checkpoints

    out = options.out
    model_folder.refuse_existing(out)
    members = [member for folder in options.folders for member in _members(folder, options.last)]
    counts = Counter(member.resolve() for member in members)
    if twice := [member for member in members if counts[member.resolve()] > 1]:
        raise UserError(f"{twice[0]}: would count twice in the mean; name each model once")
    first = members[0]

    def properties(member: Path) -> dict[str, object]:
        spec = model_folder.TranslationSpec.load(member)
        tokenizer = Tokenizer.load(member / "tokenizer.model")
        architecture = load_config(member)
        languages = (spec.source, spec.target)
        return {"architecture": architecture, "tokenizer": tokenizer.serialized, "languages": languages}

    expected = properties(first)
    for member in members:
        if (member / "state.json").exists():
            checkpoints.verify(member)
        for name, value in properties(member).items():
            if value != expected[name]:
                raise UserError(f"{member}: other {name} than {first}; average checkpoints of one model")
    opened = model_folder.ModelFolder.open(first)
    mean = checkpoint_io.average([member / "model.safetensors" for member in members])
    checkpoint_io.load_weights(opened.model, mean, out / "model.safetensors")
    model_folder.save(opened.model, opened.tokenizer, opened.spec, out)
    say(f"wrote {out}, the mean of {len(members)}: {', '.join(str(member) for member in members)}")


def _members(name: Path, last: int) -> list[Path]:
    """The model folder of this path or name, or the last checkpoints of the run."""
    from translate.training import checkpoints

    folder = registry.find_folder(name, say, is_run=True)
    if model_folder.is_complete(folder):
        return [folder]
    scheduled = checkpoints.scheduled_folders(folder / "checkpoints")
    if not scheduled:
        raise UserError(f"{folder}: neither a model folder nor a run with checkpoints to average; name one of these")
    if len(scheduled) < last:
        say(f"{folder} has {len(scheduled)} scheduled checkpoints, fewer than --last {last}; using them all")
    return scheduled[-last:]
