"""Load an experiment file: TOML, `extends`, a library of corpora, `--set` overrides, errors that name the nearest key.

A library is a TOML file with a table for each group of corpora and a key for each corpus. An experiment chooses corpora
by weight:

    [data]
    library = "data/open.toml"    # relative to the experiment file

    [data.weights]
    prose = 1
    manuals = 0.25
    debian-handbook = 1           # the name of a corpus overrides the weight of its group

A corpus is a source as in `data.train`, without `weight`, and may also have

    path        of two line-aligned files: "news.{language}.gz" stands for both languages
    paths       the same by language, such as { de = "formal.de.gz", en = "both.en.gz" }
    language    of a source of kind "mono", required; one in the wrong language for its side of the pairs is skipped
    licence, origin    for the cards of models; without effect on training
    use         "evaluation" for public test sets: no training text, but held out from it

The table `data.mono` has keys that all corpora of kind "mono" share, such as `model`; those of a corpus go before them.
Its tables `data.mono.source` and `data.mono.target` have the keys for texts of one side; without them, `data.mono.side`
chooses the side. The table `data.text` has keys that all corpora of two line-aligned files share.
"""

import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ConfigDict, ValidationError

from transformer.config import ConfigError
from translate.config.schema import MAX_WEIGHT, ExperimentConfig, Section, Source, TrainingConfig, with_codes
from translate.errors import UserError, either, reason

LIBRARY_KEYS = ("library", "weights", "mono", "text")
_LIBRARY_NOTES = ("licence", "origin", "language", "use")
_SIDES = ("source", "target")

Schema = TypeVar("Schema", bound=Section)


def load(path: Path, overrides: Iterable[str] = ()) -> ExperimentConfig:
    """Load an experiment file, see `read`.

    Args:
        path: a TOML file, or the config.json of a run directory.
        overrides: `section.key=value` settings, which take precedence over all files.

    Raises UserError if a file cannot be read or a key or value is wrong.
    """
    values, where = read(path)
    if "axes" in values and "data" not in values:
        raise UserError(f"{where}: is a grid of experiments; run it with translate experiment")
    for key, value in given_settings(overrides):
        put(values, key, value, said=f"--set {key}")
    return parse(values, where)


def experiment_name(path: Path) -> str:
    """Return the name of an experiment: that of its file, or of the run if the file is the config.json of a run."""
    return path.absolute().parent.name if path.name == "config.json" else path.stem


def default_folder(path: Path) -> Path:
    """Return the default folder for the prepared corpus of an experiment file."""
    return Path("prepared") / experiment_name(path)


def read(path: Path) -> tuple[dict[str, Any], str]:
    """Return the settings of an experiment file, not validated, and the beginning of messages about them.

    With the line `extends = "base.toml"`, keys that the file does not set come from that file, which may extend
    another. Values are not merged: a `data.test` in the file replaces all test sets of the base. The path of the base
    is relative to the file.

    Raises UserError if a file cannot be read.
    """
    files: list[Path] = []
    values: dict[str, Any] = {}
    while True:
        above = {os.path.realpath(file) for file in files}
        files.append(path)
        where = " extends ".join(str(file) for file in files)
        if os.path.realpath(path) in above:
            raise UserError(f"{where}: a circle; remove `extends` from one of these files")
        tables = toml_tables(path, where)
        data = tables.get("data")
        if isinstance(data, dict) and isinstance(library := data.get("library"), str):
            data["library"] = str(path.parent / library)
        base = tables.pop("extends", None)
        values = _laid_over(tables, values)
        if base is None:
            break
        if not isinstance(base, str) or "\0" in base:
            raise UserError(f"{where}: extends = {base!r} must be the name of a TOML file, relative to this one")
        path = path.parent / base
    return values, where


