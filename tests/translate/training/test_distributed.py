"""Two processes on one CPU: same update as one process, common end, and replacement of a lost process."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

import translate
from tests import forks
from translate.commands import train
from translate.commands.train import TrainOptions
from translate.corpus.batches import Batch, BatchFeed, Position
from translate.corpus.prepare import Mixture
from translate.errors import UserError
from translate.files import json_sha256
from translate.training.distributed import SINGLE_PROCESS, Ranks, joined

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="ranks are found by /proc")

T = TypeVar("T")
LIMIT = 100.0  # seconds; a longer wait means a deadlock


# torchrun whose ranks are forks, so they need not import its packages again: real processes, without the
# seconds that a start takes.
FORKING = """
import sacrebleu
import translate.commands.train, translate.evaluation.scores, translate.training.train
from torch.distributed.run import main
main()
"""
PROGRAM = Path(translate.__file__).with_name("__main__.py")


class Torchrun:
    """Two ranks under torchrun, started in `folder`; all processes are killed after the test."""

    def __init__(self, folder: Path, *arguments: str, restarts: int = 0) -> None:
        launcher = ["--start-method=fork", "--standalone", "--nproc-per-node=2", f"--max-restarts={restarts}"]
        # Without the dashes torchrun would take --run for an abbreviation of one of its options.
        command = [sys.executable, "-c", FORKING, *launcher, "--run-path", "--", str(PROGRAM), "train", *arguments]
        path = os.pathsep.join(p for p in sys.path if p)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}
        self._errors = (folder / "stderr").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(command, cwd=folder, env=environment, stderr=self._errors)

    def pid(self, rank: int) -> int:
        """The process id of a rank, once all run; ranks are started in order."""
        return wait_for(lambda: children[rank] if len(children := self._children()) == 2 else None)

    def _children(self) -> list[int]:
        pid = self._process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def end(self) -> tuple[int, str]:
        """Wait for the end; return exit code and stderr."""
        code = self._process.wait(timeout=LIMIT)
        self._errors.seek(0)
        return code, self._errors.read()

    def close(self) -> None:
        """Kill all processes."""
        for pid in [*(self._children() if self._process.poll() is None else []), self._process.pid]:
            if self._process.poll() is None:
                os.kill(pid, signal.SIGKILL)
        self._process.wait(timeout=LIMIT)
        self._errors.close()


def wait_for(found: Callable[[], T | None]) -> T:
    deadline = time.monotonic() + LIMIT
    while (value := found()) is None:
        assert time.monotonic() < deadline, "what the test waits for does not happen"
        time.sleep(0.01)
    return value


@pytest.fixture
def torchrun(tmp_path: Path) -> Iterator[Callable[..., Torchrun]]:
    started: list[Torchrun] = []

    def start(*arguments: str, restarts: int = 0) -> Torchrun:
        started.append(Torchrun(tmp_path, *arguments, restarts=restarts))
        return started[-1]

    yield start
    for run in started:
        run.close()


def train_as_two_ranks(folder: Path, *arguments: str) -> tuple[list[int], str]:
    """Train by two processes that meet as those of torchrun do, without its seconds; return exit codes and stderr."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    environment = os.environ | place | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = ["-m", "translate", "train", *arguments]
    with (folder / "stderr").open("w+", encoding="utf-8") as errors, ExitStack() as ranks:
        started = [
            ranks.enter_context(
                forks.Popen(command, folder, environment | {"RANK": rank, "LOCAL_RANK": rank}, stderr=errors)
            )
            for rank in ("0", "1")
        ]
        codes = [rank.wait(LIMIT) for rank in started]
        errors.seek(0)
        return codes, errors.read()


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def records(run: Path, kind: str) -> list[dict]:
    lines = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["kind"] == kind]


def begun(run: Path, step: int) -> Callable[[], bool | None]:
    """Return a function that is true once a run has reached a step."""
    return lambda: (run / "metrics.jsonl").exists() and any(r["step"] >= step for r in records(run, "train")) or None


