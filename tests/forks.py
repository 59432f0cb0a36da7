"""Python programs in forks of a process that has imported torch and the toolkit: real processes, without the seconds
that a start takes. Not for tests of what is imported.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from types import TracebackType
from typing import IO, Any

# Nothing is computed there, so torch has no threads that a fork would lose; and nothing reads the environment. The
# number of threads is the one variable that torch reads when it is imported; a fork sets it again.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["torch", "translate.commands.text", "translate.commands.decode", "translate.inference.torch_engine"]
    + ["translate.inference.ctranslate2_engine", "translate.exchange.adding"]
    + ["translate.commands.train", "translate.training.train", "translate.evaluation.scores", "sacrebleu"]
)


class _Descriptor:
    """The descriptor of an open file, which a fork receives as a number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        assert get_spawning_popen() is not None
        return _detached, (DupFd(self.number),)


def _detached(descriptor: Any) -> int:
    number: int = descriptor.detach()
    return number


class Popen:
    """`python ARGUMENTS` as `subprocess.Popen` runs it; the arguments begin with -m or -c.

    Args:
        stdout, stderr: open files; without them, output goes where that of the tests goes.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        stdout: IO[Any] | None = None,
        stderr: IO[Any] | None = None,
    ) -> None:
        files = [_Descriptor(file.fileno() if file else number) for file, number in ((stdout, 1), (stderr, 2))]
        place, environment = os.fspath(cwd or os.getcwd()), dict(os.environ if env is None else env)
        self._process = _FORKS.Process(target=_work, args=(list(arguments), place, environment, files))
        self._process.start()

    def __enter__(self) -> "Popen":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        if kind is not None:
            self._process.kill()
        self._process.join()

    def poll(self) -> int | None:
        """Return the exit code, or None while the program runs; that of a signal is negative."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when the program has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        assert self._process.pid
        os.kill(self._process.pid, number)


def run(
    arguments: Sequence[str],
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` to its end, and return its exit code and its output."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with Popen(arguments, cwd, env, out, err) as process:
            code = process.wait(timeout)
        out.seek(0), err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


def _work(arguments: list[str], cwd: str, environment: dict[str, str], files: list[int]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, file in enumerate(files, 1):
        os.dup2(file, number)
        os.close(file)
    # Those of the server remember whether their files can seek.
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", 1, closefd=False)  # noqa: SIM115
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if threads := environment.get("OMP_NUM_THREADS"):
        sys.modules["torch"].set_num_threads(int(threads))
    for module in ("translate.machine", "translate.training.train"):
        # It is measured when a training begins, which takes longer than the training of a test.
        sys.modules[module].product_rate = lambda *_, **__: 1e9  # type: ignore[attr-defined]
    flag, program, *rest = arguments
    sys.argv = [flag, *rest]
    if flag == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
