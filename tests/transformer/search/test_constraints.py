"""Prefixes and phrases on table models, against enumeration of all outputs."""

import itertools
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toys import TableStep, table_row
from transformer.config import Hypothesis, LengthRule, SearchConfig, length_penalty
from transformer.search.beam import Step, WithoutRepeats, beam_search
from transformer.search.constraints import ForcedPrefix, constrained_search
from transformer.search.ensemble import EnsembleStep

BOS, EOS, V = 1, 2, 4
WORDS = [0, 1, 3]
TABLE = st.integers(0, 2000)
ALPHAS = st.sampled_from([0.0, 0.6, 1.5])
RULES = st.sampled_from(get_args(LengthRule))
PHRASES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), max_size=2)
PREFIX = st.lists(st.sampled_from(WORDS), max_size=3)


def total(table: int, tokens: tuple[int, ...]) -> float:
    output = (*tokens, EOS)
    return sum(table_row(table, (BOS, *output[:t]), V)[token] for t, token in enumerate(output))


def contains(tokens: tuple[int, ...], phrase: list[int]) -> bool:
    return any(list(tokens[i : i + len(phrase)]) == phrase for i in range(len(tokens)))


def ranked(
    table: int,
    alpha: float,
    phrases: list[list[int]],
    prefix: list[int],
    rule: LengthRule = "gnmt",
    max_length: int = 5,
) -> list[float]:
    """Scores of all outputs that have the prefix and all phrases, best first."""
    outputs = [tokens for n in range(max_length) for tokens in itertools.product(WORDS, repeat=n)]
    allowed = [t for t in outputs if list(t[: len(prefix)]) == prefix and all(contains(t, p) for p in phrases)]
    return sorted((total(table, t) / length_penalty(len(t) + 1, alpha, rule) for t in allowed), reverse=True)


@given(TABLE, PREFIX, ALPHAS)
def test_a_prefix_with_an_unpruned_beam_equals_exhaustive_search(table: int, prefix: list[int], alpha: float) -> None:
    step = ForcedPrefix(TableStep([table], V), [prefix])
    (found,) = beam_search(step, [5], SearchConfig(beam_size=121, n_best=121, alpha=alpha))
    assert all(h.tokens[: len(prefix)] == prefix for h in found)
    assert [h.score for h in found] == pytest.approx(ranked(table, alpha, [], prefix), abs=1e-4)


@given(st.lists(st.tuples(TABLE, PREFIX, st.integers(4, 7)), min_size=1, max_size=4), st.integers(1, 3))
def test_each_sentence_has_its_own_prefix(sentences: list[tuple[int, list[int], int]], beam_size: int) -> None:
    def search(own: list[tuple[int, list[int], int]]) -> list[list[Hypothesis]]:
        step = ForcedPrefix(TableStep([table for table, _, _ in own], V), [prefix for _, prefix, _ in own])
        return beam_search(step, [n for _, _, n in own], SearchConfig(beam_size=beam_size, n_best=beam_size))

    together = search(sentences)
    assert together == [search([sentence])[0] for sentence in sentences]
    assert all(h.tokens[: len(p)] == p for found, (_, p, _) in zip(together, sentences, strict=True) for h in found)


def test_no_prefix_changes_nothing() -> None:
    plain = beam_search(TableStep([1, 2], V), [5, 6], SearchConfig())
    assert beam_search(ForcedPrefix(TableStep([1, 2], V), [[], []]), [5, 6], SearchConfig()) == plain


@settings(max_examples=20)
@given(TABLE, PHRASES, ALPHAS, RULES, st.integers(1, 3))
def test_an_unpruned_bank_equals_exhaustive_search(
    table: int, phrases: list[list[int]], alpha: float, rule: LengthRule, n_best: int
) -> None:
    """Phrases may overlap, contain each other, or be equal."""
    (found,) = constrained_search(
        TableStep([table], V),
        [5],
        [phrases],
        SearchConfig(beam_size=81, alpha=alpha, length_penalty=rule, n_best=n_best),
    )
    assert [h.score for h in found] == pytest.approx(ranked(table, alpha, phrases, [], rule)[:n_best], abs=1e-4)
    for h in found:
        assert all(contains(tuple(h.tokens), phrase) for phrase in phrases)
        assert h.log_prob == pytest.approx(total(table, tuple(h.tokens)), abs=1e-4)


@settings(max_examples=10)
@given(TABLE, PHRASES, PREFIX)
def test_a_prefix_with_phrases_equals_exhaustive_search(
    table: int, phrases: list[list[int]], prefix: list[int]
) -> None:
    step = ForcedPrefix(TableStep([table], V), [prefix])
    (found,) = constrained_search(step, [5], [phrases], SearchConfig(beam_size=81, alpha=0.6))
    assert [h.score for h in found] == pytest.approx(ranked(table, 0.6, phrases, prefix)[:1], abs=1e-4)


