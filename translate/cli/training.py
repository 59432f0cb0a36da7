"""Verbs that train: prepare, train, average."""

from pathlib import Path
from typing import Annotated

import typer

from translate.cli.options import FILES, MODEL, MODEL_HELP, Config, Overrides
from translate.errors import UserError

START = "Start from"

EXIT_DIFFERENT = 1


def prepare(
    config: Config,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Prepared corpus [default: prepared/NAME].", rich_help_panel=FILES),
    ] = None,
    from_model: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="MODEL", help=f"Use the tokenizer of this model. {MODEL_HELP}.", rich_help_panel=MODEL
        ),
    ] = None,
) -> None:
    """Clean the corpus, train the tokenizer and store token ids."""
    from translate.commands.prepare import prepare as run

    run(config, overrides or [], out, from_model)


def train(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="Experiment file (TOML); none with --reproduce.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Run directory [default: runs/NAME].", rich_help_panel=FILES)
    ] = None,
    prepared: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Prepared corpus [default: prepared/NAME].", rich_help_panel=FILES),
    ] = None,
    overrides: Overrides = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the newest checkpoint.", rich_help_panel=START)
    ] = False,
    from_model: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help=f"Fine-tune this model. {MODEL_HELP}.", rich_help_panel=START),
    ] = None,
    original: Annotated[
        Path | None,
        typer.Option(
            "--reproduce",
            metavar="RUN",
            help="Repeat this run in runs/RUN-again and compare the models; exit code 1 if they differ.",
            rich_help_panel=START,
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
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Runs, checkpoints or models.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The new model folder.")],
    last: Annotated[int, typer.Option(min=1, metavar="N", help="Checkpoints taken from each run.")] = 5,
) -> None:
    """Average the weights of several checkpoints into one model."""
    from translate.commands.average import average as run

    run(folders, out=out, last=last)
