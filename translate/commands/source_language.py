"""`--from auto`: the language of the text to translate, guessed from its beginning."""

import sys

from translate.commands.lines import TranslationOptions, binary_stdin, is_document
from translate.errors import UserError, say
from translate.files import read_bytes
from translate.models import registry
from translate.models.folder import TranslationSpec
from translate.text import formats, languages

_BEGINNING = 2**20  # bytes of a file that are read; the head of a web page may be long


def guess_language(options: TranslationOptions, *, exported: bool) -> str | None:
    """Return the source language of a model that the text seems to be in; None if no model has the target language.

    Only the parts of the text that are translated count.

    Args:
        exported: whether the chosen model may be a CTranslate2 folder.

    Raises UserError if the text cannot be read twice, or if its language is unknown.
    """
    folders = registry.fitting([folder for _, folder in registry.installed()], None, options.to_language, say)
    specs = [TranslationSpec.load(folder) for folder in folders]
    if chosen := registry.chosen_model(options.opening.model, lambda _: None, exported=exported):
        specs.append(TranslationSpec.load(chosen))
    known = sorted({spec.source for spec in specs if spec.speaks(None, options.to_language)})
    if not known:
        return None
    sample = _sample(options)
    if not any(text.strip() for text in sample):  # nothing to translate, so any model will do
        return None
    prose = list(formats.prose(sample, options.document.format, options.document.column))
    guessed = languages.language_of(prose, known)
    if guessed is None:
        ranked = languages.ranking(prose, known)
        best = f" ({ranked[0][0]} with {ranked[0][1]:.0%})" if ranked else ""
        raise UserError(f"--from auto: the language of the text is unknown{best}; name one of {', '.join(known)}")
    say(f"guessed the source language: {guessed}")
    return guessed


def _sample(options: TranslationOptions) -> list[str]:
    """The beginning of the text to translate; peeks at stdin without consuming it."""
    if options.sentences:
        return options.sentences
    if options.input is not None:
        if not options.input.is_file():
            raise UserError(f"--from auto: {options.input} can be read only once; name the language")
        if texts := document_texts(options):
            return texts
        with options.input.open("rb") as file:
            return [file.read(_BEGINNING).decode("utf-8", errors="replace")]
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError("--from auto: there is no text yet to guess from; name the language")
    return [binary_stdin().peek().decode("utf-8", errors="replace")]


def document_texts(options: TranslationOptions) -> list[str]:
    """Return the texts of a document; none for another file."""
    if not is_document(options):
        return []
    from translate.documents import document

    assert options.input is not None
    name = str(options.input)
    reading = document.Reading(name=name, source="", target=options.to_language or "", replace=True, force=True)
    return [unit.text for unit in document.read(read_bytes(options.input), reading).units]
