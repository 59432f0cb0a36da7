"""`translate prepare`: from the sources of an experiment file to a prepared corpus."""

from pathlib import Path

from translate.commands.messages import say
from translate.config.load import load
from translate.corpus.prepare import prepare as prepare_corpus


def prepare(config_path: Path, overrides: list[str], out: Path | None, from_model: Path | None) -> None:
    """Prepare the corpus of `config_path` in `out`, by default prepared/NAME after the experiment; prints a report.

    Args:
        config_path: the experiment file (TOML).
        overrides: `section.key=value` settings that replace those of the file.
        out: destination folder.
        from_model: run or model folder whose tokenizer makes the ids, for a training that starts from it.

    Raises UserError for what the user can mend.
    """
    config, tokenizer = load(config_path, overrides), None
    if from_model is not None:
        from translate.training.parent import Parent

        parent = Parent.open(from_model, say)
        config, tokenizer = parent.settings(config, say), parent.load_tokenizer()
    prepare_corpus(config, default_folder(config_path) if out is None else out, print, tokenizer)


def default_folder(config_path: Path) -> Path:
    """Where the corpus of an experiment is prepared unless told otherwise."""
    return Path("prepared") / experiment_name(config_path)


def experiment_name(config_path: Path) -> str:
    """The name of an experiment: its file's, or its run's where the file is the config.json of a run."""
    return config_path.absolute().parent.name if config_path.name == "config.json" else config_path.stem
