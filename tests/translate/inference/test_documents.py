"""Documents keep their layout, and alternative translations differ from the best one."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.inference.search import SentenceSearch
from translate.inference.translator import Translator, joined
from translate.models.folder import ModelFolder
from translate.serving.service import _alternatives
from translate.text.translation import Document, Format, Search, Translation

TEXT = "der Hund schläft.\r\n\n  die Katze singt im Haus. das Kind läuft.  \n\tein Vogel"


def of_format(parts: ModelFolder, layout: Format) -> Translator:
    return Translator(parts, document=Document(format=layout))


def test_documents_are_translated_like_texts(translator: Translator) -> None:
    texts = [TEXT, "", "\n", "das Kind singt."]
    assert [joined(pieces) for pieces in translator.translate_in_pieces(texts)] == translator(texts)


@pytest.mark.parametrize("layout", ["text", "markdown", "html", "srt", "tsv"])
def test_pieces_joined_are_the_document(parts: ModelFolder, layout: Format) -> None:
    (pieces,) = of_format(parts, layout).translate_in_pieces([TEXT])
    assert "".join(piece.text for piece, _ in pieces) == TEXT
    assert all((translation is not None) == piece.translate for piece, translation in pieces)


@pytest.mark.parametrize("layout", get_args(Format))
@pytest.mark.parametrize(
    "text", ["---\ntitle: der Hund\n---\n# die Katze singt\n", "der Hund singt im Haus.\n", "", "\n"]
)
def test_a_byte_order_mark_stays_and_changes_nothing_else(layout: Format, text: str, parts: ModelFolder) -> None:
    translator = of_format(parts, layout)
    assert translator(f"\ufeff{text}") == f"\ufeff{translator(text)}"


@pytest.mark.parametrize(
    ("layout", "text", "kept"),
    [
        (
            "html",
            '<nav>\n<a\n  class="der Hund"\n  href="haus"\n>singt</a>\n</nav>',
            '<a\n  class="der Hund"\n  href="haus"\n>',
        ),
        ("markdown", "`der Hund\nsingt`\n", "`der Hund\nsingt`"),
        ("markdown", "a\n`der\nHund`\nb\n", "`der\nHund`"),
    ],
)
def test_markup_over_several_lines_is_kept_in_a_paragraph_of_few_words(
    layout: Format, text: str, kept: str, parts: ModelFolder
) -> None:
    (pieces,) = of_format(parts, layout).translate_in_pieces([text])
    assert kept in joined(pieces)
    assert joined(pieces).count("\n") == text.count("\n")


class Swapped(SentenceSearch):
    """Writes other letters for the same words, as many as the source has."""

    def translate(self, lines: Sequence[str], **_: Any) -> list[list[Translation]]:
        return [[Translation(line.swapcase())] for line in lines]


def swapped(parts: ModelFolder, layout: Format, text: str) -> str:
    translator = of_format(parts, layout)
    translator.sentence_search = Swapped(translator.engine, translator.sentence_search.config)
    return translator(text)


TAGS = ['<a\n  href="x\ny"\n>', "</a>", "<b\tid=x>", "</b>", "<i\n/>"]


@given(words=st.lists(st.sampled_from([*TAGS, "der Hund", "singt", "am See."])), space=st.sampled_from([" ", "\n", ""]))
def test_tags_that_span_lines_stay_byte_for_byte(words: list[str], space: str, parts: ModelFolder) -> None:
    text = f"<p>{space.join(words)}</p>"
    found = swapped(parts, "html", text)
    assert sorted(re.findall("<[^<>]*>", found)) == sorted(re.findall("<[^<>]*>", text))
    assert found.count("\n") == text.count("\n")


@pytest.mark.parametrize("text", ["der Hund\vsingt\nam See\n", "[a\nb](x\ny) der Hund\vsingt\nam See\n"])
def test_a_vertical_tab_is_no_line_break(text: str, parts: ModelFolder) -> None:
    found = swapped(parts, "markdown", text)
    assert (found.count("\n"), found.count("\v")) == (text.count("\n"), text.count("\v"))


def test_the_lines_of_an_item_in_a_quotation_keep_their_indentation_and_their_code(parts: ModelFolder) -> None:
    text = "> - der Hund singt im\n>   Haus und `a\n>   b` singt im Garten.\n"
    found = swapped(parts, "markdown", text)
    assert "`a\n>   b`" in found
    assert [line[:4] for line in found.splitlines()] == ["> - ", ">   ", ">   "]


def test_code_and_formulas_in_a_paragraph_of_several_lines_keep_their_spaces(parts: ModelFolder) -> None:
    text = "der Hund schläft im ``a  b`` und\nim Garten singt das $x  =  y$ am\nSee.\n"
    (pieces,) = of_format(parts, "markdown").translate_in_pieces([text])
    assert all(kept in joined(pieces) for kept in ("``a  b``", "$x  =  y$"))


@pytest.mark.parametrize("layout", ["markdown", "html", "srt"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_paragraph_that_is_copied_stays_byte_for_byte(layout: Format, end: str, parts: ModelFolder) -> None:
    text = f"This  is the dog that  you{end}  have{end}seen  in the very big house.  {end}"
    cue = f"1{end}00:01 --> 00:02{end}{text}"
    ((_, translation), *_) = [pair for pair in of_format(parts, layout).translate_in_pieces([cue])[0] if pair[1]]
    assert translation is not None
    assert "language" in translation.flags
    assert joined(of_format(parts, layout).translate_in_pieces([cue])[0]) == cue


@pytest.mark.parametrize("layout", ["markdown", "html", "srt", "vtt"])
def test_lines_that_end_in_crlf_are_translated_like_others(layout: Format, parts: ModelFolder) -> None:
    text = "1\n00:01 --> 00:02\nder Hund\n  schläft im Haus\n\ndie Katze  \nsingt am See.\n"
    plain, windows = (
        joined(pieces) for pieces in of_format(parts, layout).translate_in_pieces([text, text.replace("\n", "\r\n")])
    )
    assert windows == plain.replace("\n", "\r\n")


def test_a_quotation_of_several_lines_is_translated_as_a_whole(parts: ModelFolder) -> None:
    plain, quoted = "der Hund schläft im\nHaus am See.\n", "> der Hund schläft im\n> Haus am See.\n"
    whole, lines = (joined(pieces) for pieces in of_format(parts, "markdown").translate_in_pieces([plain, quoted]))
    assert lines.startswith("> ")
    assert [line.removeprefix("> ") for line in lines.split("\n")] == whole.split("\n")


class Cutting(SentenceSearch):
    """Says little for the whole paragraph, and something else for each of its lines."""

    SAID = {"Nimm 30 Tabletten": "30", "Nimm 30": "Take", "Tabletten": "tablets"}

    def translate(self, lines: Sequence[str], **_: Any) -> list[list[Translation]]:
        said = [self.SAID.get(line, "") for line in lines]
        return [[Translation(text, log_prob=-2.0, tokens=(text,), n_segments=1)] for text in said]


def test_lines_that_are_translated_alone_have_flags_and_scores_of_their_own(parts: ModelFolder) -> None:
    translator = of_format(parts, "markdown")
    translator.sentence_search = Cutting(translator.engine, translator.sentence_search.config)
    (pieces,) = translator.translate_in_pieces(["Nimm 30\nTabletten\n"])
    (translation,) = [one for _, one in pieces if one is not None]
    assert translation.text == "Take\ntablets"
    assert "missing" in translation.flags
    assert (translation.tokens, translation.log_prob) == (("Take", "tablets"), -4.0)
    assert translation.score == translator.sentence_search.scored(replace(translation, score=0.0)).score


@pytest.mark.parametrize(("layout", "checks", "divided"), [("lines", False, False), ("lines", True, True)])
def test_alternatives_divide_long_sentences_where_the_best_translation_does(
    layout: Format, checks: bool, divided: bool, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set[bool]()
    search = SentenceSearch.translate

    def spy(self: SentenceSearch, lines: Sequence[str], **how: Any) -> list[list[Translation]]:
        seen.add(how["divides"])
        return search(self, lines, **how)

    monkeypatch.setattr(SentenceSearch, "translate", spy)
    Translator(parts, document=Document(format=layout, checks=checks)).alternatives("der Hund schläft.", 2)
    assert seen == {divided}


@pytest.mark.parametrize("text", ["der Hund schläft.", "der Hund\ndie Katze"])
def test_alternatives_of_a_text_with_a_byte_order_mark_keep_it(text: str, translator: Translator) -> None:
    plain, marked = (_alternatives(translator, mark + text, 2, lambda: None) for mark in ("", "\ufeff"))
    assert plain
    assert marked == [f"\ufeff{other}" for other in plain]


class Ranked(SentenceSearch):
    """Has two or three hypotheses for a sentence, of which some loop unless repetitions are excluded."""

    SAID = {"Hans geht.": ["A"], "Eva kommt.": ["B", "C", "D"], "Alle singen.": ["ja " * 30, "so " * 30]}

    def translate(self, lines: Sequence[str], *, no_repeat: int = 0, **_: Any) -> list[list[Translation]]:
        found = [[text.split() for text in self.SAID[line]] for line in lines]
        if no_repeat:
            found = [[list(dict.fromkeys(words)) for words in several] for several in found]
        return [
            [Translation(" ".join(words), tokens=tuple(words), n_segments=1, n_source_tokens=3) for words in some]
            for some in found
        ]


@pytest.mark.parametrize(
    ("text", "expected"), [("Hans geht. Eva kommt.", ["A C", "A D"]), ("Alle singen.", ["so"]), ("Hans geht.", [])]
)
def test_alternatives_are_made_of_sentences_of_one_rank(text: str, expected: list[str], parts: ModelFolder) -> None:
    """A sentence with fewer hypotheses has its last one, and one that loops is searched again."""
    translator = Translator(parts)
    translator.sentence_search = Ranked(translator.engine, translator.sentence_search.config)
    assert translator.alternatives(text, 2) == expected


def test_alternatives_are_distinct_and_few_enough(translator: Translator) -> None:
    text = "der Hund schläft im Haus. die Katze singt am See."
    best = translator(text)
    found = translator.alternatives(text, 3)
    assert 0 < len(found) <= 3
    assert len({best, *found}) == len(found) + 1
    assert translator.alternatives("123 !", 3) == []


def test_a_narrow_beam_is_widened_for_alternatives_and_not_for_the_best(parts: ModelFolder) -> None:
    text = "der Hund schläft im Haus."
    narrow, wide = (Translator(parts, Search(beam_size=n)) for n in (1, 4))
    assert narrow.alternatives(text, 3)
    assert narrow(text) not in narrow.alternatives(text, 3)
    assert {narrow(text), *narrow.alternatives(text, 3)} >= {wide(text)}
