"""Contenders take turns, and a progress bar on stderr shows which one is running."""

import sys

import pytest

from tests.programs import program

contenders = program("contenders")
ECHO = "import json, sys\nfor line in sys.stdin: print(json.dumps({'length': len(line.strip())}), flush=True)"


def test_each_contender_answers_and_the_bar_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    commands = {name: [sys.executable, "-c", ECHO] for name in ("ours", "theirs")}
    with contenders.started(commands, 1) as ask_each:
        assert ask_each("round 1") == {"ours": {"length": 7}, "theirs": {"length": 7}}
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "theirs: round 1" in captured.err
    assert "2/2" in captured.err


def test_a_contender_that_exits_early_is_an_error() -> None:
    commands = {"ours": [sys.executable, "-c", "input()"]}
    with contenders.started(commands, 1) as ask_each, pytest.raises(SystemExit, match="ended early"):
        ask_each("round 1")


def test_the_ratio_is_the_median_over_rounds() -> None:
    assert contenders.median_ratio([2, 9, 4], [1, 1, 1]) == 4


def test_idle_threads_of_contenders_sleep_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "")  # restored after the test
        monkeypatch.delenv(name)
    program = "import json, os; input(); print(json.dumps({'spins': float(os.environ['GOMP_SPINCOUNT'])}))"
    with contenders.started({"one": [sys.executable, "-c", program]}, 1) as ask_each:
        assert ask_each("task")["one"]["spins"] == 1000