def toml_tables(path: Path, where: str) -> dict[str, Any]:
    """Return the file as plain data; UserError, which begins with `where`, if it cannot be read."""
    kind, parsed = ("JSON", json.loads) if path.suffix == ".json" else ("TOML", tomllib.loads)
    try:
        tables = parsed(path.read_text(encoding="utf-8-sig"))  # drops a byte order mark
        # JSON that is not an object gets an empty key, which validation refuses.
        return tables if isinstance(tables, dict) else {"": tables}
    except OSError as error:
        near = path.with_suffix(".toml") if isinstance(error, FileNotFoundError) and path.name else path
        said = f"{error.strerror}; did you mean {near}?" if near.is_file() and near != path else reason(error)
        raise UserError(f"{where}: cannot read the config file: {said}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except (ValueError, RecursionError) as error:  # syntax, too many digits, too many brackets
        raise UserError(f"{where}: not valid {kind}: {str(error).partition('; use sys.')[0]}") from error


def _laid_over(base: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """Return the base, with the keys of each section replaced by those in `tables`."""
    merged = dict(base)
    for name, section in tables.items():
        below = base.get(name)
        merged[name] = {**below, **section} if isinstance(below, dict) and isinstance(section, dict) else section
    return merged


def parse(values: Mapping[str, Any], where: str) -> ExperimentConfig:
    """Validate plain data; the UserError for the first mistake begins with `where`."""
    data = with_library(values.get("data", {}), where)
    config = validated(ExperimentConfig, {**values, "data": data} if data else values, where)
    try:
        config.model.architecture(config.tokenizer.vocab_size)
    except ConfigError as error:  # fields that contradict each other
        raise UserError(f"{where}: {error}") from error
    return config


def require_end(config: TrainingConfig, where: str) -> None:
    """Raise UserError, which begins with `where`, if training would not end."""
    if not (config.max_steps or config.max_epochs):
        raise UserError(f"{where}: training has no end; set training.max_steps or training.max_epochs")


def with_library(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the section [data] with the corpora of its library in `train`, before those that it lists itself.

    Args:
        data: the section, not validated; one without a library is returned unchanged.
        where: the beginning of messages.

    Raises UserError if the library cannot be read, a weight names nothing in it, a text lacks its language, or there is
    no source to train on.
    """
    if not isinstance(data, dict) or not any(key in data for key in LIBRARY_KEYS):
        return data  # type: ignore[return-value]
    if not isinstance(name := data.get("library"), str):
        if name is not None:
            raise UserError(f"{where}: data.library = {_shown(name)}: must be the path of a TOML file")
        raise UserError(f"{where}: data.weights, data.mono and data.text need data.library, the path of a TOML file")
    for key, kind in (("weights", dict), ("mono", dict), ("text", dict), ("train", list)):
        if not isinstance(value := data.get(key, kind()), kind):
            raise UserError(f"{where}: data.{key} = {_shown(value)}: must be a {'table' if kind is dict else 'list'}")
    for side, keys in _by_side(data).items():
        if not isinstance(keys, dict):
            raise UserError(f"{where}: data.mono.{side} = {_shown(keys)}: must be a table")
    tables = {"mono": data.get("mono", {}), **{f"mono.{side}": keys for side, keys in _by_side(data).items()}}
    for table, keys in {**tables, "text": data.get("text", {})}.items():
        _refuse_weight(keys, f"{where}: data.{table}")
    groups = read_library(Path(name))
    weights = data.get("weights", {})
    known = {*groups, *(corpus for group in groups.values() for corpus in group)}
    for key, weight in weights.items():
        if key not in known:
            raise UserError(f"{where}: {unknown_key(f'data.weights.{key}', known)}")
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight <= MAX_WEIGHT:
            raise UserError(f"{where}: data.weights.{key} = {_shown(weight)}: must be a number from 0 to {MAX_WEIGHT}")
    rest = {key: value for key, value in data.items() if key not in LIBRARY_KEYS}
    evaluation = list(_evaluation(groups, data, where))
    held_out = {"held_out": [*evaluation, *data.get("held_out", [])]} if evaluation else {}
    train = [*_chosen(groups, data), *data.get("train", [])]
    if not train:
        raise UserError(
            f"{where}: data.weights chooses no corpus of {name} that fits the languages, and data.train has no source; "
            "give a group or a corpus a weight above 0"
        )
    return {**rest, "train": train, **held_out}


def _evaluation(
    groups: Mapping[str, Mapping[str, Any]], data: Mapping[str, Any], where: str
) -> Iterator[dict[str, Any]]:
    """Yield the corpora of the library that are evaluation sets, as sources that are held out from training.

    UserError, which begins with `where`, if the experiment trains on one of them.
    """
    weights, replay = data.get("weights", {}), data.get("replay")
    old = replay.get("sources", ()) if isinstance(replay, dict) else ()
    listed = [source for sources in (data.get("train", ()), old) for source in sources if isinstance(source, dict)]
    used = {with_codes(value, data) for source in listed for value in source.values() if isinstance(value, str)}
    for group, corpora in groups.items():
        for name, corpus in corpora.items():
            if "use" not in corpus:
                continue
            if corpus["use"] != "evaluation":
                raise UserError(
                    f'{data["library"]}: {group}.{name}.use = {_shown(corpus["use"])}: must be "evaluation"'
                )
            source: dict[str, Any] = with_codes(_source(corpus, data), data)  # type: ignore[assignment]
            files = {value for value in source.values() if isinstance(value, str)} - {source.get("kind")}
            if weights.get(name, weights.get(group, 0)) or files & used:
                raise UserError(
                    f"{where}: {name} is an evaluation set of {data['library']} and no training text; remove it from "
                    "data.weights, data.train and data.replay, or use it as data.valid or in data.test"
                )
            yield source


def read_library(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the corpora of a library by group and name.

    UserError if it is none, if a name occurs twice, or if a path is no text.
    """
    groups: dict[str, dict[str, dict[str, Any]]] = toml_tables(path, str(path))
    seen: set[str] = set(groups)
    for group, corpora in groups.items():
        if not isinstance(corpora, dict) or not all(isinstance(corpus, dict) for corpus in corpora.values()):
            raise UserError(f"{path}: {group}: must be a table of corpora, each a table such as {{ path = ... }}")
        for name, corpus in corpora.items():
            if name in seen:
                raise UserError(f"{path}: {group}.{name}: the name occurs twice; rename one")
            if not isinstance(file := corpus.get("path", ""), str):
                must = 'must be text, such as "news.{language}.gz"'
                raise UserError(f"{path}: {group}.{name}.path = {_shown(file)}: {must}")
            seen.add(name)
    return groups


def _chosen(groups: Mapping[str, Mapping[str, Any]], data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the corpora that have a weight and the right language, as sources of the experiment."""
    weights = data.get("weights", {})
    for group, corpora in groups.items():
        for name, corpus in corpora.items():
            shared = _shared(corpus, data)
            weight, whole = weights.get(name, weights.get(group, 0)), {**shared, **corpus}
            where = f"{data['library']}: {group}.{name}"
            if weight and _fits(whole, data, where):
                _refuse_weight(corpus, where)
                source = {**_source(whole, data), "weight": float(weight)}
                _check_source(with_codes(source, data), f"{where} with data.{_kind(corpus)}" if shared else where)
                yield source


def _refuse_weight(keys: Mapping[str, Any], where: str) -> None:
    """Raise UserError for a weight that data.weights would replace."""
    if "weight" in keys:
        raise UserError(f"{where}.weight: data.weights gives corpora of a library their weights; remove the key")


def _shared(corpus: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that a corpus shares with those of its kind: of data.text, or of data.mono.

    In data.mono with tables by side, they are those of the side that has its language.
    """
    if _kind(corpus) == "text":
        return dict(data.get("text", {}))
    if _kind(corpus) != "mono":
        return {}
    keys = {key: value for key, value in data.get("mono", {}).items() if key not in _SIDES}
    if not (sides := _by_side(data)):
        return keys
    fitting = (side for side in sides if data.get(side) == corpus.get("language"))
    side = corpus.get("side") or next(fitting, next(iter(sides)))  # `_fits` refuses the language of another side
    return {**keys, "side": side, **sides.get(side, {})}


def _kind(corpus: Mapping[str, Any]) -> object:
    return corpus.get("kind", "text")


def _by_side(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables data.mono.source and data.mono.target, as far as they are given."""
    return {side: data["mono"][side] for side in _SIDES if side in data.get("mono", ())}


class _OneSource(Section):
    source: Source


def _check_source(source: object, where: str) -> None:
    """Raise UserError, which begins with `where`, for the first mistake in a corpus of the library."""
    try:
        _OneSource.model_validate({"source": source})
    except ValidationError as error:
        said = _sentence(error, _OneSource).replace("'source.", "'").removeprefix("source.").removeprefix("source: ")
        raise UserError(f"{where}: {said}") from error


def _source(corpus: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a corpus of the library as a source of the experiment."""
    source = {key: value for key, value in corpus.items() if key not in _LIBRARY_NOTES}
    if isinstance(paths := source.get("paths"), dict):
        del source["paths"]
        source |= {side: path for side in _SIDES if (path := paths.get(data.get(side))) is not None}
    elif "kind" not in source and "path" in source:
        path = source.pop("path")
        source |= {side: path.replace("{language}", f"{{{side}}}") for side in _SIDES}
    return source


def _fits(corpus: Mapping[str, Any], data: Mapping[str, Any], where: str) -> bool:
    """Return whether a corpus has the right language: pairs fit always, text in one language fits one side.

    UserError, which begins with `where`, if the language is not known.
    """
    side = corpus.get("side", "target")
    if corpus.get("kind") != "mono" or side not in _SIDES:  # validation refuses another side
        return True
    if not isinstance(language := corpus.get("language"), str):
        raise UserError(f'{where}: has no language; add the code of its text, such as language = "de"')
    return language == data.get(side)


def validated(schema: type[Schema], values: Mapping[str, Any], where: str) -> Schema:
    """Return plain data as a section of type `schema`; the UserError for the first mistake begins with `where`."""
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{where}: {_sentence(error, schema)}") from error


class Stored(Section):
    """A JSON file that this program wrote, as far as its readers need it; keys of other versions may stand beside."""

    model_config = ConfigDict(extra="ignore")


def given_settings(overrides: Iterable[str]) -> list[tuple[str, Any]]:
    """Return keys and values of `section.key=value`; UserError for one that a later one replaces."""
    found = [setting(override) for override in overrides]
    for n, (key, _) in enumerate(found):
        if later := next((other for other, _ in found[n + 1 :] if is_within(key, other)), None):
            why = "is given twice" if key == later else f"has no effect, as --set {later} comes after it"
            raise UserError(f"--set {key} {why}; leave one out")
    return found


def is_within(key: str, table: str) -> bool:
    """Return whether a key is the same as another, or in the table that the other sets as a whole."""
    return f"{key}.".startswith(f"{table}.")


def setting(override: str) -> tuple[str, Any]:
    """Return key and value of `section.key=value`; a value that is not TOML is a string."""
    key, equals, text = override.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise UserError(f"--set {override}: write section.key=value, for example --set training.seed=2")
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return key.strip(), text.strip()
    return key.strip(), found["value"] if len(found) == 1 else text.strip()  # a second line is no TOML value


def put(values: dict[str, Any], key: str, value: object, *, said: str) -> None:
    """Set one value of nested tables.

    Args:
        key: the dotted name; missing tables are added.
        said: where the user sets it, for the UserError if a part of the key is not a table.
    """
    *sections, name = key.split(".")
    table = values
    for section in sections:
        table = table.setdefault(section, {})
        if not isinstance(table, dict):
            raise UserError(f"{said}: {section!r} is not a section")
    table[name] = value


def _sentence(error: ValidationError, schema: type[Section]) -> str:
    """Return the first problem of a validation as one sentence that says how to solve it."""
    problem = error.errors(include_url=False)[0]
    key, known = _place(problem["loc"], schema)
    match problem["type"]:
        case "extra_forbidden":
            homes = _sections_with(key, schema)
            return f"unknown key {key!r}; did you mean {either(homes)}?" if homes else unknown_key(key, known)
        case "missing":
            return f"{key!r} is missing" if isinstance(problem["loc"][-1], int) else f"the key {key!r} is missing"
        case "union_tag_invalid":
            kind, kinds = problem["ctx"]["tag"], problem["ctx"]["expected_tags"]
            return f"{key}.kind = {json.dumps(kind)}: must be one of {kinds}"
        case "tuple_type":
            return f"{key} = {_shown(problem['input'])}: must be a list, in square brackets"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{key} = {_shown(problem['input'])}: must be a table, such as {{ key = value }}"
        case "too_short":
            return (
                f"{key} has {problem['ctx']['actual_length']} values; it needs {problem['ctx']['min_length']} or more"
            )
        case "too_long":
            return f"{key} has {problem['ctx']['actual_length']} values; it takes {problem['ctx']['max_length']}"
    message = problem["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if isinstance(problem["input"], dict):  # keys of a table that do not go together
        return f"{key}: {message}"
    return f"{key} = {_shown(problem['input'])}: {message}"


def _shown(value: object) -> str:
    """Return the beginning of a value for a message."""
    try:
        return json.dumps(value, default=str)[:80]
    except ValueError:  # hexadecimal numbers may have any length, but decimal ones may not
        return "a number with too many digits"


def _place(location: tuple[int | str, ...], schema: type[Section]) -> tuple[str, list[str]]:
    """Return the dotted key at a location of pydantic, as the user writes it, and the known keys of its section.

    A location has one part that no file has: pydantic adds the kind of a source. Which part that is depends on the
    types on the way, since a test set may be called "hub".
    """
    annotation: Any = schema
    written, known = [], []
    for part in location:
        sections = _sections(annotation)
        if get_origin(annotation) in (dict, tuple):
            annotation = next(arg for arg in reversed(get_args(annotation)) if arg is not Ellipsis)
        elif len(sections) > 1:
            annotation = next(
                section for section in sections if part in get_args(section.model_fields["kind"].annotation)
            )
            continue
        elif sections:
            fields = sections[0].model_fields
            known = [field.alias or name for name, field in fields.items()]
            annotation = fields[part].annotation if part in fields else None
        written.append(str(part))
    return ".".join(written), known


def _sections_with(key: str, schema: type[Section]) -> list[str]:
    """Return the keys of other sections that have the name of a key without a section, or in the wrong one."""
    *sections, name = key.split(".")
    if len(sections) > 1:
        return []
    return [
        f"{section}.{name}"
        for section, field in schema.model_fields.items()
        for kind in _sections(field.annotation)
        if name in kind.model_fields
    ]


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Return a sentence that names the unknown key and the nearest known one."""
    section, _, name = key.rpartition(".")
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    prefix = f"{section}." if section else ""
    hint = f"did you mean {prefix + near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key {key!r}; {hint}"


def _sections(annotation: Any) -> list[type[Section]]:
    """Return every Section class in a type such as tuple[Source, ...]."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for option in get_args(annotation) for section in _sections(option)]
