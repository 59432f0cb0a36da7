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

from transformer.search.hypothesis import Hypothesis as Hypothesis
from transformer.search.hypothesis import LengthRule
from transformer.search.hypothesis import length_penalty as length_penalty


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
    rule: LengthRule = "gnmt",
    n_best: int = 1,
    early_stop: bool = True,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """The n_best finished hypotheses of every sentence, best first (6.1).

    A hypothesis finishes when eos ranks among the K best continuations; the K best others go on. A sentence ends
    when K hypotheses have finished, or at its max_lengths[b] tokens, eos included, where only eos may follow.
    With `early_stop` it ends as soon as nothing alive can enter the n_best: log-probabilities only fall, and no length
    penalty falls as outputs grow, so no hypothesis can ever beat its present one under the penalty of its longest
    length. The result is the same under every `rule`, only sooner.

    Beam 1 is greedy search. ValueError if n_best exceeds beam_size.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best = {n_best} must be between 1 and beam_size = {beam_size}")
    rows = Rows(len(max_lengths))
    finished: list[list[Hypothesis]] = [[] for _ in max_lengths]
    largest = [length_penalty(max(1, n), alpha, rule) for n in max_lengths]
    token_BK = torch.full((len(max_lengths), beam_size), bos, dtype=torch.long, device=device)
    # One live hypothesis at first: K copies of it would fill the beam with the same sentence.
    log_prob_BK = torch.full(token_BK.shape, float("-inf"), device=device)
    log_prob_BK[:, 0] = 0.0
    history_BKT = token_BK.new_empty(*token_BK.shape, 0)
    length = 0
    while rows.alive:
        length += 1
        at_limit = [length >= max_lengths[b] for b in rows.sentences]
        candidates = _expand(step(token_BK.flatten()), log_prob_BK, at_limit, eos)
        for row, hypothesis in _ended(candidates, history_BKT, eos, alpha, rule):
            if row in rows.alive:
                finished[rows.sentences[row]].append(hypothesis)
        live = candidates.without(eos, beam_size)
        log_prob_BK, token_BK, beam_BK = live.log_prob, live.token, live.beam
        best_live = log_prob_BK.amax(dim=1).tolist()
        for row in list(rows.alive):
            b = rows.sentences[row]
            if _complete(finished[b], best_live[row] / largest[b], beam_size, n_best, early_stop):
                rows.alive.remove(row)
        index_B = torch.arange(len(rows.sentences), device=device)
        if kept := rows.shrink():
            index_B = torch.tensor(kept, device=device)
            step.keep(index_B)
            log_prob_BK, token_BK, beam_BK = log_prob_BK[index_B], token_BK[index_B], beam_BK[index_B]
        step.reorder((index_B[:, None] * beam_size + beam_BK).flatten())
        history_BKT = torch.cat((history_BKT[index_B[:, None], beam_BK], token_BK[:, :, None]), dim=2)
    return [sorted(hypotheses, key=lambda h: -h.score)[:n_best] for hypotheses in finished]


class Rows:
    """Which sentence stands in which row of a batch, and which rows are still searched.

    Sentences that are complete leave, but not each at once: every number of rows has kernels of its own, so there are
    5 to 8 times a power of two, and rows that are not searched any more fill up what lacks.

    Attributes:
        sentences: the sentence of every row.
        alive: the rows that are still searched.
    """

    def __init__(self, n_sentences: int) -> None:
        self.sentences = list(range(n_sentences))
        self.alive = set(self.sentences)

    def shrink(self) -> list[int]:
        """Let rows go where a smaller number will do; those that stay, by their old numbers, or none where all do."""
        shift = max(0, (len(self.alive) - 1).bit_length() - 3)
        n = -(-len(self.alive) >> shift) << shift
        if n >= len(self.sentences):
            return []
        # Rows behind the new end take the places of those that go, so that most stay where they are.
        spare = [row for row in range(n) if row not in self.alive]
        behind = [row for row in range(n, len(self.sentences)) if row in self.alive]
        kept = list(range(n))
        for place, row in zip(spare, behind, strict=False):
            kept[place] = row
        self.alive = {new for new, old in enumerate(kept) if old in self.alive}
        self.sentences = [self.sentences[row] for row in kept]
        return kept


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


def _expand(log_prob_NV: Tensor, past_BK: Tensor, at_limit: list[bool], eos: int) -> _Candidates:
    """The 2 K best continuations: at most K of them can end, so K that go on are always among them."""
    n_beams, n_tokens = past_BK.size(1), log_prob_NV.size(1)
    log_prob, index = _largest(_limited(log_prob_NV, at_limit, eos), past_BK, 2 * n_beams)
    return _Candidates(log_prob, index % n_tokens, index // n_tokens)


def _limited(log_prob_NV: Tensor, at_limit: list[bool], eos: int) -> Tensor:
    """Only eos may follow in the sentences that are at their limit."""
    if not any(at_limit):
        return log_prob_NV
    n_tokens, device = log_prob_NV.size(1), log_prob_NV.device
    others_V = torch.arange(n_tokens, device=device) != eos
    at_limit_N = torch.tensor(at_limit, device=device).repeat_interleave(log_prob_NV.size(0) // len(at_limit))
    return log_prob_NV.masked_fill(at_limit_N[:, None] & others_V, float("-inf"))


def _largest(x_NV: Tensor, past_BK: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The n largest of past + x among all hypotheses of a sentence, and their places among K * V; (B, n) each.

    They stand in the n blocks of the largest maxima, so all else is read but once, by a kernel faster than topk's.
    """
    (n_sentences, n_beams), n_tokens = past_BK.shape, x_NV.size(1)
    size = next((size for size in range(64, 15, -1) if n_tokens % size == 0), n_tokens)  # of a block
    n_blocks = n_tokens // size
    if n_beams * n_blocks < n:
        return (past_BK[:, :, None] + x_NV.view(n_sentences, n_beams, -1)).flatten(1).topk(n, dim=1)
    blocks = x_NV.view(-1, size)
    top = blocks.amax(dim=1).view(n_sentences, n_beams, -1) + past_BK[:, :, None]
    block = top.flatten(1).topk(n, dim=1).indices
    first = torch.arange(n_sentences, device=block.device)[:, None] * (n_beams * n_blocks)
    total = blocks[first + block] + past_BK.gather(1, block // n_blocks)[:, :, None]
    largest, place = total.flatten(1).topk(n, dim=1)
    return largest, block.gather(1, place // size) * size + place % size


def _ended(
    candidates: _Candidates, history_BKT: Tensor, eos: int, alpha: float, rule: LengthRule
) -> Iterator[tuple[int, Hypothesis]]:
    """The hypotheses that end among the K best continuations, each with the row of its sentence."""
    n_beams, length = history_BKT.size(1), history_BKT.size(2) + 1
    ended = candidates.token.eq(eos)[:, :n_beams] & candidates.log_prob[:, :n_beams].isfinite()
    for i, rank in ended.nonzero().tolist():
        log_prob = candidates.log_prob[i, rank].item()
        tokens = history_BKT[i, candidates.beam[i, rank]].tolist()
        yield i, Hypothesis(tokens, log_prob, log_prob / length_penalty(length, alpha, rule))


def _complete(finished: list[Hypothesis], bound: float, beam_size: int, n_best: int, early_stop: bool) -> bool:
    """Whether a sentence's result stands: the beam is full, nothing lives, or nothing alive can enter the n best.

    No score of what lives will exceed `bound`, which is minus infinity or no number where nothing does.
    """
    if len(finished) >= beam_size or not bound > float("-inf"):
        return True
    if not early_stop or len(finished) < n_best:
        return False
    bar = sorted((h.score for h in finished), reverse=True)[n_best - 1]
    return bound <= bar


def greedy_search(
    step: Step,
    max_lengths: list[int],
    *,
    bos: int,
    eos: int,
    alpha: float = 0.6,
    rule: LengthRule = "gnmt",
    device: torch.device | None = None,
) -> list[Hypothesis]:
    """The likeliest token at every step until eos, or until max_lengths[b] - 1 tokens, then eos."""
    rows = Rows(len(max_lengths))
    tokens: list[list[int]] = [[] for _ in max_lengths]
    log_probs = [0.0] * len(max_lengths)
    token_B = torch.full((len(max_lengths),), bos, dtype=torch.long, device=device)
    length = 0
    while rows.alive:
        length += 1
        at_limit = [length >= max_lengths[b] for b in rows.sentences]
        log_prob_BV = _limited(step(token_B), at_limit, eos)
        log_prob_B, token_B = (x[:, 0] for x in _largest(log_prob_BV, log_prob_BV.new_zeros(len(at_limit), 1), 1))
        for row, (token, log_prob) in enumerate(zip(token_B.tolist(), log_prob_B.tolist(), strict=True)):
            if row in rows.alive:
                log_probs[rows.sentences[row]] += log_prob
                if token == eos:
                    rows.alive.remove(row)
                else:
                    tokens[rows.sentences[row]].append(token)
        if kept := rows.shrink():
            index_B = torch.tensor(kept, device=device)
            step.keep(index_B)
            step.reorder(index_B)
            token_B = token_B[index_B]
    return [
        Hypothesis(t, p, p / length_penalty(len(t) + 1, alpha, rule)) for t, p in zip(tokens, log_probs, strict=True)
    ]
