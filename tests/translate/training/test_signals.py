"""SIGTERM and Ctrl-C at any time: a message, the signal's exit code, and bit-identical resuming."""

import os
import signal
from collections.abc import Iterator

import pytest

from translate.commands.main import main
from translate.corpus import prepare
from translate.errors import Terminated
from translate.training.loop import terminable


@pytest.fixture(autouse=True)
def in_the_foreground() -> Iterator[None]:
    """Handle Ctrl-C; processes that a shell starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
@pytest.mark.parametrize(("number", "exception"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
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
@pytest.mark.parametrize(("number", "exception"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
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


@pytest.mark.parametrize(("number", "exception"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
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
