"""The command `translate`: options, help texts, and one line on stderr for every mistake.

Verbs import their commands when they run, so that `--help` stays fast.
"""

from translate.cli.dispatch import EXIT_DIFFERENT, EXIT_MISTAKE, main
from translate.cli.verbs import VERBS, app

__all__ = ["EXIT_DIFFERENT", "EXIT_MISTAKE", "VERBS", "app", "main"]
