"""Run the command `translate` as `python -m translate`."""

from translate.commands.main import program

program()
