"""The judgement of answers: accepted, too long, or a loop."""

import json
from collections.abc import Sequence
from types import SimpleNamespace

import harness
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.programs import SCRIPTS, case
from translate.commands.text import Text

bench = case("everyday")
HOUSE = ["house", "home"]


@pytest.mark.parametrize("answer", ["house", "House.", "HOUSE!", "the house", "A house", " home ", "\u201chouse\u201d"])
def test_case_end_punctuation_and_article_do_not_count(answer: str) -> None:
    assert bench.judge(HOUSE, answer) == bench.GOOD


@pytest.mark.parametrize("answer", ["", "mouse", "houses", "house house", "the", "to the house"])
def test_another_answer_is_not_accepted(answer: str) -> None:
    assert not bench.judge(HOUSE, answer)["accepted"]


@pytest.mark.parametrize("answer", ["no no no", "no, no, no.", "yes sir, yes sir, yes sir", "hahahahaha", "####"])
def test_repeated_text_is_a_loop(answer: str) -> None:
    assert bench.judge(["a long enough reference"], answer)["loops"]


@pytest.mark.parametrize("answer", ["no no", "bye bye", "the man, the dog and the cat", "I see..."])
def test_common_phrases_are_not_loops(answer: str) -> None:
    assert not bench.judge(["a long enough reference"], answer)["loops"]


def test_an_answer_is_too_long_relative_to_the_longest_accepted_one() -> None:
    assert not bench.judge(HOUSE, "x" * 15)["too_long"]
    assert bench.judge(HOUSE, "x" * 16)["too_long"]


@given(st.text(max_size=20))
def test_an_answer_always_equals_itself(text: str) -> None:
    assert bench.judge([text], f"{text}!")["accepted"]


@pytest.mark.parametrize("name", ["everyday.de-en.tsv", "everyday.en-de.tsv"])
def test_a_list_holds_200_items_with_answers_that_differ(name: str) -> None:
    items = bench.read(SCRIPTS / "data" / name)
    assert len(items) == 200
    for item, accepted in items.items():
        assert item.strip()
        assert all(map(bench.plain, accepted))
        assert len({answer.casefold() for answer in accepted}) == len(accepted) > 0


def test_the_totals_count_each_kind() -> None:
    verdicts = [bench.judge(HOUSE, answer) for answer in ("house", "home", "no no no", "y" * 99)]
    expected = {"items": 4, "accepted": 2, "accepted_percent": 50.0, "loops": 2, "too_long": 1}
    assert bench.totals(verdicts) == expected


def test_the_list_for_the_models_languages_is_used_and_failures_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def passages(texts: Sequence[str]) -> list[SimpleNamespace]:
        return [SimpleNamespace(text="Wasser" if text == "water" else "?") for text in texts]

    parts = SimpleNamespace(spec=SimpleNamespace(source="en", target="de"))

    def opened(options: Text) -> SimpleNamespace:
        assert not options.document.checks
        return SimpleNamespace(engine=parts, passages=passages)

    monkeypatch.setattr(bench, "open_translator", opened)
    assert harness.main(["everyday", "any", "--no-checks"]) == 0
    *failures, record = capsys.readouterr().out.splitlines()
    assert "milk -> ?  (accepted: Milch)" in failures
    assert sum(" -> " in line for line in failures) == 199
    expected = {"list": "everyday.en-de.tsv", "checks": False, "accepted": 1, "loops": 0, "too_long": 0}
    assert json.loads(record).items() >= expected.items()
