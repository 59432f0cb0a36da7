"""Greedy search and beam search over any step function (section 6.1), and a step that forbids repetition.

Dimension key: B sentences in the batch, K beam size, N = B * K hypotheses, C = 2 K candidates, T tokens so far,
V vocabulary.

A step function takes the last token of every hypothesis and returns the log-probabilities of the next one. `reorder`
and `keep` tell it how the hypotheses move between calls. Nothing here depends on a model.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from transformer.config import Hypothesis, SearchConfig


class Step(Protocol):
    """One decoding step of a model, an ensemble or a toy table."""

    def __call__(self, token_N: Tensor) -> Tensor:
        """Return the log-probabilities of the next token, (N, V)."""

    def reorder(self, index_N: Tensor) -> None:
        """Let hypothesis n continue hypothesis index_N[n] of the same sentence."""

    def keep(self, index_B: Tensor) -> None:
        """Keep only these sentences, in this order; `reorder` is called next, for their hypotheses alone."""


def require_sentences(step: Step, n: int, what: str) -> None:
    """Raise ValueError if a step that knows its number of sentences, `n_sentences`, has another than n."""
    if (own := getattr(step, "n_sentences", n)) != n:
        raise ValueError(f"{n} {what} do not fit the {own} sentences of the step; give one for each sentence")


def beam_search(
    step: Step, max_lengths: Sequence[int], config: SearchConfig, *, device: torch.device | None = None
) -> list[list[Hypothesis]]:
    """Return the `config.n_best` finished hypotheses of every sentence, best first.

    A hypothesis finishes when its eos ranks among the K best continuations; the K best others go on. A sentence ends
    when K hypotheses have finished, or earlier, once no live hypothesis can reach its n best: log-probabilities only
    fall and length penalties never fall, so the present log-probability under the penalty of the maximum length is an
    upper bound. The result is the same.

    Args:
        step: the step function, before its first call.
        max_lengths: maximum number of tokens of each output, eos included; only eos may be the last one.
        device: where `step` computes.

    Raises ValueError if the step says that it has another number of sentences.
    """
    require_sentences(step, len(max_lengths), "maximum lengths")
    n_beams, eos = config.beam_size, config.eos
    batch = ShrinkingBatch(len(max_lengths))
    finished: list[list[Hypothesis]] = [[] for _ in max_lengths]
    max_penalties = [config.penalty(max(1, n)) for n in max_lengths]
    token_BK = torch.full((len(max_lengths), n_beams), config.bos, dtype=torch.long, device=device)
    # One live hypothesis at first: K copies of it would fill the beam with the same sentence.
    log_prob_BK = torch.full(token_BK.shape, float("-inf"), device=device)
    log_prob_BK[:, 0] = 0.0
    history_BKT = token_BK.new_empty(*token_BK.shape, 0)
    while batch.active:
        limits = [max_lengths[b] for b in batch.sentences]
        # No name for the (N, V) log-probabilities, so that they are freed before the next step allocates its own.
        log_prob_BC, token_BC, beam_BC = _continuations(
            _end_at_limit(step(token_BK.flatten()), history_BKT.size(2), limits, eos), log_prob_BK
        )
        ends_BC = token_BC == eos
        for row, rank in (ends_BC & log_prob_BC.isfinite())[:, :n_beams].nonzero().tolist():
            if row in batch.active:
                tokens = history_BKT[row, beam_BC[row, rank]].tolist()
                finished[batch.sentences[row]].append(config.hypothesis(tokens, log_prob_BC[row, rank].item()))
        log_prob_BK, rank_BK = log_prob_BC.masked_fill(ends_BC, float("-inf")).topk(n_beams, dim=1)
        best = log_prob_BK[:, 0].tolist()
        for row in list(batch.active):
            b = batch.sentences[row]
            if _complete(finished[b], best[row] / max_penalties[b], config):
                batch.active.remove(row)
        index_B = torch.tensor(batch.shrink(), dtype=torch.long, device=device)
        if len(index_B) < len(limits):
            step.keep(index_B)
        log_prob_BK, rank_BK = log_prob_BK[index_B], rank_BK[index_B]
        token_BK, beam_BK = token_BC[index_B].gather(1, rank_BK), beam_BC[index_B].gather(1, rank_BK)
        step.reorder((index_B[:, None] * n_beams + beam_BK).flatten())
        history_BKT = torch.cat((history_BKT[index_B[:, None], beam_BK], token_BK[:, :, None]), dim=2)
    return [sorted(hypotheses, key=lambda h: -h.score)[: config.n_best] for hypotheses in finished]


def greedy_search(
    step: Step, max_lengths: Sequence[int], config: SearchConfig, *, device: torch.device | None = None
) -> list[Hypothesis]:
    """Return the output of every sentence that takes the most probable token in every step, until eos.

    Args:
        step: the step function, before its first call.
        max_lengths: maximum number of tokens of each output, eos included; only eos may be the last one.
        config: the settings of the search; its beam_size is not used.
        device: where `step` computes.

    Raises ValueError if the step says that it has another number of sentences.
    """
    require_sentences(step, len(max_lengths), "maximum lengths")
    batch = ShrinkingBatch(len(max_lengths))
    tokens: list[list[int]] = [[] for _ in max_lengths]
    log_probs = [0.0] * len(max_lengths)
    token_B = torch.full((len(max_lengths),), config.bos, dtype=torch.long, device=device)
    length = 0
    while batch.active:
        limits = [max_lengths[b] for b in batch.sentences]
        log_prob_BV = _end_at_limit(step(token_B), length, limits, config.eos)
        log_prob_B1, token_B1 = top_k_sums(log_prob_BV, log_prob_BV.new_zeros(len(limits), 1), 1)
        for row, (token, log_prob) in enumerate(zip(token_B1[:, 0].tolist(), log_prob_B1[:, 0].tolist(), strict=True)):
            if row in batch.active:
                log_probs[batch.sentences[row]] += log_prob
                if token == config.eos:
                    batch.active.remove(row)
                else:
                    tokens[batch.sentences[row]].append(token)
        token_B = token_B1[:, 0]
        if len(kept := batch.shrink()) < len(limits):
            index_B = torch.tensor(kept, dtype=torch.long, device=device)
            step.keep(index_B)
            step.reorder(index_B)
            token_B = token_B[index_B]
        length += 1
    return [config.hypothesis(*output) for output in zip(tokens, log_probs, strict=True)]


class RowStep:
    """A step that keeps one value for each hypothesis."""

    def __init__(self, step: Step, rows: Sequence[Sequence[int]] = ()) -> None:
        self.step = step
        self.rows = list(rows)

    @property
    def n_sentences(self) -> int:
        """The number of sentences of the step, if it knows it."""
        return self.step.n_sentences  # type: ignore[attr-defined, no-any-return]

    def reorder(self, index_N: Tensor) -> None:
        """Let hypothesis n continue hypothesis index_N[n]."""
        self.rows = [self.rows[i] for i in index_N.tolist()]
        self.step.reorder(index_N)

    def keep(self, index_B: Tensor) -> None:
        """Keep only these sentences; the call of `reorder` that follows selects their values."""
        self.step.keep(index_B)


class WithoutRepeats(RowStep):
    """A step that forbids tokens which would complete an n-gram for the second time in a hypothesis.

    All other probabilities are unchanged. eos is always allowed, because no hypothesis contains it.
    """

    def __init__(self, step: Step, n: int) -> None:
        super().__init__(step)
        self.n = n

    def __call__(self, token_N: Tensor) -> Tensor:
        """Return log-probabilities, (N, V); -inf for tokens that would repeat an n-gram."""
        tokens = token_N.tolist()
        histories = self.rows or [()] * len(tokens)
        self.rows = [(*history, token) for history, token in zip(histories, tokens, strict=True)]
        log_prob_NV = self.step(token_N).clone()  # the step may keep its own
        for i, history in enumerate(self.rows):
            if repeating := _would_repeat(history, self.n):
                log_prob_NV[i, repeating] = float("-inf")
        return log_prob_NV


def _would_repeat(tokens: Sequence[int], n: int) -> list[int]:
    """Return the tokens that followed earlier occurrences of the last n - 1 tokens."""
    end = tokens[len(tokens) - n + 1 :]
    return [tokens[i + n - 1] for i in range(len(tokens) - n + 1) if tokens[i : i + n - 1] == end]


def _continuations(log_prob_NV: Tensor, past_BK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-probability, last token and beam of the C best continuations, best first, each (B, C).

    At most K of the 2 K best continuations end, so at least K of them go on.
    """
    n_tokens = log_prob_NV.size(1)
    log_prob_BC, place_BC = top_k_sums(log_prob_NV, past_BK, 2 * past_BK.size(1))
    return log_prob_BC, place_BC % n_tokens, place_BC // n_tokens


