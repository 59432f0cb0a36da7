"""An invalid ModelConfig raises an error with the key, its value and the rule."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import ConfigError, ModelConfig

RATES = st.floats(0, 1, exclude_max=True)
SIZES = st.integers(1, 99)
VALID = st.builds(
    ModelConfig,
    vocab_size=st.integers(3, 99),
    d_model=SIZES.map(lambda n: 2 * n),
    n_heads=SIZES,
    d_k=SIZES,
    d_v=SIZES,
    d_ff=SIZES,
    n_encoder_layers=SIZES,
    n_decoder_layers=SIZES,
    dropout=RATES,
    attention_dropout=RATES,
    ffn_dropout=RATES,
    norm=st.sampled_from(["post", "pre"]),
    norm_eps=st.floats(1e-12, 0.9),
    positions=st.sampled_from(["sinusoidal", "sinusoidal-blocks", "learned"]),
    max_length=SIZES,
    tying=st.sampled_from(["all", "target", "none"]),
    attention_bias=st.booleans(),
    output_bias=st.booleans(),
    activation=st.sampled_from(["relu", "swish"]),
    window=st.none() | SIZES,
)


@given(VALID)
def test_a_config_survives_json(config: ModelConfig) -> None:
    assert ModelConfig.from_dict(json.loads(json.dumps(dataclasses.asdict(config)))) == config


@given(n_heads=st.integers(1, 9), width=st.integers(1, 9))
def test_heads_share_the_width_unless_their_own_is_given(n_heads: int, width: int) -> None:
    config = ModelConfig(vocab_size=7, d_model=2 * n_heads * width, n_heads=n_heads)
    assert config.d_key == config.d_value == 2 * width
    assert dataclasses.replace(config, d_k=5).d_key == 5
    assert dataclasses.replace(config, d_v=3).d_value == 3


@pytest.mark.parametrize(
    "field",
    ["vocab_size", "d_model", "n_heads", "d_k", "d_v", "d_ff", "n_encoder_layers", "n_decoder_layers", "max_length"],
)
@given(value=st.integers(-9, 0))
def test_sizes_must_be_at_least_one(field: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"model.{field} = {value} must be at least 1"):
        ModelConfig.from_dict({"vocab_size": 7, field: value})


@pytest.mark.parametrize("field", ["dropout", "attention_dropout", "ffn_dropout"])
@given(value=st.floats(max_value=-1e-9) | st.floats(min_value=1) | st.just(float("nan")))
def test_dropout_is_a_probability_below_one(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"model.{field} = .* must be in \\[0, 1\\)"):
        ModelConfig.from_dict({"vocab_size": 7, field: value})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"d_model": 100}, "model.d_model = 100 is not a multiple of model.n_heads = 8"),
        ({"d_model": 7, "n_heads": 7}, "model.d_model = 7 must be even: sinusoids come in pairs"),
        ({"norm": "middle"}, "model.norm = 'middle' has the wrong type"),
        ({"norm_eps": 0.0}, "model.norm_eps = 0.0 must be in (0, 1)"),
        ({"window": 0}, "model.window = 0 must be at least 1"),
        ({"bos": 2}, "must be three different ids below model.vocab_size = 7"),
        ({"eos": 7}, "must be three different ids below model.vocab_size = 7"),
        ({"pad": -1}, "must be three different ids below model.vocab_size = 7"),
        ({"d_modle": 64}, "model.d_modle is not a known key; known keys: vocab_size, d_model, "),
        ({"d_model": "64"}, "model.d_model = '64' has the wrong type"),
        ({"d_model": 64.0}, "model.d_model = 64.0 has the wrong type"),
        ({"n_heads": True}, "model.n_heads = True has the wrong type"),
        ({"dropout": False}, "model.dropout = False has the wrong type"),
        ({"attention_bias": 1}, "model.attention_bias = 1 has the wrong type"),
    ],
)
def test_a_mistake_is_named_with_its_key_value_and_rule(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig.from_dict({"vocab_size": 7, **values})
    assert message in str(caught.value)


def test_an_invalid_choice_lists_the_choices() -> None:
    with pytest.raises(ConfigError, match="model.tying = 'some' is none of: all, target, none"):
        ModelConfig(vocab_size=7, tying="some")  # type: ignore[arg-type]


def test_a_vocabulary_size_is_required() -> None:
    with pytest.raises(ConfigError, match="model.vocab_size is missing"):
        ModelConfig.from_dict({})


def test_learned_positions_allow_an_odd_width() -> None:
    assert ModelConfig(vocab_size=7, d_model=7, n_heads=7, positions="learned").d_key == 1


def test_a_config_never_changes() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig(vocab_size=7).d_model = 64  # type: ignore[misc]
