"""The consensus is the sample with the highest mean similarity to the others, computed in plain Python."""

import random

import pytest
from sacrebleu.metrics import CHRF

from translate.inference.research import consensus
from translate.text.translation import Translation


def samples(*texts: str) -> list[Translation]:
    return [Translation(text, -1.0, -float(i), []) for i, text in enumerate(texts)]


def test_the_consensus_has_the_highest_mean_chrf() -> None:
    draw = random.Random(4)
    for _ in range(20):
        texts = [
            " ".join(draw.choices(["the", "dog", "cat", "sleeps", "sings"], k=draw.randint(1, 5))) for _ in range(7)
        ]
        means = {t: sum(CHRF().sentence_score(t, [other]).score for other in texts) for t in texts}
        assert means[consensus(samples(*texts)).text] == pytest.approx(max(means.values()))


def test_frequent_samples_win_and_ties_go_to_the_first() -> None:
    assert consensus(samples("a dog", "xyz", "xyz")).log_prob == -1.0
    assert consensus(samples("abc", "xyz")).text == "abc"
    assert consensus(samples("", "")).text == ""


def test_the_consensus_of_no_samples_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        consensus([])
