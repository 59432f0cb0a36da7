"""Verbs that train: prepare, train, average."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from translate.options import declaring
from translate.options.declaring import FILES, MODEL, MODEL_HELP, argument, flag, value

START = "Start from"

EXIT_DIFFERENT = 1


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Clean the corpus, train the tokenizer and store token ids."""

    config: Annotated[Path, argument("CONFIG", "Experiment file (TOML).")]
    overrides: declaring.Overrides = None
    out: Annotated[Path | None, value(FILES, "FOLDER", "Prepared corpus [default: prepared/NAME].")] = None
    from_model: Annotated[
        Path | None, value(MODEL, "MODEL", f"Use the tokenizer of this model. {MODEL_HELP}.", "--from")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a model; prepares the corpus first if needed."""

    config: Annotated[Path | None, argument("CONFIG", "Experiment file (TOML); none with --reproduce.")] = None
    run: Annotated[Path | None, value(FILES, "FOLDER", "Run directory [default: runs/NAME].")] = None
    prepared: Annotated[Path | None, value(FILES, "FOLDER", "Prepared corpus [default: prepared/NAME].")] = None
    overrides: declaring.Overrides = None
    resume: Annotated[bool, flag(START, "--resume", "Continue from the newest checkpoint.")] = False
    from_model: Annotated[
        Path | None,
        value(START, "MODEL", f"Fine-tune this model. {MODEL_HELP}; NAME@SHA256 also checks its weights.", "--from"),
    ] = None
    original: Annotated[
        Path | None,
        value(
            START,
            "RUN",
            "Repeat this run in runs/RUN-again and compare the models; exit code 1 if they differ.",
            "--reproduce",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Average:
    """Average the weights of several checkpoints into one model."""

    folders: Annotated[list[Path], argument("FOLDER", "Runs, checkpoints or models.")]
    out: declaring.Out
    last: Annotated[int, value("Checkpoints", "N", "Checkpoints taken from each run.", min=1)] = 5
