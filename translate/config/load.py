"""Load an experiment file: TOML, `extends`, `--set` overrides, and errors that name the key and the nearest one."""

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from translate.config.schema import ExperimentConfig, Section
from translate.errors import UserError


def load(path: Path, overrides: Iterable[str] = ()) -> ExperimentConfig:
    """The experiment in the TOML file `path` with `section.key=value` overrides applied; UserError if unusable.

    The config.json of a run directory is the same in JSON.

    A first line `extends = "base.toml"`, relative to the file, takes every key that the file does not set from that
    file, which may extend another. Keys are taken whole: a `data.test` of its own replaces all test sets of the base.
    """
    chain = _chain(path)
    values: dict[str, Any] = {}
    for _, tables in reversed(chain):
        values = _laid_over(values, tables)
    for override in overrides:
        _override(values, override.strip())
    return parse(values, _names([file for file, _ in chain]))


def _chain(path: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The file and those that it extends, nearest first, each with its own tables."""
    chain: list[tuple[Path, dict[str, Any]]] = []
    while True:
        files = [*(file for file, _ in chain), path]
        if path.resolve() in {file.resolve() for file in files[:-1]}:
            raise UserError(f"{_names(files)}: a circle; take the `extends` out of one of these files")
        tables = _tables(path, _names(files))
        base = tables.pop("extends", None)
        chain.append((path, tables))
        if base is None:
            return chain
        if not isinstance(base, str):
            raise UserError(
                f"{_names(files)}: extends = {base!r} must be the name of a TOML file, relative to this one"
            )
        path = path.parent / base


def _tables(path: Path, where: str) -> dict[str, Any]:
    """The file as plain data; UserError that begins with `where` if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # a byte order mark is a signature and no text
        return _as_tables(json.loads(text)) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UserError(f"{where}: cannot read the config file: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{where}: not valid {path.suffix.removeprefix('.').upper()}: {error}") from error


def _as_tables(value: object) -> dict[str, Any]:
    """The top level of a JSON file, which holds sections; anything else has none."""
    return value if isinstance(value, dict) else {"": value}


def _laid_over(base: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """The base with the keys of each section in `tables` put in place of its own."""
    merged = dict(base)
    for name, section in tables.items():
        below = base.get(name)
        merged[name] = {**below, **section} if isinstance(below, dict) and isinstance(section, dict) else section
    return merged


def _names(files: list[Path]) -> str:
    """Where a problem is: the file, and the files that it extends."""
    return " extends ".join(str(file) for file in files)


def parse(values: Mapping[str, Any], where: str) -> ExperimentConfig:
    """Validate plain data; `where` is named in the UserError of the first mistake."""
    try:
        return ExperimentConfig.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{where}: {_sentence(error)}") from error


def _override(values: dict[str, Any], override: str) -> None:
    """Set one `section.key=value`; the value is read as TOML, or as bare text where it is not TOML."""
    key, equals, text = override.partition("=")
    names = key.strip().split(".")
    if not equals or not all(names):
        raise UserError(f"--set {override}: write section.key=value, such as --set training.seed=2")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    table = values
    for name in names[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise UserError(f"--set {override}: {name!r} is not a section")
    table[names[-1]] = value


def _sentence(error: ValidationError) -> str:
    """The first problem of a validation as one sentence with the way out."""
    problem = error.errors(include_url=False)[0]
    tags = {"text", "tsv", "jsonl", "parquet", "hub", "grammar", "sacrebleu"}
    location = [part for part in problem["loc"] if part not in tags]
    key = ".".join(str(part) for part in location)
    if problem["type"] == "extra_forbidden":
        return unknown_key(key, _known_keys(problem["loc"][:-1]))
    if problem["type"] == "missing":
        return f"the key {key!r} is missing"
    if problem["type"] == "union_tag_invalid":
        return f"{key}.kind is none of: {', '.join(sorted(tags))}"
    return f"{key} = {json.dumps(problem['input'], default=str)[:80]}: {_lower_first(problem['msg'])}"


def unknown_key(key: str, known: Iterable[str]) -> str:
    """A sentence that names the unknown key and the nearest known one."""
    section, _, name = key.rpartition(".")
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    prefix = f"{section}." if section else ""
    hint = f"did you mean {prefix + near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key {key!r}; {hint}"


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    """The keys of the section at `location`, walked through the types."""
    section: Any = ExperimentConfig
    for part in location:
        if isinstance(section, type) and issubclass(section, BaseModel) and part in section.model_fields:
            section = _without_none(section.model_fields[str(part)].annotation)
        else:
            section = next((s for s in _sections(section) if _tag(s) == part), section)
    return list(section.model_fields) if isinstance(section, type) and issubclass(section, BaseModel) else []


def _without_none(annotation: Any) -> Any:
    """The section that an optional one is if it is there."""
    options = [option for option in get_args(annotation) if option is not type(None)]
    return options[0] if len(options) == 1 else annotation


def _sections(annotation: Any) -> list[type[Section]]:
    """Every Section class inside a type such as tuple[Source, ...]."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for option in get_args(annotation) for section in _sections(option)]


def _tag(section: type[Section]) -> str | None:
    kind = section.model_fields.get("kind")
    return None if kind is None else str(get_args(kind.annotation)[0])


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
