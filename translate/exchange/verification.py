"""Compare an exported model with the original on the same sentences.

Two implementations of one function differ by the rounding of their sums in float32. It grows with depth and width, and
it depends on the weights and on the order in which a processor's kernels add, so no constant fits all models. It is
measured: the original computes the same values once more in float64.

Dimension key: T target positions, V vocabulary.
"""

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from transformer.config import ModelConfig, SearchConfig
from transformer.model import Transformer
from transformer.search.model_step import source_batch, target_batch, translate_ids
from transformer.search.scoring import score_ids
from translate.corpus import grammar
from translate.corpus.tokenizer import UNK
from translate.errors import UserError
from translate.models.folder import ModelFolder, not_finite

Ids = Sequence[Sequence[int]]

TOLERANCE = 1e-4  # of the log-probability of a token, in nats or relative
TOLERANCE_INT8 = 0.05  # of the mean of log-probabilities; 8 bits change them a little

_POSITIONS = 1024  # of sinusoids at least, which have no limit
_BATCH = 20  # sentences
# Both models differ from the exact values: the original by the measured rounding, the other one by about as much, or
# more if its kernels add in a less favourable order. Measured largest differences are 0.03 to 2.0 times the rounding
# (Marian and CTranslate2, kernels for AVX-512 and AVX2, 2 + 3 to 8 + 8 layers, widths of 30 and 240). A wrong weight,
# position or constant changes values by a multiple of the limit.
_ROUNDINGS = 8


_N_SENTENCES = 100
_SEED = 1


@functools.cache
def sentences(source: str | None) -> Sequence[str]:
    """Return 100 sentences of the built-in grammar: English ones if `source` is "en", else German ones."""
    return tuple(pair[1 if source == "en" else 0] for pair in grammar.generate("test", _N_SENTENCES, _SEED))


def n_positions(config: ModelConfig) -> int:
    """Return the number of positions of an export: all learned ones, or enough sinusoids for every sentence."""
    return config.max_positions or max(config.max_length, _POSITIONS)


class Exported(Protocol):
    """A model of another toolkit, loaded by its own engine. Its token ids exclude bos and eos.

    Attributes:
        ids: its id of each of our tokens.
    """

    ids: Sequence[int]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return token ids of texts."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids."""

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """Return logits or log-probabilities of each target position and of eos, (T + 1, ...) for each pair."""

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        """Return greedy outputs of at most limit - 1 tokens."""


@dataclass(frozen=True)
class Proof:
    """The result of a comparison.

    Attributes:
        largest, mean: largest and mean difference of the values, relative to a sentence's largest value if that is
            above 1.
        rounding: largest difference of the original's values in float32 and in float64, likewise.
    """

    n_sentences: int
    largest: float
    mean: float
    rounding: float
    n_same: int


@torch.inference_mode()
def compare(
    folder: ModelFolder,
    exported: Exported,
    original: Callable[[Transformer, Ids, Ids], list[Tensor]],
    texts: Sequence[str],
    n_positions: int,
) -> Proof:
    """Run `texts` through the original and the exported model and return the differences.

    Args:
        original: returns the values of our model, source and target ids that `exported.values` must equal; the targets
            are our greedy outputs.
        texts: sentences; those without tokens are skipped.
        n_positions: number of positions of the exported model.

    Raises UserError if a weight is not finite, if a sentence has other token ids or is too long, or if there is no
    sentence.
    """
    if not all(weight.isfinite().all() for weight in folder.model.parameters()):  # also one that no sentence reads
        raise not_finite(folder.folder)
    encoded = zip(texts, folder.tokenizer.encode_batch(texts), strict=True)
    some = [pair for pair in encoded if pair[1]]  # without tokens, CTranslate2 does not run the model
    texts, src = [text for text, _ in some], [ids for _, ids in some]
    _check_tokens(folder, exported, texts, src, n_positions)
    limit = min(max(map(len, src)) + folder.spec.decoding.max_extra, n_positions - 1)
    exact = copy.deepcopy(folder.model).double()
    differences, roundings, n_same = [], [], 0
    for start in range(0, len(src), _BATCH):
        batch = src[start : start + _BATCH]
        hypotheses = translate_ids(folder.model, batch, SearchConfig(beam_size=1), max_lengths=[limit] * len(batch))
        if not all(hypotheses):
            raise not_finite(folder.folder)
        greedy = [best[0].tokens for best in hypotheses]
        theirs, wanted = _renumbered(exported, batch), _renumbered(exported, greedy)
        n_same += sum(a == b for a, b in zip(exported.greedy(theirs, limit), wanted, strict=True))
        expected = original(folder.model, batch, greedy)
        differences += _differences(exported.values(theirs, wanted), expected)
        roundings += _differences(original(exact, batch, greedy), expected)
    largest, total, n_values = torch.tensor(differences, dtype=torch.float64).T
    mean, rounding = total.sum() / n_values.sum(), torch.tensor(roundings, dtype=torch.float64)[:, 0].max()
    return Proof(len(src), largest.max().item(), mean.item(), rounding.item(), n_same)


