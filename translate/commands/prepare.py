"""`translate prepare`: clean and tokenize the corpus of an experiment."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from translate.errors import say
from translate.options import FILES, MODEL, MODEL_HELP, Overrides, argument, option

if TYPE_CHECKING:
    from translate.config.schema import ExperimentConfig
    from translate.inference.back_translation import BackTranslations

SYNTHETIC = Path("prepared") / "synthetic"  # translations of monolingual sources


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Clean the corpus, train a tokenizer and store token ids."""

    config: Annotated[Path, argument("CONFIG", "Experiment file (TOML).")]
    overrides: Overrides = None
    out: Annotated[Path | None, option(FILES, "FOLDER", "Prepared corpus [default: prepared/NAME].")] = None
    from_model: Annotated[
        Path | None, option(MODEL, "MODEL", f"Use the tokenizer of this model. {MODEL_HELP}.", "--from")
    ] = None


def run(options: Prepare) -> None:
    """Prepare the corpus of an experiment and print a report; UserError for wrong input."""
    from translate.config.load import load
    from translate.corpus.prepare import prepare

    config, tokenizer = load(options.config, options.overrides or []), None
    if options.from_model is not None:
        from translate.training.parent import Parent

        parent = Parent.open(options.from_model, say)
        config, tokenizer = parent.settings(config, say), parent.load_tokenizer()
    prepare(complete(config), options.out or default_folder(options.config), print, tokenizer)


def complete(config: "ExperimentConfig", *, make: bool = True) -> "ExperimentConfig":
    """Return the experiment with the missing side of its monolingual sources, made if needed.

    With `make` false, UserError if a side would have to be made.
    """
    sides = back_translations(config)
    if sides is None:
        return config
    if make:
        sides.make()
    else:
        sides.require()
    return sides.config


def back_translations(config: "ExperimentConfig") -> "BackTranslations | None":
    """Return the synthetic sides of the experiment's monolingual sources, or None if it has no such sources."""
    from translate.config.schema import MonoSource

    if not any(isinstance(source, MonoSource) for source in (*config.data.train, *config.data.replay_sources)):
        return None
    from translate.inference.back_translation import BackTranslations

    return BackTranslations(config, SYNTHETIC, say)


def default_folder(config_path: Path) -> Path:
    """The default folder for the prepared corpus of an experiment."""
    return Path("prepared") / experiment_name(config_path)


def experiment_name(config_path: Path) -> str:
    """The name of an experiment: that of its file, or of the run if the file is the config.json of a run."""
    return config_path.absolute().parent.name if config_path.name == "config.json" else config_path.stem
