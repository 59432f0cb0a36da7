"""The prompt: lines that are typed or pasted, with a history."""

import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from translate.errors import say

HISTORY_LENGTH = 1000  # lines


class TypedLines:
    """Lines typed or pasted at a prompt, until Ctrl-D; Ctrl-C discards what is typed, and ends if repeated.

    Attributes:
        mark: "", as typed text has no byte order mark.
        name: shown before the prompt's angle bracket.
    """

    mark = ""

    def __init__(self) -> None:
        self.name = ""
        self._waiting: deque[str] = deque()

    def __iter__(self) -> Iterator[str]:
        say("type a sentence and press Enter; Ctrl-D ends")
        for entry in self.entries():
            self._waiting.extend(entry)
            while self._waiting:
                yield self._waiting.popleft() + "\n"

    def entries(self) -> Iterator[list[str]]:
        """Yield the lines of each entry: one that was typed, or all that were pasted together."""
        is_interrupted = False
        # If stdout is not a terminal, the prompt would become part of the output.
        is_shown = sys.stdout is not None and sys.stdout.isatty()
        keep = _history()
        while True:
            try:
                text = input(f"{self.name}> " if is_shown else "")
                keep()
                text.encode("utf-8")  # some locales turn undecodable bytes into surrogates
            except KeyboardInterrupt:
                if is_interrupted:
                    raise
                is_interrupted = True
                print(file=sys.stderr)
                say("Ctrl-D ends, as does Ctrl-C once more")
                continue
            except (UnicodeDecodeError, UnicodeEncodeError) as error:
                say(f"the typed text is not {error.encoding}; set the terminal to UTF-8")
                continue
            except EOFError:
                if is_shown:
                    print(file=sys.stderr)  # so that the shell's prompt begins a new line
                return
            is_interrupted = False
            yield text.split("\n")

    def is_ready(self) -> bool:
        """True if more pasted lines are waiting."""
        return bool(self._waiting)


def history_file() -> Path:
    """Return the path of the prompt's history, which follows the XDG base directory specification.

    RuntimeError if there is no home folder.
    """
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "translate" / "history"


def _history() -> Callable[[], None]:
    """Edit the lines of `input`, with a history; return a function that keeps a new line for the next session.

    It is kept at once, since a closed terminal ends the process, and added to those of other sessions.
    """
    try:
        import readline

        readline.parse_and_bind("set enable-bracketed-paste on")  # several pasted lines are one entry
        path = history_file()
    except (ImportError, RuntimeError):  # Windows has no readline, and some users have no home folder
        return lambda: None
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        readline.read_history_file(path)
    readline.set_history_length(HISTORY_LENGTH)
    n_kept = readline.get_current_history_length()

    def keep() -> None:
        nonlocal n_kept
        n_new = readline.get_current_history_length() - n_kept  # 0 for a line that repeats the last one
        n_kept += n_new
        with contextlib.suppress(OSError):
            path.touch(mode=0o600)  # private to the user
            if hasattr(readline, "append_history_file"):
                readline.append_history_file(n_new, path)
            else:  # libedit
                readline.write_history_file(path)

    return keep
