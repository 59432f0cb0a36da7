"""The translation of a sentence or a longer text, with its probability and the flags of the guards.

    split          the source was longer than the model reads at once and was translated in parts
    copied         the source has no words (numbers, punctuation, emoji) and was copied
    language       the source is not in the source language and was copied
    capitals       the source was searched with other capital letters: text in capitals in lower case, or a few German
                   words in lower case with capitals
    placeholders   the text between placeholders was translated piece by piece, or the model invented a placeholder
    empty          the model gave no translation, so the first letter was changed for a second search, or the source was
                   copied
    repetition     the translation repeated itself, so a second search excluded repetitions
    length         the translation was cut off at the length limit for its source
    numbers        a number was missing, so a second search kept all numbers fixed; or a number was a copy and got the
                   separators of the target language
    missing        a number of the source, or its currency or per cent sign, is not in the translation
    echo           most words of the translation are those of the source
    confidence     the mean log-probability of a token is low, or with the two-way check `trust`

The flags in `SUSPICIOUS` say that the translation may be wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

SUSPICIOUS = frozenset({"language", "empty", "repetition", "length", "missing", "echo", "confidence"})

# Chosen on development sets so that of the suspicious sentences at least 70 % have a chrF below the median; see
# scripts/bench_confidence.py.
LOW_CONFIDENCE = -0.95
LOW_TRUST = -1.4  # with the two-way check


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
        n_searches: number of searches joined in this translation, each with an end token; 0 if the model was not used.
        coverage: the coverage penalty.
        back: mean log-probability of a token of the source given the translation; None without the two-way check.
        sentences: source and translation of each sentence of a passage and of the text between sentences, in order;
            empty for a translation that is not a passage.
    """

    text: str
    score: float = 0.0
    log_prob: float = 0.0
    tokens: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    n_searches: int = 0
    coverage: float = 0.0
    back: float | None = None
    sentences: tuple[tuple[str, "Translation"], ...] = ()

    @property
    def confidence(self) -> float:
        """Mean log-probability of a token, ends included; 0 if the model was not used."""
        return self.log_prob / max(1, len(self.tokens) + self.n_searches)

    @property
    def trust(self) -> float:
        """The confidence, with the two-way check plus a quarter of `back`."""
        return self.confidence + 0.25 * (self.back or 0.0)

    @property
    def improbable(self) -> bool:
        """Whether the model was used and the confidence is low, or with the two-way check `trust`."""
        is_low = self.confidence < LOW_CONFIDENCE if self.back is None else self.trust < LOW_TRUST
        return is_low and self.n_searches > 0

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

    def doubted(self) -> "Translation":
        """Return the same translation with the flag "confidence" where it is improbable: the whole, each sentence."""
        sentences = tuple((source, one.doubted()) for source, one in self.sentences)
        is_doubted = self.improbable or any("confidence" in one.flags for _, one in sentences)
        return replace(self.flagged("confidence") if is_doubted else self, sentences=sentences)

    def record(self) -> dict[str, object]:
        """Return the public values, for JSON."""
        names = ("text", "score", "log_prob", "tokens", "split", "confidence", "suspicious", "flags")
        checked = () if self.back is None else ("back",)
        return {name: getattr(self, name) for name in (*names, *checked)}


def join(parts: Sequence[Translation]) -> Translation:
    """Return the concatenation of the parts, without a score."""
    return Translation(
        "".join(part.text for part in parts),
        log_prob=sum(part.log_prob for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        flags=tuple(sorted({flag for part in parts for flag in part.flags})),
        n_searches=sum(part.n_searches for part in parts),
        coverage=sum(part.coverage for part in parts),
        back=_mean_back(parts),
    )


def _mean_back(parts: Sequence[Translation]) -> float | None:
    """Return the mean of `back` over the parts that have it, weighted by their tokens; None if none has."""
    known = [(part.back, len(part.tokens) + part.n_searches) for part in parts if part.back is not None]
    return sum(back * n for back, n in known) / sum(n for _, n in known) if known else None
