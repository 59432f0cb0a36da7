"""The shipped models are small, have a card, translate everyday phrases, and keep the layout of documents."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import translate
from tests.programs import case
from translate.commands.main import main
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder

MODELS = sorted(path for path in (Path(translate.__file__).parent / "models").glob("[!_]*/") if path.is_dir())
DOCUMENTS = Path(__file__).parent / "documents"

every_model = pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)


@pytest.fixture(scope="module")
def german() -> Translator:
    return Translator.load("de-en")


@every_model
def test_a_shipped_model_is_small_and_has_a_card(model: Path) -> None:
    assert sum(path.stat().st_size for path in model.iterdir()) <= 25e6
    spec = ModelFolder.open(model).spec
    assert model.name == f"{spec.source}-{spec.target}"
    card = (model / "README.md").read_text(encoding="utf-8")
    for chapter in ("Data", "Training", "Scores", "Weaknesses", "Samples"):
        assert f"\n## {chapter}\n" in card
    assert "CC-BY 2.0 FR" in card


@every_model
def test_it_knows_words_and_greetings(model: Path) -> None:
    """At least 90 % of phrases that are missing from the built-in word list are translated correctly."""
    probes = case("probes")
    found = probes.everyday(probes.Model(Translator.load(model), data=Path()))["alone"]
    assert found["right"] >= 0.9 * found["items"]
    assert found["loops"] == found["too_long"] == 0


def test_the_question_is_answered(german: Translator) -> None:
    assert german("Kannst du mir helfen, diesen Satz zu übersetzen?") == "Can you help me translate this sentence?"


@pytest.mark.parametrize(
    "text",
    ["Das Konzert beginnt heute Abend um 8 Uhr.", "Hotel", "Name", "Computer", "Es sind 20 Leute da.", "Hallo Anna!"],
)
def test_the_checks_do_not_change_a_good_translation(german: Translator, text: str) -> None:
    (checked,), (free,) = german.passages([text]), german.translate_lines([text])
    assert (checked.text, checked.suspicious) == (free.text, False)


@pytest.mark.parametrize(
    "text",
    [
        "Die Adresse ist 192.168.100.200.",
        "Rufen Sie 800.123.456 an.",
        "Das Konto ist 123.456.789.",
        "Windows 8.1 und 2 GB",
        "Die Zimmer 101,102,103 sind frei.",
    ],
)
def test_every_digit_group_survives(german: Translator, text: str) -> None:
    assert re.findall(r"\d+", german(text)) == re.findall(r"\d+", text)


def test_the_number_of_a_norm_keeps_its_separator(german: Translator) -> None:
    assert "9.001" in german("Das Gerät erfüllt ISO 9.001.")


def test_text_in_capitals_is_translated(german: Translator) -> None:
    (found,) = german.passages(["DU BIST EIN GUTER STUDENT, ABER DU MUSST VIEL LERNEN."])
    assert found.flags == ("capitals",)
    assert "STUDENT" in found.text.upper()


def translated(name: str, tmp_path: Path) -> tuple[str, str]:
    """Return a German document and the translation that the command writes."""
    assert main(["--model", "de-en", "--input", str(DOCUMENTS / name), "--output", str(tmp_path / name)]) == 0
    source, target = ((folder / name).read_text(encoding="utf-8") for folder in (DOCUMENTS, tmp_path))
    assert source != target
    return source, target


def test_markdown_keeps_its_structure(tmp_path: Path) -> None:
    source, target = translated("page.md", tmp_path)
    blocks = re.compile(r"```.*?```|\A---.*?---|<!--.*?-->|^\[1\]: \S+|^\|[:|-]+$", re.DOTALL | re.MULTILINE)
    inline = re.compile(r"`[^`\n]+`|\]\([^)\s]+|<[^>\n]+>|https?://\S+\w|\{\w+\}")
    marks = re.compile(r"^\s*(?:[-*>|#=]|\d+\.)*\s?(?:\[.\])?", re.MULTILINE)
    for kind in (blocks, inline):
        before, after = (re.sub("(?m)^(title|lang): .+", r"\1:", page) for page in (source, target))
        assert kind.findall(after) == kind.findall(before)
    assert marks.findall(target) == marks.findall(source)
    assert target.count("\n") == source.count("\n")
    assert [line.count("|") for line in target.split("\n")] == [line.count("|") for line in source.split("\n")]
    for mark in ("**", "![", "]("):
        assert target.count(mark) == source.count(mark)


TRANSLATED = ("alt", "aria-label", "content", "lang", "placeholder", "title")  # attributes


class Skeleton(HTMLParser):
    """The parts of a page that must not change: tags, comments, entities, code."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[object] = []
        self._kept: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, [(name, None if name in TRANSLATED else value) for name, value in attrs]))
        if self._kept or tag in ("code", "kbd", "pre", "script", "style") or ("translate", "no") in attrs:
            self._kept.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"/{tag}")
        if self._kept and self._kept[-1] == tag:
            self._kept.pop()

    def handle_data(self, data: str) -> None:
        if self._kept:
            self.parts.append(data)

    def handle_comment(self, data: str) -> None:
        self.parts.append(("comment", data))

    def handle_entityref(self, name: str) -> None:
        self.parts.append(("entity", name))


def test_html_keeps_its_tags_and_code(tmp_path: Path) -> None:
    source, target = translated("page.html", tmp_path)
    assert Skeleton(target).parts == Skeleton(source).parts
    assert '<html lang="de">' in source
    assert '<html lang="en">' in target
    assert target.count("\n") == source.count("\n")


def test_subtitles_keep_their_times_and_lines(tmp_path: Path) -> None:
    source, target = translated("film.srt", tmp_path)
    cues, new = (text.split("\n\n") for text in (source, target))
    assert [cue.split("\n")[:2] for cue in new] == [cue.split("\n")[:2] for cue in cues]
    assert [cue.count("\n") for cue in new] == [cue.count("\n") for cue in cues]
    for tag in ("<i>", "</i>", "{\\an8}", "\n- "):
        assert target.count(tag) == source.count(tag)
