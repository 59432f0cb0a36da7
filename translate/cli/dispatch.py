"""Run one verb: find it, catch mistakes, and return the exit code."""

import difflib
import errno
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

from transformer.config import ConfigError
from translate.cli.verbs import VERBS, app, command_of
from translate.commands.messages import say
from translate.errors import Terminated, UserError
from translate.machine import set_up_threads
from translate.options.training import EXIT_DIFFERENT

__all__ = ["EXIT_DIFFERENT", "EXIT_MISTAKE", "main", "with_verb"]

EXIT_MISTAKE = 2
EXIT_INTERRUPTED, EXIT_PIPE_CLOSED, EXIT_TERMINATED = 130, 141, 143  # 128 + the signal, as in a shell

_COMPLETE = "_TRANSLATE_COMPLETE"  # set by the script of `--install-completion`
# Remedies for errors of the operating system, whose own text names none.
_MENDS = {
    errno.EEXIST: "it is not a folder; name another",
    errno.ENOTDIR: "a part of the path is not a folder; name another",
}
_ALONE = ("-h", "--help", "--version", "--install-completion", "--show-completion")

# typer has no public name for the class of all usage errors, the parent of BadParameter.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0 is success, 1 a repeated run with a different result, 2 a mistake of the user, 130 Ctrl-C, 141 a closed pipe and
    143 SIGTERM.
    """
    if _COMPLETE in os.environ:  # a shell asks how a line could continue
        app(prog_name="translate")
    set_up_threads()
    _settle_streams()
    arguments, debug = _without_debug(sys.argv[1:] if arguments is None else arguments)
    try:
        arguments = with_verb(arguments)
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except Terminated:
        return EXIT_TERMINATED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_PIPE_CLOSED
    except _mistakes() as error:
        if debug:
            raise
        say(_sentence(error, arguments))
        return EXIT_MISTAKE
    finally:
        _settle_stdout()


def with_verb(arguments: list[str]) -> list[str]:
    """Return the arguments with the verb `text` in front, unless they begin with a verb.

    A single lower-case word that differs from a verb by one letter or two swapped ones is a misspelt verb, for which
    UserError suggests the verb; so are "help" and "version", alone or before verbs. Words with capitals and arguments
    of several words are sentences.
    """
    first = arguments[0] if arguments else ""
    if first in VERBS or first in _ALONE:
        return arguments
    if first in ("help", "version") and VERBS.keys() >= {*arguments[1:]}:
        raise UserError(f"{first!r} is not a verb; did you mean '--{first}'? To translate it: translate text {first}")
    near = difflib.get_close_matches(first, VERBS, n=1, cutoff=0.8) if first.isalpha() and first.islower() else []
    if near and abs(len(near[0]) - len(first)) <= 1:
        raise UserError(f"{first!r} is not a verb; did you mean {near[0]!r}? To translate it: translate text {first}")
    return ["text", *arguments]


def _run(arguments: list[str]) -> int:
    if arguments[0] == "--version":
        from translate import __version__

        print(f"translate {__version__}")
        return 0
    # Not `app()`, which turns Ctrl-C and a closed pipe into other exit codes and messages.
    command = typer.main.get_command(app)
    try:
        with command.make_context("translate", arguments) as context:
            options = command.invoke(context)
        command_of(arguments[0])(options)
    except typer.Exit as end:  # --help has code 0
        return int(end.exit_code)
    return 0


def _without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments without --debug, which may stand anywhere before "--", and whether to show tracebacks."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--debug"]
    debug = len(kept) < end or os.environ.get("TRANSLATE_DEBUG", "") not in ("", "0")
    return [*kept, *arguments[end:]], debug


def _mistakes() -> tuple[type[Exception], ...]:
    """The exceptions that are caused by user input."""
    # The module of CheckpointError imports torch; if it is not loaded, the error cannot have been raised.
    loaded = sys.modules.get("transformer.checkpoint_io")
    foreign = () if loaded is None else (loaded.CheckpointError,)
    return (UserError, ConfigError, UsageError, OSError, *foreign)


def _sentence(error: Exception, arguments: Sequence[str]) -> str:
    """The message for the user who gave these arguments, as one sentence."""
    if isinstance(error, UsageError):
        context = getattr(error, "ctx", None)
        verb, option = getattr(context, "info_name", "translate"), getattr(error, "option_name", None)
        if verb == "text" and option in _options_of("decode") - _options_of("text"):
            return f"translate text has no option {option}; use translate decode, which has the options for research"
        command = context.command_path if context else f"translate {arguments[0]}"  # typer may leave the context out
        message = error.format_message().replace(": Value error, ", ": ")  # type: ignore[attr-defined]  # in typer's choices
        return f"{message} (see {command} --help)"
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        mend = f"; {_MENDS[error.errno]}" if error.errno in _MENDS else ""
        return f"{place}{error.strerror}{mend}"
    return str(error)


def _options_of(verb: str) -> set[str]:
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {option for param in verbs[verb].params for option in param.opts}


def _settle_streams() -> None:
    """Discard messages if stderr is closed, and escape characters that stdout cannot encode."""
    if sys.stderr is None:  # closed by the caller; print(file=None) would write to stdout
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 -- it stays open until the end
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name may hold undecodable bytes


def _settle_stdout() -> None:
    """Flush stdout; if that fails, redirect it to the null device, or Python would report an error at exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
