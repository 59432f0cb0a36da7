"""Messages of commands: lines on stderr."""

import sys


def say(message: str) -> None:
    """Write one line to stderr, after the program's name; line breaks in the message become spaces."""
    lines = (line.strip() for line in message.splitlines())
    print(f"translate: {' '.join(line for line in lines if line)}", file=sys.stderr, flush=True)
