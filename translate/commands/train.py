"""`translate train`: train an experiment, or repeat a run."""

import sys
from pathlib import Path

from translate.commands.prepare import complete, default_folder, experiment_name
from translate.config.load import load


def train(
    config_path: Path,
    *,
    run: Path | None,
    prepared: Path | None,
    overrides: list[str],
    resume: bool,
    from_model: Path | None = None,
) -> None:
    """Train the experiment in `config_path`; see `train_experiment` for signals and errors.

    Args:
        config_path: the experiment file.
        run: the run directory; None is runs/NAME after the experiment.
        prepared: folder of the prepared corpus, made or brought up to date first; None is prepared/NAME.
        overrides: `section.key=value` settings that replace those of the file.
        resume: continue from the newest checkpoint, or start if there is none.
        from_model: run directory or model folder to fine-tune.
    """
    from translate.evaluation.validation import greedy_bleu
    from translate.training.run import Run
    from translate.training.session import train_experiment

    train_experiment(
        complete(load(config_path, overrides)),
        Run(run or Path("runs") / experiment_name(config_path)),
        prepared or default_folder(config_path),
        score_bleu=greedy_bleu,
        say=_say,
        resume=resume,
        from_model=from_model,
    )


def reproduce(original: Path, *, run: Path | None, prepared: Path | None, resume: bool) -> bool:
    """Repeat a run; return whether the final models are identical to the last bit.

    Args:
        original: the directory of a finished run; its config.json is the experiment.
        run: the new run directory; None is runs/NAME-again.
        prepared: folder of the prepared corpus; None is the run's own if it is unchanged, or else prepared/NAME-again.
        resume: continue the new run from its newest checkpoint.

    Raises UserError if data, seed, model or number of processes differ from those of the run; other versions or
    hardware only give a warning.
    """
    from translate.evaluation.validation import greedy_bleu
    from translate.training.reproduction import Original
    from translate.training.run import Run
    from translate.training.session import train_experiment

    repeated = Original.open(original)
    name = f"{original.resolve().name}-again"
    return train_experiment(
        repeated.config,
        Run(run or Path("runs") / name),
        prepared or repeated.corpus_folder(Path("prepared") / name),
        score_bleu=greedy_bleu,
        say=_say,
        resume=resume,
        original=repeated,
    )


def _say(message: str) -> None:
    """Print a line to stderr without breaking the progress bar."""
    from tqdm import tqdm

    tqdm.write(message, file=sys.stderr)
