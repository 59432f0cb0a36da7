"""The section [data] of the experiment file: the languages, and the sources of the text."""

import functools
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A table of the experiment file: frozen, strict, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Origin(Section):
    """A source of sentence pairs.

    Attributes:
        weight: how often an epoch has each pair and its variants, on average; with 0.3, each epoch has another sample
            of three tenths of them.
        keep_identical: keep pairs whose sides are equal, such as names in a dictionary, also with `cleaning.identical`.
    """

    weight: float = Field(default=1.0, gt=0, le=1000)
    keep_identical: bool = False


class TextSource(Origin):
    """Two line-aligned files, plain or compressed (.gz, .xz, .bz2): line n of one translates line n of the other.

    Attributes:
        source, target: the files.
    """

    kind: Literal["text"] = "text"
    source: str
    target: str


class TsvSource(Origin):
    """One file with tab-separated columns.

    Attributes:
        path: the file.
        source, target: the columns of both sides, counted from 0, or their names in `columns`, such as "{source}".
        columns: names of the columns of a file without a header.
        split: separator of several translations in a cell, such as "|" in a dictionary; each combination of both
            cells is a pair.
    """

    kind: Literal["tsv"]
    path: str
    source: int = Field(default=0, ge=0)
    target: int = Field(default=1, ge=0)
    columns: tuple[str, ...] = Field(default=(), strict=False)
    split: str | None = Field(default=None, min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _number_columns(cls, values: object) -> object:
        if not isinstance(values, dict) or not isinstance(names := values.get("columns"), list | tuple):
            return values
        numbers = {side: names.index(name) for side in ("source", "target") if (name := values.get(side)) in names}
        return {**values, **numbers}


class RecordSource(Origin):
    """A Parquet file, or a file with one JSON object per line.

    Attributes:
        path: the file.
        source, target: columns or keys of both sides, dotted if nested: `translation.de`.
    """

    kind: Literal["jsonl", "parquet"]
    path: str
    source: str
    target: str


class HubSource(Origin):
    """A data set of the Hugging Face hub, or a local folder of the same form, loaded by `datasets`.

    Attributes:
        id: name on the hub, or the folder.
        split: its split, such as "train".
        source, target: columns of both sides, dotted if nested.
        config: configuration of a data set that has several.
        revision: branch, tag or commit; None is the newest version.
    """

    kind: Literal["hub"]
    id: str
    split: str
    source: str
    target: str
    config: str | None = None
    revision: str | None = None


class GrammarSource(Origin):
    """Synthetic sentences of the German-English grammar that ships with the project, for demonstration.

    Attributes:
        split: its split; two splits have no sentence in common.
        pairs: number of pairs.
        seed: other seeds give other sentences.
    """

    kind: Literal["grammar"]
    split: Literal["train", "valid", "test"]
    pairs: int = Field(ge=1)
    seed: int = 0


class WordsSource(Origin):
    """The list of German and English words, short phrases and everyday replies that ships with the project."""

    kind: Literal["words"]


class PhrasesSource(Origin):
    """The German-English phrase book that ships with the project: sentences of letters, travel, work and the like."""

    kind: Literal["phrases"]


class SacrebleuSource(Origin):
    """A test set of sacreBLEU.

    Attributes:
        name: its sacreBLEU name, such as `wmt14/full`.
    """

    kind: Literal["sacrebleu"]
    name: str


class MonoSource(Origin):
    """Text in one language, one sentence per line; `translate prepare` makes the other side with a model.

    Attributes:
        path: the text.
        lines: number of lines to take, evenly spaced; None takes all of them.
        model: name or path of the model that makes the other side.
        side: the side of the pairs that the text becomes: "target" for back-translation, "source" for distillation.
        method: "sampling" draws translations from the model, which suits back-translation (Edunov et al., 2018);
            "beam" searches for the best with the model's settings, in fp32 or, if it reranks, in the fastest precision;
            "greedy" is the fastest, in int8 or bf16.
        beam_size: of the method "beam"; None is the model's.
        rerank: name or path of a model of the opposite direction, which chooses among the hypotheses of the beam by
            both log-probabilities (Yee, Dauphin and Auli, 2019); None takes the best of the search.
        tag: begin synthetic sources with the token <BT> (Caswell et al., 2019).
        noise: share of the words of synthetic sources that are dropped; above 0, words also move.
        seed: of sampling and noise.
        synthetic: the other side, line by line; None lets `translate prepare` make it.
    """

    kind: Literal["mono"]
    path: str
    lines: int | None = Field(default=None, ge=1)
    model: str
    side: Literal["source", "target"] = "target"
    method: Literal["sampling", "beam", "greedy"] = "sampling"
    beam_size: int | None = Field(default=None, ge=1, le=256)
    rerank: str | None = None
    tag: bool = True
    noise: float = Field(default=0.0, ge=0, lt=1)
    seed: int = 0
    synthetic: str | None = None

    @model_validator(mode="after")
    def _a_beam_is_searched(self) -> "MonoSource":
        if self.method != "beam" and (self.beam_size is not None or self.rerank is not None):
            raise ValueError(f'beam_size and rerank belong to method = "beam", and it is "{self.method}"')
        return self

    @model_validator(mode="after")
    def _noise_needs_synthetic_sources(self) -> "MonoSource":
        if self.noise and self.side == "source":
            raise ValueError(
                'noise: is for synthetic sources, and side = "source" makes synthetic targets; leave it out'
            )
        return self


def _with_kind(value: object) -> object:
    """Return a source table with its kind, "text" by default."""
    return {"kind": "text", **value} if isinstance(value, dict) else value


Source = Annotated[
    TextSource
    | TsvSource
    | RecordSource
    | HubSource
    | GrammarSource
    | WordsSource
    | PhrasesSource
    | SacrebleuSource
    | MonoSource,
    Field(discriminator="kind"),
    BeforeValidator(_with_kind),
]


class ReplayData(Section):
    """An older corpus that is mixed into training, so that a model does not forget it.

    Attributes:
        sources: its sources.
        share: its share of the sentence pairs of an epoch, beside data.train with its weights; the weights of its own
            sources are relative to each other.
    """

    sources: tuple[Source, ...] = Field(min_length=1, strict=False)
    share: float = Field(default=0.5, gt=0, lt=1)


class DataConfig(Section):
    """The languages and the sources of the text.

    In names of files and columns, "{source}" and "{target}" are replaced by the language codes, so that an experiment
    in the other direction can extend this one.

    Attributes:
        source, target: language codes, such as "de" and "en".
        root: folder of the relative paths of the sources; itself relative to the working directory.
        train: sources of the training pairs, concatenated.
        valid: source of the validation pairs.
        test: sources of the test sets, by name.
        replay: an older corpus to train on as well.
    """

    source: str
    target: str
    root: str = "."
    train: tuple[Source, ...] = Field(min_length=1, strict=False)
    valid: Source
    test: dict[str, Source] = Field(default_factory=dict)
    replay: ReplayData | None = None

    @property
    def langpair(self) -> str:
        """Both codes, such as "de-en"."""
        return f"{self.source}-{self.target}"

    @property
    def replay_sources(self) -> tuple[Source, ...]:
        """The sources of the older corpus; () if there is none."""
        return () if self.replay is None else self.replay.sources

    @model_validator(mode="before")
    @classmethod
    def _name_languages(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        codes = {f"{{{side}}}": code for side in ("source", "target") if isinstance(code := values.get(side), str)}
        fixed = ("source", "target", "root")
        return {key: value if key in fixed else _replaced(value, codes) for key, value in values.items()}

    @field_validator("valid", "test")
    @classmethod
    def _check_held_out(cls, value: Source | dict[str, Source]) -> Source | dict[str, Source]:
        for source in value.values() if isinstance(value, dict) else (value,):
            for key in Origin.model_fields:
                if getattr(source, key) != Origin.model_fields[key].default:
                    raise PydanticCustomError(key, f"{key} is for training; remove the key")
            if isinstance(source, MonoSource) and source.synthetic is None:
                message = "translations are made for training alone; name a source that has both sides"
                raise PydanticCustomError("mono", message)
        return value


def _replaced(value: object, texts: Mapping[str, str]) -> object:
    """Return nested tables and lists with each of the texts replaced in every string."""
    if isinstance(value, str):
        return functools.reduce(lambda text, old: text.replace(old, texts[old]), texts, value)
    if isinstance(value, dict):
        return {key: _replaced(item, texts) for key, item in value.items()}
    return [_replaced(item, texts) for item in value] if isinstance(value, list | tuple) else value
