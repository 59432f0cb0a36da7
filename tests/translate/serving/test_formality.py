"""Requests choose the form of address by the names of DeepL's API, where the model of the languages can."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.translate.serving.live import Live, live
from translate.inference.ctranslate2_engine import CTranslate2Engine
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.serving.settings import ServeOptions
from translate.text.translation import FormOfAddress, Opening, Search

ENGLISH, GERMAN = "the dog sleeps in the house.", "der Hund schläft im Haus."
MEANING: dict[str, FormOfAddress | None] = {
    "": None,
    "default": None,
    "formal": "formal",
    "more": "formal",
    "prefer_more": "formal",
    "informal": "informal",
    "less": "informal",
    "prefer_less": "informal",
}


@pytest.fixture(scope="module")
def server(parts: ModelFolder, tagged: ModelFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    options = ServeOptions(model=[parts.folder, tagged.folder], opening=Opening(threads=2))
    with live(options, tmp_path_factory.mktemp("server")) as running:
        yield running


def german(tagged: ModelFolder, form: FormOfAddress | None) -> str:
    return Translator(CTranslate2Engine.convert(tagged.folder), Search(formality=form))(ENGLISH)


def test_the_forms_give_different_translations(tagged: ModelFolder) -> None:
    assert len({german(tagged, form) for form in (None, "formal", "informal")}) == 3


@pytest.mark.parametrize("value", MEANING)
def test_a_request_gives_what_python_returns(server: Live, tagged: ModelFolder, value: str) -> None:
    wanted = german(tagged, MEANING[value])
    answer = server.translate([ENGLISH, ""], "en", "de", formality=value, alternatives=2)
    assert answer.json()["translatedText"] == [wanted, ""]
    form = {"q": ENGLISH, "source": "en", "target": "de", "formality": value}
    assert server.http.post("/translate", data=form).json() == {"translatedText": wanted}
    stored = server.http.post("/translate_file", data=form, files={"file": ("x.txt", f"{ENGLISH}\n".encode())}).json()
    assert server.http.get(stored["translatedFileUrl"]).text == f"{wanted}\n"
    aligned = server.http.post("/alignment", json={**form, "translation": GERMAN}).json()
    assert [len(row) for row in aligned["weights"]] == [len(aligned["source"])] * len(aligned["target"])


def test_where_there_is_no_choice_it_is_refused_and_a_preference_is_not(server: Live) -> None:
    plain = server.translate(GERMAN).json()
    for value, form in MEANING.items():
        answer = server.translate(GERMAN, formality=value)
        if form is None or value.startswith("prefer"):
            assert answer.json() == plain
        else:
            assert answer.status_code == 400
            assert "cannot choose the form of address" in answer.json()["error"]


@pytest.mark.parametrize("value", ["polite", "More", 1, ["more"]])
def test_other_values_are_refused(server: Live, value: object) -> None:
    answer = server.translate(ENGLISH, "en", "de", formality=value)
    assert answer.status_code == 400
    assert "formality" in answer.json()["error"]


def test_the_settings_of_the_page_name_the_languages(server: Live, options: ServeOptions, tmp_path: Path) -> None:
    assert server.http.get("/frontend/settings").json()["formality"] == [{"source": "en", "target": "de"}]
    with live(options, tmp_path) as other:
        assert other.http.get("/frontend/settings").json()["formality"] == []
