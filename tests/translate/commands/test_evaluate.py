"""Evaluation scores every line, writes what it scored, and refuses test data that do not match."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
import sacrebleu

from translate.cli import main
from translate.config.load import parse
from translate.corpus.prepare import prepare
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder

PAIRS = {
    "train": [(f"das Haus {i} ist rot", f"house {i} is red") for i in range(37)],
    "valid": [("der Hund schläft", "the dog sleeps"), ("die Katze läuft", "the cat runs")],
    "test": [("das Kind singt", "the child sings"), ("", "blank"), ("ein Vogel singt", "a bird sings")],
}


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    for language, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
        (folder / f"{name}.{language}").write_text("".join(f"{text}\n" for text in side), encoding="utf-8")


@pytest.fixture
def run(parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run directory with a model and prepared data, relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRANSLATE_MODEL", raising=False)
    for name, pairs in PAIRS.items():
        write(tmp_path, name, pairs)
    sources = {name: {"source": f"{name}.de", "target": f"{name}.en"} for name in PAIRS}
    data = {"source": "de", "target": "en", "train": [sources["train"]], "valid": sources["valid"]}
    values = {"data": {**data, "test": {"small": sources["test"]}}, "tokenizer": {"vocab_size": 283}}
    prepared = prepare(parse(values, "test"), Path("prepared"), lambda _: None)
    folder = tmp_path / "runs" / "x"
    shutil.copytree(parts.folder, folder / "model")
    manifest = {"prepared": "prepared", "data": {"fingerprint": prepared.manifest["fingerprint"]}}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_a_run_is_scored_on_its_test_sets(
    run: Path, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "runs/x"]) == 0
    hypotheses = [t.text for t in translator.translate([source for source, _ in PAIRS["test"]])]
    assert (run / "hypotheses" / "small.txt").read_text(encoding="utf-8") == "".join(f"{h}\n" for h in hypotheses)
    record = json.loads((run / "scores.json").read_text(encoding="utf-8"))["small"]
    assert record["lines"] == 3
    assert record["bleu"]["score"] == sacrebleu.corpus_bleu(hypotheses, [[r for _, r in PAIRS["test"]]]).score
    assert record["decoding"] == {"beam_size": 2, "alpha": 0.6, "length_penalty": "gnmt", "max_extra": 5}
    assert record["seconds"] > 0
    out = capsys.readouterr().out
    assert "small" in out
    for metric in ("bleu", "chrf++", "ter"):
        assert record[metric]["signature"] in out


def test_the_newest_run_is_the_default(run: Path) -> None:
    assert main(["evaluate"]) == 0
    assert (run / "scores.json").exists()


def test_scores_of_other_sets_stay(run: Path) -> None:
    assert main(["evaluate", "runs/x"]) == 0
    assert main(["evaluate", "runs/x", "--valid", "--confidence", "--beam", "1"]) == 0
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    assert list(scores) == ["small", "valid"]
    assert (scores["valid"]["lines"], scores["valid"]["decoding"]["beam_size"]) == (2, 1)
    assert "interval" in scores["valid"]["bleu"]


def test_files_are_scored_for_a_model_outside_any_run(
    run: Path, parts: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--source", "test.de", "--reference", "test.en"]
    lone = Path(shutil.copytree(parts.folder, tmp_path / "lone"))
    before = sorted(tmp_path.rglob("*"))
    assert main(["evaluate", str(lone), *files]) == 0
    assert sorted(tmp_path.rglob("*")) == before
    assert main(["evaluate", str(lone), *files, "--out", "scored"]) == 0
    assert json.loads((tmp_path / "scored" / "scores.json").read_text(encoding="utf-8"))["test"]["lines"] == 3
    assert (tmp_path / "scored" / "hypotheses" / "test.txt").read_text(encoding="utf-8").count("\n") == 3


def test_a_checkpoint_does_not_overwrite_the_scores_of_its_run(run: Path, parts: ModelFolder) -> None:
    checkpoint = shutil.copytree(parts.folder, run / "checkpoints" / "step-00000005")
    assert main(["evaluate", str(checkpoint)]) == 0
    assert not (run / "scores.json").exists()


@pytest.mark.parametrize("name", ["x", "runs/x"])
def test_a_run_without_a_final_model_gets_the_scores_of_its_checkpoint(run: Path, name: str) -> None:
    (run / "checkpoints").mkdir()
    (run / "model").rename(run / "checkpoints" / "step-00000007")
    assert main(["evaluate", name]) == 0
    assert "step-00000007" in json.loads((run / "scores.json").read_text(encoding="utf-8"))["small"]["model"]


def test_data_prepared_anew_are_not_taken_for_the_old(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run / "manifest.json"
    path.write_text(json.dumps({"prepared": "prepared", "data": {"fingerprint": "another"}}), encoding="utf-8")
    assert main(["evaluate", "runs/x"]) == 2
    assert "prepared again" in capsys.readouterr().err


@pytest.mark.parametrize("manifest", ["", "{}", '{"prepared": "gone", "data": {}}'])
def test_a_damaged_manifest_is_one_line(run: Path, manifest: str, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "manifest.json").write_text(manifest, encoding="utf-8")
    assert main(["evaluate", "runs/x"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("", encoding="utf-8")
    assert main(["evaluate", "runs/x", "--out", "file"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("place", ["runs/x", "runs/x/model", "."])
def test_a_run_is_evaluated_from_any_folder(run: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "prepared": str(Path("prepared").resolve())}), encoding="utf-8")
    (run / "deeper").mkdir()
    monkeypatch.chdir({"runs/x": run.parent.parent, "runs/x/model": run / "deeper", ".": run / "model"}[place])
    assert main(["evaluate", {"runs/x/model": "../model"}.get(place, place)]) == 0
    assert list(json.loads((run / "scores.json").read_text(encoding="utf-8"))) == ["small"]


@pytest.mark.parametrize(
    ("file", "name"), [("new.test.v2.de", "new.test.v2"), ("new.test.de.gz", "new.test"), ("plain", "plain")]
)
def test_a_file_gives_its_name_without_the_language(run: Path, file: str, name: str) -> None:
    data = Path("test.de").read_bytes()
    Path(file).write_bytes(gzip.compress(data) if file.endswith(".gz") else data)
    assert main(["evaluate", "runs/x", "--source", file, "--reference", "test.en"]) == 0
    assert list(json.loads((run / "scores.json").read_text(encoding="utf-8"))) == [name]
    assert (run / "hypotheses" / f"{name}.txt").exists()


def test_two_sets_of_one_name_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--source", "valid.de", "--reference", "valid.en"]
    assert main(["evaluate", "runs/x", *files, "--valid"]) == 2
    assert "two sets are called 'valid'" in capsys.readouterr().err
    assert not (run / "scores.json").exists()


def test_scores_of_another_text_are_not_replaced_in_silence(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", "runs/x", "--source", "small.de", "--reference", "small.en"]
    write(Path(), "small", PAIRS["test"])
    for pairs, warned in ((PAIRS["test"], False), (PAIRS["test"], False), (PAIRS["valid"], True)):
        write(Path(), "small", pairs)
        assert main(arguments) == 0
        assert ("has scores of another text called 'small'" in capsys.readouterr().err) == warned


@pytest.mark.parametrize("damage", ["scores are a list", "scores are cut off", "folder is a file", "no tokenisation"])
def test_what_would_fail_in_the_end_fails_before_anything_is_translated(
    run: Path, damage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("translate.commands.systems.set_up_torch", None)
    if damage == "folder is a file":
        (run / "hypotheses").write_text("", encoding="utf-8")
    elif damage == "no tokenisation":
        monkeypatch.setattr("sacrebleu.BLEU", refuse)
    else:
        (run / "scores.json").write_text({"scores are a list": "[]"}.get(damage, '{"a": '), encoding="utf-8")
    assert main(["evaluate", "runs/x"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def refuse(trg_lang: str, lowercase: bool) -> None:
    raise RuntimeError(f"cannot tokenise {trg_lang}")
