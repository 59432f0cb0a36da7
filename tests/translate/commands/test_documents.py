"""`translate text` on documents: they come back whole, can be continued and edited, and others are refused."""

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.translate.documents import notes, test_ooxml
from tests.translate.documents.stubs import reverse, upper
from tests.translate.speakers import Echo, Stubbed
from translate.commands.main import main
from translate.commands.text import TextOptions
from translate.documents.document import MODULES, check_suffix
from translate.models.folder import ModelFolder

NOTES = """# A comment
Der *kleine* Hund {name} schläft.

Die Katze *singt*.=>The cat *sings*.
Das Kind läuft. Ein Vogel singt.
"""
UPPER = """# A comment
?DER *KLEINE* HUND {name} SCHLÄFT.

Die Katze *singt*.=>The cat *sings*.
?DAS KIND LÄUFT. EIN VOGEL SINGT.
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: ModelFolder) -> None:
    """A folder with a document in the format of the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSLATE_MODEL", str(parts.folder))
    monkeypatch.setitem(MODULES, ".notes", "notes")
    monkeypatch.setitem(sys.modules, "translate.documents.notes", notes)
    Path("x.notes").write_text(NOTES, encoding="utf-8")


Opened = Callable[[Echo], Echo]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Use a stub as the translator of the program."""

    def use(stub: Echo) -> Echo:
        monkeypatch.setattr("translate.commands.text.open_translator", lambda options: stub)
        return stub

    return use


@pytest.fixture
def echo(opened: Opened, parts: ModelFolder) -> Echo:
    return opened(Echo(parts))


def run(*arguments: str) -> int:
    return main(["--input", "x.notes", *arguments])


def written(name: str = "y.notes") -> str:
    return Path(name).read_text(encoding="utf-8")


def test_texts_are_translated_and_all_else_is_copied(echo: Echo) -> None:
    assert run("--output", "y.notes") == 0
    assert written() == UPPER
    assert sorted(path.name for path in Path().iterdir()) == ["x.notes", "y.notes"]


def test_a_document_goes_to_stdout_without_an_output(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    assert capsys.readouterr().out == UPPER


def test_a_stdout_of_text_takes_documents_of_text(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stdout", said)
    assert run() == 0
    assert said.getvalue() == UPPER
    Path("x.docx").write_bytes(test_ooxml.document(test_ooxml.run("Der Hund")))
    assert main(["--input", "x.docx"]) == 2
    assert said.getvalue() == UPPER


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(lines=st.lists(st.text(st.sampled_from("aÖ *{}#>\"'<&\t\u00a0\u2028.g1/"), max_size=20), max_size=9))
def test_identity_gives_the_same_bytes(lines: list[str], opened: Opened, parts: ModelFolder) -> None:
    opened(Stubbed(parts, str))
    data = "\n".join(lines).encode()
    Path("x.notes").write_bytes(data)
    for options in ([], ["--resume"], ["--all", "--final"]):
        assert run("--output", "y.notes", "--force", *options) == 0
        assert Path("y.notes").read_bytes() == data


def test_a_document_of_word_stays_the_same_file_or_is_translated(opened: Opened, parts: ModelFolder) -> None:
    run_of, letter = test_ooxml.run, Path("x.docx")
    letter.write_bytes(
        test_ooxml.document(run_of("Der ") + run_of("Hund", "<w:b/>") + run_of(" schläft."), run_of("Ja"))
    )
    opened(Stubbed(parts, str))
    assert main(["--input", "x.docx", "--output", "y.docx"]) == 0
    assert Path("y.docx").read_bytes() == letter.read_bytes()
    opened(Echo(parts))
    assert main(["--input", "x.docx", "--output", "z.docx", "--bilingual", "side.xlf"]) == 0
    first, second = test_ooxml.texts(Path("z.docx").read_bytes(), "z.docx")
    assert (re.sub("</?g+1>", "<>", first), second) == ("DER <>HUND<> SCHLÄFT.", "JA")
    assert main(["--input", "x.docx", "--output", "w.docx", "--apply", "side.xlf"]) == 0
    assert Path("w.docx").read_bytes() == Path("z.docx").read_bytes()


def test_formatting_follows_its_words(opened: Opened, parts: ModelFolder) -> None:
    opened(Stubbed(parts, reverse))
    assert run("--output", "y.notes", "--final") == 0
    assert "SCHLÄFT. {name} HUND *KLEINE* DER\n" in written()


@pytest.mark.parametrize(
    "stub",
    [
        lambda text: re.sub("<[^>]*>", "", text),
        lambda text: text + text,
        lambda text: text.replace("</g1>", "") + "</g1>" if "<g3>" in text else text.replace("<g1>", "</g1>"),
        lambda text: text.replace("<g2/>", "<g3/>"),
    ],
    ids=["lost", "doubled", "crossed", "another"],
)
def test_a_text_whose_tags_are_wrong_stays_and_is_reported(
    stub: Callable[[str], str], opened: Opened, parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(Stubbed(parts, lambda text: stub(text) if "<" in text else upper(text)))
    assert run("--output", "y.notes", "--final") == 0
    assert written().startswith("# A comment\nDer *kleine* Hund {name} schläft.\n\n")
    assert "DAS KIND" in written()
    error = capsys.readouterr().err
    assert "warning: paragraph 1 (line 2): formatting would be lost, so the text was left unchanged" in error
    assert "2 paragraphs in" in error


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("letter.doc", "save it as .docx or .odt"),
        ("SLIDES.PPT", "save it as .pptx or .odp"),
        ("letter.docm", "save it as .docx, without macros"),
        ("book.odm", "save it as .docx or .odt"),
        ("song.lrc", "as plain text with --format text"),
        ("film.scc", "as plain text with --format text"),
        ("paper.pdf", "its text, such as pdftotext gives"),
        ("letter.pages", "export it as a file of Word"),
        ("settings.plist", "as plain text with --format text"),
        ("manual.rst", "the files .po that `sphinx-build -b gettext` makes"),
        ("manual.adoc", "convert it to .docbook"),
        ("notes.org", "convert it to .md or .docx"),
        ("sums.ipynb", "convert it to .md"),
        ("rows.jsonl", "convert it to .csv or .tsv"),
        ("letter.eml", "save it as .html or .txt"),
        ("menu.vue", "keep its texts in a file of messages"),
    ],
)
def test_other_structured_files_are_refused(
    name: str, remedy: str, echo: Echo, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text("Guten Morgen\n", encoding="utf-8")
    assert main(["--input", name, "--output", "y"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"translate: {name}: files of the format ")
    assert remedy in error
    assert len(error.splitlines()) == 1
    assert not Path("y").exists()


@pytest.mark.parametrize(
    ("name", "output"),
    [("x.md", "y.markdown"), ("x.html", "y.xhtml"), ("x.md", "y.txt"), ("x.txt", "y.md"), ("x.docx", "y.new")],
)
def test_an_output_of_the_same_or_of_no_format_is_accepted(name: str, output: str) -> None:
    check_suffix(name, output)


@pytest.mark.parametrize(
    ("name", "output"),
    [
        *(("x.docx", f"y.{suffix}") for suffix in ("pdf", "txt", "odt", "pptx", "dotx", "po", "doc")),
        *(("x.po", f"y.{suffix}") for suffix in ("docx", "xlf", "json")),
        *(("x.txt", f"y.{suffix}") for suffix in ("docx", "pdf", "epub")),
        *(("x.md", f"y.{suffix}") for suffix in ("html", "docx", "json")),
        *(("x.srt", f"y.{suffix}") for suffix in ("vtt", "ass")),
        *(("x.json", f"y.{suffix}") for suffix in ("md", "csv")),
    ],
)
def test_an_output_of_another_format_is_refused(
    name: str, output: str, echo: Echo, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_bytes(test_ooxml.document(test_ooxml.run("Der Hund")) if name == "x.docx" else b"")
    assert main(["--input", name, "--output", output]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"translate: {output}: a translation keeps the format of {name}; name a file that ends in {Path(name).suffix}"
    ]
    assert not Path(output).exists()


@pytest.mark.parametrize("output", ["y.docx", "y.pdf"])
def test_a_compressed_input_is_unpacked_first(output: str, echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    """As no output may be compressed, the name of the input would not help."""
    Path("x.gz").write_bytes(b"")
    assert main(["--input", "x.gz", "--output", output]) == 2
    assert capsys.readouterr().err == "translate: x.gz: is compressed by its name; unpack it first\n"


@pytest.mark.parametrize(
    ("name", "output"),
    [("x.pot", "de.po"), ("x.docx", "y"), ("x.docx", "y.DOCX"), ("x.po", "y.txt"), ("x.txt", "y.md")],
)
def test_other_names_of_an_output_are_taken(name: str, output: str, echo: Echo) -> None:
    Path(name).write_bytes(test_ooxml.document(test_ooxml.run("Der Hund")) if name == "x.docx" else b"")
    assert main(["--input", name, "--output", output]) == 0
    assert main(["--input", name, "--output", "y.json", "--json"]) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# A comment\n", "has no text to translate"),
        ("Die Katze.=>The cat.\n", "all of its texts have a translation already; add --all to replace them"),
    ],
)
def test_a_document_without_a_text_to_translate_is_copied_and_says_why(
    content: str, said: str, echo: Echo, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("x.notes").write_text(content, encoding="utf-8")
    for options in ([], ["--resume", "--force"]):
        assert run("--output", "y.notes", *options) == 0
        assert written() == content
        assert capsys.readouterr().err == f"translate: x.notes: {said}\n"


def test_the_format_of_a_document_can_be_overruled(echo: Echo) -> None:
    Path("x.plist").write_text("Guten Morgen\n", encoding="utf-8")
    assert main(["--input", "x.plist", "--output", "y", "--format", "text"]) == 0
    assert written("y") == "GUTEN MORGEN\n"


def test_json_describes_each_text(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["source"] == "Der <g1>kleine</g1> Hund <g2/> schläft."
    assert first["text"] == "DER <g1>KLEINE</g1> HUND <g2/> SCHLÄFT."
    assert (first["place"], second["place"], first["suspicious"]) == ("line 2", "line 5", True)
    assert run("--json", "--output", "y.jsonl", "--resume") == 0
    assert [json.loads(line)["text"] for line in written("y.jsonl").splitlines()] == [first["text"], second["text"]]


def many(monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a document of eleven texts, translated in windows of three, and return its translation."""
    monkeypatch.setattr("translate.inference.documents.WINDOW", 3)
    lines = [f"Satz *{n}* von {{vielen}}" for n in range(11)]
    Path("x.notes").write_text("\n".join(lines), encoding="utf-8")
    return "\n".join(f"?{line.upper().replace('VIELEN', 'vielen')}" for line in lines)


