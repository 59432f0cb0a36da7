"""The program `translate`.

The package PyPI `translate` and Translate Toolkit install a package of this name too, and each replaces files of the
other. This module has a name that neither has, and looks at whose package it stands in before it imports more.
"""

import gc
import sys
from typing import NoReturn

DISTRIBUTION = "transformer-translate"


def program() -> NoReturn:
    """Run the command; Ctrl-C while its modules are imported ends it without a traceback, as it does later."""
    try:
        if problem := broken():
            print(f"translate: {problem}", file=sys.stderr)
            sys.exit(2)
        gc.disable()  # the modules stay, so looking for garbage among them only delays the start
        from translate.commands.main import program

        gc.freeze()
        gc.enable()
        gc.set_threshold(10_000)  # commands import more: with the default, 700, PyTorch alone takes 0.1 s longer
        program()
    except KeyboardInterrupt:
        sys.exit(130)


def broken() -> str | None:
    """Return a sentence if the package `translate` is not this project's as a whole, or None."""
    import translate

    if getattr(translate, "DISTRIBUTION", None) == DISTRIBUTION:
        return None
    from translate.commands.doctor import sharing

    if others := sharing():
        return (
            f"files of its package `translate` were replaced by those of {' and '.join(others)}; install this project "
            "into an environment of its own, or uninstall the other and install this one again"
        )
    return (
        "its package `translate` is incomplete, as after another distribution with a package of this name was "
        "uninstalled; install this project again, with pip's option --force-reinstall"
    )
