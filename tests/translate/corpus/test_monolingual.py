"""Pairs with one synthetic side."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.config.schema import MonoSource
from translate.corpus.sources import TAG, describe, noisy, read_pairs, synthetic_pairs
from translate.errors import UserError

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


@pytest.mark.parametrize("n", [1, 3, 7, 9])
def test_a_translation_of_ones_own_has_all_lines_and_is_sampled_with_its_text(tmp_path: Path, n: int) -> None:
    (tmp_path / "a.en").write_text("".join(f"{i}\n" for i in range(7)), encoding="utf-8")
    (tmp_path / "own.de").write_text("".join(f"translation of {i}\n" for i in range(7)), encoding="utf-8")
    pairs = list(read_pairs(source(side="source", lines=n, synthetic="own.de"), tmp_path))
    assert len(pairs) == min(n, 7)
    assert all(made == f"translation of {natural}" for natural, made in pairs)
    (tmp_path / "own.de").write_text("".join(f"{i}\n" for i in range(n)), encoding="utf-8")
    if n != 7:
        with pytest.raises(UserError, match=rf"a.en has 7 lines but .*own.de has {n}"):
            list(read_pairs(source(lines=n, synthetic="own.de"), tmp_path))


def test_a_side_of_ones_own_needs_no_model(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("one dog\n", encoding="utf-8")
    (tmp_path / "own.de").write_text("ein Hund\n", encoding="utf-8")
    own = MonoSource(kind="mono", path="a.en", synthetic="own.de")
    assert list(read_pairs(own, tmp_path)) == [(f"{TAG} ein Hund", "one dog")]
    assert describe(own) == "a.en + own.de"
    with pytest.raises(ValueError, match="model: name the model that makes the other side, or give"):
        MonoSource(kind="mono", path="a.en")


@pytest.mark.parametrize(
    ("key", "value", "method", "other"),
    [("top_k", 3, "sampling", "greedy"), ("beam_size", 3, "beam", "greedy"), ("rerank", "en-de", "beam", "sampling")],
)
def test_a_key_of_one_method_is_refused_for_others(key: str, value: object, method: str, other: str) -> None:
    assert getattr(source(method=method, **{key: value}), key) == value
    with pytest.raises(ValueError, match=f'{key} belongs to method = "{method}", and it is "{other}"'):
        source(method=other, **{key: value})


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
