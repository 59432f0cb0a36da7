"""Errors caused by user input: one sentence that says what, where and how to mend it; and the type of messages."""

from collections.abc import Callable

Say = Callable[[str], None]  # shows one message to the user


class UserError(Exception):
    """Shown as one line on stderr without a traceback; the command exits with code 2."""


class Terminated(KeyboardInterrupt):
    """SIGTERM asked the process to end; the command exits with code 143, as Ctrl-C does with 130."""
