"""Presets against the paper's table 3, and the error messages for wrong names and values."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import ConfigError, ModelConfig
from transformer.presets import PRESETS, model_config, resolve

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


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_builds_a_model_of_the_asked_vocabulary(name: str) -> None:
    assert model_config(name, vocab_size=37).vocab_size == 37


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_only_values_that_differ_from_the_defaults(name: str) -> None:
    default = ModelConfig(vocab_size=37)
    assert all(getattr(default, key) != value for key, value in PRESETS[name].items())


def test_only_the_projects_own_presets_change_the_initial_values() -> None:
    """The paper's presets use plain Xavier initialisation."""
    gains = {name: model_config(name, vocab_size=37).init_gain for name in PRESETS}
    assert {name for name, gain in gains.items() if gain != 1.0} == {"small", "tiny"}


def test_all_presets_differ() -> None:
    configs = [model_config(name, vocab_size=37) for name in PRESETS]
    assert len(set(configs)) == len(configs)


@given(name=st.sampled_from(sorted(PRESETS)), overrides=FIELDS)
def test_an_override_wins_and_none_keeps_the_presets_value(name: str, overrides: dict[str, Any]) -> None:
    plain = dataclasses.asdict(model_config(name, vocab_size=37))
    given = {key: value for key, value in overrides.items() if value is not None}
    assert dataclasses.asdict(resolve(name, overrides, 37)) == {**plain, **given}


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
        resolve("paper-base", {"d_model": 100}, 37)
    with pytest.raises(ConfigError, match="model.d_modle is not a known key"):
        resolve("paper-base", {"d_modle": 100}, 37)
