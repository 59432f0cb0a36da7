"""The program `translate`: its commands, and an exit code for every error.

A command is a module of this package with its options and a function `run`. The module is imported when it runs, so
that help is printed at once. What begins with no command is translated: `translate "Guten Morgen"` is short for
`translate text "Guten Morgen"`.
"""

import errno
import os
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from types import ModuleType
from typing import Any, NoReturn

from transformer.config import CheckpointError, ConfigError
from translate.errors import OptionError, Terminated, UserError, reason, say
from translate.machine import git, is_out_of_memory, set_up_threads
from translate.options import HELP, UnknownOptionError, help_text, names_of, parse, sections

EXIT_MISTAKE = 2
EXIT_INTERRUPTED, EXIT_PIPE_CLOSED = 130, 141  # 128 + the signal, as in a shell

# Each command with the first sentence of its help.
GROUPS = {
    "Translate": {
        "text": "Translate sentences, a file or standard input.",
        "decode": "Translate line by line, with options for research.",
    },
    "Train": {
        "prepare": "Clean the corpus, train a tokenizer and store token ids.",
        "train": "Train a model; prepares the corpus first if needed.",
        "average": "Average the weights of several checkpoints into one model.",
    },
    "Serve": {
        "serve": "Serve translations with the API of LibreTranslate.",
        "keys": "Create, list and revoke the API keys of a server.",
    },
    "Compare": {
        "evaluate": "Compute BLEU, chrF++ and TER, by default on the run's test sets.",
        "compare": "Write a page that shows where two systems differ.",
        "score": "Compute the probability of given translations.",
        "experiment": "Run a grid of experiments and print its table.",
    },
    "Understand": {
        "explain": "Draw attention, search, embeddings, positions or learning rates.",
        "data": "Examine the corpus of an experiment before training.",
        "cost": "Compute parameters, FLOPs, time and energy of an experiment.",
        "plot": "Draw learning curves of runs, or the chart of a grid.",
        "doctor": "Show versions, hardware, speed and missing packages.",
    },
    "Models": {
        "models": "List, show, add, update and remove models.",
        "compress": "Store a model's weights in fewer bits.",
        "export": "Export a model to CTranslate2, Hugging Face, Argos or ONNX.",
        "import": "Import a model of Hugging Face Marian, fairseq or JoeyNMT.",
    },
}
COMMANDS = tuple(command for commands in GROUPS.values() for command in commands)

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PRINTING = {*GROUPS["Compare"], *GROUPS["Understand"], "models", "keys"}  # `text` and `decode` may write to a file

_SUMMARY = """
Train a Transformer on your own text and translate with it.

translate "Guten Morgen" is short for translate text "Guten Morgen".
"""
_OPTIONS = (
    ("--version", "Show the version and exit."),
    ("--debug", "Show tracebacks, like TRANSLATE_DEBUG=1."),
    ("--completion", "Print a script for completion; name a shell: bash, zsh or fish."),
    HELP,
)
_MODULES = {"import": "import_model"}  # "import" is a keyword


