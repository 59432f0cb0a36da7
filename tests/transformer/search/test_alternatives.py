"""Alternative tokens on table models, where every distribution is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import TableStep, table_row
from transformer.config import SearchConfig
from transformer.search.alternatives import token_alternatives
from transformer.search.beam import WithoutRepeats
from transformer.search.constraints import ForcedPrefix

BOS, EOS, V = 1, 2, 5
WORDS = [0, 1, 3, 4]
OUTPUTS = st.lists(st.tuples(st.integers(0, 2000), st.lists(st.sampled_from(WORDS), max_size=4)), max_size=4)


@given(OUTPUTS, st.integers(1, 7))
def test_alternatives_are_the_most_probable_other_tokens(sentences: list[tuple[int, list[int]]], n: int) -> None:
    """Outputs have different lengths, and there may be fewer tokens than requested."""
    tables, outputs = [table for table, _ in sentences], [output for _, output in sentences]
    found = token_alternatives(TableStep(tables, V), outputs, n, SearchConfig())
    for table, output, places in zip(tables, outputs, found, strict=True):
        assert len(places) == len(output) + 1
        for t, (token, others) in enumerate(zip([*output, EOS], places, strict=True)):
            row = table_row(table, (BOS, *output[:t]), V)
            expected = sorted((i for i in range(V) if i != token), key=lambda i: -row[i])[:n]
            assert [i for i, _ in others] == expected
            assert [p for _, p in others] == pytest.approx([row[i] for i in expected])


def test_forbidden_tokens_are_not_alternatives() -> None:
    step = ForcedPrefix(TableStep([3], V), [[4, 0]])
    places = token_alternatives(step, [[4, 0, 3]], V, SearchConfig())[0]
    assert [len(others) for others in places] == [0, 0, V - 1, V - 1]
    step = WithoutRepeats(TableStep([3], V), 1)
    places = token_alternatives(step, [[4, 0, 3]], V, SearchConfig())[0]
    assert [sorted(i for i, _ in others) for others in places] == [[0, 2, 3], [2, 3], [2], []]
