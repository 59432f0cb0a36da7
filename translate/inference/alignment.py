"""Which words of a sentence the words of its translation come from, by the cross-attention of an engine.

Dimension key: S source tokens, T target tokens, V source words, W target words.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transformer.config import Attention, Ids
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.search import Engine, without_tag

_WORD = re.compile(r"\w(?:\S*\w)?|[^\w\s]+")  # "z.B", "3,5", or marks around it


def align(engine: Engine, source: str, tokens: Sequence[str], tag: Ids = ()) -> list[tuple[int, int]]:
    """Return pairs (source word, target word), counted from 0, in order.

    Words are separated by spaces. Two words are aligned if any of their tokens are; a target token is aligned with the
    source token it attends to most.

    Args:
        source: the source sentence. UserError if it is longer than the model's limit.
        tokens: those of the translation.
        tag: token ids before those of the source; see `SentenceSearch.tag`.
    """
    tokenizer, limit = engine.tokenizer, engine.max_positions
    src, tgt = tokenizer.encode(source.strip()), tokenizer.ids(tokens)
    if limit is not None and max(len(tag) + len(src), len(tgt)) >= limit:
        raise UserError(f"{source.strip()[:30]!r}...: is longer than the model's limit; an alignment needs all of it")
    (weights_TS,) = (without_tag(weights, tag) for weights in engine.align([[*tag, *src]], [tgt]))
    src_words, tgt_words = word_numbers(tokenizer.tokens(src)), word_numbers(tokens)
    pairs = {(src_words[row.index(max(row))], tgt_words[t]) for t, row in enumerate(weights_TS) if row}
    return sorted((s, t) for s, t in pairs if s is not None and t is not None)


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Return an alignment in the Pharaoh format, such as "0-0 1-2"."""
    return " ".join(f"{s}-{t}" for s, t in pairs)


def word_numbers(tokens: Sequence[str]) -> list[int | None]:
    """Return the index of the word that each token ends in; None for a token that ends in a space."""
    n, inside, words = -1, False, list[int | None]()
    for token in tokens:
        for character in token.replace("\u2581", " "):
            n += not inside and not character.isspace()
            inside = not character.isspace()
        words.append(n if inside else None)
    return words


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


def word_attention(tokenizer: Tokenizer, source: str, target: str, weights_TS: Attention) -> WordAttention:
    """Return the attention between words: the sum over the source tokens, the mean over the target tokens.

    Args:
        weights_TS: `Engine.align` of the two texts.
    """
    (words, tokens_V), (target_words, tokens_W) = (
        _tokens_of_words(tokenizer, source),
        _tokens_of_words(tokenizer.target, target),
    )
    weights_WV = [
        [sum(weights_TS[t][s] for t in of_target for s in of_source) / max(1, len(of_target)) for of_source in tokens_V]
        for of_target in tokens_W
    ]
    return WordAttention(words, target_words, weights_WV)


def _tokens_of_words(tokenizer: Tokenizer, text: str) -> tuple[list[str], list[list[int]]]:
    """Return the words of a text, and for each the indices of the tokens that have a character in common with it."""
    words, spans = list(_WORD.finditer(text)), tokenizer.spans(text)
    found = [[i for i, (begin, end) in enumerate(spans) if begin < word.end() and word.start() < end] for word in words]
    return [word[0] for word in words], found
