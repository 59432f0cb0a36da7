"""`translate prepare`: clean and tokenize the corpus of an experiment."""

from pathlib import Path

from translate.commands.messages import say
from translate.config.data import MonoSource
from translate.config.load import load
from translate.config.schema import ExperimentConfig
from translate.corpus.prepare import prepare as prepare_corpus

SYNTHETIC = Path("prepared") / "synthetic"  # translations of monolingual sources


def prepare(config_path: Path, overrides: list[str], out: Path | None, from_model: Path | None) -> None:
    """Prepare the corpus of an experiment and print a report.

    Args:
        config_path: the experiment file (TOML).
        overrides: `section.key=value` settings that replace those of the file.
        out: the destination folder; None is prepared/NAME, after the experiment.
        from_model: path or name of the model whose tokenizer is used, to fine-tune that model; None trains a tokenizer.

    Raises UserError for wrong input.
    """
    config, tokenizer = load(config_path, overrides), None
    if from_model is not None:
        from translate.training.parent import Parent

        parent = Parent.open(from_model, say)
        config, tokenizer = parent.settings(config, say), parent.load_tokenizer()
    prepare_corpus(complete(config), default_folder(config_path) if out is None else out, print, tokenizer)


def complete(config: ExperimentConfig) -> ExperimentConfig:
    """Return the experiment with the missing side of its monolingual sources, made if needed."""
    if not any(isinstance(source, MonoSource) for source in (*config.data.train, *config.data.replay_sources)):
        return config
    from translate.inference.back_translation import with_synthetic

    return with_synthetic(config, SYNTHETIC, say)


def default_folder(config_path: Path) -> Path:
    """The default folder for the prepared corpus of an experiment."""
    return Path("prepared") / experiment_name(config_path)


def experiment_name(config_path: Path) -> str:
    """The name of an experiment: that of its file, or of the run if the file is the config.json of a run."""
    return config_path.absolute().parent.name if config_path.name == "config.json" else config_path.stem
