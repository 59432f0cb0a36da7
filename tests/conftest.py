"""Fixtures and settings that apply to every test."""

import functools
import gc
import importlib.metadata
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from translate import machine  # which imports no torch: the process that starts the workers needs none

# No deadline, since the time of an example depends on the machine; derandomized, since a verdict must not change. The
# examples are thus the same in each run, and few must do; HYPOTHESIS_PROFILE=wide draws many others.
QUIET = [HealthCheck.too_slow]
settings.register_profile("suite", deadline=None, suppress_health_check=QUIET, derandomize=True, max_examples=30)
settings.register_profile("wide", deadline=None, suppress_health_check=QUIET, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

# Asked once in a process, as the answer takes longer than most tests; before other modules import the functions.
machine.product_rate = functools.cache(machine.product_rate)
machine.git = functools.cache(machine.git)
importlib.metadata.version = functools.cache(importlib.metadata.version)

gc.set_threshold(10_000)  # as in the program; with the default, 700, a worker took five seconds longer to begin

ROOT = Path(__file__).parent.parent
# Real corpora, if present: in the folder that the configs name, or beside the project.
CORPORA = next(
    (folder for folder in (ROOT / "data", ROOT.parent / "shared" / "data") if folder.is_dir()), ROOT / "data"
)


# A job that nohup or a scheduler starts ignores signals, and the processes that it starts inherit that; tests of what a
# signal does would wait for ever.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screenshots", type=Path, metavar="FOLDER", help="take pictures of every page")
    parser.addoption("--digests", type=Path, metavar="FILE", help="compare outputs with those of another commit")


def pytest_collection_finish() -> None:
    """Spare the collector of garbage the objects of ten thousand tests, which are there until the end."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep converted models in a folder of the tests, which workers share."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(root / "cache"))
        yield


@pytest.fixture(autouse=True, scope="session")
def no_wait_for_the_disk() -> Iterator[None]:
    """Let `os.fsync` return at once: no test cuts the power, and a training waits a fifth of its time for the disk.

    Tests of what is on the disk when replace the function themselves.
    """
    with pytest.MonkeyPatch.context() as functions:
        functions.setattr(os, "fsync", os.fstat)  # which refuses what is no open file, too
        yield


@pytest.fixture(autouse=True, scope="session")
def one_thread_for_fixtures() -> None:
    """Make the fixtures of sessions and modules on one core too."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Run each test on one core, whatever the one before has set; products of this size are slower on two."""
    import torch

    torch.set_num_threads(1)
