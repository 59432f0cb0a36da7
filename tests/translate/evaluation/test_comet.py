"""COMET is run as an external program that gets files and prints a score."""

import shlex
import sys
from pathlib import Path

import pytest

from translate.errors import UserError
from translate.evaluation.other_metrics import comet

FAKE = """
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int, default=1)
parser.add_argument("-s"); parser.add_argument("-t"); parser.add_argument("-r")
parser.add_argument("--only_system", action="store_true"); parser.add_argument("--quiet", action="store_true")
args = parser.parse_args()
source, output, reference = (open(path, encoding="utf-8").read().split("\\n")[:-1] for path in (args.s, args.t, args.r))
assert len(source) == len(output) == len(reference), "lines"
assert args.only_system
same = sum(a == b for a, b in zip(output, reference))
sys.stdout.buffer.write(b"Downloading \\xff 1 of 1\\n"); sys.stdout.flush()
print(f"{args.t}\\tscore: {same / len(output) - args.gpus:.4f}")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "fake comet.py").write_text(FAKE, encoding="utf-8")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'fake comet.py'))}"


def test_the_score_is_that_of_the_program_with_its_options(program: str) -> None:
    score = comet(f"{program} --gpus 0", ["eins", "zwei\u2028drei", ""], ["one", "two", "x"], ["one", "2", "x"])
    assert score.value == 0.6667
    assert score.signature == f"command:{program} --gpus 0"
    assert comet(program, ["eins"], ["one"], ["two"]).value == -1


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/no/such/program", "cannot be run"),
        (f"{shlex.quote(sys.executable)} -c 'raise SystemExit(\"no GPU\")'", "exit code 1: no GPU"),
        (f"{shlex.quote(sys.executable)} -c 'print(5)'", "printed no score"),
        ("unclosed 'quote", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_a_failing_program_gives_a_one_sentence_error(command: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        comet(command, ["a"], ["b"], ["c"])
    assert "\n" not in str(caught.value)
