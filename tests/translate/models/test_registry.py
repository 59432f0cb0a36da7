"""Names, paths, the environment and languages select one model; ambiguous choices are reported."""

import errno
import json
import os
import shutil
import sys
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from translate.commands.main import main
from translate.errors import UserError
from translate.files import new_folder
from translate.inference.translator import Translator
from translate.models import registry
from translate.models.folder import ModelFolder, TranslationSpec
from translate.models.registry import find_model, locate
from translate.text.translation import Opening


def fail(message: str) -> None:
    pytest.fail(f"nothing was to be said, but: {message}")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory that contains all folders in which models are looked up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRANSLATE_MODEL", raising=False)
    monkeypatch.setattr("translate.models.registry.places", lambda: [Path("shipped"), Path("user")])
    return tmp_path


def model(parts: ModelFolder, folder: str, source: str = "de", target: str = "en", time: int = 1000) -> Path:
    """A copy of the toy model for other languages, with modification time `time`."""
    path = Path(folder)
    shutil.copytree(parts.folder, path)
    replace(parts.spec, source=source, target=target).save(path)
    os.utime(path / "model.safetensors", (time, time))
    return path


def test_the_environment_names_the_model(parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="no model is installed: name one or a run"):
        find_model(None, fail)
    for name in ("b", "c"):
        model(parts, f"runs/{name}/model")
    monkeypatch.setenv("TRANSLATE_MODEL", "runs/b")
    assert find_model(None, fail) == Path("runs/b/model")
    assert find_model(Path("runs/c"), fail) == Path("runs/c/model")
    monkeypatch.setenv("TRANSLATE_MODEL", "runs/d")
    with pytest.raises(UserError, match=r"^\$TRANSLATE_MODEL is runs/d: .* no such file"):
        find_model(None, fail)
    with pytest.raises(UserError, match="^runs/d: no such file"):
        find_model(Path("runs/d"), fail)


def test_a_name_is_an_installed_model_then_a_run_then_a_path(parts: ModelFolder) -> None:
    model(parts, "small")
    assert locate(Path("small"), fail) == Path("small")
    for folder in ("runs/small/model", "user/small", "shipped/small"):
        model(parts, folder)
        said: list[str] = []
        assert locate(Path("small"), said.append) == Path(folder)
        assert len(said) == 1
        assert "./small" in said[0]


def test_where_a_run_is_meant_it_comes_first(parts: ModelFolder) -> None:
    model(parts, "runs/small/model")
    model(parts, "user/small")
    said: list[str] = []
    assert registry.find_folder(Path("small"), said.append, is_run=True) == Path("runs/small")
    assert len(said) == 1


@pytest.mark.parametrize("path", ["./small", "small/", "./small/", ".//small"])
def test_a_path_is_no_name(parts: ModelFolder, path: str) -> None:
    """Although `Path` drops what makes it a path."""
    for folder in ("small", "runs/small/model", "user/small"):
        model(parts, folder)
    assert locate(path, fail) == Path("small").absolute()
    for folder in ("runs/small/model", "user/small"):
        assert locate(folder, fail) == Path(folder)


def test_an_unknown_name_gets_the_nearest_as_a_suggestion(parts: ModelFolder) -> None:
    model(parts, "shipped/de-en")
    model(parts, "runs/small/model")
    for wrong, right in (("de-em", "de-en"), ("smal", "small")):
        with pytest.raises(
            UserError, match=f"{wrong}: no such file, folder, run or installed model; did you mean '{right}'"
        ):
            locate(Path(wrong), fail)
    with pytest.raises(UserError, match="translate models lists the names"):
        locate(Path("qqq"), fail)


