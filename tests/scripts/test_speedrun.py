"""The speedrun: marks and clock of a race, the choice of a rate, resuming, and the test behind "beaten"."""

import argparse
import dataclasses
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.programs import SCRIPTS, program
from transformer.config import ModelConfig
from translate.files import read_json, write_json

sys.path.insert(0, str(SCRIPTS))  # the programs import each other
race, speedrun = program("race"), program("speedrun")

VALID = [(f"der {word} Hund", f"the {word} dog runs home") for word in ("alte", "rote", "kleine", "große")]
TASK = race.Task("ours", 1, None, (20.0, 90.0), 1.0, "")
REFERENCES = [reference for _, reference in VALID]
WRONG = ["a cat sleeps"] * len(VALID)
HALF = [*REFERENCES[:3], *WRONG[3:]]


def racing(begin: float | None = None, **changes: Any) -> Any:
    task = dataclasses.replace(TASK, **changes)
    return race.Race(task, time.monotonic() if begin is None else begin, VALID, VALID)


def translating(greedy: Sequence[str], beam: Sequence[str], asked: list[int]) -> Any:
    def translate(lines: Sequence[str], beam_size: int) -> list[str]:
        asked.append(beam_size)
        return list(greedy if beam_size == 1 else beam)

    return translate


def test_beam_search_is_asked_only_near_a_mark_and_its_bleu_counts() -> None:
    run, asked = racing(), []  # type: ignore[var-annotated]
    run.check(1, translating(WRONG, REFERENCES, asked))
    assert asked == [1]
    run.check(2, translating(HALF, WRONG, asked))
    assert asked == [1, 1, race.BEAM]
    assert run.marks == {}
    run.check(3, translating(HALF, HALF, asked))
    assert list(run.marks) == ["20.0"]
    assert run.marks["20.0"]["step"] == 3
    with pytest.raises(race.Finished):
        run.check(4, translating(REFERENCES, REFERENCES, asked))
    assert list(run.marks) == ["20.0", "90.0"]


def test_the_clock_stands_while_the_test_set_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    now, calls = [500.0], list[int]()
    monkeypatch.setattr(race, "time", SimpleNamespace(monotonic=lambda: now[0]))
    run = racing(begin=499.0, marks=(20.0, 200.0))

    def translate(lines: Sequence[str], beam_size: int) -> list[str]:
        calls.append(beam_size)
        now[0] += 5 if len(calls) < 3 else 700  # greedy and beam search of the validation set come before the test set
        return REFERENCES

    run.check(1, translate)
    assert len(calls) == 3
    assert run.seconds == 11


def test_a_run_ends_at_the_limit_of_time() -> None:
    with pytest.raises(race.Finished):
        racing(begin=time.monotonic() - 3601).check(1, translating(WRONG, WRONG, []))


def test_the_prefixes_of_a_search_without_cache_follow_their_hypotheses() -> None:
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=11, d_model=8, n_heads=2, d_ff=8, n_encoder_layers=1, n_decoder_layers=1)
    model = race.PlainTorch(config).eval()
    src_BS = torch.tensor([[3, 4, 2, 0], [5, 6, 7, 2]])
    with torch.inference_mode():
        step = race.PrefixStep(model, src_BS)
        step(torch.tensor([1, 1, 1, 1]))
        step.keep(torch.tensor([1]))
        step.reorder(torch.tensor([3, 2]))
        found = step(torch.tensor([8, 9]))
        memory = model.encode(src_BS[1:]).expand(2, -1, -1)
        states = model.decode(torch.tensor([[1, 8], [1, 9]]), memory, (src_BS[1:] == 0).expand(2, -1))
        torch.testing.assert_close(found, model.logits(states[:, -1]).log_softmax(dim=-1))


@pytest.mark.parametrize(("t", "freedom"), [(2.776445, 4), (4.302653, 2)])
def test_p_is_that_of_the_table_of_student_t(t: float, freedom: int) -> None:
    """Two samples with equal variances and sizes n have 2 n - 2 degrees of freedom."""
    n = freedom // 2 + 1
    shape = [i - (n - 1) / 2 for i in range(n)]
    deviation = math.sqrt(sum(x * x for x in shape) / (n - 1))
    a = [math.exp(x / deviation) for x in shape]
    b = [math.exp(x / deviation + t * math.sqrt(2 / n)) for x in shape]
    assert speedrun.welch(a, b) == pytest.approx(0.05, abs=1e-4)
    assert speedrun.welch(b, a) == speedrun.welch(a, b)
    assert speedrun.welch([7 * x for x in a], [7 * x for x in b]) == pytest.approx(speedrun.welch(a, b))


