"""`translate export`: write a model in the format of another engine."""

from pathlib import Path
from typing import Literal

from translate.commands.messages import say
from translate.commands.reading import ArrivingLines
from translate.corpus import grammar
from translate.errors import UserError
from translate.models import folder as model_folder
from translate.models import registry

Format = Literal["ctranslate2", "marian", "argos"]

_N_SENTENCES = 100
_SEED = 1


def export(model: Path, *, to: Path, format: Format, int8: bool, sentences: Path | None) -> None:
    """Write a model for another engine, and check on sentences that both produce the same output.

    Args:
        model: path or name of a model.
        to: the new folder, or the new .argosmodel file.
        format: "ctranslate2", "argos" for Argos Translate and LibreTranslate, or "marian" for Hugging Face's
            MarianMTModel and MarianTokenizer.
        int8: store the weights in 8 bits; not for Marian.
        sentences: file of sentences to check on; None takes 100 of the embedded grammar.

    Raises UserError if there is no such model, if `to` exists, if the format cannot represent the architecture, if the
    engine's package is not installed, or if the exported model differs; nothing is then left at `to`.
    """
    from translate.exchange import argos_package, ctranslate2_folder, marian_folder

    if int8 and format == "marian":
        raise UserError("--int8 needs --format ctranslate2 or argos; leave it out")
    model_folder.refuse_existing(to)
    original = model_folder.ModelFolder.open(registry.locate(model, say))
    texts = sentences_for_check(sentences, original.spec.source)
    if format == "marian":
        proof = marian_folder.export(original, to, texts)
    elif format == "argos":
        proof = argos_package.export(original, to, texts, int8=int8)
    else:
        proof = ctranslate2_folder.export(original, to, texts, int8=int8)
    say(
        f"wrote {to}: {proof.n_same} of {proof.n_sentences} sentences have the same greedy output; the scores differ "
        f"by {proof.mean:.1e} on average, by {proof.largest:.1e} at most"
    )


def sentences_for_check(path: Path | None, source: str) -> list[str]:
    """The sentences of a file, or 100 of the embedded grammar: English ones if `source` is "en", else German ones."""
    if path is None:
        side = 1 if source == "en" else 0
        return [pair[side] for pair in grammar.generate("test", _N_SENTENCES, _SEED)]
    with path.open("rb") as file:
        return [line.strip() for line in ArrivingLines(file, str(path)) if line.strip()]
