"""Additional options: the sentences of a translation, and the source words of each word."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.serving.live import Live, live
from translate.serving.settings import ServeOptions

GERMAN, FOREIGN = "der Hund schläft im Haus.", "The cat sleeps in the house, and nobody knows why."
LINES = st.lists(st.sampled_from([GERMAN, FOREIGN, "die Katze singt! ", "  ", "42", "\n", "\r\n", "\t"]), max_size=5)


@pytest.fixture(scope="module")
def server(options: ServeOptions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(options, tmp_path_factory.mktemp("server")) as running:
        yield running


@given(lines=LINES)
def test_sentences_joined_are_the_text_and_its_translation(server: Live, lines: list[str]) -> None:
    text = " ".join([*lines, "das Kind"])
    answer = server.translate(text, sentences=True).json()
    assert "".join(sentence["source"] for sentence in answer["sentences"]) == text
    assert "".join(sentence["text"] for sentence in answer["sentences"]) == answer["translatedText"]


def test_without_the_option_the_answer_is_that_of_libretranslate(server: Live) -> None:
    assert server.translate(GERMAN).json().keys() == {"translatedText"}
    assert server.translate(GERMAN, sentences=False).json().keys() == {"translatedText"}
    assert len(server.translate([GERMAN, FOREIGN], sentences=True).json()["sentences"]) == 2


HTML = st.lists(
    st.sampled_from(["<p>", "</p>", "<b>", "</b>", "<br>", "<script>x</script>", "&amp;", "ü", *" \n", GERMAN])
)


@given(parts=HTML)
def test_sentences_of_html_joined_are_the_text_and_its_translation(server: Live, parts: list[str]) -> None:
    text = "".join([*parts, "das Kind"])
    answer = server.translate(text, format="html", sentences=True).json()
    assert "".join(sentence["source"] for sentence in answer["sentences"]) == text
    assert "".join(sentence["text"] for sentence in answer["sentences"]) == answer["translatedText"]


def test_tags_of_html_are_between_sentences_or_in_them(server: Live) -> None:
    page = f"<p><b>{GERMAN}</b> {FOREIGN}</p>"
    found = server.translate(page, format="html", sentences=True).json()["sentences"]
    assert [one["source"] for one in found] == ["<p>", f"<b>{GERMAN}</b>", " ", FOREIGN, "</p>"]
    assert [one["suspicious"] for one in found] == [False, found[1]["suspicious"], False, True, False]
    (same,) = server.translate(page, "de", "de", format="html", sentences=True).json()["sentences"]
    assert (same["source"], same["text"]) == (page, page)


def test_a_sentence_in_another_language_is_flagged(server: Live) -> None:
    first, _, second = server.translate(f"{GERMAN} {FOREIGN}", sentences=True).json()["sentences"]
    assert "language" not in first["flags"]
    assert (second["suspicious"], second["flags"], second["text"]) == (True, ["language"], FOREIGN)
    same = server.translate(FOREIGN, "en", "en", sentences=True).json()["sentences"]
    assert same == [{"source": FOREIGN, "text": FOREIGN, "suspicious": False, "flags": []}]


def test_the_alignment_of_html_is_that_of_its_words(server: Live) -> None:
    pair = {"q": GERMAN, "translation": "the dog sleeps."}
    formatted = {"q": f"<b>{GERMAN}</b>", "translation": "the <b>dog <i>sleeps</i></b>.", "format": "html"}
    assert align(server, **formatted) == align(server, **pair)


def align(server: Live, **body: object) -> object:
    answer = server.http.post("/alignment", json={"source": "de", "target": "en"} | body)
    return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["error"])


def test_each_translated_word_has_weights_over_the_source_words(server: Live) -> None:
    found = align(server, q="der Hund, z.B. (im) Haus!", translation="the dog 3,5 house.")
    assert isinstance(found, dict)
    assert found["source"] == ["der", "Hund", ",", "z.B", ".", "(", "im", ")", "Haus", "!"]
    assert found["target"] == ["the", "dog", "3,5", "house", "."]
    assert [len(row) for row in found["weights"]] == [10] * 5
    assert all(0 < sum(row) <= 1.001 for row in found["weights"])


def test_blank_text_has_no_words_to_align(server: Live) -> None:
    assert align(server, q=" ", translation="the dog") == {"source": [], "target": ["the", "dog"], "weights": [[], []]}
    assert align(server, q="der", translation=" ") == {"source": ["der"], "target": [], "weights": []}
    assert align(server, q=" ", translation=" ") == {"source": [], "target": [], "weights": []}


def test_alignment_can_be_turned_off(options: ServeOptions, tmp_path: Path) -> None:
    with live(replace(options, alignment=False), tmp_path) as server:
        assert align(server, q=GERMAN, translation="x") == (403, "Alignment is disabled on this server.")
        assert server.http.get("/frontend/settings").json()["alignment"] is False


def test_alignments_wait_their_turn_like_translations(server: Live) -> None:
    align(server, q=GERMAN, translation="the dog")
    before = server.http.get("/metrics").text
    align(server, q=GERMAN, translation="the dog")
    after = server.http.get("/metrics").text
    count = "translate_batch_sentences_count"
    counts = [float(text.partition(f"\n{count} ")[2].split()[0]) for text in (before, after)]
    assert counts[1] == counts[0] + 1


def test_alignment_errors_are_named(server: Live) -> None:
    message = "Invalid request: missing translation parameter"
    assert align(server, q=GERMAN) == (400, message)
    assert align(server, q=GERMAN, translation="x", source="fr") == (400, "There is no model from fr to en")
    status, error = align(server, q="der Hund " * 99, translation="the dog")  # type: ignore[misc]
    assert status == 400
    assert "longer than the model's limit" in error
