"""Training: from an experiment to a run directory that holds its final model.

`train_experiment` is `translate train` without its command line. `new_trainer` makes the trainer of one process, and
`preflight` checks it before the first update: what would end a run in hours ends it now, in one sentence. Settings and
data that contradict each other are refused still earlier, before the corpus is prepared.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from transformer.model import Transformer
from translate.config.load import require_end
from translate.config.schema import ExperimentConfig
from translate.corpus.batches import longest_source
from translate.corpus.prepare import Prepared, check_corpus, mixture, prepare_and_hold
from translate.corpus.sources import Pair
from translate.errors import Say, UserError
from translate.evaluation.scores import greedy_bleu, metrics
from translate.inference.back_translation import BackTranslations
from translate.machine import (
    better_allocator,
    choose_device,
    choose_dtype,
    is_out_of_memory,
    keep_kernels,
    product_rate,
    tune_malloc,
)
from translate.models.folder import ModelFolder, TranslationSpec
from translate.training import card, checkpoints
from translate.training.distributed import SINGLE_PROCESS, Ranks, joined
from translate.training.loop import Trainer, terminable
from translate.training.optimizer import Muon
from translate.training.parent import Parent, parent_of, recorded
from translate.training.reporting import require_tensorboard
from translate.training.run import Run

if TYPE_CHECKING:
    from translate.training.reproduction import Original

ScoreBleu = Callable[[ModelFolder, Sequence[Pair]], float]


def train_experiment(
    config: ExperimentConfig,
    run: Run,
    corpus_folder: Path,
    *,
    say: Say,
    resume: bool = False,
    from_model: Path | None = None,
    original: "Original | None" = None,
) -> bool:
    """Prepare the corpus if needed, train, and write the run directory; every process of torchrun calls this.

    Synthetic text of the corpus that is not there yet is translated first.

    Args:
        corpus_folder: folder of the prepared corpus, made or brought up to date first.
        resume: continue from the newest checkpoint, or start if there is none.
        from_model: run directory or model folder to fine-tune; None starts from random weights or, when a run is
            resumed, from the model that it began with.

    Returns whether the final model equals that of `original`; True if there is no `original`.

    Ctrl-C and SIGTERM save the state and raise KeyboardInterrupt or Terminated. Raises UserError for mistakes in the
    experiment, the data or the folders.
    """
    with terminable(), joined() as ranks, ExitStack() as held:
        say = say if ranks.is_first else _discard
        trainer: Trainer | None = None
        try:
            if not run.has_begun and corpus_folder.resolve().is_relative_to(run.folder.resolve()):
                raise UserError(
                    f"{corpus_folder}: lies in the folder of the run, {run.folder}; name another --prepared"
                )
            sides = BackTranslations(config, say)
            config, parent = _checked(
                sides.config, run, ranks, say, resume=resume, from_model=from_model, original=original
            )
            _tune_machine(say)
            ranks.on_rank_0(sides.make)
            ranks.on_rank_0(lambda: run.check_inputs(config))
            corpus_hold = held.enter_context(ExitStack())
            tokenizer = None if parent is None else parent.load_tokenizer()
            preparation = prepare_and_hold(config, corpus_folder, say, tokenizer)
            ranks.on_rank_0(lambda: bool(corpus_hold.enter_context(preparation)))  # a corpus is too large to send
            corpus = Prepared.open(corpus_folder)
            if original is not None:
                otherwise = "have it prepared anew with another --prepared"
                ranks.on_rank_0(lambda: original.run.check_data(corpus, otherwise=otherwise))
            ranks.on_rank_0(lambda: held.enter_context(run.locked()))
            # Another process may have trained there during the preparation.
            ranks.on_rank_0(lambda: _check(config, run, resume))
            # The type of matrix products is that of the original, as a new measurement might choose another.
            dtype = None if original is None else original.run.recorded_dtype()
            with _out_of_memory(run):
                trainer = new_trainer(config, corpus, run, say=say, ranks=ranks, parent=parent, dtype=dtype)
                ranks.sum(0.0)  # wait for all to open the corpus, which may change once it is recorded
                corpus_hold.close()
                if resume:
                    trainer.resume()
                preflight(trainer)
                trainer.train()
            same = ranks.on_rank_0(lambda: original is None or original.compare(run, say))
            ranks.on_rank_0(lambda: card.write(run))
            return same
        except KeyboardInterrupt:
            saved = trainer.checkpoints.saved_step if trainer else 0
            say(f"stopped; step {saved:,} is saved" if saved else "stopped before anything was saved")
            say("continue with the same command and --resume")
            raise


@contextmanager
def _out_of_memory(run: Run) -> Iterator[None]:
    """Turn a lack of memory in this block into a UserError."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(
            f"{run.folder}: the model and a batch do not fit into memory; lower training.batch_tokens or the sizes "
            "under [model], or set training.checkpoint_activations = true"
        ) from error


