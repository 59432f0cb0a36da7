"""Frozen, validated values of a model and of a search: architecture, settings, requests and hypotheses.

`ModelConfig` is an architecture; its defaults are the row "base" of table 3 of Vaswani et al. (2017). `presets.toml`
has the other rows and other published recipes: of each, the differences from the defaults, as a blank in table 3 means
"as base". A preset describes the model only; batches, learning rates and label smoothing are in `configs/`.

`SearchConfig` has the settings of a search (6.1), which finds each `Hypothesis` of a `Request`.

Imports the standard library only, so that engines other than PyTorch can use these values without importing torch.
"""

import difflib
import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

Norm = Literal["post", "pre"]
Positions = Literal["sinusoidal", "sinusoidal-blocks", "learned"]
Tying = Literal["all", "target", "none"]
Activation = Literal["relu", "swish"]
LengthRule = Literal["gnmt", "average", "none"]

FORMAT = 1  # of config.json
MAX_LAYERS, MAX_SINUSOIDS = 1000, 2**16  # larger values only exhaust memory
MAX_ALPHA = 10.0  # larger exponents exhaust the range of floats
MAX_BEAM_SIZE, MAX_EXTRA = 256, 10_000  # that a user may choose; larger values only exhaust memory
DECODING = ("beam_size", "alpha", "length_penalty", "max_extra")  # settings of `SearchConfig` that a model brings
_SIZES = ("vocab_size", "d_model", "n_heads", "d_ff", "n_encoder_layers", "n_decoder_layers", "max_length")


class ConfigError(ValueError):
    """An invalid configuration; the message names the key, its value and the rule."""