def a_run(lr: float, seconds: float | None, greedy: float = 1.0) -> dict[str, Any]:
    marks = {} if seconds is None else {"33.5": {"seconds": seconds}}
    return {"lr": lr, "marks": marks, "checks": [{"greedy": greedy}]}


def test_the_best_rate_reaches_the_mark_first_or_else_has_the_highest_bleu() -> None:
    assert speedrun.best_rate([a_run(1e-3, 90.0), a_run(2e-3, 80.0), a_run(3e-3, None, 60.0)]) == 2e-3
    assert speedrun.best_rate([a_run(1e-3, None, 20.0), a_run(2e-3, None, 10.0)]) == 1e-3


def test_a_rate_is_tried_by_the_first_seed_to_the_lowest_mark_or_for_the_minutes_of_tuning() -> None:
    args = argparse.Namespace(rates=[1e-3, 3e-3], tuning_minutes=12.0)
    one, other = speedrun.tuning_tasks(TASK, "hf", args)
    assert (one.lr, other.lr) == (1e-3, 3e-3)
    assert dataclasses.replace(one, lr=None) == dataclasses.replace(
        TASK, contender="hf", marks=(20.0,), hours=0.2, tuning=True
    )


def test_a_finished_run_is_not_run_again_and_a_cut_off_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(command: list[str]) -> Any:
        begin, task = speedrun.json.loads(command[-1])
        started.append(task["seed"])
        if len(started) == 1:
            return argparse.Namespace(returncode=1)
        write_json(Path(task["folder"]) / "record.json", {"seed": task["seed"]})
        return argparse.Namespace(returncode=0)

    monkeypatch.setattr(speedrun.subprocess, "run", start)
    with pytest.raises(speedrun.UserError, match="seed 1: the run failed"):
        speedrun.finished(tmp_path, TASK)
    assert [speedrun.finished(tmp_path, TASK)["seed"] for _ in range(2)] == [1, 1]
    assert started == [1, 1]
    assert read_json(tmp_path / "seed1" / "record.json") == {"seed": 1}


def a_record(*seconds: float | None, later: float = 2.0) -> dict[str, Any]:
    """A record of seeds that reach 33.5 after these seconds, and 35.1 after `later` times as many."""
    marks = [{"33.5": {"seconds": s}, "35.1": {"seconds": s * later}} if s else {} for s in seconds]
    return {"marks": [33.5, 35.1], "runs": [{"contender": "ours", "marks": reached} for reached in marks]}


FORMER = a_record(187.0, 190.0, 213.0)