def new_trainer(
    config: ExperimentConfig,
    prepared: Prepared,
    run: Run,
    *,
    score_bleu: ScoreBleu = greedy_bleu,
    say: Say,
    ranks: Ranks = SINGLE_PROCESS,
    parent: Parent | None = None,
    dtype: torch.dtype | None = None,
) -> Trainer:
    """Make the model and its trainer, and write the run's manifest and configuration.

    Args:
        run: a run directory that is new or was begun by the same experiment.
        score_bleu: BLEU of a model's translations of validation pairs.
        ranks: the processes that train together; all of them call this.
        parent: the model to fine-tune; None draws the weights from the seed.
        dtype: type of matrix products; None is that of the run so far, or what the experiment asks for.
    """
    device, section = choose_device(), config.training
    dtype = ranks.on_rank_0(lambda: dtype or run.recorded_dtype() or choose_dtype(section.precision, device))
    peak = product_rate(dtype, device)
    torch.manual_seed(section.seed)
    model = Transformer(config.model.architecture(prepared.tokenizer.vocab_size))
    if parent is not None and not checkpoints.folders(run.checkpoints):
        parent.load_into(model)
    if ranks.size == 1 or section.parallel == "ddp":  # with FSDP the whole model stays in main memory
        model = model.to(device)
    data = config.data
    longest = longest_source(prepared.train, section.max_tokens)
    spec = TranslationSpec(data.source, data.target, config.decoding.settings(), max_source_tokens=longest)
    if parent is not None:
        spec = parent.spec_after(spec)

    def score(model: Transformer, pairs: Sequence[Pair]) -> float:
        return score_bleu(ModelFolder(run.folder, model, prepared.tokenizer, spec), pairs)

    trainer = Trainer(
        run=run,
        config=section,
        prepared=prepared,
        model=model,
        dtype=dtype,
        spec=spec,
        score_bleu=score if section.valid_bleu_sentences else None,
        say=say,
        peak=peak,
        ranks=ranks,
        mixture=mixture(prepared.manifest, data),
        parent=parent,
    )
    ranks.on_rank_0(lambda: run.begin(config, prepared, model, dtype, peak, None if parent is None else parent.record))
    ranks.seed(section.seed, step=0)
    size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    together = "" if ranks.size == 1 else f", {ranks.size} processes"
    say(f"{run.folder}: {size:.2f} M parameters, {device.type}, {str(dtype).removeprefix('torch.')} products{together}")
    return trainer


def preflight(trainer: Trainer) -> None:
    """Check the parent, the disk and the memory; all ranks call this before the first update.

    Keeps a copy of the parent in the run directory if the end of the run needs it. Raises UserError if the run could
    not end.
    """
    ranks, run = trainer.ranks, trainer.run
    if trainer.config.parent_share and (parent := trainer.parent):
        trainer.parent = ranks.on_rank_0(lambda: parent.kept_in(run))
    if trainer.schedule.has_ended(trainer.state):
        return
    ranks.on_rank_0(lambda: check_disk(trainer))
    check_memory(trainer)


