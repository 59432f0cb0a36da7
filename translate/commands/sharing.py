"""Translate one file with several processes, which torchrun starts and calls ranks.

    torchrun --nproc-per-node 2 -m -- translate text --input big.txt --output out.txt

Every rank reads the whole file and translates every n-th window, so that a difficult part of the text is shared
equally. Each rank writes its windows to a file beside the output, one line per window; at the end rank 0 merges them
in order. The ranks must see the same file system.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from translate.commands.writing import Output, writable
from translate.errors import UserError
from translate.options.translating import Text

if TYPE_CHECKING:
    from translate.training.distributed import Ranks


def n_processes() -> int:
    """The number of processes that torchrun started; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def check(options: Text) -> Path:
    """Return the output file; UserError if several processes cannot share the work."""
    source, output = options.input, options.output
    if options.sentences or source is None or output is None or not source.is_file():
        raise UserError("several processes translate a file into a file; name them with --input and --output")
    if options.resume:
        raise UserError("--resume works with one process only; leave it out under torchrun")
    return output


class Share(Output):
    """The windows of one rank, one JSON string per line."""

    def __init__(self, file: TextIO, rank: int, size: int) -> None:
        super().__init__(file)
        self._rank, self._size = rank, size
        self._window: list[str] = []

    def wants(self, n: int) -> bool:
        """True if window `n`, counted from 1, belongs to this rank."""
        return (n - 1) % self._size == self._rank

    def write(self, text: str) -> None:
        """Add text to the window."""
        self._window.append(text)

    def end_window(self) -> None:
        """Write the window as one line."""
        self._file.write(json.dumps("".join(self._window)) + "\n")
        self._window = []


@contextmanager
def shared(output: Path, ranks: "Ranks") -> Iterator[Share]:
    """Yield this rank's share of `output`; when the block has ended on all ranks, `output` is complete.

    Each rank removes its temporary file.
    """
    place = output.resolve()
    shares = [place.with_name(f".{place.name}.rank-{rank}") for rank in range(ranks.size)]
    path = shares[ranks.rank]
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield Share(file, ranks.rank, ranks.size)
        ranks.sum(0.0)  # waits until all shares are complete
        ranks.on_rank_0(lambda: _merge(shares, output))
    finally:
        path.unlink(missing_ok=True)


def _merge(shares: Sequence[Path], output: Path) -> None:
    """Write the first window of each share, then the second of each, and so on."""
    with ExitStack() as opened, writable(output) as out:
        files = [opened.enter_context(share.open(encoding="utf-8")) for share in shares]
        for file in cycle(files):
            line = file.readline()
            if not line:
                break
            out.write(json.loads(line))
