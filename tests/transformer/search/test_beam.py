"""Search on table models, against a second implementation and against enumeration of all outputs.

The k largest sums are those of a plain top-k; finished sentences leave a batch in groups.
"""

import itertools
import math
import random
from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.toys import TableStep, table_row
from transformer.config import Hypothesis, LengthRule, SearchConfig, length_penalty
from transformer.search.beam import ShrinkingBatch, WithoutRepeats, beam_search, greedy_search, top_k_sums
from transformer.search.constraints import ForcedPrefix

BOS, EOS = 1, 2
SEEDS = st.lists(st.integers(0, 10_000), min_size=1, max_size=4)
ALPHAS = st.sampled_from([0.0, 0.3, 0.6, 1.0, 2.0])
RULES = st.sampled_from(get_args(LengthRule))
BEAMS = st.integers(1, 5)
LENGTHS = st.integers(1, 8)
V = 6


def beam(
    seeds: list[int],
    max_lengths: list[int],
    beam_size: int,
    alpha: float,
    n_best: int = 1,
    vocab_size: int = V,
    rule: LengthRule = "gnmt",
) -> list[list[Hypothesis]]:
    return beam_search(
        TableStep(seeds, vocab_size),
        max_lengths,
        SearchConfig(beam_size=beam_size, alpha=alpha, length_penalty=rule, n_best=n_best),
    )


def total(seed: int, tokens: tuple[int, ...], vocab_size: int = V) -> float:
    """log P(tokens, eos) according to the table."""
    output = (*tokens, EOS)
    return sum(table_row(seed, (BOS, *output[:t]), vocab_size)[token] for t, token in enumerate(output))


def plain_penalty(length: int, alpha: float, rule: str) -> float:
    return {"gnmt": ((5 + length) / 6) ** alpha, "average": length, "none": 1}[rule]


