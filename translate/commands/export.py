"""`translate export`: write a model in the format of another engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.commands.lines import ArrivingLines
from translate.errors import UserError, say
from translate.models import folder as model_folder
from translate.models import registry
from translate.options import FILES, OUTPUT, CheckedOn, NamedModel, flag, option


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Export a model to CTranslate2, Hugging Face, Argos or ONNX.

    The export is kept only if it translates sentences as the model does.
    """

    model: NamedModel
    out: Annotated[Path, option(FILES, "PATH", "The new folder, or NAME.argosmodel.")]
    format: Annotated[
        Literal["ctranslate2", "marian", "argos", "onnx"],
        option(OUTPUT, "FORMAT", "ctranslate2, marian (Hugging Face), argos or onnx."),
    ]
    int8: Annotated[bool, flag(OUTPUT, "--int8", "Store weights in 8 bits; not for marian.")] = False
    sentences: CheckedOn = None


def run(options: ExportOptions) -> None:
    """Write a model for another engine, and check on sentences that both produce the same output.

    Raises UserError if there is no such model, if `out` exists, if the format cannot represent the architecture, if the
    engine's package is not installed, or if the exported model differs; nothing is then left at `out`.
    """
    from translate.exchange import argos_package, ctranslate2_folder, marian, onnx_folder

    out, int8 = options.out, options.int8
    if int8 and options.format == "marian":
        raise UserError("--int8 needs --format ctranslate2, argos or onnx; leave it out")
    model_folder.refuse_existing(out)
    original = model_folder.ModelFolder.open(registry.locate(options.model, say))
    texts = sentences_for_check(options.sentences, original.spec.source)
    if options.format == "marian":
        proof = marian.export(original, out, texts)
    elif options.format == "argos":
        proof = argos_package.export(original, out, texts, int8=int8)
    elif options.format == "onnx":
        proof = onnx_folder.export(original, out, texts, int8=int8)
    else:
        proof = ctranslate2_folder.export(original, out, texts, int8=int8)
    say(
        f"wrote {out}: {proof.n_same} of {proof.n_sentences} sentences have the same greedy output; the scores differ "
        f"by {proof.mean:.1e} on average, by {proof.largest:.1e} at most"
    )


def sentences_for_check(path: Path | None, source: str | None) -> Sequence[str]:
    """Return the sentences of a file, or those of `verification.sentences`; UserError if the file has none."""
    if path is None:
        from translate.exchange import verification

        return verification.sentences(source)
    with path.open("rb") as file:
        texts = [line.strip() for line in ArrivingLines(file, str(path)) if line.strip()]
    if not texts:
        raise UserError(f"{path}: has no sentence to check the model on; name a file with sentences")
    return texts
