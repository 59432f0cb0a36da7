"""A translation: the options that it is made with, and its text, probability and flags.

The section [decoding] of the experiment file has the fields of `DecodingConfig`. Importing pydantic takes about as long
as translating a sentence, so the options do without it. The flags of a translation:

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
    numbers        a number, time of day, word or sign was missing or wrong, so a new search held it with a symbol
    missing        a number, time of day, word or sign of the source is not in the translation
    term           a target term of the glossary is not in the translation
    echo           most words of the translation are those of the source
    confidence     the mean log-probability of a token is low, or after reranking `rerank_score`

The flags in `SUSPICIOUS` say that the translation may be wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from math import isfinite
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from transformer.search.hypothesis import MAX_ALPHA, LengthRule
from translate.errors import OptionError, UserError
from translate.text.placeholders import Glossary

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_BEAM_SIZE, MAX_THREADS, MAX_EXTRA = 256, 1024, 10_000  # larger values only exhaust memory

SUSPICIOUS = frozenset({"language", "empty", "repetition", "length", "symbol", "missing", "term", "echo", "confidence"})

EngineName = Literal["auto", "ctranslate2", "torch"]
Precision = Literal["fp32", "bf16", "int8", "auto"]
Format = Literal["text", "lines", "markdown", "html", "srt", "vtt", "tsv"]


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest number that a field may have, for `Annotated`; None is no limit."""

    ge: float
    le: float | None = None


@dataclass(frozen=True, kw_only=True)
class DecodingConfig:
    """Section 6.1: beam 4, alpha 0.6, at most input length + 50 tokens.

    Attributes:
        beam_size: hypotheses kept per step (6.1).
        alpha: exponent of the length penalty "gnmt" (6.1).
        length_penalty: divisor of the log-probability: "gnmt" is ((5 + length) / 6)^alpha (6.1), "average" the length,
            "none" 1.
        max_extra: limit of the output length, in tokens above the length of the source (6.1).
    """

    beam_size: Annotated[int, Bounds(ge=1, le=MAX_BEAM_SIZE)] = 4
    alpha: Annotated[float, Bounds(ge=0, le=MAX_ALPHA)] = 0.6
    length_penalty: LengthRule = "gnmt"
    max_extra: Annotated[int, Bounds(ge=1, le=MAX_EXTRA)] = 50

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class TranslationOptions:
    """Settings of a translation: the options of the command line, of the Python API and of the server.

    The same text, model and options give the same translation everywhere. UserError, one sentence, for values that are
    impossible alone or together.

    Attributes:
        beam_size, alpha: of the search (6.1); None takes the model's.
        length_penalty: see `DecodingConfig`; None takes the model's.
        rerank: name or folder of a model of the opposite direction that reranks the hypotheses of the beam by the
            probability of the source given the translation; None does not rerank.
        checks: whether translations are checked, and some sentences searched again; the flags at the top say how.
        terms: a glossary; a translation that lacks a target term is searched again with a placeholder's symbol for it.
        format: of the text; in "lines" each line is one sentence.
        column: of a "tsv" file, counted from 1.
        engine: "ctranslate2" computes on the CPU, "torch" on any device; "auto" takes CTranslate2 on a CPU if possible.
        precision: "fp32" is exact; "int8" needs CTranslate2, "bf16" PyTorch; "auto" is the fastest of the engine; None
            is int8 in CTranslate2 if the weights are stored in it, or else fp32.
        device: where to compute, such as "cpu" or "cuda:1"; None chooses CUDA if available.
        threads: number of batches that CTranslate2 translates at a time; None is one for each core.
    """

    beam_size: Annotated[int, Bounds(ge=1, le=MAX_BEAM_SIZE)] | None = None
    alpha: Annotated[float, Bounds(ge=0, le=MAX_ALPHA)] | None = None
    length_penalty: LengthRule | None = None
    rerank: str | None = None
    checks: bool = True
    terms: Glossary | None = None
    format: Format = "text"
    column: Annotated[int, Bounds(ge=1)] = 1
    engine: EngineName = "auto"
    precision: Precision | None = None
    device: str | None = None
    threads: Annotated[int, Bounds(ge=1, le=MAX_THREADS)] | None = None

    def __post_init__(self) -> None:
        try:
            check(self)
        except ValueError as error:
            raise UserError(str(error)) from error
        for engine, impossible, other in (("ctranslate2", "bf16", "int8"), ("torch", "int8", "bf16")):
            if (self.engine, self.precision) == (engine, impossible):
                raise UserError(f"the engine {engine} has no precision {impossible}; use {other}")
        if self.column != 1 and self.format != "tsv":
            raise OptionError(
                "column", self.column, f"belongs to the format tsv, and this is {self.format}; leave it out"
            )

    def decoding(self, default: DecodingConfig) -> DecodingConfig:
        """Return the settings of the search; those that are None are taken from `default`.

        UserError if they do not fit together.
        """
        chosen = {"beam_size": self.beam_size, "alpha": self.alpha, "length_penalty": self.length_penalty}
        changes: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        decoding = replace(default, **changes) if changes else default
        if self.alpha is not None and decoding.length_penalty != "gnmt":
            rule = (
                f"belongs to the length penalty gnmt, and here it is {decoding.length_penalty}; leave one of them out"
            )
            raise OptionError("alpha", self.alpha, rule)
        return decoding


def check(instance: "DataclassInstance") -> None:
    """Raise ValueError for the first field whose value does not fit its annotation.

    An annotation is a class, a Literal, `Annotated` with `Bounds`, or a union of these. A bool is not
    a number; an int is a float; a float must be finite.
    """
    for name, hint in _hints(type(instance)).items():
        if not _fits(value := getattr(instance, name), hint):
            raise ValueError(f"{name} = {value!r}: should be {_wanted(hint)}")


@cache
def _hints(kind: "type[DataclassInstance]") -> dict[str, Any]:
    """Return the annotation of each field, evaluated."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    match get_origin(hint):
        case origin if origin is Annotated:
            kind, bounds = get_args(hint)
            return _fits(value, kind) and value >= bounds.ge and (bounds.le is None or value <= bounds.le)
        case origin if origin is Literal:
            return value in get_args(hint)
        case origin if origin in (Union, UnionType):
            return any(_fits(value, option) for option in get_args(hint))
    if hint is float:
        return type(value) in (int, float) and isfinite(value)
    return type(value) is hint


def _wanted(hint: Any) -> str:
    """Return the values that fit a type, in words."""
    if get_origin(hint) is Annotated:
        kind, bounds = get_args(hint)
        return f"{_wanted(kind)}, at least {bounds.ge}" + ("" if bounds.le is None else f" and at most {bounds.le}")
    if get_origin(hint) is Literal:
        return " or ".join(repr(choice) for choice in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_wanted(option) for option in get_args(hint))
    return {type(None): "none", int: "an integer", float: "a number", str: "text"}.get(hint, f"a {hint.__name__}")


DEFAULT_OPTIONS = TranslationOptions()


@dataclass(frozen=True)
class Translation:
    """A translated text.

    Attributes:
        text: the translation, within the white space of its source.
        score: log-probability divided by the length penalty (section 6.1 of GNMT by default), plus the coverage
            penalty if one was requested; 0 if the model was not used.
        log_prob: natural logarithm of the probability of all tokens, ends included; 0 if the model was not used.
        tokens: the pieces of the translation, without ends.
        flags: those listed at the top, in alphabetical order.
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
