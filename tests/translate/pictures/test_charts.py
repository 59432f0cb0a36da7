"""Charts of runs and grids draw every value, and the files are reproducible."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from translate.commands.main import main

pytest.importorskip("matplotlib")

from transformer.schedule import noam_lr  # noqa: E402
from translate.pictures.charts import SCHEDULES, SchedulePicture, grid_chart, learning_curves  # noqa: E402
from translate.pictures.plotting import rendered  # noqa: E402

LINES = [
    {"kind": "train", "step": 2, "nll": 5.0},
    {"kind": "valid", "step": 2, "nll": 4.0, "bleu": 1.5},
    {"kind": "train", "step": 4, "nll": 3.0},
    {"kind": "valid", "step": 4, "nll": None, "bleu": 2.5},
]


def row(name: str, *scores: float) -> dict:
    seeds = {str(i): {"scores": {"toy": {"bleu": {"score": score}}}} for i, score in enumerate(scores)}
    return {"row": [name], "seeds": seeds}


TABLE = {"score_on": ["toy"], "baseline": ["a"], "rows": [row("a", 3.0, 5.0), row("b", 7.0), row("c")]}


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a grid, relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    folder = Path("experiments/toy")
    folder.mkdir(parents=True)
    (folder / "table.json").write_text(json.dumps(TABLE), encoding="utf-8")
    return folder


VALUES = [[[[2, 5.0], [4, 3.0]], [[2, 4.0]]], [[[2, 1.5], [4, 2.5]]]]


def values(lines: list[dict]) -> list[list[object]]:
    """The points of each curve of loss and BLEU."""
    return [[line.get_xydata().tolist() for line in axes.lines] for axes in learning_curves({"one": lines}).axes]


def test_curves_are_the_values_of_the_run() -> None:
    assert values(LINES) == VALUES


@pytest.mark.parametrize("value", ["x", [], True, 1e308, float("inf")])
def test_values_that_are_no_measurement_are_left_out(value: object) -> None:
    damaged = [*LINES, {"kind": "valid", "step": 6, "nll": value, "bleu": value}]
    assert values(damaged) == VALUES


def test_without_bleu_there_is_one_chart() -> None:
    assert len(learning_curves({"one": LINES[:1], "two": []}).axes) == 1


def test_every_run_has_a_look_and_an_entry_of_its_own() -> None:
    """More runs than colours; matplotlib leaves names that begin with "_" out of a legend."""
    names = ["_a", *"bcdefghijk"]
    for axes in learning_curves(dict.fromkeys(names, LINES)).axes:
        looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in axes.lines}
        assert len(looks) == len(axes.lines)
        entries = [text.get_text() for text in axes.get_legend().get_texts()]
        assert [entry.partition(",")[0] for entry in entries] == [
            name for name in names for _ in range(len(entries) // len(names))
        ]


def test_the_chart_of_a_grid_shows_each_mean_and_names_rows_without_one() -> None:
    (axes,) = grid_chart(TABLE).axes
    means = [container.lines[0].get_xydata().tolist() for container in axes.containers]
    assert means == [[[4.0, 0]], [[7.0, 1]]]
    assert [text.get_text() for text in axes.texts] == ["no result"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["a", "norm = post, 12 encoder layers, " * 5])
def test_long_names_of_rows_leave_room_for_every_set(name: str) -> None:
    rows = [row(name, 3.0), row("b", 7.0)]
    for of in rows:
        of["seeds"]["0"]["scores"]["valid"] = {"bleu": {"score": 5.0}}
    figure = grid_chart({"score_on": ["toy", "valid"], "baseline": ["b"], "rows": rows})
    rendered(figure, "svg")
    names, others = ([label.get_text() for label in axes.get_yticklabels()] for axes in figure.axes)
    assert (names, others) == ([name, "b"], ["", ""])
    for axes in figure.axes:
        assert axes.get_window_extent().width > 2.5 * figure.dpi


def test_files_are_written_beside_the_run_and_are_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Path("runs/toy")
    run.mkdir(parents=True)
    (run / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES), encoding="utf-8")
    assert main(["plot", "toy"]) == 0
    first = {path.name: path.read_bytes() for path in run.glob("curves.*")}
    assert main(["plot", "runs/toy", "--out", "other"]) == 0
    assert sorted(first) == ["curves.png", "curves.svg"]
    assert {name: (Path("other") / name).read_bytes() for name in first} == first


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("file", "it is not a folder; name another"),
        ("file/in", "a part of the path is not a folder; name another"),
        ("a.svg", "--out a.svg: is a folder for two files, .svg and .png; name one without .svg"),
    ],
)
def test_a_chart_is_not_written_over_a_file(
    out: str, reason: str, grid: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").touch()
    assert main(["plot", str(grid), "--out", out]) == 2
    assert capsys.readouterr().err.strip().endswith(reason)
    assert not Path("file").read_bytes()
    assert not Path("a.svg").exists()


def test_runs_of_the_same_name_are_distinguished_by_their_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (Path("a/toy"), Path("b/toy")):
        place.mkdir(parents=True)
        (place / "metrics.jsonl").write_text(json.dumps(LINES[0]) + "\n", encoding="utf-8")
    assert main(["plot", "a/toy", "b/toy", "--out", "."]) == 0
    drawn = Path("curves.svg").read_text(encoding="utf-8")
    assert all(f"{place}, train" in drawn for place in ("a/toy", "b/toy"))


@pytest.mark.parametrize(("name", "boxes"), [(b"run\xff", 0), ("\u6f22\u5b57".encode(), 1), (b"run\x01", 1)])
def test_a_run_of_any_name_is_drawn(
    name: bytes, boxes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(os.fsdecode(name))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the file system has no such names")
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES), encoding="utf-8")
    assert main(["plot", str(folder), "--out", "."]) == 0
    ElementTree.parse("curves.svg")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 + boxes
    assert all("the font lacks some characters" in line for line in said[:-1])


def test_a_grid_file_selects_its_folder(grid: Path) -> None:
    assert main(["plot", "configs/toy.toml"]) == 0
    assert (grid / "chart.svg").exists()
    assert (grid / "chart.png").exists()


@pytest.mark.parametrize("words", [["nothing"], ["experiments/toy", "nothing"]])
def test_a_folder_without_a_run_gives_a_one_sentence_error(
    words: list[str], grid: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", *words]) == 2
    assert capsys.readouterr().err == (
        "translate: nothing: no run with metrics and no grid with a table; name a run, or run the grid first\n"
    )


def test_a_grid_and_another_place_cannot_share_a_chart(grid: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(grid), str(grid)]) == 2
    assert "one grid, or several runs, can be drawn at a time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("metrics.jsonl", "", "the run has no measurements yet"),
        ("metrics.jsonl", '{"kind": "start", "step": 0}\n{"kind": "tra', "the run has no measurements yet"),
        ("grid.json", "{}", "--table"),
        ("table.json", "{}", "damaged"),
        ("table.json", '{"score_on', "damaged"),
    ],
)
def test_a_place_with_nothing_to_draw_gives_a_one_sentence_error(
    file: str,
    content: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new").mkdir()
    Path("new", file).write_text(content, encoding="utf-8")
    assert main(["plot", "new"]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
    assert [path.name for path in Path("new").iterdir()] == [file]


def test_learning_rates_are_equation_3() -> None:
    steps = [1, 4_000, 20_000]
    for (d_model, warmup), (_, rates) in zip(SCHEDULES, SchedulePicture().curves(steps), strict=True):
        assert rates == [noam_lr(step, d_model=d_model, warmup_steps=warmup) for step in steps]
    assert "6.9" in SchedulePicture().text()
