"""The prompt of `translate text`: the direction can change, Ctrl-C stops one translation, a paste is one entry."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.translate.speakers import Echo
from translate.commands import lines, text
from translate.commands.prompt import TypedLines
from translate.commands.text import TextOptions
from translate.errors import UserError
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Document, Opening, Search

INTERRUPTED = "\x03"


@pytest.fixture
def typing(
    parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[list[str], list[str]]]:
    """A session whose translators write capitals; returns its stdout and stderr."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def hold(*typed: str | Callable[[], str], echo: Echo | None = None) -> tuple[list[str], list[str]]:
        waiting = iter(typed)

        def type_in(_: str) -> str:
            entry = next(waiting, None)
            if entry is None:
                raise EOFError
            if entry == INTERRUPTED:
                raise KeyboardInterrupt
            return entry if isinstance(entry, str) else entry()

        monkeypatch.setattr("builtins.input", type_in)
        monkeypatch.setattr(text, "open_lines", lambda options: TypedLines())
        monkeypatch.setattr(text, "open_translator", lambda options: echo or Echo(parts))
        text.run(TextOptions())
        captured = capsys.readouterr()
        return captured.out.splitlines(), captured.err.splitlines()

    return hold


def test_each_entry_is_translated_and_pasted_lines_keep_their_line_breaks(typing) -> None:
    assert typing("der Hund", "die Katze\n\nein Vogel")[0] == ["DER HUND", "DIE KATZE", "", "EIN VOGEL"]


def test_an_interrupted_translation_does_not_end_the_session(typing, parts: ModelFolder) -> None:
    echo = Echo(parts)
    echo.stop_after = 2
    said, told = typing("der Hund", "die Katze", "ein Vogel", echo=echo)
    assert said == ["DER HUND", "EIN VOGEL"]
    assert "translate: stopped" in told


def test_an_interrupted_line_is_discarded_and_a_second_interruption_ends_the_session(typing) -> None:
    said, told = typing("der Hund", INTERRUPTED, "die Katze", INTERRUPTED, "ein Vogel")
    assert said == ["DER HUND", "DIE KATZE", "EIN VOGEL"]
    assert sum("once more" in line for line in told) == 2
    with pytest.raises(KeyboardInterrupt):
        typing("der Hund", INTERRUPTED, INTERRUPTED)


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_text_that_is_not_utf_8_does_not_end_the_session(typing, errors: str) -> None:
    """The C locale turns undecodable bytes into surrogates; others raise an error."""
    said, told = typing("der Hund", lambda: b"Gr\xfc\xdfe".decode("utf-8", errors), "ein Vogel")
    assert said == ["DER HUND", "EIN VOGEL"]
    assert "translate: the typed text is not utf-8; set the terminal to UTF-8" in told


def test_the_direction_changes_and_changes_back(typing, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def opposite(folder: Path, say: object) -> Path:
        asked.append(folder)
        return folder

    monkeypatch.setattr(text.registry, "opposite", opposite)
    said, told = typing("/switch", "der Hund", "/switch", "die Katze")
    assert said == ["DER HUND", "DIE KATZE"]
    assert asked == [parts.folder]
    assert told.count("translate: translating de-en") == 2


def test_switching_twice_gives_back_the_chosen_model_and_its_settings(
    parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = TextOptions(
        opening=Opening(model=parts.folder),
        document=Document(terms=Path("terms.tsv")),
        search=Search(rerank=Path("en-de"), formality="formal"),
    )
    opened: list[TextOptions] = []

    def open_one(options: TextOptions) -> Translator:
        assert options.opening.model is not None
        opened.append(options)
        return Translator(replace(parts, folder=Path(options.opening.model)))

    monkeypatch.setattr(text.registry, "opposite", lambda folder, say: folder.with_name("installed"))
    monkeypatch.setattr(text, "open_translator", open_one)
    session = text.Session(chosen, lines.Output(io.StringIO()))
    first = open_one(chosen)
    other = session._opposite(first)
    assert other.engine.folder.name == "installed"
    assert [session._opposite(other), session._opposite(first)] == [first, other]
    assert [(o.document.terms, o.search.rerank, o.search.formality) for o in opened] == [
        (Path("terms.tsv"), Path("en-de"), "formal"),
        (None, parts.folder, None),  # the form of address is of German, the source language here
    ]


def test_without_a_model_for_the_other_direction_the_session_goes_on(typing, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(folder: Path, say: object) -> Path:
        raise UserError("no such model")

    monkeypatch.setattr(text.registry, "opposite", none)
    said, told = typing("/switch", "der Hund")
    assert said == ["DER HUND"]
    assert "translate: no such model" in told
