"""Weights read without PyTorch equal those that PyTorch reads, and give the same results in CTranslate2."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.toys import TINY, toy_model
from transformer.checkpoint_io import Storage, load_tensors, save_model
from transformer.config import ModelConfig, Positions
from transformer.positions import sinusoids
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.models import arrays
from translate.models.ctranslate2_files import _sinusoids, files


@pytest.mark.parametrize("storage", get_args(Storage))
def test_every_precision_is_read_as_pytorch_reads_it(storage: Storage, tmp_path: Path) -> None:
    save_model(toy_model(TINY), tmp_path, storage)
    expected = load_tensors(tmp_path / "model.safetensors")
    found = arrays.read(tmp_path / "model.safetensors")
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], tensor.float().numpy()) for name, tensor in expected.items())


def test_int8_without_scale_and_other_types_are_refused(tmp_path: Path) -> None:
    for tensor, named in ((torch.ones(3, 5, dtype=torch.int8), "scale"), (torch.ones(3, dtype=torch.float64), "F64")):
        save_file({"x": tensor}, tmp_path / "x")
        with pytest.raises(ValueError, match=named):
            arrays.read(tmp_path / "x")


@pytest.mark.parametrize("positions", [kind for kind in get_args(Positions) if kind != "learned"])
def test_the_table_of_positions_is_that_of_the_model(positions: Positions) -> None:
    config = ModelConfig(vocab_size=7, d_model=30, n_heads=3, positions=positions)
    np.testing.assert_allclose(_sinusoids(1100, config), sinusoids(1100, 30, positions).numpy(), rtol=0, atol=1e-7)


def test_tensors_that_do_not_belong_to_the_config_are_named(tokenizer: Tokenizer) -> None:
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, d_model=6, n_heads=2, d_ff=10, n_encoder_layers=1, n_decoder_layers=1
    )
    good = {name: tensor.numpy() for name, tensor in toy_model(config).state_dict().items()}
    name = "decoder.0.feed_forward.w_1.bias"
    for bad in (good | {name: np.ones(7, np.float32)}, {key: good[key] for key in good.keys() - {name}}):
        with pytest.raises(UserError, match=name.replace(".", r"\.")):
            files(config, bad, tokenizer, 50)
    with pytest.raises(UserError, match="'y' is not part of this model"):
        files(config, good | {"y": np.ones(3, np.float32)}, tokenizer, 50)
    assert json.loads(files(config, good, tokenizer, 50)["config.json"])["max_positions"] == 50