def test_a_translation_is_continued_after_an_interruption(
    opened: Opened, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = many(monkeypatch)
    stub = Stubbed(parts, upper)
    stub.stop_after = 3
    opened(stub)
    assert run("--output", "y.notes", "--resume") == 130
    assert not Path("y.notes").exists()
    again = Stubbed(parts, upper)
    opened(again)
    assert run("--output", "y.notes", "--resume") == 0
    assert written() == expected
    assert list(map(len, again.windows)) == [3, 2]
    assert "5 paragraphs in" in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == [".y.notes.resume", "x.notes", "y.notes"]

    assert run("--output", "y.notes", "--resume") == 0
    assert "y.notes: is complete already" in capsys.readouterr().err
    assert len(again.windows) == 2
    Path("y.notes").write_text("Other text", encoding="utf-8")
    assert run("--output", "y.notes", "--resume") == 2
    assert written() == "Other text"


def test_another_document_is_not_continued(
    opened: Opened, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    many(monkeypatch)
    stub = Stubbed(parts, upper)
    opened(stub)
    for options, key in (["--all"], "all"), ([], "input;"):
        stub.stop_after = len(stub.windows) + 2
        assert run("--output", "y.notes", "--resume", "--force") == 130
        if not options:
            Path("x.notes").write_text("Ein anderer Text", encoding="utf-8")
        assert run("--output", "y.notes", "--resume", *options) == 2
        assert f"was begun with another {key}" in capsys.readouterr().err
        assert not Path("y.notes").exists()


@pytest.mark.parametrize("side", ["side.xlf", "side.tsv"])
def test_an_edited_translation_is_put_back(side: str, echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--output", "y.notes", "--bilingual", side) == 0
    assert written() == UPPER
    text = Path(side).read_bytes().decode("utf-8-sig")
    assert "KIND" in text
    Path(side).write_text(text.replace("KIND", "CHILD").replace("cat", "tiger"), encoding="utf-8")
    assert run("--output", "z.notes", "--apply", side) == 0
    edited = UPPER.replace("KIND", "CHILD").replace("cat", "tiger").replace("?", "")
    assert written("z.notes") == edited
    assert written() == UPPER

    Path(side).write_text(text.replace("Hund", "Mops"), encoding="utf-8")
    assert run("--output", "w.notes", "--apply", side) == 2
    assert f"{side}: text 1 is not that of x.notes" in capsys.readouterr().err
    assert not Path("w.notes").exists()


def test_an_edited_text_without_its_tags_is_not_put_back(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--output", "y.notes", "--bilingual", "side.tsv") == 0
    text = Path("side.tsv").read_bytes().decode("utf-8-sig")
    Path("side.tsv").write_text(text.replace("<g1>KLEINE</g1>", "KLEINE"), encoding="utf-8")
    assert run("--output", "z.notes", "--apply", "side.tsv") == 0
    assert "\nDer *kleine* Hund {name} schläft.\n" in written("z.notes")
    assert "warning: paragraph 1 (line 2): formatting would be lost" in capsys.readouterr().err


def test_translations_are_marked_and_kept_unless_told_otherwise(echo: Echo) -> None:
    assert run("--output", "y.notes", "--final", "--all") == 0
    expected = UPPER.replace("?", "").replace("The cat *sings*", "DIE KATZE *SINGT*")
    assert written() == expected


def test_a_signed_document_needs_force(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.notes").write_text("#signed\nDer Hund", encoding="utf-8")
    assert run("--output", "y.notes") == 2
    assert "x.notes: is signed, and a translation loses the signature; add --force" in capsys.readouterr().err
    assert not Path("y.notes").exists()
    assert run("--output", "y.notes", "--force") == 0
    assert written() == "#signed\n?DER HUND"


def test_a_damaged_document_writes_nothing(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.notes").write_text("#damaged\nDer Hund", encoding="utf-8")
    for options in (["--output", "y.notes"], ["--output", "y.notes", "--resume"], ["--json"]):
        assert run(*options) == 2
        assert capsys.readouterr().err == "translate: x.notes: is damaged; save it again\n"
    assert [path.name for path in Path().iterdir()] == ["x.notes"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--column", "2"], "--column belongs to the formats tsv and csv"),
        (["--json", "--bilingual", "side.xlf"], "--json writes no document"),
        (["--output", "y.notes", "--bilingual", "side.txt"], "side by side as .xlf or .tsv"),
        (["--output", "y.notes", "--apply", "side.xlf", "--resume"], "--apply translates nothing"),
        (["--output", "y.notes", "--apply", "side.xlf"], "side.xlf: no such file"),
        (["--output", "x.notes"], "is the input too"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: list[str], message: str, echo: Echo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*options) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["x.notes"]


def test_the_two_outputs_of_a_document_are_two_files(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.xlf").write_bytes(Path("x.notes").read_bytes())
    assert main(["--input", "x.xlf", "--output", "y.xlf", "--bilingual", "./y.xlf"]) == 2
    assert "y.xlf: is the document; name another file with --bilingual" in capsys.readouterr().err
    assert not Path("y.xlf").exists()


def test_options_of_documents_are_refused_for_text(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["Guten Morgen", "--all"]) == 2
    assert "belong to documents" in capsys.readouterr().err


def test_the_language_is_guessed_from_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    from translate.commands.source_language import document_texts

    options = TextOptions(input=Path("x.notes"), from_language="auto")
    assert document_texts(options)[0] == "Der <g1>kleine</g1> Hund <g2/> schläft."
    assert document_texts(TextOptions(input=Path("x.notes.txt"))) == []


def test_an_update_keeps_what_the_output_has(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = Path("de.json"), Path("en.json")
    update = ["--input", "de.json", "--output", "en.json", "--update"]
    source.write_text('{"a": "Der Hund", "b": "Das Kind"}', encoding="utf-8")
    assert main(update) == 0  # there is none yet
    assert json.loads(output.read_bytes()) == {"a": "DER HUND", "b": "DAS KIND"}
    output.write_text('{"b": "The child", "a": "The dog", "x": "1", "y": "2", "z": "3", "w": "4"}', encoding="utf-8")
    source.write_text('{"a": "Der Hund", "new": "Die Katze", "b": "Das Kind"}', encoding="utf-8")
    capsys.readouterr()
    assert main(update) == 0
    assert output.read_text(encoding="utf-8") == '{"a": "The dog", "new": "DIE KATZE", "b": "The child"}'
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        "translate: en.json: kept 2 translations, new 1, dropped 4 that the source does not have: x, y, z and 1 more"
    )
    assert second.startswith("translate: 1 paragraph in ")
    before = output.read_bytes()
    assert main(update) == 0
    assert output.read_bytes() == before
    assert capsys.readouterr().err == "translate: en.json: kept 3 translations, new 0, dropped none\n"


def test_a_file_of_strings_that_exists_already_names_the_update(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("de.json", "en.json"):
        Path(name).write_text("{}", encoding="utf-8")
    assert main(["--input", "de.json", "--output", "en.json"]) == 2
    assert capsys.readouterr().err == (
        "translate: en.json: exists already; add --update to keep its translations, or --force to overwrite it\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "de.json"], "--update keeps what the output file has"),
        (["--input", "x.notes", "--output", "y.notes"], "x.notes: is no file of strings in one language"),
        (["--input", "x.md", "--output", "y.md"], "--update belong to documents"),
        *(
            (["--input", "de.json", "--output", "en.json", *option], f"--update and {option[0]} exclude each other")
            for option in (["--json"], ["--resume"], ["--all"], ["--bilingual", "a.tsv"], ["--apply", "a.tsv"])
        ),
    ],
)
def test_updates_that_cannot_be_made_are_refused(
    arguments: list[str], message: str, echo: Echo, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("de.json", "en.json"):
        Path(name).write_text('{"a": "Der Hund"}', encoding="utf-8")
    Path("x.md").write_text("Der Hund", encoding="utf-8")
    assert main([*arguments, "--update"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert Path("en.json").read_text(encoding="utf-8") == '{"a": "Der Hund"}'


def test_an_update_that_is_interrupted_changes_nothing(echo: Echo) -> None:
    Path("de.json").write_text('{"a": "Der Hund", "b": "Das Kind"}', encoding="utf-8")
    Path("en.json").write_text('{"a": "The dog"}', encoding="utf-8")
    echo.stop_after = 1
    assert main(["--input", "de.json", "--output", "en.json", "--update"]) == 130
    assert Path("en.json").read_text(encoding="utf-8") == '{"a": "The dog"}'
