"""Run the command `translate`, as a program or as `python -m translate`."""

import sys
from typing import NoReturn


def program() -> NoReturn:
    """Run the command; Ctrl-C while its modules are imported ends it without a traceback, as it does later."""
    try:
        from translate.commands.main import program

        program()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    program()
