"""The table of a finished grid comes from records alone, with sacreBLEU's tests and a reason for each failure."""

import json
import math
import os
import random
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest

from tests.translate.experiments.conftest import GRID, Write, jobs_of, run
from translate.commands.main import main
from translate.errors import UserError
from translate.evaluation.scores import metrics
from translate.experiments import records, runner
from translate.experiments.plan import Job
from translate.experiments.runner import fail
from translate.experiments.table import ResultTable, p_value, rank_correlation, spread
from translate.files import locked, read_json, write_json
from translate.tables import rendered

NAMES = [f"der Hund {verb} im {place} ." for verb in ("schläft", "singt", "lacht") for place in ("Haus", "See", "Tal")]


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished grid in another place, since records contain no paths."""
    shutil.copytree(finished, tmp_path / "out")
    for name in ("toy.toml", "norm.toml"):
        shutil.copy(finished.parent / name, tmp_path)
    return tmp_path / "out"


def table_of(folder: Path) -> tuple[ResultTable, list[Job]]:
    grid, jobs = jobs_of(folder.parent / "norm.toml", folder)
    return ResultTable.build(grid, jobs, "bootstrap"), jobs


def test_each_row_has_mean_and_deviation_over_seeds(folder: Path) -> None:
    table, jobs = table_of(folder)
    assert [line.row for line in table.lines] == [("post", "1"), ("post", "3"), ("pre", "1"), ("pre", "3")]
    found = [records.read(Path(task.record)) for job in jobs for task in job.tasks if task.row == ("pre", "3")]
    perplexities = [record["perplexity"] for record in found if record]
    assert len(perplexities) == 2
    row = table.rows()[3]
    assert row["perplexity"] == f"{statistics.mean(perplexities):.2f} ± {statistics.stdev(perplexities):.2f}"
    assert (row["seeds"], row["remarks"]) == ("2", "")
    assert table.rows()[0]["remarks"] == "baseline"


@pytest.mark.parametrize("name", ["seeds", "perplexity", "BLEU toy", "p toy", "remarks"])
def test_an_axis_called_like_another_column_has_one_of_its_own(name: str, write: Write, tmp_path: Path) -> None:
    grid = f'config = "toy.toml"\nbaseline = {{ "{name}" = "few" }}\n[axes."{name}"]\nfew = {{}}\nmore = {{}}\n'
    rows = ResultTable.build(*jobs_of(write(grid), tmp_path / "out"), "bootstrap").rows()
    assert [list(row.values())[0] for row in rows] == ["few", "more"]
    assert {(row["seeds"], row["perplexity"], row["BLEU toy"], row["p toy"]) for row in rows} == {("0", "", "", "")}
    assert [row["remarks"] for row in rows] == ["baseline; seed 1: not run yet", "seed 1: not run yet"]


def test_decoding_alone_does_not_change_perplexity(folder: Path) -> None:
    perplexity = {row["norm"]: set() for row in table_of(folder)[0].rows()}
    for row in table_of(folder)[0].rows():
        perplexity[row["norm"]].add(row["perplexity"])
    assert [len(values) for values in perplexity.values()] == [1, 1]


def test_perplexity_is_that_of_the_run(folder: Path) -> None:
    """Measured again from the final model, as averages and searches share runs."""
    table, jobs = table_of(folder)
    lines = (Path(jobs[0].run) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    final = next(record for record in map(json.loads, lines) if record["kind"] == "final")
    assert table.lines[0].perplexity()[0] == pytest.approx(final["perplexity"], rel=1e-4)


def test_perplexity_leaves_out_the_pairs_that_training_does(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learned positions end with the longest sentence of training."""
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
    settings = 'model.positions = "learned"\nmodel.max_length = 18\ntraining.max_tokens = 18\ntraining.max_steps = 2'
    grid = GRID.replace("[axes]", f"[settings]\n{settings}\n[axes]").replace("[1, 2]", "[1]")
    _, (job, *_) = jobs_of(write(grid.replace("[1, 3]", "[1]")), tmp_path / "out")
    run([job], tmp_path)
    lines = (Path(job.run) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    found = {line.get("about", line["kind"]): line for line in map(json.loads, lines)}
    assert "validation too long" in found
    record = records.read(Path(job.tasks[0].record))
    assert record is not None
    assert record["status"] == records.DONE, record.get("reason")
    assert record["perplexity"] == pytest.approx(found["final"]["perplexity"], rel=1e-4)


def test_a_reference_of_two_lines_is_one_line_of_the_texts(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data sets may have line breaks inside a text; the texts of a record have a line for each translation."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
    (tmp_path / "set").mkdir()
    rows = [{"de": f"{name}\nder Hund", "en": f"{name}\nthe dog"} for name in NAMES]
    (tmp_path / "set/test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    data = f'data.test.toy = {{ kind = "hub", id = "{tmp_path}/set", split = "test", source = "de", target = "en" }}'
    grid = GRID.replace("[axes]", f"[settings]\n{data}\ntraining.max_steps = 2\n[axes]")
    _, (job, *_) = jobs_of(write(grid.replace('"post", "pre"', '"post"').replace("[1, 2]", "[1]")), tmp_path / "out")
    run([job], tmp_path)
    place = Path(job.tasks[0].record)
    record = records.read(place)
    assert record is not None
    assert record["status"] == records.DONE, record.get("reason")
    assert records.read_text(place, "toy.ref", record) == [f"{name} the dog" for name in NAMES]
    assert len(records.read_text(place, "toy.hyp", record)) == len(NAMES)


def test_finished_jobs_are_not_run_again(folder: Path) -> None:
    _, jobs = table_of(folder)
    assert runner.pending(jobs, retry=True) == []
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    run(jobs, folder.parent)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before


def test_a_new_beam_size_translates_with_the_same_runs(folder: Path) -> None:
    path = folder.parent / "norm.toml"
    models = {model: model.stat().st_mtime_ns for model in folder.glob("runs/*/model/*")}
    path.write_text(GRID.replace("[1, 3]", "[1, 3, 2]"), encoding="utf-8")
    _, jobs = table_of(folder)
    assert len(runner.pending(jobs, retry=False)) == 4
    run(jobs, folder.parent)
    table, jobs = table_of(folder)
    assert runner.pending(jobs, retry=False) == []
    assert {line.row[1]: len(line.done) for line in table.lines} == {"1": 2, "3": 2, "2": 2}
    assert {model: model.stat().st_mtime_ns for model in folder.glob("runs/*/model/*")} == models


def test_a_record_says_where_its_run_was_trained_and_where_it_was_scored(folder: Path) -> None:
    _, (job, *_) = table_of(folder)
    manifest = Path(job.run) / "manifest.json"
    values = read_json(manifest)
    values["starts"][0]["machine"]["processor"] = "abacus"
    write_json(manifest, values)
    place = Path(job.tasks[0].record)
    shutil.rmtree(place)
    run([job], folder.parent)
    record = records.read(place)
    assert record is not None
    assert [start["machine"]["processor"] for start in record["trained"]] == ["abacus"]
    assert record["environment"]["machine"]["processor"] != "abacus"
    table, _ = table_of(folder)
    assert table.as_dict()["rows"][0]["seeds"]["1"]["trained"] == record["trained"]


def test_an_average_of_other_checkpoints_is_made_without_training(folder: Path) -> None:
    grid = GRID.replace("decoding.beam_size = [1, 3]", "training.average_last = [2, 1, 5]")
    path = folder.parent / "norm.toml"
    path.write_text(grid.replace("beam_size = 1", "average_last = 2"), encoding="utf-8")
    _, jobs = table_of(folder)
    run(jobs[:1], folder.parent)
    table, _ = table_of(folder)
    two, one, five = table.lines[:3]
    assert two.perplexity() != one.perplexity()
    assert "training.average_last = 5, but the run has 3 checkpoints to average" in five.failed[1]
    assert five.failed[2] == "not run yet"


def test_a_failure_is_a_row_with_its_reason(folder: Path) -> None:
    table, jobs = table_of(folder)
    shutil.rmtree(folder / "records")
    fail(jobs[0], jobs[0].tasks, records.FAILED, "loss was not finite")
    fail(jobs[1], jobs[1].tasks, records.KILLED, "killed by SIGKILL")
    table, jobs = table_of(folder)
    assert table.rows()[1]["remarks"] == "seed 1: loss was not finite; seed 2: killed by SIGKILL"
    assert table.rows()[2]["remarks"] == "seed 1, 2: not run yet"
    assert runner.pending(jobs, retry=False) == jobs[1:]
    assert runner.pending(jobs, retry=True) == jobs


def test_a_failure_does_not_replace_a_result(folder: Path) -> None:
    before, jobs = table_of(folder)
    fail(jobs[0], jobs[0].tasks, records.FAILED, "a disk was full")
    assert table_of(folder)[0].rows() == before.rows()


def test_a_mistake_during_training_becomes_the_reason(folder: Path) -> None:
    path = folder.parent / "norm.toml"
    path.write_text(GRID.replace("[axes]", "[settings]\ntraining.max_tokens = 2\n\n[axes]"), encoding="utf-8")
    _, jobs = table_of(folder)
    run(jobs[:1], folder.parent)
    assert (
        "no sentence pair of data.train has at most training.max_tokens = 2" in table_of(folder)[0].lines[0].failed[1]
    )


def test_weights_that_are_damaged_become_the_reason_in_one_sentence(folder: Path) -> None:
    _, jobs = table_of(folder)
    shutil.rmtree(jobs[0].tasks[0].record)
    weights = Path(jobs[0].run) / "model" / "model.safetensors"
    weights.write_bytes(b"")
    run(jobs[:1], folder.parent)
    assert table_of(folder)[0].lines[0].failed[1].startswith(f"{weights}: ")


def test_a_run_directory_that_cannot_be_made_becomes_the_reason(write: Write, tmp_path: Path) -> None:
    trainings = tmp_path / "trainings"
    grid, jobs = jobs_of(write(GRID), tmp_path / "out", trainings)
    trainings.write_text("a file", encoding="utf-8")
    run(jobs[:1], tmp_path)
    rows = ResultTable.build(grid, jobs, "bootstrap").rows()
    assert any("seed 1: NotADirectoryError" in row["remarks"] for row in rows)


def test_records_edited_by_hand_are_refused(folder: Path) -> None:
    _, jobs = table_of(folder)
    path = Path(jobs[0].tasks[0].record) / "record.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"perplexity": ', '"perplexity": 1'), encoding="utf-8")
    with pytest.raises(UserError, match="was changed after it was written"):
        table_of(folder)


def test_the_command_prints_and_writes_the_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    assert main(["experiment", "norm.toml", "--out", "out", "--table", "--paired", "ar"]) == 0
    said = capsys.readouterr()
    assert "baseline" in said.out
    assert "approximate randomization" in said.out
    assert (folder / "table.md").read_text(encoding="utf-8").count("\n| ") == 5
    table = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    assert [row["row"] for row in table["rows"]] == [["post", "1"], ["post", "3"], ["pre", "1"], ["pre", "3"]]
    assert set(table["rows"][1]["p_values"]["toy"]) == {"1", "2"}


def test_the_table_does_not_wait_for_the_grid(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    with locked(folder / ".lock"):
        assert main(["experiment", "norm.toml", "--out", "out", "--table"]) == 0
        assert main(["experiment", "norm.toml", "--out", "out"]) == 2
    assert main(["experiment", "norm.toml", "--out", "none", "--table"]) == 2
    assert "run the grid without --table" in capsys.readouterr().err
    assert not Path("none").exists()
    assert (
        main(["experiment", "norm.toml", "--out", "out", "--slurm", "gpu=1", "--retry"]) == 0
    )  # nothing is left to run


@pytest.mark.parametrize(
    ("baseline", "row", "expected"),
    [
        ((30.0, 31.0), (32.0, 33.5), "0.040"),
        ((30.0, 31.0), (29.0, 27.0), "0.040"),
        ((30.0, 31.0), (30.0, 33.0), "0.040"),
        ((30.0, 31.0), (32.0, 30.5), "signs differ"),
    ],
)
def test_a_p_value_needs_seeds_that_agree_on_the_sign(
    baseline: tuple[float, float], row: tuple[float, float], expected: str, folder: Path
) -> None:
    table, _ = table_of(folder)
    for line, scores in ((table.lines[0], baseline), (table.lines[1], row)):
        for (_, record), score in zip(line.done.values(), scores, strict=True):
            record["scores"]["toy"]["bleu"]["score"] = score
    table.lines[1].p_values["toy"] = {1: 0.01, 2: 0.04}
    assert table.rows()[1]["p toy"] == expected
    assert table.rows()[0]["p toy"] == ""


def test_perplexities_of_several_tokenizers_have_a_note(write: Write, tmp_path: Path) -> None:
    for axis, values, expected in (("norm", '["post", "pre"]', False), ("vocab_size", "[400, 350]", True)):
        section = "tokenizer" if expected else "model"
        first = values[1:].partition(",")[0]
        grid = f'config = "toy.toml"\nbaseline = {{ {axis} = {first} }}\n[axes]\n{section}.{axis} = {values}\n'
        table = ResultTable.build(*jobs_of(write(grid), tmp_path / axis), "bootstrap")
        assert any("different tokenizers" in note for note in table.notes()) == expected


@pytest.mark.parametrize("paired", ["bootstrap", "ar"])
def test_the_p_value_is_that_of_sacrebleu(paired) -> None:
    draw = random.Random(3)
    worse = [line if draw.random() < 0.5 else line.replace("Hund", "Vogel") for line in NAMES]
    other = [line if draw.random() < 0.5 else line.replace("der", "ein") for line in NAMES]
    bleu, _, _ = metrics()
    kind = {"bootstrap": "bs", "ar": "ar"}[paired]
    _, scores = PairedTest([("a", worse), ("b", other)], {"BLEU": bleu}, [NAMES], kind)()
    assert p_value(worse, other, NAMES, paired) == scores["BLEU"][1].p_value


def test_p_values_split_words_as_the_scores_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Languages such as Chinese need their own tokenizer."""
    targets = set[str]()

    def of(target: str) -> tuple[object, ...]:
        targets.add(target)
        return metrics(target)

    monkeypatch.setattr("translate.experiments.table.metrics", of)
    monkeypatch.setattr("translate.experiments.table.p_value", p_value)  # a kept value would ask for no metric
    table_of(folder)
    assert targets == {"en"}


def rewritten(job: Job, change: Callable[[dict[str, Any], dict[str, list[str]]], None]) -> None:
    """Write the record of a job's last cell again, after a change of its values and texts."""
    place = Path(job.tasks[-1].record)
    record = records.read(place)
    assert record is not None
    texts = {name: records.read_text(place, name, record) for name in record["texts"]}
    change(record, texts)
    records.write(place, {key: value for key, value in record.items() if key not in ("texts", "digest")}, texts)


def test_translations_of_another_text_are_not_compared(folder: Path) -> None:
    """As in the opposite direction."""
    table, jobs = table_of(folder)
    assert table.lines[-1].p_values["toy"].keys() == {1, 2}
    rewritten(jobs[-1], lambda _, texts: texts["toy.ref"].reverse())
    table, _ = table_of(folder)
    assert table.lines[-1].p_values["toy"].keys() == {1}
    assert table.lines[-2].p_values["toy"].keys() == {1, 2}


def test_each_signature_is_named_with_its_rows(folder: Path) -> None:
    """Rows of another target language are split into words by another tokenizer."""
    table, jobs = table_of(folder)
    (one,) = (note for note in table.notes() if "signature" in note)
    rewritten(jobs[-1], lambda record, _: record["scores"]["toy"]["bleu"].update(signature="tok:zh"))
    table, _ = table_of(folder)
    first, second = (note for note in table.notes() if "signature" in note)
    assert first == one.replace("signature", "signature of post, 1; post, 3; pre, 1; pre, 3")
    assert second == "BLEU signature of pre, 3: tok:zh"


def test_equal_systems_do_not_differ() -> None:
    assert p_value(NAMES[::-1], NAMES[::-1], NAMES, "bootstrap") == 1.0
    assert p_value(["x"] * 9, ["y"] * 9, NAMES, "ar") == 1.0


def test_a_planted_difference_is_found() -> None:
    references = [f"{line} {n}" for line in NAMES for n in range(20)]
    worse = [" ".join(reversed(line.split())) if i % 20 == 0 else line for i, line in enumerate(references)]
    nearly = [line.replace("der", "ein") if i % 2 else line for i, line in enumerate(references)]
    worse = [bad if i % 20 == 0 else near for i, (bad, near) in enumerate(zip(worse, nearly, strict=True))]
    assert p_value(nearly, worse, references, "bootstrap") < 0.05


def test_spread() -> None:
    assert (spread([]), spread([2.0]), spread([1.0, 3.0])) == ("", "2.00", "2.00 ± 1.41")
    assert (spread([math.nan, 3.0]), spread([math.inf, 3.0])) == ("nan", "inf")
    assert spread([1e300, 3e300]) == "2.00e+300 ± 1.41e+300"


@given(st.lists(st.integers(0, 9), min_size=2, max_size=8))
def test_rank_correlation_depends_on_the_order_only(values: list[int]) -> None:
    if len(set(values)) > 1:
        assert rank_correlation(values, [v**3 for v in values]) == pytest.approx(1)
        assert rank_correlation(values, [-v for v in values]) == pytest.approx(-1)
    else:
        assert math.isnan(rank_correlation(values, values))


def test_rank_correlation_without_ties_is_spearmans_formula() -> None:
    a, b = [2, 6, 0, 3, 1, 5, 4], [5, 0, 6, 1, 3, 2, 4]
    squared = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    assert rank_correlation(a, b) == pytest.approx(1 - 6 * squared / (7 * (7**2 - 1)))


def test_rank_correlation_with_ties_is_that_of_the_textbook() -> None:
    # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: Pearson's correlation of these.
    assert rank_correlation([1, 5, 5, 9], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)


def test_cells_of_markdown_tables_may_contain_what_separates_them() -> None:
    table = rendered([{"a|b": "x|y", "c": "z"}], "github")
    assert [line.replace(r"\|", "").count("|") for line in table.split("\n")] == [3, 3, 3]
    assert "x|y" in rendered([{"a": "x|y"}], "simple")


def test_empty_columns_are_left_out() -> None:
    assert "b" not in rendered([{"a": "1", "b": ""}, {"a": "2", "b": ""}], "github")


def test_a_slurm_parameter_without_a_value_is_refused_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)  # nothing is left to run
    assert main(["experiment", "norm.toml", "--out", "out", "--slurm", "gpu"]) == 2
    assert "--slurm gpu: write key=value" in capsys.readouterr().err


def test_a_slurm_parameter_is_given_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slurm = ["--slurm", "gpu=1", "--slurm", "gpu=2"]
    assert main(["experiment", "norm.toml", "--out", "out", *slurm]) == 2
    assert "--slurm gpu is given twice; leave one out" in capsys.readouterr().err


def test_missing_slurm_gives_a_one_sentence_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("submitit")
    if shutil.which("sbatch"):
        pytest.skip("there is a Slurm here")
    shutil.rmtree(folder / "records")
    monkeypatch.chdir(folder.parent)
    assert main(["experiment", "norm.toml", "--out", "out", "--slurm", "timeout_min=5"]) == 2
    assert "--slurm: cannot submit the array" in capsys.readouterr().err
    assert os.listdir(folder / "runs")
