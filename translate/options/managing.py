"""Verbs about models and the machine: models, compress, export, import, doctor."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.options import declaring
from translate.options.declaring import FILES, MODEL_HELP, OUTPUT, argument, flag, value

LANGUAGES = "Languages"


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """Show versions, hardware, speed and missing packages."""

    as_json: declaring.Json = False


@dataclass(frozen=True, kw_only=True)
class Models:
    """List the installed models and runs, or show the card of one."""

    model: Annotated[Path | None, argument("MODEL", f"Show the card of this model. {MODEL_HELP}.")] = None
    as_json: declaring.Json = False


@dataclass(frozen=True, kw_only=True)
class Compress:
    """Store a model's weights in fewer bits."""

    model: declaring.NamedModel
    out: declaring.Out
    dtype: Annotated[
        Literal["int8", "bf16", "fp32"], value(OUTPUT, "TYPE", "Type of the stored weights: int8, bf16 or fp32.")
    ] = "int8"


@dataclass(frozen=True, kw_only=True)
class Export:
    """Export a model to CTranslate2, Hugging Face or Argos Translate.

    The output of both models is compared on sentences.
    """

    model: declaring.NamedModel
    out: Annotated[Path, value(FILES, "PATH", "The new folder, or NAME.argosmodel.")]
    format: Annotated[
        Literal["ctranslate2", "marian", "argos"],
        value(OUTPUT, "FORMAT", "ctranslate2, marian (Hugging Face) or argos."),
    ]
    int8: Annotated[bool, flag(OUTPUT, "--int8", "Store weights in 8 bits; not for marian.")] = False
    sentences: declaring.CheckedOn = None


@dataclass(frozen=True, kw_only=True)
class Import:
    """Import a model of Hugging Face Marian, fairseq or JoeyNMT.

    The output of a Marian model is compared with that of the original.
    """

    folder: Annotated[Path, argument("FOLDER", "Model of Marian, fairseq or JoeyNMT.")]
    out: declaring.Out
    source: Annotated[str | None, value(LANGUAGES, "LANGUAGE", "Source language [default: as in the folder].")] = None
    target: Annotated[str | None, value(LANGUAGES, "LANGUAGE", "Target language [default: as in the folder].")] = None
    sentences: declaring.CheckedOn = None
