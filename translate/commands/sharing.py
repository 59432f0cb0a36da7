"""A file that several processes translate together; torchrun starts them and calls them ranks.

    torchrun --nproc-per-node 2 -m -- translate text --input big.txt --output out.txt

Every rank reads the whole file and translates every n-th window of it, so that all have an equal share wherever the
hard part of the text is. Beside the output each keeps a file of its own, one line for each of its windows; at the end
rank 0 puts them together in order. The ranks must see one file system.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from translate.commands.writing import writable
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.training.distributed import Ranks


def n_processes() -> int:
    """How many processes torchrun started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def check(sentences: Sequence[str], source: Path | None, output: Path | None, resume: bool) -> None:
    """UserError for what several processes cannot share."""
    if sentences or source is None or output is None or not source.is_file():
        raise UserError("several processes translate a file into a file; name them with --input and --output")
    if resume:
        raise UserError("--resume goes with one process; leave it out under torchrun")


class Share:
    """The windows of one rank, a JSON string in a line each; an `Output`."""

    n_done = 0

    def __init__(self, file: TextIO, rank: int, size: int) -> None:
        self._file, self._rank, self._size = file, rank, size
        self._window: list[str] = []

    def wants(self, n: int) -> bool:
        """Whether window `n`, counted from 1, belongs to this rank."""
        return (n - 1) % self._size == self._rank

    def write(self, text: str) -> None:
        """Add text to the window."""
        self._window.append(text)

    def end_window(self, digest: str) -> None:
        """The window is complete."""
        self._file.write(json.dumps("".join(self._window)) + "\n")
        self._window = []

    def check(self, digest: str) -> None:
        """Nothing was left out by an earlier process."""


@contextmanager
def shared(output: Path, ranks: "Ranks") -> Iterator[Share]:
    """This rank's share of `output`; when the block ends on all ranks, the file is there. No rank leaves traces."""
    place = output.resolve()
    parts = [place.with_name(f".{place.name}.rank-{rank}") for rank in range(ranks.size)]
    own = parts[ranks.rank]
    try:
        with own.open("w", encoding="utf-8", newline="\n") as file:
            yield Share(file, ranks.rank, ranks.size)
        ranks.sum(0.0)  # all parts are complete
        ranks.first(lambda: _merge(parts, output))
    finally:
        own.unlink(missing_ok=True)


def _merge(parts: Sequence[Path], output: Path) -> None:
    """The windows in their order: the first of each part, then the second of each, and so on."""
    with ExitStack() as opened, writable(output) as out:
        files = [opened.enter_context(part.open(encoding="utf-8")) for part in parts]
        for file in cycle(files):
            line = file.readline()
            if not line:
                break
            out.write(json.loads(line))
