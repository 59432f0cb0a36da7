"""The run card reports the files of the run directory, for every run and any texts and names."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.translate.training.conftest import Toy, interrupt, without_measurement
from translate.commands.main import main
from translate.corpus.prepare import Prepared
from translate.errors import UserError
from translate.training import card as module
from translate.training.card import CURVE, card
from translate.training.plan import data_record
from translate.training.reproduction import Original
from translate.training.run import Run, environment
from translate.training.validation import Validator


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run trained by the command, whose experiment has a test set."""
    toy = Toy(tmp_path_factory.mktemp("card"))
    toy.settings["data"]["test"] = {"held": {"source": "valid.de", "target": "valid.en"}}
    toy.settings["training"]["valid_bleu_sentences"] = 3
    with pytest.MonkeyPatch.context() as patch:
        without_measurement(patch)
        patch.chdir(toy.folder)
        Path("toy.json").write_text(json.dumps(toy.settings), encoding="utf-8")
        assert main(["train", "toy.json", "--set", "training.seed=7"]) == 0
    return toy.folder


@pytest.fixture
def run(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that run, in a copy of its folder."""
    shutil.copytree(trained, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return Path("runs/toy")


def chapter(page: str, title: str) -> str:
    return re.split(r"^## ", page.split(f"\n## {title}\n", 1)[1], flags=re.MULTILINE)[0]


def metrics(run: Path, kind: str) -> list[dict]:
    lines = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["kind"] == kind]


def test_training_writes_a_card_with_the_contents_of_the_files(run):
    page = (run / "card.md").read_text(encoding="utf-8")
    assert page == card(run)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    start, data = manifest["starts"][0], manifest["data"]
    for digest in (data["fingerprint"], *data["inputs"].values(), *data["files"].values()):
        assert digest in chapter(page, "Data")
    for version in start["versions"].values():
        assert version in chapter(page, "Environment")
    assert str(start["commit"]) in page
    assert start["machine"]["processor"].split()[0] in page
    assert f"{manifest['parameters']:,} parameters" in page
    assert manifest["dtype"] in page
    assert hashlib.sha256((run / "model/model.safetensors").read_bytes()).hexdigest() in page
    (final,) = metrics(run, "final")
    assert f"{final['nll']:.4f} nats" in chapter(page, "Scores")
    assert f"{data['counts']['kept']:,} of {data['counts']['read']:,}" in chapter(page, "Data")


def test_the_card_counts_the_pairs_of_an_older_corpus(toy, monkeypatch):
    monkeypatch.chdir(toy.folder)
    toy.settings["data"]["replay"] = {"sources": toy.settings["data"]["train"], "share": 0.3}
    toy.settings["cleaning"] = {"duplicates": False}
    Path("toy.json").write_text(json.dumps(toy.settings), encoding="utf-8")
    assert main(["train", "toy.json"]) == 0
    new, old = json.loads(Path("runs/toy/manifest.json").read_text(encoding="utf-8"))["data"]["counts"]["pairs"]
    assert new == old > 0
    assert f"| replayed pairs | {old:,} |" in card(Path("runs/toy"))


def test_every_setting_is_listed_once_with_those_of_the_experiment_first(run):
    text = chapter(card(run), "Settings")
    chosen, others = text.split("As by default:")
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    lines = [line.strip() for line in text.splitlines() if " = " in line]
    assert sorted(lines) == sorted(
        f"{section}.{key} = {json.dumps(value, ensure_ascii=False)}"
        for section, values in config.items()
        for key, value in values.items()
    )
    assert "training.seed = 7" in chosen
    assert "data.train" in chosen
    assert "training.label_smoothing = 0.1" in others


def test_evaluation_adds_scores_signatures_and_a_sample_to_the_card(run):
    assert "BLEU " not in chapter(card(run), "Scores").split("greedy")[-1]
    assert main(["evaluate", str(run)]) == 0
    page = (run / "card.md").read_text(encoding="utf-8")
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))["held"]
    for metric in ("bleu", "chrf++", "ter"):
        assert f"{scores[metric]['score']:.2f}" in chapter(page, "Scores")
        assert scores[metric]["signature"] in chapter(page, "Scores")
    hypotheses = (run / "hypotheses/held.txt").read_text(encoding="utf-8").splitlines()
    sources = Path("valid.de").read_text(encoding="utf-8").splitlines()
    references = Path("valid.en").read_text(encoding="utf-8").splitlines()
    assert len(scores["sample"]) == 3
    for entry in scores["sample"]:
        i = entry["line"] - 1
        assert (entry["source"], entry["reference"], entry["translation"]) == (
            sources[i],
            references[i],
            hypotheses[i],
        )
        assert f"source      {sources[i]}\n" in chapter(page, "Sample")
    assert "Not scored with" not in page
    weights = run / "model/model.safetensors"
    weights.write_bytes(weights.read_bytes() + b"\0")
    assert "Not scored with the final model: held" in card(run)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode there")
def test_a_run_with_names_that_are_not_utf_8_has_a_card(toy, monkeypatch):
    monkeypatch.chdir(toy.folder)
    name = os.fsdecode(b"caf\xe9.json")
    Path(name).write_text(json.dumps(toy.settings), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["translate", "train", name])
    assert main(["train", name, "--run", "cafe", "--prepared", "prepared"]) == 0
    assert "caf\\udce9.json" in Path("cafe/card.md").read_text(encoding="utf-8")
    with pytest.raises(UserError, match="safetensors needs a path in UTF-8; name another --run"):
        toy.trainer(os.fsdecode(b"caf\xe9"))


def test_an_unfinished_run_has_a_card_and_a_resumed_run_lists_every_start(toy, monkeypatch):
    monkeypatch.chdir(toy.folder)
    Path("toy.json").write_text(json.dumps(toy.settings), encoding="utf-8")
    with monkeypatch.context() as stopped:
        stopped.setattr(Validator, "scores", lambda validator, model: interrupt())
        assert main(["train", "toy.json"]) == 130
    assert "not ended" in card(Path("runs/toy"))
    manifest = Path("runs/toy/manifest.json")
    values = json.loads(manifest.read_text(encoding="utf-8"))
    values["starts"][0] |= {"commit": "0ff", "uncommitted_changes": True}
    values["starts"][0]["machine"]["threads"] = 5
    manifest.write_text(json.dumps(values), encoding="utf-8")
    assert main(["train", "toy.json", "--resume"]) == 0
    text = chapter(Path("runs/toy/card.md").read_text(encoding="utf-8"), "Environment")
    assert "| starts | 2: " in text
    assert "| commit | 0ff; " in text
    assert "| uncommitted changes | True" in text
    assert "| threads | 5; " in text


@given(n=st.integers(1, 60), best=st.integers(0, 59))
def test_the_curve_is_short_and_has_the_best_and_the_last(n, best):
    valid = [{"kind": "valid", "step": i, "nll": 1.0 if i == best % n else 2.0} for i in range(n)]
    shown = module._validations(valid, "loss")
    steps = [record["step"] for record, _ in shown["curve"]]
    assert shown["best"] is valid[best % n]
    assert {best % n, n - 1} <= set(steps)
    assert len(steps) <= CURVE + 1
    assert steps == sorted(steps)
    assert n > CURVE or steps == list(range(n))


def test_a_validation_row_has_the_preceding_training_loss():
    records = [
        {"kind": "valid", "step": 1, "nll": 2.5},
        {"kind": "train", "step": 2, "loss": 7.0},
        {"kind": "train", "step": 3, "loss": 5.0},
        {"kind": "valid", "step": 3, "nll": 1.5},
        {"kind": "train", "step": 4, "loss": 3.0},
    ]
    curve = module._validations(records, "loss")["curve"]
    assert [(record["step"], loss) for record, loss in curve] == [(1, None), (3, 5.0)]


@pytest.mark.parametrize(("best_by", "step"), [("loss", 3), ("bleu", 5)])
def test_the_best_is_the_first_with_the_best_score(best_by, step):
    scores = [(1, None, 2.0), (3, 1.5, 2.5), (5, 1.5, 7.0), (7, 2.5, 7.0)]
    valid = [{"step": step, "nll": nll, "bleu": bleu} for step, nll, bleu in scores]
    assert module._best(valid, best_by)["step"] == step
    assert module._best([{"step": 1, "nll": None, "bleu": None}], best_by) is None


@settings(max_examples=50)
@given(text=st.text())
def test_no_text_breaks_out_of_its_cell_or_line(text):
    cell = module._cell(text)
    assert len(cell.splitlines()) <= 1
    assert not re.search(r"(?<!\\)(\\\\)*[|`<*_]", cell)
    assert re.sub(r"\\(.)", r"\1", cell) == " ".join(text.split())
    assert len(module._page().environment.filters["line"](text).splitlines()) <= 1


def test_warnings_and_memory_splits_are_on_the_card(run):
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        for record in ({"kind": "warning", "message": "50 % | more"}, {"kind": "memory", "halved": 3}):
            file.write(json.dumps({"step": 12, "epoch": 1, "seconds": 3.0, **record}) + "\n")
        file.write('{"kind": "train", "st')
    text = chapter(card(run), "Warnings")
    assert "- 50 % \\| more" in text
    assert "- 3 times a batch did not fit" in text


def test_a_damaged_run_gets_a_reason_instead_of_a_card_and_keeps_its_scores(run, capsys):
    manifest = run / "manifest.json"
    values = json.loads(manifest.read_text(encoding="utf-8"))
    without_data = {key: value for key, value in values.items() if key != "data"}
    machine = values["starts"][0].pop("machine")
    for damaged in ({**without_data, "starts": [{**values["starts"][0], "machine": machine}]}, values):
        manifest.write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(UserError, match="manifest.json: damaged: .*, so there is no run card"):
            card(run)
    assert main(["evaluate", str(run)]) == 0
    assert "warning: " in capsys.readouterr().err
    assert (run / "scores.json").exists()


WRONG = [None, -3, "\0", [], ["x"], {"x": None}]


def places(value, *above):
    """Yield the keys of each value in nested JSON."""
    if above:
        yield above
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(below, *above, key)


def test_values_of_wrong_types_in_the_manifest_of_a_run_are_refused_or_harmless(run):
    path = run / "manifest.json"
    whole = path.read_text(encoding="utf-8")
    prepared, now, said = Prepared.open(Path(json.loads(whole)["prepared"])), environment(), []
    data = data_record(prepared)
    for place in places(json.loads(whole)):
        for wrong in WRONG:
            manifest = json.loads(whole)
            inner = manifest
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = wrong
            path.write_text(json.dumps(manifest), encoding="utf-8")
            with contextlib.suppress(UserError):
                Run(run).check_data(data, prepared.folder, otherwise="begin another")
                Run(run).recorded_dtype(), Run(run).recorded_parent()
                original = Original.open(run)
                original.corpus_folder(Path("elsewhere")), original.doubts(now)
                said.append(place)
    for needed in ("starts", "data", "dtype", "prepared"):
        assert said.count((needed,)) <= 2, needed


@pytest.mark.parametrize(
    "line",
    [
        "[" * 99_999,
        "5",
        '{"kind": 5, "step": 1}',
        '{"kind": "final", "step": -1}',
        '{"kind": "valid", "step": "one"}',
        '{"kind": "final"}',
        "{}",
    ],
)
def test_a_damaged_line_of_the_metrics_is_skipped_as_one_that_was_cut_off(run, line):
    records, page = Run(run).records(), card(run)
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    assert Run(run).records() == records
    assert card(run) == page
