"""SIGTERM, SIGHUP and Ctrl-C at any time: a message, the signal's exit code, and bit-identical resuming."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forks
from tests.translate.training.conftest import Training, before_update
from translate.commands.main import main
from translate.corpus import prepare
from translate.errors import Terminated
from translate.training import checkpoints
from translate.training.train import terminable


@pytest.fixture(autouse=True)
def in_the_foreground() -> Iterator[None]:
    """Handle Ctrl-C; processes that a shell starts in the background ignore it, and nohup has SIGHUP ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGHUP, before[1])


def final_weights(toy, name: str) -> bytes:
    return (toy.folder / name / "model/model.safetensors").read_bytes()


def signals_itself(trainer: Training, part: str, method: str, *numbers: int, step: int) -> None:
    """Let the process receive signals when a method of a part is called at this step."""

    def strike() -> None:
        if trainer.state.step == step:
            for number in numbers:
                os.kill(os.getpid(), number)

    trainer.before(part, method, strike)


MOMENTS = pytest.mark.parametrize(
    ("part", "method"), [("validator", "scores"), ("checkpoints", "save")], ids=["validation", "save"]
)
SIGNALS = pytest.mark.parametrize(
    ("number", "exception"),
    [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt), (signal.SIGHUP, Terminated)],
)
CODES = pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])


@MOMENTS
@SIGNALS
def test_a_signal_waits_for_the_current_step(toy, part, method, number, exception):
    toy.trained("whole")
    trainer = toy.trainer("run")
    signals_itself(trainer, part, method, number, step=8)
    with pytest.raises(exception) as caught:
        trainer.train()
    assert caught.type is exception
    assert trainer.parts.checkpoints.saved_step == 8
    assert any("finishing this step, then saving" in line for line in toy.said)
    toy.trainer("run", resume=True).train()
    assert final_weights(toy, "run") == final_weights(toy, "whole")


@MOMENTS
@pytest.mark.parametrize(("number", "exception"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
def test_a_second_signal_ends_at_once_and_loses_no_checkpoint(toy, part, method, number, exception):
    toy.trained("whole")
    trainer = toy.trainer("run")
    signals_itself(trainer, part, method, number, number, step=8)
    with pytest.raises(exception) as caught:
        trainer.train()
    assert caught.type is exception
    assert trainer.parts.checkpoints.saved_step == 4
    toy.trainer("run", resume=True).train()
    assert final_weights(toy, "run") == final_weights(toy, "whole")


@MOMENTS
def test_a_terminal_that_hangs_up_twice_does_not_stop_the_save(toy, part, method):
    """A closed terminal sends SIGHUP, and so does its shell when it ends."""
    trainer = toy.trainer("run")
    signals_itself(trainer, part, method, signal.SIGHUP, signal.SIGHUP, step=8)
    with pytest.raises(Terminated) as caught:
        trainer.train()
    assert caught.value.number == signal.SIGHUP
    assert trainer.parts.checkpoints.saved_step == 8


def test_a_signal_that_is_ignored_stays_ignored(toy):
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        trainer = toy.trainer("run")
        trainer.before_update(3, lambda: os.kill(os.getpid(), signal.SIGHUP))
        with terminable():
            trainer.train()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert trainer.state.step == 12


@SIGNALS
def test_a_signal_during_averaging_ends_at_once(toy, number, exception):
    toy.trained("whole")
    trainer = toy.trainer("run")
    signals_itself(trainer, "checkpoints", "load_final", number, step=12)
    with terminable(), pytest.raises(exception):
        trainer.train()
    assert trainer.parts.checkpoints.saved_step == 12
    assert not (toy.folder / "run/model").exists()
    toy.trainer("run", resume=True).train()
    assert final_weights(toy, "run") == final_weights(toy, "whole")


@CODES
def test_a_signal_during_preparation_leaves_no_partial_corpus(
    write_experiment, tmp_path, monkeypatch, capsys, number, code
):
    config = write_experiment()
    write_tokens = prepare.write_tokens

    def strike(*arguments):
        os.kill(os.getpid(), number)
        return write_tokens(*arguments)

    monkeypatch.setattr(prepare, "write_tokens", strike)
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(number)
    assert main(["train", str(config), "--run", "run", "--prepared", "prepared"]) == code
    assert "stopped before anything was saved\ncontinue with the same command and --resume\n" in capsys.readouterr().err
    assert not list(tmp_path.glob("*prepared*"))
    assert signal.getsignal(number) is before
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(config), "--run", "run", "--prepared", "prepared", "--resume"]) == 0


@CODES
def test_a_stopped_command_reports_what_is_saved(write_experiment, tmp_path, monkeypatch, capsys, number, code):
    before_update(4, lambda: os.kill(os.getpid(), number), monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(write_experiment()), "--run", "run", "--prepared", "prepared"]) == code
    error = capsys.readouterr().err
    assert "stopped; step 4 is saved" in error
    assert "Traceback" not in error


def wait_for(file: Path, text: str, n: int = 1) -> None:
    """Wait until a file has a text n times."""
    limit = time.monotonic() + 100
    while not (file.exists() and file.read_text(encoding="utf-8").count(text) >= n):
        assert time.monotonic() < limit, f"{file} has no {text}"
        time.sleep(0.02)


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="the terminal is that of a fork")
def test_a_closed_terminal_ends_a_run_that_resumes(write_experiment, tmp_path):
    """Messages can no longer be shown then, which must not keep the state from being saved."""
    program = """
import os
from translate.program import program

os.login_tty(1)
program()
"""
    config = str(write_experiment(max_steps=100_000, valid_every=50_000, log_every=1))
    arguments = ["train", config, "--run", str(tmp_path / "run"), "--prepared", str(tmp_path / "prepared")]
    metrics = tmp_path / "run/metrics.jsonl"
    outer, terminal = os.openpty()
    with (
        os.fdopen(terminal, "wb", 0) as theirs,
        forks.Popen(["-c", program, *arguments], None, None, theirs, theirs) as process,
    ):
        theirs.close()
        wait_for(metrics, '"kind": "train"', 3)
        os.close(outer)
        assert process.wait(60) == 129
    (saved,) = checkpoints.folders(tmp_path / "run/checkpoints")
    last = json.loads(metrics.read_text(encoding="utf-8").splitlines()[-1])
    assert (last["kind"], last["step"]) == ("checkpoint", checkpoints.step_of(saved))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the process is a fork of one that has torch")
def test_messages_to_a_closed_terminal_are_lost_and_the_state_is_saved(tmp_path):
    """The terminal refuses them, and the error would end the process before it has saved."""
    program = """
import os, signal, sys, time
from translate.errors import Terminated, say
from translate.training.train import terminable

marks = open(sys.argv[1], "w", buffering=1)
try:
    with terminable():
        marks.write("ready\\n")
        while True:
            time.sleep(0.1)  # not pause(): a signal just before it would end nothing
except Terminated:
    say("stopped")
    print("stopped", flush=True)
    marks.write("saved\\n")
"""
    outer, terminal = os.openpty()
    marks = tmp_path / "marks"
    with (
        os.fdopen(terminal, "wb", 0) as theirs,
        forks.Popen(["-c", program, str(marks)], None, None, theirs, theirs) as process,
    ):
        theirs.close()
        wait_for(marks, "ready")
        os.close(outer)
        process.send_signal(signal.SIGHUP)
        wait_for(marks, "saved")
        assert process.wait(60) == 0