@settings(max_examples=20)
@given(TABLE, PHRASES, PREFIX, st.integers(0, 3), ALPHAS, RULES)
def test_all_rules_together_equal_exhaustive_search(
    table: int, phrases: list[list[int]], prefix: list[int], no_repeat: int, alpha: float, rule: LengthRule
) -> None:
    """Each rule may be absent; together they may allow no output. bos counts as part of a repeated n-gram."""

    def recurs(tokens: tuple[int, ...]) -> bool:
        pieces = [(BOS, *tokens)[i : i + no_repeat] for i in range(len(tokens) + 2 - no_repeat)]
        return no_repeat > 0 and len(set(pieces)) < len(pieces)

    outputs = [tokens for n in range(5) for tokens in itertools.product(WORDS, repeat=n)]
    allowed = [t for t in outputs if list(t[: len(prefix)]) == prefix and all(contains(t, p) for p in phrases)]
    scores = [total(table, t) / length_penalty(len(t) + 1, alpha, rule) for t in allowed if not recurs(t)]
    step: Step = ForcedPrefix(TableStep([table], V), [prefix])
    step = WithoutRepeats(step, no_repeat) if no_repeat else step
    if phrases:
        (found,) = constrained_search(
            step, [5], [phrases], SearchConfig(beam_size=81, alpha=alpha, length_penalty=rule, n_best=2)
        )
    else:
        (found,) = beam_search(step, [5], SearchConfig(beam_size=121, alpha=alpha, length_penalty=rule, n_best=2))
    assert [h.score for h in found] == pytest.approx(sorted(scores, reverse=True)[:2], abs=1e-4)


@settings(max_examples=30)
@given(st.lists(st.tuples(TABLE, PHRASES, st.integers(5, 8)), min_size=1, max_size=3), st.integers(1, 2))
def test_phrases_always_appear_and_outputs_do_not_depend_on_the_batch(
    sentences: list[tuple[int, list[list[int]], int]], bank_size: int
) -> None:
    def search(own: list[tuple[int, list[list[int]], int]]) -> list[list[Hypothesis]]:
        step = EnsembleStep([TableStep([table for table, _, _ in own], V)])
        phrases, lengths = [phrases for _, phrases, _ in own], [n for _, _, n in own]
        return constrained_search(step, lengths, phrases, SearchConfig(beam_size=bank_size))

    for sentence, found in zip(sentences, search(sentences), strict=True):
        (best,) = found
        assert all(contains(tuple(best.tokens), phrase) for phrase in sentence[1])
        assert len(best.tokens) < sentence[2]
        (alone,) = search([sentence])[0]
        assert alone.tokens == best.tokens
        assert alone.log_prob == pytest.approx(best.log_prob, abs=1e-5)


def test_phrases_without_repetition_repeat_nothing() -> None:
    step = WithoutRepeats(TableStep([7], V), 1)
    (found,) = constrained_search(step, [6], [[[3], [0]]], SearchConfig(n_best=2))
    assert found
    assert all({0, 3} <= set(h.tokens) and len(set(h.tokens)) == len(h.tokens) for h in found)


def test_searching_no_sentences_returns_no_outputs() -> None:
    assert constrained_search(TableStep([], V), [], [], SearchConfig()) == []


def repeats(tokens: list[int], n: int) -> bool:
    """True if an n-gram occurs twice."""
    pieces = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return len(set(pieces)) < len(pieces)


def blocked(seeds: list[int], max_length: int, beam_size: int, n: int) -> list[list[Hypothesis]]:
    step = WithoutRepeats(TableStep(seeds, V), n)
    lengths = [max_length] * len(seeds)
    return beam_search(step, lengths, SearchConfig(beam_size=beam_size, alpha=0.0, n_best=beam_size))


@given(st.lists(TABLE, min_size=1, max_size=4), st.integers(1, 12), st.integers(1, 5), st.integers(1, 3))
def test_a_search_without_repeats_keeps_the_models_probability(
    seeds: list[int], max_length: int, beam_size: int, n: int
) -> None:
    for seed, found in zip(seeds, blocked(seeds, max_length, beam_size, n), strict=True):
        assert found
        for h in found:
            assert not repeats([BOS, *h.tokens], n)
            assert h.log_prob == pytest.approx(total(seed, tuple(h.tokens)), abs=1e-4)


@given(st.lists(TABLE, min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 5))
def test_blocking_n_grams_longer_than_the_output_changes_nothing(
    seeds: list[int], max_length: int, beam_size: int
) -> None:
    free = beam_search(
        TableStep(seeds, V),
        [max_length] * len(seeds),
        SearchConfig(beam_size=beam_size, alpha=0.0, n_best=beam_size),
    )
    assert blocked(seeds, max_length, beam_size, max_length + 2) == free


def test_blocking_finds_the_best_output_without_repeats() -> None:
    """The beam is large enough that nothing is pruned."""
    words = [token for token in range(V) if token != EOS]
    outputs = [output for n in range(4) for output in itertools.product(words, repeat=n)]
    allowed = [output for output in outputs if not repeats([BOS, *output], 1)]
    step = WithoutRepeats(TableStep([5], V), 1)
    (found,) = beam_search(step, [4], SearchConfig(beam_size=len(outputs), alpha=0.0))
    assert tuple(found[0].tokens) == max(allowed, key=lambda output: total(5, output))
