"""Data sets of the Hugging Face hub and folders of the same form, opened by `datasets`.

`datasets` knows which files belong to a split, downloads them and keeps a copy for later. It guesses the types of JSON
and CSV: a column of text with one number becomes JSON, a text like a date becomes a timestamp, "None" is a missing
value, and a cell too many shifts its row. So the copy of such files has each record as JSON without types that are
guessed (`Records`), and reading it is reading a line of JSON. Files with types of their own, such as Parquet, are left
to `datasets`.

The copy of a folder is found by a digest of its files, not by their time.
"""

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import yaml

from translate.config.schema import HubSource
from translate.errors import UserError
from translate.files import read_lines, strict_json

PLACE, RECORD = "place", "record"  # columns of `Records`

_COPIES = "translate-records-1"  # in the cache of `datasets`; another version of `Records` needs another name
_FOLDERS = "translate-folders"
_BATCH_ROWS = 1000
_GUESSED = ("json", "csv")  # builders of `datasets` that guess types
# Options of a builder that `Records` follows, and those that only say how to guess.
_FOLLOWED = {"name", "version", "data_dir", "data_files", "description", "features", "sep", "delimiter", "names"}
_FOLLOWED |= {"column_names", "field", "on_mixed_types", "keep_default_na", "na_filter"}

Rows = Iterator[tuple[str, str]]  # a record's place in its file, and the record as JSON


def open_split(source: HubSource, folder: Path, name: str, digest: Callable[[], str]) -> "datasets.Dataset":
    """Return a split of a data set: of the hub, of the cache, or of a folder.

    Args:
        folder: where the data set is, if `source.id` is a folder.
        name: of the source, for messages.
        digest: returns the digest of the files in the folder.

    Raises UserError if there is no such data set or split, if it cannot be read, or if its files change meanwhile.
    """
    before = digest() if folder.is_dir() else None
    builder = _builder(source, folder, name, before)
    is_copied = os.path.isdir(builder.cache_dir)
    with _loading(name):
        builder.download_and_prepare()
        dataset = builder.as_dataset(split=source.split)
    if before is not None and not is_copied and digest() != before:
        shutil.rmtree(builder.cache_dir, ignore_errors=True)
        raise UserError(f"{name}: its files changed while they were read; start again when they are complete")
    return dataset


def revision(source: HubSource, name: str) -> str:
    """Return the commit of a data set of the hub, which is the name of the folder of its copy."""
    return Path(_builder(source, None, name, None).cache_dir).name


def is_guessed(dataset: "datasets.Dataset", column: str) -> bool:
    """Return whether the text of a column, dotted if nested, comes from other types."""
    if dataset.column_names == [PLACE, RECORD]:
        return False
    feature: Any = dataset.features
    for key in column.split("."):
        feature = feature.get(key) if isinstance(feature, dict) else None
    return dataset.info.builder_name in _GUESSED or type(feature).__name__ == "Json"


