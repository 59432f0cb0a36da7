"""Outputs that have to begin with given tokens, or to contain given phrases; knows no model.

Dimension key: B sentences, K hypotheses of a sentence, N = B * K, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.search.beam import Step
from transformer.search.hypothesis import Hypothesis, LengthRule, length_penalty

Phrase = Sequence[int]

_NEVER = float("-inf")


class ForcedPrefix:
    """A step under which the output of each sentence begins with its prefix; all that may follow keeps its probability.

    Args:
        step: what is searched.
        prefixes: one for each sentence, without bos and eos; an empty one forces nothing. A sentence's longest length
            has to leave room for its prefix and eos.
    """

    def __init__(self, step: Step, prefixes: Sequence[Phrase]) -> None:
        self.step = step
        self.prefixes = list(prefixes)
        self.n_done = -1  # tokens so far; bos comes first

    def __call__(self, token_N: Tensor) -> Tensor:
        """Log-probabilities (N, V), minus infinity for all but the next token of a prefix."""
        if self.n_done < 0:
            n_each = token_N.size(0) // max(1, len(self.prefixes))
            self.prefixes = [prefix for prefix in self.prefixes for _ in range(n_each)]
        self.n_done += 1
        log_prob_NV = self.step(token_N)
        forced = [n for n, prefix in enumerate(self.prefixes) if self.n_done < len(prefix)]
        if forced:
            tokens = [self.prefixes[n][self.n_done] for n in forced]
            kept = log_prob_NV[forced, tokens]
            log_prob_NV[forced] = _NEVER
            log_prob_NV[forced, tokens] = kept
        return log_prob_NV

    def reorder(self, index_N: Tensor) -> None:
        """Hypotheses change places."""
        self.prefixes = [self.prefixes[n] for n in index_N.tolist()]
        self.step.reorder(index_N)

    def keep(self, index_B: Tensor) -> None:
        """Only these sentences go on; `reorder`, which follows, picks their prefixes."""
        self.step.keep(index_B)


def constrained_search(
    step: Step,
    max_lengths: Sequence[int],
    phrases: Sequence[Sequence[Phrase]],
    *,
    bos: int,
    eos: int,
    bank_size: int = 4,
    alpha: float = 0.6,
    rule: LengthRule = "gnmt",
    n_best: int = 1,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """The n_best outputs of every sentence that contain all of its phrases, best first.

    Grid beam search (Hokamp and Liu, 2017): the hypotheses that have produced c of the phrases' tokens compete among
    themselves, `bank_size` of them for each c, so that those with fewer never crowd out those with more. A sentence
    ends when nothing alive can enter the n_best, or at its max_lengths[b] tokens, which have to leave room for its
    phrases and eos. If a bank holds everything, this is exhaustive search.
    """
    wanted = [list(dict.fromkeys(map(tuple, own))) for own in phrases]
    n_banks = 1 + max((sum(map(len, own)) for own in wanted), default=0)
    n_beams = n_banks * bank_size
    alive = list(range(len(max_lengths)))
    finished: list[list[Hypothesis]] = [[] for _ in max_lengths]
    grids = [_Grid([()] * n_beams, [0.0] + [_NEVER] * (n_beams - 1), [0] * n_beams) for _ in alive]
    token_N = torch.full((len(alive) * n_beams,), bos, dtype=torch.long, device=device)
    length = 0
    while alive:
        length += 1
        log_probs = step(token_N).view(len(alive), n_beams, -1)
        keep = []
        for i, b in enumerate(alive):
            total_KV = log_probs[i] + torch.tensor(grids[b].log_probs, device=device)[:, None]
            finished[b] += _finished(grids[b], total_KV[:, eos].tolist(), wanted[b], alpha, rule)
            finished[b] = sorted(finished[b], key=lambda h: -h.score)[:n_best]
            total_KV[:, eos] = _NEVER
            grids[b] = _advanced(grids[b], total_KV, wanted[b], bank_size)
            bar = finished[b][-1].score if len(finished[b]) == n_best else _NEVER
            bound = max(grids[b].log_probs) / length_penalty(max(1, max_lengths[b]), alpha, rule)
            if length < max_lengths[b] and bound > bar:
                keep.append(i)
        index_B = torch.tensor(keep, dtype=torch.long, device=device)
        if len(keep) < len(alive):
            step.keep(index_B)
        alive = [alive[i] for i in keep]
        if alive:
            slots = torch.tensor([grids[b].came_from for b in alive], dtype=torch.long, device=device)
            step.reorder((index_B[:, None] * n_beams + slots).flatten())
        tokens = [history[-1] if history else eos for b in alive for history in grids[b].histories]
        token_N = torch.tensor(tokens, dtype=torch.long, device=device)
    return finished


class _Grid:
    """The hypotheses of one sentence: tokens, log-probability, and the slot that each continues."""

    def __init__(self, histories: list[tuple[int, ...]], log_probs: list[float], came_from: list[int]) -> None:
        self.histories, self.log_probs, self.came_from = histories, log_probs, came_from


def _finished(
    grid: _Grid, totals: list[float], phrases: Sequence[Phrase], alpha: float, rule: LengthRule
) -> list[Hypothesis]:
    """What may end here, as all of its phrases are there."""
    return [
        Hypothesis(list(history), total, total / length_penalty(len(history) + 1, alpha, rule))
        for history, total in zip(grid.histories, totals, strict=True)
        if total > _NEVER and all(_contains(history, phrase) for phrase in phrases)
    ]


def _advanced(grid: _Grid, total_KV: Tensor, phrases: Sequence[Phrase], bank_size: int) -> _Grid:
    """The best continuations of each number of tokens of phrases."""
    n_beams, n_tokens = total_KV.shape
    involved = sorted({token for phrase in phrases for token in phrase})
    n_met_KV = torch.zeros(n_beams, n_tokens, dtype=torch.long)
    for k, (history, log_prob) in enumerate(zip(grid.histories, grid.log_probs, strict=True)):
        if log_prob > _NEVER:
            n_met_KV[k] = sum(len(phrase) for phrase in phrases if _contains(history, phrase))
            for token in involved:
                n_met_KV[k, token] = n_met((*history, token), phrases)
    n_met_KV = n_met_KV.to(total_KV.device)
    new = _Grid([], [], [])
    for n in range(n_beams // bank_size):
        bank = total_KV.masked_fill(n_met_KV != n, _NEVER).flatten()
        top, index = bank.topk(min(bank_size, len(bank)))
        found = [(p, i) for p, i in zip(top.tolist(), index.tolist(), strict=True) if p > _NEVER]
        found += [(_NEVER, 0)] * (bank_size - len(found))
        new.log_probs += [p for p, _ in found]
        new.came_from += [i // n_tokens for _, i in found]
        new.histories += [(*grid.histories[i // n_tokens], i % n_tokens) for _, i in found]
    return new


def n_met(tokens: Sequence[int], phrases: Sequence[Phrase]) -> int:
    """How many tokens of the phrases are there: all of those that are contained, and of one that has begun."""
    whole = [phrase for phrase in phrases if _contains(tokens, phrase)]
    begun = [n for p in phrases if p not in whole for n in range(1, len(p)) if tuple(tokens[-n:]) == tuple(p[:n])]
    return sum(map(len, whole)) + max(begun, default=0)


def _contains(tokens: Sequence[int], phrase: Phrase) -> bool:
    n = len(phrase)
    return any(tuple(tokens[i : i + n]) == tuple(phrase) for i in range(len(tokens) - n + 1))
