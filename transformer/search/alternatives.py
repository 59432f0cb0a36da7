"""What else could have stood at each place of an output; knows no model.

Dimension key: N outputs side by side, V vocabulary.
"""

from collections.abc import Sequence

import torch

from transformer.search.beam import Step

Others = list[tuple[int, float]]  # tokens and their log-probabilities, likeliest first


def likeliest_others(
    step: Step,
    outputs: Sequence[Sequence[int]],
    n: int,
    *,
    bos: int,
    eos: int,
    device: torch.device | None = None,
) -> list[list[Others]]:
    """For each output, at each of its tokens and at its end, the n likeliest other tokens, given all that precedes.

    Fewer where fewer may follow. Outputs come without eos, one for each sentence of `step`; at the end, where eos
    stands, the others go on.
    """
    forced = [[*tokens, eos] for tokens in outputs]
    found: list[list[Others]] = [[] for _ in outputs]
    token_N = torch.full((len(forced),), bos, dtype=torch.long, device=device)
    for t in range(max(map(len, forced), default=0)):
        log_prob_NV = step(token_N)
        token_N = torch.tensor([own[min(t, len(own) - 1)] for own in forced], device=device)
        others_NV = log_prob_NV.scatter(1, token_N[:, None], float("-inf"))
        log_prob, token = others_NV.topk(min(n, others_NV.size(1)), dim=1)
        for row, own in enumerate(forced):
            if t < len(own):
                pairs = zip(token[row].tolist(), log_prob[row].tolist(), strict=True)
                found[row].append([(i, p) for i, p in pairs if p > float("-inf")])
    return found
