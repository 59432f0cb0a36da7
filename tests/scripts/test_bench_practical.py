"""The practical sentences and their scores by topic."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import harness
import pytest

from tests.programs import case
from translate.corpus.sources import PHRASES_FILE

bench = case("practical")
TOPICS = {"letter", "health", "travel", "work", "shop", "bank", "household", "school", "news"}


@pytest.mark.parametrize("langpair", ["de-en", "en-de"])
def test_each_list_has_120_sentences_of_nine_topics(langpair: str) -> None:
    lines = bench.sentences(langpair).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert {len(row) for row in rows} == {3}
    assert {topic for topic, _, _ in rows} == TOPICS
    assert len({source for _, source, _ in rows}) == 120


def test_sentences_that_the_phrase_book_leaves_out_serve_both_directions() -> None:
    there, back = bench.all_rows("de-en", phrases=True), bench.all_rows("en-de", phrases=True)
    assert [[topic, reference, source] for topic, source, reference in back] == there
    assert len(there) >= 300
    assert {len(row) for row in there} == {3}


@pytest.mark.parametrize("phrases", [False, True])
def test_no_scored_sentence_has_half_of_its_words_in_common_with_a_phrase(phrases: bool) -> None:
    """Counted with lists, by another formula: of n different words on both sides together, m are on both."""
    lines = [line.split("\t") for line in PHRASES_FILE.read_text(encoding="utf-8").splitlines()]
    book = {side: [sorted(set(re.findall(r"\w+", line[side].lower()))) for line in lines] for side in (0, 1)}
    for langpair, sides in (("de-en", (0, 1)), ("en-de", (1, 0))):
        kept, whole = bench.held_out(langpair, phrases), bench.all_rows(langpair, phrases)
        assert len(whole) * 0.8 < len(kept) < len(whole)
        for row in kept[::193]:
            for text, side in zip(row[1:], sides, strict=True):
                mine = sorted(set(re.findall(r"\w+", text.lower())))
                for phrase in book[side]:
                    n, m = len({*mine, *phrase}), len([word for word in mine if word in phrase])
                    assert 2 * m < n, (text, phrase)


def test_an_inserted_name_and_another_order_are_a_near_copy() -> None:
    phrase = PHRASES_FILE.read_text(encoding="utf-8").splitlines()[4].split("\t")[1]
    assert bench.has_near_copy(f"Peter, {' '.join(reversed(phrase.upper().split()))}", "en")
    assert not bench.has_near_copy("Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.", "de")


class Rewriter:
    """A translator that returns the references of some topics and empty text for the others."""

    engine = SimpleNamespace(spec=SimpleNamespace(source="de", target="en"))

    def passages(self, texts: Sequence[str]) -> list[SimpleNamespace]:
        rows = [line.split("\t") for line in bench.sentences("de-en").read_text(encoding="utf-8").splitlines()]
        known = {source: reference if topic == "bank" else "" for topic, source, reference in rows}
        return [SimpleNamespace(text=known[text]) for text in texts]


def test_topics_are_scored_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "open_translator", lambda options: Rewriter())
    assert harness.main(["practical", "x", "--out", str(tmp_path / "record.json")]) == 0
    record = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == record
    assert record["topics"] == {topic: 100.0 if topic == "bank" else 0.0 for topic in record["topics"]}
    assert 0 < record["chrf"] < 100
