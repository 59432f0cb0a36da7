"""Run the jobs of a grid: side by side in processes of this machine, or as a Slurm array."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from translate.errors import Say, UserError
from translate.experiments import records
from translate.experiments.plan import Job, Task
from translate.experiments.records import DONE, FAILED, KILLED
from translate.experiments.worker import fail, is_done, work
from translate.machine import better_allocator, n_cores, usable_cores

_POLL = 0.1  # seconds


def pending(jobs: Sequence[Job], *, retry: bool) -> list[Job]:
    """Return the jobs with a cell that still has to run.

    Args:
        jobs: all jobs.
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
        jobs: the jobs.
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
            [sys.executable, "-m", "translate.experiments.worker", str(job_file(job, folder))],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment(side_by_side),
            start_new_session=True,
        )


def environment(side_by_side: int) -> dict[str, str]:
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
        jobs: the jobs.
        folder: the folder of the grid, on a file system that all machines share.
        parameters: of submitit's executor, such as slurm_partition or timeout_min.
        cluster: of submitit: "slurm", or "local" to try it without Slurm.

    Raises UserError without submitit or Slurm, or for an unknown parameter.
    """
    try:
        import submitit
    except ImportError as error:
        raise UserError("--slurm needs submitit: pip install '.[slurm]' in a clone of this project") from error
    try:
        executor = submitit.AutoExecutor(folder=folder / "logs", cluster=cluster)
        executor.update_parameters(**parameters)
        return list(executor.map_array(work, [job_file(job, folder).absolute() for job in jobs]))
    except (RuntimeError, TypeError, NameError, ValueError, OSError) as error:
        raise UserError(f"--slurm: cannot submit the array: {' '.join(str(error).split())}") from error
