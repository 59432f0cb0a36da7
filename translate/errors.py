"""Mistakes that a user can mend: one sentence that says what, where and how; exit code 2."""


class UserError(Exception):
    """Shown as one line on stderr without a traceback; the command exits with code 2."""
