"""`translate train`: prepare where needed, train, and leave a run directory that explains itself."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from translate.commands.prepare import default_folder, experiment_name
from translate.config.load import load
from translate.config.schema import ExperimentConfig

if TYPE_CHECKING:
    import torch

    from translate.corpus.store import Prepared
    from translate.training.distributed import Ranks
    from translate.training.loop import Trainer
    from translate.training.parent import Parent
    from translate.training.reproduction import Original
    from translate.training.run import Run

Say = Callable[[str], None]


def train(
    config_path: Path,
    *,
    run: Path | None,
    prepared: Path | None,
    overrides: list[str],
    resume: bool,
    from_model: Path | None = None,
) -> None:
    """Run the experiment in `config_path`.

    Args:
        config_path: the experiment file.
        run: the run directory; None is runs/NAME after the experiment.
        prepared: folder of the prepared corpus, made or brought up to date first; None is prepared/NAME.
        overrides: `section.key=value` settings that replace those of the file.
        resume: go on where the run stopped; begin it where there is none.
        from_model: run directory or model folder to fine-tune; None starts from random weights, or when a run goes
            on, from what it began with.

    Ctrl-C and SIGTERM save, say how to go on, and leave with KeyboardInterrupt or Terminated; a mistake raises
    UserError.
    """
    from translate.training.parent import parent_of
    from translate.training.run import Run

    config = load(config_path, overrides)
    the_run = Run(run or Path("runs") / experiment_name(config_path))

    def parent(say: Say) -> "Parent | None":
        return parent_of(the_run, from_model, say, resume=resume)

    _train(config, the_run, prepared or default_folder(config_path), parent, resume=resume)


def reproduce(original: Path, *, run: Path | None, prepared: Path | None, resume: bool) -> bool:
    """Train again what the run directory `original` trained; whether the final models are the same to the last bit.

    Args:
        original: a run that has ended; its config.json is the experiment.
        run: the new run directory; None is runs/NAME-again.
        prepared: folder of the prepared corpus; None is the run's own while it is what it was, or prepared/NAME-again.
        resume: go on where the new run stopped.

    Ends as `train` does, and UserError where data, seed, model or number of processes are not those of the run; what
    differs in versions and hardware is said.
    """
    from translate.training.reproduction import Original
    from translate.training.run import Run

    repeated = Original.open(original)
    name = f"{original.resolve().name}-again"
    again = Run(run or Path("runs") / name)
    folder = prepared or repeated.corpus_folder(Path("prepared") / name)
    return _train(repeated.config, again, folder, lambda _: repeated.parent(again), resume=resume, original=repeated)


def _train(
    config: ExperimentConfig,
    run: "Run",
    folder: Path,
    find_parent: Callable[[Say], "Parent | None"],
    *,
    resume: bool,
    original: "Original | None" = None,
) -> bool:
    """Train in `run` on the corpus prepared in `folder`; whether that ended as in `original`, where there is one."""
    from translate.corpus.store import Prepared, prepare
    from translate.machine import better_allocator, choose_device, keep_kernels, tune_malloc
    from translate.training import card
    from translate.training.distributed import joined
    from translate.training.signals import terminable

    with terminable(), joined(_say) as ranks, contextlib.ExitStack() as held:
        say = _say if ranks.is_first else _keep_quiet
        trainer: Trainer | None = None
        try:
            # All that can be refused is refused before the corpus is touched: that takes long, and runs may share it.
            parent = ranks.first(lambda: find_parent(say))
            if parent is not None:
                config = parent.settings(config, _keep_quiet if resume or original else say)
            ranks.first(lambda: _check(config, run, resume))
            if original is not None:
                ranks.first(lambda: original.check(run, ranks.size, say))
            tune_malloc()
            keep_kernels()
            if choose_device().type == "cpu" and (library := better_allocator()):
                say(f"{library} is installed; training on a CPU is faster with LD_PRELOAD={library} before the command")
            tokenizer = None if parent is None else parent.load_tokenizer()
            corpus = ranks.lead(lambda: prepare(config, folder, say, tokenizer), follow=lambda: Prepared.open(folder))
            if original is not None:
                ranks.first(lambda: original.check_corpus(corpus))
            ranks.watch()
            ranks.first(lambda: held.enter_context(run.locked()))
            dtype = None if original is None else original.dtype
            trainer = new_trainer(config, corpus, run, say, ranks, parent, dtype)
            if resume:
                trainer.resume()
            trainer.train()
            same = ranks.first(lambda: original is None or original.compare(run, say))
            ranks.first(lambda: card.write(run))
            return same
        except KeyboardInterrupt:
            saved = trainer.saved_step if trainer else 0
            say(f"stopped; step {saved:,} is saved" if saved else "stopped before anything was saved")
            say("go on with the same command and --resume")
            raise


def _check(config: ExperimentConfig, run: "Run", resume: bool) -> None:
    """UserError or ConfigError for an experiment that cannot be trained, or not in this run directory."""
    from transformer.presets import resolve
    from translate.training import tensorboard

    run.check(config, resume=resume)
    resolve(config.model.preset, config.model.model_dump(exclude={"preset"}), config.tokenizer.vocab_size)
    if config.training.tensorboard:
        tensorboard.require()


def new_trainer(
    config: ExperimentConfig,
    prepared: "Prepared",
    run: "Run",
    say: Callable[[str], None],
    ranks: "Ranks | None" = None,
    parent: "Parent | None" = None,
    dtype: "torch.dtype | None" = None,
) -> "Trainer":
    """A model as the seed or its `parent` makes it, in a run directory begun now or before by the same experiment.

    All `ranks` call this; None is this process alone. `dtype` is that of matrix products; None is what the run began
    with, or what its experiment asks for.
    """
    import torch

    from transformer.model import Transformer
    from transformer.presets import resolve
    from translate.evaluation.validation import greedy_bleu
    from translate.machine import choose_device, choose_dtype, product_rate
    from translate.models.folder import ModelFolder, TranslationSpec
    from translate.training import checkpoint
    from translate.training.distributed import ALONE
    from translate.training.loop import Trainer

    device, ranks = choose_device(), ranks or ALONE
    # Measured before the seed is set, as measuring draws random numbers.
    chosen = ranks.first(lambda: dtype or run.recorded_dtype() or choose_dtype(config.training.precision, device))
    peak = product_rate(chosen, device)
    torch.manual_seed(config.training.seed)
    overrides = config.model.model_dump(exclude={"preset"})
    model = Transformer(resolve(config.model.preset, overrides, prepared.tokenizer.vocab_size))
    if parent is not None and not checkpoint.checkpoints(run.checkpoints):
        parent.give_weights(model)
    if ranks.size == 1 or config.training.parallel == "ddp":  # where ranks share a model, the whole is in main memory
        model = model.to(device)
    spec = TranslationSpec(
        config.data.source,
        config.data.target,
        config.decoding,
        max_source_tokens=_longest_source(prepared, config.training.max_tokens, parent),
    )
    sample = prepared.valid[: config.training.valid_bleu_sentences]
    trainer = Trainer(
        run=run,
        config=config.training,
        prepared=prepared,
        model=model,
        dtype=chosen,
        spec=spec,
        bleu=(lambda m: greedy_bleu(ModelFolder(run.folder, m, prepared.tokenizer, spec), sample)) if sample else None,
        say=say,
        peak=peak,
        ranks=ranks,
        replay_share=config.data.replay.share if config.data.replay is not None else 0.0,
    )
    record = None if parent is None else parent.record
    ranks.first(lambda: run.begin(config, prepared, model, chosen, peak, record))
    ranks.seed(config.training.seed, step=0)
    size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    together = "" if ranks.size == 1 else f", {ranks.size} processes"
    say(
        f"{run.folder}: {size:.2f} M parameters, {device.type}, {str(chosen).removeprefix('torch.')} products{together}"
    )
    return trainer


def _longest_source(prepared: "Prepared", max_tokens: int, parent: "Parent | None") -> int | None:
    """Tokens of the longest source of this training or its parent's, without eos; None if the parent's is unknown."""
    from translate.corpus.batches import longest_source
    from translate.models.folder import TranslationSpec

    own = longest_source(prepared.train, max_tokens)
    if parent is None:
        return own
    known = TranslationSpec.load(parent.folder / "translation.json").max_source_tokens
    return None if known is None else max(own, known)


def _keep_quiet(message: str) -> None:
    """What rank 0 says is enough."""


def _say(message: str) -> None:
    """A line on stderr that leaves the progress bar whole."""
    from tqdm import tqdm

    tqdm.write(message, file=sys.stderr)
