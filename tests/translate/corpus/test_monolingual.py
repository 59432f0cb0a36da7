"""Pairs with one synthetic side."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.config.schema import MonoSource
from translate.corpus.sources import TAG, noisy, synthetic_pairs

NATURAL, MADE = ["one dog", "two dogs", "three"], ["ein Hund", "zwei Hunde", ""]
TRANSLATED = list(zip(NATURAL, MADE, strict=True))


def source(**settings: object) -> MonoSource:
    return MonoSource(kind="mono", path="a.en", model="en-de", **settings)


def test_text_in_the_target_language_gets_a_marked_synthetic_source() -> None:
    pairs = list(synthetic_pairs(source(), TRANSLATED))
    assert pairs == [(f"{TAG} ein Hund", "one dog"), (f"{TAG} zwei Hunde", "two dogs"), ("", "three")]
    assert list(synthetic_pairs(source(tag=False), TRANSLATED)) == list(zip(MADE, NATURAL, strict=True))


def test_text_in_the_source_language_gets_a_synthetic_target_as_the_model_wrote_it() -> None:
    pairs = list(synthetic_pairs(source(side="source"), TRANSLATED))
    assert pairs == list(zip(NATURAL, MADE, strict=True))
    with pytest.raises(ValueError, match="noise: is for synthetic sources"):
        source(side="source", noise=0.5)


def test_only_draws_have_a_top_k() -> None:
    with pytest.raises(ValueError, match='top_k belongs to method = "sampling"'):
        source(method="greedy", top_k=3)


WORDS = st.lists(st.integers(0, 99).map(str), max_size=11)


@given(WORDS, st.floats(0, 0.9), st.integers(0, 5))
def test_noise_drops_words_and_moves_the_others_a_little(words: list[str], rate: float, seed: int) -> None:
    numbered = [f"{i}-{word}" for i, word in enumerate(words)]
    found = noisy(" ".join(numbered), rate, random.Random(seed)).split()
    assert set(found) <= set(numbered)
    assert len(set(found)) == len(found)
    assert bool(found) == bool(words)
    kept = [word for word in numbered if word in found]
    assert all(abs(kept.index(word) - i) <= 3 for i, word in enumerate(found))


def test_noise_drops_about_its_rate() -> None:
    n_kept = sum(len(noisy("x " * 20, 0.25, random.Random(seed)).split()) for seed in range(200))
    assert n_kept / 4000 == pytest.approx(0.75, abs=0.03)
