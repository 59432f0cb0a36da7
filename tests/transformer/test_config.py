"""An invalid ModelConfig raises an error with the key, its value and the rule; presets are those of table 3."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import ConfigError, ModelConfig, model_config, presets

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
        ({"norm": "middle"}, "model.norm = 'middle' is none of: post, pre"),
        ({"norm_eps": 0.0}, "model.norm_eps = 0.0 must be in (0, 1)"),
        ({"init_gain": 0.0}, "model.init_gain = 0.0 must be above 0 and at most 10"),
        ({"init_gain": 10.5}, "model.init_gain = 10.5 must be above 0 and at most 10"),
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
    if "known key" not in message:
        with pytest.raises(ConfigError, match=re.escape(message)):
            ModelConfig(vocab_size=7, **values)


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


PAPER = json.loads((Path(__file__).parent / "paper.json").read_text(encoding="utf-8"))
# These two rows change the loss, not the model.
ROWS = [row for row in PAPER["table3"] if "label_smoothing" not in row["differs"]]
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "d_model": st.none() | st.sampled_from([64, 96]),
        "d_ff": st.none() | st.integers(1, 300),
        "dropout": st.none() | st.floats(0, 0.9),
        "norm": st.none() | st.sampled_from(["post", "pre"]),
        "window": st.none() | st.integers(1, 9),
    },
)


@pytest.mark.parametrize("row", ROWS, ids=[row["row"] for row in ROWS])
def test_a_row_of_table_3_has_the_papers_values_and_otherwise_the_defaults(row: dict[str, Any]) -> None:
    model_fields = {field.name for field in dataclasses.fields(ModelConfig)}
    values = {key: value for key, value in {**PAPER["base"], **row["differs"]}.items() if key in model_fields}
    config = model_config(f"paper-{row['row']}", vocab_size=37)
    written_out = dataclasses.replace(config, d_k=config.d_key, d_v=config.d_value)
    assert written_out == ModelConfig(vocab_size=37, **values)


@pytest.mark.parametrize("name", presets())
def test_every_preset_builds_a_model_of_the_asked_vocabulary(name: str) -> None:
    assert model_config(name, vocab_size=37).vocab_size == 37


@pytest.mark.parametrize("name", presets())
def test_a_preset_sets_only_values_that_differ_from_the_defaults(name: str) -> None:
    default = ModelConfig(vocab_size=37)
    assert all(getattr(default, key) != value for key, value in presets()[name].items())


def test_only_the_projects_own_presets_change_the_initial_values() -> None:
    """The paper's presets use plain Xavier initialisation."""
    gains = {name: model_config(name, vocab_size=37).init_gain for name in presets()}
    assert {name for name, gain in gains.items() if gain != 1.0} == {"small", "tiny"}


def test_all_presets_differ() -> None:
    configs = [model_config(name, vocab_size=37) for name in presets()]
    assert len(set(configs)) == len(configs)


@given(name=st.sampled_from(sorted(presets())), overrides=FIELDS)
def test_an_override_wins_and_none_keeps_the_presets_value(name: str, overrides: dict[str, Any]) -> None:
    plain = dataclasses.asdict(model_config(name, vocab_size=37))
    given = {key: value for key, value in overrides.items() if value is not None}
    assert dataclasses.asdict(model_config(name, overrides, vocab_size=37)) == {**plain, **given}


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match="^model.preset = 'paper-bas' is not a known preset; did you mean 'paper-base'"
    ):
        model_config("paper-bas", vocab_size=37)


def test_a_preset_name_without_similar_names_lists_all() -> None:
    with pytest.raises(ConfigError, match="known presets: paper-base, .*tiny$"):
        model_config("???", vocab_size=37)


def test_an_override_that_fits_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="model.d_model = 100 is not a multiple of model.n_heads = 8"):
        model_config("paper-base", {"d_model": 100}, vocab_size=37)
    with pytest.raises(ConfigError, match="model.d_modle is not a known key"):
        model_config("paper-base", {"d_modle": 100}, vocab_size=37)


@pytest.mark.parametrize("values", [{"activation": "x" * 10**6}, {"d_model": [7] * 10**5}], ids=["choice", "type"])
def test_a_message_is_short_whatever_a_file_holds(values: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as error:
        ModelConfig.from_dict({"vocab_size": 11} | values)
    assert len(str(error.value)) < 200
