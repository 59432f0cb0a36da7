"""The grid file (TOML): one experiment, the settings that vary, and the seeds.

    config = "../multi30k-small.toml"       relative to the grid file
    from = "de-en"                          name or path of a model that every run fine-tunes, as in `train --from`
    seeds = [1, 2]
    baseline = { norm = "post", depth = "6 + 6" }

    [settings]                              replace those of the experiment in every run
    training.max_steps = 1000

    [axes]                                  a row for each combination of values
    model.norm = ["post", "pre"]            one setting
    depth."2 + 2" = { model.n_encoder_layers = 2, model.n_decoder_layers = 2 }
    depth."6 + 6" = {}                      several settings under one name

An axis of one setting is called by the last part of its key.
"""

import copy
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from translate.config.load import (
    LIBRARY_KEYS,
    given_settings,
    is_within,
    parse,
    put,
    read,
    require_end,
    toml_tables,
    validated,
)
from translate.config.schema import ExperimentConfig, Section
from translate.errors import UserError

Settings = dict[str, Any]  # by dotted key
Row = tuple[str, ...]  # one label per axis

SEED = "training.seed"
AVERAGE = "training.average_last"
_LONGEST = 150  # characters of labels in the name of a file, which may have 255


class Published(Section):
    """Scores of others for rows of the grid, by the labels of the row, joined by ", ".

    Attributes:
        source: where they were published, and on which data.
    """

    source: str
    bleu: dict[str, float] = Field(default_factory=dict)
    perplexity: dict[str, float] = Field(default_factory=dict)


class GridFile(Section):
    """The keys of a grid file.

    Attributes:
        config: the experiment that all runs share.
        baseline: the row that the others are compared with: one label for each axis.
        from_model: `from` in the file: name or path of the model to fine-tune; without it, weights are random.
        settings: replace settings of the experiment in all runs.
        score_on: the sets to translate and score; () is the validation set and all test sets.
    """

    config: str
    axes: dict[str, Any]
    baseline: dict[str, Any] = Field(default_factory=dict)
    seeds: tuple[int, ...] = Field(default=(1,), min_length=1, strict=False)
    from_model: str | None = Field(default=None, alias="from")
    settings: dict[str, Any] = Field(default_factory=dict)
    score_on: tuple[str, ...] = Field(default=(), strict=False)
    published: Published | None = None


@dataclass(frozen=True)
class Axis:
    """One dimension of a grid.

    Attributes:
        name: heading of its column.
        values: the settings behind each label.
    """

    name: str
    values: Mapping[str, Settings]

    @property
    def retrains(self) -> bool:
        """True if a value changes training, and not only what happens after it."""
        keys = {key for settings in self.values.values() for key in settings}
        return any(key != AVERAGE and not key.startswith("decoding.") for key in keys)


@dataclass(frozen=True)
class Cell:
    """One row of the grid with one seed, as a complete experiment."""

    row: Row
    seed: int
    config: ExperimentConfig


@dataclass(frozen=True)
class Grid:
    """A grid, checked.

    Attributes:
        name: name of the file, without its ending.
        baseline: the row that the others are compared with.
        base: the experiment without the settings of the axes.
        cells: all runs, rows in the order of the file, then seeds.
        from_model: name or path of the model to fine-tune, or None.
    """

    name: str
    axes: tuple[Axis, ...]
    baseline: Row
    base: ExperimentConfig
    cells: tuple[Cell, ...]
    score_on: tuple[str, ...]
    published: Published | None
    from_model: str | None = None

    @property
    def rows(self) -> list[Row]:
        """All rows, in order."""
        return list(dict.fromkeys(cell.row for cell in self.cells))


def load_grid(path: Path, overrides: list[str]) -> Grid:
    """Read a grid file and check every experiment in it.

    Args:
        overrides: `section.key=value` settings of all runs, which take precedence over the file but not over its axes;
            one that an axis sets in every row is refused.

    Raises UserError or ConfigError for the first mistake.
    """
    tables = toml_tables(path, str(path))
    if "data" in tables and "config" not in tables:
        raise UserError(f"{path}: is one experiment; train it with translate train, or name it as `config` in a grid")
    file = validated(GridFile, tables, str(path))
    axes = tuple(_axes(file.axes, str(path)))
    _check_axes(axes, path)
    if repeated := {seed for seed in file.seeds if file.seeds.count(seed) > 1}:
        raise UserError(f"{path}: seeds has {min(repeated)} twice; name each seed once")
    values, _ = read(path.parent / file.config)
    given = given_settings(overrides)
    _check_overrides(given, axes, path)
    for key, value in (*_flat(file.settings).items(), *given):
        if key == SEED:
            raise UserError(f"{path}: {SEED} = {value} has no effect; name the seeds in `seeds` instead")
        put(values, key, value, said=f"{path}: settings.{key}")
    base = parse(copy.deepcopy(values), str(path))
    score_on = _sets(file, base, path)
    rows = list(itertools.product(*(axis.values for axis in axes)))
    cells = tuple(Cell(row, seed, _config(values, axes, row, seed, path)) for row in rows for seed in file.seeds)
    baseline = _baseline(file.baseline, axes, path)
    if file.published:
        _check_published(file.published, rows, path)
    return Grid(path.stem, axes, baseline, base, cells, score_on, file.published, file.from_model)


def row_name(row: Row) -> str:
    """Return the labels of a row as one text."""
    return ", ".join(row)


