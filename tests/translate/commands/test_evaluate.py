"""Evaluation scores every line, writes the translations it scored, and refuses test data that do not match."""

import gzip
import json
import os
import re
import shlex
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from translate.commands import evaluate
from translate.commands.evaluate import Result
from translate.commands.main import main
from translate.commands.systems import SystemOutput
from translate.config.load import load
from translate.corpus.prepare import prepare
from translate.evaluation.scores import Score, score
from translate.files import sha256, write_json
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Search
from translate.training.plan import data_record

PAIRS = {
    "train": [(f"das Haus {i} ist rot", f"house {i} is red") for i in range(37)],
    "valid": [("der Hund schläft", "the dog sleeps"), ("die Katze läuft", "the cat runs")],
    "test": [("das Kind singt", "the child sings"), ("", "blank"), ("ein Vogel singt", "a bird sings")],
}
TOKENIZER = {"vocab_size": 283}


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
    write_json(tmp_path / "toy.json", {"data": {**data, "test": {"small": sources["test"]}}, "tokenizer": TOKENIZER})
    prepared = prepare(load(Path("toy.json")), Path("prepared"), lambda _: None)
    folder = tmp_path / "runs" / "x"
    shutil.copytree(parts.folder, folder / "model")
    manifest = {"prepared": "prepared", "data": data_record(prepared)}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_a_run_is_scored_on_its_test_sets(
    run: Path, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "runs/x"]) == 0
    hypotheses = [t.text for t in translator.translate_lines([source for source, _ in PAIRS["test"]])]
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


def test_both_engines_have_the_same_scores(run: Path) -> None:
    pytest.importorskip("ctranslate2")
    records = []
    for engine in ("torch", "ctranslate2"):
        assert main(["evaluate", "runs/x", "--engine", engine]) == 0
        records.append(json.loads((run / "scores.json").read_text(encoding="utf-8"))["small"])
    assert [record.pop("engine") for record in records] == ["torch", "ctranslate2"]
    for record in records:
        del record["seconds"]  # rounded, 0 on a fast machine
    assert records[0] == records[1]