def test_an_installed_model_is_the_same_in_every_folder_and_is_noted_once(
    parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands look up what they have found once more."""
    model(parts, "shipped/de-en")
    torn = model(parts, "de-en")
    (torn / "model.safetensors").write_bytes(b"")
    assert main(["--model", "de-en", "der Hund"]) == 0
    assert capsys.readouterr().err.count("using shipped/de-en, not ./de-en") == 1
    for command in (["--model", "./de-en"], ["decode", "--model", "./de-en"], ["--rerank", "./de-en"]):
        assert main([*command, "der Hund"]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert str(Path("de-en").absolute()) in error


def test_a_folder_of_texts_does_not_hide_the_model_of_its_name(parts: ModelFolder) -> None:
    installed = model(parts, "shipped/de-en")
    run = model(parts, "runs/small/model")
    for name in ("de-en", "small"):
        Path(name).mkdir()
        Path(name, "train.de").write_text("der Hund\n", encoding="utf-8")
    assert [locate(Path(name), fail) for name in ("de-en", "small")] == [installed, run]
    with pytest.raises(UserError, match="neither a model folder nor a run"):
        locate(Path("de-en").absolute(), fail)


@pytest.mark.parametrize("name", ["gone", "gone/away", "."])
def test_an_unknown_name_gives_a_one_sentence_error(name: str) -> None:
    with pytest.raises(UserError) as caught:
        locate(Path(name), fail)
    assert str(caught.value).startswith(f"{name}: ")


def test_the_environment_sets_the_folder_of_the_users_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("TRANSLATE_HOME", str(tmp_path))
    assert registry.places()[1] == tmp_path / "models"
    monkeypatch.delenv("TRANSLATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert registry.places()[1] == tmp_path / ".local/share/translate/models"
    assert (registry.places()[0] / "de-en" / "translation.json").is_file()


def test_a_user_without_a_home_folder_has_the_shipped_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.undo()
    monkeypatch.delenv("TRANSLATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert [place.name for place in registry.places()] == ["models"]
    with pytest.raises(UserError, match="TRANSLATE_HOME"):
        registry.home()


def test_the_default_is_the_model_that_ships_also_after_a_training(parts: ModelFolder) -> None:
    model(parts, "runs/demo/model")
    with pytest.raises(UserError, match="no model is installed: name one or a run"):
        find_model(None, fail)
    model(parts, "shipped/de-en")
    assert find_model(None, fail) == Path("shipped/de-en")
    assert find_model(Path("demo"), fail) == Path("runs/demo/model")


def test_a_damaged_model_is_passed_over_with_a_note_unless_it_is_named(parts: ModelFolder) -> None:
    model(parts, "shipped/first")
    model(parts, "user/second")
    for folder in (model(parts, "runs/newer/model"), Path("shipped/first")):
        (folder / "translation.json").write_text("{", encoding="utf-8")
    said: list[str] = []
    assert find_model(None, said.append, target="en") == Path("user/second")
    assert len(said) == 1
    assert "shipped/first/translation.json: damaged" in said[0]
    with pytest.raises(UserError, match="damaged"):
        find_model(Path("runs/newer"), fail, target="en")


def test_a_model_that_is_not_complete_is_no_installed_model(parts: ModelFolder) -> None:
    """A process that is killed, or has not finished, leaves a hidden folder that may hold all files."""
    ready = model(parts, "user/ready", "fr")
    with new_folder(Path("user/new")) as partial:
        shutil.copytree(ready, partial, dirs_exist_ok=True)
        assert registry.named_models() == [("ready", ready)]
    assert registry.named_models() == [("new", Path("user/new")), ("ready", ready)]


def test_a_folder_that_the_user_may_not_read_is_no_installed_model(
    parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as lost+found on a disk of its own. The check is patched, because root may read everything."""
    ready = model(parts, "user/ready", "fr")
    Path("user/lost+found").mkdir()
    found = os.stat

    def refused(path: Any, **options: Any) -> os.stat_result:
        if "lost+found/" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return found(path, **options)

    monkeypatch.setattr("os.stat", refused)
    assert registry.named_models() == [("ready", ready)]
    assert find_model(None, fail, source="fr") == ready


def test_a_home_folder_that_the_user_may_not_enter_has_no_models(
    parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as that of root for a service of another user, whose HOME is still /root."""
    shipped = model(parts, "shipped/de-en")
    found = os.stat

    def refused(path: Any, **options: Any) -> os.stat_result:
        if str(path).startswith("user"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return found(path, **options)

    monkeypatch.setattr("os.stat", refused)
    assert registry.named_models() == [("de-en", shipped)]
    assert find_model(Path("de-en"), fail) == shipped
    assert find_model(None, fail, source="de") == shipped


def test_languages_choose_an_installed_model_and_no_run(parts: ModelFolder) -> None:
    model(parts, "shipped/de-en")
    model(parts, "shipped/en-de", "en", "de")
    model(parts, "user/de-fr", "de", "fr")
    model(parts, "runs/mine/model", "de", "en")
    model(parts, "runs/other/model", "fr", "en", time=2000)
    assert find_model(None, fail, source="en") == Path("shipped/en-de")
    assert find_model(None, fail, source="de", target="fr") == Path("user/de-fr")
    assert find_model(None, fail, target="de") == Path("shipped/en-de")
    with pytest.raises(UserError, match="no installed model translates from fr; name one or a run .*, or add one with"):
        find_model(None, fail, source="fr")
    with pytest.raises(UserError, match="several models translate from de: de to en, de to fr"):
        find_model(None, fail, source="de")
    with pytest.raises(UserError, match="no installed model translates from fr to de"):
        find_model(None, fail, source="fr", target="de")
    with pytest.raises(UserError, match="translates from en to de, not from de"):
        find_model(Path("en-de"), fail, source="de")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"target": "english"}, "languages are named by their codes; write en for English"),
        ({"source": "German", "target": "en"}, "languages are named by their codes; write de for German"),
        ({"source": "de", "target": "de"}, "both languages are de; name the other one, or leave --from or --to out"),
    ],
)
def test_languages_that_no_model_can_have_get_their_own_message(
    asked: dict[str, str], said: str, parts: ModelFolder
) -> None:
    model(parts, "shipped/de-en")
    with pytest.raises(UserError) as caught:
        find_model(None, fail, **asked)
    assert str(caught.value) == said


def test_names_of_languages_get_the_same_message_for_a_named_model(parts: ModelFolder) -> None:
    model(parts, "shipped/de-en")
    with pytest.raises(UserError, match="^languages are named by their codes; write en for English$"):
        find_model(Path("de-en"), fail, source="de", target="English")


def test_a_region_finds_its_own_model_or_else_that_of_the_language(parts: ModelFolder) -> None:
    model(parts, "shipped/de-en")
    model(parts, "user/en-de", "en", "de")
    asked = [("de-DE", "en"), ("de_AT", "en-GB"), ("DE-ch-1901", None), (None, "en_US")]
    for source, target in asked:
        assert find_model(None, fail, source=source, target=target) == Path("shipped/de-en")
        assert find_model(Path("de-en"), fail, source=source, target=target) == Path("shipped/de-en")
    model(parts, "user/a", "de", "en-GB")
    model(parts, "user/b", "de_AT", "en")
    for source, target, folder in (
        ("de-DE", "en", "shipped/de-en"),
        ("de_AT", "en-GB", "user/a"),  # the target decides
        ("de-at", "en-US", "user/b"),
        ("de-CH", "en-US", "shipped/de-en"),
    ):
        assert find_model(None, fail, source=source, target=target) == Path(folder)
    for source in ("de-Cyrl", "gsw-CH", "d"):
        with pytest.raises(UserError, match=f"no installed model translates from {source} to en;"):
            find_model(None, fail, source=source, target="en")


def test_the_region_of_a_target_is_no_other_language(parts: ModelFolder) -> None:
    folder = model(parts, "user/de-en")
    text = "der Hund schl\u00e4ft im Haus."
    plain = Translator.load(folder)(text)
    assert Translator.load(folder, opening=Opening(target="en-GB"))(text) == plain
    assert main(["--from", "de-AT", "--to", "en_GB", text]) == 0
    assert main(["--from", "de-AT", "--to", "fr-CA", text]) == 2


@pytest.mark.parametrize(
    ("asked", "stated"), [("en-GB", "en-GB"), ("en_us", "en-US"), ("en", "en"), ("EN", "en"), (None, "en")]
)
def test_a_translation_states_the_language_that_was_asked_for(
    parts: ModelFolder, asked: str | None, stated: str
) -> None:
    translator = Translator.load(model(parts, "user/de-en"), opening=Opening(target=asked))
    page = translator.translate_file(b'<html lang="de-DE"><p>der Hund</p></html>', "a.html")
    assert page.startswith(f'<html lang="{stated}">'.encode())
    topic = translator.translate_file(b'<topic id="t" xml:lang="de"><title>der Hund</title></topic>', "a.dita")
    assert f'xml:lang="{stated}"'.encode() in topic
    Path("a.dita").write_bytes(b'<topic id="t" xml:lang="de"><title>der Hund</title></topic>')
    to = [] if asked is None else ["--to", asked]
    assert main(["--model", "de-en", *to, "--input", "a.dita", "--output", "b.dita", "--bilingual", "b.xlf"]) == 0
    assert f'xml:lang="{stated}"' in Path("b.dita").read_text(encoding="utf-8")
    assert f'trgLang="{stated}"' in Path("b.xlf").read_text(encoding="utf-8")


def test_languages_that_leave_a_choice_are_listed_as_they_are_asked_for(parts: ModelFolder) -> None:
    """A group of languages, such as gmq, is no language that a user can ask for."""

    def group(place: str, source: str, target: str, *codes: str) -> None:
        model(parts, place, source, target)
        spec = TranslationSpec.load(Path(place))
        replace(spec, tags={code: f">>{code}<<" for code in codes}).save(Path(place))

    model(parts, "user/de-en")
    group("user/de-north", "de", "gmq", "da", "nb", "sv")
    with pytest.raises(UserError) as caught:
        find_model(None, fail, source="de")
    assert ": de to da, de to en, de to nb, de to sv; name both" in str(caught.value)
    group("user/de-sv", "de", "sv", "da", "nb", "sv")  # for which a language was chosen
    with pytest.raises(UserError) as caught:
        find_model(None, fail, source="de")
    assert ": de to da, de to en, de to nb, de to sv; name both" in str(caught.value)
    model(parts, "user/fr-sv", "fr", "sv")
    with pytest.raises(UserError, match="translate to sv: de to sv, fr to sv; name both"):
        find_model(None, fail, target="sv")
    group("user/de-mul", "de", "mul", *(f"x{letter}" for letter in "abcdefghijklmnopqrstuvw"))
    with pytest.raises(UserError) as caught:
        find_model(None, fail, source="de")
    assert "gmq" not in str(caught.value)
    assert str(caught.value).count("de to") == 12
    assert "and 15 more, which translate models --json lists; name both" in str(caught.value)


@pytest.mark.parametrize("verb", ["text --from de Ja", "decode Ja", "score a.de a.en", "evaluate --valid"])
def test_every_verb_looks_up_model_names_in_the_same_way(
    verb: str, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All give the same message for an unknown name."""
    model(parts, "user/small")
    monkeypatch.setenv("TRANSLATE_MODEL", "smal")
    assert main(verb.split()) == 2
    assert "smal: no such file, folder, run or installed model; did you mean 'small'?" in capsys.readouterr().err


def test_models_are_listed_with_the_first_line_of_their_cards(
    parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models"]) == 0
    assert "there is no model in shipped, user, runs" in capsys.readouterr().err
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


def test_a_card_is_shown_unchanged(parts: ModelFolder, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model(parts, "user/small")
    assert main(["models", "small"]) == 2
    assert "has no card" in capsys.readouterr().err
    (folder / "card.md").write_text("# Small\n\nGrüße\n", encoding="utf-8")
    assert main(["models", "small"]) == 0
    assert capsys.readouterr().out == "# Small\n\nGrüße\n"
    assert main(["models", "small", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["card"] == "# Small\n\nGrüße\n"


def test_json_is_valid_in_every_encoding_of_stdout(parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the encoding lacks is escaped as Python does, which JSON does not know."""
    card = "# Gr\u00f6\u00dfe \U0001f642\n"
    (model(parts, "user/small") / "README.md").write_text(card, encoding="utf-8")
    written = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(written, encoding="latin-1"))
    assert main(["models", "small", "--json"]) == 0
    assert json.loads(written.getvalue())["card"] == card


def test_the_final_model_of_a_run_has_the_card_of_the_run(
    parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    model(parts, "runs/mine/model")
    Path("runs/mine/card.md").write_text("# Run card: mine\n", encoding="utf-8")
    assert main(["models", "runs/mine"]) == 0
    assert capsys.readouterr().out == "# Run card: mine\n"
    assert main(["models"]) == 0
    assert "Run card: mine" in capsys.readouterr().out


def test_a_compressed_run_keeps_the_card_of_the_run(parts: ModelFolder) -> None:
    model(parts, "runs/mine/model")
    Path("runs/mine/card.md").write_text("# Run card: mine\n", encoding="utf-8")
    assert main(["compress", "runs/mine", "--out", "small"]) == 0
    assert (registry.card(Path("small")) or "").startswith("# Run card: mine\n")


def test_a_compressed_model_translates_and_keeps_its_card(parts: ModelFolder) -> None:
    (model(parts, "user/small") / "README.md").write_text("# Small, fp32\n\n- It is one.\n", encoding="utf-8")
    assert main(["compress", "small", "--out", "runs/tiny"]) == 0
    card = (Path("runs/tiny") / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# Small, int8\n\n- It is one.\n\nStored in int8 by")
    lines = ["der Hund singt.", "", "Ja."]
    few, many = (
        [*Translator.load(name, opening=Opening(device="cpu")).translate_lines(lines)] for name in ("tiny", "small")
    )
    assert [t.text == "" for t in few] == [t.text == "" for t in many]
    assert [t.log_prob for t in few] != [t.log_prob for t in many]
    assert main(["compress", "small", "--out", "runs/tiny"]) == 2


def test_a_card_that_cannot_be_written_leaves_no_compressed_model(
    parts: ModelFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "README.md":
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        return replaced(self, target)

    (model(parts, "user/big") / "README.md").write_text("# Big\n", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", full)
    assert main(["compress", "big", "--out", "user/small"]) == 2
    assert "user/small: cannot write the model: No space left on device" in capsys.readouterr().err
    assert [path.name for path in Path("user").iterdir()] == ["big"]


def test_a_compressed_model_has_the_bytes_of_its_card(parts: ModelFolder) -> None:
    """A card in another encoding, with the line ends of Windows."""
    card = "# Größe\r\n\r\nfür\r\n".encode("latin-1")
    (model(parts, "user/big") / "README.md").write_bytes(card)
    assert main(["compress", "big", "--out", "user/small"]) == 0
    assert Path("user/small/README.md").read_bytes().startswith(card.rstrip())


@pytest.mark.parametrize(
    ("code", "name"), [("de", "German"), ("zu", "Zulu"), ("ht", "Haitian Creole"), ("de-AT", "de-AT")]
)
def test_languages_have_english_names(code: str, name: str) -> None:
    assert registry.language_name(code) == name


CARD = "# A \x1b]0;title\x07model\n\n\x1b[2J\x9b31mred\tand \u00fc\u65e5\x7f\n"


@pytest.mark.parametrize("arguments", [["user/small"], []])
def test_a_card_cannot_command_the_terminal(
    parts: ModelFolder, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    folder = model(parts, "user/small")
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    assert main(["models", *arguments]) == 0
    out = capsys.readouterr().out
    assert not {*out} & {"\x1b", "\x07", "\x9b", "\x7f"}
    assert r"A \x1b]0;title\x07model" in out
    assert main(["models", *arguments, "--json"]) == 0
    assert not {*capsys.readouterr().out} & {"\x1b", "\x07", "\x9b", "\x7f"}
