"""A translation: the three values that ask for it, and its text, probability and flags.

`Opening` says which model translates and where it computes, `Search` how it searches, and `Document` what the text is.
The command line, the Python API and the server share them: the same text, model and values give the same translation
everywhere. Each is refused with one sentence (`OptionError`, `UserError`) if it is impossible. Importing pydantic takes
about as long as translating a sentence, so they do without it. The flags of a translation:

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
    tags           a tag of a document's text was lost, doubled or crossed another one, so the source stays
    confidence     the mean log-probability of a token is low, or after reranking `rerank_score`

The flags in `SUSPICIOUS` say that the translation may be wrong.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from transformer.config import DECODING, MAX_ALPHA, MAX_BEAM_SIZE, MAX_EXTRA, LengthRule, Sampling, SearchConfig
from translate.errors import OptionError, UserError
from translate.options import (
    COMPUTING,
    FILES,
    MODEL,
    MODEL_FOR_LANGUAGES,
    OUTPUT,
    SEARCH,
    bounded,
    flag,
    model_option,
    option,
    validate,
)

MAX_THREADS = 1024  # more only exhaust memory
RERANKING_BEAM = 4  # hypotheses to choose from, unless the beam of the user or of the model is wider
SAMPLING = "Sampling"

SUSPICIOUS = frozenset(
    {"language", "empty", "repetition", "length", "symbol", "missing", "term", "echo", "tags", "confidence"}
)
# A line break with the indentation of the next line. White space is tried from its beginning only, as it may be long.
_BREAK = re.compile(r"(?:(?<![ \t])[ \t]+)?\r?\n[ \t]*")

Format = Literal["text", "lines", "markdown", "mdx", "html", "srt", "vtt", "tsv", "csv"]
EngineName = Literal["auto", "ctranslate2", "torch"]
Precision = Literal["fp32", "bf16", "int8", "auto"]
FormOfAddress = Literal["formal", "informal"]


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Which model is opened, and where it computes.

    Attributes:
        model: its name or path; None is the default model.
        engine: "ctranslate2" computes on the CPU, "torch" on any device; "auto" takes CTranslate2 on a CPU if possible.
        precision: "fp32" is exact; "int8" needs CTranslate2, "bf16" PyTorch; "auto" is the fastest of the engine; None
            is int8 in CTranslate2 if the weights are stored in it, or else fp32.
        device: where to compute, such as "cpu" or "cuda:1"; None chooses CUDA if available.
        threads: number of batches that CTranslate2 translates at a time; None is one for each core.
        target: the language to translate into, for a model of several; None is that of its folder.
    """

    model: Annotated[Path | str | None, model_option(MODEL, MODEL_FOR_LANGUAGES, "--model", "-m")] = None
    engine: Annotated[EngineName, option(COMPUTING, "NAME", "ctranslate2, torch, or auto to choose.")] = "auto"
    precision: Annotated[
        Precision | None,
        option(
            COMPUTING,
            "TYPE",
            "fp32, bf16, int8 or auto (fastest) [default: int8 in CTranslate2 if stored so, else fp32].",
        ),
    ] = None
    device: str | None = None
    threads: Annotated[
        int | None, option(COMPUTING, "N", "CPU threads [default: one per core].", min=1, max=MAX_THREADS)
    ] = None
    target: str | None = None

    def __post_init__(self) -> None:
        validate(self)
        for engine, impossible, other in (("ctranslate2", "bf16", "int8"), ("torch", "int8", "bf16")):
            if (self.engine, self.precision) == (engine, impossible):
                raise UserError(f"the engine {engine} has no precision {impossible}; use {other}")


