"""`translate prepare`: clean and tokenize the corpus of an experiment."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from translate.errors import say
from translate.machine import share_heap
from translate.options import FILES, MODEL, MODEL_HELP, RAY, Overrides, argument, model_option, option

if TYPE_CHECKING:
    from translate.config.schema import ExperimentConfig


@dataclass(frozen=True, kw_only=True)
class PrepareOptions:
    """Clean the corpus, train a tokenizer and store token ids."""

    config: Annotated[Path, argument("CONFIG", "Experiment file (TOML).")]
    overrides: Overrides = None
    out: Annotated[Path | None, option(FILES, "FOLDER", "Prepared corpus [default: prepared/NAME].")] = None
    from_model: Annotated[
        Path | None, model_option(MODEL, f"Use the tokenizer of this model. {MODEL_HELP}.", "--from")
    ] = None
    ray: Annotated[str | None, RAY] = None


def run(options: PrepareOptions) -> None:
    """Prepare the corpus of an experiment and print a report; UserError for wrong input."""
    share_heap()  # the threads that train a tokenizer copy what another one has read
    from translate.config.load import default_folder, load
    from translate.corpus.prepare import check_corpus, prepare

    config, tokenizer = load(options.config, options.overrides or []), None
    if options.from_model is not None:
        from translate.training.parent import Parent

        parent = Parent.open(options.from_model, say)
        config, tokenizer = parent.settings(config, say), parent.load_tokenizer()
    check_corpus(config, tokenizer)  # before text is translated, which takes long
    config, folder = complete(config), options.out or default_folder(options.config)
    if options.ray is None:
        prepare(config, folder, print, tokenizer)
        return
    from translate import cluster
    from translate.corpus.cluster import clean

    with cluster.connected(options.ray):
        prepare(config, folder, print, tokenizer, clean)


def complete(config: "ExperimentConfig", *, make: bool = True) -> "ExperimentConfig":
    """Return the experiment with the missing side of its sources, made if needed.

    With `make` false, UserError if a side would have to be made.
    """
    if not config.data.synthetic_sources:
        return config
    from translate.inference.back_translation import BackTranslations

    sides = BackTranslations(config, say)
    if make:
        sides.make()
    else:
        sides.require()
    return sides.config
