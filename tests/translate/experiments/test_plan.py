"""Plans: which runs are trained once or again, and refusal of folders that belong to something else."""

import json
import shutil
from pathlib import Path

import pytest

from tests.translate.experiments.conftest import GRID, Write, jobs_of, run
from translate.errors import UserError
from translate.experiments import records
from translate.experiments.plan import Job
from translate.files import sha256
from translate.training.run import Run


def names(path: Path, folder: Path) -> list[str]:
    return [job.name for job in jobs_of(path, folder)[1]]


def test_cells_that_differ_in_decoding_share_a_training(write: Write, tmp_path: Path) -> None:
    _, jobs = jobs_of(write(GRID), tmp_path / "out")
    assert [job.name.rpartition("-")[0] for job in jobs] == ["post-seed1", "post-seed2", "pre-seed1", "pre-seed2"]
    assert [[task.row for task in job.tasks] for job in jobs[:3:2]] == [
        [("post", "1"), ("post", "3")],
        [("pre", "1"), ("pre", "3")],
    ]
    assert len({task.record for job in jobs for task in job.tasks}) == 8
    assert len({job.prepared for job in jobs}) == 1


def test_cells_that_differ_in_the_average_share_a_training_that_keeps_enough(write: Write, tmp_path: Path) -> None:
    text = GRID.replace("decoding.beam_size = [1, 3]", "training.average_last = [1, 7]")
    _, jobs = jobs_of(write(text.replace("beam_size = 1", "average_last = 1")), tmp_path / "out")
    assert len(jobs) == 4
    assert [task.average_last for task in jobs[0].tasks] == [1, 7]
    assert jobs[0].config["training"]["keep_last"] == 7


def test_a_job_is_read_as_written(write: Write, tmp_path: Path) -> None:
    _, jobs = jobs_of(write(GRID), tmp_path / "out")
    jobs[0].save(tmp_path / "job.json")
    assert Job.load(tmp_path / "job.json") == jobs[0]


@pytest.mark.parametrize(
    ("setting", "changes"),
    [
        ("training.max_steps = 7", True),
        ("model.dropout = 0.2", True),
        ("tokenizer.vocab_size = 401", True),
        ("cleaning.max_words = 99", True),
        ('data.valid = { kind = "grammar", split = "valid", pairs = 6 }', True),
        ("training.log_every = 3", False),
        ("training.tensorboard = true", False),
        ('data.root = "."', False),
        ('model.preset = "tiny"', False),
    ],
)
def test_training_is_repeated_only_if_its_inputs_change(
    write: Write, tmp_path: Path, setting: str, changes: bool
) -> None:
    before = names(write(GRID), tmp_path / "out")
    after = names(write(GRID.replace("[axes]", f"[settings]\n{setting}\n\n[axes]")), tmp_path / "out")
    assert (set(before) & set(after) == set()) == changes
    assert (before == after) != changes


def test_changed_text_needs_a_new_training(write: Write, tmp_path: Path) -> None:
    for name in ("a.de", "a.en"):
        (tmp_path / name).write_text("eins zwei\n" * 3, encoding="utf-8")
    valid = f'data.valid = {{ source = "{tmp_path}/a.de", target = "{tmp_path}/a.en" }}'
    path = write(GRID.replace("[axes]", f"[settings]\n{valid}\n\n[axes]"))
    before = names(path, tmp_path / "out")
    (tmp_path / "a.en").write_text("eins drei\n" * 3, encoding="utf-8")
    assert not set(before) & set(names(path, tmp_path / "out"))


def test_a_new_value_of_an_axis_keeps_the_other_runs(write: Write, tmp_path: Path) -> None:
    before = names(write(GRID.replace('"post", "pre"', '"post"')), tmp_path / "out")
    assert names(write(GRID), tmp_path / "out")[:2] == before


