"""Mistakes that a user can mend: one sentence that says what, where and how; exit code 2."""


class UserError(Exception):
    """Shown as one line on stderr without a traceback; the command exits with code 2."""


class Terminated(KeyboardInterrupt):
    """SIGTERM asked the process to end; the command exits with code 143, as Ctrl-C does with 130."""
