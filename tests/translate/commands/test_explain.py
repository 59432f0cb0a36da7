"""`translate explain`: pictures as text and files, and one sentence for every mistake."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from transformer.model import Transformer
from translate.commands.main import main
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder

SENTENCE = "der Hund schläft."
PICTURES = {
    "attention": ["--attention", SENTENCE, "--layer", "2"],
    "every head": ["--attention", SENTENCE, "--every-head", "--part", "decoder"],
    "steps": ["--steps", SENTENCE, "--beam", "2"],
    "temperature": ["--temperature", SENTENCE, "--prefix", "the"],
    "neighbours": ["--neighbours", "Haus"],
    "analogy": ["--analogy", "Haus", "house", "Garten"],
    "positions": ["--positions"],
    "schedule": ["--schedule"],
}


@pytest.fixture(autouse=True)
def _model(parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSLATE_MODEL", str(parts.folder))
    monkeypatch.delenv("DISPLAY", raising=False)


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_text_by_default(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *PICTURES[name]]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) > 2
    assert err == ""


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_a_file_without_a_display(name: str) -> None:
    pytest.importorskip("matplotlib")
    files = [("a.html", b"<!doctype html>")]
    if name in ("attention", "schedule"):  # a page shows SVG, and a drawing is the same in each format
        files += [("a.svg", b"<?xml"), ("a.png", b"\x89PNG")]
    for file, start in files:
        assert main(["explain", *PICTURES[name], "--out", file]) == 0
        assert Path(file).read_bytes().startswith(start)
    assert not re.search(rb"src=|<link|@import", Path("a.html").read_bytes())


def test_characters_that_the_font_lacks_are_named_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["explain", "--steps", "漢字 ist Haus", "--out", "a.png"]) == 0
    error = capsys.readouterr().err
    assert "the font lacks some characters" in error
    assert error.count("\n") == 1


def test_the_same_picture_is_the_same_file() -> None:
    pytest.importorskip("matplotlib")
    for file in ("a.svg", "b.svg"):
        assert main(["explain", *PICTURES["steps"], "--out", file]) == 0
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to draw: choose one of --attention, "),
        (["--positions", "--schedule"], "--positions and --schedule to draw: choose one of"),
        (["--attention", SENTENCE * 20], r"has \d+ tokens, too long to draw; the limit is 56"),
        (["--attention", "  "], "the sentence is empty"),
        (["--temperature", SENTENCE, "--prefix", SENTENCE * 5], r"--prefix: has \d+ tokens, and .* may have \d+$"),
        (["--attention", SENTENCE, "--layer", "9"], "--layer 9: the model has 2 layers"),
        (["--attention", SENTENCE, "--every-head", "--head", "1"], "leave out --layer and --head"),
        (["--steps", SENTENCE, "--head", "1"], "--head belongs to --attention; leave it out"),
        (["--schedule", "--model", "x"], "--schedule is that of the paper and draws no model"),
        (["--neighbours", "Haus", "--beam", "2"], "--beam belongs to --steps; leave it out"),
        (["--neighbours", "Quastenflosser"], "'Quastenflosser': is not one token of the model's vocabulary"),
        (["--analogy", "Haus", "house", "Quastenflosser"], "'Quastenflosser': is not one token"),
        (["--schedule", "--out", "a.pdf"], "a.pdf: pictures are .svg, .png, .html files"),
        (["--schedule", "--out", "none/a.svg"], "none/a.svg: its folder does not exist; make none first"),
        (["--schedule", "--out", "there.svg"], "there.svg: exists already; .*--force"),
        (
            ["--attention", SENTENCE, "--model", "exported"],
            "exported: is a CTranslate2 folder, which only .*; name the model it was made of",
        ),
        (["--positions", "--model", "marian"], "marian: not a complete model folder: .*; .* import it"),
    ],
)
def test_mistakes_give_a_one_sentence_error(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("there.svg").write_text("mine", encoding="utf-8")
    for folder, names in (("exported", ["model.bin"]), ("marian", ["source.spm", "config.json", "model.safetensors"])):
        Path(folder).mkdir()
        for name in names:
            Path(folder, name).touch()
    assert main(["explain", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(said, err)
    assert len(err.splitlines()) == 1
    assert Path("there.svg").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != Path())  # root may write everywhere
    assert main(["explain", *PICTURES["steps"], "--model", "none", "--out", "a.svg"]) == 2
    assert capsys.readouterr().err == (
        "translate: a.svg: you may not write into its folder; name a file in another one\n"
    )


def test_a_missing_matplotlib_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("translate.errors.import_module", missing)
    assert main(["explain", "--schedule", "--out", "a.svg"]) == 2
    assert "pip install '.[plots]'" in capsys.readouterr().err
    assert main(["explain", "--schedule"]) == 0  # text needs no matplotlib


@pytest.mark.parametrize("option", ["--attention", "--steps", "--temperature"])
def test_a_model_that_cannot_translate_the_sentence_gives_a_one_sentence_error(
    option: str, parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    short = Transformer(replace(parts.model.config, max_length=17))
    diverged = Transformer(parts.model.config)
    torch.nn.init.constant_(diverged.output_weight, float("nan"))
    for model, name, said in ((short, "short", "the limit is 12"), (diverged, "diverged", "not finite")):
        model_folder.save(model, parts.tokenizer, parts.spec, Path(name))
        assert main(["explain", option, SENTENCE * 3, "--model", name]) == 2
        out, err = capsys.readouterr()
        assert (out, said in err, err.count("\n")) == ("", True, 1)


@pytest.mark.parametrize("name", ["neighbours", "analogy", "positions"])
def test_parameters_that_are_not_finite_give_a_one_sentence_error(
    name: str, parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    diverged = Transformer(parts.model.config)
    for parameter in diverged.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    model_folder.save(diverged, parts.tokenizer, parts.spec, Path("diverged"))
    assert main(["explain", *PICTURES[name], "--model", "diverged"]) == 2
    out, err = capsys.readouterr()
    assert (out, "not finite because its training diverged" in err, err.count("\n")) == ("", True, 1)
