"""A name, a path, the environment and the languages lead to one model, and what is ambiguous is said."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from translate.cli import main
from translate.errors import UserError
from translate.inference.translator import Translator
from translate.models import registry as installed
from translate.models.folder import ModelFolder
from translate.models.registry import Weights, choose, find, locate


def fail(message: str) -> None:
    pytest.fail(f"nothing was to be said, but: {message}")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, a user without models, and a program without any; the three places are in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRANSLATE_MODEL", raising=False)
    monkeypatch.setattr("translate.models.registry.places", lambda: [Path("shipped"), Path("user"), Path("runs")])
    return tmp_path


def model(parts: ModelFolder, folder: str, source: str = "de", target: str = "en", time: int = 1000) -> Path:
    """A copy of the toy model, as one between other languages, written at `time`."""
    path = Path(folder)
    shutil.copytree(parts.folder, path)
    replace(parts.spec, source=source, target=target).save(path / "translation.json")
    os.utime(path / "model.safetensors", (time, time))
    return path


def test_the_environment_or_the_newest_run_names_the_model(parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="there is no model"):
        find(None, fail)
    for i, name in enumerate(["b", "c", "a"]):
        model(parts, f"runs/{name}/model", time=1000 + i)
    said: list[str] = []
    assert find(None, said.append) == Path("runs/a/model")
    assert "newest of 3" in said[0]
    monkeypatch.setenv("TRANSLATE_MODEL", "runs/b")
    assert find(None, fail) == Path("runs/b/model")
    assert find(Path("runs/c"), fail) == Path("runs/c/model")


def test_a_name_means_the_first_place_that_has_it(parts: ModelFolder) -> None:
    model(parts, "runs/small/model")
    assert locate(Path("small"), fail) == Path("runs/small/model")
    model(parts, "user/small")
    said: list[str] = []
    assert locate(Path("small"), said.append) == Path("user/small")
    assert "the first of 2" in said[0]


def test_a_folder_at_hand_comes_before_an_installed_model_of_its_name(parts: ModelFolder) -> None:
    model(parts, "shipped/de-en")
    model(parts, "de-en")
    said: list[str] = []
    assert locate(Path("de-en"), said.append) == Path("de-en")
    assert "not the installed model" in said[0]


@pytest.mark.parametrize("name", ["gone", "gone/away", "."])
def test_a_name_that_means_nothing_is_one_sentence(name: str) -> None:
    with pytest.raises(UserError) as caught:
        locate(Path(name), fail)
    assert str(caught.value).startswith(f"{name}: ")


def test_the_user_s_models_stand_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("TRANSLATE_HOME", str(tmp_path))
    assert installed.places()[1] == tmp_path / "models"
    monkeypatch.delenv("TRANSLATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert installed.places()[1] == tmp_path / ".local/share/translate/models"
    assert installed.places()[0].parent.name == "translate"


def test_the_installed_model_comes_before_the_runs_which_is_said(parts: ModelFolder) -> None:
    model(parts, "shipped/de-en")
    assert choose(None, fail) == Path("shipped/de-en")
    model(parts, "runs/mine/model")
    said: list[str] = []
    assert choose(None, said.append) == Path("shipped/de-en")
    assert "--model runs/mine" in said[0]
    assert choose(Path("mine"), fail) == Path("runs/mine/model")


def test_without_an_installed_model_the_newest_run_translates(parts: ModelFolder) -> None:
    model(parts, "runs/mine/model")
    assert choose(None, fail) == Path("runs/mine/model")


def test_languages_choose_among_the_models(parts: ModelFolder) -> None:
    model(parts, "shipped/de-en")
    model(parts, "shipped/en-de", "en", "de")
    model(parts, "user/de-fr", "de", "fr")
    assert choose(None, fail, source="en") == Path("shipped/en-de")
    assert choose(None, fail, source="de", target="fr") == Path("user/de-fr")
    assert choose(None, fail, target="de") == Path("shipped/en-de")
    with pytest.raises(UserError, match="several models translate from de: de to en, de to fr"):
        choose(None, fail, source="de")
    with pytest.raises(UserError, match="no installed model translates from fr to de"):
        choose(None, fail, source="fr", target="de")
    with pytest.raises(UserError, match="translates from en to de, not from de"):
        choose(Path("en-de"), fail, source="de")


def test_the_header_of_a_file_tells_size_and_precision(parts: ModelFolder, tmp_path: Path) -> None:
    tensors = load_file(parts.folder / "model.safetensors")
    n_parameters = sum(tensor.numel() for tensor in tensors.values())
    for dtype in ("fp32", "bf16", "int8"):
        assert main(["compress", str(parts.folder), "--out", dtype, "--dtype", dtype]) == 0
        weights = Weights.read(tmp_path / dtype / "model.safetensors")
        assert (weights.n_parameters, weights.precision) == (n_parameters, dtype)


@pytest.mark.parametrize("data", [b"", b"\xff" * 99, b"\x02\0\0\0\0\0\0\0[]", b"\x02\0\0\0\0\0\0\0{"])
def test_a_file_without_a_header_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(UserError, match="damaged or truncated"):
        Weights.read(tmp_path / "model.safetensors")


def test_models_are_listed_with_the_first_line_of_their_cards(
    parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models"]) == 0
    assert "no model is installed" in capsys.readouterr().err
    (model(parts, "user/de-en") / "README.md").write_text("\n# German to English, small\n\nMore.\n", encoding="utf-8")
    model(parts, "runs/mine/model", "en", "de")
    (model(parts, "runs/torn") / "translation.json").write_text("{}", encoding="utf-8")
    assert main(["models"]) == 0
    captured = capsys.readouterr()
    header, first, second = captured.out.splitlines()
    assert header.split()[:2] == ["name", "languages"]
    assert first.split()[:2] == ["de-en", "de-en"]
    assert first.split(maxsplit=8)[-2:] == ["user/de-en", "German to English, small"]
    assert second.split()[:2] == ["mine", "en-de"]
    assert "runs/torn" in captured.err
    assert main(["models", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(m["name"], m["source"], m["target"], m["precision"]) for m in listed] == [
        ("de-en", "de", "en", "fp32"),
        ("mine", "en", "de", "fp32"),
    ]


def test_a_card_is_shown_as_it_is(parts: ModelFolder, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model(parts, "user/small")
    assert main(["models", "small"]) == 2
    assert "has no card" in capsys.readouterr().err
    (folder / "card.md").write_text("# Small\n\nGrüße\n", encoding="utf-8")
    assert main(["models", "small"]) == 0
    assert capsys.readouterr().out == "# Small\n\nGrüße\n"
    assert main(["models", "small", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["card"] == "# Small\n\nGrüße\n"


def test_a_compressed_model_translates_and_keeps_its_card(parts: ModelFolder) -> None:
    (model(parts, "user/small") / "README.md").write_text("# Small\n", encoding="utf-8")
    assert main(["compress", "small", "--to", "runs/tiny"]) == 0
    assert (Path("runs/tiny") / "README.md").read_text(encoding="utf-8") == "# Small\n"
    lines = ["der Hund singt.", "", "Ja."]
    few, many = (Translator.load(name, device="cpu").translate(lines) for name in ("tiny", "small"))
    assert [t.text == "" for t in few] == [t.text == "" for t in many]
    assert [t.log_prob for t in few] != [t.log_prob for t in many]
    assert main(["compress", "small", "--to", "runs/tiny"]) == 2
