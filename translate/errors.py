"""Errors caused by user input: one sentence that says what, where and how to mend it; and messages on stderr."""

import sys
from collections.abc import Callable

Say = Callable[[str], None]  # shows one message to the user


class UserError(Exception):
    """Shown as one line on stderr without a traceback; the command exits with code 2."""


class Terminated(KeyboardInterrupt):
    """SIGTERM asked the process to end; the command exits with code 143, as Ctrl-C does with 130."""


def say(message: str) -> None:
    """Write one line to stderr, after the program's name; line breaks in the message become spaces."""
    lines = (line.strip() for line in message.splitlines())
    print(f"translate: {' '.join(line for line in lines if line)}", file=sys.stderr, flush=True)
