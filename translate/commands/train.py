"""`translate train`: train an experiment, or repeat a run."""

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from translate.errors import UserError
from translate.models import registry
from translate.options import FILES, MODEL_HELP, Overrides, argument, flag, model_option, option

START = "Start from"
EXIT_DIFFERENT = 1


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Train a model; prepares the corpus first if needed."""

    config: Annotated[Path | None, argument("CONFIG", "Experiment file (TOML); none with --reproduce.")] = None
    run: Annotated[Path | None, option(FILES, "FOLDER", "Run directory [default: runs/NAME].")] = None
    prepared: Annotated[Path | None, option(FILES, "FOLDER", "Prepared corpus [default: prepared/NAME].")] = None
    overrides: Overrides = None
    resume: Annotated[bool, flag(START, "--resume", "Continue from the newest checkpoint.")] = False
    from_model: Annotated[
        Path | None,
        model_option(START, f"Fine-tune this model. {MODEL_HELP}; NAME@SHA256 also checks its weights.", "--from"),
    ] = None
    reproduce: Annotated[
        Path | None,
        option(START, "RUN", "Repeat this run in runs/RUN-again and compare the models; exit code 1 if they differ."),
    ] = None


def run(options: TrainOptions) -> int:
    """Train an experiment, or repeat a run; see `train_experiment` for signals and errors.

    A run is repeated with its prepared corpus if that is unchanged, or else with one in prepared/NAME-again. UserError
    if data, model or number of processes differ from those of the run; other versions or hardware only give a
    warning. Returns the exit code, EXIT_DIFFERENT if the final models are not identical to the last bit.
    """
    from translate.config.load import default_folder, experiment_name, load
    from translate.training.plan import Start
    from translate.training.run import Run
    from translate.training.train import train_experiment

    original = None
    if options.reproduce is not None:
        from translate.training.reproduction import Original

        if options.config is not None or options.overrides or options.from_model is not None:
            raise UserError("--reproduce takes all settings from the run; leave out CONFIG, --set and --from")
        original = Original.open(registry.find_folder(options.reproduce, _say, is_run=True))
        config, name = original.config, f"{original.run.folder.resolve().name}-again"
        corpus = options.prepared or original.corpus_folder(Path("prepared") / name)
    elif options.config is not None:
        config, name = load(options.config, options.overrides or []), experiment_name(options.config)
        corpus = options.prepared or default_folder(options.config)
    else:
        raise UserError("name an experiment file: translate train CONFIG; or a run to repeat with --reproduce")
    run = Run(options.run or Path("runs") / name)
    start = Start(config, run, corpus, resume=options.resume, from_model=options.from_model, original=original)
    is_same = train_experiment(start, _say)
    return 0 if is_same else EXIT_DIFFERENT


def _say(message: str) -> None:
    """Print a line to stderr without breaking the progress bar; one that is gone must not keep a run from saving."""
    from tqdm import tqdm

    with suppress(OSError):
        tqdm.write(message, file=sys.stderr)
