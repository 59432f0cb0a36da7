"""Log-probabilities of given translations, line by line."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from transformer.config import Ids
from translate.errors import UserError
from translate.inference.search import LIMIT, pair_ids, tag_of
from translate.inference.torch_engine import token_log_probs
from translate.models.folder import ModelFolder
from translate.text.translation import FormOfAddress

_WINDOW = 1024  # pairs read ahead, to find sentences of similar length


@dataclass(frozen=True)
class Scored:
    """A given translation and its probability.

    Attributes:
        source, reference: the pair, unchanged.
        log_prob: natural log-probability of all tokens, eos included; 0 for a pair of blank lines.
        n_tokens: their number; 0 for a pair of blank lines.
        tokens: those of the reference, without eos.
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


def score(
    model_folder: ModelFolder, pairs: Iterable[tuple[str, str]], formality: FormOfAddress | None = None
) -> Iterator[Scored]:
    """Score (source, reference) pairs in order, each as one sentence, without white space around it.

    Args:
        formality: form of address that the references were asked for, as in `Search`.

    UserError for a pair that is longer than the model's limit, as the score of its parts would be another, and if the
    model's probabilities are not finite.
    """
    tag = tag_of(model_folder, formality)
    pairs = iter(pairs)
    n = 0
    while window := list(islice(pairs, _WINDOW)):
        yield from _scored(model_folder, window, n, tag)
        n += len(window)


def _scored(model_folder: ModelFolder, window: Sequence[tuple[str, str]], n_before: int, tag: Ids) -> list[Scored]:
    tokenizer = model_folder.tokenizer
    sources, references = pair_ids(tokenizer, tag, [(source.strip(), target.strip()) for source, target in window])
    limit = min(LIMIT, model_folder.model.config.max_positions or LIMIT)
    for n, pair in enumerate(zip(sources, references, strict=True), start=n_before + 1):
        for name, ids in zip(("source", "reference"), pair, strict=True):
            if len(ids) >= limit:
                raise UserError(
                    f"line {n}: the {name} has {len(ids):,} tokens, and this model reads at most {limit - 1:,}; only "
                    "whole sentences have a score, so shorten the line or leave it out"
                )
    log_probs = token_log_probs(model_folder, sources, references)
    return [
        Scored(*pair, sum(values), len(values), tokenizer.tokens(ids), values)
        for pair, ids, values in zip(window, references, log_probs, strict=True)
    ]
