"""A session of `translate text` at a terminal."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from translate.commands.lines import ArrivingLines, TypedLines, given_lines, is_first_session
from translate.errors import UserError, say
from translate.models import registry

if TYPE_CHECKING:
    from translate.commands.text import Text
    from translate.inference.translator import Translator

SWITCH = "/switch"  # typed at the prompt


class Session:
    """Translates typed lines, in both directions; Ctrl-C stops a translation and not the session.

    Args:
        options: of the command.
        open: returns a translator for options.
        translate: writes the translation of lines.
    """

    def __init__(
        self,
        options: "Text",
        open: Callable[["Text"], "Translator"],
        translate: Callable[["Translator", ArrivingLines], object],
    ) -> None:
        self._options, self._open, self._translate = options, open, translate
        self._translators: dict[Path, Translator] = {}

    def hold(self, typed: TypedLines) -> None:
        """Translate each entry until Ctrl-D."""
        translator = self._opened(self._options)
        if is_first_session():
            say(
                "translates what you type, and files with --input; `translate serve` opens a page for the browser, and "
                "`translate --help` lists what else it can do"
            )
        say(f"type a sentence and press Enter; {SWITCH} changes the direction, Ctrl-D ends")
        typed.name = _pair(translator)
        for entry in typed.entries():
            try:
                if entry == [SWITCH]:
                    translator = self._opposite(translator)
                    typed.name = _pair(translator)
                    say(f"translating {typed.name}")
                else:
                    self._translate(translator, given_lines(entry))
            except KeyboardInterrupt:
                say("stopped")

    def _opened(self, options: "Text") -> "Translator":
        translator = self._open(options)
        self._translators[translator.engine.folder] = translator
        return translator

    def _opposite(self, translator: "Translator") -> "Translator":
        """Return a translator for the other direction, or the same one if there is no model for it."""
        try:
            folder = registry.opposite(translator.engine.folder, say)
            other = dataclasses.replace(self._options, model=folder, from_language=None, to_language=None)
            if other.terms is not None:  # its source terms are in the other language
                other = dataclasses.replace(other, terms=None)
                say("the glossary is for the other direction; here there is none")
            return self._translators.get(folder) or self._opened(other)
        except UserError as error:
            say(str(error))
            return translator


def _pair(translator: "Translator") -> str:
    return f"{translator.engine.spec.source}-{translator.engine.spec.target}"
