"""`translate cost`: parameters, operations, time and energy of an experiment before it is run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from translate.commands.prepare import complete
from translate.config.load import default_folder, load
from translate.config.schema import ExperimentConfig
from translate.corpus.prepare import Manifest, corpus_settings, differing, mixture, read_manifest
from translate.errors import UserError, say
from translate.experiments import cost
from translate.options import MODEL, MODEL_HELP, OUTPUT, Overrides, argument, flag, model_option, option
from translate.tables import Form, rendered

TRAINING = "Training"


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """Compute parameters, FLOPs, time and energy of an experiment.

    These are tables 1 and 2 of the paper for any configuration. Nothing is trained.
    """

    config: Annotated[Path, argument("CONFIG", "Experiment file (TOML).")]
    overrides: Overrides = None
    from_model: Annotated[
        Path | None, model_option(MODEL, f"Use the vocabulary of this model. {MODEL_HELP}.", "--from")
    ] = None
    tokens: Annotated[
        float | None, option(TRAINING, "N", "Training tokens per side [default: from the experiment].", min=1)
    ] = None
    length: Annotated[
        int | None, option(TRAINING, "N", "Tokens in a sentence [default: of the prepared corpus, or 30].", min=1)
    ] = None
    hardware: Annotated[
        str | None, option(TRAINING, "NAME", "One device, such as H100; here is this machine [default: all].")
    ] = None
    utilisation: Annotated[
        float | None,
        option(
            TRAINING, "X", "Share of the FLOP/s that training uses [default: the paper's base run].", min=1e-6, max=1
        ),
    ] = None
    markdown: Annotated[bool, flag(OUTPUT, "--markdown", "Write Markdown.")] = False


def run(options: CostOptions) -> None:
    """Print the tables of an experiment as text or Markdown; UserError if its number of tokens is not known."""
    config, folder = load(options.config, options.overrides or []), default_folder(options.config)
    if options.from_model is not None:
        from translate.training.parent import Parent

        config = Parent.open(options.from_model, say).settings(config, say)
    manifest = _manifest(config, folder)
    n_pieces = config.tokenizer.vocab_size if manifest is None else manifest["tokenizer"]["pieces"]
    model = config.model.architecture(n_pieces)
    length = cost.TYPICAL_LENGTH
    if manifest is not None:  # its mean, and the end of a sentence
        length = round(max(manifest["counts"]["tokens_per_sentence"].values())) + 1
    tokens, passes = options.tokens or _tokens(config, manifest), 2 if config.training.r_drop else 1
    training = cost.CostedTraining(model, tokens, options.length or length, passes)
    utilisation = options.utilisation or cost.base_utilisation()
    found = cost.find_devices(options.hardware)
    sizes = f"n = {training.length}, d = {training.model.d_model}, k = {cost.KERNEL}, r = {training.neighbourhood}"
    tables = {
        "Parameters": cost.parameter_rows(training),
        f"Table 1: one layer, {sizes}": cost.layer_rows(training),
        "Training": cost.training_rows(training),
        f"Hardware, at a utilisation of {utilisation:.0%}": cost.hardware_rows(training, found, utilisation),
        "Table 2: the paper's figures, and this configuration counted as the paper counts": cost.comparison_rows(
            training
        ),
    }
    form: Form = "github" if options.markdown else "simple"
    heading = "## " if options.markdown else ""
    print("\n\n".join(f"{heading}{title}\n\n{rendered(rows, form)}" for title, rows in tables.items()))


def _manifest(config: ExperimentConfig, folder: Path) -> Manifest | None:
    """Return the manifest of the prepared corpus; None if there is none, or if it was made with other settings."""
    if not (folder / "manifest.json").exists():
        return None
    manifest = read_manifest(folder)
    tokenizer = manifest["config"]["tokenizer"].get("sha256")  # of the model that a run started from
    try:
        settings = corpus_settings(complete(config, make=False), tokenizer)
    except UserError as error:  # its text or its model is gone; --tokens may still say all that is needed
        say(f"{folder} is not used: {error}")
        return None
    changed = differing(manifest["config"], settings)
    if changed:
        say(f"{folder} is not used, as it was made with other settings ({', '.join(sorted(changed))})")
    return None if changed else manifest


def _tokens(config: ExperimentConfig, manifest: Manifest | None) -> float:
    """Return the target tokens of the whole training: full batches, or epochs of the prepared corpus if fewer."""
    training = config.training
    limits = []
    if training.max_steps:
        limits.append(training.max_steps * training.accumulate * training.batch_tokens)
    if training.max_epochs and manifest:
        tokens = max(manifest["counts"]["tokens"].values()) + sum(manifest["counts"]["pairs"])  # the ends of sentences
        limits.append(training.max_epochs * tokens * _shown(config, manifest))
    if not limits:
        raise UserError(
            "training.max_epochs alone gives no number of tokens; run `translate prepare` first, or give --tokens"
        )
    return min(limits)


def _shown(config: ExperimentConfig, manifest: Manifest) -> float:
    """Return the pairs of an epoch over those of the prepared corpus, by the weights of the sources."""
    spans, share = mixture(manifest, config.data)
    n_new = sum(span.n_pairs * span.weight for span in spans if not span.replayed)
    return n_new / (1 - share) / sum(span.n_pairs for span in spans)
