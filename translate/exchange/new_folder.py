"""A new folder or file on disk, with errors for the command line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from translate import files
from translate.errors import UserError


@contextmanager
def writing(to: Path) -> Iterator[None]:
    """Raise UserError if `to` exists or cannot be written in this block."""
    refuse_existing(to)
    try:
        yield
    except OSError as error:
        refuse_existing(to)
        raise UserError(f"{to}: cannot write the model: {error.strerror or error}; nothing was left there") from error


@contextmanager
def new_folder(to: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `to` when the block ends, and is removed if the block fails.

    Raises UserError if `to` exists or cannot be written.
    """
    with writing(to), files.new_folder(to) as folder:
        yield folder


def refuse_existing(to: Path) -> None:
    """Raise UserError if `to` exists."""
    if to.exists():
        raise UserError(f"{to}: exists already; name another folder with --to, or remove it")
