"""One job of a grid in a process of its own: train, translate, score, record.

    python -m translate.experiments.worker JOB.json

The process ends when its standard input does, so that it does not outlive the process that started it.
"""

import dataclasses
import math
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from transformer.config import ConfigError
from translate.config.decoding import DecodingConfig
from translate.config.load import parse
from translate.errors import UserError
from translate.experiments import records
from translate.experiments.plan import Job, Task, run_folder
from translate.experiments.records import DONE, FAILED, Record
from translate.files import locked
from translate.machine import set_up_threads

if TYPE_CHECKING:
    from translate.corpus.prepare import Prepared
    from translate.models.folder import ModelFolder
    from translate.training.run import Run

Pairs = Sequence[tuple[str, str]]

_BATCH_TOKENS = 4096  # padded tokens a side of a validation batch


def work(path: Path) -> None:
    """Train the job in a file, unless that was done, and write the records that are missing.

    A failure is written as the record of each cell that has none. Another process with the same run is waited for.
    """
    job = Job.load(path)
    runs = Path(job.run).parent
    lock = runs / f".{job.digest}.lock"
    with _failures(job, job.tasks):
        runs.mkdir(parents=True, exist_ok=True)
        with locked(lock, lambda: print("waiting for another process with this run", flush=True)):
            # Another grid may have begun the run meanwhile.
            _work(dataclasses.replace(job, run=str(run_folder(runs, job.name))))


@contextmanager
def _failures(job: Job, tasks: Sequence[Task]) -> Iterator[None]:
    """Write an exception as the record of each of these cells that has no result."""
    try:
        yield
    except Exception as error:
        traceback.print_exc()
        fail(job, tasks, FAILED, _reason(error))


def fail(job: Job, tasks: Sequence[Task], status: str, reason: str) -> None:
    """Write a failure as the record of each cell that has no result.

    Args:
        job: the job.
        tasks: cells of the job.
        status: FAILED, or KILLED for a job that is repeated next time.
        reason: one sentence.
    """
    for task in tasks:
        if not is_done(task):
            records.write(Path(task.record), _place(job, task) | {"status": status, "reason": reason}, {})


def is_done(task: Task) -> bool:
    """Return whether the cell has a result; UserError if its record was changed."""
    record = records.read(Path(task.record))
    return record is not None and record["status"] == DONE


def _work(job: Job) -> None:
    # Imported late, so that a process that only waits or fails starts fast.
    from translate.corpus.manifest import plan
    from translate.corpus.prepare import Prepared
    from translate.evaluation.validation import greedy_bleu
    from translate.training.run import Run
    from translate.training.train import train_experiment

    run, config = Run(Path(job.run)), parse(job.config, job.name)
    if not _is_trained(run):
        parent = None if run.has_begun else _parent(job)
        _check_corpus(job, plan(config, job.parent["tokenizer_sha256"] if job.parent else None))
        train_experiment(
            config, run, Path(job.prepared), score_bleu=greedy_bleu, say=_say, resume=True, from_model=parent
        )
    prepared = Prepared.open(Path(job.prepared))
    _check_corpus(job, prepared.manifest)
    missing = [task for task in job.tasks if not is_done(task)]
    for average_last in dict.fromkeys(task.average_last for task in missing):
        tasks = [task for task in missing if task.average_last == average_last]
        with _failures(job, tasks):
            model = _model(run, average_last)
            perplexity = _perplexity(model, prepared.valid)
            for task in tasks:
                with _failures(job, [task]):
                    _score(job, task, model, perplexity, prepared)


def _parent(job: Job) -> Path | None:
    """Return the folder of the model to fine-tune, or None; UserError if it is not the one of the plan."""
    from translate.training.parent import Parent

    if job.parent is None:
        return None
    folder = Path(job.parent["path"])
    if Parent.open(folder, _say).record != job.parent:
        raise UserError(f"{folder}: has changed since the grid was planned; run the grid again")
    return folder


def _check_corpus(job: Job, manifest: Record) -> None:
    """Raise UserError if a manifest, or a plan of one, is not of the corpus that the grid was planned with."""
    if manifest["fingerprint"] != job.corpus:
        raise UserError("the corpus has changed since the grid was planned; run the grid again")


