"""Verbs about models and the machine: models, compress, export, import, doctor."""

from pathlib import Path
from typing import Annotated, Literal

from translate.cli import options
from translate.cli.options import FILES, MODEL_HELP, OUTPUT, argument, flag, value

LANGUAGES = "Languages"


def doctor(as_json: options.Json = False) -> None:
    """Show versions, hardware, speed and missing packages."""
    from translate.commands.doctor import doctor as run

    run(as_json=as_json)


def models(
    model: Annotated[Path | None, argument("MODEL", f"Show the card of this model. {MODEL_HELP}.")] = None,
    as_json: options.Json = False,
) -> None:
    """List the installed models and runs, or show the card of one."""
    from translate.commands.models import models as run

    run(model, as_json=as_json)


def compress(
    model: options.NamedModel,
    out: Annotated[Path, value(FILES, "FOLDER", "The new model folder.", "--out", "--to")],
    dtype: Annotated[
        Literal["int8", "bf16", "fp32"], value(OUTPUT, "TYPE", "Type of the stored weights: int8, bf16 or fp32.")
    ] = "int8",
) -> None:
    """Store a model's weights in fewer bits."""
    from translate.commands.compress import compress as run

    run(model, to=out, dtype=dtype)


def export(
    model: options.NamedModel,
    to: Annotated[Path, value(FILES, "PATH", "The new folder, or NAME.argosmodel.")],
    layout: Annotated[
        Literal["ctranslate2", "marian", "argos"],
        value(OUTPUT, "FORMAT", "ctranslate2, marian (Hugging Face) or argos.", "--format"),
    ],
    int8: Annotated[bool, flag(OUTPUT, "--int8", "Store weights in 8 bits; not for marian.")] = False,
    sentences: options.CheckedOn = None,
) -> None:
    """Export a model to CTranslate2, Hugging Face or Argos Translate.

    The output of both models is compared on sentences.
    """
    from translate.commands.export import export as run

    run(model, to=to, format=layout, int8=int8, sentences=sentences)


def import_model(
    folder: Annotated[Path, argument("FOLDER", "Model of Marian, fairseq or JoeyNMT.")],
    to: Annotated[Path, value(FILES, "FOLDER", "The new model folder.")],
    source: Annotated[str | None, value(LANGUAGES, "LANGUAGE", "Source language [default: as in the folder].")] = None,
    target: Annotated[str | None, value(LANGUAGES, "LANGUAGE", "Target language [default: as in the folder].")] = None,
    sentences: options.CheckedOn = None,
) -> None:
    """Import a model of Hugging Face Marian, fairseq or JoeyNMT.

    The output of a Marian model is compared with that of the original.
    """
    from translate.commands.import_model import import_model as run

    run(folder, to=to, source=source, target=target, sentences=sentences)