def program() -> NoReturn:
    """Run the program, which ends at once after Ctrl-C, and when a signal has stopped a server.

    Finished translations have been written then. Threads that still search cannot be stopped; Python would wait for
    them.
    """
    try:
        code, is_stopped = main(), False
    except SystemExit as stop:  # of a server, which has cleaned up
        code, is_stopped = int(stop.code or 0), not stop.code
    if is_stopped or (code > 128 and code != EXIT_PIPE_CLOSED):  # by a signal
        others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
        for thread in others:
            thread.join(0.1)
        if any(map(threading.Thread.is_alive, others)):
            os._exit(code)
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0 is success, 1 a repeated run with a different result or a failed run of a grid, 2 a mistake of the user, 130
    Ctrl-C, 141 a closed pipe, 143 SIGTERM and 129 SIGHUP.
    """
    set_up_threads()
    _prepare_streams()
    arguments, debug = _without_debug(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(with_command(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except Terminated as error:
        return 128 + error.number
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_PIPE_CLOSED
    except (UserError, ConfigError, CheckpointError, OSError) as error:
        if debug:
            raise
        say(_sentence(error))
        return EXIT_MISTAKE
    except (MemoryError, RuntimeError) as error:
        if debug or not is_out_of_memory(error):
            raise
        say("there is not enough memory; end other programs, or take a smaller model, beam, batch or corpus")
        return EXIT_MISTAKE
    finally:
        _flush_stdout()


def with_command(arguments: list[str]) -> list[str]:
    """Return the arguments with the command `text` in front, unless they begin with a command.

    A single lower-case word that differs from a command by one letter or two swapped ones is misspelt, and UserError
    suggests the command; so are "help" and "version", alone or before commands. Words with capitals and arguments of
    several words are sentences.
    """
    first = arguments[0] if arguments else ""
    if first in COMMANDS or first in ("-h", "--help", "--version", "--completion"):
        return arguments
    if first in ("help", "version") and {*COMMANDS} >= {*arguments[1:]}:
        raise UserError(
            f"{first!r} is not a command; did you mean '--{first}'? To translate it: translate text {first}"
        )
    if first.isalpha() and first.islower():
        import difflib

        near = difflib.get_close_matches(first, COMMANDS, n=1, cutoff=0.8)
        if near and abs(len(near[0]) - len(first)) <= 1:
            raise UserError(
                f"{first!r} is not a command; did you mean {near[0]!r}? To translate it: translate text {first}"
            )
    return ["text", *arguments]


def _run(arguments: list[str]) -> int:
    """Do what the first argument says, and return the exit code."""
    command, *rest = arguments
    if command in ("-h", "--help"):
        print(program_help(), end="")
        return 0
    if command == "--version":
        print(f"translate {_version()}")
        return 0
    if command == "--completion":
        print(completion(rest), end="")
        return 0
    module = _module(command)
    if {"-h", "--help"} & {*rest[: rest.index("--") if "--" in rest else None]}:
        print(help_text(options_of(command), command), end="")
        return 0
    try:
        options = parse(options_of(command), command, rest)
    except UnknownOptionError as error:
        other = {"text": "decode", "decode": "text"}.get(command)
        if other is None or error.name not in names_of(options_of(other)):
            raise
        purpose = "which has the options for research" if other == "decode" else "which has it"
        raise UserError(f"translate {command} has no option {error.name}; use translate {other}, {purpose}") from error
    if sys.stdout is None and command in _PRINTING:
        raise UserError("stdout is closed; leave it open, as the results go there")
    code: int | None = module.run(options)
    return code or 0


def options_of(command: str) -> type[Any]:
    """Return the class of a command's options, such as `TextOptions`; imports the command's module."""
    found: type[Any] = getattr(_module(command), f"{command.capitalize()}Options")
    return found


def _module(command: str) -> ModuleType:
    return import_module(f"translate.commands.{_MODULES.get(command, command)}")


def program_help(width: int | None = None) -> str:
    """Return the help of the program, which lists its commands; the width is that of the terminal by default."""
    groups = {group: [*commands.items()] for group, commands in GROUPS.items()}
    return sections("Usage: translate [COMMAND] [OPTIONS] ...", _SUMMARY, groups | {"Options": [*_OPTIONS]}, width)


def _version() -> str:
    """The version, and the commit if the program runs from a checkout."""
    from translate import __version__

    if (commit := git("rev-parse", "--short=12", "HEAD")) is None:
        return __version__
    changes = git("status", "--porcelain", "--untracked-files=no")
    return f"{__version__} (commit {commit}{' with changes' if changes else ''})"


def _without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments without --debug, which may stand anywhere before "--", and whether to show tracebacks."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--debug"]
    debug = len(kept) < end or os.environ.get("TRANSLATE_DEBUG", "") not in ("", "0")
    return [*kept, *arguments[end:]], debug


def _sentence(error: Exception) -> str:
    """The message for the user, as one sentence."""
    if isinstance(error, OptionError):
        return error.typed
    if isinstance(error, OSError) and error.strerror:
        # An error of writing names no file. Files are written under their names, so what is left is standard output.
        name = error.filename or ("standard output" if error.errno in _FULL else "")
        return f"{name}: {reason(error)}" if name else reason(error)
    return str(error)


def _prepare_streams() -> None:
    """Discard messages if stderr is closed, and escape characters that stdout cannot encode."""
    if sys.stderr is None:  # closed by the caller; print(file=None) would write to stdout
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 -- it stays open until the end
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name may hold undecodable bytes


def _flush_stdout() -> None:
    """Flush stdout; if that fails, redirect it to the null device, or Python would report an error at exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_SCRIPTS = {
    "bash": """_translate() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [[ "$word" == -* ]]; then
    case "${{COMP_WORDS[1]}}" in
{cases}
      *) words="{options}" ;;
    esac
  elif [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _translate translate
""",
    "zsh": """autoload -U +X bashcompinit && bashcompinit
{bash}""",
    "fish": """complete -c translate -n __fish_use_subcommand -a "{commands}"
{lines}
""",
}


def completion(shells: Sequence[str]) -> str:
    """Return the script with which a shell completes commands and options; UserError for another shell."""
    if len(shells) != 1 or shells[0] not in _SCRIPTS:
        raise UserError(f"--completion: name one of {', '.join(_SCRIPTS)}, such as translate --completion bash")
    commands = " ".join(COMMANDS)
    options = {command: sorted({*names_of(options_of(command)), "--help"}) for command in COMMANDS}
    without_command = [*options["text"], "--version", "--debug", "--completion"]
    if shells[0] == "fish":
        seen = {f"__fish_seen_subcommand_from {command}": names for command, names in options.items()}
        lines = [
            f'complete -c translate -n "{condition}" -l {name[2:]}'
            for condition, names in {f"not __fish_seen_subcommand_from {commands}": without_command, **seen}.items()
            for name in names
            if name.startswith("--")
        ]
        return _SCRIPTS["fish"].format(commands=commands, lines="\n".join(lines))
    cases = "\n".join(f'      {command}) words="{" ".join(names)}" ;;' for command, names in options.items())
    bash = _SCRIPTS["bash"].format(commands=commands, options=" ".join(without_command), cases=cases)
    return bash if shells[0] == "bash" else _SCRIPTS["zsh"].format(bash=bash)