def test_grids_share_the_runs_of_one_folder(write: Write, finished: Path, tmp_path: Path) -> None:
    text = GRID.replace("model.norm = [", "model.n_decoder_layers = [1, 2]\nmodel.norm = [")
    path = write(text.replace('norm = "post"', 'norm = "post", n_decoder_layers = 1')).rename(tmp_path / "depth.toml")
    _, jobs = jobs_of(path, tmp_path / "out", finished)
    before = {run for run in (finished / "runs").iterdir() if run.is_dir()}
    assert len(jobs) == 8
    assert {Path(job.run) for job in jobs} & before == before
    assert {Path(job.prepared) for job in jobs} == {*(finished / "prepared").iterdir()}
    shared = next(job for job in jobs if Path(job.run) in before)
    state = (Path(shared.run) / "metrics.jsonl").read_bytes()
    run([shared], tmp_path)
    assert all((record := records.read(Path(task.record))) and record["status"] == "done" for task in shared.tasks)
    assert (Path(shared.run) / "metrics.jsonl").read_bytes() == state


def test_a_run_directory_of_another_experiment_is_refused(write: Write, tmp_path: Path) -> None:
    _, jobs = jobs_of(write(GRID), tmp_path / "out")
    folder = Path(jobs[0].run)
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").touch()
    (folder / "config.json").write_text(json.dumps(jobs[2].config), encoding="utf-8")
    with pytest.raises(UserError, match=r"its run has other settings \(model.norm\)"):
        jobs_of(write(GRID), tmp_path / "out")


def test_the_folder_of_another_grid_is_refused(write: Write, tmp_path: Path) -> None:
    path = write(GRID)
    jobs_of(path, tmp_path / "out")
    other = path.rename(tmp_path / "other.toml")
    with pytest.raises(UserError, match="holds the grid 'norm', not 'other'; name another folder with --out"):
        jobs_of(other, tmp_path / "out")


def test_a_folder_of_other_things_is_refused(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exists and is not the folder of a grid"):
        jobs_of(write(GRID), tmp_path)


def test_runs_start_from_the_model_that_the_grid_names(
    write: Write, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.training.session.product_rate", lambda dtype, device: 1e9)
    first, second = (next((finished / "runs").glob(f"post-seed{seed}-*")) / "model" for seed in (1, 2))
    text = GRID.replace('"post", "pre"', '"post"').replace("seeds = [1, 2]", "seeds = [3]")
    names_from = {
        start: names(write((f'from = "{start}"\n' if start else "") + text), tmp_path / "out")
        for start in (None, first, second)
    }
    assert len({name for found in names_from.values() for name in found}) == 3
    _, jobs = jobs_of(write(f'from = "{first}"\n{text}'), tmp_path / "out")
    run(jobs, tmp_path)
    record = Run(Path(jobs[0].run)).recorded_parent()
    assert record is not None
    assert record["weights_sha256"] == sha256(first / "model.safetensors")
    wider = text.replace("[axes]", "[settings]\nmodel.d_ff = 26\n\n[axes]")
    with pytest.raises(UserError, match=r"model.d_ff = 26 in the experiment and 22"):
        jobs_of(write(f'from = "{first}"\n{wider}'), tmp_path / "out")


def test_another_model_than_the_planned_one_is_refused(write: Write, finished: Path, tmp_path: Path) -> None:
    first, second = (next((finished / "runs").glob(f"post-seed{seed}-*")) / "model" for seed in (1, 2))
    shutil.copytree(first, tmp_path / "parent")
    text = GRID.replace('"post", "pre"', '"post"')
    _, jobs = jobs_of(write(f'from = "{tmp_path}/parent"\n{text}'), tmp_path / "out")
    shutil.copy(second / "model.safetensors", tmp_path / "parent")
    run(jobs[:1], tmp_path)
    record = records.read(Path(jobs[0].tasks[0].record))
    assert record is not None
    assert "parent: has changed since the grid was planned; run the grid again" in record["reason"]
