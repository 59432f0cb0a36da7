"""A model as a step function, and the search that each request needs.

Dimension key: B sentences, S source positions, T target positions, N hypotheses, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from transformer.config import Hypothesis, Request, SearchConfig
from transformer.model import Transformer
from transformer.search.beam import Step, WithoutRepeats, beam_search, greedy_search

_CHUNK = 32  # rows of scores that are converted and normalised at a time, so that they stay in the CPU's cache


class ModelStep:
    """One model that decodes a batch of sentences.

    Args:
        model: should be in eval mode.
        src_BS: the sources; see `source_batch`.
    """

    @torch.no_grad()
    def __init__(self, model: Transformer, src_BS: Tensor) -> None:
        self.model = model
        self.cache = model.new_cache(model.encode(src_BS))

    @property
    def n_sentences(self) -> int:
        """The number of sentences that are decoded."""
        return self.cache.n_sentences

    def __call__(self, token_N: Tensor) -> Tensor:
        """Return log-probabilities in float32, (N, V); those of padding and bos are -inf."""
        logits_NV = self.model.decode_step(token_N, self.cache)
        for never in (self.model.config.pad, self.model.config.bos):
            logits_NV[:, never] = float("-inf")
        if logits_NV.device.type != "cpu":
            return logits_NV.float().log_softmax(dim=-1)
        log_prob_NV = torch.empty_like(logits_NV, dtype=torch.float32)
        for start in range(0, len(logits_NV), _CHUNK):
            rows = slice(start, start + _CHUNK)
            torch.log_softmax(logits_NV[rows].float(), dim=-1, out=log_prob_NV[rows])
        return log_prob_NV

    def reorder(self, index_N: Tensor) -> None:
        """Let hypothesis n continue hypothesis index_N[n]."""
        self.cache.reorder(index_N)

    def keep(self, index_B: Tensor) -> None:
        """Keep only these sentences."""
        self.cache.keep(index_B)


def pad_batch(sentences: Sequence[Sequence[int]], pad: int, device: torch.device | None = None) -> Tensor:
    """Return token ids as one tensor, padded on the right, (B, S).

    Args:
        sentences: at least one.
        device: of the tensor; None is the CPU.
    """
    width = max(len(ids) for ids in sentences)
    return torch.tensor([[*ids, *[pad] * (width - len(ids))] for ids in sentences], dtype=torch.long, device=device)


def source_batch(model: Transformer, src: Sequence[Sequence[int]]) -> Tensor:
    """Return what the encoder reads: each source with eos, padded, on the model's device, (B, S)."""
    return pad_batch([[*ids, model.config.eos] for ids in src], model.config.pad, model.device)


def target_batch(model: Transformer, tgt: Sequence[Sequence[int]]) -> Tensor:
    """Return what the decoder reads: bos and each target, padded, on the model's device, (B, T)."""
    return pad_batch([[model.config.bos, *ids] for ids in tgt], model.config.pad, model.device)


@torch.inference_mode()
def search(models: Sequence[Transformer], requests: Sequence[Request], config: SearchConfig) -> list[list[Hypothesis]]:
    """Return the `n_best` outputs of each request of one batch, best first; samples are in the order of their numbers.

    Requests with phrases are searched by grid beam search. A request has no outputs if the models have no finite
    probabilities for it, or if none obeys its prefix and its phrases.

    Args:
        models: should be in eval mode; several with one vocabulary are an ensemble.
        config: the settings of the search, with the models' bos and eos in place of its own. Its `coverage` is left to
            `transformer.search.coverage`.

    Raises ValueError if the maximum length of a request leaves no room for its prefix, its phrases and eos, and for
    samples of a request with phrases.
    """
    if config.sampling and any(request.phrases for request in requests):
        raise ValueError("a sample cannot be made to contain phrases; search for it, or leave the phrases out")
    for request in requests:
        if request.max_length < (least := len(request.prefix) + request.n_phrase_tokens + 1):
            raise ValueError(
                f"an output may have at most {request.max_length} tokens, but eos and what is forced are {least}; "
                "allow more"
            )
    found: dict[int, list[Hypothesis]] = {}
    # Requests with equally many phrase tokens have grids of the same size.
    for n in sorted({request.n_phrase_tokens for request in requests}):
        group = [i for i, request in enumerate(requests) if request.n_phrase_tokens == n]
        found |= zip(group, _search(models, [requests[i] for i in group], config), strict=True)
    return [found[i] for i in range(len(requests))]


