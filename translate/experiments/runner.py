"""Run the jobs of a grid: side by side in processes of this machine, or as a Slurm array.

Each job is a process of its own, which trains, translates, scores and records:

    python -m translate.experiments.runner JOB.json

It ends when its standard input does, so that it does not outlive the process that started it.
"""

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.config import CheckpointError, ConfigError, SearchConfig
from translate.config.load import parse
from translate.errors import Say, UserError, optional_package
from translate.experiments import records
from translate.experiments.plan import Job, Task, run_folder
from translate.experiments.records import DONE, FAILED, KILLED, Record
from translate.files import locked
from translate.machine import better_allocator, choose_device, n_cores, set_up_threads, usable_cores

if TYPE_CHECKING:
    from translate.corpus.prepare import Prepared
    from translate.models.folder import ModelFolder
    from translate.training.run import Run

Pairs = Sequence[tuple[str, str]]

_POLL = 0.1  # seconds
_BATCH_TOKENS = 4096  # padded tokens a side of a validation batch


def pending(jobs: Sequence[Job], *, retry: bool) -> list[Job]:
    """Return the jobs with a cell that still has to run.

    Args:
        retry: include those that failed by themselves. Those that were killed are always included.
    """
    ended = {DONE} if retry else {DONE, FAILED}
    return [job for job in jobs if any(_status(task) not in ended for task in job.tasks)]


def _status(task: Task) -> str | None:
    record = records.read(Path(task.record))
    return None if record is None else str(record["status"])


def run_here(jobs: Sequence[Job], folder: Path, *, side_by_side: int, say: Say) -> None:
    """Run jobs in processes, and return when all have ended; a failure becomes the record of its cells.

    Args:
        folder: the folder of the grid, for job files and logs.
        side_by_side: processes at a time; they share the cores.
        say: receives a line when a job starts and when it ends.
    """
    waiting, running = list(jobs), dict[subprocess.Popen[bytes], Job]()
    n_ended = 0
    try:
        while waiting or running:
            while waiting and len(running) < side_by_side:
                job = waiting.pop(0)
                running[_start(job, folder, side_by_side)] = job
                say(f"{job.name}: started")
            time.sleep(_POLL)
            for process in [process for process in running if process.poll() is not None]:
                job, n_ended = running.pop(process), n_ended + 1
                _close(process, job, folder)
                failed = next((record for task in job.tasks if (record := _failure(task))), None)
                say(f"{job.name}: {failed or 'done'} ({n_ended} of {len(jobs)})")
    finally:
        for process in running:  # only after an exception, such as Ctrl-C: each saves its state
            process.terminate()
        for process in running:
            process.wait()


def _start(job: Job, folder: Path, side_by_side: int) -> "subprocess.Popen[bytes]":
    """Start the process of a job, whose output goes to its log.

    It has a session of its own, so that Ctrl-C reaches it only once, as the signal of `run_here`: a second one would
    stop it before its state is saved.
    """
    with _log(job, folder).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "translate.experiments.runner", str(job_file(job, folder))],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=job_environment(side_by_side),
            start_new_session=True,
        )