def check_disk(trainer: Trainer) -> None:
    """Raise UserError if the disk has no room for the checkpoints that the run keeps."""
    folder, config = trainer.run.folder, trainer.config
    size, weights = checkpoint_size(trainer), _size_of_weights(trainer)
    n_scheduled = -(-trainer.schedule.last_step // trainer.schedule.save_every)
    # Besides the last ones of the schedule: the best or the newest one, and the one that is being written.
    n_kept = min(max(config.keep_last, config.average_last), n_scheduled) + 2
    needed = n_kept * size + weights
    there = sum(
        path.stat().st_size
        for place in (trainer.run.checkpoints, trainer.run.model)
        for path in place.rglob("*")
        if path.is_file()
    )
    free = shutil.disk_usage(folder).free
    if needed > there + free:
        raise UserError(
            f"{folder}: checkpoints will take about {_megabytes(needed - there)} more ({n_kept} of {_megabytes(size)} "
            f"and the final model), and {_megabytes(free)} are free; make room, lower training.keep_last and "
            "training.average_last, or name another --run"
        )


def check_memory(trainer: Trainer) -> None:
    """Compute the largest training batch and the largest validation batch, and discard the results.

    A lack of memory shows now and not hours later; claiming the largest blocks first also leaves fewer gaps. Raises
    UserError if a single pair does not fit.
    """
    trainer.updater.warm_up(trainer.feed.largest(trainer.state.position.epoch))
    with trainer.replica.evaluating() as model:
        trainer.validator.warm_up(model)


def checkpoint_size(trainer: Trainer) -> int:
    """Return the bytes of one checkpoint: weights, moments, moving average and tokenizer; the rest is small."""
    optimizer, weights = trainer.optimizer, _size_of_weights(trainer)
    moments = 0
    for i, group in enumerate(optimizer.param_groups):
        n_moments = 1 if i == 0 and isinstance(optimizer, Muon) else 2
        moments += n_moments * sum(p.numel() * p.element_size() for p in group["params"])
    average = weights if trainer.ema else 0
    return weights + moments + average + len(trainer.prepared.tokenizer.serialized)


def _size_of_weights(trainer: Trainer) -> int:
    return sum(p.numel() * p.element_size() for p in trainer.model.parameters())


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{max(n_bytes, 1e5) / 1e6:,.1f} MB"


def _checked(
    config: ExperimentConfig,
    run: Run,
    ranks: Ranks,
    say: Say,
    *,
    resume: bool,
    from_model: Path | None,
    original: "Original | None",
) -> tuple[ExperimentConfig, Parent | None]:
    """Check everything before the corpus is made, which takes long and which other runs may share.

    Returns the experiment, completed from the model to start from, and that model.
    """
    parent = ranks.on_rank_0(
        lambda: recorded(original.run, run) if original else parent_of(run, from_model, say, resume=resume)
    )
    if parent is not None:
        config = parent.settings(config, _discard if run.has_begun or original else say)
    elif config.training.parent_share:
        raise UserError("training.parent_share needs a model to start from; name one with --from")
    ranks.on_rank_0(lambda: _check(config, run, resume))
    ranks.on_rank_0(lambda: check_corpus(config, None if parent is None else parent.load_tokenizer()))
    if original is not None:
        ranks.on_rank_0(lambda: original.check(run, ranks.size, say))
    return config, parent


def _check(config: ExperimentConfig, run: Run, resume: bool) -> None:
    """UserError if the experiment cannot be trained, or not in this run directory."""
    run.check(config, resume=resume)
    metrics(config.data.target)  # needs a package for some languages
    require_end(config.training, str(run.folder))
    if config.training.tensorboard:
        require_tensorboard()


def _tune_machine(say: Say) -> None:
    """Set up memory allocation and kernel caches; suggest a faster allocator if one is installed."""
    tune_malloc()
    keep_kernels()
    if choose_device().type == "cpu" and (library := better_allocator()):
        say(f"{library} is installed; training on a CPU is faster with LD_PRELOAD={library} before the command")


def _discard(message: str) -> None:
    """Ignore a message: rank 0 speaks for all."""
