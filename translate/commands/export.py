"""`translate export`: a model in the format of another engine."""

from pathlib import Path
from typing import Literal

from translate.commands.messages import say
from translate.commands.reading import ArrivingLines
from translate.corpus import grammar
from translate.errors import UserError
from translate.models import folder as model_folder
from translate.models import registry as installed

Format = Literal["ctranslate2", "marian", "argos"]

_N_SENTENCES = 100
_SEED = 1


def export(path: Path, *, to: Path, format: Format, int8: bool, sentences: Path | None) -> None:
    """Write a model for another engine, and prove on sentences that it does the same there.

    Args:
        path: path or name of a model folder or run.
        to: the new folder, or the new .argosmodel file.
        format: "ctranslate2", "argos" for Argos Translate and LibreTranslate, or "marian" for Hugging Face's
            MarianMTModel and MarianTokenizer.
        int8: store whole numbers of 8 bits; not for Marian.
        sentences: a file with sentences to check on; None takes 100 of the embedded grammar.

    Raises UserError if there is no such model, if `to` exists, if the format has no such architecture, if the engine's
    package is not installed, or if the exported model differs; then nothing is left at `to`.
    """
    from translate.exchange import argos_package, ctranslate2_folder, marian_folder
    from translate.exchange.new_folder import refuse_existing

    if int8 and format == "marian":
        raise UserError("--int8 goes with --format ctranslate2 or argos; leave it out")
    refuse_existing(to)
    parts = model_folder.ModelFolder.open(installed.locate(path, say))
    texts = sentences_for_check(sentences, parts.spec.source)
    if format == "marian":
        proof = marian_folder.export(parts, to, texts)
    elif format == "argos":
        proof = argos_package.export(parts, to, texts, int8=int8)
    else:
        proof = ctranslate2_folder.export(parts, to, texts, int8=int8)
    say(
        f"wrote {to}: of {proof.n_sentences} sentences {proof.n_same} have the same greedy output; what the models say "
        f"differs by {proof.mean:.1e} on average, by {proof.largest:.1e} at most"
    )


def sentences_for_check(path: Path | None, source: str) -> list[str]:
    """The sentences of a file; without one, some of the embedded grammar in the source language, if it has that."""
    return _embedded(source) if path is None else _lines(path)


def _embedded(source: str) -> list[str]:
    """Sentences of the embedded grammar, in English for models that read English, else in German."""
    side = 1 if source == "en" else 0
    return [pair[side] for pair in grammar.generate("test", _N_SENTENCES, _SEED)]


def _lines(path: Path) -> list[str]:
    """The lines of a file that are not blank."""
    with path.open("rb") as file:
        return [line.strip() for line in ArrivingLines(file, str(path)) if line.strip()]