def _differences(values: Sequence[Tensor], expected: Sequence[Tensor]) -> list[tuple[float, float, int]]:
    """Return maximum, sum and number of the differences in each sentence; those of all logits would fill the memory.

    The differences are relative to the sentence's largest expected value if that is above 1.
    """
    found = []
    for a, b in zip(values, expected, strict=True):
        difference = (a - b).abs() / b.abs().amax().clamp(min=1.0)
        found.append((difference.max().item(), difference.sum(dtype=torch.float64).item(), difference.numel()))
    return found


def _check_tokens(folder: ModelFolder, exported: Exported, texts: Sequence[str], src: Ids, n_positions: int) -> None:
    """Raise UserError unless both tokenizers encode and decode each sentence alike and it fits into the model."""
    if not src:
        raise UserError("there is no sentence to check the export on; give a file with sentences")
    for text, ids, expected, theirs in zip(texts, src, _renumbered(exported, src), exported.encode(texts), strict=True):
        if len(ids) + 1 > n_positions:
            raise UserError(
                f"{text[:40]!r}: {len(ids)} tokens are more than the {n_positions - 1} that fit; leave it out"
            )
        # Toolkits write a piece that is unknown to them differently.
        decoded = (
            exported.ids[UNK] in expected or exported.decode(expected).strip() == folder.tokenizer.decode(ids).strip()
        )
        if theirs != expected or not decoded:
            raise UserError(f"{text!r}: the other tokenizer reads this sentence differently; nothing was written")


def _renumbered(exported: Exported, sentences: Ids) -> list[list[int]]:
    """Return the other toolkit's ids."""
    return [[exported.ids[i] for i in ids] for ids in sentences]


def teacher_forced(model: Transformer, src: Ids, tgt: Ids) -> list[Tensor]:
    """Return the logits after each target position, (T + 1, V) for each pair.

    Args:
        src, tgt: token ids without bos and eos.
    """
    logits_BTV = model(source_batch(model, src), target_batch(model, tgt))
    return [row[: len(ids) + 1] for row, ids in zip(logits_BTV, tgt, strict=True)]


def token_log_probs(model: Transformer, src: Ids, tgt: Ids) -> list[Tensor]:
    """Return the log-probability of each target token and of eos, (T + 1) for each pair, without padding and bos.

    Args:
        src, tgt: token ids without bos and eos.
    """
    return [torch.tensor(values) for values in score_ids(model, src, tgt)]


def compare_log_probs(folder: ModelFolder, exported: Exported, texts: Sequence[str]) -> Proof:
    """Return `compare` for an exported model with `n_positions`, whose values are `token_log_probs`."""
    return compare(folder, exported, token_log_probs, texts, n_positions(folder.model.config))


def require_equal(proof: Proof, tolerance: float = TOLERANCE, what: str = "log-probabilities of tokens") -> None:
    """Raise UserError unless the models are equal.

    Args:
        tolerance: maximal difference of the values, where rounding does not explain a larger one.
        what: the values, for the message.
    """
    allowed = max(tolerance, _ROUNDINGS * proof.rounding)
    if not proof.largest <= allowed or proof.n_same < proof.n_sentences:
        raise UserError(
            f"the new model is not the original: {what} differ by up to {proof.largest:.1e} ({allowed:.0e} is "
            f"allowed), and {proof.n_sentences - proof.n_same} of {proof.n_sentences} sentences translate differently; "
            "nothing was written, please report it"
        )


def require_close(proof: Proof) -> None:
    """Raise UserError unless a model with int8 weights is close to the original."""
    if not proof.mean <= TOLERANCE_INT8:
        raise UserError(
            f"the log-probabilities of tokens differ by {proof.mean:.2f} on average once the weights are int8; "
            "leave --int8 out"
        )