@dataclass(frozen=True, kw_only=True)
class Search:
    """How the model searches for the best translation, or draws translations.

    Attributes:
        beam_size: hypotheses kept per step (6.1); None is the model's, as for the next three.
        alpha: exponent of the length penalty "gnmt" (6.1).
        length_penalty: divisor of the log-probability: "gnmt" is ((5 + length) / 6)^alpha (6.1), "average" the length,
            "none" 1.
        max_extra: limit of the output length, in tokens above the length of the source (6.1).
        n_best: number of translations, at most the beam size, or of samples; None is one.
        constrain: a file of terms that must appear; see `translate.inference.constraints`.
        coverage: weight of the coverage penalty; 0 does not use it.
        no_repeat: no sequence of this many tokens may occur twice in a translation; 0 allows all.
        sample: whether translations are drawn instead of searched.
        mbr: number of samples; the one most similar to the others is taken; 0 draws none.
        temperature, top_k, top_p, seed: see `transformer.config.Sampling`.
        rerank: name or folder of a model of the opposite direction that reranks the hypotheses of the beam, at least
            four if `beam_size` is None, by the probability of the source given the translation; None does not rerank.
        formality: form of address of a German translation, "formal" (Sie) or "informal" (du, ihr), for a model that
            was trained with both; None leaves it to the model.
    """

    beam_size: Annotated[
        int | None,
        option(SEARCH, "N", "Hypotheses kept per step [default: the model's].", "--beam", min=1, max=MAX_BEAM_SIZE),
    ] = None
    alpha: Annotated[
        float | None,
        option(SEARCH, "X", "Length penalty exponent [default: the model's].", min=0, max=MAX_ALPHA),
    ] = None
    length_penalty: Annotated[
        LengthRule | None,
        option(SEARCH, "RULE", "gnmt (the paper's), average (divide by the length) or none [default: the model's]."),
    ] = None
    max_extra: Annotated[int | None, bounded(min=1, max=MAX_EXTRA)] = None
    n_best: Annotated[
        int | None, option(OUTPUT, "N", "With --json, list the N best translations.", min=0, max=MAX_BEAM_SIZE)
    ] = None
    constrain: Annotated[
        Path | str | None,
        option(SEARCH, "FILE", "Terms that must appear; each line is TARGET, or SOURCE, a tab, TARGET."),
    ] = None
    coverage: Annotated[float, option(SEARCH, "BETA", "Weight of the coverage penalty of GNMT.")] = 0.0
    no_repeat: Annotated[int, option(SEARCH, "N", "Never repeat a sequence of N tokens.", min=0)] = 0
    sample: Annotated[bool, flag(SAMPLING, "--sample", "Draw translations instead of searching.")] = False
    mbr: Annotated[
        int,
        option(
            SAMPLING,
            "N",
            "Minimum Bayes risk: draw N, return the one most similar to the others (chrF).",
            min=0,
            max=MAX_BEAM_SIZE,
        ),
    ] = 0
    temperature: Annotated[float, option(SAMPLING, "X", "Divide the logits by X.")] = 1.0
    top_k: Annotated[int, option(SAMPLING, "N", "Draw from the N most probable tokens [default: all].", min=0)] = 0
    top_p: Annotated[float, option(SAMPLING, "X", "Draw from the most probable tokens that make up the share X.")] = 1.0
    seed: Annotated[int, option(SAMPLING, "N", "Random seed [default: 0].")] = 0
    rerank: Annotated[Path | str | None, model_option(SEARCH, "Rerank with this model of the opposite direction.")] = (
        None
    )
    formality: Annotated[
        FormOfAddress | None,
        option(
            SEARCH, "FORM", "Form of address in German: formal (Sie) or informal (du) [default: the model's choice]."
        ),
    ] = None

    def __post_init__(self) -> None:
        validate(self)
        if not self.draws and (self.temperature, self.top_k, self.top_p, self.seed) != (1.0, 0, 1.0, 0):
            raise UserError("--temperature, --top-k, --top-p and --seed belong to sampling; add --sample")
        if self.sample and self.mbr:
            raise UserError("--mbr draws its own samples; leave out --sample")
        if self.mbr and self.n_best:
            raise UserError("--mbr returns one of its samples; leave out --n-best")
        if self.draws and (self.beam_size is not None or self.constrain or self.coverage or self.rerank):
            raise UserError(
                "--sample and --mbr draw and do not search; leave out --paper, --beam, --constrain, --coverage and "
                "--rerank"
            )
        if self.coverage < 0:
            raise OptionError("coverage", self.coverage, "must be a finite number of at least 0")
        try:
            Sampling(self.temperature, self.top_k, self.top_p)
        except ValueError as error:
            name, _, rest = str(error).partition(" = ")
            value, _, rule = rest.partition(": ")
            raise OptionError(name, value, rule) from error

    @property
    def draws(self) -> bool:
        """Whether translations are drawn instead of searched."""
        return self.sample or self.mbr > 0

    @property
    def n_results(self) -> int:
        """Number of hypotheses or samples of a sentence."""
        return self.mbr or self.n_best or 1

    def config(self, default: SearchConfig, reranks: bool = False) -> SearchConfig:
        """Return what a search reads; settings that are None are those of `default`.

        Args:
            reranks: whether the hypotheses of the beam are reranked; a narrow default beam is widened for it.

        OptionError for settings that do not fit together.
        """
        own: dict[str, Any] = {name: value for name in DECODING if (value := getattr(self, name)) is not None}
        rule = self.length_penalty or default.length_penalty
        if self.alpha is not None and rule != "gnmt":
            raise OptionError(
                "alpha",
                self.alpha,
                f"belongs to the length penalty gnmt, and here it is {rule}; leave one of them out",
            )
        if self.draws:
            own["beam_size"] = self.n_results
        elif reranks and self.beam_size is None:
            own["beam_size"] = max(RERANKING_BEAM, default.beam_size)
        found = replace(
            default,
            **own,
            no_repeat=self.no_repeat,
            coverage=self.coverage,
            sampling=Sampling(self.temperature, self.top_k, self.top_p, self.seed) if self.draws else None,
            phrase_alpha=self.alpha,
        )
        require_beam(self.n_results, found)
        return found


