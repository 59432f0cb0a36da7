"""Weights read without PyTorch equal those that PyTorch reads; int8 and padded heads change no result."""

import copy
import dataclasses
import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from tests.toys import TINY, scramble, toy_model
from transformer.attention import MultiHeadAttention, attend
from transformer.checkpoint_io import Storage, load_tensors, save_model
from transformer.config import ModelConfig, Positions
from transformer.embedding import sinusoids
from translate.corpus.grammar import generate
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.translator import Translator
from translate.models import folder as model_folder
from translate.models import registry
from translate.models.conversion import Affine, _sinusoids, convert, head_width, projections, read_weights
from translate.models.folder import ModelFolder
from translate.text.translation import EngineName, Opening


@pytest.mark.parametrize("storage", get_args(Storage))
def test_every_precision_is_read_as_pytorch_reads_it(storage: Storage, tmp_path: Path) -> None:
    save_model(toy_model(TINY), tmp_path, storage)
    expected = load_tensors(tmp_path / "model.safetensors")
    found = read_weights(tmp_path / "model.safetensors")
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], tensor.float().numpy()) for name, tensor in expected.items())


def test_int8_without_scale_and_other_types_are_refused(tmp_path: Path) -> None:
    for tensor, named in ((torch.ones(3, 5, dtype=torch.int8), "scale"), (torch.ones(3, dtype=torch.float64), "F64")):
        save_file({"x": tensor}, tmp_path / "x")
        with pytest.raises(ValueError, match=named):
            read_weights(tmp_path / "x")


@pytest.mark.parametrize("positions", [kind for kind in get_args(Positions) if kind != "learned"])
def test_the_table_of_positions_is_that_of_the_model(positions: Positions) -> None:
    config = ModelConfig(vocab_size=7, d_model=30, n_heads=3, positions=positions)
    np.testing.assert_allclose(_sinusoids(1100, config), sinusoids(1100, 30, positions).numpy(), rtol=0, atol=1e-7)


def test_tensors_that_do_not_belong_to_the_config_are_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, d_model=6, n_heads=2, d_ff=10, n_encoder_layers=1, n_decoder_layers=1
    )
    good = {name: tensor.numpy() for name, tensor in toy_model(config).state_dict().items()}
    name = "decoder.0.feed_forward.w_1.bias"
    for bad in (good | {name: np.ones(7, np.float32)}, {key: good[key] for key in good.keys() - {name}}):
        with pytest.raises(UserError, match=name.replace(".", r"\.")):
            convert(config, bad, tokenizer, 0, tmp_path, 50)
    with pytest.raises(UserError, match="'y' is not part of this model"):
        convert(config, good | {"y": np.ones(3, np.float32)}, tokenizer, 0, tmp_path, 50)
    assert not [*tmp_path.iterdir()]
    convert(config, good, tokenizer, 0, tmp_path, 50)
    assert json.loads((tmp_path / "config.json").read_bytes())["max_positions"] == 50


def test_the_tensors_of_the_caller_stay_as_they_were(parts: ModelFolder, tmp_path: Path) -> None:
    """CTranslate2 quantises in place."""
    pytest.importorskip("ctranslate2")
    before = {name: tensor.clone() for name, tensor in parts.model.state_dict().items()}
    tensors = {name: tensor.numpy() for name, tensor in parts.model.state_dict().items()}
    convert(parts.model.config, tensors, parts.tokenizer, 0, tmp_path, 50, int8=True)
    assert all(torch.equal(tensor, before[name]) for name, tensor in parts.model.state_dict().items())


@pytest.mark.parametrize("storage", get_args(Storage))
@pytest.mark.parametrize("name", ["src_embedding.weight_VD", "encoder.0.feed_forward.w_1.weight"])
def test_a_diverged_model_is_refused_however_it_is_stored(
    parts: ModelFolder, name: str, storage: Storage, tmp_path: Path
) -> None:
    """An engine may take NaN for 0, and then translates with what is left of the model."""
    diverged = copy.deepcopy(parts.model)
    with torch.no_grad():
        diverged.state_dict()[name][:, 3] = torch.nan
    model_folder.save(diverged, parts.tokenizer, parts.spec, tmp_path / "x", dtype=storage)
    assert load_tensors(tmp_path / "x" / "model.safetensors")[name].isnan().any()
    for engine in get_args(EngineName):
        with pytest.raises(UserError, match="not finite"):
            Translator.load(tmp_path / "x", opening=Opening(engine=engine, device="cpu")).translate("der Hund")


@pytest.mark.parametrize("name", ["de-en", "en-de"])
def test_matrices_written_in_int8_give_the_results_of_int8_at_loading(name: str, tmp_path: Path) -> None:
    """Scores are compared to the last bit."""
    ctranslate2 = pytest.importorskip("ctranslate2")
    parts = ModelFolder.open(registry.locate(Path(name), print))
    arrays = read_weights(parts.folder / "model.safetensors")
    pairs = generate("test", 40, 7)
    sources = [parts.tokenizer.tokens(ids) for ids in parts.tokenizer.encode_batch([p[name != "de-en"] for p in pairs])]
    found = []
    for int8 in (False, True):
        folder = tmp_path / str(int8)
        folder.mkdir()
        convert(parts.model.config, arrays, parts.tokenizer, 0, folder, 200, int8=int8)
        translator = ctranslate2.Translator(str(folder), compute_type="int8")
        results = translator.translate_batch(sources, beam_size=3, num_hypotheses=3, return_scores=True)
        found.append([(result.hypotheses, result.scores) for result in results])
    assert found[0] == found[1]


WIDE = dataclasses.replace(TINY, d_model=21, positions="learned")  # room for 3 heads of 7


def attention_by_parts(parts: dict[str, Affine], x_BTD: Tensor, n_heads: int) -> Tensor:
    """Self-attention in plain Python, with heads of equal width."""

    def heads(part: Affine) -> Tensor:
        y_BTE = x_BTD @ torch.as_tensor(part.weight).T + torch.as_tensor(part.bias)
        return y_BTE.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    read = attend(heads(parts["q"]), heads(parts["k"]), heads(parts["v"]), None)
    return read.transpose(1, 2).flatten(2) @ torch.as_tensor(parts["o"].weight).T + torch.as_tensor(parts["o"].bias)


def affine(linear: nn.Linear) -> Affine:
    bias = torch.zeros(linear.out_features, dtype=torch.float64) if linear.bias is None else linear.bias
    return Affine(linear.weight.detach().numpy(), bias.detach().numpy())


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize(("d_k", "d_v"), [(7, 7), (5, 7), (7, 3), (2, 4)])
def test_padding_the_heads_changes_nothing(d_k: int, d_v: int, biases: bool) -> None:
    config = ModelConfig(
        vocab_size=5, d_model=21, n_heads=3, d_k=d_k, d_v=d_v, attention_bias=biases, positions="learned"
    )
    attention = MultiHeadAttention(config).double().eval()
    attention.initialise()
    scramble(attention)
    x_BTD = torch.randn(2, 4, 21, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    parts = projections(affine(attention.w_qkv), affine(attention.w_o), config)
    assert all(part.weight.shape == (21, 21) and part.bias.shape == (21,) for part in parts.values())
    torch.testing.assert_close(attention_by_parts(parts, x_BTD, 3), attention(x_BTD, None))


@pytest.mark.parametrize("config", [TINY, dataclasses.replace(WIDE, d_k=8)])
def test_heads_that_do_not_fit_are_refused(config: ModelConfig) -> None:
    with pytest.raises(UserError, match="do not fit"):
        head_width(config)
