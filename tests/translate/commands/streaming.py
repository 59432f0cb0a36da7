"""Program that streams a file and prints its memory, in KB, after 10,000 lines and at the end."""

import sys
from pathlib import Path

from tests.translate.speakers import Echo
from translate.commands import text
from translate.commands.text import TextOptions
from translate.models.folder import ModelFolder
from translate.text.translation import Opening

model, source, output, *rest = sys.argv[1:]
resident: list[int] = []
n_lines = 0


def note(n: int) -> None:
    """Store the resident memory once 10,000 lines have passed."""
    global n_lines
    n_lines += n
    if n_lines >= 10_000 and not resident:
        resident.append(memory())


def memory() -> int:
    """Resident memory of this process in KB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").split("\n")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


class Watched(text.Output):
    """An output that counts lines."""

    def end_window(self) -> None:
        note(1024)
        super().end_window()


text.Output = Watched  # type: ignore[misc]
text.open_translator = lambda options: Echo(ModelFolder.open(Path(options.opening.model)))  # type: ignore[assignment]
text.run(TextOptions(opening=Opening(model=model), input=Path(source), output=Path(output), resume="--resume" in rest))
print(*resident, memory())