def decoding(values: Mapping[str, Any]) -> SearchConfig:
    """Return the settings that a model brings, by name; ValueError or TypeError if they are not in their bounds."""
    Search(**values)
    return SearchConfig(**values)


def require_beam(n_best: int, config: SearchConfig) -> None:
    """Raise OptionError unless `n_best` is from 1 to the beam size: a wider beam may have another best translation."""
    if n_best < 1:
        raise OptionError("n_best", n_best, "must be at least 1")
    if n_best > (size := config.beam_size):
        raise OptionError(
            "n_best", n_best, f"a beam of {size} has fewer translations; choose a beam of at least {n_best}"
        )


@dataclass(frozen=True, kw_only=True)
class Document:
    """The format of the text, and its treatment before and after the search.

    Attributes:
        format: of the text; in "lines" each line is one sentence. None is "text", or that of the name of a file.
        column: of a "tsv" or "csv" file, or of a table that rows are read from, counted from 1.
        checks: whether translations are checked, and some sentences searched again; the flags at the top say how.
        terms: a glossary, as its file or as a mapping from forms to target terms; see `translate.text.glossary`. A
            translation that lacks a target term is searched again with a placeholder's symbol for it.
    """

    format: Annotated[
        Format | None,
        option(
            FILES,
            "FORMAT",
            "text, lines (a sentence per line), markdown, mdx, html, srt, vtt, tsv or csv [default: by the file name].",
        ),
    ] = None
    column: Annotated[int, option(FILES, "N", "Column of TSV, CSV or Parquet, from 1.", min=1)] = 1
    checks: Annotated[bool, flag(OUTPUT, "--checks", "Check, and search again if a check fails [default].")] = True
    terms: Annotated[
        Path | str | Mapping[str, str] | None,
        option(SEARCH, "FILE", "A glossary: SOURCE, a tab, TARGET; | between forms."),
    ] = None

    def __post_init__(self) -> None:
        validate(self)
        if self.column != 1 and self.format not in (None, "tsv", "csv"):
            raise OptionError(
                "column", self.column, f"belongs to the formats tsv and csv, and this is {self.format}; leave it out"
            )

    @property
    def is_bare(self) -> bool:
        """Whether each line is left to the model alone."""
        return self.format == "lines" and not self.checks


@dataclass(frozen=True)
class Translation:
    """A translated text.

    Attributes:
        text: the translation, within the white space of its source.
        score: log-probability divided by the length penalty (section 6.1 of GNMT by default), plus the coverage
            penalty if one was requested; 0 if the model was not used.
        log_prob: natural logarithm of the probability of all tokens, ends included; 0 if the model was not used.
        tokens: those of the translation, without ends.
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
        sentences = tuple(
            (source, sentence.with_confidence_flag(low, low_reranked)) for source, sentence in self.sentences
        )
        value, least = (self.confidence, low) if self.rerank_score is None else (self.rerank_score, low_reranked)
        is_low = self.n_segments > 0 and least is not None and value < least
        if not is_low and not any("confidence" in sentence.flags for _, sentence in sentences):
            return self  # no sentence has a new flag
        return replace(self.flagged("confidence"), sentences=sentences)

    def record(self) -> dict[str, object]:
        """Return the public values, for JSON."""
        names = ("text", "score", "log_prob", "tokens", "split", "confidence", "suspicious", "flags")
        reranked = () if self.reverse_log_prob is None else ("reverse_log_prob", "rerank_score")
        return {name: getattr(self, name) for name in (*names, *reranked)}


def one_line(text: str) -> str:
    """Return a text without its line breaks."""
    return _BREAK.sub(" ", text.removesuffix("\n"))


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