def plain_beam_search(
    seed: int, max_length: int, beam_size: int, alpha: float, rule: str
) -> list[tuple[float, tuple[int, ...]]]:
    """A second beam search, for one sentence, with lists: finished (score, tokens), best first."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[tuple[float, tuple[int, ...]]] = []
    for length in range(1, max_length + 1):
        continuations = [
            (log_prob + p, (*tokens, token))
            for log_prob, tokens in live
            for token, p in enumerate(table_row(seed, (BOS, *tokens), V))
            if length < max_length or token == EOS
        ]
        continuations.sort(reverse=True)
        penalty = plain_penalty(length, alpha, rule)
        finished += [(p / penalty, tokens[:-1]) for p, tokens in continuations[:beam_size] if tokens[-1] == EOS]
        live = [(p, tokens) for p, tokens in continuations if tokens[-1] != EOS][:beam_size]
        if len(finished) >= beam_size:
            break
    return sorted(finished, reverse=True)


@given(SEEDS, LENGTHS, BEAMS, ALPHAS, RULES)
def test_beam_search_equals_the_plain_implementation(
    seeds: list[int], max_length: int, beam_size: int, alpha: float, rule: LengthRule
) -> None:
    lists = beam(seeds, [max_length] * len(seeds), beam_size, alpha, beam_size, rule=rule)
    for seed, found in zip(seeds, lists, strict=True):
        expected = plain_beam_search(seed, max_length, beam_size, alpha, rule)[:beam_size]
        assert [tuple(h.tokens) for h in found] == [tokens for _, tokens in expected]
        assert [h.score for h in found] == pytest.approx([score for score, _ in expected], abs=1e-5)


@given(SEEDS, st.integers(1, 4), ALPHAS, RULES)
def test_an_unpruned_beam_equals_exhaustive_search(
    seeds: list[int], max_length: int, alpha: float, rule: LengthRule
) -> None:
    words = [token for token in range(4) if token != EOS]
    outputs = [output for n in range(max_length) for output in itertools.product(words, repeat=n)]
    lists = beam(seeds, [max_length] * len(seeds), len(outputs), alpha, len(outputs), 4, rule)
    for seed, found in zip(seeds, lists, strict=True):
        scores = {output: total(seed, output, 4) / plain_penalty(len(output) + 1, alpha, rule) for output in outputs}
        assert [tuple(h.tokens) for h in found] == sorted(outputs, key=lambda output: -scores[output])
        assert [h.score for h in found] == pytest.approx([scores[tuple(h.tokens)] for h in found], abs=1e-5)


@given(SEEDS, LENGTHS, st.integers(1, 7), ALPHAS, RULES, st.data())
def test_stopping_early_finds_the_same_outputs(
    seeds: list[int], max_length: int, beam_size: int, alpha: float, rule: LengthRule, data: st.DataObject
) -> None:
    """With n_best = beam_size, the search never stops early."""
    n_best = data.draw(st.integers(1, beam_size))
    lengths = [data.draw(st.integers(1, max_length)) for _ in seeds]
    early, late = (beam(seeds, lengths, beam_size, alpha, n, rule=rule) for n in (n_best, beam_size))
    assert early == [found[:n_best] for found in late]


@pytest.mark.parametrize(("rule", "alpha"), [("gnmt", 2.0), ("average", 0.0)])
def test_search_waits_for_outputs_that_win_by_their_length(rule: LengthRule, alpha: float) -> None:
    """A short output ends early with a high score; a longer one wins later through its length penalty."""

    class Patient(TableStep):
        def __call__(self, token_N: Tensor) -> Tensor:
            log_prob_NV = torch.full_like(super().__call__(token_N), float("-inf"))
            for row, prefix in enumerate(self.prefixes):
                first, last = len(prefix) == 1, len(prefix) == 9
                log_prob_NV[row, EOS] = -0.6 if first else 0.0 if last else float("-inf")
                log_prob_NV[row, 3] = float("-inf") if last else -0.9 if first else 0.0
            return log_prob_NV

    step = Patient([0], V)
    ((best,),) = beam_search(step, [9], SearchConfig(beam_size=3, alpha=alpha, length_penalty=rule))
    assert best.tokens == [3] * 8


@pytest.mark.parametrize("rule", get_args(LengthRule))
def test_stopping_early_saves_steps(rule: LengthRule) -> None:
    """The tables give one token most of the probability, as a trained model does."""

    class Sure(TableStep):
        def __call__(self, token_N: Tensor) -> Tensor:
            return (8 * super().__call__(token_N)).log_softmax(dim=1)

    calls = []
    for n_best in (1, 5):
        step = Sure(range(20), V)
        beam_search(step, [30] * 20, SearchConfig(beam_size=5, length_penalty=rule, n_best=n_best))
        calls.append(step.n_calls)
    assert calls[0] < calls[1]


@given(SEEDS, LENGTHS, ALPHAS, RULES)
def test_beam_one_is_greedy(seeds: list[int], max_length: int, alpha: float, rule: LengthRule) -> None:
    greedy = greedy_search(
        TableStep(seeds, V), [max_length] * len(seeds), SearchConfig(alpha=alpha, length_penalty=rule)
    )
    for one, (other,) in zip(greedy, beam(seeds, [max_length] * len(seeds), 1, alpha, rule=rule), strict=True):
        assert one.tokens == other.tokens
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)
        assert one.score == pytest.approx(other.score, abs=1e-5)


@given(SEEDS, LENGTHS)
def test_greedy_takes_the_likeliest_token_until_eos_or_the_limit(seeds: list[int], max_length: int) -> None:
    for seed, found in zip(
        seeds, greedy_search(TableStep(seeds, V), [max_length] * len(seeds), SearchConfig()), strict=True
    ):
        tokens: tuple[int, ...] = ()
        while len(tokens) < max_length - 1:
            row = table_row(seed, (BOS, *tokens), V)
            best = row.index(max(row))
            if best == EOS:
                break
            tokens += (best,)
        assert tuple(found.tokens) == tokens


@given(SEEDS, LENGTHS, BEAMS, ALPHAS)
def test_scores_are_those_of_the_table_and_sorted(
    seeds: list[int], max_length: int, beam_size: int, alpha: float
) -> None:
    for seed, found in zip(seeds, beam(seeds, [max_length] * len(seeds), beam_size, alpha, beam_size), strict=True):
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        for h in found:
            assert h.log_prob == pytest.approx(total(seed, tuple(h.tokens)), abs=1e-5)
            assert h.score == h.log_prob / length_penalty(len(h.tokens) + 1, alpha)


@given(SEEDS, BEAMS, ALPHAS, st.data())
def test_a_batch_gives_the_same_outputs_as_batches_of_one(
    seeds: list[int], beam_size: int, alpha: float, data: st.DataObject
) -> None:
    lengths = [data.draw(LENGTHS) for _ in seeds]
    together = beam(seeds, lengths, beam_size, alpha, beam_size)
    alone = [
        beam([seed], [length], beam_size, alpha, beam_size)[0] for seed, length in zip(seeds, lengths, strict=True)
    ]
    assert together == alone
    greedy = greedy_search(TableStep(seeds, V), lengths, SearchConfig())
    for seed, length, found in zip(seeds, lengths, greedy, strict=True):
        assert greedy_search(TableStep([seed], V), [length], SearchConfig()) == [found]


@given(SEEDS, BEAMS, ALPHAS, st.data())
def test_no_output_is_longer_than_its_limit(
    seeds: list[int], beam_size: int, alpha: float, data: st.DataObject
) -> None:
    """The limit counts eos and differs between sentences."""
    lengths = [data.draw(LENGTHS) for _ in seeds]
    for length, found in zip(lengths, beam(seeds, lengths, beam_size, alpha, beam_size), strict=True):
        assert all(len(h.tokens) + 1 <= length for h in found)
        assert len({tuple(h.tokens) for h in found}) == len(found)
        assert all(EOS not in h.tokens for h in found)


@given(st.integers(0, 10_000))
def test_a_larger_alpha_prefers_longer_outputs(seed: int) -> None:
    """Over all outputs: the best one under a larger penalty is never shorter."""
    lengths = []
    for alpha in (0.0, 0.6, 2.0):
        best = beam([seed], [4], 40, alpha, vocab_size=4)[0][0]
        lengths.append(len(best.tokens))
    assert lengths == sorted(lengths)


@given(st.integers(1, 500), st.floats(0, 2), RULES)
def test_no_length_penalty_decreases_with_the_length(length: int, alpha: float, rule: LengthRule) -> None:
    """Early stopping relies on this."""
    assert 0 < length_penalty(length, alpha, rule) <= length_penalty(length + 1, alpha, rule)


@given(st.integers(1, 500), st.floats(0, 2))
def test_the_length_penalty_is_that_of_wu_et_al(length: int, alpha: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx(math.pow(5 + length, alpha) / math.pow(5 + 1, alpha))
    assert length_penalty(length, 0.0) == 1
    assert length_penalty(1, alpha) == 1


@pytest.mark.parametrize("n_best", [0, 4])
def test_more_hypotheses_than_the_beam_size_are_refused(n_best: int) -> None:
    with pytest.raises(ValueError, match=f"n_best = {n_best} must be between 1 and beam_size = 3"):
        beam([1], [5], 3, 0.6, n_best)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -0.5}, "alpha = -0.5 must be between 0 and 10"),
        ({"alpha": math.inf}, "alpha = inf must be between 0 and 10"),
        ({"alpha": math.nan}, "alpha = nan must be between 0 and 10"),
        ({"length_penalty": "GNMT"}, "length_penalty = 'GNMT' is none of: gnmt, average, none"),
        ({"no_repeat": -1}, "no_repeat = -1 must not be negative"),
    ],
)
def test_a_setting_that_has_no_meaning_is_refused(settings: dict[str, Any], message: str) -> None:
    """With a negative alpha, penalties fall with the length, and early stopping would lose outputs."""
    with pytest.raises(ValueError, match=f"^{message}$"):
        SearchConfig(**settings)


def test_searching_no_sentences_returns_no_outputs() -> None:
    assert beam([], [], 3, 0.6) == []
    assert greedy_search(TableStep([], V), [], SearchConfig()) == []


def test_finished_sentences_are_not_searched_any_longer() -> None:
    """A sentence with a limit of one token leaves the batch after one step."""
    widths: list[int] = []

    class Watched(TableStep):
        def __call__(self, token_N: Tensor) -> Tensor:
            widths.append(len(token_N))
            return super().__call__(token_N)

    beam_search(Watched([1, 2, 3], V), [1, 9, 1], SearchConfig(beam_size=3, n_best=3))
    assert widths[0] == 9
    assert set(widths[1:]) == {3}


@settings(max_examples=20)
@given(st.integers(0, 10_000), BEAMS)
def test_a_token_with_probability_zero_is_never_found(seed: int, beam_size: int) -> None:
    """Some tokens have log-probability -inf, so most of a wide beam is empty."""

    class Muted(TableStep):
        def __call__(self, token_N: Tensor) -> Tensor:
            log_prob_NV = super().__call__(token_N)
            log_prob_NV[:, [0, BOS, 4, 5]] = float("-inf")
            return log_prob_NV.log_softmax(dim=1)

    (found,) = beam_search(Muted([seed], V), [5], SearchConfig(beam_size=beam_size, n_best=beam_size))
    assert found
    for h in found:
        assert set(h.tokens) <= {3}
        assert math.isfinite(h.score)


def test_equal_scores_do_not_duplicate_an_output() -> None:
    """The table is uniform, so all continuations tie."""

    class Flat(TableStep):
        def __call__(self, token_N: Tensor) -> Tensor:
            return torch.full_like(super().__call__(token_N), -math.log(V))

    (found,) = beam_search(Flat([1], V), [3], SearchConfig(beam_size=5, n_best=5))
    outputs = [tuple(h.tokens) for h in found]
    assert len(set(outputs)) == len(outputs)


@given(
    st.integers(1, 3), st.integers(1, 5), st.sampled_from([5, 48, 67, 96, 120]), st.integers(1, 10), st.integers(0, 999)
)
def test_the_largest_sums_are_those_of_a_plain_topk(
    n_sentences: int, n_beams: int, n_tokens: int, n: int, seed: int
) -> None:
    """Coarse values have many ties; -inf stands for empty hypotheses and forbidden tokens."""
    n = min(n, n_beams * n_tokens)
    generator = torch.Generator().manual_seed(seed)
    x_NV = torch.randint(-9, 9, (n_sentences * n_beams, n_tokens), generator=generator).float()
    past_BK = torch.randint(-9, 9, (n_sentences, n_beams), generator=generator).float()
    x_NV[x_NV == 3], past_BK[past_BK == 3] = float("-inf"), float("-inf")
    total_BC = (past_BK[:, :, None] + x_NV.view(n_sentences, n_beams, n_tokens)).flatten(1)
    largest, place = top_k_sums(x_NV, past_BK, n)
    assert largest.equal(total_BC.topk(n, dim=1).values)
    assert total_BC.gather(1, place).equal(largest)
    assert all(len(set(row)) == n for row in place.tolist())


@given(st.integers(1, 90), st.integers(0, 999))
def test_finished_rows_leave_in_groups(n_sentences: int, seed: int) -> None:
    """Sizes are m * 2^k with m <= 8, or the first size; no active sentence is lost."""
    batch, draw = ShrinkingBatch(n_sentences), random.Random(seed)
    active = draw.sample(range(n_sentences), n_sentences)
    sizes = [m << k for k in range(5) for m in range(1, 9)]
    while len(active) > 1:
        for _ in range(draw.randint(0, min(7, len(active) - 1))):
            batch.active.remove(batch.sentences.index(active.pop()))
        before = list(batch.sentences)
        kept = batch.shrink()
        assert batch.sentences == [before[row] for row in kept]
        assert {batch.sentences[row] for row in batch.active} == set(active)
        assert len(batch.sentences) == min(min(size for size in sizes if size >= len(active)), len(before))


def test_a_finished_batch_stays_as_it_is() -> None:
    batch = ShrinkingBatch(3)
    batch.active.clear()
    assert batch.shrink() == [0, 1, 2]


class Table:
    """A step that returns its own table, without a copy and not contiguous."""

    def __init__(self, n: int) -> None:
        self.log_prob_V = torch.randn(n).log_softmax(dim=0)

    def __call__(self, token_N: Tensor) -> Tensor:
        return self.log_prob_V.expand(len(token_N), -1)

    def reorder(self, index_N: Tensor) -> None: ...

    def keep(self, index_B: Tensor) -> None: ...


@pytest.mark.parametrize("n_tokens", [7, 128, 131])
def test_the_table_of_a_step_stays_as_it_is(n_tokens: int) -> None:
    table = Table(n_tokens)
    before = table.log_prob_V.clone()
    limits, config = [5, 3], SearchConfig(beam_size=3)
    plain = beam_search(table, limits, config)
    assert greedy_search(table, limits, config)
    prefixed = beam_search(ForcedPrefix(table, [[3, 4], []]), limits, config)
    assert prefixed[0][0].tokens[:2] == [3, 4]
    assert prefixed[1] == plain[1]
    for h, *_ in beam_search(WithoutRepeats(table, 1), limits, config):
        assert len({*h.tokens}) == len(h.tokens)
    assert torch.equal(table.log_prob_V, before)


@pytest.mark.parametrize("settings", [{"beam_size": 2.5}, {"eos": -1}, {"bos": 2, "eos": 2}, {"n_best": True}], ids=str)
def test_impossible_settings_of_a_search_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SearchConfig(**settings)