def slug(row: Row, seed: int) -> str:
    """Return a name for files; long labels are cut off, so that more can be added to it."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", f"{'-'.join(row)[:_LONGEST]}-seed{seed}").strip("-.")


def _label(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)  # a date of TOML is no JSON


def _axes(tables: Mapping[str, Any], where: str, prefix: str = "") -> Iterator[Axis]:
    """Yield the axes in a table; a list is the values of one setting, a table of tables an axis with named values."""
    for name, value in tables.items():
        key = prefix + name
        if isinstance(value, list):
            labels = [_label(one) for one in value]
            if len(set(labels)) < len(labels) or not labels:
                raise UserError(f"{where}: axes.{key} needs one or more values, each once")
            yield Axis(key.rpartition(".")[2], {label: {key: one} for label, one in zip(labels, value, strict=True)})
        elif isinstance(value, dict) and _is_part_of_a_section(key, value):
            yield from _axes(value, where, f"{key}.")
        elif isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
            yield Axis(key, {label: _flat(settings) for label, settings in value.items()})
        elif isinstance(value, dict):
            yield from _axes(value, where, f"{key}.")
        else:
            raise UserError(f"{where}: axes.{key} = {_label(value)}: write a list of values, or a table of settings")


def _is_part_of_a_section(key: str, value: Mapping[str, Any]) -> bool:
    """Return whether a table has the values of settings of the experiment, and not settings under labels."""
    section, _, rest = key.partition(".")
    if section not in ExperimentConfig.model_fields or not _holds_lists_alone(value):
        return False
    kind = ExperimentConfig.model_fields[section].annotation
    assert isinstance(kind, type)
    return bool(rest) or value.keys() <= {*kind.model_fields, *LIBRARY_KEYS}


def _holds_lists_alone(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and all(map(_holds_lists_alone, value.values())))


def _check_axes(axes: tuple[Axis, ...], path: Path) -> None:
    """Raise UserError if there is no axis, or if two axes would set the same key or have the same name."""
    if not axes:
        raise UserError(f"{path}: has no axes; name the settings that vary under [axes]")
    owners: dict[str, Axis] = {}
    names: set[str] = set()
    for axis in axes:
        for key in {key for settings in axis.values.values() for key in settings}:
            if key == SEED:
                raise UserError(f"{path}: axes set {SEED}; name the seeds in `seeds` instead")
            for other, owner in owners.items():
                if owner is not axis and (is_within(key, other) or is_within(other, key)):
                    raise UserError(f"{path}: two axes for {key} ({owner.name}, {axis.name}); keep one of them")
            owners[key] = axis
        if axis.name in names:
            raise UserError(f"{path}: two axes are called {axis.name}; write one as a table of named settings")
        names.add(axis.name)


def _check_overrides(given: list[tuple[str, Any]], axes: tuple[Axis, ...], path: Path) -> None:
    """Raise UserError for a setting of the command line that an axis sets in every row."""
    for key, value in given:
        for axis in axes:
            if all(any(is_within(key, own) for own in settings) for settings in axis.values.values()):
                raise UserError(
                    f"{path}: --set {key}={_label(value)} has no effect, as the axis {axis.name} sets it in every row; "
                    "leave it out"
                )


def _flat(sections: Mapping[str, Any]) -> Settings:
    """Return the keys of sections with the section in front; a table as a value stays whole, as in `extends`."""
    flat: Settings = {}
    for name, value in sections.items():
        is_section = isinstance(value, dict) and "." not in name
        flat |= {f"{name}.{key}": one for key, one in value.items()} if is_section else {name: value}
    return flat


def _config(values: Settings, axes: tuple[Axis, ...], row: Row, seed: int, path: Path) -> ExperimentConfig:
    """Return the experiment of one row and seed, checked."""
    varied = copy.deepcopy(values)
    where = f"{path}: row {row_name(row)}"
    settings: Settings = {SEED: seed}
    for axis, label in zip(axes, row, strict=True):
        settings |= axis.values[label]
    for key, value in settings.items():
        put(varied, key, value, said=where)
    config = parse(varied, where)
    if AVERAGE in settings and (config.training.final == "best" or config.training.ema):
        reason = 'training.final = "best"' if config.training.final == "best" else "training.ema"
        raise UserError(f"{where}: {AVERAGE} has no effect with {reason}; take one of them out")
    require_end(config.training, where)
    return config


def _baseline(given: Mapping[str, Any], axes: tuple[Axis, ...], path: Path) -> Row:
    """Return the row that the file calls the baseline; UserError if there is none."""
    example = ", ".join(f"{axis.name} = {json.dumps(next(iter(axis.values)))}" for axis in axes)
    if not given:
        raise UserError(f"{path}: has no baseline; name the row to compare with: baseline = {{ {example} }}")
    known = {axis.name: axis.values for axis in axes}
    for name, value in given.items():
        if name not in known:
            raise UserError(f"{path}: baseline.{name}: there is no such axis; the axes are {', '.join(known)}")
        if _label(value) not in known[name]:
            labels = ", ".join(known[name])
            raise UserError(f"{path}: baseline.{name} = {_label(value)}: no value of that axis; it has {labels}")
    if missing := [name for name in known if name not in given]:
        raise UserError(f"{path}: baseline names no value of {', '.join(missing)}; write baseline = {{ {example} }}")
    return tuple(_label(given[name]) for name in known)


def _sets(file: GridFile, base: ExperimentConfig, path: Path) -> tuple[str, ...]:
    """Return the sets to score: those of the file, or all."""
    known = ("valid", *base.data.test)
    for name in file.score_on:
        if name not in known:
            raise UserError(f"{path}: score_on has {name!r}, which is no set of the experiment: {', '.join(known)}")
    return file.score_on or known


def _check_published(published: Published, rows: list[Row], path: Path) -> None:
    names = {row_name(row) for row in rows}
    for name in (*published.bleu, *published.perplexity):
        if name not in names:
            raise UserError(f"{path}: published scores for {name!r}, which is no row; the rows are {'; '.join(names)}")
