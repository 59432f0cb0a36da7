"""Verbs that train: prepare, train, average."""

from pathlib import Path
from typing import Annotated

import typer

from translate.cli import options
from translate.cli.options import FILES, MODEL, MODEL_HELP, argument, flag, value
from translate.errors import UserError

START = "Start from"

EXIT_DIFFERENT = 1


def prepare(
    config: options.Config,
    overrides: options.Overrides = None,
    out: Annotated[Path | None, value(FILES, "FOLDER", "Prepared corpus [default: prepared/NAME].")] = None,
    from_model: Annotated[
        Path | None, value(MODEL, "MODEL", f"Use the tokenizer of this model. {MODEL_HELP}.", "--from")
    ] = None,
) -> None:
    """Clean the corpus, train the tokenizer and store token ids."""
    from translate.commands.prepare import prepare as run

    run(config, overrides or [], out, from_model)


def train(
    config: Annotated[Path | None, argument("CONFIG", "Experiment file (TOML); none with --reproduce.")] = None,
    run: Annotated[Path | None, value(FILES, "FOLDER", "Run directory [default: runs/NAME].")] = None,
    prepared: Annotated[Path | None, value(FILES, "FOLDER", "Prepared corpus [default: prepared/NAME].")] = None,
    overrides: options.Overrides = None,
    resume: Annotated[bool, flag(START, "--resume", "Continue from the newest checkpoint.")] = False,
    from_model: Annotated[Path | None, value(START, "MODEL", f"Fine-tune this model. {MODEL_HELP}.", "--from")] = None,
    original: Annotated[
        Path | None,
        value(
            START,
            "RUN",
            "Repeat this run in runs/RUN-again and compare the models; exit code 1 if they differ.",
            "--reproduce",
        ),
    ] = None,
) -> None:
    """Train a model; prepares the corpus first if needed."""
    from translate.commands.train import reproduce
    from translate.commands.train import train as run_training

    if original is None and config is not None:
        run_training(
            config, run=run, prepared=prepared, overrides=overrides or [], resume=resume, from_model=from_model
        )
    elif original is None:
        raise UserError("name an experiment file: translate train CONFIG; or a run to repeat with --reproduce")
    elif config is not None or overrides or from_model is not None:
        raise UserError("--reproduce takes all settings from the run; leave out CONFIG, --set and --from")
    elif not reproduce(original, run=run, prepared=prepared, resume=resume):
        raise typer.Exit(EXIT_DIFFERENT)


def average(
    folders: Annotated[list[Path], argument("FOLDER", "Runs, checkpoints or models.")],
    out: Annotated[Path, value(FILES, "FOLDER", "The new model folder.")],
    last: Annotated[int, value("Checkpoints", "N", "Checkpoints taken from each run.", min=1)] = 5,
) -> None:
    """Average the weights of several checkpoints into one model."""
    from translate.commands.average import average as run

    run(folders, out=out, last=last)
