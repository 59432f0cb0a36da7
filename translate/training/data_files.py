"""Detection of changes to the prepared corpus during a run.

Every validation compares sizes and modification times, which takes microseconds; every start compares SHA-256, see
`Run.check_data`.
"""

from collections.abc import Collection
from pathlib import Path


class Watched:
    """Files that must not change from now on.

    Args:
        folder: the folder that holds them.
        names: their names; missing files are ignored.
    """

    def __init__(self, folder: Path, names: Collection[str]) -> None:
        self._before = {folder / name: _stamp(folder / name) for name in sorted(names)}

    def changed(self) -> Path | None:
        """Return the first file whose size, modification time or inode has changed, or None."""
        return next((path for path, stamp in self._before.items() if _stamp(path) != stamp), None)


def change_message(file: Path, run: Path, step: int) -> str:
    """Return the error about a file of the prepared corpus that has changed.

    Args:
        file: the file.
        run: the run directory.
        step: the step whose state is saved.
    """
    return (
        f"{file}: has changed while {run} was training on it; the state of step {step:,} is saved; restore the file "
        "and continue with --resume, or begin another run"
    )


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
