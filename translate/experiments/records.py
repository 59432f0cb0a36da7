"""Records of scored runs, sealed by a digest, so that a change by hand is found.

A record is a folder with `record.json` and the texts that were scored. It appears complete or not at all.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from translate.errors import UserError
from translate.files import json_sha256, new_folder, read_json, write_json, write_text

Record = dict[str, Any]

FILE = "record.json"
DONE, FAILED, KILLED = "done", "failed", "killed"


def write(folder: Path, values: Record, texts: Mapping[str, Sequence[str]]) -> None:
    """Write a record in place of an older one.

    Args:
        texts: lines of text by file name.

    Raises OSError if the folder cannot be written.
    """
    sealed = {**values, "texts": {name: json_sha256(list(lines)) for name, lines in texts.items()}}
    with new_folder(folder, replace=True, durable=True) as partial:
        for name, lines in texts.items():
            write_text(partial / name, "".join(f"{line}\n" for line in lines))
        write_json(partial / FILE, {**sealed, "digest": json_sha256(sealed)})


def read(folder: Path) -> Record | None:
    """Return a record, or None if there is none; UserError if it was changed after it was written."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        record = read_json(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: damaged; remove {folder} to have the run scored again") from error
    values = {key: value for key, value in record.items() if key != "digest"}
    if record.get("digest") != json_sha256(values):
        raise UserError(f"{path}: was changed after it was written; remove {folder} to have the run scored again")
    return record


def read_text(folder: Path, name: str, record: Record) -> list[str]:
    """Return the lines of a text of a record; UserError if it is missing or was changed."""
    path = folder / name
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")[:-1]  # read_text would change "\r"
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: missing or damaged; remove {folder} to have the run scored again") from error
    if json_sha256(lines) != record["texts"].get(name):
        raise UserError(f"{path}: was changed after it was written; remove {folder} to have the run scored again")
    return lines
