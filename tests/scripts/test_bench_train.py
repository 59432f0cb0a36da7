"""The training benchmark, on a tiny model."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from tests import forks
from tests.programs import SCRIPTS, case
from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.corpus.batches import collate
from translate.corpus.prepare import EncodedPairs

bench = case("train")


@pytest.mark.slow
def test_contenders_are_timed_and_named_on_stderr() -> None:
    options = ["--preset", "tiny", "--against", "torch", "--rounds", "2", "--steps", "2", "--batch-tokens", "128"]
    command = [sys.executable, str(SCRIPTS / "bench.py"), "train", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "torch: round 2" in done.stderr
    record = json.loads(done.stdout.splitlines()[-1])
    assert list(record["contenders"]) == ["ours", "torch"]
    assert record["optimizer"] == "fused AdamW"
    assert record["contenders"]["ours"]["ours_is_times"] == 1
    assert record["contenders"]["torch"]["tokens_per_s"] > 0


SIZES = {"vocab_size": 23, "d_model": 12, "n_heads": 2, "d_ff": 20, "n_encoder_layers": 2, "n_decoder_layers": 3}


def test_torch_drops_what_ours_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of both embeddings and the output of each sublayer (section 5.4), and nothing inside of a sublayer."""
    dropped: list[float] = []
    functions = torch.nn.functional
    attend = functions.scaled_dot_product_attention

    def dropout(x: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
        dropped.extend([p] if training and p else [])
        return x

    def attention(*tensors: torch.Tensor, dropout_p: float = 0.0, **options: object) -> torch.Tensor:
        dropped.extend([dropout_p] if dropout_p else [])
        return attend(*tensors, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(functions, "dropout", dropout)
    monkeypatch.setattr(functions, "scaled_dot_product_attention", attention)
    pairs = EncodedPairs.of([[5, 7, 9]], [[9, 4, 8, 6, 11]])
    bench.PlainTorch(ModelConfig(**SIZES, dropout=0.3)).train()(collate(pairs, np.array([0]), pad=0, bos=1, eos=2))
    assert dropped == [0.3] * (2 + 2 * 2 + 3 * 3)


def test_the_weights_of_torch_begin_in_the_ranges_of_ours() -> None:
    torch.manual_seed(3)
    config = ModelConfig(**{**SIZES, "d_model": 96, "d_ff": 160}, init_gain=0.5)
    ours, plain = Transformer(config), bench.PlainTorch(config)

    def ranges(*weights: torch.Tensor) -> list[float]:
        return [float(weight.detach().abs().max()) for weight in weights]

    layer, other = ours.decoder[2], plain.transformer.decoder.layers[2]
    for mine, its in ((layer.self_attn, other.self_attn), (layer.cross_attn, other.multihead_attn)):
        expected = ranges(*mine.w_qkv.weight.chunk(3), mine.w_o.weight)
        assert ranges(*its.in_proj_weight.chunk(3), its.out_proj.weight) == pytest.approx(expected, rel=0.01)
    expected = ranges(layer.feed_forward.w_1.weight, layer.feed_forward.w_2.weight)
    assert ranges(other.linear1.weight, other.linear2.weight) == pytest.approx(expected, rel=0.01)


def test_ours_in_float32_computes_norms_in_it_and_products_in_bf16() -> None:
    """In a process of its own, as a contender is."""
    code = f"""
import json, sys
import numpy as np, torch
sys.path[:0] = {[str(SCRIPTS.parent), str(SCRIPTS)]!r}
from cases import train as bench
from transformer.config import ModelConfig
from translate.corpus.batches import collate
from translate.corpus.prepare import EncodedPairs
batch = collate(EncodedPairs.of([[5, 7, 9]], [[9, 4, 8, 6, 11]]), np.array([0]), pad=0, bos=1, eos=2)
found = {{}}
for name in ("ours", "ours-float32"):
    model, update = bench.MAKERS[name](ModelConfig(**{SIZES!r}, dropout=0.1), torch.device("cpu"), torch.bfloat16)
    types = found[name] = {{"LayerNorm": set(), "Linear": set()}}
    for module in model.modules():
        if (kind := type(module).__name__) in types:
            module.register_forward_hook(lambda _, x, y, kind=kind, types=types: types[kind].add(str(y.dtype)))
    update(batch, 0.01)
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())
print(json.dumps({{name: {{kind: sorted(types) for kind, types in of.items()}} for name, of in found.items()}}))
"""
    done = forks.run(["-c", code])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "ours": {"LayerNorm": ["torch.bfloat16"], "Linear": ["torch.bfloat16"]},
        "ours-float32": {"LayerNorm": ["torch.float32"], "Linear": ["torch.bfloat16"]},
    }