class Records(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """Copies JSON and CSV files: each record as a JSON object, with its place for messages."""

    def _info(self) -> "datasets.DatasetInfo":
        columns = {PLACE: datasets.Value("string"), RECORD: datasets.Value("large_string")}
        return datasets.DatasetInfo(features=datasets.Features(columns))

    def _split_generators(self, dl_manager: "datasets.DownloadManager") -> list["datasets.SplitGenerator"]:
        splits = []
        for split, originals in self.config.data_files.items():
            names, paths = [], []
            for original, local in zip(originals, dl_manager.download_and_extract(list(originals)), strict=True):
                for path in dl_manager.iter_files(local):
                    names.append(_short(original, self.base_path))
                    paths.append(path)
            splits.append(datasets.SplitGenerator(name=str(split), gen_kwargs={"names": names, "paths": paths}))
        return splits

    def _generate_tables(self, names: list[str], paths: list[str]) -> Iterator[tuple[tuple[int, int], "pyarrow.Table"]]:
        read = _csv_rows if hasattr(self.config, "sep") else _json_rows
        for i, (name, path) in enumerate(zip(names, paths, strict=True)):
            rows, n_batches = read(name, Path(path), self.config), 0
            while batch := list(islice(rows, _BATCH_ROWS)):
                columns = dict(zip((PLACE, RECORD), map(list, zip(*batch, strict=True)), strict=True))
                yield (i, n_batches), pyarrow.table(columns, schema=self.info.features.arrow_schema)
                n_batches += 1


def _builder(source: HubSource, folder: Path | None, name: str, digest: str | None) -> Any:
    """Return the builder of a data set, `Records` if `datasets` would guess its types.

    Args:
        digest: of the files in the folder; None for a data set of the hub.
    """
    cache = Path(datasets.config.HF_DATASETS_CACHE)
    place = source.id if digest is None else str(folder)
    copies = [cache / _COPIES, cache] if digest is None else [cache / _COPIES, cache / _FOLDERS / digest]
    with _loading(name):
        try:
            # Without a connection this finds a copy that `Records` made, by the name of the data set.
            found = datasets.load_dataset_builder(place, source.config, revision=source.revision, cache_dir=copies[0])
        except (ValueError, OSError):
            if digest is not None:
                raise
            found = None
        if found is None or found.name not in (*_GUESSED, "cache"):
            return datasets.load_dataset_builder(place, source.config, revision=source.revision, cache_dir=copies[1])
        if found.name == "cache":
            return found
    default = type(found.config)()
    options = [field.name for field in fields(default) if field.name not in _FOLLOWED]
    if other := [option for option in options if getattr(found.config, option) != getattr(default, option)]:
        raise UserError(
            f"{name}: its card sets {', '.join(other)} for {found.name.upper()} files, which is not supported here; "
            'convert its files to JSON lines or Parquet, and name them with kind = "jsonl" or "parquet"'
        )
    configured = type("Records", (Records,), {"BUILDER_CONFIGS": [found.config], "__module__": __name__})
    return configured(
        cache_dir=str(copies[0]),
        dataset_name=found.dataset_name,
        config_name=found.config.name,
        hash=digest or found.hash,
        base_path=found.base_path,
        repo_id=found.repo_id,
    )


@contextmanager
def _loading(name: str) -> Iterator[None]:
    """Raise UserError if `datasets` fails in this block; the one of a record stays as it is."""
    try:
        yield
    except (ValueError, RuntimeError, OSError, datasets.exceptions.DatasetsError, yaml.YAMLError) as error:
        cause: BaseException = error
        while isinstance(cause, datasets.exceptions.DatasetsError) and cause.__cause__ is not None:
            cause = cause.__cause__
        if isinstance(cause, UserError):
            raise UserError(f"{name}: {cause}") from error
        reason = " ".join(str(cause).split())[:300]
        raise UserError(
            f"{name}: `datasets` cannot load it from a folder, its cache or the hub: {reason}; correct `id`, `config`, "
            "`split` or `revision`, or download it first"
        ) from error


def _short(file: str, folder: str | None) -> str:
    """Return the path of a file in its data set, from "hf://datasets/ID@COMMIT/PATH" or a path in the folder."""
    if "://" in file:
        return file.rpartition("@")[2].partition("/")[2]
    return os.path.relpath(file, folder) if folder and os.path.isdir(folder) else os.path.basename(file)


def _json_rows(name: str, path: Path, config: Any) -> Rows:
    """Yield the records of a file with a JSON object in each line, or with one list of objects."""
    items = _json_list(name, path, config.field)
    if items is not None:
        yield from ((f"{name}, record {n}", json.dumps(item)) for n, item in enumerate(items, start=1))
        return
    yield from ((f"{name}, line {n}", line) for n, line in enumerate(read_lines(path), start=1))


def _json_list(name: str, path: Path, field: str | None) -> Iterable[object] | None:
    """Return the list in a JSON file, or in a field of its object; None for JSON lines."""
    begins = next((line.lstrip()[:1] for line in read_lines(path) if line.strip()), "")
    if field is None and begins != "[":
        return None
    try:
        items = strict_json(path.read_text(encoding="utf-8-sig"))
        items = items if field is None else items[field]  # type: ignore[index]
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise UserError(f"{name}: not a JSON file with a list of objects: {error}; correct the file") from error
    if not isinstance(items, list):
        raise UserError(f"{name}: has no list of objects where its data set says; correct the file")
    return items


def _csv_rows(name: str, path: Path, config: Any) -> Rows:
    """Yield the rows of a CSV file as objects of its header; a cell that is missing at the end of a row is null."""
    start = 1  # line that the row begins in, as a quoted cell may have several
    header = None if config.names is None else list(config.names)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=config.sep, strict=True)
            for cells in reader:
                where, start = f"{name}, line {start}", reader.line_num + 1
                if header is None:
                    header = cells
                    if twice := [column for column in header if column and header.count(column) > 1]:
                        raise UserError(f"{where}: two columns are called {twice[0]!r}; rename one")
                    continue
                if len(cells) > len(header):
                    raise UserError(
                        f"{where}: has {len(cells)} cells, but there are {len(header)} columns; put cells that "
                        f"contain {config.sep!r} in quotation marks"
                    )
                cells += [None] * (len(header) - len(cells))  # type: ignore[list-item]
                yield where, json.dumps(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise UserError(
            f"{name}, line {start}: not CSV: {error}; put the cell in quotation marks, and double those in it"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not UTF-8 text (byte 0x{error.object[error.start]:02x}); save it as UTF-8") from error
