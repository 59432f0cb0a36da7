"""The experiment file (TOML) as typed, frozen sections. Defaults are set here and nowhere else.

load.py reads a file, applies `--set section.key=value` and validates; a config never changes afterwards.
"""

import functools
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeGuard, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from transformer.config import MAX_ALPHA, MAX_BEAM_SIZE, MAX_EXTRA, LengthRule, ModelConfig, SearchConfig, model_config
from translate.options import is_language_code
from translate.text.placeholders import SYMBOL


class Section(BaseModel):
    """A table of the experiment file: frozen, strict, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


MAX_WEIGHT = 1000


class BaseSource(Section):
    """The keys of every source of sentence pairs.

    Attributes:
        weight: how often an epoch has each pair and its variants, on average; with 0.3, each epoch has another sample
            of three tenths of them.
        keep_identical: keep pairs whose sides are equal, such as names in a dictionary, also with `cleaning.identical`.
    """

    weight: float = Field(default=1.0, gt=0, le=MAX_WEIGHT)
    keep_identical: bool = False


class PairSource(BaseSource):
    """The keys of sources whose targets a model may write anew.

    Attributes:
        model: name or path of the model. The target of a pair becomes that one of the best hypotheses of its beam which
            is nearest to it (sequence-level interpolation; Kim and Rush, 2016, section 3.3); None keeps the target.
            With a weight below 1, that share of the pairs, evenly spaced, is all that is ever read.
        beam_size: of the model; None is the model's.
        lines: largest number of pairs that the model translates, evenly spaced.
        synthetic: file of the new pairs, which replace those of the source, each a line of JSON such as
            ["Haus", "house"]; None lets `translate prepare` make it.
    """

    model: str | None = None
    beam_size: int | None = Field(default=None, ge=1, le=MAX_BEAM_SIZE)
    lines: int | None = Field(default=None, ge=1)
    synthetic: str | None = None

    @model_validator(mode="after")
    def _a_model_searches(self) -> "PairSource":
        if self.model is None and any(value is not None for value in (self.beam_size, self.lines, self.synthetic)):
            raise ValueError("beam_size, lines and synthetic belong to a model that writes the targets; name a model")
        return self


class TextSource(PairSource):
    """Two line-aligned files, plain or compressed (.gz, .xz, .bz2): line n of one translates line n of the other.

    Attributes:
        source, target: the files.
    """

    kind: Literal["text"] = "text"
    source: str
    target: str


class TsvSource(PairSource):
    """One file with tab-separated columns.

    Attributes:
        path: the file.
        source, target: the columns of both sides, counted from 0, or their names in `columns`, such as "{source}".
        columns: names of all columns; a first line with these names is a header, and no pair.
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
        if not isinstance(values, dict) or not isinstance(names := values.get("columns", ()), list | tuple):
            return values
        named = {side: name for side in ("source", "target") if isinstance(name := values.get(side), str)}
        for side, name in named.items():
            if name not in names:
                message = "{side} = {name} is no name of a column; list the names of all columns in `columns`"
                raise PydanticCustomError("columns", message, {"side": side, "name": json.dumps(name)})
        return {**values, **{side: names.index(name) for side, name in named.items()}}


class TmxSource(PairSource):
    """A translation memory in TMX, plain or compressed (.gz, .xz, .bz2); its languages are those of `data`.

    Attributes:
        path: the file.
    """

    kind: Literal["tmx"]
    path: str


class RecordSource(PairSource):
    """A Parquet file, or a file with one JSON object per line.

    Attributes:
        path: the file.
        source, target: columns or keys of both sides, dotted if nested: `translation.de`.
    """

    kind: Literal["jsonl", "parquet"]
    path: str
    source: str
    target: str


class HubSource(PairSource):
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


class GrammarSource(BaseSource):
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


class WordsSource(BaseSource):
    """The list of German and English words, short phrases and everyday replies that ships with the project."""

    kind: Literal["words"]


class PhrasesSource(BaseSource):
    """The German-English phrase book that ships with the project: sentences of letters, travel, work and the like."""

    kind: Literal["phrases"]


