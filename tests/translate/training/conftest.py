"""A toy run: a copy-like task of a few words, a model of a few thousand parameters, seconds to train."""

import itertools
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from translate.config.load import parse
from translate.config.schema import ExperimentConfig
from translate.corpus.batches import Batch
from translate.corpus.prepare import Prepared
from translate.evaluation.scores import greedy_bleu
from translate.files import json_sha256, sha256
from translate.training.checkpoints import TrainState
from translate.training.plan import Start, make_plan
from translate.training.run import Run
from translate.training.train import ScoreBleu, TrainingParts, set_up, train
from translate.training.update import Update, Updater

WORDS = {"rot": "red", "blau": "blue", "hund": "dog", "katze": "cat", "haus": "house", "und": "and", "groß": "big"}


def write_corpus(folder: Path) -> None:
    """Write sentences of 1 to 3 words, half of them to train on, and a held-out set."""
    sentences = [words for n in (1, 2, 3) for words in itertools.product(WORDS, repeat=n)]
    for name, part in (("train", slice(0, None, 2)), ("valid", slice(1, None, 50))):
        chosen = sentences[part]
        (folder / f"{name}.de").write_text("".join(" ".join(s) + "\n" for s in chosen), encoding="utf-8")
        (folder / f"{name}.en").write_text(
            "".join(" ".join(WORDS[w] for w in s) + "\n" for s in chosen), encoding="utf-8"
        )


def experiment(folder: Path, **training: object) -> dict[str, Any]:
    """The settings of the toy run as a dictionary."""
    return {
        "data": {
            "source": "de",
            "target": "en",
            "root": str(folder),
            "train": [{"source": "train.de", "target": "train.en"}],
            "valid": {"source": "valid.de", "target": "valid.en"},
        },
        "tokenizer": {"vocab_size": 300},
        "model": {
            "preset": "tiny",
            "d_model": 16,
            "d_ff": 24,
            "n_heads": 2,
            "n_encoder_layers": 1,
            "n_decoder_layers": 1,
        },
        "training": {
            "max_steps": 12,
            "batch_tokens": 160,
            "max_tokens": 20,
            "warmup_steps": 10,
            "lr": 0.01,
            "precision": "fp32",
            "valid_every": 4,
            "valid_bleu_sentences": 0,
            "log_every": 1,
            "keep_last": 2,
            "average_last": 2,
            **training,
        },
    }


class Training:
    """A training that is assembled and not begun; tests may replace parts of it."""

    def __init__(self, state: TrainState, parts: TrainingParts) -> None:
        self.state, self.parts = state, parts
        self.run, self.model = parts.plan.run, parts.trained.model

    def train(self) -> None:
        """Train to the end of the schedule."""
        train(self.state, self.parts)

    def replace(self, **parts: object) -> None:
        """Exchange parts of the training for others."""
        self.parts = replace(self.parts, **parts)

    def before(self, part: str, method: str, act: Callable[[], object]) -> None:
        """Call `act` before each call of a public method of a part."""
        self.replace(**{part: Before(getattr(self.parts, part), method, act)})

    def before_update(self, step: int, act: Callable[[], object]) -> None:
        """Call `act` before update number `step`, counted from 1."""
        self.before("updater", "step", lambda: act() if self.state.step + 1 == step else None)


class Before:
    """A part of a training that acts before each call of one of its methods."""

    def __init__(self, part: object, method: str, act: Callable[[], object]) -> None:
        self._part, self._method, self._act = part, method, act

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            self._act()
        return getattr(self._part, name)


def before_update(step: int, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Call `act` before update number `step` that this process makes, counted from 1."""
    n, make = itertools.count(1), Updater.step

    def acting(updater: Updater, batches: Sequence[Batch], lr: float) -> Update:
        if next(n) == step:
            act()
        return make(updater, batches, lr)

    monkeypatch.setattr(Updater, "step", acting)


def interrupt() -> None:
    """End training like a second Ctrl-C."""
    raise KeyboardInterrupt


class Toy:
    """Assembles trainings of the toy run; `said` collects their messages."""

    def __init__(self, folder: Path, kept: Path | None = None) -> None:
        self.folder, self.kept = folder, kept
        self.said: list[str] = []
        self.settings = experiment(folder)
        write_corpus(folder)

    def config(self, **training: object) -> ExperimentConfig:
        return parse({**self.settings, "training": {**self.settings["training"], **training}}, "toy")

    def trainer(
        self, name: str, *, resume: bool = False, score_bleu: ScoreBleu = greedy_bleu, **training: object
    ) -> Training:
        say = self.said.append
        with ExitStack() as locks:
            start = Start(self.config(**training), Run(self.folder / name), self.folder / "prepared", resume)
            plan = make_plan(start, say, run_lock=locks, corpus_lock=locks)
            return Training(*set_up(plan, Prepared.open(plan.corpus), say=say, score_bleu=score_bleu))

    def trained(self, name: str, **training: object) -> Path:
        """Return the folder of a finished run, as of `trainer(name, **training).train()`.

        Such runs are equal bit for bit, so tests that need the same one have copies of it and of its corpus.
        """
        assert self.kept is not None
        settings = self.config(**training).model_dump(mode="json")
        settings["data"]["root"] = {path.name: sha256(path) for path in self.folder.glob("*.??")}
        kept = self.kept / f"{name}-{json_sha256(settings)}"
        if not kept.exists():
            self.trainer(name, **training).train()
            for part in (name, "prepared"):
                shutil.copytree(self.folder / part, kept / part)
            (kept / "folder").write_text(str(self.folder), encoding="utf-8")
            return self.folder / name
        before = (kept / "folder").read_text(encoding="utf-8")
        for part in (name, "prepared"):
            shutil.copytree(kept / part, self.folder / part, dirs_exist_ok=True)
        for path in (self.folder / name / "config.json", self.folder / name / "manifest.json"):
            path.write_text(path.read_text(encoding="utf-8").replace(before, str(self.folder)), encoding="utf-8")
        return self.folder / name


def without_measurement(patch: pytest.MonkeyPatch) -> None:
    """Replace the measurements of the machine and of the final model, which take a large part of a toy training."""

    def rate(dtype: torch.dtype, device: torch.device, **_: object) -> float:
        return 1e9 + float(torch.randn(3).abs().sum())  # draws random numbers like the real one

    for module in ("machine", "training.train"):
        patch.setattr(f"translate.{module}.product_rate", rate)
    patch.setattr("translate.training.plan.better_allocator", lambda: None)  # asks a process
    patch.setattr("transformer.search.alignment.sharpest_layer", lambda model: 0)  # translates 64 sentences


@pytest.fixture(scope="session")
def kept_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for runs that more than one test needs."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def toy(tmp_path: Path, kept_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    without_measurement(monkeypatch)
    return Toy(tmp_path, kept_runs)


@pytest.fixture
def write_experiment(tmp_path: Path) -> Callable[..., Path]:
    """Write the toy experiment as a config file, for a separate process."""

    def write(**training: object) -> Path:
        write_corpus(tmp_path)
        path = tmp_path / "toy.json"
        path.write_text(json.dumps(experiment(tmp_path, **training)), encoding="utf-8")
        return path

    return write
