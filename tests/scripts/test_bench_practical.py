"""The practical sentences and their scores by topic."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.programs import program

bench = program("bench_practical")
TOPICS = {"letter", "health", "travel", "work", "shop", "bank", "household", "school", "news"}


@pytest.mark.parametrize("langpair", ["de-en", "en-de"])
def test_each_list_has_120_sentences_of_nine_topics(langpair: str) -> None:
    lines = bench.sentences(langpair).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert {len(row) for row in rows} == {3}
    assert {topic for topic, _, _ in rows} == TOPICS
    assert len({source for _, source, _ in rows}) == 120


def test_sentences_that_the_phrase_book_leaves_out_serve_both_directions() -> None:
    there, back = bench.rows("de-en", phrases=True), bench.rows("en-de", phrases=True)
    assert [[topic, reference, source] for topic, source, reference in back] == there
    assert len(there) >= 300
    assert {len(row) for row in there} == {3}


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
    assert bench.main(["x", "--out", str(tmp_path / "record.json")]) == 0
    record = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == record
    assert record["topics"] == {topic: 100.0 if topic == "bank" else 0.0 for topic in record["topics"]}
    assert 0 < record["chrf"] < 100
