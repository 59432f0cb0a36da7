"""The form of address of German sentences, by examples of each rule and on sentences in both forms."""

import lzma

import pytest

from tests.conftest import CORPORA
from translate.text.formality import TAGS, form_of_address


@pytest.mark.parametrize(
    ("german", "english", "form"),
    [
        ("Können Sie das sehen?", "", "formal"),
        ("Ich danke Ihnen.", "", "formal"),
        ("Das ist Ihre Datei.", "", "formal"),
        ("Wo ist Ihr Hund?", "", "formal"),
        ("Öffnen Sie die Datei.", "Open the file.", "formal"),
        ("Sie haben recht.", "You are right.", "formal"),
        ("Sie haben recht.", "They are right.", None),
        ("Sie sagte es. Sie sind müde.", "She said it. They are tired.", None),
        ("Ihre Datei ist leer.", "Your file is empty.", "formal"),
        ("Ihre Datei ist leer.", "Her file is empty.", None),
        ("Kannst du das sehen?", "", "informal"),
        ("Das ist Deine Datei.", "", "informal"),
        ("Habt ihr Zeit?", "", "informal"),
        ("Ich gebe ihr das Buch.", "", None),
        ("Ich sehe euch.", "", "informal"),
        ("Öffne die Datei.", "Open the file.", "informal"),
        ("Bitte gib einen Namen ein", "Please enter a name", "informal"),
        ("Öffne ich die Datei?", "Do I open the file?", None),
        ("Warte auf Antwort …", "Waiting for an answer …", None),
        ("Lade- und Löschknopf", "Load and delete button", None),
        ("Wenn Ihr wollt, Herr, so bleibt.", "If you will, sire, stay.", None),
        ("Im Musée du Louvre", "In the Musée du Louvre", None),
        ("Ich sehe dich, und Sie sehen mich.", "", None),
        ("KÖNNEN SIE DAS SEHEN?", "CAN YOU SEE THAT?", None),
        ("Das Haus ist alt.", "The house is old.", None),
        ("", "", None),
    ],
)
def test_a_form_of_address(german: str, english: str, form: str | None) -> None:
    assert form_of_address(german, english) == form


def test_sentences_in_both_forms_are_told_apart() -> None:
    """Of 981 sentences, none is taken for the other form; some imperatives and infinitives show none."""
    folder = CORPORA / "train-open5"
    if not (folder / "formality.en.xz").exists():
        pytest.skip(f"{folder}: no sentences in both forms of address")
    english, informal, formal = (
        lzma.decompress((folder / f"formality.{name}.xz").read_bytes()).decode().splitlines()
        for name in ("en", "de-informal", "de-formal")
    )
    for form, german in (("informal", informal), ("formal", formal)):
        found = [form_of_address(text, other) for text, other in zip(german, english, strict=True)]
        assert set(found) == {form, None}
        assert found.count(form) > 0.9 * len(found) > 800  # type: ignore[arg-type]


def test_the_tags_are_printable_words() -> None:
    assert [*TAGS.values()] == ["<formal>", "<informal>"]
