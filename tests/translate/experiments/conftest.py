"""A toy grid on the built-in grammar: two norm orders, two beam sizes, two seeds; trains in seconds."""

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from translate.experiments import table
from translate.experiments.grid import Grid, load_grid
from translate.experiments.plan import Job, open_folder, plan
from translate.experiments.runner import work
from translate.training.parent import Parent

EXPERIMENT = """
[data]
source = "de"
target = "en"
train = [{ kind = "grammar", split = "train", pairs = 70 }]
valid = { kind = "grammar", split = "valid", pairs = 5 }
test.toy = { kind = "grammar", split = "test", pairs = 7 }

[tokenizer]
vocab_size = 400

[model]
preset = "tiny"
d_model = 14
d_ff = 22
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1

[training]
max_steps = 6
batch_tokens = 300
max_tokens = 60
warmup_steps = 5
lr = 0.02
precision = "fp32"
valid_every = 2
valid_bleu_sentences = 0
average_last = 2

[decoding]
beam_size = 1
max_extra = 3
"""

GRID = """
config = "toy.toml"
seeds = [1, 2]
baseline = { norm = "post", beam_size = 1 }

[axes]
model.norm = ["post", "pre"]
decoding.beam_size = [1, 3]
"""

Write = Callable[[str], Path]


def write_grid(folder: Path, text: str) -> Path:
    """Write the toy experiment and a grid file beside it."""
    (folder / "toy.toml").write_text(EXPERIMENT, encoding="utf-8")
    path = folder / "norm.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return lambda text: write_grid(tmp_path, text)


def jobs_of(path: Path, folder: Path, trainings: Path | None = None) -> tuple[Grid, list[Job]]:
    """Plan a grid in a folder, with its runs there or in a folder of trainings."""
    grid = load_grid(path, [])
    open_folder(grid, folder, create=True)
    parent = Parent.open(Path(grid.from_model), print) if grid.from_model else None
    return grid, plan(grid, folder, lambda config: config, parent, trainings)


def run(jobs: list[Job], folder: Path) -> None:
    """Run all jobs in this process."""
    for job in jobs:
        path = folder / f"{job.name}.json"
        job.save(path)
        work(path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished toy grid, beside the grid file. Tests must not change its files."""
    folder = tmp_path_factory.mktemp("grid")
    path = write_grid(folder, GRID)
    _, jobs = jobs_of(path, folder / "out")
    with pytest.MonkeyPatch.context() as patch:
        # The real measurement takes longer than the training.
        patch.setattr("translate.training.train.product_rate", lambda dtype, device: 1e9)
        run(jobs, folder)
    return folder / "out"


@pytest.fixture(autouse=True, scope="session")
def each_p_value_once() -> Iterator[None]:
    """Compute the p-value of the same texts once; most tables of these tests are made of the same records."""
    once = functools.cache(table.p_value)

    def p_value(baseline: Sequence[str], system: Sequence[str], references: Sequence[str], *options: str) -> float:
        return once(tuple(baseline), tuple(system), tuple(references), *options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "p_value", p_value)
        yield
