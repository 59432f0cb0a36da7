"""The translation of a sentence or a longer text, with its probability and its flags.

    split          the source was longer than the model reads well and was translated in parts
    copied         the source has no words (numbers, punctuation, emoji) and was copied
    language       the source is not in the source language and was copied
    placeholders   the text between placeholders was translated piece by piece
    symbol         the model wrote a placeholder's symbol that its source does not have
    capitals       the source was searched in other capital letters: text in capitals in lower case, or a few German
                   words in lower case with capitals
    repetition     the translation repeated itself or did not end, so a new search excluded repetitions
    length         the translation was cut off at the length limit for its source
    empty          the model gave no translation, so a new search changed the first letter
    numbers        a number was missing, so a new search held the missing ones with symbols
    missing        a number of the source is not in the translation
    term           a target term of the glossary is not in the translation
    echo           most words of the translation are those of the source
    confidence     the mean log-probability of a token is low, or after reranking `rerank_score`

The flags in `SUSPICIOUS` say that the translation may be wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

SUSPICIOUS = frozenset({"language", "empty", "repetition", "length", "symbol", "missing", "term", "echo", "confidence"})


@dataclass(frozen=True)
class Translation:
    """A translated text.

    Attributes:
        text: the translation, within the white space of its source.
        score: log-probability divided by the length penalty (section 6.1 of GNMT by default), plus the coverage
            penalty if one was requested; 0 if the model was not used.
        log_prob: natural logarithm of the probability of all tokens, ends included; 0 if the model was not used.
        tokens: the pieces of the translation, without ends.
        flags: see `translate.text.translation`; in alphabetical order.
        n_segments: number of searched segments joined in this translation, each with an end token; 0 if the model was
            not used.
        n_source_tokens: number of tokens of the segments' sources, without ends.
        reverse_log_prob: mean log-probability of a token of the source given the translation; None without reranking.
        rerank_score: the confidence plus the weighted `reverse_log_prob`; None without reranking.
        sentences: source and translation of each sentence of a passage and of the text between sentences, in order;
            empty for a translation that is not a passage.
    """

    text: str
    score: float = 0.0
    log_prob: float = 0.0
    tokens: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    n_segments: int = 0
    n_source_tokens: int = 0
    coverage: float = 0.0
    reverse_log_prob: float | None = None
    rerank_score: float | None = None
    sentences: tuple[tuple[str, "Translation"], ...] = ()

    @property
    def confidence(self) -> float:
        """Mean log-probability of a token, ends included; 0 if the model was not used."""
        return self.log_prob / max(1, len(self.tokens) + self.n_segments)

    @property
    def split(self) -> bool:
        """Whether the source was longer than the model reads at once."""
        return "split" in self.flags

    @property
    def suspicious(self) -> bool:
        """Whether a flag says that the translation may be wrong."""
        return not SUSPICIOUS.isdisjoint(self.flags)

    def flagged(self, *flags: str) -> "Translation":
        """Return the same translation with more flags."""
        return replace(self, flags=tuple(sorted({*self.flags, *flags})))

    def with_confidence_flag(self, low: float | None, low_reranked: float | None) -> "Translation":
        """Return the same translation with the flag "confidence" where it is improbable: the whole, each sentence.

        Args:
            low: least `confidence` of a translation without `rerank_score`; None flags none.
            low_reranked: least `rerank_score`; None flags none.
        """
        sentences = tuple((source, one.with_confidence_flag(low, low_reranked)) for source, one in self.sentences)
        value, least = (self.confidence, low) if self.rerank_score is None else (self.rerank_score, low_reranked)
        is_low = self.n_segments > 0 and least is not None and value < least
        if not is_low and not any("confidence" in one.flags for _, one in sentences):
            return self  # no sentence has a new flag
        return replace(self.flagged("confidence"), sentences=sentences)

    def record(self) -> dict[str, object]:
        """Return the public values, for JSON."""
        names = ("text", "score", "log_prob", "tokens", "split", "confidence", "suspicious", "flags")
        reranked = () if self.reverse_log_prob is None else ("reverse_log_prob", "rerank_score")
        return {name: getattr(self, name) for name in (*names, *reranked)}


def join(parts: Sequence[Translation]) -> Translation:
    """Return the concatenation of the parts, without a score."""
    if len(parts) == 1:
        return replace(parts[0], score=0.0, sentences=())
    return Translation(
        "".join(part.text for part in parts),
        log_prob=sum(part.log_prob for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        flags=tuple(sorted({flag for part in parts for flag in part.flags})),
        n_segments=sum(part.n_segments for part in parts),
        n_source_tokens=sum(part.n_source_tokens for part in parts),
        coverage=sum(part.coverage for part in parts),
        reverse_log_prob=_mean([(part.reverse_log_prob, part) for part in parts]),
        rerank_score=_mean([(part.rerank_score, part) for part in parts]),
    )


def _mean(values: Sequence[tuple[float | None, Translation]]) -> float | None:
    """Return the mean of the values that are not None, weighted by tokens; None without any."""
    known = [(value, len(part.tokens) + part.n_segments) for value, part in values if value is not None]
    return sum(value * n for value, n in known) / sum(n for _, n in known) if known else None
