"""Rank 0's decisions before a training, as one value that all ranks receive.

`make_plan` decides and checks in the order of cost: what would end a run in hours ends it now, in one sentence.
Settings that contradict each other are refused before text is translated, and both before the corpus is prepared.

Where it is checked that a corpus is the one that is meant:

    what                            recorded in             checked by
    sizes of its files              manifest of the corpus  `Prepared.open`, in each process
    settings, digests of inputs     manifest of the corpus  `prepare`, which makes it anew if they differ
    digests of inputs               manifest of the run     `Run.check_inputs`, before the corpus may be made anew
    digests of inputs and files     manifest of the run     `Run.check_data`, after that
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from translate.config.load import require_end
from translate.config.schema import DataConfig, ExperimentConfig
from translate.corpus.prepare import Prepared, check_corpus, plan_corpus, plan_moved_corpus, prepare
from translate.corpus.tokenizer import Tokenizer
from translate.errors import Say, UserError
from translate.evaluation.scores import metrics
from translate.files import sha256
from translate.machine import better_allocator, choose_device, choose_dtype, out_of_memory
from translate.models.registry import code_of
from translate.training.reporting import require_tensorboard
from translate.training.run import Record, Run

if TYPE_CHECKING:
    from translate.training.parent import Parent
    from translate.training.reproduction import Original


@dataclass(frozen=True)
class Start:
    """A start of a training, as a command asks for it.

    Attributes:
        config: the experiment.
        run: the run directory.
        corpus: folder of the prepared corpus, made or brought up to date first.
        resume: continue from the newest checkpoint, or start if there is none.
        from_model: run directory or model folder to fine-tune; None starts from random weights or, when a run is
            resumed, from the model that it began with.
        original: a run that this one repeats.
    """

    config: ExperimentConfig
    run: Run
    corpus: Path
    resume: bool = False
    from_model: Path | None = None
    original: "Original | None" = None


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before a training, in plain values.

    Attributes:
        run: the run directory.
        config: the experiment, completed from the parent.
        parent: the model to start from; None draws the weights from the seed.
        corpus: folder of the prepared corpus.
        data: record of the corpus: its fingerprint, and the SHA-256 of every input and file.
        dtype: type of matrix products.
        resume: whether to continue from the newest checkpoint.
    """

    run: Run
    config: ExperimentConfig
    parent: "Parent | None"
    corpus: Path
    data: Record
    dtype: torch.dtype
    resume: bool


def make_plan(start: Start, say: Say, *, run_lock: ExitStack, corpus_lock: ExitStack, n_ranks: int = 1) -> Plan:
    """Check everything that can be checked before the model is made, prepare the corpus, and return the plan.

    Args:
        run_lock: receives the lock of the run directory.
        corpus_lock: receives the lock of the corpus, which may be replaced once that is released.
        n_ranks: processes that train together.

    Raises UserError for mistakes in the experiment, the data or the folders.
    """
    config, run, corpus, original = start.config, start.run, start.corpus, start.original
    if not run.has_begun and corpus.resolve().is_relative_to(run.folder.resolve()):
        raise UserError(f"{corpus}: lies in the folder of the run, {run.folder}; name another --prepared")
    back_translations = None
    if config.data.synthetic_sources:
        from translate.inference.back_translation import BackTranslations

        back_translations = BackTranslations(config, say)
        config = back_translations.config
    parent = _parent(start, say)
    if parent is not None:
        is_said = run.has_begun or original is not None  # when the run, or the original, began
        config = parent.settings(config, (lambda message: None) if is_said else say)
    elif not run.has_begun and original is None:
        _check_languages(config.data)
    tokenizer = None if parent is None else parent.load_tokenizer()
    _check_settings(config, run, parent, resume=start.resume)
    tokenizer_sha256 = None if tokenizer is None else tokenizer.sha256
    corpus_plan = plan_moved_corpus(config, corpus, tokenizer_sha256)
    if corpus_plan is None:
        check_corpus(config, tokenizer)
    elif not run.has_begun:
        say(f"{config.data.root}: is not on this machine; training on {corpus} as it was prepared")
    if original is not None:
        original.check(run, n_ranks, say)
    run_lock.enter_context(run.locked())
    run.check_settings(config, resume=start.resume)  # again, as another process may have trained there before the lock
    _suggest_allocator(say)
    if back_translations is not None:
        back_translations.make()
    corpus_plan = corpus_plan or plan_corpus(config, tokenizer_sha256)
    data = _prepare_corpus(start, config, corpus_plan, tokenizer, say, corpus_lock)
    if parent is not None and config.training.parent_share:
        parent = parent.kept_in(run)
    # A run keeps its type, as a new measurement might choose another.
    dtype = (run if original is None else original.run).recorded_dtype()
    dtype = dtype or choose_dtype(config.training.precision, choose_device())
    return Plan(run=run, config=config, parent=parent, corpus=corpus, data=data, dtype=dtype, resume=start.resume)


