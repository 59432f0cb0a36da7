"""Errors caused by user input: one sentence that says what, where and how to mend it; messages; optional packages."""

import errno
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

# Remedies for errors of the operating system, whose own text names none.
_REMEDIES = {
    errno.ENOENT: "correct the path",
    errno.EEXIST: "it is not a folder; name another",
    errno.ENOTDIR: "a part of the path is not a folder; name another",
    errno.EISDIR: "name a file",
    errno.EACCES: "change the permissions, or name another",
    errno.EPERM: "change the permissions, or name another",
    errno.ENOSPC: "free space on the disk",
    errno.EFBIG: "raise the limit of the size of files, such as ulimit -f",
    errno.EDQUOT: "free space of your quota",
    errno.ELOOP: "it is a link; remove it",
    errno.EMFILE: "allow more open files with ulimit -n",
    errno.EROFS: "it is on a file system that is read-only; name another place",
}

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OS_ERROR = re.compile(r"\(os error (\d{1,5})\)")

Say = Callable[[str], None]  # shows one message to the user


class UserError(Exception):
    """Shown as one line on stderr without a traceback; the command exits with code 2."""


class OptionError(UserError, ValueError):
    """A setting with an impossible value; the command line names it as the user typed it.

    Args:
        name: the argument in Python, such as "beam_size".
        rule: the rest of the sentence.
    """

    def __init__(self, name: str, value: object, rule: str) -> None:
        super().__init__(f"{name} = {value}: {rule}")
        self.typed = f"{option_name(name)} {value}: {rule}"


def option_name(name: str) -> str:
    """Return how the command line names a setting."""
    return "--" + {"beam_size": "beam"}.get(name, name).replace("_", "-")


class Terminated(KeyboardInterrupt):
    """SIGTERM, or SIGHUP of a closed terminal, asked the process to end; the exit code is 128 + the number.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int = signal.SIGTERM) -> None:
        self.number = int(number)


def say(message: str) -> None:
    """Write one line to stderr, after the program's name; line breaks become spaces, control characters are escaped.

    Without effect if stderr is a file on a full disk; BrokenPipeError if nobody reads it any more.
    """
    lines = (line.strip() for line in message.splitlines())
    try:
        print(f"translate: {printable(' '.join(line for line in lines if line))}", file=sys.stderr, flush=True)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise


def printable(text: str) -> str:
    """Return a text with control characters escaped, such as "\\x1b"; line breaks and tabs stay.

    Names of files and texts of others would otherwise command the terminal.
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def reason(error: Exception) -> str:
    """Return what the operating system says of an error, with a remedy where it is known.

    Args:
        error: an OSError, or an error of a library in Rust, such as safetensors, that names the number of one.
    """
    if not isinstance(error, OSError):
        found = _OS_ERROR.search(str(error))
        return reason(OSError(int(found[1]), os.strerror(int(found[1])))) if found else str(error)
    remedy = f"; {_REMEDIES[error.errno]}" if error.errno in _REMEDIES else ""
    return f"{error.strerror or error}{remedy}"


def either(words: Sequence[str]) -> str:
    """Return words as a list of choices, such as "a, b or c"."""
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def optional_package(name: str, extra: str) -> Any:  # Any: mypy checks alike whether or not the package is installed
    """Import a package; UserError names the extra to install if it is missing or broken."""
    try:
        return import_module(name)
    except (ImportError, OSError) as error:  # OSError: a shared library is missing
        command = f"pip install '.[{extra}]'"
        raise UserError(f"this needs the package {name}: {command} in a clone of this project") from error
