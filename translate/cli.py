"""Another name of `translate.commands.main`, for programs that import the command from here."""

from translate.commands.main import main

__all__ = ["main"]