def _search(models: Sequence[Transformer], requests: Sequence[Request], config: SearchConfig) -> list[list[Hypothesis]]:
    """Return the outputs of requests that all have phrases or all have none."""
    step, device = request_step(models, requests, config.no_repeat), models[0].device
    config = replace(config, bos=models[0].config.bos, eos=models[0].config.eos)
    lengths = [request.max_length for request in requests]
    # Searches and steps that few requests need are imported where they begin.
    if (sampling := config.sampling) is not None:
        from transformer.search.sampling import sample

        seeds = [[f"{sampling.seed} {k} {list(request.ids)}" for k in range(config.n_best)] for request in requests]
        return sample(step, lengths, seeds, config, device=device)
    if requests[0].phrases:
        from transformer.search.constraints import constrained_search

        alpha = config.phrase_alpha
        config = replace(config, alpha=min(config.alpha, SearchConfig.alpha) if alpha is None else alpha)
        return constrained_search(step, lengths, [request.phrases for request in requests], config, device=device)
    if config.beam_size == 1 and len(models) == 1 and not any(request.prefix for request in requests):
        found = greedy_search(step, lengths, config, device=device)
        return [[h] if math.isfinite(h.log_prob) else [] for h in found]
    return beam_search(step, lengths, config, device=device)


def request_step(models: Sequence[Transformer], requests: Sequence[Request], no_repeat: int = 0) -> Step:
    """Return the step function of the models for these sources, prefixes, and n-grams that may not be repeated."""
    sources = [request.ids for request in requests]
    steps = [ModelStep(model, source_batch(model, sources)) for model in models]
    step: Step = steps[0]
    if len(steps) > 1:
        from transformer.search.ensemble import EnsembleStep

        step = EnsembleStep(steps)
    if any(request.prefix for request in requests):
        from transformer.search.constraints import ForcedPrefix

        step = ForcedPrefix(step, [request.prefix for request in requests])
    return WithoutRepeats(step, no_repeat) if no_repeat else step


def translate_ids(
    model: Transformer,
    src: Sequence[Sequence[int]],
    config: SearchConfig | None = None,
    *,
    max_extra: int | None = None,
    max_lengths: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` translations of every sentence of one batch, best first, by beam search (6.1).

    A sentence has no hypotheses if the model has no finite probabilities for it.

    Args:
        model: should be in eval mode.
        src: token ids of each source, without eos; may be empty.
        config: the settings of the search, with the model's bos and eos in place of its own; None for the defaults.
        max_extra: an output may have this many tokens more than its source, eos included, and at most as many as there
            are learned positions; None is that of `config`.
        max_lengths: maximum number of tokens of each output, eos included, so at least 1; overrides `max_extra`.

    Raises ValueError unless there is a maximum of at least 1 for each source.
    """
    config = config or SearchConfig()
    if max_lengths is None:
        extra = config.max_extra if max_extra is None else max_extra
        most = model.config.max_positions or math.inf
        max_lengths = [int(min(len(ids) + extra, most)) for ids in src]
    if len(max_lengths) != len(src):
        raise ValueError(f"{len(max_lengths)} max_lengths do not fit {len(src)} sources; give one for each source")
    requests = [Request(tuple(ids), length) for ids, length in zip(src, max_lengths, strict=True)]
    return search([model], requests, config)