class SacrebleuSource(BaseSource):
    """A test set of sacreBLEU.

    Attributes:
        name: its sacreBLEU name, such as `wmt14/full`.
    """

    kind: Literal["sacrebleu"]
    name: str


class MonoSource(BaseSource):
    """Text in one language, one sentence per line; `translate prepare` makes the other side with a model.

    Attributes:
        path: the text.
        lines: number of lines to take, evenly spaced; None takes all of them.
        model: name or path of the model that makes the other side; needed unless `synthetic` is given.
        side: the side of the pairs that the text becomes: "target" for back-translation, "source" for distillation.
        method: "sampling" draws from the model, for back-translation with a strong one (Edunov et al., 2018);
            "beam" searches for the best with the model's settings, in fp32 or, if it reranks, in the fastest precision;
            "greedy" is the fastest, in int8 or bf16.
        top_k: of the method "sampling": draw each token from this many of the most probable ones (Graca et al., 2019);
            None draws from all.
        beam_size: of the method "beam"; None is the model's.
        rerank: name or path of a model of the opposite direction, which chooses among the hypotheses of the beam by
            both log-probabilities (Yee, Dauphin and Auli, 2019); None takes the best of the search.
        tag: begin synthetic sources with the token <BT> (Caswell et al., 2019).
        noise: share of the words of synthetic sources that are dropped; above 0, words also move.
        seed: of sampling and noise.
        synthetic: the other side, a line for each line of `path`, also of those that `lines` leaves out; None lets
            `translate prepare` make it.
    """

    kind: Literal["mono"]
    path: str
    lines: int | None = Field(default=None, ge=1)
    model: str | None = None
    side: Literal["source", "target"] = "target"
    method: Literal["sampling", "beam", "greedy"] = "sampling"
    top_k: int | None = Field(default=None, ge=1)
    beam_size: int | None = Field(default=None, ge=1, le=MAX_BEAM_SIZE)
    rerank: str | None = None
    tag: bool = True
    noise: float = Field(default=0.0, ge=0, lt=1)
    seed: int = 0
    synthetic: str | None = None

    @model_validator(mode="after")
    def _the_other_side_is_made_or_given(self) -> "MonoSource":
        if self.model is None and self.synthetic is None:
            raise ValueError("model: name the model that makes the other side, or give that side as `synthetic`")
        return self

    @model_validator(mode="after")
    def _keys_belong_to_the_method(self) -> "MonoSource":
        for key, method in (("beam_size", "beam"), ("rerank", "beam"), ("top_k", "sampling")):
            if getattr(self, key) is not None and self.method != method:
                raise ValueError(f'{key} belongs to method = "{method}", and it is "{self.method}"')
        return self

    @model_validator(mode="after")
    def _noise_needs_synthetic_sources(self) -> "MonoSource":
        if self.noise and self.side == "source":
            raise ValueError(
                'noise: is for synthetic sources, and side = "source" makes synthetic targets; leave it out'
            )
        return self


Pairs = TextSource | TsvSource | TmxSource | RecordSource | HubSource
Source = Annotated[
    Pairs | GrammarSource | WordsSource | PhrasesSource | SacrebleuSource | MonoSource,
    Field(discriminator="kind"),
    BeforeValidator(lambda value: {"kind": "text", **value} if isinstance(value, dict) else value),
]


def is_synthetic(source: Source) -> TypeGuard[Pairs | MonoSource]:
    """Return whether a model makes one side of a source, or has made it."""
    return isinstance(source, MonoSource) or (isinstance(source, PairSource) and source.model is not None)


def _require_both_sides(source: Source) -> Source:
    """Return a source of pairs that are not trained on; an error for keys that would have no effect there."""
    for key, field in BaseSource.model_fields.items():
        if getattr(source, key) != field.default:
            raise PydanticCustomError(key, f"{key} is for training; remove the key")
    if is_synthetic(source) and (source.synthetic is None or isinstance(source, PairSource)):
        message = "translations are made for training alone; name a source that has both sides"
        raise PydanticCustomError("synthetic", message)
    return source


