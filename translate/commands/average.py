"""`translate average`: the mean of several checkpoints as one model (6.1)."""

from collections.abc import Sequence
from pathlib import Path

from translate.commands.messages import say
from translate.errors import UserError
from translate.models import folder as model_folder


def average(folders: Sequence[Path], *, out: Path, last: int) -> None:
    """Write the mean of the weights as a new model folder.

    Args:
        folders: model folders and checkpoints, or run directories, which stand for their newest scheduled checkpoints.
        out: the new model folder.
        last: how many checkpoints of each run.

    Raises UserError if there is nothing to average, if the models differ, or if `out` exists; CheckpointError if a
    checkpoint is not what was saved.
    """
    from transformer import checkpoint_io
    from translate.corpus.tokenizer import Tokenizer
    from translate.training import checkpoint

    if out.exists():
        raise UserError(f"{out}: exists already; name another folder with --out, or remove it")
    members = [member for folder in folders for member in _members(folder, last)]
    first = members[0]
    config, tokenizer = checkpoint_io.load_config(first), Tokenizer.load(first / "tokenizer.model")
    languages = _languages(first)
    for member in members:
        if (member / "state.json").exists():
            checkpoint.verify(member)
        if checkpoint_io.load_config(member) != config:
            raise UserError(f"{member}: its architecture differs from that of {first}; average one model's checkpoints")
        if Tokenizer.load(member / "tokenizer.model").serialized != tokenizer.serialized:
            raise UserError(f"{member}: its tokenizer differs from that of {first}; average one model's checkpoints")
        if _languages(member) != languages:
            raise UserError(f"{member}: its languages differ from those of {first}; average one model's checkpoints")
    opened = model_folder.ModelFolder.open(first)
    path = out / "model.safetensors"
    mean = checkpoint_io.average([member / "model.safetensors" for member in members])
    checkpoint_io.load_weights(opened.model, mean, path)
    model_folder.save(opened.model, tokenizer, opened.spec, out)
    say(f"wrote {out}, the mean of {len(members)}: {', '.join(str(member) for member in members)}")


def _languages(folder: Path) -> tuple[str, str]:
    spec = model_folder.TranslationSpec.load(folder / "translation.json")
    return spec.source, spec.target


def _members(folder: Path, last: int) -> list[Path]:
    """The model folders that `folder` stands for."""
    from translate.training import checkpoint

    if model_folder.is_complete(folder):
        return [folder]
    scheduled = [step for step in checkpoint.checkpoints(folder / "checkpoints") if checkpoint.is_scheduled(step)]
    if not scheduled:
        raise UserError(f"{folder}: neither a model folder nor a run directory with checkpoints to average")
    if len(scheduled) < last:
        say(f"{folder} has {len(scheduled)} checkpoints of the step count, fewer than --last {last}; using them all")
    return scheduled[-last:]
