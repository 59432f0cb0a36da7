"""Log-probabilities of given translations, line by line."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from transformer.search.scoring import score_ids
from translate.errors import UserError
from translate.models.folder import ModelFolder

_WINDOW = 1024  # pairs read ahead, to find sentences of similar length
_BATCH_TOKENS = 1024  # padded target tokens per batch; each has a score for the whole vocabulary
_LIMIT = 1024  # tokens of a sentence, eos included, unless the model's limit is lower


@dataclass(frozen=True)
class Scored:
    """A given translation and its probability.

    Attributes:
        source, reference: the pair, unchanged.
        log_prob: natural log-probability of all tokens, eos included; 0 for a pair of blank lines.
        n_tokens: their number; 0 for a pair of blank lines.
        tokens: the pieces of the reference, without eos.
        token_log_probs: log-probability of each of them and of eos; their sum is `log_prob`.
    """

    source: str
    reference: str
    log_prob: float
    n_tokens: int
    tokens: list[str]
    token_log_probs: list[float]

    @property
    def normalised(self) -> float:
        """Mean log-probability per token, eos included; 0 for a pair of blank lines."""
        return self.log_prob / max(1, self.n_tokens)


def score(model_folder: ModelFolder, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
    """Score (source, reference) pairs in order, each as one sentence, without white space around it.

    UserError for a pair that is longer than the model's limit: the score of its parts would be another.
    """
    pairs = iter(pairs)
    n = 0
    while window := list(islice(pairs, _WINDOW)):
        yield from _scored(model_folder, window, n)
        n += len(window)


def _scored(model_folder: ModelFolder, window: Sequence[tuple[str, str]], n_before: int) -> list[Scored]:
    tokenizer, model = model_folder.tokenizer, model_folder.model
    sources, references = (
        tokenizer.encode_batch([text.strip() for text in side]) for side in zip(*window, strict=True)
    )
    limit = min(_LIMIT, model.config.max_length) if model.config.positions == "learned" else _LIMIT
    for n, pair in enumerate(zip(sources, references, strict=True), start=n_before + 1):
        for name, ids in zip(("source", "reference"), pair, strict=True):
            if len(ids) >= limit:
                raise UserError(
                    f"line {n}: the {name} has {len(ids):,} tokens, and this model reads at most {limit - 1:,}; only "
                    "whole sentences have a score, so shorten the line or leave it out"
                )
    log_probs: dict[int, list[float]] = {}
    for batch in _batches(sources, references):
        found = score_ids(model, [sources[i] for i in batch], [references[i] for i in batch])
        log_probs.update(zip(batch, found, strict=True))
    return [
        Scored(*pair, sum(own), len(own), tokenizer.pieces(references[i]), own)
        for i, pair in enumerate(window)
        for own in [log_probs.get(i, [])]
    ]


def _batches(sources: Sequence[Sequence[int]], references: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield indices of pairs of similar lengths, without pairs of blank lines."""
    order = [i for i in range(len(sources)) if sources[i] or references[i]]
    batch: list[int] = []
    for i in sorted(order, key=lambda i: (len(references[i]), len(sources[i]))):
        width = max(len(ids) + 1 for ids in (references[i], *(sources[j] for j in (*batch, i))))
        if batch and (len(batch) + 1) * width > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