HeldOutSource = Annotated[Source, AfterValidator(_require_both_sides)]


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

    Other keys add sources to `train` before this section is read: `library` (path of a TOML file, relative to the
    file that names it), `weights` (number from 0 to 1,000 by group or corpus; 0 leaves it out), and `mono` and `text`
    (keys that all its sources of that kind share). docs/training.md explains them under "A library of corpora", and
    `extends`, at the top of the file, below it.

    Attributes:
        source, target: language codes, such as "de" and "en".
        root: folder of the relative paths of the sources; itself relative to the working directory.
        train: sources of the training pairs, concatenated.
        valid: source of the validation pairs.
        test: sources of the test sets, by name.
        replay: an older corpus to train on as well.
        held_out: sources whose pairs, and pairs that share a side of 4 words or more with them, leave the training
            text; `library` adds its evaluation sets.
    """

    source: str
    target: str
    root: str = "."
    train: tuple[Source, ...] = Field(min_length=1, strict=False)
    valid: HeldOutSource
    test: dict[str, HeldOutSource] = Field(default_factory=dict)
    replay: ReplayData | None = None
    held_out: tuple[HeldOutSource, ...] = Field(default=(), strict=False)

    @property
    def langpair(self) -> str:
        """Both codes, such as "de-en"."""
        return f"{self.source}-{self.target}"

    @property
    def replay_sources(self) -> tuple[Source, ...]:
        """The sources of the older corpus; () if there is none."""
        return () if self.replay is None else self.replay.sources

    @property
    def training_sources(self) -> tuple[Source, ...]:
        """The sources of training text, with those of the older corpus."""
        return (*self.train, *self.replay_sources)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources: of training, validation and tests, and those that are held out."""
        return (*self.training_sources, self.valid, *self.test.values(), *self.held_out)

    @property
    def synthetic_sources(self) -> tuple[Pairs | MonoSource, ...]:
        """The sources of training text of which a model makes one side, or has made it."""
        return tuple(source for source in self.training_sources if is_synthetic(source))

    @property
    def models(self) -> tuple[str, ...]:
        """The models that make these sides, or choose among translations, each once."""
        named = (getattr(source, key, None) for source in self.synthetic_sources for key in ("model", "rerank"))
        return tuple(dict.fromkeys(model for model in named if model is not None))

    @model_validator(mode="before")
    @classmethod
    def _name_languages(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        fixed = ("source", "target", "root")
        return {key: value if key in fixed else with_codes(value, values) for key, value in values.items()}

    @field_validator("source", "target")
    @classmethod
    def _check_code(cls, code: str) -> str:
        if not is_language_code(code):
            raise PydanticCustomError("language", 'should be a language code, such as "de" or "zh-Hans"')
        return code


def with_codes(value: object, data: Mapping[str, Any]) -> object:
    """Return part of a section [data] with its language codes in place of "{source}" and "{target}"."""
    codes = {f"{{{side}}}": code for side in ("source", "target") if isinstance(code := data.get(side), str)}
    return _replaced(value, codes)


def _replaced(value: object, texts: Mapping[str, str]) -> object:
    """Return nested tables and lists with each of the texts replaced in every string."""
    if isinstance(value, str):
        return functools.reduce(lambda text, old: text.replace(old, texts[old]), texts, value)
    if isinstance(value, dict):
        return {key: _replaced(item, texts) for key, item in value.items()}
    return [_replaced(item, texts) for item in value] if isinstance(value, list | tuple) else value


Beta = Annotated[float, Field(ge=0, lt=1)]


class CleaningConfig(Section):
    """Rules that drop training pairs; every drop is counted in the report.

    Attributes:
        max_words: largest length of a side in words separated by white space.
        max_characters: largest length of a side in characters.
        max_ratio: largest ratio of the lengths of both sides, in characters; sides below 20 characters are exempt.
        duplicates: drop repeated pairs.
        identical: drop pairs whose sides are equal.
        test_overlap: drop training pairs that occur in the validation or a test set, and those that share a side of 4
            words or more with one of its pairs. Case, punctuation and white space are ignored; variants are dropped,
            too.
    """

    max_words: int = Field(default=250, ge=1)
    max_characters: int = Field(default=2000, ge=1)
    max_ratio: float = Field(default=4.0, ge=1.0)
    duplicates: bool = True
    identical: bool = True
    test_overlap: bool = True


_PIECE = re.compile(rf"<(?:pad|s|/s|unk|0x[0-9A-F]{{2}})>|{SYMBOL.pattern}")  # of every tokenizer, or reserved


class TokenizerConfig(Section):
    """One SentencePiece model for both languages (section 5.1: a shared vocabulary).

    Attributes:
        vocab_size: number of pieces, special ones included.
        algorithm: SentencePiece's algorithm.
        byte_fallback: encode unknown characters as bytes, so that every text can be encoded.
        character_coverage: share of the characters of the text that become pieces.
        max_sentences: largest random sample of sentences to train on. The sample is also limited to 256 MB of text,
            or as little as 14 MB for text with few spaces, such as Chinese.
        placeholders: number of symbols that are pieces and replace text that must not be translated.
        tags: texts that are pieces, such as "<BT>", for models that are fine-tuned on tagged sources later; the tags of
            this experiment's sources are added. Each is printable text without spaces.
    """

    vocab_size: int = Field(default=8000, ge=16, le=1_000_000)
    algorithm: Literal["bpe", "unigram"] = "bpe"
    byte_fallback: bool = True
    character_coverage: float = Field(default=1.0, gt=0.9, le=1.0)
    max_sentences: int = Field(default=2_000_000, ge=1)
    placeholders: int = Field(default=0, ge=0, le=99)
    tags: tuple[str, ...] = Field(default=(), strict=False)

    @field_validator("tags")
    @classmethod
    def _can_be_pieces(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        for tag in tags:
            # Not every printable text stays whole: the tokenizer escapes its own sign for a space.
            is_word = tag.isprintable() and not {" ", "\u2581"}.intersection(tag)
            if not tag or not is_word or _PIECE.fullmatch(tag) or tags.count(tag) > 1:
                message = (
                    '{tag} cannot be a tag; write printable text without spaces, such as "<BT>", that is no special '
                    "piece, byte or placeholder, and each tag once"
                )
                raise PydanticCustomError("tags", message, {"tag": json.dumps(tag)})
        return tags


Rate = Annotated[float, Field(ge=0, le=1)]


class AugmentationConfig(Section):
    """Variants added to the training pairs.

    A rate is the probability for a source of 12 words; for other lengths, the probability is inversely proportional to
    the number of words, up to 1.

    Attributes:
        case: both sides in upper or lower case.
        title: both sides with a capital at the beginning of each word.
        capitals: text of up to 4 words without final punctuation, with another first letter.
        ending: without the final punctuation of both sides, or with one.
        symbols: placeholders, which stand for variables, in place of words and their translations; the tokenizer needs
            two placeholders.
        names: another name of the corpus in place of one that both sides share.
        spelling: the source without letters that many keyboards lack ("Strasse", "Gruesse"), for languages with such
            rules.
        typos: the source with one or two typing errors.
        values: other dates, times, weekdays, months, numbers and amounts in place of those that both sides share,
            written as CLDR does, for German and English; the rate is the same for all lengths, and rare kinds give
            several variants.
        joined: a pair of whole sentences and those that follow it in its source, 25 to 75 words in all, as one pair;
            the rate is the same for all lengths.
        formality: share of the pairs with "Sie", "du" or "ihr" in the German target whose source begins with the tag
            <formal> or <informal>; of the pairs that address nobody, a fifth of this share gets one of the two; adds no
            variants.
    """

    case: Rate = 0.0
    title: Rate = 0.0
    capitals: Rate = 0.0
    ending: Rate = 0.0
    symbols: Rate = 0.0
    names: Rate = 0.0
    spelling: Rate = 0.0
    typos: Rate = 0.0
    values: Rate = 0.0
    joined: Rate = 0.0
    formality: Rate = 0.0


_ARCHITECTURE: dict[str, Any] = {
    name: (kind | None, None)
    for name, kind in get_type_hints(ModelConfig).items()
    if name not in ("vocab_size", "pad", "bos", "eos")
}


class ModelSection(create_model("Architecture", __base__=Section, **_ARCHITECTURE)):  # type: ignore[misc]
    """A preset by name and the fields of ModelConfig that differ from it; None keeps the value of the preset.

    Attributes:
        preset: a table of transformer/presets.toml, such as "paper-base" (table 3).
    """

    preset: str = "paper-base"

    def architecture(self, vocab_size: int) -> ModelConfig:
        """Return the architecture with a vocabulary of this size; ConfigError if fields contradict each other."""
        return model_config(self.preset, self.model_dump(exclude={"preset"}), vocab_size=vocab_size)


class TrainingConfig(Section):
    """Section 5 of the paper; the defaults are the paper's where it names a value, except for `batch_tokens`.

    Attributes:
        max_steps, max_epochs: training ends at the first limit reached; at least one must be set.
        batch_tokens: padded tokens per side in one micro-batch; the paper has about 25,000 in an update.
        accumulate: micro-batches per update.
        checkpoint_activations: keep only the inputs of layers for the backward pass and recompute the rest: less
            memory, about a third more work, the same result.
        parallel: "ddp": each process of torchrun holds the whole model; "fsdp": each holds a shard, for models that
            do not fit into one GPU. Without effect on a single process.
        cuda_graphs: on one GPU, record the kernels of an update once for each shape of batch; for models that a GPU
            computes faster than the host starts its kernels. Weights that are multiplied, activations and gradients
            then have the type of `precision`. Without R-Drop; without effect elsewhere.
        max_tokens: longest sentence to train on, in tokens per side; longer ones are skipped and reported.
        subword_dropout: probability that a piece is split into shorter pieces, anew each time that a sentence is used,
            as in BPE-dropout (Provilkov et al., 2020). `batch_tokens` counts the pieces before it.
        lr: peak learning rate; None is the paper's d_model^-0.5 * warmup_steps^-0.5 (5.3).
        warmup_steps: steps of linear rise, before the decay with the inverse square root (5.3).
        cooldown: share of all steps, at the end, in which the learning rate falls linearly to zero; the paper has 0.
        optimizer: "adam": the paper's (5.3); "muon": matrices of layers follow their orthogonalised momentum (Jordan et
            al., 2024), with the same `lr`, and all else follows Adam.
        adam_betas, adam_eps, weight_decay: parameters of Adam (5.3); weight decay is decoupled.
        label_smoothing: probability mass spread over the vocabulary (5.4).
        r_drop: weight alpha of R-Drop (Liang et al., 2021), such as 5: each batch is computed twice with other dropout,
            and the divergence of the outputs is added to the loss; for small corpora. 0 turns it off.
        clip_norm: largest gradient norm; None does not clip, like the paper.
        precision: type of matrix products; "auto" chooses bf16 if it is faster on this machine, and otherwise fp32.
        valid_every: steps between validations; None is once an epoch.
        valid_bleu_sentences: validation pairs, from the first, that greedy search translates for BLEU; 0 turns it off.
            `translate evaluate --valid` translates all of them with the model's beam, so its BLEU differs.
        save_every: steps between the checkpoints that averaging uses; None saves with every validation.
        save_minutes: minutes between additional checkpoints, for resuming only; 0 turns them off.
        keep_last: checkpoints kept in addition to the best one.
        average_last: checkpoints averaged into the final model (6.1: 5 for base, 20 for big).
        best_by: validation score that selects the best checkpoint and that `patience` watches.
        final: final model: the mean of the last checkpoints, or the best one. With `ema`, the moving average replaces
            the mean.
        ema: decay of a moving average of the parameters, such as 0.999; the average is validated and becomes the
            final model. None turns it off.
        parent_share: interpolation weight of the parent, the model after --from: the final weights are (1 - share) *
            trained + share * parent (WiSE-FT; Wortsman et al., 2022, "Robust fine-tuning of zero-shot models"). The
            mean is often better than both on text that is unlike the new corpus.
        patience: validations without a better score before training stops; None never stops early.
        log_every: steps between lines of metrics.jsonl.
        tensorboard: also write metrics for TensorBoard; needs the extra `tensorboard`.
        seed: of initialisation, dropout and batch order.
    """

    max_steps: int | None = Field(default=None, ge=1)
    max_epochs: int | None = Field(default=None, ge=1)
    batch_tokens: int = Field(default=4096, ge=1)
    accumulate: int = Field(default=1, ge=1)
    checkpoint_activations: bool = False
    parallel: Literal["ddp", "fsdp"] = "ddp"
    cuda_graphs: bool = False
    max_tokens: int = Field(default=256, ge=2)
    subword_dropout: float = Field(default=0.0, ge=0, lt=1)
    lr: float | None = Field(default=None, gt=0)
    warmup_steps: int = Field(default=4000, ge=1)
    cooldown: float = Field(default=0.0, ge=0, le=1)
    optimizer: Literal["adam", "muon"] = "adam"
    adam_betas: tuple[Beta, Beta] = Field(default=(0.9, 0.98), strict=False)
    adam_eps: float = Field(default=1e-9, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    r_drop: float = Field(default=0.0, ge=0)
    clip_norm: float | None = Field(default=None, gt=0)
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    valid_every: int | None = Field(default=None, ge=1)
    valid_bleu_sentences: int = Field(default=500, ge=0)
    save_every: int | None = Field(default=None, ge=1)
    save_minutes: float = Field(default=10.0, ge=0)
    keep_last: int = Field(default=5, ge=1)
    average_last: int = Field(default=5, ge=1)
    best_by: Literal["loss", "bleu"] = "loss"
    final: Literal["average", "best"] = "average"
    ema: float | None = Field(default=None, gt=0, lt=1)
    parent_share: float = Field(default=0.0, ge=0, lt=1)
    patience: int | None = Field(default=None, ge=1)
    log_every: int = Field(default=50, ge=1)
    tensorboard: bool = False
    seed: int = Field(default=1, ge=0, lt=2**63)

    @field_validator("best_by")
    @classmethod
    def _needs_bleu(cls, best_by: str, others: ValidationInfo) -> str:
        if best_by == "bleu" and others.data.get("valid_bleu_sentences") == 0:
            raise PydanticCustomError("best_by", "needs translations; set training.valid_bleu_sentences above 0")
        return best_by

    @model_validator(mode="after")
    def _longest_sentence_fits(self) -> "TrainingConfig":
        if self.max_tokens > self.batch_tokens:
            raise PydanticCustomError(
                "max_tokens",
                "max_tokens = {longest} exceeds batch_tokens = {batch}, so the longest sentence would not fit into a "
                "batch; lower the former or raise the latter",
                {"longest": self.max_tokens, "batch": self.batch_tokens},
            )
        return self


class DecodingSection(Section):
    """Section 6.1: beam 4, alpha 0.6, at most input length + 50 tokens.

    Attributes:
        beam_size: hypotheses kept per step (6.1).
        alpha: exponent of the length penalty "gnmt" (6.1).
        length_penalty: divisor of the log-probability: "gnmt" is ((5 + length) / 6)^alpha (6.1), "average" the length,
            "none" 1.
        max_extra: limit of the output length, in tokens above the length of the source (6.1).
    """

    beam_size: int = Field(default=SearchConfig.beam_size, ge=1, le=MAX_BEAM_SIZE)
    alpha: float = Field(default=SearchConfig.alpha, ge=0, le=MAX_ALPHA)
    length_penalty: LengthRule = SearchConfig.length_penalty
    max_extra: int = Field(default=SearchConfig.max_extra, ge=1, le=MAX_EXTRA)

    def settings(self) -> SearchConfig:
        """Return the settings without pydantic."""
        return SearchConfig(**self.model_dump())


class ExperimentConfig(Section):
    """One experiment, complete."""

    data: DataConfig
    cleaning: CleaningConfig = CleaningConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    augmentation: AugmentationConfig = AugmentationConfig()
    model: ModelSection = ModelSection()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingSection = DecodingSection()