SHARDED = pytest.param({"parallel": "fsdp"}, marks=pytest.mark.slow, id="fsdp")


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param({}, id="ddp"),
        pytest.param({"parallel": "fsdp"}, id="fsdp"),
        pytest.param({"parallel": "fsdp", "checkpoint_activations": True}, marks=pytest.mark.slow, id="fsdp-again"),
    ],
)
def test_two_ranks_make_the_same_update_as_one_process_with_the_same_batches(toy, write_experiment, tmp_path, ranks):
    """Three micro-batches each, against six: loss, gradient norm and parameters are equal up to rounding."""
    settings = {"max_steps": 3, "valid_every": 3, "lr": 0.001, "valid_bleu_sentences": 2}
    for model in (toy.settings["model"], (experiment := json.loads(write_experiment().read_text()))["model"]):
        model["dropout"] = 0.0
    experiment["training"] |= settings | {"accumulate": 3} | ranks
    (tmp_path / "toy.json").write_text(json.dumps(experiment), encoding="utf-8")
    codes, errors = train_as_two_ranks(tmp_path, "toy.json", "--run", "two", "--prepared", "prepared")
    assert codes == [0, 0], errors
    assert "2 processes" in errors
    toy.trainer("one", **settings, accumulate=6).train()
    one, two = (records(tmp_path / name, "train") for name in ("one", "two"))
    assert [r["tokens"] for r in two] == [r["tokens"] for r in one]
    assert [r["epoch"] for r in two] == [r["epoch"] for r in one]
    for key in ("loss", "nll", "grad_norm"):
        assert [r[key] for r in two] == pytest.approx([r[key] for r in one], rel=2e-6)
    for kind in ("valid", "final"):
        (one,), (two,) = (records(tmp_path / name, kind) for name in ("one", "two"))
        assert two["nll"] == pytest.approx(one["nll"], rel=2e-6)
        assert kind == "final" or two["source_gain"] == pytest.approx(one["source_gain"], abs=1e-4)
        assert kind == "valid" or two["flops"] == one["flops"]
        # Translation needs whole layers, so a sharded model does not translate.
        assert (two["bleu"] is None) == (ranks.get("parallel") == "fsdp")
        assert one["bleu"] is not None
    a, b = (weights(tmp_path / name / "checkpoints/step-00000003") for name in ("one", "two"))
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_two_ranks_fine_tune_as_one_process_with_the_same_batches(
    toy, write_experiment, torchrun, tmp_path, monkeypatch
):
    """Both start with the parent's weights and tokenizer; otherwise every gradient would differ."""
    toy.trainer("parent", max_steps=4).train()
    experiment = json.loads(write_experiment(max_steps=3, valid_every=3, lr=0.001).read_text())
    experiment["model"]["dropout"] = 0.0
    del experiment["tokenizer"]
    (tmp_path / "toy.json").write_text(json.dumps(experiment), encoding="utf-8")
    code, errors = torchrun("toy.json", "--run", "two", "--from", "parent", "--set", "training.accumulate=2").end()
    assert code == 0, errors
    monkeypatch.chdir(tmp_path)
    accumulate = ["training.accumulate=4"]
    train.run(TrainOptions(config=Path("toy.json"), run=Path("one"), from_model=Path("parent"), overrides=accumulate))
    one, two = (records(tmp_path / name, "train") for name in ("one", "two"))
    assert [r["tokens"] for r in two] == [r["tokens"] for r in one]
    for key in ("loss", "grad_norm"):
        assert [r[key] for r in two] == pytest.approx([r[key] for r in one], rel=2e-6)
    a, b = (weights(tmp_path / name / "model") for name in ("one", "two"))
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=0, atol=1e-5)
    assert "card.md" in {path.name for path in (tmp_path / "two").iterdir()}
    assert json.loads((tmp_path / "two/manifest.json").read_text())["parent"]["path"] == str(tmp_path / "parent/model")


@pytest.mark.slow
def test_two_ranks_can_repeat_a_run_of_two_ranks(write_experiment, torchrun, tmp_path):
    """Rank 0's result reaches all ranks, which exit together; --reproduce expects the same number of processes."""
    config = str(write_experiment(max_steps=7, accumulate=3))
    assert torchrun(config, "--run", "a").end()[0] == 0
    code, errors = torchrun("--reproduce", "a", "--run", "b").end()
    assert code == 0, errors
    assert "identical to that of" in errors
    assert (tmp_path / "a/model/model.safetensors").read_bytes() == (
        tmp_path / "b/model/model.safetensors"
    ).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [pytest.param({}, id="ddp"), SHARDED])
