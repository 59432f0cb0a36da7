"""Contenders answer in turns, and a progress bar on stderr names them."""

import sys

import pytest

from tests.programs import program

contenders = program("contenders")
ECHO = "import json, sys\nfor line in sys.stdin: print(json.dumps({'length': len(line.strip())}), flush=True)"


def test_each_contender_answers_and_the_bar_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    processes = {name: contenders.Contender([sys.executable, "-c", ECHO]) for name in ("ours", "theirs")}
    with contenders.progress(2) as bar:
        assert contenders.ask_each(processes, "round 1", bar) == {"ours": {"length": 7}, "theirs": {"length": 7}}
    for process in processes.values():
        process.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "theirs: round 1" in captured.err
    assert "2/2" in captured.err


def test_a_contender_that_ended_is_an_error() -> None:
    process = contenders.Contender([sys.executable, "-c", "input()"])
    with pytest.raises(SystemExit, match="ended early"):
        process.ask("round 1")


def test_the_ratio_is_the_median_over_rounds() -> None:
    assert contenders.median_ratio([2, 9, 4], [1, 1, 1]) == 4
