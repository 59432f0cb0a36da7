"""A folder that is there whole or not at all."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from translate.errors import UserError


@contextmanager
def new_folder(to: Path) -> Iterator[Path]:
    """An empty folder beside `to` that takes its name when the block ends well, and vanishes when it does not.

    UserError if `to` exists or the disk refuses.
    """
    refuse_existing(to)
    partial = to.with_name(f".{to.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        refuse_existing(to)
        partial.rename(to)
    except OSError as error:
        raise UserError(f"{to}: cannot write the model: {error.strerror or error}; nothing was left there") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def refuse_existing(to: Path) -> None:
    """UserError if there is something at `to`."""
    if to.exists():
        raise UserError(f"{to}: exists already; name another folder with --to, or remove it")