def _end_at_limit(log_prob_NV: Tensor, length: int, limits: Sequence[int], eos: int) -> Tensor:
    """Allow only eos in sentences whose hypotheses have `length` tokens and may have one more."""
    at_limit = [length + 1 >= limit for limit in limits]
    if not any(at_limit):
        return log_prob_NV
    n_tokens, device = log_prob_NV.size(1), log_prob_NV.device
    others_V = torch.arange(n_tokens, device=device) != eos
    at_limit_N = torch.tensor(at_limit, device=device).repeat_interleave(log_prob_NV.size(0) // len(limits))
    return log_prob_NV.masked_fill(at_limit_N[:, None] & others_V, float("-inf"))


def _complete(finished: Sequence[Hypothesis], bound: float, config: SearchConfig) -> bool:
    """Return whether a sentence's result is final.

    `bound` is an upper bound on the scores of live hypotheses: -inf or NaN if there are none.
    """
    if len(finished) >= config.beam_size or not bound > float("-inf"):
        return True
    if len(finished) < config.n_best:
        return False
    return bound <= sorted((h.score for h in finished), reverse=True)[config.n_best - 1]


def top_k_sums(x_NV: Tensor, past_BK: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return the n largest values of past + x in each sentence and their positions in (K * V), both (B, C = n).

    They lie in the n blocks with the largest maxima. So `x_NV` is read once, by a reduction that is faster than topk.

    Args:
        x_NV: log-probabilities of the next token.
        past_BK: log-probability of each hypothesis.
        n: number of results, at most K * V.
    """
    (n_sentences, n_beams), n_tokens = past_BK.shape, x_NV.size(1)
    block_size = next((size for size in range(64, 15, -1) if n_tokens % size == 0), n_tokens)
    n_blocks = n_tokens // block_size
    if n_beams * n_blocks < n:
        return (past_BK[:, :, None] + x_NV.reshape(n_sentences, n_beams, -1)).flatten(1).topk(n, dim=1)
    blocks = x_NV.reshape(-1, block_size)
    block_max = blocks.amax(dim=1).view(n_sentences, n_beams, -1) + past_BK[:, :, None]
    block_BC = block_max.flatten(1).topk(n, dim=1).indices
    first_B1 = torch.arange(n_sentences, device=block_BC.device)[:, None] * (n_beams * n_blocks)
    sums = blocks[first_B1 + block_BC] + past_BK.gather(1, block_BC // n_blocks)[:, :, None]
    largest_BC, place_BC = sums.flatten(1).topk(n, dim=1)
    return largest_BC, block_BC.gather(1, place_BC // block_size) * block_size + place_BC % block_size


class ShrinkingBatch:
    """A batch whose finished sentences leave in groups: which sentence each row has, and which rows are active.

    Every batch size has its own compiled and tuned kernels in the math library, so the batch does not shrink with
    every finished sentence: its sizes are 1 to 8 times a power of two, and finished sentences pad it to the next of
    these.

    Attributes:
        sentences: index of the sentence in each row.
        active: rows whose sentence is not finished; the caller removes finished ones.
    """

    def __init__(self, n_sentences: int) -> None:
        self.sentences = list(range(n_sentences))
        self.active = set(self.sentences)

    def shrink(self) -> list[int]:
        """Drop finished rows if a smaller size holds all active ones; return the old index of each remaining row."""
        n = _padded_size(len(self.active))
        rows = list(range(len(self.sentences)))
        if not self.active or n >= len(rows):
            return rows
        # Active rows beyond the new end replace finished ones, so that most rows stay in place.
        kept = rows[:n]
        finished = [row for row in kept if row not in self.active]
        for place, row in zip(finished, sorted(self.active - set(kept)), strict=False):
            kept[place] = row
        self.active = {new for new, old in enumerate(kept) if old in self.active}
        self.sentences = [self.sentences[row] for row in kept]
        return kept


def _padded_size(n: int) -> int:
    """Return the smallest m * 2^k >= n with m <= 8."""
    shift = max(0, (n - 1).bit_length() - 3)
    return -(-n >> shift) << shift
