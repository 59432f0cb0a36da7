"""Settings of a translation, as dataclasses that check their fields.

The section [decoding] of the experiment file has the fields of `DecodingConfig`. Importing pydantic takes about as long
as translating a sentence, so these do without it.
"""

from dataclasses import dataclass, fields, replace
from math import isfinite
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from transformer.search.hypothesis import LengthRule
from translate.errors import OptionError, UserError
from translate.text.placeholders import Glossary

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_BEAM_SIZE, MAX_ALPHA = 256, 10.0  # larger values only exhaust memory or the floating-point range

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
    max_extra: Annotated[int, Bounds(ge=1)] = 50

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
        checks: whether translations are checked, and some sentences searched again; see `translate.text.translation`.
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
    threads: Annotated[int, Bounds(ge=1)] | None = None

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
    hints = get_type_hints(type(instance), include_extras=True)
    for name in (field.name for field in fields(instance)):
        if not _fits(value := getattr(instance, name), hints[name]):
            raise ValueError(f"{name} = {value!r}: should be {_wanted(hints[name])}")


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
