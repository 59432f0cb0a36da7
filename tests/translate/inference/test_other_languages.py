"""Models of other languages than German and English: the same pipeline, by rules or without them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.conftest import MAX_EXTRA, random_model
from tests.translate.serving.live import live
from tests.translate.speakers import Echo
from transformer.config import SearchConfig
from translate.commands.main import main
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import train
from translate.errors import UserError
from translate.inference import pipeline
from translate.inference.pipeline import Rules
from translate.inference.translator import Translator
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec
from translate.serving.settings import ServeOptions
from translate.text.translation import Document, Opening, Search, Translation

FRENCH = ["« Où vas-tu ? »", "M. Roux part à 14 h 30.", "L'homme paie 1 234,50 €, p. ex. aujourd'hui !"]
TORCH = Opening(engine="torch", device="cpu", threads=1)
Save = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def save(tmp_path_factory: pytest.TempPathFactory) -> Save:
    """Saves a tiny random model of two languages and returns its folder."""
    tokenizer = train([*FRENCH, "where are you going", "the man pays today"] * 20, TokenizerConfig(vocab_size=331))
    decoding = SearchConfig(beam_size=2, alpha=0.6, max_extra=MAX_EXTRA)

    def save(source: str, target: str) -> Path:
        folder = tmp_path_factory.mktemp("models") / f"{source}-{target}"
        spec = TranslationSpec(source, target, decoding)
        model_folder.save(random_model(tokenizer), tokenizer, spec, folder)
        return folder

    return save


def test_the_sentences_of_a_french_text_are_translated_one_by_one(save: Save) -> None:
    """The pieces between them, such as spaces, are those of the source."""
    translator = Translator.load(save("fr", "en"), opening=TORCH)
    (found,) = translator.passages([" ".join(FRENCH)])
    assert [source for source, _ in found.sentences] == [FRENCH[0], " ", FRENCH[1], " ", FRENCH[2]]
    alone = [next(iter(translator.passages([sentence]))).text for sentence in FRENCH]
    assert found.text == " ".join(alone)


@pytest.fixture(scope="module")
def echo(save: Save) -> Echo:
    return Echo(ModelFolder.open(save("fr", "nl")))


@given(lines=st.lists(st.sampled_from([*FRENCH, "", "  ", "«\u00a0Oui.\u00a0»", "12\u202f%", "漢字"]), max_size=7))
def test_line_n_of_the_output_is_the_translation_of_line_n(echo: Echo, lines: list[str]) -> None:
    found = echo("\n".join(lines)).split("\n")
    assert len(found) == len(lines or [""])
    assert [not line.strip() for line in found] == [not line.strip() for line in lines or [""]]


def heard(source: str, target: str, save: Save, document: Document | None = None) -> list[str]:
    notes: list[str] = []
    Translator.load(save(source, target), document=document, opening=TORCH, say=notes.append)
    return notes


def test_a_pair_with_rules_has_no_note(save: Save) -> None:
    for source, target in (("fr", "en"), ("nl", "fr"), ("de", "nl"), ("fr-CA", "en")):
        assert heard(source, target, save) == []


def test_a_language_without_rules_is_named_once_with_what_is_off(save: Save) -> None:
    (note,) = heard("es", "en", save)
    assert note.startswith("Spanish has no rules for abbreviations, ")
    assert "times of day" in note
    assert "months" not in note  # which only a target needs
    (note,) = heard("en", "es", save)
    assert "abbreviations" not in note
    assert "names of months" in note
    assert len(heard("es", "pt", save)) == 2
    assert heard("es", "en", save, Document(format="lines", checks=False)) == []  # no rule is used


def test_a_note_comes_only_with_a_translator(save: Save) -> None:
    """One sentence says why there is none, and nothing else is said."""
    notes: list[str] = []
    folder = save("de", "gmq")
    spec = replace(TranslationSpec.load(folder), tags={"da": "▁", "sv": "▁"})
    spec.save(folder)
    for search in (Search(), Search(rerank=save("fr", "es")), Search(formality="formal")):
        for path in (folder, save("de", "mul")):
            if path != folder and search == Search():
                continue
            with pytest.raises(UserError):
                Translator.load(path, search, opening=TORCH, say=notes.append)
    assert notes == []


def test_the_command_finds_a_french_model_and_says_what_a_language_lacks(
    save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [save("fr", "en").parent, save("es", "fr").parent]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRANSLATE_MODEL", raising=False)
    monkeypatch.setattr("translate.models.registry.places", lambda: places)
    assert main(["text", "--from", "fr", "--to", "en", "--engine", "torch", "--json", " ".join(FRENCH)]) == 0
    out, error = capsys.readouterr()
    assert json.loads(out)["source"] == " ".join(FRENCH)
    assert "has no rules" not in error
    assert main(["text", "--from", "es", "--engine", "torch", "Hola.", "Adiós."]) == 0
    out, error = capsys.readouterr()
    assert out.count("\n") == 2
    assert error.count("Spanish has no rules") == 1


def test_a_server_translates_other_languages(save: Save, tmp_path: Path) -> None:
    options = ServeOptions(model=[save("fr", "en"), save("en", "fr")], opening=TORCH)
    translator = Translator.load(options.model[0], opening=TORCH)
    with live(options, tmp_path) as server:
        answer = server.translate(FRENCH, "fr", "en")
    assert answer.json()["translatedText"] == translator(FRENCH)


@pytest.mark.parametrize(
    ("said", "expected"),
    [("Yes.", "Yes. Yes. Yes."), ("好。", "好。好。好。"), ("", "")],  # no space goes into Chinese
)
def test_sentences_without_a_space_between_them_get_one_if_the_target_needs_it(said: str, expected: str) -> None:
    rules = Rules(source="zh", target="en", checks=False)
    (found,) = pipeline.translate(
        ["你好！你好？你好！"], lambda lines, _=0: {line: Translation(said) for line in lines}, rules
    )
    assert found.text == expected
    assert "".join(one.text for _, one in found.sentences) == found.text
    assert "".join(source for source, _ in found.sentences) == "你好！你好？你好！"


def test_a_server_says_once_what_its_languages_lack(
    save: Save, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models = [argument for pair in ("fr-es", "en-es", "fr-en") for argument in ("--model", str(save(*pair.split("-"))))]
    monkeypatch.setattr("translate.serving.server.serve", lambda *arguments: None)
    assert main(["serve", "--port", "0", *models]) == 0
    assert capsys.readouterr().err.count("has no rules for") == 1


def test_french_quotation_marks_are_translated_and_those_of_german_fields_are_not(save: Save) -> None:
    for source, kept in (("fr", False), ("de", True)):
        spoken = Echo(ModelFolder.open(save(source, "en")))
        (found,) = spoken.passages(["il a dit «Bonjour» hier."])
        assert ("«Bonjour»" in found.text) == kept


@pytest.mark.parametrize(
    ("source", "pair", "said", "expected"),
    [
        ("Le train part à 14 h 30.", ("fr", "en"), "The train leaves at 2 pm.", "The train leaves at 2:30 pm."),
        ("Cela coûte 1 234,50 francs.", ("fr", "en"), "It costs 1 francs.", "It costs 1,234.50 francs."),
        ("It costs 1,234.50 francs.", ("en", "fr"), "Cela coûte 1 francs.", "Cela coûte 1\u202f234,50 francs."),
        ("Om 14.30 uur.", ("nl", "en"), "At 2 pm.", "At 2:30 pm."),
    ],
)
def test_a_lost_number_is_searched_again_in_the_separators_of_the_target(
    source: str, pair: tuple[str, str], said: str, expected: str
) -> None:
    """A model that gets a number or a time wrong, and puts a symbol in its place if it reads one."""

    def search(lines: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
        wrong = next(part for part in said.split() if part[0].isdigit())
        whole = "2 pm" if "2 pm" in said else wrong
        return {line: Translation(said.replace(whole, "⟦1⟧") if "⟦1⟧" in line else said) for line in lines}

    rules = Rules(source=pair[0], target=pair[1], n_symbols=3)
    (found,) = pipeline.translate([source], search, rules)
    assert found.text == expected
    assert "numbers" in found.flags
