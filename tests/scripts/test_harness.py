"""A case is one file; contenders take turns, and a progress bar on stderr shows which one is running."""

import json
import sys
from pathlib import Path

import harness
import pytest

from tests.programs import SCRIPTS

ECHO = "import json, sys\nfor line in sys.stdin: print(json.dumps({'length': len(line.strip())}), flush=True)"


def test_each_contender_answers_and_the_bar_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    commands = {name: [sys.executable, "-c", ECHO] for name in ("ours", "theirs")}
    with harness.started(commands, 1) as ask_each:
        assert ask_each("round 1") == {"ours": {"length": 7}, "theirs": {"length": 7}}
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "theirs: round 1" in captured.err
    assert "2/2" in captured.err


def test_a_contender_that_exits_early_is_an_error() -> None:
    commands = {"ours": [sys.executable, "-c", "input()"]}
    with harness.started(commands, 1) as ask_each, pytest.raises(SystemExit, match="ended early"):
        ask_each("round 1")


def test_each_contender_is_told_its_name_after_all_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "told.py"
    program.write_text("import json, sys; input(); print(json.dumps({'told': sys.argv[1:]}))", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [str(program), "mine", "--steps", "5"])
    with harness.turns(["ours", "theirs"], 1, "--quick") as ask_each:
        answers = ask_each("go")
    options = ["mine", "--steps", "5", "--quick", "--work"]
    assert answers == {name: {"told": [*options, name]} for name in ("ours", "theirs")}


def test_the_ratio_is_the_median_over_rounds() -> None:
    assert harness.median_ratio([2, 9, 4], [1, 1, 1]) == 4


def test_idle_threads_of_contenders_sleep_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "")  # restored after the test
        monkeypatch.delenv(name)
    program = "import json, os; input(); print(json.dumps({'spins': float(os.environ['GOMP_SPINCOUNT'])}))"
    with harness.started({"one": [sys.executable, "-c", program]}, 1) as ask_each:
        assert ask_each("task")["one"]["spins"] == 1000


MINE = '''"""How far a number of steps leads."""

from harness import Case, turns

def options(parser):
    parser.add_argument("--steps", type=int, default=3)

def run(args):
    with turns(["ours"], 1) as ask_each:
        return {"rates": {name: answer["rate"] for name, answer in ask_each("go").items()}}

def work(args):
    return lambda task: {"rate": args.steps * len(task) + len(args.work)}

def rows(record):
    return ({"contender": name, "rate": str(rate)} for name, rate in record["rates"].items())

CASE = Case("Steps", options, run, rows, work)
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder of cases with one new file, and a copy of the program beside it."""
    (tmp_path / "cases").mkdir()
    for file in ("bench.py", "harness.py", "records.py"):
        (tmp_path / file).write_text((SCRIPTS / file).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "cases" / "__init__.py").touch()
    (tmp_path / "cases" / "mine.py").write_text(MINE, encoding="utf-8")
    return tmp_path


def test_a_new_file_is_a_new_benchmark_with_options_contenders_table_and_record(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The contender is a process that starts the program; the rest is in this one, as an import takes seconds."""
    out = mine / "record.json"
    monkeypatch.setattr(harness.cases, "__path__", [str(mine / "cases")])
    monkeypatch.setattr(sys, "argv", [str(mine / "bench.py"), "mine", "--steps", "5", "--out", str(out)])
    assert harness.main(sys.argv[1:]) == 0
    *table, last = capsys.readouterr().out.splitlines()
    record = json.loads(out.read_text(encoding="utf-8"))
    assert json.loads(last) == record
    assert record["rates"] == {"ours": 14}
    assert record["kind"] == "bench_mine"
    assert record["command"].startswith("python scripts/bench.py mine --steps 5")
    assert {"commit", "uncommitted_changes", "processor", "threads", "torch", "versions"} <= record.keys()
    assert table == ["| contender | rate |", "| --- | --- |", "| ours | 14 |"]
    with pytest.raises(SystemExit):
        harness.main(["mine", "--help"])
    helped = capsys.readouterr().out
    assert "How far a number of steps leads." in helped
    assert "--steps" in helped


@pytest.mark.parametrize("words", [[], ["--help"], ["unknown"]])
def test_without_a_case_the_cases_are_listed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        harness.main(words)
    assert (end.value.code == 0) == (words == ["--help"])
    captured = capsys.readouterr()
    assert all(name in captured.out + captured.err for name in harness.all_cases())


@pytest.mark.parametrize("name", harness.all_cases())
def test_every_case_has_help_and_a_chapter_of_its_own(name: str) -> None:
    cases = harness.all_cases()
    assert [case.title for case in cases.values()].count(cases[name].title) == 1
    assert f"python scripts/bench.py {name}" in harness.parser_of(name, cases[name]).format_help()
