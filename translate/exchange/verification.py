"""The proof that an exported model does what the original does: the same sentences through both.

Dimension key: T target positions, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from transformer.model import Transformer
from transformer.search.hypothesis import SearchConfig
from transformer.search.model_step import pad_batch, translate_ids
from translate.errors import UserError
from translate.models.folder import ModelFolder

Ids = Sequence[Sequence[int]]

_BATCH = 20  # sentences


class Exported(Protocol):
    """An exported model as its own engine loads it from the new folder. Ids are without beginning and end."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids."""

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """For each pair, numbers for each position of the target and its end, (T + 1, ...); equal for equal models."""

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        """The likeliest token at every step, at most limit - 1 of them."""


@dataclass(frozen=True)
class Proof:
    """What the comparison found.

    Attributes:
        n_sentences: how many sentences went through both models.
        largest, mean: differences of the numbers compared; in units of the largest of them, where it is above 1.
        n_same: sentences with the same greedy output.
    """

    n_sentences: int
    largest: float
    mean: float
    n_same: int


@torch.inference_mode()
def compare(
    parts: ModelFolder,
    exported: Exported,
    original: Callable[[Ids, Ids], list[Tensor]],
    texts: Sequence[str],
    room: int,
) -> Proof:
    """Send `texts` through the original and the exported model.

    Args:
        original: what `exported.values` is to be equal to. The targets are the original's greedy outputs.
        texts: sentences that are not blank.
        room: how many positions the exported model has.

    Raises UserError if a sentence has other token ids or is too long, or if no sentence is left.
    """
    src = parts.tokenizer.encode_batch(texts)
    _check_tokens(parts, exported, texts, src, room)
    limit = min(max(map(len, src)) + parts.spec.decoding.max_extra, room - 1)
    differences, n_same = [], 0
    for start in range(0, len(src), _BATCH):
        batch = src[start : start + _BATCH]
        hypotheses = translate_ids(parts.model, batch, SearchConfig(beam_size=1), max_lengths=[limit] * len(batch))
        greedy = [best[0].tokens for best in hypotheses]
        n_same += sum(a == b for a, b in zip(exported.greedy(batch, limit), greedy, strict=True))
        pairs = zip(exported.values(batch, greedy), original(batch, greedy), strict=True)
        differences += [((a - b).abs() / b.abs().amax().clamp(min=1.0)).flatten() for a, b in pairs]
    difference = torch.cat(differences)
    return Proof(len(src), difference.max().item(), difference.mean().item(), n_same)


def _check_tokens(parts: ModelFolder, exported: Exported, texts: Sequence[str], src: Ids, room: int) -> None:
    """UserError unless the tokenizers agree on every sentence, both ways, and each fits into the model."""
    if not src:
        raise UserError("there is no sentence to check the export on; give a file with sentences")
    for text, ids, theirs in zip(texts, src, exported.encode(texts), strict=True):
        if len(ids) + 1 > room:
            raise UserError(f"{text[:40]!r}: {len(ids)} tokens are more than the {room - 1} that fit; leave it out")
        if theirs != list(ids) or exported.decode(ids).strip() != parts.tokenizer.decode(ids).strip():
            raise UserError(f"{text!r}: the other tokenizer reads this sentence differently; nothing was written")


def teacher_forced(model: Transformer, src: Ids, tgt: Ids) -> list[Tensor]:
    """Logits of the token after each target position, (T + 1, V) for each pair."""
    config = model.config
    src_BS = pad_batch([[*ids, config.eos] for ids in src], config.pad)
    tgt_BT = pad_batch([[config.bos, *ids] for ids in tgt], config.pad)
    return [row[: len(ids) + 1] for row, ids in zip(model(src_BS, tgt_BT), tgt, strict=True)]


def token_log_probs(model: Transformer, src: Ids, tgt: Ids) -> list[Tensor]:
    """Log-probability of each target token and of the end, (T + 1) for each pair; padding and bos are no words."""
    found = []
    for logits_TV, ids in zip(teacher_forced(model, src, tgt), tgt, strict=True):
        logits_TV[:, [model.config.pad, model.config.bos]] = float("-inf")
        next_T1 = torch.tensor([*ids, model.config.eos])[:, None]
        found.append(logits_TV.log_softmax(dim=-1).gather(1, next_T1)[:, 0])
    return found


def require_equal(proof: Proof, tolerance: float, what: str) -> None:
    """UserError unless the numbers are equal up to `tolerance` and all greedy outputs are the same."""
    if proof.largest > tolerance or proof.n_same < proof.n_sentences:
        raise UserError(
            f"the new model is not the original: {what} differ by up to {proof.largest:.1e} ({tolerance:.0e} is "
            f"allowed), and {proof.n_sentences - proof.n_same} of {proof.n_sentences} sentences translate differently; "
            "nothing was written, please report it"
        )
