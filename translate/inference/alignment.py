"""Word alignments between a sentence and its translation."""

from collections.abc import Iterable, Sequence

from transformer.search.alignment import alignment, cross_attention
from translate.errors import UserError
from translate.models.folder import ModelFolder


def align(model_folder: ModelFolder, source: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs (source word, target word), counted from 0, in order.

    Words are separated by spaces. Two words are aligned if any of their pieces are.

    Args:
        source: the source sentence. UserError if it is longer than the model's limit.
        pieces: `tokens` of the translation.
    """
    tokenizer, limit = model_folder.tokenizer, model_folder.model.config.max_positions
    src, tgt = tokenizer.encode(source.strip()), tokenizer.ids(pieces)
    if limit is not None and max(len(src), len(tgt)) >= limit:
        raise UserError(f"{source.strip()[:30]!r}...: is longer than the model's limit; an alignment needs all of it")
    (weights,) = cross_attention(model_folder.model, [src], [tgt])
    src_words, tgt_words = _words(tokenizer.pieces(src)), _words(pieces)
    pairs = {(src_words[s], tgt_words[t]) for s, t in alignment(weights)}
    return sorted((s, t) for s, t in pairs if s is not None and t is not None)


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Return an alignment in the Pharaoh format, such as "0-0 1-2"."""
    return " ".join(f"{s}-{t}" for s, t in pairs)


def _words(pieces: Sequence[str]) -> list[int | None]:
    """Return the index of the word that each piece ends in; None for a piece that ends in a space."""
    n, inside, words = -1, False, list[int | None]()
    for piece in pieces:
        for character in piece.replace("\u2581", " "):
            n += not inside and not character.isspace()
            inside = not character.isspace()
        words.append(n if inside else None)
    return words