@pytest.mark.parametrize(
    ("record", "is_beaten", "verdicts"),
    [
        (a_record(140.0, 145.0, 151.0), True, [": beaten", ": beaten"]),
        (a_record(140.0, 145.0, 151.0, later=2.7), True, [": beaten", ": not beaten"]),
        (a_record(140.0, 145.0, 151.0, later=6.0), False, [": beaten", ": slower"]),
        (a_record(190.0, 195.0, 200.0), False, [": not beaten", ": not beaten"]),
        (a_record(387.0, 390.0, 413.0), False, [": slower", ": slower"]),
        (a_record(140.0, 145.0), False, ["not beaten: this run has 2 of 3 seeds"] * 2),
        (a_record(140.0, 145.0, None), False, ["not beaten: in this run, 1 of 3 seeds did not reach it"] * 2),
    ],
)
def test_a_record_is_beaten_by_three_seeds_that_reach_a_mark_and_are_slower_at_none(
    record: dict[str, Any], is_beaten: bool, verdicts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert speedrun.beaten(record, FORMER) == is_beaten
    lines = capsys.readouterr().err.splitlines()
    assert all(line.endswith(verdict) for line, verdict in zip(lines, verdicts, strict=True)), lines


def test_the_correction_for_several_marks_is_that_of_holm() -> None:
    """By its definition: the smallest p of m is multiplied by m, the next by m - 1, and none is below one before."""
    found = speedrun.holm({"a": 0.03, "b": 0.01, "c": 0.04, "d": 0.9})
    assert found == pytest.approx({"b": 0.04, "a": 0.09, "c": 0.09, "d": 0.9})
    assert [*speedrun.holm({"a": 0.7, "b": 0.8}).values()] == [1.0, 1.0]


def test_a_mark_that_a_seed_missed_has_no_p_value() -> None:
    assert speedrun.p_values(FORMER, "ours", a_record(140.0, 145.0, 150.0), "ours").keys() == {"33.5", "35.1"}
    assert speedrun.p_values(FORMER, "ours", a_record(140.0, 145.0, None), "ours") == {}


@pytest.fixture
def races(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that were run, each of which takes a second more than the one before."""
    ran: list[str] = []

    def start(command: list[str]) -> Any:
        _, task = speedrun.json.loads(command[-1])
        ran.append(f"{task['contender']} {task['seed']}{' tuning' if task['tuning'] else ''}")
        at = {"seconds": 100.0 + len(ran), "valid": 34.0, "test_2016_flickr": 33.0}
        run = {"contender": task["contender"], "seed": task["seed"], "lr": task["lr"], "marks": {"33.5": at}}
        write_json(Path(task["folder"]) / "record.json", {**run, "checks": []})
        return argparse.Namespace(returncode=0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speedrun, "subprocess", argparse.Namespace(run=start))
    return ran


def raced(*arguments: str) -> int:
    return int(speedrun.main(["--marks", "33.5", "--rates", "1e-3", *arguments]))


def test_a_finished_run_serves_every_command_with_its_settings(races: list[str]) -> None:
    assert raced("--seeds", "1") == 0
    assert raced("--seeds", "1", "2", "--contenders", "ours", "hf") == 0
    assert races == ["ours 1", "hf 1 tuning", "hf 1", "ours 2", "hf 2"]
    assert raced("--set", "training.lr=1e-3", "--set", "training.seed=3") == 0
    assert races[5:] == ["ours 1"]
    assert len([*Path("runs/speedrun").glob("ours-*")]) == 2


def test_a_record_keeps_the_contenders_that_do_not_run(races: list[str]) -> None:
    assert raced("--contenders", "hf", "ours", "--seeds", "1", "2", "--write", "record.json") == 0
    before = read_json(Path("record.json"))
    assert raced("--contenders", "torch", "--seeds", "1", "2", "--write", "record.json") == 0
    record = read_json(Path("record.json"))
    assert [*record["contenders"]] == ["hf", "ours", "torch"]
    assert record["runs"][:4] == before["runs"]
    assert record["p"].keys() == {"hf", "torch"}


@pytest.mark.parametrize("option", ["--write", "--against"])
@pytest.mark.parametrize("change", ["beam", "processor"])
def test_times_of_other_rules_or_another_machine_are_refused_before_the_race(
    option: str, change: str, races: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert raced("--write", "record.json") == 0
    record = read_json(Path("record.json"))
    place = record["contenders"]["ours"] if change == "processor" else record
    place[change] = "another"
    write_json(Path("record.json"), record)
    assert raced("--set", "training.lr=1e-3", option, "record.json") == 2
    assert f"record.json: was measured with another {change}; name another file" in capsys.readouterr().err
    assert races == ["ours 1"]


def test_a_record_that_is_not_beaten_is_not_replaced(races: list[str]) -> None:
    assert raced("--seeds", "1", "2", "3", "--write", "record.json") == 0
    before = Path("record.json").read_bytes()
    slower = ["--set", "training.lr=1e-3", "--seeds", "1", "2", "3"]
    assert raced(*slower, "--against", "record.json", "--write", "record.json") == 0
    assert Path("record.json").read_bytes() == before
    assert raced(*slower, "--write", "record.json") == 0
    assert Path("record.json").read_bytes() != before


def test_a_file_that_is_no_record_is_refused_before_the_race(
    races: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.json").write_text("{}", encoding="utf-8")
    assert raced("--against", "other.json") == 2
    assert raced("--write", "other.json") == 2
    assert raced("--against", "absent.json") == 2
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == ["speedrun: other.json: is no record of a speedrun"] * 2
    assert "absent.json: cannot be read as a record" in said[2]
    assert races == []