def test_a_signal_to_one_rank_ends_both_after_the_same_step_and_they_resume_bit_for_bit(
    write_experiment, torchrun, tmp_path, ranks
):
    """Dropout differs between ranks, so both random generators must be restored."""
    config = str(write_experiment(max_steps=90, valid_every=30, save_every=15, accumulate=2, **ranks))
    code, errors = torchrun(config, "--run", "whole").end()
    assert code == 0, errors
    run = torchrun(config, "--run", "halves")
    wait_for(begun(tmp_path / "halves", 3))
    os.kill(run.pid(1), signal.SIGTERM)
    code, errors = run.end()
    assert code != 0
    assert "stopped; step" in errors
    assert "lost" not in errors
    assert records(tmp_path / "halves", "train")[-1]["step"] == records(tmp_path / "halves", "checkpoint")[-1]["step"]
    code, errors = torchrun(config, "--run", "halves", "--resume").end()
    assert code == 0, errors
    a, b = (weights(tmp_path / name / "model") for name in ("whole", "halves"))
    assert all(a[name].equal(b[name]) for name in a)
    assert [r["loss"] for r in records(tmp_path / "whole", "train")] == [
        r["loss"] for r in records(tmp_path / "halves", "train")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_lost_rank_is_reported_and_its_replacement_resumes_bit_for_bit(rank, write_experiment, torchrun, tmp_path):
    config = str(write_experiment(max_steps=150, valid_every=50, save_every=5))
    code, errors = torchrun(config, "--run", "whole").end()
    assert code == 0, errors
    run = torchrun(config, "--run", "killed", "--resume", restarts=1)
    wait_for(begun(tmp_path / "killed", 7))
    os.kill(run.pid(rank), signal.SIGKILL)
    code, errors = run.end()
    assert code == 0, errors
    # By the other rank, unless torchrun notices first and stops it.
    ours = "another process was lost, so this one stops; restart with the same command and --resume"
    assert ours in errors or f"(exitcode: -9) local_rank: {rank}" in errors
    assert "resuming from" in errors
    a, b = (weights(tmp_path / name / "model") for name in ("whole", "killed"))
    assert all(a[name].equal(b[name]) for name in a)


@pytest.mark.slow
def test_an_error_on_rank_0_ends_both_ranks_and_is_reported_once(write_experiment, torchrun, tmp_path):
    config = str(write_experiment())
    (tmp_path / "train.de").unlink()
    code, errors = torchrun(config, "--run", "run").end()
    assert code != 0
    assert errors.count("translate: ") == 1
    assert "train.de" in errors
    assert "lost" not in errors


@pytest.mark.slow
def test_the_slurm_script_starts_the_processes(write_experiment, tmp_path):
    """Slurm's commands are simulated: one machine with two processes."""
    for name, body in (("srun", 'shift; exec "$@"'), ("scontrol", "echo localhost")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    slurm = {"JOB_NODELIST": "a", "NNODES": "1", "JOB_ID": "7", "GPUS_ON_NODE": "2", "CPUS_PER_TASK": "2"}
    environment = {
        **os.environ,
        **{f"SLURM_{name}": value for name, value in slurm.items()},
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHON": sys.executable,
        "PORT": "0",
        "CUDA_VISIBLE_DEVICES": "",
    }
    script = Path(__file__).parents[3] / "scripts/train.slurm"
    command = ["bash", str(script), str(write_experiment()), "--run", "run", "--set", "training.seed=3"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert "2 processes" in done.stderr
    assert json.loads((tmp_path / "run/config.json").read_text())["training"]["seed"] == 3
    assert weights(tmp_path / "run/model")


@pytest.mark.parametrize("port_is_taken", [False, True])
def test_processes_that_cannot_meet_say_how_to_start_them(monkeypatch, port_is_taken):
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(server.getsockname()[1])} if port_is_taken else {}
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"RANK": "0", "WORLD_SIZE": "2", **place}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(UserError, match=r"cannot meet \(.*\); start them with torchrun"), joined():
            pass


def test_a_single_process_needs_no_group_and_keeps_its_values():
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = gradient = torch.tensor([1.0, 2.0, 5.0])
    SINGLE_PROCESS.sum_gradients([parameter])
    assert parameter.grad is gradient
    assert SINGLE_PROCESS.sum(0.1, 3) == [0.1, 3]
    assert SINGLE_PROCESS.any(False, True) == [False, True]
    assert SINGLE_PROCESS.on_rank_0(lambda: "made") == "made"
    assert not dist.is_initialized()


@pytest.mark.parametrize("size", [2, 3])
def test_every_batch_goes_to_one_rank_and_all_ranks_make_the_same_number_of_updates(toy, size):
    trainer = toy.trainer("run", accumulate=2)
    device = torch.device("cpu")

    def updates(rank: int = 0, n_ranks: int = 1) -> Iterator[tuple[list[Batch], Position]]:
        parts = trainer.parts
        return BatchFeed(parts.prepared, parts.config, trainer.model.config, device, Mixture(), rank, n_ranks).updates(
            Position()
        )

    whole, streams = updates(), [updates(rank, size) for rank in range(size)]
    for _ in range(7):
        expected = [batch for _ in range(size) for batch in next(whole)[0]]
        dealt, positions = zip(*map(next, streams), strict=True)
        assert all(len(group) == 2 for group in dealt)
        together = [group[i] for i in range(2) for group in dealt]
        assert all(a.src.equal(b.src) and a.tgt_out.equal(b.tgt_out) for a, b in zip(expected, together, strict=True))
        assert len(set(positions)) == 1
    assert positions[0] != Position()


def test_a_run_may_resume_with_another_number_of_ranks_and_reports_it(toy):
    first = toy.trainer("run", max_steps=8)
    first.train()
    folder = toy.folder / "run/checkpoints/step-00000008"
    state = json.loads((folder / "state.json").read_text())
    state["state"]["n_ranks"] = 3
    state["state"]["n_batches"] *= 3
    del state["digest"]
    state["digest"] = json_sha256(state)
    (folder / "state.json").write_text(json.dumps(state))
    trainer = toy.trainer("run", resume=True, max_steps=None, max_epochs=2)
    trainer.train()
    n_batches = len(trainer.parts.feed.sampler.batches(0))
    assert trainer.state.n_batches == 2 * n_batches
    assert trainer.state.step == 8 + 2 * n_batches - 8 * 3
    assert any("3 processes wrote the checkpoint and 1 continue" in line for line in toy.said)


def test_gradients_are_summed_once_in_messages_of_any_size(monkeypatch):
    """As if two ranks had the same gradients."""
    sizes = []

    def doubled(flat: torch.Tensor) -> None:
        sizes.append(len(flat))
        flat.mul_(2)

    monkeypatch.setattr("translate.training.distributed.BUCKET", 13)
    monkeypatch.setattr(dist, "all_reduce", doubled)
    parameters = [torch.nn.Parameter(torch.zeros(n)) for n in (3, 5, 7, 11, 2, 17, 1)]
    for parameter in parameters[:-2]:
        parameter.grad = torch.randn(len(parameter))
    expected = [2 * p.grad if p.grad is not None else torch.zeros(len(p)) for p in parameters]
    Ranks(0, 2).sum_gradients(parameters)
    assert all(p.grad.equal(total) for p, total in zip(parameters, expected, strict=True))
    assert sizes == [15, 13, 17, 1]


def test_ranks_draw_different_numbers_and_rank_0_those_of_a_single_process():
    def draw(rank: int, step: int) -> list[float]:
        torch.manual_seed(1)
        Ranks(rank, 3).seed(1, step)
        return torch.rand(5).tolist()

    torch.manual_seed(1)
    alone = torch.rand(5).tolist()
    assert draw(0, 0) == alone
    assert len({tuple(draw(rank, step)) for rank in (1, 2) for step in (0, 7)}) == 4


def test_a_resume_may_change_the_parallelism_and_recomputation(toy):
    toy.trainer("whole").train()
    toy.trainer("run", max_steps=5, parallel="fsdp").train()  # one process holds the whole model
    toy.trainer("run", resume=True, checkpoint_activations=True).train()
    a, b = (weights(toy.folder / name / "checkpoints/step-00000012") for name in ("whole", "run"))
    assert all(a[name].equal(b[name]) for name in a)
