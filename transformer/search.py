"""Greedy and beam search over any step function; knows no model.

Dimension key: B sentences still searched, K beam size, N = B * K hypotheses side by side, T steps so far, V vocabulary.

A step function takes the last token of every hypothesis and returns the log-probabilities of the next one. What it
remembers between calls follows `reorder` and `keep`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from transformer.hypothesis import Hypothesis as Hypothesis
from transformer.hypothesis import length_penalty as length_penalty


class Step(Protocol):
    """One step of a model, an ensemble or a toy table."""

    def __call__(self, token_N: Tensor) -> Tensor:
        """Log-probabilities of the next token, (N, V)."""

    def reorder(self, index_N: Tensor) -> None:
        """Hypothesis n now continues hypothesis index_N[n]; N may shrink."""

    def keep(self, index_B: Tensor) -> None:
        """Only these sentences go on."""


class WithoutRepeats:
    """A step under which no sequence of n tokens occurs twice in a hypothesis; all else keeps its probability.

    The end can always follow: no hypothesis holds one.
    """

    def __init__(self, step: Step, n: int) -> None:
        self.step = step
        self.n = n
        self.histories: list[tuple[int, ...]] = []

    def __call__(self, token_N: Tensor) -> Tensor:
        """Log-probabilities (N, V), minus infinity for tokens that would repeat a sequence."""
        tokens = token_N.tolist()
        histories = self.histories or [()] * len(tokens)
        self.histories = [(*history, token) for history, token in zip(histories, tokens, strict=True)]
        log_prob_NV = self.step(token_N)
        for i, history in enumerate(self.histories):
            if repeating := _would_repeat(history, self.n):
                log_prob_NV[i, repeating] = float("-inf")
        return log_prob_NV

    def reorder(self, index_N: Tensor) -> None:
        """Hypotheses change places."""
        self.histories = [self.histories[i] for i in index_N.tolist()]
        self.step.reorder(index_N)

    def keep(self, index_B: Tensor) -> None:
        """Only these sentences go on; `reorder`, which follows, picks their histories."""
        self.step.keep(index_B)


def _would_repeat(tokens: tuple[int, ...], n: int) -> list[int]:
    """The tokens that have followed the last n - 1 tokens before."""
    end = tokens[len(tokens) - n + 1 :]
    return [tokens[i + n - 1] for i in range(len(tokens) - n + 1) if tokens[i : i + n - 1] == end]


def beam_search(
    step: Step,
    max_lengths: list[int],
    *,
    bos: int,
    eos: int,
    beam_size: int = 4,
    alpha: float = 0.6,
    n_best: int = 1,
    early_stop: bool = True,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """The n_best finished hypotheses of every sentence, best first (6.1).

    A hypothesis finishes when eos ranks among the K best continuations; the K best others go on. A sentence ends
    when K hypotheses have finished, or at its max_lengths[b] tokens, eos included, where only eos may follow.
    With `early_stop` it ends as soon as nothing alive can enter the n_best: log-probabilities only fall, so no
    hypothesis can ever beat its present one under the largest penalty. The result is the same, only sooner.

    Beam 1 is greedy search. ValueError if n_best exceeds beam_size.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best = {n_best} must be between 1 and beam_size = {beam_size}")
    alive = list(range(len(max_lengths)))
    finished: list[list[Hypothesis]] = [[] for _ in max_lengths]
    token_BK = torch.full((len(alive), beam_size), bos, dtype=torch.long, device=device)
    # One live hypothesis at first: K copies of it would fill the beam with the same sentence.
    log_prob_BK = torch.full(token_BK.shape, float("-inf"), device=device)
    log_prob_BK[:, 0] = 0.0
    history_BKT = token_BK.new_empty(len(alive), beam_size, 0)
    length = 0
    while alive:
        length += 1
        at_limit = torch.tensor([length >= max_lengths[b] for b in alive], device=device)
        total_BKV = log_prob_BK[:, :, None] + step(token_BK.flatten()).view(len(alive), beam_size, -1)
        candidates = _expand(total_BKV, at_limit, eos)
        for i, hypothesis in _ended(candidates, history_BKT, eos, alpha):
            finished[alive[i]].append(hypothesis)
        live = candidates.without(eos, beam_size)
        log_prob_BK, token_BK, beam_BK = live.log_prob, live.token, live.beam
        best_live = log_prob_BK.amax(dim=1).tolist()
        keep = [
            i
            for i, b in enumerate(alive)
            if not _complete(finished[b], best_live[i], max_lengths[b], beam_size, n_best, alpha, early_stop)
        ]
        index_B = torch.tensor(keep, dtype=torch.long, device=device)
        if len(keep) < len(alive):
            step.keep(index_B)
            log_prob_BK, token_BK, beam_BK = log_prob_BK[index_B], token_BK[index_B], beam_BK[index_B]
        step.reorder((index_B[:, None] * beam_size + beam_BK).flatten())
        history_BKT = torch.cat((history_BKT[index_B[:, None], beam_BK], token_BK[:, :, None]), dim=2)
        alive = [alive[i] for i in keep]
    return [sorted(hypotheses, key=lambda h: -h.score)[:n_best] for hypotheses in finished]