def job_environment(side_by_side: int) -> dict[str, str]:
    """Return the environment of each of several processes: they share the cores and use the best allocator there is.

    Variables that the user has set stay.
    """
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if side_by_side > 1 and n_cores() >= usable_cores():  # fewer are the user's choice for each process
        variables["OMP_NUM_THREADS"] = str(max(1, usable_cores() // side_by_side))
    if library := better_allocator():
        variables.setdefault("LD_PRELOAD", library)
    return variables


def job_file(job: Job, folder: Path) -> Path:
    """Write the file of a job, and return its path."""
    path = folder / "jobs" / f"{job.name}.json"
    path.parent.mkdir(exist_ok=True)
    job.save(path)
    return path


def _log(job: Job, folder: Path) -> Path:
    (folder / "logs").mkdir(exist_ok=True)
    return folder / "logs" / f"{job.name}.log"


def _close(process: "subprocess.Popen[bytes]", job: Job, folder: Path) -> None:
    """Record a process that could not record its own end."""
    if process.stdin:
        process.stdin.close()
    if process.returncode and not all(map(is_done, job.tasks)):
        number = -process.returncode
        by = f"killed by {signal.Signals(number).name}" if number > 0 else f"ended with code {process.returncode}"
        hint = ", as for want of memory" if number == signal.SIGKILL else ""
        fail(job, job.tasks, KILLED, f"{by}{hint}; run the grid again to continue (log: {_log(job, folder)})")


def _failure(task: Task) -> str | None:
    record = records.read(Path(task.record))
    return None if record is None or record["status"] == DONE else f"failed: {record['reason']}"


def submit(jobs: Sequence[Job], folder: Path, parameters: Mapping[str, Any], cluster: str = "slurm") -> list[Any]:
    """Submit jobs as one array, and return submitit's jobs.

    Args:
        folder: the folder of the grid, on a file system that all machines share.
        parameters: of submitit's executor, such as slurm_partition or timeout_min.
        cluster: of submitit: "slurm", or "local" to try it without Slurm.

    Raises UserError without submitit or Slurm, or for an unknown parameter.
    """
    submitit = optional_package("submitit", "slurm")
    try:
        executor = submitit.AutoExecutor(folder=folder / "logs", cluster=cluster)
        executor.update_parameters(**parameters)
        return list(executor.map_array(work, [job_file(job, folder).absolute() for job in jobs]))
    except (RuntimeError, TypeError, NameError, ValueError, OSError) as error:
        raise UserError(f"--slurm: cannot submit the array: {' '.join(str(error).split())}") from error


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
        tasks: cells of the job.
        status: FAILED, or KILLED for a job that is repeated next time.
    """
    for task in tasks:
        if not is_done(task):
            records.write(Path(task.record), _place(job, task) | {"status": status, "reason": reason}, {})


def is_done(task: Task) -> bool:
    """Return whether the cell has a result; UserError if its record was changed."""
    return _status(task) == DONE


def _work(job: Job) -> None:
    # Imported late, so that a process that only waits or fails starts fast.
    from translate.corpus.prepare import Prepared, plan_corpus
    from translate.training.plan import Start
    from translate.training.run import Run
    from translate.training.train import train_experiment

    run, config = Run(Path(job.run)), parse(job.config, job.name)
    has_model = (run.model / "model.safetensors").exists()
    if not (has_model and any(record["kind"] == "final" for record in run.records())):
        parent = None if run.has_begun else _parent(job)
        _check_corpus(job, plan_corpus(config, job.parent["tokenizer_sha256"] if job.parent else None))
        train_experiment(Start(config, run, Path(job.prepared), resume=True, from_model=parent), _say)
    prepared = Prepared.open(Path(job.prepared))
    _check_corpus(job, prepared.manifest)
    missing = [task for task in job.tasks if not is_done(task)]
    for average_last in dict.fromkeys(task.average_last for task in missing):
        tasks = [task for task in missing if task.average_last == average_last]
        with _failures(job, tasks):
            model = _model(run, average_last, config.training.parent_share)
            perplexity = _perplexity(model, prepared.valid, config.training.max_tokens)
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


def _model(run: "Run", average_last: int | None, parent_share: float) -> "ModelFolder":
    """Return the final model of a run, or the mean of its last checkpoints with the same share of the parent."""
    from transformer import checkpoint_io
    from translate.models.folder import ModelFolder
    from translate.training import checkpoints
    from translate.training.parent import recorded

    model = ModelFolder.open(run.model, choose_device())
    if average_last is not None:
        scheduled = checkpoints.scheduled_folders(run.checkpoints, checkpoints.verify)
        if len(scheduled) < average_last:
            raise UserError(
                f"training.average_last = {average_last}, but the run has {len(scheduled)} checkpoints to average; set "
                "training.save_every lower"
            )
        mean = checkpoint_io.average([folder / "model.safetensors" for folder in scheduled[-average_last:]])
        checkpoint_io.load_weights(model.model, mean, run.checkpoints)
        if parent_share and (parent := recorded(run, run)):
            parent.mix_into(model.model, parent_share)
    return model


def _perplexity(model: "ModelFolder", pairs: Pairs, max_tokens: int) -> float:
    """Return the perplexity of the references as training measures it, without pairs that are too long, in float32."""
    import torch

    from translate.corpus.batches import batches_by_length, collate, eligible
    from translate.training.validation import encode, mean_nll, perplexity

    encoded, special = encode(pairs, model.tokenizer), model.model.config
    batches = [
        collate(encoded, index, pad=special.pad, bos=special.bos, eos=special.eos).to(choose_device())
        for index in batches_by_length(encoded, eligible(encoded, max_tokens), _BATCH_TOKENS)
    ]
    return perplexity(mean_nll(model.model, batches, torch.float32))


def _score(job: Job, task: Task, model: "ModelFolder", perplexity: float, prepared: "Prepared") -> None:
    """Translate and score all sets of a cell, and write its record."""
    from translate.evaluation.scores import score
    from translate.inference.translator import Translator
    from translate.training.run import Run, read_run_manifest
    from translate.training.run import environment as this_environment

    decoding = SearchConfig(**task.decoding)
    translator = Translator(dataclasses.replace(model, spec=dataclasses.replace(model.spec, decoding=decoding)))
    scores: Record = {}
    texts: dict[str, list[str]] = {}
    for name in task.score_on:
        source, references = zip(*(prepared.valid if name == "valid" else prepared.test[name]), strict=True)
        hypotheses = [found.text for found in translator.translate_lines(source)]
        scores[name] = score(hypotheses, references, target=model.spec.target).as_dict()
        texts |= {f"{name}.hyp": hypotheses, f"{name}.ref": [" ".join(text.split("\n")) for text in references]}
    run = Run(Path(job.run))
    manifest = read_run_manifest(run.manifest, consequence="it cannot be scored; remove the run")
    here = this_environment()
    last = max((line for line in run.records() if "tokens" in line), key=lambda line: int(line["step"]))
    values = {
        **{"status": DONE, "scores": scores, "perplexity": perplexity, "parameters": manifest["parameters"]},
        **{"steps": last["step"], "tokens": last["tokens"], "seconds": last["seconds"]},
        "decoding": task.decoding,
        "environment": here,
        # Elsewhere perhaps: a run may be scored long after it was trained.
        "trained": [{key: start[key] for key in here} for start in manifest["starts"]],
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
    return text if isinstance(error, UserError | ConfigError | CheckpointError) else f"{type(error).__name__}: {text}"


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
