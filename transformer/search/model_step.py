"""A model as a step function for the searches, and translation of token ids.

Dimension key: B sentences, S source positions, T target positions, N hypotheses, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from transformer.model import Transformer
from transformer.search.beam import Step, WithoutRepeats, beam_search, greedy_search
from transformer.search.hypothesis import Hypothesis, SearchConfig

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
def translate_ids(
    model: Transformer,
    src: Sequence[Sequence[int]],
    config: SearchConfig | None = None,
    *,
    max_extra: int = 50,
    max_lengths: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` translations of every sentence of one batch, best first, by beam search (6.1).

    A sentence has no hypotheses if the model has no finite probabilities for it.

    Args:
        model: should be in eval mode.
        src: token ids of each source, without eos; may be empty.
        config: the settings of the search, with the model's bos and eos in place of its own; None for the defaults.
        max_extra: an output may have this many tokens more than its source, eos included, and at most as many as there
            are learned positions.
        max_lengths: maximum number of tokens of each output, eos included, so at least 1; overrides `max_extra`.

    Raises ValueError unless there is a maximum of at least 1 for each source.
    """
    if not src:
        return []
    lengths = [len(ids) + max_extra for ids in src] if max_lengths is None else max_lengths
    if max_lengths is None and (n_positions := model.config.max_positions):
        lengths = [min(length, n_positions) for length in lengths]
    if len(lengths) != len(src):
        raise ValueError(f"{len(lengths)} max_lengths do not fit {len(src)} sources; give one for each source")
    if min(lengths) < 1:
        raise ValueError(f"an output may have at most {min(lengths)} tokens, but eos is one; allow at least 1")
    config = replace(config or SearchConfig(), bos=model.config.bos, eos=model.config.eos)
    step: Step = ModelStep(model, source_batch(model, src))
    if config.no_repeat:
        step = WithoutRepeats(step, config.no_repeat)
    if config.beam_size == 1:
        found = greedy_search(step, lengths, config, device=model.device)
        return [[h] if math.isfinite(h.log_prob) else [] for h in found]
    return beam_search(step, lengths, config, device=model.device)