@dataclass(frozen=True)
class _Candidates:
    """Continuations, best first: log-probability, last token, and the beam slot that each continues, all (B, C)."""

    log_prob: Tensor
    token: Tensor
    beam: Tensor

    def without(self, eos: int, n: int) -> "_Candidates":
        """The n best that do not end."""
        masked = self.log_prob.masked_fill(self.token == eos, float("-inf"))
        log_prob, rank = masked.topk(n, dim=1)
        return _Candidates(log_prob, self.token.gather(1, rank), self.beam.gather(1, rank))


def _expand(total_BKV: Tensor, at_limit_B: Tensor, eos: int) -> _Candidates:
    """The 2 K best continuations: at most K of them can end, so K that go on are always among them."""
    n_beams, n_tokens = total_BKV.shape[1:]
    if bool(at_limit_B.any()):
        others = torch.arange(n_tokens, device=total_BKV.device) != eos
        total_BKV = total_BKV.masked_fill(at_limit_B[:, None, None] & others, float("-inf"))
    log_prob, index = total_BKV.flatten(1).topk(2 * n_beams, dim=1)
    return _Candidates(log_prob, index % n_tokens, index // n_tokens)


def _ended(candidates: _Candidates, history_BKT: Tensor, eos: int, alpha: float) -> Iterator[tuple[int, Hypothesis]]:
    """The hypotheses that end among the K best continuations, each with the row of its sentence."""
    n_beams, length = history_BKT.size(1), history_BKT.size(2) + 1
    ended = candidates.token.eq(eos)[:, :n_beams] & candidates.log_prob[:, :n_beams].isfinite()
    for i, rank in ended.nonzero().tolist():
        log_prob = candidates.log_prob[i, rank].item()
        tokens = history_BKT[i, candidates.beam[i, rank]].tolist()
        yield i, Hypothesis(tokens, log_prob, log_prob / length_penalty(length, alpha))


def _complete(
    finished: list[Hypothesis],
    best_live: float,
    max_length: int,
    beam_size: int,
    n_best: int,
    alpha: float,
    early_stop: bool,
) -> bool:
    """Whether a sentence's result stands: the beam is full, nothing lives, or nothing alive can enter the n best."""
    if len(finished) >= beam_size or best_live == float("-inf"):
        return True
    if not early_stop or len(finished) < n_best:
        return False
    bar = sorted((h.score for h in finished), reverse=True)[n_best - 1]
    return best_live / length_penalty(max_length, alpha) <= bar


def greedy_search(
    step: Step, max_lengths: list[int], *, bos: int, eos: int, alpha: float = 0.6, device: torch.device | None = None
) -> list[Hypothesis]:
    """The likeliest token at every step until eos, or until max_lengths[b] - 1 tokens, then eos."""
    alive = list(range(len(max_lengths)))
    tokens: list[list[int]] = [[] for _ in alive]
    log_probs = [0.0] * len(alive)
    token_B = torch.full((len(alive),), bos, dtype=torch.long, device=device)
    length = 0
    while alive:
        length += 1
        log_prob_BV = step(token_B)
        at_limit = torch.tensor([length >= max_lengths[b] for b in alive], device=device)
        token_B = log_prob_BV.argmax(dim=1).masked_fill(at_limit, eos)
        chosen = log_prob_BV.gather(1, token_B[:, None])[:, 0].tolist()
        keep = []
        for i, (b, token) in enumerate(zip(alive, token_B.tolist(), strict=True)):
            log_probs[b] += chosen[i]
            if token != eos:
                tokens[b].append(token)
                keep.append(i)
        if len(keep) < len(alive):
            index_B = torch.tensor(keep, dtype=torch.long, device=device)
            step.keep(index_B)
            step.reorder(index_B)
            token_B = token_B[index_B]
        alive = [alive[i] for i in keep]
    return [Hypothesis(t, p, p / length_penalty(len(t) + 1, alpha)) for t, p in zip(tokens, log_probs, strict=True)]
