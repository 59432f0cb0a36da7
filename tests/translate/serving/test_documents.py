"""The server translates documents within its limits, as LibreTranslate's clients ask for them."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import translate
from tests.translate.documents import notes, test_ooxml
from tests.translate.serving.live import Live, live
from tests.translate.serving.test_faults import upload
from translate.documents.document import MODULES
from translate.inference.translator import Translator
from translate.serving.settings import ServeOptions
from translate.text.translation import Document

GERMAN = "der *Hund* schläft {hier} im Haus."
NOTES = f"# Kommentar\n{GERMAN}\n\ndas Kind singt.=>The child sings.\ndie Katze läuft.\n".encode()


@pytest.fixture(autouse=True, scope="module")
def _format() -> Iterator[None]:
    """The format of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MODULES, ".notes", "notes")
        patch.setitem(sys.modules, "translate.documents.notes", notes)
        yield


@pytest.fixture(scope="module")
def server(options: ServeOptions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(options, tmp_path_factory.mktemp("server")) as running:
        yield running


def downloaded(answer: httpx.Response) -> bytes:
    assert answer.status_code == 200, answer.text
    return httpx.get(answer.json()["translatedFileUrl"], verify=False).content


def test_a_document_is_translated_as_in_python(server: Live, translator: Translator) -> None:
    expected = translator.translate_file(NOTES, "a.notes")
    assert b"# Kommentar\n" in expected
    assert b"=>The child sings.\n" in expected
    assert expected != NOTES
    assert downloaded(upload(server, "a.notes", NOTES)) == expected
    assert downloaded(upload(server, "a.notes", NOTES, source="auto")) == expected
    assert downloaded(upload(server, "a.notes", NOTES, source="en")) == NOTES


def test_the_form_of_libretranslate_sends_documents(server: Live, translator: Translator) -> None:
    form = {"source": "de", "target": "en", "api_key": ""}
    kind = "application/octet-stream"
    answer = server.http.post("/translate_file", data=form, files={"file": ("letter.notes", NOTES, kind)})
    assert answer.json().keys() == {"translatedFileUrl"}
    done = server.http.get(answer.json()["translatedFileUrl"])
    assert done.content == translator.translate_file(NOTES, "letter.notes")
    assert done.headers["content-disposition"] == 'attachment; filename="letter_en.notes"'


def test_a_file_of_strings_keeps_what_an_earlier_translation_has(server: Live, translator: Translator) -> None:
    strings, earlier = b'{"a": "der Hund", "b": "die Katze"}', b'{"a": "my dog"}'

    def answer(name: str, earlier: bytes) -> httpx.Response:
        files = {"file": (name, strings), "earlier": ("en.json", earlier)}
        return server.http.post("/translate_file", data={"source": "de", "target": "en"}, files=files)

    done = downloaded(answer("de.json", earlier))
    assert done == translator.translate_file(strings, "de.json", earlier=earlier)
    assert json.loads(done)["a"] == "my dog"
    for name, other in (("de.txt", earlier), ("de.docx", earlier), ("de.json", b'{"c": "my dog"}'), ("de.json", b"{")):
        refused = answer(name, other)
        assert refused.status_code == 400
        assert refused.json()["error"].startswith("Invalid request: ")


def test_a_glossary_holds_in_files_as_in_python(tmp_path: Path) -> None:
    folder, terms = Path(translate.__file__).parent / "models" / "de-en", {"Haus": "mansion", "Hund": "hound"}
    expected = Translator.load(folder, document=Document(terms=terms))
    lines = "\n".join("\t".join(term) for term in terms.items())
    with live(ServeOptions(model=[folder]), tmp_path) as server:
        for name, content in (("a.notes", NOTES), ("a.md", b"# Mein Haus\n\nDer **Hund**.\n")):
            found = downloaded(upload(server, name, content, glossary=lines))
            assert found == expected.translate_file(content, name)
            assert b"mansion" in found
            refused = upload(server, name, content, glossary="Haus")
            assert refused.status_code == 400
            assert refused.json()["error"].startswith("Invalid request: glossary, line 1: ")


def test_the_terms_of_a_file_count_and_need_symbols(options: ServeOptions, tmp_path: Path) -> None:
    terms = "Haus\thouse"
    with live(replace(options, characters=len("der Hund") + len(terms)), tmp_path) as server:
        assert upload(server, "a.txt", b"der Hund").status_code == 200
        for name in ("a.txt", "a.notes"):
            said = upload(server, name, b"der Hund", glossary=terms).json()["error"]
            assert said == "The model of this language pair has no symbols for a glossary"
        said = upload(server, "a.txt", b"der Hund", glossary=terms + "s").json()["error"]
        assert said.startswith("Invalid request: request (")


def test_a_document_of_word_comes_back_as_one(server: Live, translator: Translator) -> None:
    letter = test_ooxml.document(test_ooxml.run("der Hund ") + test_ooxml.run("schläft.", "<w:b/>"))
    done = downloaded(upload(server, "a.docx", letter))
    assert done == translator.translate_file(letter, "a.docx")
    (text,) = test_ooxml.texts(done, "a.docx")
    assert re.sub("</?g+1>", "", text) == translator("der Hund schläft.")


def test_a_package_that_unpacks_to_too_much_is_refused(options: ServeOptions, tmp_path: Path) -> None:
    letter = test_ooxml.document(test_ooxml.run("der Hund"), styles="<w:style/>" * 3000)
    assert len(letter) < 3000
    with live(replace(options, file_size=3000), tmp_path) as server:
        answer = upload(server, "a.docx", letter)
    assert answer.status_code == 400
    assert "bytes when unpacked, and at most 15,000 are read" in answer.json()["error"]


@pytest.mark.parametrize("name", ["format", "alternatives", "translation"])
def test_parameters_of_other_routes_are_not_misspelt_ones(server: Live, name: str) -> None:
    """A `format` is no `formality`: some programs send the same parameters with texts and with files."""
    assert upload(server, "a.txt", b"der Hund", **{name: "text"}).status_code == 200


def test_documents_and_all_files_of_text_are_among_the_formats(server: Live) -> None:
    found = server.http.get("/frontend/settings").json()["supportedFilesFormat"]
    assert {".notes", ".txt", ".markdown", ".mkd", ".qmd", ".html", ".shtml", ".srt", ".csv"} <= {*found}
    assert len({*found}) == len(found)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.notes", b"#signed\nder Hund", "the document is signed"),
        ("a.notes", b"#damaged\nder Hund", "Invalid request: a.notes: is damaged; save it again"),
        ("../folder/a.notes", b"#damaged\nder Hund", "Invalid request: a.notes: is damaged"),
        ("a.xlf", b"<!DOCTYPE a [<!ENTITY b 'c'>]><xliff/>", "Invalid request: a.xlf: declares entities of XML"),
        ("a.xcstrings", b'{"sourceLanguage": "fr", "strings": {}}', "a.xcstrings: its source language is 'fr'"),
        ("a.notes", b"\xff", "a.notes: is not UTF-8"),
        ("a.doc", b"der Hund", "file format not supported"),
    ],
)
def test_a_document_that_is_refused_gets_one_sentence(server: Live, name: str, content: bytes, message: str) -> None:
    answer = upload(server, name, content)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_the_texts_of_a_document_count(options: ServeOptions, tmp_path: Path) -> None:
    with live(replace(options, characters=60), tmp_path) as server:
        assert upload(server, "a.notes", f"# {'Kommentar' * 9}\nder Hund".encode()).status_code == 200
        answer = upload(server, "a.notes", b"der Hund\n" * 9)
        assert (answer.status_code, "exceeds text limit" in answer.json()["error"]) == (400, True)


def test_the_parts_of_a_package_are_limited(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = []
    read = notes.read
    monkeypatch.setattr(notes, "read", lambda data, reading: limits.append(reading.limit) or read(data, reading))
    with live(replace(options, file_size=1000), tmp_path) as server:
        assert upload(server, "a.notes", b"der Hund").status_code == 200
        assert upload(server, "a.notes", b"x" * 1001).status_code == 413
    assert set(limits) == {5000}


def test_a_document_states_the_region_that_was_asked_for(server: Live) -> None:
    topic = b'<topic id="t" xml:lang="de"><title>der Hund</title></topic>'
    assert b'xml:lang="en-GB"' in downloaded(upload(server, "a.dita", topic, target="en-GB"))
    assert b'lang="en-GB"' in downloaded(upload(server, "a.html", b'<p lang="de">der Hund</p>', target="en-GB"))
