"""Samples from table models: frequencies match probabilities, and samples do not depend on the batch."""

import random
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.toys import TableStep, table_row
from transformer.config import Hypothesis, Sampling, SearchConfig
from transformer.search.beam import WithoutRepeats, greedy_search
from transformer.search.constraints import ForcedPrefix
from transformer.search.sampling import probabilities, sample

BOS, EOS, V = 1, 2, 6
SEEDS = st.lists(st.integers(0, 10_000), min_size=1, max_size=4)


def draw(tables: list[int], lengths: list[int], n: int = 1, sampling: Sampling | None = None) -> list[list[Hypothesis]]:
    seeds = [[f"{table} {k}" for k in range(n)] for table in tables]
    return sample(TableStep(tables, V), lengths, seeds, SearchConfig(sampling=sampling))


def test_outputs_are_as_frequent_as_they_are_probable() -> None:
    n = 4000
    shares = Counter(tuple(h.tokens) for h in draw([5], [3], n)[0])
    for first in range(V):
        p = table_row(5, (BOS,), V)[first]
        found = sum(m for tokens, m in shares.items() if (tokens[0] if tokens else EOS) == first) / n
        assert found == pytest.approx(torch.tensor(p).exp().item(), abs=0.03)
    likeliest = shares.most_common(1)[0][0]
    assert shares[likeliest] / n == pytest.approx(torch.tensor(log_prob(5, likeliest, 3)).exp().item(), abs=0.03)


def log_prob(table: int, tokens: tuple[int, ...], limit: int) -> float:
    """log-probability of the output; eos is certain at the limit."""
    output = (*tokens, EOS)[: limit - 1]
    return sum(table_row(table, (BOS, *output[:t]), V)[token] for t, token in enumerate(output))


@given(SEEDS, st.integers(1, 3), st.data())
def test_a_batch_gives_the_same_samples_as_batches_of_one(tables: list[int], n: int, data: st.DataObject) -> None:
    lengths = [data.draw(st.integers(1, 7)) for _ in tables]
    together = draw(tables, lengths, n)
    for table, length, found in zip(tables, lengths, together, strict=True):
        assert draw([table], [length], n) == [found]
        assert draw([table], [length], 1) == [found[:1]]
        for h in found:
            output = (*h.tokens, EOS)
            total = sum(table_row(table, (BOS, *output[:t]), V)[token] for t, token in enumerate(output))
            assert h.log_prob == pytest.approx(total, abs=1e-5)
            assert len(output) <= length


@given(SEEDS, st.integers(1, 7))
@pytest.mark.parametrize(
    "sampling", [Sampling(top_k=1), Sampling(top_p=1e-9), Sampling(1e-4), Sampling(5e-324, 2, 0.7)], ids=repr
)
def test_the_narrowest_sampling_equals_greedy_search(sampling: Sampling, tables: list[int], length: int) -> None:
    greedy = greedy_search(TableStep(tables, V), [length] * len(tables), SearchConfig())
    found = draw(tables, [length] * len(tables), 1, sampling)
    assert [h.tokens for (h,) in found] == [h.tokens for h in greedy]


@given(st.integers(0, 500), st.integers(1, 9), st.sampled_from([0.3, 1.0]), st.integers(0, 99))
def test_a_token_is_drawn_by_the_cumulative_probabilities_in_the_order_of_ids(
    table: int, top_k: int, top_p: float, seed: int
) -> None:
    """Also where only the k most probable tokens are looked at, and where several are tied for the last place."""
    sampling = Sampling(top_k=top_k, top_p=top_p)
    row = torch.tensor([table_row(table, (BOS,), 7)]).mul(2).round().div(2).log_softmax(dim=1)

    class Tied:
        def __call__(self, token_N: Tensor) -> Tensor:
            return row

    ((output,),) = sample(Tied(), [2], [[f"{seed}"]], SearchConfig(sampling=sampling))
    point, found = random.Random(f"{seed}").random(), EOS
    for token, p in enumerate(probabilities(row, sampling)[0].tolist()):
        if (point := point - p) < 0:
            found = token
            break
    assert (output.tokens or (EOS,))[0] == found


@given(st.integers(0, 500), st.floats(0.1, 3), st.integers(0, 9), st.floats(0.05, 1))
def test_the_distribution_equals_its_definition_in_plain_python(
    table: int, temperature: float, top_k: int, top_p: float
) -> None:
    row = table_row(table, (BOS,), 7)
    order = sorted(range(7), key=lambda i: -row[i])
    weights = {i: torch.tensor(row[i], dtype=torch.float64).div(temperature).exp().item() for i in order}
    kept = order[:top_k] if top_k else order
    total, share, few = sum(weights[i] for i in kept), 0.0, []
    for i in kept:
        if share >= top_p:
            break
        few.append(i)
        share += weights[i] / total
    expected = [weights[i] / sum(weights[j] for j in few) if i in few else 0.0 for i in range(7)]
    found = probabilities(torch.tensor([row]), Sampling(temperature, top_k, top_p))
    assert found[0].tolist() == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, 500), st.lists(st.integers(3, 5), max_size=3))
def test_samples_keep_a_prefix_and_repeat_nothing(table: int, prefix: list[int]) -> None:
    step = ForcedPrefix(TableStep([table], V), [prefix])
    (found,) = sample(step, [9], [["a", "b", "c"]], SearchConfig())
    assert all(h.tokens[: len(prefix)] == prefix for h in found)
    (single,) = sample(WithoutRepeats(TableStep([table], V), 1), [9], [["a", "b"]], SearchConfig())
    assert all(len(set(h.tokens)) == len(h.tokens) for h in single)


@given(st.integers(0, 500), st.integers(1, 5))
def test_the_largest_random_number_takes_no_excluded_token(table: int, top_k: int) -> None:
    """Excluded tokens add nothing to the cumulative probability, also if they are the last of the vocabulary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("random.Random.random", lambda _: 1 - 2**-53)
        ((found,),) = draw([table], [5], 1, Sampling(top_k=top_k))
    for t, token in enumerate(found.tokens):
        row = table_row(table, (BOS, *found.tokens[:t]), V)
        assert sorted(row, reverse=True).index(row[token]) < top_k


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0.0, 0, 1.0), "temperature"),
        ((-1.0, 0, 1.0), "temperature"),
        ((1.0, -1, 1.0), "top_k"),
        ((1.0, 0, 0), "top_p"),
    ],
)
def test_invalid_sampling_settings_are_refused(arguments: tuple[float, int, float], named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named} = "):
        Sampling(*arguments)


def test_sampling_no_sentences_returns_no_samples() -> None:
    assert draw([], []) == []
