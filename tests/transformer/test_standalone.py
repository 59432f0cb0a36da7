"""A copy of the folder `transformer` works as a library of its own: it imports, learns and decodes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import transformer

PROGRAM = """
import importlib.abc
import json
import random
import sys

class OnlyTheCopy(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "translate":
            raise ModuleNotFoundError(f"{name} does not exist here")

sys.meta_path.insert(0, OnlyTheCopy())
sys.path.insert(0, sys.argv[1])

import torch
from transformer import ModelConfig, Transformer, load_model, save_model, translate_ids
from transformer.search.model_step import pad_batch
from transformer.loss import linear_smoothed_nll
from transformer.schedule import inverse_sqrt_lr
from pathlib import Path

torch.set_num_threads(1)
torch.manual_seed(0)
draw = random.Random(0)

def sentences(n):
    return [[draw.randint(3, 12) for _ in range(draw.randint(1, 6))] for _ in range(n)]

config = ModelConfig(vocab_size=13, d_model=32, d_ff=64, n_heads=4, n_encoder_layers=1, n_decoder_layers=1, dropout=0.0)
model = Transformer(config)
adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
for step in range(1, 151):
    batch = sentences(48)
    src = pad_batch([[*ids, config.eos] for ids in batch], config.pad)
    tgt = pad_batch([[config.bos, *ids, config.eos] for ids in batch], config.pad)
    words = tgt[:, 1:] != config.pad
    states = model.decode_states(tgt[:, :-1], model.encode(src))
    loss, _ = linear_smoothed_nll(states[words], model.output_weight, tgt[:, 1:][words], 0.1)
    adam.param_groups[0]["lr"] = inverse_sqrt_lr(step, peak=5e-3, warmup_steps=60)
    adam.zero_grad()
    (loss / words.sum()).backward()
    adam.step()

folder = Path(sys.argv[1]) / "model"
folder.mkdir()
save_model(model, folder)
held_out = sentences(60)
found = [best.tokens for (best,) in translate_ids(load_model(folder), held_out)]
hits = sum(a == b for src, out in zip(held_out, found) for a, b in zip(src, out))
total = sum(max(len(src), len(out)) for src, out in zip(held_out, found))
print(json.dumps({
    "accuracy": hits / total,
    "home": sys.modules["transformer"].__file__,
    "translate": any(name.partition(".")[0] == "translate" for name in sys.modules),
}))
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder that contains only a copy of the package."""
    home = Path(transformer.__file__).parent
    shutil.copytree(home, tmp_path / "transformer", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(program: str, folder: Path) -> str:
    """Standard output of an isolated Python process that can import this folder and installed packages only."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_package_alone_learns_to_copy_and_decodes(copied: Path) -> None:
    """Decodes unseen sentences by beam search after saving and loading."""
    result = json.loads(run(PROGRAM, copied))
    assert Path(result["home"]).is_relative_to(copied)
    assert not result["translate"]
    assert result["accuracy"] > 0.95
