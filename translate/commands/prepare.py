"""`translate prepare`: from the sources of an experiment file to a prepared corpus."""

from pathlib import Path

from translate.config import load
from translate.corpus import store


def prepare(config_path: Path, overrides: list[str], out: Path | None) -> None:
    """Prepare the corpus of `config_path` in `out`, by default prepared/NAME after the experiment; prints a report.

    Args:
        config_path: the experiment file (TOML).
        overrides: `section.key=value` settings that replace those of the file.
        out: destination folder.

    Raises UserError for what the user can mend.
    """
    config = load(config_path, overrides)
    store.prepare(config, default_folder(config_path) if out is None else out, print)


def default_folder(config_path: Path) -> Path:
    """Where the corpus of an experiment is prepared unless told otherwise."""
    return Path("prepared") / experiment_name(config_path)


def experiment_name(config_path: Path) -> str:
    """The name of an experiment: its file's, or its run's where the file is the config.json of a run."""
    return config_path.absolute().parent.name if config_path.name == "config.json" else config_path.stem
