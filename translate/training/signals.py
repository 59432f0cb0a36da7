"""Ctrl-C and SIGTERM: during training they take effect after the current step, otherwise at once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from translate.errors import Say, Terminated

Handler = Callable[[int, FrameType | None], None]


def terminable() -> AbstractContextManager[None]:
    """Return a context in which SIGTERM raises Terminated, so that cleanup and messages work as with Ctrl-C."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise Terminated

    return _handled_by(handle, signal.SIGTERM)


@contextmanager
def stop_signals(say: Say, alone: bool) -> Iterator[list[int]]:
    """Yield a list that collects Ctrl-C and SIGTERM, so that the current step can be finished and saved.

    Args:
        say: receives a message at the first signal.
        alone: whether a second signal ends the process at once. Under torchrun it must not, as torchrun sends signals
            to ranks that have received them already.
    """
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if received and alone:
            raise interruption([number])
        if not received:
            say("finishing this step, then saving" + ("; Ctrl-C again stops at once" if alone else ""))
        received.append(number)

    with _handled_by(handle, signal.SIGINT, signal.SIGTERM):
        yield received


def interruption(received: list[int]) -> KeyboardInterrupt:
    """Return the exception for these signals, or for a signal to another process of the run if there are none."""
    return Terminated() if signal.SIGTERM in received else KeyboardInterrupt()


@contextmanager
def _handled_by(handle: Handler, *numbers: signal.Signals) -> Iterator[None]:
    try:
        before = {number: signal.signal(number, handle) for number in numbers}
    except ValueError:  # not in the main thread, which alone can set handlers
        yield
        return
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