def _parent(start: Start, say: Say) -> "Parent | None":
    """Return the model that the run starts from: that of the original, or see `parent.parent_of`."""
    run, original = start.run, start.original
    begun = run if original is None else original.run
    if start.from_model is None and begun.recorded_parent() is None:
        return None
    from translate.training.parent import parent_of, recorded

    if original is not None:
        return recorded(original.run, run)
    return parent_of(run, start.from_model, say, resume=start.resume)


def _check_settings(config: ExperimentConfig, run: Run, parent: "Parent | None", *, resume: bool) -> None:
    """UserError if the experiment cannot be trained, or not in this run directory."""
    if config.training.parent_share and parent is None:
        raise UserError("training.parent_share needs a model to start from; name one with --from")
    run.check_settings(config, resume=resume)
    metrics(config.data.target)  # needs a package for some languages
    require_end(config.training, str(run.folder))
    if config.training.tensorboard:
        require_tensorboard()


def _check_languages(data: DataConfig) -> None:
    """UserError for the name of a language in the place of its code, under which nobody would find the model."""
    for key in ("source", "target"):
        name = getattr(data, key)
        if len(name) > 3 and (code := code_of(name)):  # shorter names, such as Lao, are codes of ISO 639-3 too
            raise UserError(f'data.{key} = "{name}": languages are named by their codes; write "{code}"')


def _prepare_corpus(
    start: Start, config: ExperimentConfig, plan: Record, tokenizer: Tokenizer | None, say: Say, lock: ExitStack
) -> Record:
    """Prepare the corpus and return its record; UserError if the run, or the original, began with another one.

    Args:
        plan: of the corpus, see `plan_corpus`.
        tokenizer: that of the parent; None trains one.
        lock: receives the lock of the corpus.
    """
    corpus, original = start.corpus, start.original
    begun = [] if original is None else [(original.run, "have it prepared anew with another --prepared")]
    begun += [(start.run, "name another --run")] if start.run.has_begun else []
    for run, _ in begun:
        run.check_inputs(plan["inputs"])
    with out_of_memory(
        f"{corpus}: memory does not suffice to prepare it; lower tokenizer.max_sentences, or run translate prepare "
        "on a larger machine"
    ):
        data = data_record(prepare(config, corpus, say, tokenizer, planned=plan, lock=lock))
    for run, otherwise in begun:
        run.check_data(data, corpus, otherwise=otherwise)
    return data


def _suggest_allocator(say: Say) -> None:
    """Name a faster allocator if one is installed and training is on a CPU."""
    if choose_device().type == "cpu" and (library := better_allocator()):
        say(f"{library} is installed; training on a CPU is faster with LD_PRELOAD={library} before the command")


def data_record(prepared: Prepared) -> Record:
    """Return the record of a corpus in the manifest of a run: fingerprint, counts, SHA-256 of inputs and files."""
    manifest = prepared.manifest
    return {
        **{key: manifest[key] for key in ("fingerprint", "inputs", "counts")},
        "tokenizer": manifest["tokenizer"]["sha256"],
        "files": {name: sha256(prepared.folder / name) for name in sorted(manifest["files"])},
    }
