"""`translate models`: list the models that have a name, show the card of one, or add, update and remove models."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from translate.errors import UserError, printable, say
from translate.models import registry
from translate.models.folder import TranslationSpec, Weights
from translate.models.origin import ACTIONS, Origin
from translate.options import MODEL_HELP, Json, argument, language_option, model_argument, option
from translate.tables import columns

ADDING = "Adding"


@dataclass(frozen=True, kw_only=True)
class ModelsOptions:
    """List, show, add, update and remove models.

    translate models add Helsinki-NLP/opus-mt-de-en downloads a model of the Hugging Face hub, and converts it. A
    package of Argos Translate (file or address), and a folder of this project, Marian, fairseq or JoeyNMT can be added
    too. translate models update NAME and remove NAME are for models that were added.
    """

    model: Annotated[
        Path | None, model_argument("MODEL", f"Show the card of this model. {MODEL_HELP}; or add, update or remove.")
    ] = None
    source: Annotated[str | None, argument("SOURCE", "What to add, or the name of what to update or remove.")] = None
    name: Annotated[str | None, option(ADDING, "NAME", "Name of the new model [default: made of its source].")] = None
    revision: Annotated[
        str | None, option(ADDING, "REVISION", "Commit, tag or branch of a repository [default: the newest].")
    ] = None
    from_language: Annotated[
        str | None, language_option(ADDING, "Source language [default: as the model says].", "--from")
    ] = None
    to_language: Annotated[
        str | None,
        language_option(ADDING, "Target language, one of several [default: chosen at each translation].", "--to"),
    ] = None
    as_json: Json = False


@dataclass(frozen=True)
class Listed:
    """A row of the list of models.

    Attributes:
        name: the name that --model accepts.
        target: a language, or several, separated by commas; the one that was chosen comes first.
        needs_choice: whether each translation must name one of them with --to.
        precision: of the stored weights: "fp32", "bf16" or "int8".
        license: of an added model, as its authors name it; "" if it is unknown.
        about: the first line of its card; "" if it has none.
        origin: where an added model came from; None for others.
    """

    name: str
    source: str
    target: str
    needs_choice: bool
    parameters: int
    precision: str
    bytes: int
    license: str
    path: str
    about: str
    origin: dict[str, str] | None


def run(options: ModelsOptions) -> None:
    """Print a table of installed models and runs, or the card of one model; or the same as JSON; or change the models.

    Raises UserError if there is no such model or it has no card, and as `exchange.adding`. A damaged model is reported
    on stderr.
    """
    if str(options.model) in ACTIONS:
        _change(options)
        return
    if options.model is not None and options.source is not None:
        raise UserError(
            f"{options.model}: is no action of translate models; write {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]} "
            f"before {options.source}, or one name alone to see its card"
        )
    _refuse_unused(options, ("name", "revision", "from_language", "to_language"))
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
        say(f"there is no model in {places}; train one with translate train, or add one with translate models add")


def _change(options: ModelsOptions) -> None:
    """Add, update or remove a model."""
    from translate.exchange import adding

    name = options.source
    if name == "":
        raise UserError(f"translate models {options.model} '': names nothing; name a model")
    if options.as_json:
        raise UserError("--json: is for lists and cards; leave it out")
    if str(options.model) == "add":
        if name is None:
            raise UserError("name what to add, such as: translate models add Helsinki-NLP/opus-mt-de-en")
        wanted = adding.Wanted(
            source=name,
            name=options.name,
            revision=options.revision,
            source_language=options.from_language,
            target_language=options.to_language,
        )
        folder = adding.add(wanted, say)
        choice = " --to LANGUAGE" if TranslationSpec.load(folder).needs_choice else ""
        say(f'to use it: translate --model {folder.name}{choice} "..."')
        return
    _refuse_unused(options, ("name", "revision", "from_language", "to_language"))
    if str(options.model) == "update":
        if name is not None:
            adding.update(name, say)
            return
        names = adding.added()
        if not names:
            say("no model was added yet; add one with translate models add")
        failures = dict[str, list[str]]()  # the names of the models, by what was wrong with them
        for added in names:
            try:
                adding.update(added, say)
            except UserError as error:
                failures.setdefault(str(error), []).append(added)
        told = [f"{', '.join(several)}: not updated: {problem}" for problem, several in failures.items()]
        for failure in told[:-1]:
            say(failure)
        if told:
            raise UserError(told[-1])
    elif name is None:
        raise UserError("name the model to remove: translate models remove NAME")
    else:
        adding.remove(name, say)


def _refuse_unused(options: ModelsOptions, names: tuple[str, ...]) -> None:
    """Raise UserError for an argument that would be ignored."""
    for name in names:
        if getattr(options, name) is not None:
            raise UserError(f"--{name.removesuffix('_language')}: is only for translate models add; leave it out")


def _show(name: Path, as_json: bool) -> None:
    if not registry.existing(name):
        try:
            registry.find_folder(name, say)
        except UserError as error:
            raise UserError(
                f"{error}; actions are {', '.join(ACTIONS[:-1])} and {ACTIONS[-1]}, before a name"
            ) from error
    folder = registry.locate(name, say, exported=True)
    text = registry.card(folder)
    if as_json:
        print(json.dumps({**asdict(_read(name.name, folder)), "card": text}, indent=2))
    elif text is None:
        raise UserError(f"{folder}: has no card; write one into {registry.CARDS[0]}")
    else:
        print(printable(text), end="" if text.endswith("\n") else "\n")


def _read(name: str, folder: Path) -> Listed:
    spec = TranslationSpec.load(folder)
    weights, added = Weights.read(folder), Origin.load(folder)
    n_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    about = (line.strip().lstrip("#").strip() for line in (registry.card(folder) or "").split("\n"))
    return Listed(
        name=name,
        source=spec.source,
        target=", ".join(spec.targets),
        needs_choice=spec.needs_choice,
        parameters=weights.n_parameters,
        precision=weights.precision,
        bytes=n_bytes,
        license=added.license if added else "",
        path=str(folder),
        about=next(filter(None, about), ""),
        origin=asdict(added) if added else None,
    )


def _table(found: list[Listed]) -> str:
    """A header and one line per model, in columns."""
    rows = [("name", "languages", "parameters", "size", "weights", "where", "about")]
    for model in found:
        first, *others = model.target.split(", ")
        into = f"{len(others) + 1} languages" if model.needs_choice else first
        languages, size = f"{model.source}-{into}", f"{model.bytes / 1e6:.1f} MB"
        count = f"{model.parameters / 1e6:.2f} M"
        rows.append((model.name, languages, count, size, model.precision, model.path, model.about))
    return columns(rows)
