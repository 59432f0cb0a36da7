"""Everyday text keeps its lines, its layout, and the parts that must not be translated."""

import dataclasses
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import translate
from tests.translate.conftest import random_model
from tests.translate.speakers import Echo
from transformer.config import SearchConfig
from translate.commands.lines import WARNINGS, Notes
from translate.commands.main import main
from translate.commands.text import TextOptions, open_translator
from translate.commands.text import _first_window as first_window
from translate.commands.text import settings as settings_of
from translate.errors import UserError
from translate.inference import translator as translators
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec
from translate.options import names_of
from translate.text.formats import FORMATS, LINE_FORMATS, reader, windows
from translate.text.sentences import Piece
from translate.text.translation import SUSPICIOUS, Document, Format, Opening, Translation

QUESTION = "Der Hund, den du siehst, ist nicht von hier."


@pytest.fixture
def model(parts: ModelFolder) -> str:
    return str(parts.folder)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No installed model and no environment settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRANSLATE_MODEL", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(translate.__file__).parent.parent))
    monkeypatch.setattr("translate.models.registry.places", lambda: [Path("shipped"), Path("user")])


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def run(arguments: list[str], data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Return stdout for this input; the command must succeed."""
    pipe(monkeypatch, data)
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch, parts: ModelFolder) -> Echo:
    """Replace every translator by one that returns its input in capitals."""
    monkeypatch.setenv("TRANSLATE_MODEL", str(parts.folder))
    echo = Echo(parts)

    def opened(options: TextOptions) -> Echo:
        echo.document = options.document
        return echo

    monkeypatch.setattr("translate.commands.text.open_translator", opened)
    return echo


BAD_INPUT = {
    "mixed line ends": b"Ja.\r\nNein.\nGut.\rBesser.\r\n",
    "10,000 blank lines": b"\n" * 10_000,
    "emoji": "🙂🙃\nHallo 👩‍👩‍👧!\n🇩🇪\n".encode(),
    "other scripts": "漢字かな\nΚαλημέρα κόσμε\nПривет\nHallo 東京\n".encode(),
    "right to left": "שלום עולם\nمرحبا\nHallo \u200fשלום\u200f!\n".encode(),
    "NUL": b"\0\nJa\0Nein\n\0\0\n",
    "no end of line": b"Ja.\nNein",
    "white space": " \n\t\n  Ja.  \n\u3000\n\u2028\n".encode(),
    "separators": "Ja.\u2028Nein.\x85Gut.\x0bNun.\x0cSo.\n".encode(),
    "symbols of placeholders": "Ja \u27e61\u27e7 und \u27e6x\u27e7.\n\u27e699\u27e7\n".encode(),
    "placeholders in words": b"Hal{name}lo %swort</b>\nein<b>wort</b>\n",
    "special pieces": "<s> </s> <unk> <0x0A> \u2581\n".encode(),
    "surrogates of others": "\ufffd \uffff \U0010ffff\n".encode(),
}


@pytest.mark.parametrize("name", BAD_INPUT)
@pytest.mark.parametrize("options", [[], ["--no-checks"], ["--format", "lines"], ["--format", "lines", "--no-checks"]])
def test_output_line_n_translates_input_line_n(
    name: str, options: list[str], model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = BAD_INPUT[name]
    out = run(["--model", model, *options], data, monkeypatch, capsys)
    assert out.endswith("\n")
    lines = data.decode().removesuffix("\n").split("\n")
    found = out[:-1].split("\n")
    assert len(found) == len(lines)
    for line, translation in zip(lines, found, strict=True):
        assert translation.startswith(line[: len(line) - len(line.lstrip())])
        assert translation.endswith(line[len(line.rstrip()) :])
        assert line.strip() or translation == line


@pytest.mark.parametrize("options", [[], ["--resume"], ["--format", "tsv"]])
def test_a_byte_order_mark_stays_at_the_beginning(
    options: list[str], echo: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some programs take a file without it for one in another encoding."""
    monkeypatch.setattr("translate.text.formats.WINDOW", 3)
    lines = ["eins", "zwölf", "drei"] * 3
    Path("x.de").write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    assert main(["--input", "x.de", "--output", "x.en", *options]) == 0
    assert Path("x.en").read_text(encoding="utf-8") == "\ufeff" + "".join(f"{line.upper()}\n" for line in lines)


@pytest.mark.parametrize("options", [[], ["--resume"], ["--format", "tsv"], ["--format", "html"]])
def test_a_byte_order_mark_stays_in_a_file_without_text(options: list[str], echo: Echo, tmp_path: Path) -> None:
    Path("x.de").write_text("\ufeff", encoding="utf-8")
    for again in range(2 if options == ["--resume"] else 1):
        assert main(["--input", "x.de", "--output", "x.en", *options]) == 0, again
        assert Path("x.en").read_text(encoding="utf-8").rstrip("\n") == "\ufeff"


@pytest.mark.parametrize("options", [["text"], ["decode"]])
def test_a_hyphen_is_stdin_and_stdout(
    options: list[str], model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = run([*options, "--model", model], b"Ja.\nNein.\n", monkeypatch, capsys)
    assert (
        run([*options, "--model", model, "--input", "-", "--output", "-"], b"Ja.\nNein.\n", monkeypatch, capsys)
        == plain
    )
    assert not Path("-").exists()


def test_a_file_may_be_called_a_hyphen(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = run(["--model", model], b"Ja.\n", monkeypatch, capsys)
    Path("-").write_bytes(b"Ja.\n")
    run(["--model", model, "--input", "./-", "--output", "out"], b"Nein.\n", monkeypatch, capsys)
    assert Path("out").read_text(encoding="utf-8") == plain


@pytest.mark.parametrize("command", ["text", "decode"])
def test_the_name_of_a_file_is_text_and_a_warning_names_the_option(
    command: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("x.de").write_text("Nein.\n", encoding="utf-8")
    assert main([command, "--model", model, "Ja.", "x.de"]) == 0
    assert capsys.readouterr().err.count("warning: x.de: is translated as text") == 1
    assert main([command, "--model", model, "Ja.", "y.de", "ä" * 9999]) == 0
    assert "is translated as text" not in capsys.readouterr().err


def test_a_misspelt_name_of_a_file_is_text_and_reported(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("leter.docx", "notes/a.b.MD", "x.txt"):
        assert main([name]) == 0
        assert f"warning: {name}: is translated as text, as there is no file of this name\n" in capsys.readouterr().err
    for text in ("example.org", "Gut.", "bzw.", "Siehe x.txt", "1.5", ".md", "Ja.Nein"):
        assert main([text]) == 0
        assert "there is no file" not in capsys.readouterr().err


def test_words_that_may_be_a_sentence_without_quotation_marks_are_reported(
    echo: Echo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["Guten", "Morgen"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "GUTEN\nMORGEN\n"
    assert captured.err == "translate: warning: 2 words are translated one by one; put a sentence in quotation marks\n"
    for sentences in (["Morgen"], ["Guten Morgen", "Danke"]):
        assert main(sentences) == 0
        assert capsys.readouterr().err == ""


def test_a_folder_as_input_is_called_one(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    Path("letters").mkdir()
    assert main(["--input", "letters"]) == 2
    assert "letters: is a folder; name its files" in capsys.readouterr().err


@pytest.mark.parametrize("data", ["Ja.\nNein.".encode("utf-16"), b"\x7fELF\x02\x01\xff\xfe", b"Ja.\nB\xe4r\n"])
def test_undecodable_text_gives_a_one_sentence_error(
    data: bytes, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(monkeypatch, data)
    assert main(["--model", model]) == 2
    err = capsys.readouterr().err
    assert "not UTF-8 text" in err
    assert err.endswith("save it as UTF-8\n")


def test_a_line_of_a_megabyte_keeps_every_word(
    echo: Echo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = " ".join(["Das Kind singt im Garten, und der Hund schläft."] * (2**20 // 48))
    out = run([], line.encode() + b"\n", monkeypatch, capsys)
    assert out.split() == line.upper().split()
    assert out.count("\n") == 1


def test_a_line_of_a_megabyte_without_a_space_keeps_every_letter(
    echo: Echo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "Donaudampfschiff" * (2**18 // 16)
    out = run(["--no-checks"], line.encode(), monkeypatch, capsys)
    assert "".join(out.split()) == line.upper()


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PARTS = st.sampled_from(
    ["{name}", "%s", "<b>", "</b>", "<br>", "https://x.de/a", "Hallo", ". ", "\n", "\n\n", "# ", "- ", "`", "1\n", "\t"]
)


@settings(max_examples=settings.default.max_examples // 4)
@given(text=st.lists(PARTS | TEXT, max_size=12).map("".join))
@pytest.mark.parametrize("layout", ["text", "lines"])
def test_lines_blank_lines_and_placeholders_of_any_text_are_kept(layout: Format, text: str, parts: ModelFolder) -> None:
    """The model has random weights."""
    lines = text.split("\n")
    found = [t.text for t in Translator(parts, document=Document(format=layout)).passages(lines)]
    assert len(found) == len(lines)
    for line, translation in zip(lines, found, strict=True):
        assert "\n" not in translation
        assert line.strip() or translation == line
        for mark in ("{name}", "%s", "<b>", "</b>", "https://x.de/a"):
            if re.search(rf"(^|\s){re.escape(mark)}($|\s)", line):
                assert mark in translation


MARKDOWN = """\
---
title: Der Hund
---
# Der Hund und `die Katze`

Das ist **wichtig** und steht auf [dieser Seite](https://beispiel.de/a_b "Titel").
Ein Absatz geht in der
nächsten Zeile weiter.

- Ein Punkt
  1. Noch einer mit `code()` darin
- [ ] Offen

> Ein Zitat
> mit zwei Zeilen

| Wort | Zahl |
|------|-----:|
| Hund | 3 |

```python
print("Hallo")  # Der Kommentar bleibt
```

    eingerückter Code

![Bild](bild.png) und {name}

[ref]: https://beispiel.de
"""

HTML = """\
<!DOCTYPE html>
<html lang="de">
<head><title>Der Hund</title><style>p { color: red }</style>
<script>let hund = "Der Hund <b>";</script></head>
<body>
<!-- Ein Kommentar -->
<h1>Der <em>Hund</em> &amp; die Katze</h1>
<p class="a"
   id="b">Ein Satz geht in
   die zweite <b>Zeile</b> weiter.<br>Noch einer.</p>
<div translate="no">Nicht <p>dies</p> hier</div>
<ul><li>Eins</li><li>Zwei <span translate="no">Marke</span> drei</li></ul>
<pre>  Der Hund
</pre>
<img src="a.png" alt="Hund"><code>hund()</code>
</body>
</html>
"""

SRT = """\
1
00:00:01,000 --> 00:00:02,500
Der Hund läuft
durch den Garten.

2
00:00:03,000 --> 00:00:04,000
- Kommst du?
- <i>Nein.</i>

3
00:00:05,000 --> 00:00:06,000

4
00:00:07,000 --> 00:00:08,000
42
"""


def without_words(text: str) -> str:
    """The page without its letters."""
    return re.sub(r"[^\W\d_]+", "", text)


@pytest.mark.parametrize(
    ("name", "page", "kept", "changed"),
    [
        (
            "page.md",
            MARKDOWN,
            [
                "`die Katze`",
                "**",
                "](https://beispiel.de/a_b ",
                "`code()`",
                "|------|-----:|",
                "{name}",
                'print("Hallo")  # Der Kommentar bleibt',
                "    eingerückter Code",
                "[ref]: https://b",
            ],
            [
                "title: DER HUND",
                "# DER HUND UND ",
                "**WICHTIG**",
                "[DIESER SEITE](",
                "- EIN PUNKT",
                "  1. NOCH EINER",
                "- [ ] OFFEN",
                "> EIN ZITAT\n> MIT ZWEI ZEILEN",
                "| WORT | ZAHL |",
                "| HUND | 3 |",
                "![BILD](bild.png)",
                '"TITEL")',
            ],
        ),
        (
            "page.html",
            HTML,
            [
                'let hund = "Der Hund <b>";',
                "<!-- Ein Kommentar -->",
                "&amp;",
                '<p class="a"\n   id="b">',
                "  Der Hund\n",
                '<div translate="no">Nicht <p>dies</p> hier</div>',
                '<span translate="no">Marke</span>',
                "<code>hund()</code>",
            ],
            [
                "<title>DER HUND</title>",
                '<img src="a.png" alt="HUND">',
                "<h1>DER <em>HUND</em> &amp; DIE KATZE</h1>",
                "<b>ZEILE</b>",
                "<li>EINS</li>",
            ],
        ),
        (
            "page.srt",
            SRT,
            ["00:00:01,000 --> 00:00:02,500", "<i>", "\n4\n00:00:07,000 --> 00:00:08,000\n42\n"],
            ["DER HUND LÄUFT\nDURCH DEN GARTEN.", "- KOMMST DU?\n- <i>NEIN.</i>"],
        ),
    ],
)
def test_a_page_keeps_its_structure(
    name: str, page: str, kept: list[str], changed: list[str], echo: Echo, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(page, encoding="utf-8")
    assert main(["--input", name, "--output", "out"]) == 0
    out = (tmp_path / "out").read_text(encoding="utf-8")
    assert [part for part in (*kept, *changed) if part not in out] == []
    assert without_words(out) == without_words(page)
    assert out.count("\n") == page.count("\n")


LAYOUT = st.sampled_from(
    [
        "\n",
        "\n\n",
        "# ",
        "- ",
        "> ",
        "```",
        "~~~\n",
        "    ",
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<p",
        "<!--",
        "-->",
        "<script>",
        "</script>",
        '<i translate="no">',
        "</i>",
        "|",
        "--",
        "1\n",
        "00:01 --> 00:02\n",
        "WEBVTT\n",
        "\t",
        "Hallo du.",
        "der Hund",
        " ",
        "{x}",
        "`a`",
        "[a](b)",
        "**",
        "---\n",
        "1. ",
    ]
)


@settings(max_examples=settings.default.max_examples // 4)
@given(text=st.lists(LAYOUT | TEXT, max_size=14).map("".join))
@pytest.mark.parametrize("layout", [name for name in FORMATS if name not in LINE_FORMATS])
def test_any_text_keeps_its_lines_and_layout_in_every_format(layout: Format, text: str, parts: ModelFolder) -> None:
    """The model has random weights."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    pieces = list(reader(layout, column=2)(lines))
    assert "".join(piece.text for piece in pieces) == text
    wanted = [piece for piece in pieces if piece.translate]
    sources = [piece.text for piece in wanted]
    translator = Translator(parts, document=Document(format=layout))
    found = [best.text for best in translator.pieces(wanted)]
    for source, translation in zip(sources, found, strict=True):
        assert translation.count("\n") == source.count("\n")
        assert translation.count("{x}") >= source.count("{x}")
        blank = [not line.strip() for line in source.split("\n")]
        assert [not line.strip() for line in translation.split("\n")] == blank or not translation.strip()


def test_a_window_ends_with_a_line_if_the_next_one_has_not_arrived() -> None:
    pieces = [Piece("a", True), Piece("\n", False), Piece("b", True), Piece("\n", False), Piece("c", True)]
    assert list(windows(pieces, lambda: True)) == [pieces]
    assert list(windows(pieces, lambda: False)) == [pieces[:2], pieces[2:4], pieces[4:]]


def test_only_what_someone_may_watch_begins_with_few_pieces(tmp_path: Path) -> None:
    pieces = [Piece("x", translate=True)] * 5000
    shown, written = (
        [len(window) for window in windows(pieces, lambda: True, first_window(TextOptions(output=output)))]
        for output in (None, tmp_path / "out.txt")
    )
    assert shown == sorted(shown[:-1]) + shown[-1:]
    assert shown[0] < written[0] == written[1]


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 7), st.integers(1, 20))
def test_windows_are_bounded_and_lose_nothing(sizes: list[int], n_pieces: int, n_characters: int) -> None:
    pieces = [Piece("x" * size, True) for size in sizes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translate.text.formats.WINDOW", n_pieces)
        patch.setattr("translate.text.formats.WINDOW_CHARACTERS", n_characters)
        found = list(windows(pieces, lambda: True))
    assert [piece for window in found for piece in window] == pieces
    for window in found:
        assert len(window) <= n_pieces
        assert sum(len(piece.text) for piece in window[:-1]) < n_characters


def test_json_tells_the_flags_of_each_line(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["der Hund", "", "3,50", "The dog that you have is not here.", "Ja {x}."]
    assert main(["--json", "\ufeff" + lines[0], *lines[1:]]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["source"] for record in records] == lines
    assert [record["flags"] for record in records] == [[], [], ["copied"], ["language"], ["placeholders"]]
    assert [record["suspicious"] for record in records] == [False, False, False, True, False]
    assert [record["confidence"] for record in records] == pytest.approx([-0.5, 0, 0, 0, -0.5])


def test_unchanged_lines_are_reported_once(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    english = "The dog that you have is not here."
    assert main(["Guten Tag.", english, english, "Ja.", english, english]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1:3] == [english, english]
    assert (
        captured.err == "translate: warning: lines 2, 3, 5 and 1 more: not in the source language, so left unchanged\n"
    )


def test_a_copied_source_is_reported(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["Guten Tag.", "qwe rtz uio"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("translate: warning: line 2: mostly copied by the model")
    assert len(captured.err.splitlines()) == 1


def test_the_language_is_guessed_only_if_asked(
    parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from translate.models import folder as model_folder

    for name, (source, target) in {"de-en": ("de", "en"), "en-de": ("en", "de")}.items():
        spec = model_folder.TranslationSpec(source, target, SearchConfig(beam_size=1, max_extra=3))
        model_folder.save(parts.model, parts.tokenizer, spec, tmp_path / "shipped" / name)
    asked: list[Path] = []
    engine = TorchEngine(parts)
    monkeypatch.setattr(translators, "open_engine", lambda folder, *_, **__: asked.append(folder) or engine)
    english = "The dog that you have is not here."
    for arguments in (
        [english],
        ["--from", "auto", english],
        ["--from", "auto", QUESTION],
        ["--to", "de", english],
        ["--from", "en", QUESTION],
        ["--from", "EN", "--to", "De", QUESTION],
        ["--from", "Auto", english],
    ):
        assert main(arguments) == 0
    assert [folder.name for folder in asked] == ["de-en", "en-de", "de-en", "en-de", "en-de", "en-de", "en-de"]
    capsys.readouterr()
    assert main(["--from", "auto", "Nein"]) == 2
    assert "the language of the text is unknown (en with 61%); name one of de, en" in capsys.readouterr().err


def test_a_named_model_counts_when_the_language_is_guessed(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--model", model, "--from", "auto", QUESTION], b"", monkeypatch, capsys).strip()
    assert main(["--from", "auto", "--to", "fr", QUESTION]) == 2
    assert "no installed model translates to fr" in capsys.readouterr().err


def test_a_damaged_model_does_not_prevent_a_guess(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "models" / "bad"
    shutil.copytree(model, damaged)
    monkeypatch.setattr("translate.models.registry.places", lambda: [tmp_path / "models"])
    (damaged / "translation.json").write_text("{", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["--model", model, "--from", "auto", QUESTION]) == 0
    assert "damaged" in capsys.readouterr().err


def test_code_does_not_count_when_the_language_is_guessed(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    style = "body { color: white; margin: 0; font-family: sans-serif; display: block }\n" * 200
    page = tmp_path / "page.html"
    page.write_text(f"<style>\n{style}</style>\n<p>{QUESTION}</p>\n", encoding="utf-8")
    assert main(["--model", model, "--from", "auto", "--input", str(page)]) == 0
    assert "guessed the source language: de" in capsys.readouterr().err


def test_the_language_of_a_pipe_is_not_guessed_by_reading_it(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.write(write, QUESTION.encode())
    os.close(write)
    assert main(["--model", model, "--from", "auto", "--input", f"/dev/fd/{read}"]) == 2
    assert capsys.readouterr().err.endswith("can be read only once; name the language\n")
    with open(read, encoding="utf-8") as file:
        assert file.read() == QUESTION


LINES_OF_ALL_KINDS = [
    "der Hund {x} singt.",
    "",
    "HALLO!",
    "Ja. Nein 2024!",
    "  am See ",
    "...",
    "Hund\u00a0%s",
    "am See " * 30,
]


@pytest.fixture
def opposite(parts: ModelFolder, tmp_path: Path) -> str:
    """A model of the other direction."""
    folder = tmp_path / "models" / "back"
    shutil.copytree(parts.folder, folder)
    dataclasses.replace(parts.spec, source="en", target="de").save(folder)
    return str(folder)


@pytest.mark.parametrize("options", [[], ["--no-checks"], ["--format", "lines"], ["--format", "lines", "--no-checks"]])
def test_reranking_works_in_every_mode(
    options: list[str], model: str, opposite: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--model", model, "--rerank", opposite, "--json", *options, "der Hund"]) == 0
    assert {"reverse_log_prob", "rerank_score"} <= json.loads(capsys.readouterr().out).keys()


def test_an_installed_model_of_the_other_direction_is_not_used_unless_it_is_named(
    model: str, opposite: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("translate.models.registry.places", lambda: [Path(opposite).parent])
    assert main(["--model", model, "--json", "der Hund"]) == 0
    assert "rerank_score" not in json.loads(capsys.readouterr().out)
    assert main(["--model", model, "--rerank", "back", "--json", "der Hund"]) == 0
    assert "rerank_score" in json.loads(capsys.readouterr().out)
    assert main(["--model", model, "--rerank", model, "der Hund"]) == 2
    assert "reranking de-en needs a model for en-de" in capsys.readouterr().err


def test_lines_without_checks_are_those_of_decode_and_of_evaluate(
    parts: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\n".join(LINES_OF_ALL_KINDS)
    (tmp_path / "in.txt").write_text(f"{text}\n", encoding="utf-8")
    arguments = ["--model", str(parts.folder), "--input", str(tmp_path / "in.txt")]
    outputs = []
    for way in (["text", "--engine", "torch", "--format", "lines", "--no-checks"], ["decode"]):
        assert main([way[0], *arguments, *way[1:]]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    pair = ["--source", str(tmp_path / "in.txt"), "--reference", str(tmp_path / "in.txt")]
    assert main(["evaluate", str(parts.folder), *pair, "--out", str(tmp_path / "scores")]) == 0
    assert (tmp_path / "scores/hypotheses/in.txt").read_text(encoding="utf-8") == outputs[0]


def test_every_reason_to_doubt_a_line_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    notes = Notes()
    for n, flag in enumerate(sorted(SUSPICIOUS), start=1):
        notes.add(Translation("x", flags=(flag,)), n)
    notes.tell()
    assert [line.split(":")[2] for line in capsys.readouterr().err.splitlines()] == [
        f" line {n}" for n in range(1, len(SUSPICIOUS) + 1)
    ]


@pytest.mark.parametrize("ending", [".gz", ".XZ", ".bz2"])
@pytest.mark.parametrize("arguments", [["text", "Ja."], ["decode", "Ja."], ["text", "--input", "x.de", "--resume"]])
def test_no_plain_text_is_written_under_the_name_of_a_compressed_file(
    echo: Echo, tmp_path: Path, arguments: list[str], ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever reads it, such as `translate evaluate`, would unpack it and call it damaged."""
    (tmp_path / "x.de").write_text("Ja.\n", encoding="utf-8")
    assert main([*arguments, "--output", f"x.en{ending}"]) == 2
    assert f"x.en{ending}: translations are not compressed" in capsys.readouterr().err
    assert not (tmp_path / f"x.en{ending}").exists()


def test_the_reasons_to_doubt_a_line_come_in_the_order_of_its_flags(capsys: pytest.CaptureFixture[str]) -> None:
    """The order of a set of texts is another one in each process, so equal runs would say different things."""
    flags = tuple(sorted(SUSPICIOUS))
    notes = Notes()
    notes.add(Translation("x", flags=flags), 3)
    notes.tell()
    told = [line.split(": ", 3)[3] for line in capsys.readouterr().err.splitlines()]
    assert told == [WARNINGS[flag] for flag in flags]


def test_translating_a_file_reports_the_speed(echo: Echo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.de").write_text("Ja.\n" * 7, encoding="utf-8")
    assert main(["--input", "x.de", "--output", "x.en"]) == 0
    assert re.fullmatch(r"translate: 7 lines in [\d.]+ s, [\d,]+ lines/s\n", capsys.readouterr().err)


def test_a_resumed_file_reports_the_speed_of_what_was_translated_now(
    echo: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("translate.text.formats.WINDOW", 4)
    (tmp_path / "x.de").write_text("Ja.\n" * 7, encoding="utf-8")
    arguments = ["--input", "x.de", "--output", "x.en", "--resume"]
    assert main(arguments) == 0
    assert " 7 lines in " in capsys.readouterr().err
    assert main(arguments) == 0
    assert capsys.readouterr().err == f"translate: {tmp_path / 'x.en'}: is complete already\n"
    record = json.loads(Path(".x.en.resume").read_text(encoding="utf-8"))
    written = "JA.\n" * 4
    digest = hashlib.sha256(written.encode()).hexdigest()
    interrupted = record | {"windows": 2, "bytes": len(written), "sha256": digest, "complete": False}
    Path(".x.en.resume").write_text(json.dumps(interrupted), encoding="utf-8")
    assert main(arguments) == 0
    assert " 3 lines in " in capsys.readouterr().err


def test_an_option_that_does_not_fit_is_named_as_it_was_typed(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", model, "--column", "2", "Ja."]) == 2
    assert capsys.readouterr().err.startswith("translate: --column 2: belongs to the formats tsv and csv")
    with pytest.raises(UserError, match="^column = 2: belongs"):
        Document(format="html", column=2)


def test_a_disk_that_fills_during_translation_gives_a_one_sentence_error(
    echo: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.de").write_text("Ja.\n" * 7, encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["--input", "x.de", "--output", "x.en", "--resume"]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), "x.en" in error) == (1, True)
    assert error.endswith(": No space left on device; free space on the disk\n")


def test_a_resumed_translation_is_the_same(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interrupted in every window, between two windows and in the middle of one."""
    lines = [["Ja.", "", "der Hund singt. Ja!", "3", "am See " * 5, "{x} Haus"][i * i % 6] for i in range(53)]
    (tmp_path / "x.de").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr("translate.text.formats.WINDOW", 14)
    arguments = ["--model", model, "--json", "--input", "x.de", "--output"]
    assert main([*arguments, "whole"]) == 0
    n_windows = 0
    passages = Translator.passages

    def stopping(*given: object, **options: object) -> object:
        nonlocal n_windows
        n_windows += 1
        for n, translation in enumerate(passages(*given, **options)):  # type: ignore[arg-type]
            if n_windows % 2 == 0 and n == 3:
                raise KeyboardInterrupt
            yield translation

    monkeypatch.setattr(Translator, "passages", stopping)
    codes = [main([*arguments, "parts", "--resume"])]
    while codes[-1]:
        codes.append(main([*arguments, "parts", "--resume"]))
    assert codes.count(130) >= 3
    assert main([*arguments, "parts", "--resume"]) == 0  # a second time is no error
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("change", ["source", "beam", "limit", "reranker", "--format lines", "--no-checks"])
def test_resuming_with_another_input_or_setting_is_refused(
    change: str, echo: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.de").write_text("Ja.\n" * 40, encoding="utf-8")
    monkeypatch.setattr("translate.text.formats.WINDOW", 6)
    echo.stop_after = 5
    arguments = ["--input", "x.de", "--output", "x.en", "--resume"]
    assert main(arguments) == 130
    begun = (tmp_path / "x.en").read_bytes()
    echo.stop_after = None
    if change == "source":
        (tmp_path / "x.de").write_text("Ja.\nNein.\n" * 20, encoding="utf-8")
    if change == "beam":
        echo.sentence_search.config = SearchConfig(beam_size=7)
    if change == "limit":
        echo.engine.spec = dataclasses.replace(echo.engine.spec, best_source_tokens=3)
    if change == "reranker":
        (tmp_path / "back").mkdir()
        (tmp_path / "back/model.bin").write_bytes(b"other weights")
        echo.reranker = SimpleNamespace(folder=tmp_path / "back")
    assert main([*arguments, *(change.split() if change.startswith("-") else [])]) == 2
    assert "--force" in capsys.readouterr().err
    assert (tmp_path / "x.en").read_bytes() == begun


# Another value of each option that affects a translated file, and the options that do not; a new one must be in either.
CHANGED: dict[str, Any] = {
    "opening.model": Path("other"),
    "document.format": "html",
    "document.column": 2,
    "document.checks": False,
    "as_json": True,
    "search.beam_size": 7,
    "search.rerank": Path("back"),
    "search.formality": "formal",
    "document.terms": Path("terms"),
    "opening.engine": "torch",
    "opening.precision": "bf16",
}
NO_EFFECT = {
    *("sentences", "from_language", "to_language", "input", "output", "force", "opening.threads", "resume"),
    "ray",  # its outputs have records of their own; see test_rows.py
} | {
    f"writing.{name}"
    for name in ("bilingual", "apply", "final", "replace_all", "update")  # of documents, which are tested alone
}


def recorded(options: TextOptions) -> dict[str, object]:
    """Return the record of a translation."""
    return settings_of(options, opened(options))


def opened(options: TextOptions) -> Translator:
    """Return a translator with a glossary, whose terms the tiny model cannot hold, but without a form of address."""
    document, search = (
        dataclasses.replace(options.document, terms=None),
        dataclasses.replace(options.search, formality=None),
    )
    translator = open_translator(dataclasses.replace(options, document=document, search=search))
    translator.glossary = translators.open_glossary(options.document.terms)
    return translator


def changed(options: TextOptions, name: str, value: object) -> TextOptions:
    outer, _, inner = name.rpartition(".")
    if outer:
        name, value = outer, dataclasses.replace(getattr(options, outer), **{inner: value})
    return dataclasses.replace(options, **{name: value})  # type: ignore[arg-type]


def test_each_option_is_recorded_for_resuming_or_has_no_effect(parts: ModelFolder) -> None:
    names = {name.removeprefix("--no-").removeprefix("--") for name in names_of(TextOptions) if name.startswith("--")}
    fields = {name.rpartition(".")[2] for name in CHANGED.keys() | NO_EFFECT} - {"sentences"}
    typed = {"beam_size": "beam", "as_json": "json", "from_language": "from", "to_language": "to", "replace_all": "all"}
    assert names == {typed.get(name, name) for name in fields}
    other, back = (random_model(parts.tokenizer, seed=8), dataclasses.replace(parts.spec, source="en", target="de"))
    model_folder.save(other, parts.tokenizer, parts.spec, Path("other"))
    model_folder.save(other, parts.tokenizer, back, Path("back"))
    Path("terms").write_text("Hund\tdog\n", encoding="utf-8")
    options = TextOptions(
        opening=Opening(model=parts.folder),
        document=Document(format="tsv"),
        input=Path("x.tsv"),
        output=Path("x.en"),
        resume=True,
    )
    before = recorded(options)
    assert json.loads(json.dumps(before)) == before
    for name, value in CHANGED.items():
        assert recorded(changed(options, name, value)) != before, name


def test_the_record_of_a_glossary_is_of_the_terms_that_were_read(parts: ModelFolder) -> None:
    Path("terms").write_text("Hund\tdog\n", encoding="utf-8")
    options = TextOptions(opening=Opening(model=parts.folder), document=Document(terms=Path("terms"), format="text"))
    translator = opened(options)
    before = settings_of(options, translator)
    Path("terms").write_text("", encoding="utf-8")  # as a pipe that has been read
    assert settings_of(options, translator) == before
    assert recorded(options) != before


def test_a_precision_that_is_chosen_by_measuring_is_recorded(
    parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for pays in (False, True):
        monkeypatch.setattr("translate.inference.translator.bf16_pays", lambda device, pays=pays: pays)
        found.append(recorded(TextOptions(opening=Opening(model=parts.folder, engine="torch", precision="auto"))))
    assert [record["precision"] for record in found] == ["fp32", "bf16"]


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(TranslationSpec)])
def test_each_property_of_a_model_is_recorded_for_resuming(name: str, parts: ModelFolder) -> None:
    value = {
        "source": "nl",
        "target": "fr",
        "decoding": SearchConfig(beam_size=7),
        "tokenizer_sha256": "f" * 64,
        "target_sha256": "e" * 64,
        "tags": {"en": ">>en<<"},
    }.get(name, 3)
    spec = dataclasses.replace(parts.spec, **{name: value})
    before, after = (
        settings_of(TextOptions(), Translator(dataclasses.replace(parts, spec=one))) for one in (parts.spec, spec)
    )
    assert after != before


def million(path: Path, n: int) -> None:
    """A million lines of several kinds and lengths, most of them different."""
    kinds = [
        "Zeile {i}: der Hund {j} schläft.",
        "",
        "{i}",
        "am See {j}, im Garten {i}",
        "Ja. Nein {i}! \u201eGut\u201c",
    ]
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            file.write(kinds[i * i % 11 % 5].format(i=i, j=i * 7 % 9973) + "\n")


@pytest.mark.slow
def test_a_million_lines_take_no_more_memory_than_ten_thousand_and_survive_kills(model: str, tmp_path: Path) -> None:
    """At most 50 MB beyond the first 10,000 lines; after SIGKILL and resuming, the output is the same byte for byte."""
    million(tmp_path / "x.de", 1_000_000)
    program = [sys.executable, str(Path(__file__).parent / "streaming.py"), model, "x.de"]
    whole = subprocess.run([*program, "whole"], capture_output=True, text=True, timeout=3000)
    assert whole.returncode == 0, whole.stderr
    begun, ended = map(int, whole.stdout.split())
    assert ended - begun <= 50_000, f"{begun} KB after 10,000 lines, {ended} KB after all"
    for seconds in (9, 14, 31):
        with subprocess.Popen([*program, "parts", "--resume"], stdout=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
    assert subprocess.run([*program, "parts", "--resume"], stdout=subprocess.DEVNULL, timeout=3000).returncode == 0
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "whole").read_bytes().count(b"\n") == 1_000_000
