"""Choose a model, load it, and set up this machine for it."""

import sys
from pathlib import Path

from translate.commands.lines import Translating
from translate.errors import UserError, say
from translate.models import registry
from translate.models.folder import TranslationSpec
from translate.text import formats, languages

_BEGINNING = 2**20  # bytes of a file that are read to guess its language; the head of a web page may be long


def find_model(options: Translating, *, exported: bool = False, layout: str = "lines", column: int = 1) -> Path:
    """Return the model folder for a translation; UserError if there is none.

    The text is read only to guess its language.

    Args:
        options: the options of the verb.
        exported: whether a CTranslate2 folder is accepted.
        layout: format of the text; the guess uses only the parts that are translated.
        column: of a "tsv" file.
    """
    source = _guess(options, exported, layout, column) if options.from_language == "auto" else options.from_language
    return registry.find_model(options.model, say, source=source, target=options.to_language, exported=exported)


def _guess(options: Translating, exported: bool, layout: str, column: int) -> str | None:
    """Return the source language of a model that the text seems to be in; None if no model has the target language."""
    folders = registry.fitting([folder for _, folder in registry.installed()], None, options.to_language, say)
    specs = [TranslationSpec.load(folder / "translation.json") for folder in folders]
    if chosen := registry.chosen_model(options.model, lambda _: None, exported=exported):
        specs.append(TranslationSpec.load(chosen / "translation.json"))
    known = sorted({spec.source for spec in specs if options.to_language in (None, spec.target)})
    if not known:
        return None
    guessed = languages.language_of(formats.prose(_sample(options), layout, column), known)
    if guessed is None:
        raise UserError(f"--from auto: cannot guess the language of the text; name one of {', '.join(known)}")
    say(f"guessed the source language: {guessed}")
    return guessed


def _sample(options: Translating) -> list[str]:
    """The beginning of the text to translate; peeks at stdin without consuming it."""
    if options.sentences:
        return options.sentences
    if options.input is not None:
        if not options.input.is_file():
            raise UserError(f"--from auto: {options.input} can be read only once; name the language")
        with options.input.open("rb") as file:
            return [file.read(_BEGINNING).decode("utf-8", errors="replace")]
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError("--from auto: there is no text yet to guess from; name the language")
    return [sys.stdin.buffer.peek().decode("utf-8", errors="replace")]  # type: ignore[union-attr]


def set_up_torch(threads: int | None) -> None:
    """Set the number of CPU threads, None for the default, and keep freed memory for the next tensors."""
    import torch

    from translate.machine import tune_malloc

    if threads is not None:
        torch.set_num_threads(threads)
    tune_malloc()
