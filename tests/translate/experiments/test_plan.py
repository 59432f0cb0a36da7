"""Plans: which runs are trained once or again, and refusal of folders that belong to something else."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.translate.experiments.conftest import EXPERIMENT, GRID, Write, jobs_of, run
from translate.commands.main import main
from translate.config.schema import ExperimentConfig
from translate.errors import UserError
from translate.experiments import records
from translate.experiments.grid import load_grid
from translate.experiments.plan import Job, plan
from translate.files import sha256
from translate.models.folder import TranslationSpec
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
        ('data.train = [{ kind = "grammar", split = "train", pairs = 70, weight = 2.0 }]', True),
        ('data.train = [{ kind = "grammar", split = "train", pairs = 70, weight = 1.0 }]', False),
        ("training.log_every = 3", False),
        ("training.tensorboard = true", False),
        ("training.save_minutes = 3.0", False),
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


def test_another_share_of_the_replayed_corpus_needs_a_new_training(write: Write, tmp_path: Path) -> None:
    def planned(share: float) -> set[str]:
        replay = f'data.replay = {{ share = {share}, sources = [{{ kind = "grammar", split = "train", pairs = 30 }}] }}'
        return set(names(write(GRID.replace("[axes]", f"[settings]\n{replay}\n\n[axes]")), tmp_path / "out"))

    assert not planned(0.3) & planned(0.6)
    assert planned(0.3) == planned(0.3)


def test_changed_text_needs_a_new_training(write: Write, tmp_path: Path) -> None:
    for name in ("a.de", "a.en"):
        (tmp_path / name).write_text("eins zwei\n" * 3, encoding="utf-8")
    valid = f'data.valid = {{ source = "{tmp_path}/a.de", target = "{tmp_path}/a.en" }}'
    path = write(GRID.replace("[axes]", f"[settings]\n{valid}\n\n[axes]"))
    before = names(path, tmp_path / "out")
    (tmp_path / "a.en").write_text("eins drei\n" * 3, encoding="utf-8")
    assert not set(before) & set(names(path, tmp_path / "out"))


def test_each_text_that_models_write_is_made_for_the_cells_that_train_on_it(write: Write, tmp_path: Path) -> None:
    """New targets depend on `cleaning.test_overlap`: pairs that it drops keep theirs."""
    text = GRID.replace("decoding.beam_size = [1, 3]", "cleaning.test_overlap = [true, false]")
    grid, made = load_grid(write(text.replace("beam_size = 1 }", "test_overlap = true }")), []), []

    def complete(config: ExperimentConfig) -> ExperimentConfig:
        made.append(config.cleaning.test_overlap)
        return config

    plan(grid, tmp_path / "out", complete)
    assert made == [True, False]


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


@pytest.mark.parametrize(("setting", "value"), [("model.preset", "small"), ("data.root", "elsewhere")])
def test_another_way_to_write_the_same_experiment_finds_its_runs(
    write: Write, finished: Path, tmp_path: Path, setting: str, value: str
) -> None:
    """The preset has no effect if all that it sets is written out, nor has the root without files."""
    toy = GRID.replace("[axes]", "[settings]\nmodel.init_gain = 1.0\nmodel.dropout = 0.1\n\n[axes]")
    _, before = jobs_of(write(toy), tmp_path / "out")
    run = Path(before[0].run)
    run.mkdir(parents=True)
    (run / "metrics.jsonl").touch()
    (run / "config.json").write_text(json.dumps(before[0].config), encoding="utf-8")
    _, after = jobs_of(write(toy.replace("[settings]", f'[settings]\n{setting} = "{value}"')), tmp_path / "out")
    assert [job.run for job in after] == [job.run for job in before]


def test_grids_that_were_planned_before_their_common_run_began_train_it_once(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
    text = GRID.replace('"post", "pre"', '"post"').replace("[1, 2]", "[1]").replace("[1, 3]", "[1]")
    other = (
        text.replace("model.norm", "model.dropout")
        .replace('["post"]', "[0.1]")
        .replace('norm = "post"', "dropout = 0.1")
    )
    plans = [
        jobs_of(write(grid).rename(tmp_path / f"{name}.toml"), tmp_path / name, tmp_path / "trainings")[1]
        for name, grid in (("norm", text), ("dropout", other))
    ]
    assert plans[0][0].run != plans[1][0].run
    for jobs in plans:
        run(jobs, tmp_path)
        record = records.read(Path(jobs[0].tasks[0].record))
        assert record is not None
        assert record["status"] == "done"
    assert len([path for path in (tmp_path / "trainings/runs").iterdir() if path.is_dir()]) == 1


def test_a_corpus_that_changed_after_planning_is_refused(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
    text = "".join(f"eins zwei {i} {7 * i} {i * i}\n" for i in range(90))
    for name in ("a.de", "a.en"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    train = f'data.train = [{{ source = "{tmp_path}/a.de", target = "{tmp_path}/a.en" }}]'
    settings = f"[settings]\n{train}\ncleaning.identical = false\ntokenizer.vocab_size = 300\n\n[axes]"
    _, jobs = jobs_of(write(GRID.replace("[axes]", settings)), tmp_path / "out")
    run(jobs[:1], tmp_path)
    (tmp_path / "a.en").write_text(text.replace("zwei", "drei"), encoding="utf-8")
    run(jobs[1:2], tmp_path)
    first, second = (records.read(Path(job.tasks[0].record)) for job in jobs[:2])
    assert first is not None
    assert second is not None
    assert first["status"] == "done"
    assert "the corpus has changed since the grid was planned; run the grid again" in second["reason"]
    assert len([*(tmp_path / "out/runs").glob("*/metrics.jsonl")]) == 1


def test_a_cell_that_fails_leaves_the_others_of_its_training(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
    text = GRID.replace('model.norm = ["post", "pre"]', "training.average_last = [10, 1]").replace("[1, 2]", "[1]")
    path = write(text.replace('norm = "post"', "average_last = 1"))
    _, jobs = jobs_of(path, tmp_path / "out")
    run(jobs, tmp_path)
    found = {
        task.row: record
        for job in jobs
        for task in job.tasks
        if (record := records.read(Path(task.record))) is not None
    }
    assert {row: record["status"] for row, record in found.items()} == {
        ("10", "1"): "failed", ("10", "3"): "failed", ("1", "1"): "done", ("1", "3"): "done"
    }  # fmt: skip
    assert "average_last = 10, but the run has 3 checkpoints" in found["10", "1"]["reason"]
    command = ["experiment", str(path), "--out", str(tmp_path / "out")]
    assert (main(command), main([*command, "--table"])) == (1, 0)


def test_a_damaged_checkpoint_is_not_averaged(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
    text = GRID.replace('model.norm = ["post", "pre"]', "training.average_last = [3, 1]").replace("[1, 2]", "[1]")
    _, jobs = jobs_of(write(text.replace('norm = "post"', "average_last = 1")), tmp_path / "out")
    run(jobs, tmp_path)
    (task, *_) = (task for job in jobs for task in job.tasks if task.average_last in (1, 3))
    shutil.rmtree(task.record)
    weights = sorted((tmp_path / "out/runs").glob("*/checkpoints/*/model.safetensors"))[-1]
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    run(jobs, tmp_path)
    record = records.read(Path(task.record))
    assert record is not None
    assert record["status"] == "failed"
    assert "was changed or damaged after it was saved" in record["reason"]


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


def test_a_test_set_that_cannot_be_prepared_is_refused_before_any_run(write: Write, tmp_path: Path) -> None:
    path = write(GRID)
    (tmp_path / "toy.toml").write_text(EXPERIMENT.replace("test.toy", 'test."wmt14/full"'), encoding="utf-8")
    with pytest.raises(UserError, match=r"data.test.wmt14/full: the name becomes part of a file name"):
        jobs_of(path, tmp_path / "out")


def test_runs_start_from_the_model_that_the_grid_names(
    write: Write, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
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
    narrower = text.replace("[axes]", "[settings]\nmodel.d_ff = 18\n\n[axes]")
    with pytest.raises(UserError, match=r"model.d_ff = 18 in the experiment and 22"):
        jobs_of(write(f'from = "{first}"\n{narrower}'), tmp_path / "out")


def test_rows_with_other_shares_of_the_parent_are_other_runs(
    write: Write, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
    parent = next((finished / "runs").glob("post-seed1-*")) / "model"
    axes = "baseline = { parent_share = 0.0 }\n[axes]\ntraining.parent_share = [0.0, 0.75]\n"
    _, jobs = jobs_of(write(f'config = "toy.toml"\nfrom = "{parent}"\n{axes}'), tmp_path / "out")
    assert [[task.row for task in job.tasks] for job in jobs] == [[("0.0",)], [("0.75",)]]
    run(jobs, tmp_path)
    models = (parent, *(Path(job.run) / "model" for job in jobs))
    start, trained, mixed = (load_file(folder / "model.safetensors") for folder in models)
    for name, weights in mixed.items():
        torch.testing.assert_close(weights, 0.25 * trained[name] + 0.75 * start[name])


def test_every_average_of_checkpoints_has_the_share_of_the_parent(
    write: Write, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An average that a run made itself, and the one that is made of its checkpoints later, have the same scores."""
    monkeypatch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
    parent = next((finished / "runs").glob("post-seed1-*")) / "model"

    def perplexities(own: int) -> dict[tuple[str, ...], float]:
        settings = f"[settings]\ntraining.parent_share = 0.75\ntraining.average_last = {own}\n"
        axes = "baseline = { average_last = 1 }\n" + settings + "[axes]\ntraining.average_last = [1, 3]\n"
        _, (job,) = jobs_of(write(f'config = "toy.toml"\nfrom = "{parent}"\n{axes}'), tmp_path / "out")
        run([job], tmp_path)
        found = {task.row: records.read(Path(task.record)) for task in job.tasks}
        return {row: record["perplexity"] for row, record in found.items() if record}

    by_training, later = perplexities(1), perplexities(3)
    assert by_training[("1",)] != pytest.approx(by_training[("3",)], rel=1e-3)
    assert by_training == pytest.approx(later, rel=1e-4)


def test_cells_decode_as_the_model_that_the_grid_names_where_they_set_nothing(
    write: Write, finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(next((finished / "runs").glob("post-seed1-*")) / "model", tmp_path / "parent")
    place = tmp_path / "parent"
    spec = TranslationSpec.load(place)
    replace(spec, decoding=replace(spec.decoding, beam_size=5, alpha=1.7, max_extra=9)).save(place)
    text = GRID.replace('"post", "pre"', '"post"').replace("seeds = [1, 2]", "seeds = [3]")
    _, (job,) = jobs_of(write(f'from = "{tmp_path}/parent"\n{text}'), tmp_path / "out")
    assert [(task.decoding["beam_size"], task.decoding["max_extra"]) for task in job.tasks] == [(1, 3), (3, 3)]
    assert {task.decoding["alpha"] for task in job.tasks} == {job.config["decoding"]["alpha"]} == {1.7}


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
