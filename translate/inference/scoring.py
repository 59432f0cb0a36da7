"""What a model thinks of given translations, line by line."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from transformer.search.scoring import score_ids
from translate.errors import UserError
from translate.models.folder import ModelFolder

_WINDOW = 1024  # pairs read ahead: enough to find sentences of equal lengths
_BATCH_TOKENS = 1024  # padded target tokens of one batch, each of which has a score for the whole vocabulary
_LIMIT = 1024  # tokens of a sentence, its end included, where the model has no lower limit


@dataclass(frozen=True)
class Scored:
    """A given translation and its probability.

    Attributes:
        source, reference: the pair, as it was read.
        log_prob: natural logarithm of the probability of all tokens and of the end; 0 for a pair of blank lines.
        n_tokens: how many that are, the end included; 0 for a pair of blank lines.
        tokens: the pieces of the reference, without the end.
        token_log_probs: of each of them and of the end; their sum is `log_prob`.
    """

    source: str
    reference: str
    log_prob: float
    n_tokens: int
    tokens: list[str]
    token_log_probs: list[float]

    @property
    def normalised(self) -> float:
        """Mean log-probability of a token, the end included; 0 for a pair of blank lines."""
        return self.log_prob / max(1, self.n_tokens)


def score(parts: ModelFolder, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
    """Score (source, reference) pairs in order, as whole sentences, without the white space around them.

    UserError for the first pair that is longer than the model reads at once: a score of its parts would be another.
    """
    pairs = iter(pairs)
    n = 0
    while window := list(islice(pairs, _WINDOW)):
        yield from _scored(parts, window, n)
        n += len(window)


def _scored(parts: ModelFolder, window: Sequence[tuple[str, str]], n_before: int) -> list[Scored]:
    encode = parts.tokenizer.encode_batch
    sources = encode([source.strip() for source, _ in window])
    references = encode([reference.strip() for _, reference in window])
    for n, sides in enumerate(zip(sources, references, strict=True), start=n_before + 1):
        _check_lengths(parts, sides, n)
    log_probs: dict[int, list[float]] = {}
    for batch in _batches(sources, references):
        found = score_ids(parts.model, [sources[i] for i in batch], [references[i] for i in batch])
        log_probs.update(zip(batch, found, strict=True))
    return [
        Scored(*pair, sum(own), len(own), parts.tokenizer.pieces(references[i]), own)
        for i, pair in enumerate(window)
        for own in [log_probs.get(i, [])]
    ]


def _check_lengths(parts: ModelFolder, sides: tuple[list[int], list[int]], n: int) -> None:
    config = parts.model.config
    limit = min(_LIMIT, config.max_length) if config.positions == "learned" else _LIMIT
    for name, ids in zip(("source", "reference"), sides, strict=True):
        if len(ids) >= limit:
            raise UserError(
                f"line {n}: the {name} has {len(ids):,} tokens, and this model reads {limit - 1:,} at once; a score "
                "belongs to a whole sentence, so shorten the line or leave it out"
            )


def _batches(sources: Sequence[Sequence[int]], references: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Pairs of similar lengths, as their positions; those in which both sides are blank are left out."""
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
