"""`translate models`: what is installed, and the card of each model."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from translate.commands.messages import say
from translate.errors import UserError
from translate.models import registry as installed
from translate.models.folder import TranslationSpec


@dataclass(frozen=True)
class Installed:
    """A model as it is listed.

    Attributes:
        name: by which --model knows it.
        source, target: its languages.
        parameters: how many numbers the network has.
        precision: of the stored weights, "fp32", "bf16" or "int8".
        bytes: size of the model folder.
        path: where it is.
        about: the first line of its card; "" without one.
    """

    name: str
    source: str
    target: str
    parameters: int
    precision: str
    bytes: int
    path: str
    about: str


def models(name: Path | None, *, as_json: bool) -> None:
    """Print a table of the installed models, or one model's card.

    Args:
        name: name or path of the model whose card is wanted; None lists all.
        as_json: write JSON: a list of objects, or one object that holds the card too.

    Raises UserError if there is no such model or it has no card. A model that cannot be read is named on stderr.
    """
    if name is not None:
        _show(name, as_json)
        return
    found = _all()
    if as_json:
        print(json.dumps([asdict(model) for model in found], indent=2, ensure_ascii=False))
    elif found:
        print("\n".join(_table(found)))
    else:
        say(f"no model is installed; they are looked for in {', '.join(map(str, installed.places()))}")


def _show(name: Path, as_json: bool) -> None:
    folder = installed.locate(name, say)
    text = installed.card(folder)
    if as_json:
        print(json.dumps({**asdict(_read(name.name, folder)), "card": text}, indent=2, ensure_ascii=False))
    elif text is None:
        raise UserError(f"{folder}: has no card; write one into its {installed.CARDS[0]}")
    else:
        print(text, end="" if text.endswith("\n") else "\n")


def _all() -> list[Installed]:
    found = []
    for path in installed.installed():
        folder = installed.model_in(path)
        assert folder is not None  # that is what `installed` looks for
        try:
            found.append(_read(path.name, folder))
        except UserError as error:
            say(f"warning: {error}")
    return found


def _read(name: str, folder: Path) -> Installed:
    spec, weights = (
        TranslationSpec.load(folder / "translation.json"),
        installed.Weights.read(folder / "model.safetensors"),
    )
    n_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    about = (line.strip().lstrip("#").strip() for line in (installed.card(folder) or "").split("\n"))
    return Installed(
        name=name,
        source=spec.source,
        target=spec.target,
        parameters=weights.n_parameters,
        precision=weights.precision,
        bytes=n_bytes,
        path=str(folder),
        about=next(filter(None, about), ""),
    )


def _table(found: list[Installed]) -> list[str]:
    """A header and a line for each model, in columns."""
    rows = [("name", "languages", "parameters", "size", "weights", "where", "about")]
    for model in found:
        languages, size = f"{model.source}-{model.target}", f"{model.bytes / 1e6:.1f} MB"
        count = f"{model.parameters / 1e6:.2f} M"
        rows.append((model.name, languages, count, size, model.precision, model.path, model.about))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
