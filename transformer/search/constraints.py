"""Constraints on outputs: forced prefixes and required phrases. Nothing here depends on a model.

Dimension key: B sentences, K hypotheses of a sentence, N = B * K, V vocabulary.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.config import Hypothesis, Ids, SearchConfig
from transformer.search.beam import RowStep, Step, require_sentences

Phrase = Sequence[int]

_NEVER = float("-inf")


class ForcedPrefix(RowStep):
    """A step under which the output of each sentence starts with a given prefix.

    Probabilities of allowed tokens are unchanged.

    Args:
        step: the step function, before its first call.
        prefixes: token ids for each sentence, without bos and eos; empty for no prefix. The maximum length of a
            sentence must leave room for its prefix and eos.

    Raises ValueError if the step says that it has another number of sentences.
    """

    def __init__(self, step: Step, prefixes: Sequence[Phrase]) -> None:
        require_sentences(step, len(prefixes), "prefixes")
        super().__init__(step, prefixes)
        self.length = -1  # tokens so far; the first call adds bos

    def __call__(self, token_N: Tensor) -> Tensor:
        """Return log-probabilities, (N, V); -inf for all but the next token of a prefix."""
        if self.length < 0:
            n_each = token_N.size(0) // max(1, len(self.rows))
            self.rows = [prefix for prefix in self.rows for _ in range(n_each)]
        self.length += 1
        log_prob_NV = self.step(token_N).clone()  # the step may keep its own
        forced = [n for n, prefix in enumerate(self.rows) if self.length < len(prefix)]
        if forced:
            tokens = [self.rows[n][self.length] for n in forced]
            allowed = log_prob_NV[forced, tokens]
            log_prob_NV[forced] = _NEVER
            log_prob_NV[forced, tokens] = allowed
        return log_prob_NV


def constrained_search(
    step: Step,
    max_lengths: Sequence[int],
    phrases: Sequence[Sequence[Phrase]],
    config: SearchConfig,
    *,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """Return the `config.n_best` outputs of every sentence that contain all of its phrases, best first.

    Grid beam search (Hokamp and Liu, 2017): hypotheses that contain the same number of phrase tokens form a bank and
    compete only with each other, so that those with fewer never crowd out those with more. A sentence ends when no
    live hypothesis can reach its n best. If a bank holds everything, this is exhaustive search.

    Args:
        step: the step function, before its first call.
        max_lengths: maximum number of tokens of each output, eos included; it must leave room for all phrases.
        phrases: token ids of the phrases of each sentence.
        config: the settings of the search; beam_size is the size of a bank.
        device: where `step` computes.

    Raises ValueError if the numbers of sentences differ.
    """
    require_sentences(step, len(max_lengths), "maximum lengths")
    if len(phrases) != len(max_lengths):
        raise ValueError(f"phrases for {len(phrases)} sentences do not fit {len(max_lengths)} maximum lengths")
    required = [list(dict.fromkeys(map(tuple, own))) for own in phrases]
    n_banks = 1 + max((sum(map(len, own)) for own in required), default=0)
    n_beams = n_banks * config.beam_size
    alive = list(range(len(max_lengths)))
    finished: list[list[Hypothesis]] = [[] for _ in max_lengths]
    grids = [[_Live((), 0.0 if place == 0 else _NEVER, 0) for place in range(n_beams)] for _ in alive]
    token_N = torch.full((len(alive) * n_beams,), config.bos, dtype=torch.long, device=device)
    length = 0
    while alive:
        length += 1
        log_probs = step(token_N).view(len(alive), n_beams, -1)
        keep = []
        for i, b in enumerate(alive):
            total_KV = log_probs[i] + torch.tensor([live.log_prob for live in grids[b]], device=device)[:, None]
            ended = _ended(grids[b], total_KV[:, config.eos].tolist(), required[b], config)
            finished[b] = sorted([*finished[b], *ended], key=lambda h: -h.score)[: config.n_best]
            total_KV[:, config.eos] = _NEVER
            grids[b] = _extended(grids[b], total_KV, required[b], config.beam_size)
            worst = finished[b][-1].score if len(finished[b]) == config.n_best else _NEVER
            bound = max(live.log_prob for live in grids[b]) / config.penalty(max(1, max_lengths[b]))
            if length < max_lengths[b] and bound > worst:
                keep.append(i)
        index_B = torch.tensor(keep, dtype=torch.long, device=device)
        if len(keep) < len(alive):
            step.keep(index_B)
        alive = [alive[i] for i in keep]
        if alive:
            beams = torch.tensor([[live.beam for live in grids[b]] for b in alive], dtype=torch.long, device=device)
            step.reorder((index_B[:, None] * n_beams + beams).flatten())
        tokens = [live.tokens[-1] for b in alive for live in grids[b]]
        token_N = torch.tensor(tokens, dtype=torch.long, device=device)
    return finished


class _Live(NamedTuple):
    """A live hypothesis in the grid of a sentence, which holds one bank after another.

    Attributes:
        tokens: its tokens, without bos.
        log_prob: their log-probability; -inf for an empty place.
        beam: the place in the previous grid that it continues.
    """

    tokens: Ids
    log_prob: float
    beam: int


def _ended(
    grid: Sequence[_Live], log_probs: Sequence[float], phrases: Sequence[Ids], config: SearchConfig
) -> list[Hypothesis]:
    """Return the outputs that contain all phrases, given the log-probability of each when it ends here."""
    return [
        config.hypothesis(list(live.tokens), log_prob)
        for live, log_prob in zip(grid, log_probs, strict=True)
        if log_prob > _NEVER and all(_contains(live.tokens, phrase) for phrase in phrases)
    ]


def _extended(grid: Sequence[_Live], total_KV: Tensor, phrases: Sequence[Ids], bank_size: int) -> list[_Live]:
    """Return the best continuations in each bank; `total_KV` are the log-probabilities of all."""
    n_tokens = total_KV.size(1)
    bank_KV = _banks(grid, n_tokens, phrases).to(total_KV.device)
    extended = []
    for bank in range(len(grid) // bank_size):
        total, place = total_KV.masked_fill(bank_KV != bank, _NEVER).flatten().topk(bank_size)
        for log_prob, i in zip(total.tolist(), place.tolist(), strict=True):
            beam, token = divmod(i, n_tokens)
            extended.append(_Live((*grid[beam].tokens, token), log_prob, beam))
    return extended


def _banks(grid: Sequence[_Live], n_tokens: int, phrases: Sequence[Ids]) -> Tensor:
    """Return the bank of every continuation, (K, V)."""
    bank_KV = torch.zeros(len(grid), n_tokens, dtype=torch.long)
    for k, live in enumerate(grid):
        if live.log_prob == _NEVER:
            continue
        bank_KV[k] = sum(len(phrase) for phrase in phrases if _contains(live.tokens, phrase))
        for token in {token for phrase in phrases for token in phrase}:
            bank_KV[k, token] = _n_met((*live.tokens, token), phrases)
    return bank_KV


def _n_met(tokens: Ids, phrases: Sequence[Ids]) -> int:
    """Return how many phrase tokens count as met by an output.

    These are all tokens of complete phrases, and the longest beginning of another phrase at the end of the output.
    """
    complete = [phrase for phrase in phrases if _contains(tokens, phrase)]
    begun = [n for p in phrases if p not in complete for n in range(1, len(p)) if tokens[-n:] == p[:n]]
    return sum(map(len, complete)) + max(begun, default=0)


def _contains(tokens: Ids, phrase: Ids) -> bool:
    n = len(phrase)
    return any(tokens[i : i + n] == phrase for i in range(len(tokens) - n + 1))
