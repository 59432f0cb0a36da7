"""SIGTERM, SIGHUP and Ctrl-C at any time: a message, the signal's exit code, and bit-identical resuming."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from translate.commands.main import main
from translate.corpus import prepare
from translate.errors import Terminated
from translate.training.loop import stop_signals, terminable


@pytest.fixture(autouse=True)
def in_the_foreground() -> Iterator[None]:
    """Handle Ctrl-C; processes that a shell starts in the background ignore it, and nohup has SIGHUP ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGHUP, before[1])


def final_weights(toy, name: str) -> bytes:
    return (toy.folder / name / "model/model.safetensors").read_bytes()


def signals_itself(monkeypatch, trainer, method: str, *numbers: int, step: int) -> None:
    """Make the trainer receive signals at the start of a method at this step."""
    act = getattr(trainer, method)

    def strike(**options):
        if trainer.state.step == step:
            for number in numbers:
                os.kill(os.getpid(), number)
        return act(**options)

    monkeypatch.setattr(trainer, method, strike)


@pytest.mark.parametrize("method", ["_scores", "_save"], ids=["validation", "save"])
@pytest.mark.parametrize(
    ("number", "exception"),
    [(signal.SIGTERM, Terminated), (signal.SIGHUP, Terminated), (signal.SIGINT, KeyboardInterrupt)],
)
def test_a_signal_waits_for_the_current_step(toy, monkeypatch, method, number, exception):
    toy.trainer("whole").train()
    trainer = toy.trainer("run")
    signals_itself(monkeypatch, trainer, method, number, step=8)
    with pytest.raises(exception) as caught:
        trainer.train()
    assert caught.type is exception
    assert trainer.checkpoints.saved_step == 8
    assert any("finishing this step, then saving" in line for line in toy.said)
    toy.trainer("run", resume=True).train()
    assert final_weights(toy, "run") == final_weights(toy, "whole")


@pytest.mark.parametrize("method", ["_scores", "_save"], ids=["validation", "save"])
@pytest.mark.parametrize(
    ("number", "exception"),
    [(signal.SIGTERM, Terminated), (signal.SIGHUP, Terminated), (signal.SIGINT, KeyboardInterrupt)],
)
def test_a_second_signal_ends_at_once_and_loses_no_checkpoint(toy, monkeypatch, method, number, exception):
    toy.trainer("whole").train()
    trainer = toy.trainer("run")
    signals_itself(monkeypatch, trainer, method, number, number, step=8)
    with pytest.raises(exception) as caught:
        trainer.train()
    assert caught.type is exception
    assert trainer.checkpoints.saved_step == 4
    toy.trainer("run", resume=True).train()
    assert final_weights(toy, "run") == final_weights(toy, "whole")


@pytest.mark.parametrize(
    ("number", "exception"),
    [(signal.SIGTERM, Terminated), (signal.SIGHUP, Terminated), (signal.SIGINT, KeyboardInterrupt)],
)
def test_a_signal_during_averaging_ends_at_once(toy, monkeypatch, number, exception):
    toy.trainer("whole").train()
    trainer = toy.trainer("run")
    signals_itself(monkeypatch, trainer, "_finish", number, step=12)
    with terminable(), pytest.raises(exception):
        trainer.train()
    assert trainer.checkpoints.saved_step == 12
    assert not (toy.folder / "run/model").exists()
    toy.trainer("run", resume=True).train()
    assert final_weights(toy, "run") == final_weights(toy, "whole")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)])
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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)])
def test_a_stopped_command_reports_what_is_saved(write_experiment, tmp_path, monkeypatch, capsys, number, code):
    from translate.training.loop import Trainer

    scores = Trainer._scores

    def strike(self, **options):
        os.kill(os.getpid(), number)
        return scores(self, **options)

    monkeypatch.setattr(Trainer, "_scores", strike)
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(write_experiment()), "--run", "run", "--prepared", "prepared"]) == code
    error = capsys.readouterr().err
    assert "stopped; step 4 is saved" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("arrange", [stop_signals, lambda *_: terminable()], ids=["while it trains", "otherwise"])
def test_a_signal_that_nohup_ignores_stays_ignored(arrange):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with arrange(print, True):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_messages_to_a_closed_terminal_are_lost_and_the_state_is_saved():
    """The terminal refuses them, and the error would end the process before it has saved."""
    program = """
import os, signal
from translate.errors import Terminated, say
from translate.training.loop import terminable

try:
    with terminable():
        print("ready", flush=True)
        signal.pause()
except Terminated:
    say("stopped")
    print("stopped", flush=True)
    os.write(3, b"saved")
"""
    outer, terminal = pty.openpty()
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", program.replace("write(3", f"write({write}")],
        stdout=terminal,
        stderr=terminal,
        pass_fds=[write],
        cwd=Path(__file__).parents[3],
    )
    os.close(write)
    os.close(terminal)
    with process:
        assert b"ready" in os.read(outer, 100)
        os.close(outer)
        process.send_signal(signal.SIGHUP)
        assert os.read(read, 100) == b"saved"
    os.close(read)
    assert process.returncode == 0
