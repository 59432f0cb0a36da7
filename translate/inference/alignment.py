"""Word alignments between a sentence and its translation."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.search.alignment import alignment, cross_attention
from translate.errors import UserError
from translate.inference.engines import LIMIT, max_positions
from translate.models.folder import ModelFolder

_WORD = re.compile(r"\w(?:\S*\w)?|[^\w\s]+")  # "z.B", "3,5", or marks around it


@dataclass(frozen=True)
class WordAttention:
    """Attention between the words of a sentence and of its translation.

    Attributes:
        source, target: words and punctuation marks, in order.
        weights: of each target word to each source word; the attention to eos is left out.
    """

    source: list[str]
    target: list[str]
    weights: list[list[float]]


def word_attention(model_folder: ModelFolder, source: str, target: str) -> WordAttention:
    """Return the cross-attention between words: the sum over the source pieces, the mean over the target pieces.

    Args:
        model_folder: a model.
        source, target: a sentence and a given translation. UserError if one is longer than the model's
            limit.
    """
    tokenizer = model_folder.tokenizer
    src, tgt = tokenizer.encode(source), tokenizer.encode(target)
    _check_length(source, max(len(src), len(tgt)), max_positions(model_folder) or LIMIT)
    (weights_TS,) = cross_attention(model_folder.model, [src], [tgt])
    (words, of_source), (target_words, of_target) = _membership(model_folder, source), _membership(model_folder, target)
    mean = of_target / of_target.sum(dim=1, keepdim=True).clamp(min=1)
    weights = mean @ weights_TS.float() @ of_source.T
    return WordAttention(words, target_words, weights.tolist())


def _membership(model_folder: ModelFolder, text: str) -> tuple[list[str], Tensor]:
    """Return the words of a text and a matrix (words, pieces), 1 where they have a character in common."""
    words = list(_WORD.finditer(text))
    word_starts, word_stops = _columns([word.span() for word in words])
    starts, stops = _columns(model_folder.tokenizer.spans(text))
    matrix = (starts < word_stops[:, None]) & (word_starts[:, None] < stops)
    return [word[0] for word in words], matrix.float()


def _columns(spans: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    return torch.tensor([start for start, _ in spans]), torch.tensor([stop for _, stop in spans])


def align(
    model_folder: ModelFolder, source: str, pieces: Sequence[str], *, layer: int | None = None
) -> list[tuple[int, int]]:
    """Return pairs (source word, target word), counted from 0, in order.

    Words are separated by spaces. Two words are aligned if any of their pieces are.

    Args:
        model_folder: the model that made the translation.
        source: the source sentence. UserError if it is longer than the model's limit.
        pieces: `tokens` of the translation.
        layer: of the decoder; see `transformer.search.alignment.cross_attention`.
    """
    tokenizer, limit = model_folder.tokenizer, max_positions(model_folder)
    src, tgt = tokenizer.encode(source.strip()), tokenizer.ids(pieces)
    _check_length(source, max(len(src), len(tgt)), limit)
    (weights,) = cross_attention(model_folder.model, [src], [tgt], layer=layer)
    src_words, tgt_words = _words(tokenizer.pieces(src)), _words(pieces)
    pairs = {(src_words[s], tgt_words[t]) for s, t in alignment(weights)}
    return sorted((s, t) for s, t in pairs if s is not None and t is not None)


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Return an alignment in the Pharaoh format, such as "0-0 1-2"."""
    return " ".join(f"{s}-{t}" for s, t in pairs)


def _check_length(source: str, n_tokens: int, limit: int | None) -> None:
    if limit is not None and n_tokens >= limit:
        raise UserError(f"{source.strip()[:30]!r}...: is longer than the model's limit; an alignment needs all of it")


def _words(pieces: Sequence[str]) -> list[int | None]:
    """Return the index of the word that each piece ends in; None for a piece that ends in a space."""
    n, inside, words = -1, False, list[int | None]()
    for piece in pieces:
        for character in piece.replace("\u2581", " "):
            n += not inside and not character.isspace()
            inside = not character.isspace()
        words.append(n if inside else None)
    return words
