"""The k largest sums, against a plain top-k over all sums."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.kernels.top_k import top_k_sums


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