class CheckpointError(ValueError):
    """A folder that cannot be used as a model; the message names the file and the reason."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Architecture of one Transformer.

    Attributes:
        vocab_size: rows of the embedding (3.4); one vocabulary serves both languages.
        d_model: width of the residual stream (3.1).
        n_heads: attention heads h (3.2.2).
        d_k, d_v: width of one head's keys and values; None is d_model / n_heads (3.2.2).
        d_ff: inner width of the feed-forward network (3.3).
        n_encoder_layers, n_decoder_layers: depth of the stacks, N in the paper (3.1).
        dropout: on every sub-layer's output and on embedding + position (5.4).
        attention_dropout: on the attention weights, after the softmax; the paper has none.
        ffn_dropout: on the inner layer of the feed-forward network, after the activation; the paper has none.
        norm: "post" is LayerNorm(x + Sublayer(x)) (3.1); "pre" is x + Sublayer(LayerNorm(x)) and a final norm.
        norm_eps: epsilon of the layer norms; the paper gives no value, and other toolkits differ.
        positions: "sinusoidal" is the paper's interleaved order (3.5), "sinusoidal-blocks" the order and frequencies
            of the authors' code, "learned" is row E of table 3.
        max_length: number of learned positions, and of stored sinusoids, which are computed beyond it.
        tying: "all" shares one matrix between source, target and pre-softmax (3.4), "target" the latter two only.
        attention_bias: biases in the four attention projections; the paper's formulas have none.
        output_bias: a bias of the logits; not in the paper, other toolkits have it.
        activation: between the two layers of 3.3; "relu" is the paper's, "swish" is x * sigmoid(x).
        init_gain: factor on the Xavier bounds of W^V, W^O, W_1 and W_2 (beta of DeepNet, Wang et al. 2022, without its
            alpha); 1 is plain Xavier. The paper gives no value.
        window: restricted self-attention (table 1): a position sees keys at most so far away, r = 2 window + 1 in all;
            None sees all.
        pad, bos, eos: ids of padding, of the token that starts decoding, and of the one that ends a sentence.
    """

    vocab_size: int
    d_model: int = 512
    n_heads: int = 8
    d_k: int | None = None
    d_v: int | None = None
    d_ff: int = 2048
    n_encoder_layers: int = 6
    n_decoder_layers: int = 6
    dropout: float = 0.1
    attention_dropout: float = 0.0
    ffn_dropout: float = 0.0
    norm: Norm = "post"
    norm_eps: float = 1e-5
    positions: Positions = "sinusoidal"
    max_length: int = 1024
    tying: Tying = "all"
    attention_bias: bool = False
    output_bias: bool = False
    activation: Activation = "relu"
    init_gain: float = 1.0
    window: int | None = None
    pad: int = 0
    bos: int = 1
    eos: int = 2

    def __post_init__(self) -> None:
        for name, choices in (("norm", Norm), ("positions", Positions), ("tying", Tying), ("activation", Activation)):
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise ConfigError(f"model.{name} = {getattr(self, name)!r:.80} is none of: {known}")
        for name, hint in _hints().items():
            if not _fits(getattr(self, name), hint):
                raise ConfigError(f"model.{name} = {getattr(self, name)!r:.80} has the wrong type")
        for name in (*_SIZES, "d_k", "d_v", "window"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ConfigError(f"model.{name} = {value} must be at least 1")
        for name in ("n_encoder_layers", "n_decoder_layers"):
            if getattr(self, name) > MAX_LAYERS:
                raise ConfigError(f"model.{name} = {getattr(self, name)} must be at most {MAX_LAYERS}")
        if self.positions != "learned" and self.max_length > MAX_SINUSOIDS:
            raise ConfigError(f"model.max_length = {self.max_length} must be at most {MAX_SINUSOIDS} for sinusoids")
        for name in ("dropout", "attention_dropout", "ffn_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigError(f"model.{name} = {getattr(self, name)} must be in [0, 1)")
        if not 0.0 < self.init_gain <= 10.0:
            raise ConfigError(f"model.init_gain = {self.init_gain} must be above 0 and at most 10")
        if not 0.0 < self.norm_eps < 1.0:
            raise ConfigError(f"model.norm_eps = {self.norm_eps} must be in (0, 1)")
        if None in (self.d_k, self.d_v) and self.d_model % self.n_heads:
            raise ConfigError(f"model.d_model = {self.d_model} is not a multiple of model.n_heads = {self.n_heads}")
        if self.d_model % 2 and self.positions != "learned":
            raise ConfigError(f"model.d_model = {self.d_model} must be even: sinusoids come in pairs")
        special = {self.pad, self.bos, self.eos}
        if len(special) < 3 or min(special) < 0 or max(special) >= self.vocab_size:
            raise ConfigError(
                f"model.pad, model.bos, model.eos = {self.pad}, {self.bos}, {self.eos} must be three different ids "
                f"below model.vocab_size = {self.vocab_size}"
            )

    @property
    def d_key(self) -> int:
        """Width of one head's queries and keys, d_k of 3.2.2."""
        return self.d_model // self.n_heads if self.d_k is None else self.d_k

    @property
    def d_value(self) -> int:
        """Width of one head's values, d_v of 3.2.2."""
        return self.d_model // self.n_heads if self.d_v is None else self.d_v

    @property
    def max_positions(self) -> int | None:
        """Number of learned positions (table 3, row E); None for sinusoids, which have no end."""
        return self.max_length if self.positions == "learned" else None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelConfig":
        """Return the config of plain data such as JSON; ConfigError for unknown or missing keys and wrong types."""
        for key in values:
            if key not in _hints():
                raise ConfigError(
                    f"model.{key} is not a known key; known keys: {', '.join(f.name for f in fields(cls))}"
                )
        if "vocab_size" not in values:
            raise ConfigError("model.vocab_size is missing")
        return cls(**values)


def load_config(folder: Path) -> ModelConfig:
    """Return the architecture of the model in `folder`.

    CheckpointError if its config.json cannot be used, or describes a much larger model than its weights: making that
    could take all of the memory.
    """
    path = folder / "config.json"
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        if description["format"] != FORMAT:
            raise CheckpointError(f"{path}: format {description['format']} is unknown; this version reads {FORMAT}")
        config = ModelConfig.from_dict(description["model"])
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot read the model's config: {error.strerror}; copy the folder again"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, CheckpointError):
            raise
        reason = error if isinstance(error, ConfigError) else "it is damaged or belongs to another program"
        raise CheckpointError(f"{path}: not a config of this toolkit: {reason}; copy the folder again") from error
    _check_size(config, folder)
    return config


def _check_size(config: ModelConfig, folder: Path) -> None:
    """Raise CheckpointError if the weights in `folder` are far too few; loading them shows every difference."""
    weights = folder / "model.safetensors"
    try:
        tensors = tensor_header(weights)
        n_stored = sum(
            min(math.prod(tensor["shape"]), tensor["data_offsets"][1] - tensor["data_offsets"][0])
            for tensor in tensors.values()
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return
    attention = config.n_heads * (config.d_key + config.d_value)
    n_layers = config.n_encoder_layers + config.n_decoder_layers
    rows = config.vocab_size + (config.max_positions or 0) + n_layers * (attention + config.d_ff)
    if rows * config.d_model > 10 * n_stored:
        raise CheckpointError(
            f"{folder / 'config.json'}: a model of these sizes has more than {rows * config.d_model:,} parameters, and "
            f"{weights.name} holds {n_stored:,}; config and weights do not belong together, so copy the folder again"
        )


def tensor_header(path: Path) -> dict[str, Any]:
    """Return type, shape and place of each tensor of a safetensors file; ValueError if it has another length.

    The library would do it too, but imports numpy, which takes longer than the translation of a sentence.
    """
    with path.open("rb") as file:
        n_bytes = int.from_bytes(file.read(8), "little")
        if not 0 < n_bytes < path.stat().st_size:
            raise ValueError("no header")
        header: dict[str, Any] = json.loads(file.read(n_bytes))
    header.pop("__metadata__", None)
    end = max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
    if path.stat().st_size != 8 + n_bytes + end:
        raise ValueError("truncated")
    return header


@functools.cache
def _hints() -> Mapping[str, Any]:
    """Return the types of the fields by name."""
    return get_type_hints(ModelConfig)


def _fits(value: object, hint: Any) -> bool:
    """Return whether a JSON value fits a field's type; an int is a float, but a bool is not a number."""
    options = get_args(hint) or (hint,)  # the values of a Literal, or types
    return value in options or type(value) in options or (type(value) is int and float in options)


def model_config(preset: str, overrides: Mapping[str, object] | None = None, *, vocab_size: int) -> ModelConfig:
    """Return the architecture of a preset, with some fields replaced.

    Args:
        overrides: new values of fields; None keeps the preset's value.

    ConfigError if the preset or a field is unknown, or if the values do not describe a model.
    """
    known = presets()
    if preset not in known:
        near = difflib.get_close_matches(preset, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known presets: {', '.join(known)}"
        raise ConfigError(f"model.preset = {preset!r} is not a known preset; {hint}")
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    return ModelConfig.from_dict({**known[preset], **given, "vocab_size": vocab_size})


@functools.cache
def presets() -> Mapping[str, Mapping[str, object]]:
    """Return the tables of `presets.toml` by name: the fields that differ from the defaults."""
    import tomllib  # here, as each command imports this module and few need presets

    return tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))


# A search


def length_penalty(length: int, alpha: float, rule: LengthRule = "gnmt") -> float:
    """Return the divisor that turns a log-probability into a score; it never decreases with the length.

    Args:
        length: number of tokens, eos included.
        alpha: exponent of "gnmt"; the other rules ignore it.
        rule: "gnmt" is ((5 + length) / 6)^alpha of Wu et al. (2016), which section 6.1 uses; "average" is the length
            (length normalisation); "none" is 1.
    """
    if rule == "gnmt":
        return float(((5 + length) / 6) ** alpha)
    return float(length) if rule == "average" else 1.0


@dataclass(frozen=True)
class Sampling:
    """The distribution to sample from; ValueError if a value is out of range.

    Attributes:
        temperature: divisor of the logits; below 1, probable tokens become more probable.
        top_k: keep only the k most probable tokens (Fan et al., 2018) and ties of the last one; 0 keeps all.
        top_p: keep only the smallest set of most probable tokens with at least this probability (Holtzman et al.,
            2020); applied after `top_k`.
        seed: of the random generators.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature = {self.temperature}: must be above 0")
        if self.top_k < 0:
            raise ValueError(f"top_k = {self.top_k}: must not be negative")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p = {self.top_p}: must be above 0 and at most 1")


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Settings of a search; ValueError if one is out of range. The defaults are those of section 6.1.

    Attributes:
        bos, eos: ids of the tokens that start and end an output. Functions that also receive a model use its ids.
        beam_size: hypotheses per sentence; in constrained search, hypotheses per bank. 1 is greedy search.
        alpha: exponent of the length penalty "gnmt", from 0.
        length_penalty: divisor of the log-probability; see the function of this name.
        max_extra: an output may have this many tokens more than its source, eos included.
        n_best: hypotheses to return per sentence, from 1 to beam_size; fewer if fewer finish. The number of samples.
        no_repeat: no n-gram of this many tokens may occur twice in an output; 0 allows all.
        coverage: weight of the coverage penalty (`transformer.search.coverage`), by which finished hypotheses are
            ranked; 0 does not use it.
        sampling: the distribution to sample from; None searches.
        phrase_alpha: alpha of outputs that must contain phrases; None is `alpha`, at most that of section 6.1: a phrase
            may be improbable, and with a greater exponent a longer output would make up for it.
    """

    bos: int = 1
    eos: int = 2
    beam_size: int = 4
    alpha: float = 0.6
    length_penalty: LengthRule = "gnmt"
    max_extra: int = 50
    n_best: int = 1
    no_repeat: int = 0
    coverage: float = 0.0
    sampling: Sampling | None = None
    phrase_alpha: float | None = None

    def __post_init__(self) -> None:
        for name in ("bos", "eos", "beam_size", "max_extra", "n_best", "no_repeat"):
            if type(value := getattr(self, name)) is not int:
                raise ValueError(f"{name} = {value!r} must be a whole number")
        if min(self.bos, self.eos) < 0 or self.bos == self.eos:
            raise ValueError(f"bos, eos = {self.bos}, {self.eos} must be two different token ids")
        if not 1 <= self.n_best <= self.beam_size:
            raise ValueError(f"n_best = {self.n_best} must be between 1 and beam_size = {self.beam_size}")
        if not 0 <= self.alpha <= MAX_ALPHA:
            raise ValueError(f"alpha = {self.alpha} must be between 0 and {MAX_ALPHA:g}")
        if self.phrase_alpha is not None and not 0 <= self.phrase_alpha <= MAX_ALPHA:
            raise ValueError(f"phrase_alpha = {self.phrase_alpha} must be between 0 and {MAX_ALPHA:g}")
        if self.length_penalty not in get_args(LengthRule):
            raise ValueError(f"length_penalty = {self.length_penalty!r} is none of: {', '.join(get_args(LengthRule))}")
        if self.max_extra < 1:
            raise ValueError(f"max_extra = {self.max_extra} must be at least 1")
        if self.no_repeat < 0:
            raise ValueError(f"no_repeat = {self.no_repeat} must not be negative")
        if not 0 <= self.coverage < float("inf"):
            raise ValueError(f"coverage = {self.coverage} must be a finite number of at least 0")

    def decoding(self) -> dict[str, Any]:
        """Return the settings that a model brings with it, by name."""
        return {name: getattr(self, name) for name in DECODING}

    def penalty(self, length: int) -> float:
        """Return the length penalty of an output of `length` tokens, eos included."""
        return length_penalty(length, self.alpha, self.length_penalty)

    def hypothesis(self, tokens: list[int], log_prob: float) -> "Hypothesis":
        """Return the finished hypothesis with its score; `tokens` come without eos."""
        return Hypothesis(tokens, log_prob, log_prob / self.penalty(len(tokens) + 1))


@dataclass(frozen=True, order=True)
class Request:
    """One source to translate.

    Attributes:
        ids: token ids of the source, without eos.
        max_length: maximum number of tokens of an output, eos included.
        prefix: token ids that every output starts with.
        phrases: token ids of the phrases that every output contains.
    """

    ids: tuple[int, ...]
    max_length: int
    prefix: tuple[int, ...] = ()
    phrases: tuple[tuple[int, ...], ...] = ()

    @property
    def n_phrase_tokens(self) -> int:
        """Number of tokens of all phrases."""
        return sum(map(len, self.phrases))


@dataclass(frozen=True)
class Hypothesis:
    """One finished output.

    Attributes:
        tokens: token ids, without eos.
        log_prob: log P(tokens, eos).
        score: `log_prob` divided by the length penalty, plus `coverage`.
        coverage: the coverage penalty (`transformer.search.coverage`); 0 if it is not used.
    """

    tokens: list[int]
    log_prob: float
    score: float
    coverage: float = 0.0


Ids = tuple[int, ...]
TokenIds = Sequence[Sequence[int]]  # of each sentence, without eos
Hypotheses = list[list[Hypothesis]]  # of each request, best first
Attention = list[list[float]]  # of a pair: a row for each target token, with a weight for each source token
