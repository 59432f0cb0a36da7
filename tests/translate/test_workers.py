"""Workers give the results of one process, in order, and end with the process that started them, however it ends."""

import operator
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.errors import UserError
from translate.workers import Workers

WORKERS = (0, 1, 2)
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals")


def pids(workers: Workers, n: int) -> set[int]:
    """The processes that answer, whose state is `os.getpgid`: each leads a group of its own."""
    return set(workers.map(operator.call, [0] * n))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module", params=WORKERS)
def appending(request: pytest.FixtureRequest) -> Iterator[Workers]:
    with Workers(request.param, ["state"]) as workers:
        yield workers


@given(values=st.lists(st.lists(st.text(), max_size=2), max_size=9))
def test_results_are_those_of_one_process_in_order(appending: Workers, values: list[list[str]]) -> None:
    assert list(appending.map(operator.add, values)) == [["state", *value] for value in values]


def test_two_maps_may_feed_each_other(appending: Workers) -> None:
    once = appending.map(operator.add, ([i] for i in range(20)))
    assert list(appending.map(operator.add, once)) == [["state", "state", i] for i in range(20)]


def test_large_values_pass(appending: Workers) -> None:
    """Larger than the buffer of a pipe, in both directions at once."""
    values = [["x" * 10**6, str(i)] for i in range(6)]
    assert [*appending.map(operator.add, values)] == [["state", *value] for value in values]


def test_few_values_are_taken_in_advance(appending: Workers) -> None:
    taken = []
    results = appending.map(operator.add, (taken.append(i) or [i] for i in range(100)))
    next(results)
    assert len(taken) <= 4


def test_an_error_comes_in_place_of_its_result(appending: Workers) -> None:
    results = appending.map(operator.getitem, [0, 1, 0])
    assert next(results) == "state"
    with pytest.raises(IndexError, match="list index out of range"):
        next(results)


@pytest.mark.parametrize("n", WORKERS)
def test_an_error_of_what_is_read_ends_the_workers(n: int) -> None:
    def values() -> Iterator[int]:
        yield 0
        raise UserError("line 2 is broken")

    with Workers(n, os.getpgid) as workers:
        found = pids(workers, 4)
        with pytest.raises(UserError, match="line 2 is broken"):
            list(workers.map(operator.call, values()))
    assert not any(map(is_running, found - {os.getpgid(0)}))


@posix
def test_a_killed_worker_is_an_error_of_one_sentence() -> None:
    with Workers(2, signal.raise_signal) as workers, pytest.raises(UserError) as caught:
        list(workers.map(operator.call, [signal.SIGKILL]))
    assert "exit code -9" in str(caught.value)
    assert "OMP_NUM_THREADS=1" in str(caught.value)


KILLED = """
import operator, os, sys
from translate.workers import Workers
with Workers(2, os.getpgid) as workers:
    print(*set(workers.map(operator.call, [0] * 8)), flush=True)
    for _ in workers.map(operator.call, iter(lambda: 0, 1)):
        os.kill(os.getpid(), int(sys.argv[1]))
"""


@posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_the_process_that_started_it(number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", KILLED, str(int(number))]
    # The workers have the same standard error, which ends when the last of them has ended.
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == -number
    assert len(done.stdout.split()) in (1, 2)
    assert "Error" not in done.stderr
