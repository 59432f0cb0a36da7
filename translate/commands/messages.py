"""What commands tell the user beside their output: lines on stderr."""

import sys


def say(message: str) -> None:
    """Write one line to stderr, under the name of the program, whatever breaks the message holds."""
    lines = (line.strip() for line in message.splitlines())
    print(f"translate: {' '.join(line for line in lines if line)}", file=sys.stderr, flush=True)
