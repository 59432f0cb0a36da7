"""Alternative tokens at each output position. Nothing here depends on a model.

Dimension key: N outputs in the batch, V vocabulary.
"""

from collections.abc import Sequence

import torch

from transformer.config import SearchConfig
from transformer.search.beam import Step

Alternatives = list[tuple[int, float]]  # tokens and their log-probabilities, most probable first


def token_alternatives(
    step: Step,
    outputs: Sequence[Sequence[int]],
    n: int,
    config: SearchConfig,
    *,
    device: torch.device | None = None,
) -> list[list[Alternatives]]:
    """Return the n most probable other tokens at each position of each output, given the tokens before it.

    The last position is that of eos. There are fewer than n alternatives where fewer tokens are allowed.

    Args:
        step: the step function, before its first call.
        outputs: token ids without eos, one output for each sentence of `step`.
        n: number of alternatives per position.
        config: its bos and eos.
        device: where `step` computes.
    """
    forced = [[*tokens, config.eos] for tokens in outputs]
    found: list[list[Alternatives]] = [[] for _ in outputs]
    token_N = torch.full((len(forced),), config.bos, dtype=torch.long, device=device)
    for t in range(max(map(len, forced), default=0)):
        log_prob_NV = step(token_N)
        token_N = torch.tensor([output[min(t, len(output) - 1)] for output in forced], device=device)
        others_NV = log_prob_NV.scatter(1, token_N[:, None], float("-inf"))
        log_prob, token = others_NV.topk(min(n, others_NV.size(1)), dim=1)
        for row, output in enumerate(forced):
            if t < len(output):
                pairs = zip(token[row].tolist(), log_prob[row].tolist(), strict=True)
                found[row].append([(i, p) for i, p in pairs if p > float("-inf")])
    return found