def test_the_environment_names_the_default(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLATE_MODEL", "runs/x")
    assert main(["evaluate"]) == 0
    assert (run / "scores.json").exists()


def test_scores_of_other_sets_are_kept(run: Path) -> None:
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


def test_another_model_in_the_folder_of_a_run_does_not_overwrite_its_scores(run: Path, parts: ModelFolder) -> None:
    """Such as the parent of a run that was fine-tuned."""
    assert main(["evaluate", str(shutil.copytree(parts.folder, run / "parent"))]) == 0
    assert not (run / "scores.json").exists()
    assert main(["evaluate", str(run / "model")]) == 0
    assert (run / "scores.json").exists()


@pytest.mark.parametrize("name", ["x", "runs/x"])
def test_a_run_without_a_final_model_gets_the_scores_of_its_checkpoint(run: Path, name: str) -> None:
    (run / "checkpoints").mkdir()
    (run / "model").rename(run / "checkpoints" / "step-00000007")
    assert main(["evaluate", name]) == 0
    assert "step-00000007" in json.loads((run / "scores.json").read_text(encoding="utf-8"))["small"]["model"]


@pytest.mark.parametrize("change", ["data.test={}", "data.test.more=@valid", "data.valid=@test"])
def test_other_test_sets_are_not_taken_for_those_of_the_run(
    run: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The training text was kept apart from the sets of its own time alone."""
    change = re.sub("@(.*)", r'{ source = "\1.de", target = "\1.en" }', change)
    assert main(["prepare", "toy.json", "--out", "prepared", "--set", change]) == 0
    assert main(["evaluate", "runs/x"]) == 2
    assert "prepared again" in capsys.readouterr().err


def test_a_run_has_its_test_sets_after_another_one_has_changed_the_rest_of_the_corpus(run: Path) -> None:
    """Such as a second run with more text or a larger vocabulary, with which it is compared."""
    write(run.parents[1], "train", [*PAIRS["train"], ("das Dach ist rot", "the roof is red")])
    assert main(["prepare", "toy.json", "--out", "prepared", "--set", "tokenizer.vocab_size=290"]) == 0
    assert main(["evaluate", "runs/x"]) == 0
    assert list(json.loads((run / "scores.json").read_text(encoding="utf-8"))) == ["small"]


@pytest.mark.parametrize("manifest", ["", "{}", '{"prepared": "gone", "data": {}}'])
def test_a_damaged_manifest_gives_a_one_line_error(
    run: Path, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "manifest.json").write_text(manifest, encoding="utf-8")
    assert main(["evaluate", "runs/x"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unwritable_folder_gives_a_one_line_error(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
def test_a_test_set_is_named_after_its_file_without_the_language(run: Path, file: str, name: str) -> None:
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


def test_scores_of_another_text_are_not_silently_replaced(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", "runs/x", "--source", "small.de", "--reference", "small.en"]
    write(Path(), "small", PAIRS["test"])
    for pairs, warned in ((PAIRS["test"], False), (PAIRS["test"], False), (PAIRS["valid"], True)):
        write(Path(), "small", pairs)
        assert main(arguments) == 0
        assert ("has scores of another text called 'small'" in capsys.readouterr().err) == warned


def test_scores_of_other_weights_are_not_silently_replaced(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = run / "scores.json"
    for warned in (False, False, True):
        if warned:
            text = scores.read_text(encoding="utf-8")
            digest = json.loads(text)["valid"]["model_sha256"]
            scores.write_text(text.replace(digest, "of another model"), encoding="utf-8")
        assert main(["evaluate", "runs/x", "--valid"]) == 0
        assert ("had scores of other weights on 'valid'" in capsys.readouterr().err) == warned


@pytest.mark.parametrize("damage", ["scores are a list", "scores are cut off", "folder is a file", "no tokenisation"])
def test_errors_at_the_end_are_found_before_translation(
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


NOUNS = ("dog", "cat", "bird", "child", "cow")
REFERENCES = [f"The {NOUNS[i % 5]} no. {i} sleeps in the old house of Mr {i % 3}." for i in range(41)]


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the output of two systems, sources and references."""
    monkeypatch.chdir(tmp_path)
    outputs = {
        "ref.en": REFERENCES,
        "src.de": [f"Quelle {i}" for i in range(41)],
        "a.txt": [line.replace("sleeps", "walks") if i % 3 else line for i, line in enumerate(REFERENCES)],
        "b.txt": [line.replace("house", "barn") if i % 4 == 1 else line for i, line in enumerate(REFERENCES)],
    }
    for name, lines in outputs.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def report(arguments: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["evaluate", *arguments.split(), "--format", "json"]) == 0
    results: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["results"]
    return results


def test_saved_outputs_are_compared_without_a_model(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(saved.iterdir())
    first, second = report("a.txt b.txt --reference ref.en --paired ar --confidence", capsys)
    assert sorted(saved.iterdir()) == before
    assert (first["system"], second["system"], second["set"], second["lines"]) == ("a", "b", "ref", 41)
    assert "p_value" not in first["bleu"]
    for metric in ("bleu", "chrf++", "ter"):
        assert 0 < second[metric]["p_value"] <= 1
        assert "ar:10000" in second[metric]["signature"]
        assert second[metric]["interval"] > 0
    expected = sacrebleu.corpus_bleu(Path("b.txt").read_text(encoding="utf-8").splitlines(), [REFERENCES])
    assert second["bleu"]["score"] == pytest.approx(expected.score)


def test_settings_of_a_search_without_a_model_are_refused(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "a.txt", "--reference", "ref.en", "--alpha", "0.3"]) == 2
    assert "--alpha is for models; leave it out for saved outputs" in capsys.readouterr().err
    assert main(["evaluate", "a.txt", "--reference", "ref.en", "--rerank", "x"]) == 2
    assert "--rerank is for models; leave it out for saved outputs" in capsys.readouterr().err
    assert main(["evaluate", "a.txt", "--reference", "ref.en", "--engine", "auto"]) == 2
    assert "--engine is for models; leave it out for saved outputs" in capsys.readouterr().err


def test_an_impossible_precision_leaves_no_folder(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "runs/x", "--precision", "int8", "--out", "there"]) == 2
    assert "the engine torch has no precision int8" in capsys.readouterr().err
    assert not Path("there").exists()


def test_a_reranked_evaluation_scores_the_hypotheses_that_reranking_puts_first(
    run: Path, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    back = run.parent / "back"
    shutil.copytree(parts.folder, back)
    spec = json.loads((back / "translation.json").read_text(encoding="utf-8"))
    (back / "translation.json").write_text(json.dumps(spec | {"source": "en", "target": "de"}), encoding="utf-8")
    # The least probable hypothesis first: otherwise both models may agree with the search on so few sentences.
    monkeypatch.setattr(
        "translate.inference.search.rerank",
        lambda model, found, weight: [list(reversed(several)) for _, several in found],
    )
    assert main(["evaluate", "runs/x", "--beam", "5", "--rerank", str(back)]) == 0
    sources = [source for source, _ in PAIRS["test"]]
    by_beam = list(Translator.load(run / "model", Search(beam_size=5)).n_best(sources, 5))
    found = (run / "hypotheses" / "small.txt").read_text(encoding="utf-8").splitlines()
    assert found == [several[-1].text for several in by_beam] != [several[0].text for several in by_beam]
    digest = json.loads((run / "scores.json").read_text(encoding="utf-8"))["small"]["reranker_sha256"]
    assert digest == sha256(back / "model.safetensors")
    capsys.readouterr()
    assert main(["evaluate", "runs/x", "--beam", "5"]) == 0
    assert "had scores of another reranker on 'small'" in capsys.readouterr().err


@pytest.mark.parametrize(("weight", "used"), [(None, 1.0), (0.25, 0.25)])
def test_the_weight_of_the_reranker_is_recorded(
    run: Path, parts: ModelFolder, weight: float | None, used: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the digests, decoding and engine, it is all that the order of the hypotheses depends on."""
    back = run.parent / "back"
    shutil.copytree(parts.folder, back)
    spec = json.loads((back / "translation.json").read_text(encoding="utf-8"))
    write_json(back / "translation.json", spec | {"source": "en", "target": "de"})
    write_json(run / "model" / "translation.json", spec | ({} if weight is None else {"reverse_weight": weight}))
    assert main(["evaluate", "runs/x", "--rerank", str(back)]) == 0
    assert json.loads((run / "scores.json").read_text(encoding="utf-8"))["small"]["reverse_weight"] == used
    write_json(run / "model" / "translation.json", spec | {"reverse_weight": 3})
    capsys.readouterr()
    assert main(["evaluate", "runs/x", "--rerank", str(back)]) == 0
    assert "had scores of another weight of the reranker on 'small'" in capsys.readouterr().err


def test_a_missing_reranker_is_reported_before_anything_is_translated(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("translate.commands.systems.LoadedModel.output", lambda *_: pytest.fail("translated"))
    assert main(["evaluate", "runs/x", "--rerank", "nowhere"]) == 2
    assert "nowhere: no such file, folder, run or installed model" in capsys.readouterr().err
    assert not (run / "scores.json").exists()


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (["--beam", "3"], "scores of another search on 'small', which were replaced"),
        (["--ignore-case"], "scores of other metrics on 'small', which were replaced"),
        (["--beam", "3", "--ignore-case"], "scores of another search and other metrics"),
        (["--confidence"], None),
    ],
)
def test_replacing_scores_that_were_made_otherwise_is_reported(
    run: Path, options: list[str], warning: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "runs/x"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "runs/x", *options]) == 0
    said = capsys.readouterr().err
    assert (warning or "") in said
    assert ("were replaced" in said) == (warning is not None)


def test_systems_that_share_a_results_file_are_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a b", "a-b"):
        shutil.copytree(run / "model", tmp_path / name)
    texts = ["--source", str(tmp_path / "x"), "--reference", str(tmp_path / "x")]
    (tmp_path / "x").write_text("x\n", encoding="utf-8")
    assert main(["evaluate", str(tmp_path / "a b"), str(tmp_path / "a-b"), *texts, "--out", str(tmp_path / "o")]) == 2
    assert "2 systems would write their results to" in capsys.readouterr().err


@pytest.mark.parametrize("named", ["system", "reference", "source"])
def test_a_file_that_is_read_is_not_overwritten(run: Path, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = run / "hypotheses" / "test.txt"
    file.parent.mkdir(exist_ok=True)
    file.write_text("old one\nold two\nold three\n", encoding="utf-8")
    before = file.read_bytes()
    texts = {"--source": "test.de", "--reference": "test.en"}
    if named != "system":
        texts[f"--{named}"] = str(file)
    systems = ["runs/x", str(file)] if named == "system" else ["runs/x"]
    assert main(["evaluate", *systems, *(word for pair in texts.items() for word in pair)]) == 2
    assert f"{file}: would be overwritten by new translations; name another folder" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_every_system_has_its_results_inside_of_the_named_folder(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        shutil.copytree(run / "model", tmp_path / name / "same")
    (tmp_path / "a/same/below").mkdir()
    texts = ["--source", str(tmp_path / "test.de"), "--reference", str(tmp_path / "test.en"), "--out", "o"]
    monkeypatch.chdir(tmp_path / "a/same/below")
    assert main(["evaluate", "..", str(tmp_path / "b/same"), *texts]) == 0
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["o"]
    assert len([*Path("o").glob("*/scores.json")]) == 2


def test_a_test_set_may_have_a_name_that_is_not_utf_8(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("ref.en", os.fsdecode(b"ref\xff.en"))
    (scored,) = report("a.txt --reference " + os.fsdecode(b"ref\xff.en"), capsys)
    assert scored["set"] == r"ref\xff"
    assert main(["compare", "a.txt", "b.txt", "--reference", os.fsdecode(b"ref\xff.en"), "--out", "page.html"]) == 0
    assert r"ref\xff" in Path("page.html").read_text(encoding="utf-8")


def test_a_model_and_a_saved_output_are_compared(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "runs/x"]) == 0
    capsys.readouterr()
    shutil.copy(run / "hypotheses" / "small.txt", "again.txt")
    first, second = report("runs/x again.txt --paired bootstrap --out scored", capsys)
    assert first["bleu"]["score"] == second["bleu"]["score"]
    assert second["bleu"]["p_value"] == 1
    assert json.loads(Path("scored/x/scores.json").read_text(encoding="utf-8"))["small"]["lines"] == 3


@pytest.mark.parametrize(
    ("form", "begins", "holds"),
    [
        ("text", "set    system", "BLEU  nrefs:1|bs:1000"),
        ("markdown", "| set", "- BLEU  nrefs:1|bs:1000"),
        ("latex", "\\begin{tabular}", "% BLEU  nrefs:1|bs:1000"),
    ],
)
def test_every_format_has_rows_and_signatures(
    saved: Path, form: str, begins: str, holds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--reference", "ref.en", "--paired", "bootstrap"]
    assert main(["evaluate", "a.txt", "b.txt", *files, "--format", form]) == 0
    out = capsys.readouterr().out
    assert out.startswith(begins)
    assert holds in out
    assert out.count("100") >= 1
    assert "p: paired bootstrap resampling against a" in out


def test_the_bleu_of_the_paper_is_a_column_with_a_label(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sacremoses")
    assert main(["evaluate", "a.txt", "--reference", "ref.en", "--paper", "--to", "en"]) == 0
    out = capsys.readouterr().out
    assert "BLEU of the paper" in out.splitlines()[0]
    assert "not comparable with sacreBLEU" in out


def test_comet_is_computed_by_an_external_program(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("fake.py").write_text("print('out.txt\\tscore: 0.8125')", encoding="utf-8")
    command = ["--comet", f"{shlex.quote(sys.executable)} fake.py"]
    files = ["--source", "src.de", "--reference", "ref.en"]
    assert main(["evaluate", "a.txt", "b.txt", *files, *command]) == 0
    out = capsys.readouterr().out
    assert "COMET" in out.splitlines()[0]
    assert out.count("0.8125") == 2


def test_other_metrics_are_saved_and_stay_with_their_translations(run: Path) -> None:
    Path("fake.py").write_text("print('out.txt\\tscore: 0.8125')", encoding="utf-8")

    def saved(*options: str) -> dict[str, Any]:
        assert main(["evaluate", "runs/x", *options]) == 0
        return json.loads((run / "scores.json").read_text(encoding="utf-8"))["small"]

    command = f"{shlex.quote(sys.executable)} fake.py"
    comet = {"score": 0.8125, "signature": f"command:{command}"}
    assert saved("--comet", command)["comet"] == comet
    again = saved("--confidence")
    assert again["comet"] == comet
    assert "interval" in again["bleu"]
    assert "comet" not in saved("--beam", "1")


def test_a_missing_comet_is_reported_before_anything_is_translated(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "runs/x", "--comet", "/no/comet"]) == 2
    assert capsys.readouterr().err == (
        "translate: --comet /no/comet: cannot be run: no such program; name comet-score by its path\n"
    )
    assert not (run / "hypotheses").exists()


def test_case_is_ignored_on_demand_and_the_signature_says_so(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lower = Path("ref.en").read_text(encoding="utf-8").lower()
    Path("lower.txt").write_text(lower, encoding="utf-8")
    (result,) = report("lower.txt --reference ref.en --ignore-case", capsys)
    assert result["bleu"]["score"] == pytest.approx(100)
    assert "case:lc" in result["bleu"]["signature"]


SAVED_MISTAKES = {
    "a.txt": "references",
    "a.txt --source src.de": "belong together",
    "a.txt a.txt --reference ref.en": "named twice",
    "a.txt ./a.txt --reference ref.en": "named twice",
    "a.txt link.txt --reference ref.en": "named twice",
    "a.txt --reference ref.en --paired ar": "at least two",
    "a.txt --reference ref.en --out scores": "--out is for",
    "a.txt --reference ref.en --paper": "--to",
    "a.txt --reference ref.en --comet comet-score": "--source",
    "a.txt --test-set wmt14": "--from and --to",
    "short.txt --reference ref.en": "short.txt: has 40 lines, but the references have 41",
    "subwords.txt --reference ref.en": "subwords.txt, line 1: still holds subwords",
    "lower.txt --reference ref.en": "lower.txt: has no capital letter",
    "my.toml": "my.toml: has settings, not translations; name its run, such as runs/my",
    "a.txt gone.txt --reference ref.en": "no such file, folder",
    "a.txt --source src.de --reference ref.en --comet /no/comet": "cannot be run",
}


@pytest.mark.parametrize("arguments", SAVED_MISTAKES)
def test_a_mistake_with_saved_outputs_gives_a_one_sentence_error(
    saved: Path, arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Path("a.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("short.txt").write_text("".join(lines[1:]), encoding="utf-8")
    Path("link.txt").symlink_to("a.txt")
    Path("my.toml").write_text("", encoding="utf-8")
    Path("lower.txt").write_text("".join(lines).lower(), encoding="utf-8")
    Path("subwords.txt").write_text("".join(line.replace("house", "ho@@ use") for line in lines), encoding="utf-8")
    assert main(["evaluate", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert SAVED_MISTAKES[arguments] in captured.err


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_a_model_is_not_scored_in_the_other_direction(
    run: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Path(), "other", PAIRS["valid"])
    arguments = ["--source", "other.en", "--reference", "other.de", "--from", "en", "--to", "de"]
    assert main([command, "runs/x", "other.en", *arguments]) == 2
    assert "translates from de to en, not from en to de" in capsys.readouterr().err


def test_a_saved_output_belongs_to_one_test_set(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), "other", PAIRS["valid"])
    files = ["--source", "other.de", "--reference", "other.en"]
    assert main(["evaluate", "runs/x", "other.en", *files, "--valid"]) == 2
    assert "one test set, but there are 2: other, valid" in capsys.readouterr().err


def test_a_model_without_capitals_is_scored_with_a_warning(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that was hardly trained is not a user error."""
    write(Path(), "cased", [("das Haus", "The House")] * 5)
    output = SystemOutput(["the house"] * 5, 1.5)
    monkeypatch.setattr("translate.commands.systems.LoadedModel.output", lambda self, name, pairs: output)
    files = ["--source", "cased.de", "--reference", "cased.en"]
    assert main(["evaluate", "runs/x", *files]) == 0
    assert "warning: x: has no capital letter" in capsys.readouterr().err
    assert json.loads((run / "scores.json").read_text(encoding="utf-8"))["cased"]["bleu"]["score"] < 50


def test_empty_lines_of_an_output_are_scored_with_a_warning(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Path(), "other", PAIRS["valid"])
    Path("half.en").write_text("".join(f"{line}\n" for line in ["the house"] + [" "] * (len(PAIRS["valid"]) - 1)))
    assert main(["evaluate", "half.en", "--reference", "other.en"]) == 0
    n = len(PAIRS["valid"])
    assert f"warning: half: {n - 1} of {n} translations are empty" in capsys.readouterr().err


BLANKS = {  # references, translations, and what is said of the translations and of the references
    "both": (["a b", "", "c d"], ["a b", "", "c d"], None, None),
    "references": (["a b", "", "c d", " "], ["a b", "", "c d", "e f"], None, "1 of 4 references are blank where hyp"),
    "translations": (
        ["a b", "c d", "e f"],
        ["a b", "\u00a0", ""],
        "2 of 3 translations are empty, first in line 2",
        None,
    ),
    "each": (["a b", "", "e f"], ["", "c d", "e f"], "1 of 3 translations are empty", "1 of 3 references are blank"),
}


@pytest.mark.parametrize("where", BLANKS)
def test_blank_references_are_told_from_blank_translations(
    saved: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    references, translations, *said = BLANKS[where]
    for name, lines in (("ref.en", references), ("hyp.en", translations)):
        (saved / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert main(["evaluate", "hyp.en", "--reference", "ref.en"]) == 0
    heard = capsys.readouterr().err
    for words, wanted in zip(("translations are empty", "references are blank"), said, strict=True):
        assert wanted in heard if wanted else words not in heard


@pytest.mark.parametrize("form", ["text", "json", "markdown", "latex"])
def test_scores_of_short_lines_and_of_one_line_are_explained(
    saved: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ref.en", "a.txt", "b.txt"):
        (saved / name).write_text("Guten Tag.\n", encoding="utf-8")
    arguments = ["evaluate", "a.txt", "b.txt", "--reference", "ref.en", "--confidence", "--format", form]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    for system in ("a", "b"):
        assert said.count(f"ref, {system}: BLEU is 0 because no translation has 4 words") == 1
        assert said.count(f"ref, {system}: the interval is 0") == 1
    assert main(["compare", "a.txt", "b.txt", "--reference", "ref.en"]) == 0
    assert "BLEU is 0 because" in capsys.readouterr().out


def test_scores_of_another_form_of_address_are_replaced_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if the translations in the sample are the same."""
    (tmp_path / "hypotheses").mkdir()
    plain = {"model_sha256": "0", "decoding": {}, "engine": "torch"}

    def recorded(origin: dict[str, object], others: dict[str, Score]) -> dict[str, object]:
        result = Result(
            "small", "model", score(["Ein Hund."], ["Ein Hund."]), others, 1.0, ["Ein Hund."], origin, tmp_path
        )
        evaluate.write_record(tmp_path, result, [("A dog.", "Ein Hund.")])
        found: dict[str, object] = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))["small"]
        return found

    comet = {"COMET": Score(0.7, "")}
    assert {"formality", "comet"} <= recorded({**plain, "formality": "formal"}, comet).keys()
    assert not {"formality", "comet"} & recorded(plain, {}).keys()
    assert "had scores of another form of address on 'small', which were replaced" in capsys.readouterr().err
    recorded(plain, comet)
    assert "comet" in recorded(plain, {})
    assert "replaced" not in capsys.readouterr().err


def test_evaluations_that_write_at_the_same_time_all_keep_their_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [("Ein Hund.", "A dog.")]
    scores = score(["A dog."], ["A dog."])
    (tmp_path / "hypotheses").mkdir()

    def slow_write(path: Path, content: object) -> None:
        time.sleep(0.02)  # so that without a lock all have read the file before one writes it
        write_json(path, content)

    monkeypatch.setattr(evaluate, "write_json", slow_write)
    names = {f"set-{i}" for i in range(7)}
    origin = {"model_sha256": "0", "decoding": {}, "engine": "torch"}
    results = [Result(name, "model", scores, {}, 1.0, ["A dog."], origin, tmp_path) for name in names]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda result: evaluate.write_record(tmp_path, result, pairs), results))
    assert json.loads((tmp_path / "scores.json").read_text(encoding="utf-8")).keys() == names
