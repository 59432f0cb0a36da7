"""COMET by a program of the user, because the package does not share an environment with other versions of PyTorch."""

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from translate.errors import UserError
from translate.evaluation.scores import Score
from translate.files import write_text

_SCORE = re.compile(r"score:\s*(-?\d+(?:\.\d+)?)\s*$", re.MULTILINE)


def comet(command: str, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Return the score that `comet-score` reports for a system.

    Args:
        command: the program with its options, such as "/opt/comet/bin/comet-score --gpus 0"; the files and
            `--only_system --quiet` are appended.
        sources, hypotheses, references: texts in the same order.

    Raises UserError if the program cannot be run, fails or reports no score.
    """
    with tempfile.TemporaryDirectory() as place:
        files = {"-s": sources, "-t": hypotheses, "-r": references}
        arguments = program(command)
        for option, lines in files.items():
            path = Path(place) / f"{option[1]}.txt"
            # A line break inside a sentence would shift all lines after it.
            write_text(path, "".join(f"{' '.join(line.splitlines())}\n" for line in lines))
            arguments += [option, str(path)]
        try:
            arguments += ["--only_system", "--quiet"]
            done = subprocess.run(arguments, capture_output=True, encoding="utf-8", errors="replace")
        except OSError as error:
            raise UserError(f"--comet {command}: cannot be run: {error.strerror or error}") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"--comet {command}: ended with exit code {done.returncode}: {reason}")
    found = _SCORE.findall(done.stdout)
    if not found:
        raise UserError(f"--comet {command}: printed no score; name comet-score or a program with its options")
    return Score(float(found[-1]), f"command:{command}")


def program(command: str) -> list[str]:
    """Return the program and its options; UserError if there is no such program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"--comet {command}: cannot be read as a command: {error}") from error
    if not words:
        raise UserError("--comet: cannot be read as a command; name comet-score or a program with its options")
    if shutil.which(words[0]) is None:
        raise UserError(f"--comet {command}: cannot be run: no such program; name comet-score by its path")
    return words