def _is_trained(run: "Run") -> bool:
    return (run.model / "model.safetensors").exists() and any(record["kind"] == "final" for record in run.records())


def _model(run: "Run", average_last: int | None) -> "ModelFolder":
    """Return the final model of a run, or the mean of its last checkpoints."""
    from transformer import checkpoint_io
    from translate.machine import choose_device
    from translate.models.folder import ModelFolder
    from translate.training import checkpoints

    model = ModelFolder.open(run.model, choose_device())
    if average_last is not None:
        scheduled = checkpoints.scheduled(run.checkpoints)
        if len(scheduled) < average_last:
            raise UserError(
                f"training.average_last = {average_last}, but the run has {len(scheduled)} checkpoints to average; set "
                "training.save_every lower"
            )
        mean = checkpoint_io.average([folder / "model.safetensors" for folder in scheduled[-average_last:]])
        checkpoint_io.load_weights(model.model, mean, run.checkpoints)
    return model


def _perplexity(model: "ModelFolder", pairs: Pairs) -> float:
    """Return the perplexity of the references, as the training measures it, in float32."""
    import numpy as np
    import torch

    from translate.corpus.batches import by_length, collate
    from translate.machine import choose_device
    from translate.training.update import mean_nll
    from translate.training.validation import encode

    encoded, special = encode(pairs, model.tokenizer), model.model.config
    batches = [
        collate(encoded, index, pad=special.pad, bos=special.bos, eos=special.eos).to(choose_device())
        for index in by_length(encoded, np.arange(encoded.n_pairs), _BATCH_TOKENS)
    ]
    nll = mean_nll(model.model, batches, torch.float32)
    return math.exp(min(nll, 700.0))  # bounded, so that a diverged model still gives a number


def _score(job: Job, task: Task, model: "ModelFolder", perplexity: float, prepared: "Prepared") -> None:
    """Translate and score all sets of a cell, and write its record."""
    from translate.evaluation.scores import score
    from translate.inference.translator import Translator
    from translate.training.run import Run, environment, load_json

    decoding = DecodingConfig(**task.decoding)
    translator = Translator(dataclasses.replace(model, spec=dataclasses.replace(model.spec, decoding=decoding)))
    scores: Record = {}
    texts: dict[str, list[str]] = {}
    for name in task.score_on:
        source, references = zip(*(prepared.valid if name == "valid" else prepared.test[name]), strict=True)
        hypotheses = [" ".join(found.text.split("\n")) for found in translator.translate(source)]
        scores[name] = score(hypotheses, references, target=model.spec.target).as_dict()
        texts |= {f"{name}.hyp": hypotheses, f"{name}.ref": [" ".join(text.split("\n")) for text in references]}
    run = Run(Path(job.run))
    manifest = load_json(run.manifest, consequence="it cannot be scored; remove the run")
    last = max((line for line in run.records() if "tokens" in line), key=lambda line: int(line["step"]))
    values = {
        **{"status": DONE, "scores": scores, "perplexity": perplexity, "parameters": manifest["parameters"]},
        **{"steps": last["step"], "tokens": last["tokens"], "seconds": last["seconds"]},
        "decoding": task.decoding,
        "environment": environment(),
    }
    records.write(Path(task.record), _place(job, task) | values, texts)


def _place(job: Job, task: Task) -> Record:
    """Return the part of a record that says which cell it is of."""
    return {
        **{"kind": "grid cell", "grid": job.grid, "row": list(task.row), "seed": task.seed},
        **{"inputs": task.inputs, "run": job.name},
    }


def _reason(error: Exception) -> str:
    """Return an error as one sentence; a mistake in the code has its type in front."""
    text = " ".join(str(error).split())
    return text if isinstance(error, UserError | ConfigError) else f"{type(error).__name__}: {text}"


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _end_with_parent() -> None:
    """Ask this process to save and stop when the other end of its standard input closes."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Do the job that the command line names."""
    set_up_threads()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work(Path(sys.argv[1]))
    except KeyboardInterrupt:  # Ctrl-C or SIGTERM; the state is saved
        os._exit(128 + signal.SIGTERM)
    # The thread still reads, and a normal exit would wait for its lock of stdin.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
