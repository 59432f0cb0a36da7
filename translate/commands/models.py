"""`translate models`: list the models that have a name, or show the card of one."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from translate.errors import UserError, printable, say
from translate.models import registry
from translate.models.folder import TranslationSpec, Weights
from translate.options import MODEL_HELP, Json, argument
from translate.tables import columns


@dataclass(frozen=True, kw_only=True)
class Models:
    """List the installed models and runs, or show the card of one."""

    model: Annotated[Path | None, argument("MODEL", f"Show the card of this model. {MODEL_HELP}.")] = None
    as_json: Json = False


@dataclass(frozen=True)
class Listed:
    """A row of the list of models.

    Attributes:
        name: the name that --model accepts.
        precision: of the stored weights: "fp32", "bf16" or "int8".
        about: the first line of its card; "" if it has none.
    """

    name: str
    source: str
    target: str
    parameters: int
    precision: str
    bytes: int
    path: str
    about: str


def run(options: Models) -> None:
    """Print a table of installed models and runs, or the card of one model; or the same as JSON.

    Raises UserError if there is no such model or it has no card. A damaged model is reported on stderr.
    """
    if options.model is not None:
        _show(options.model, options.as_json)
        return
    found = []
    for name, folder in registry.named_models():
        try:
            found.append(_read(name, folder))
        except UserError as error:
            say(f"warning: {error}")
    if options.as_json:
        print(json.dumps([asdict(model) for model in found], indent=2))
    elif found:
        print(printable(_table(found)))
    else:
        places = ", ".join(map(str, [*registry.places(), registry.RUNS]))
        say(f"there is no model in {places}; train one with translate train, or copy a model folder there")


def _show(name: Path, as_json: bool) -> None:
    folder = registry.locate(name, say)
    text = registry.card(folder)
    if as_json:
        print(json.dumps({**asdict(_read(name.name, folder)), "card": text}, indent=2))
    elif text is None:
        raise UserError(f"{folder}: has no card; write one into {registry.CARDS[0]}")
    else:
        print(printable(text), end="" if text.endswith("\n") else "\n")


def _read(name: str, folder: Path) -> Listed:
    spec = TranslationSpec.load(folder)
    weights = Weights.read(folder)
    n_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    about = (line.strip().lstrip("#").strip() for line in (registry.card(folder) or "").split("\n"))
    return Listed(
        name=name,
        source=spec.source,
        target=spec.target,
        parameters=weights.n_parameters,
        precision=weights.precision,
        bytes=n_bytes,
        path=str(folder),
        about=next(filter(None, about), ""),
    )


def _table(found: list[Listed]) -> str:
    """A header and one line per model, in columns."""
    rows = [("name", "languages", "parameters", "size", "weights", "where", "about")]
    for model in found:
        languages, size = f"{model.source}-{model.target}", f"{model.bytes / 1e6:.1f} MB"
        count = f"{model.parameters / 1e6:.2f} M"
        rows.append((model.name, languages, count, size, model.precision, model.path, model.about))
    return columns(rows)
