"""Ctrl-C and SIGTERM: while training they wait for the step in hand, everywhere else they end the process at once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from translate.errors import Terminated

Handler = Callable[[int, FrameType | None], None]


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop by Ctrl-C, or by another process of the run; everything is saved."""


class TerminatedWhileTraining(Terminated, Interrupted):
    """Training was asked to stop by SIGTERM; everything is saved."""


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM raise Terminated, so that files are tidied up and the user is told, as with Ctrl-C."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise Terminated

    with _handled_by(handle, signal.SIGTERM):
        yield


@contextmanager
def stop_signals(say: Callable[[str], None], alone: bool) -> Iterator[list[int]]:
    """A list that is filled by Ctrl-C or SIGTERM, so that a step is finished and saved before the end.

    A second one ends the process at once where it is alone; torchrun passes on what its ranks have received too.
    """
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if received and alone:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        if not received:
            say("finishing this step, then saving" + ("; Ctrl-C again stops at once" if alone else ""))
        received.append(number)

    with _handled_by(handle, signal.SIGINT, signal.SIGTERM):
        yield received


def interruption(received: list[int]) -> Interrupted:
    """What to raise when all is saved."""
    return TerminatedWhileTraining() if signal.SIGTERM in received else Interrupted()


@contextmanager
def _handled_by(handle: Handler, *numbers: signal.Signals) -> Iterator[None]:
    try:
        before = {number: signal.signal(number, handle) for number in numbers}
    except ValueError:  # not the main thread: signals belong to someone else
        yield
        return
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
