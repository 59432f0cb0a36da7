"""The environment of the processes of a grid."""

import os

import pytest

from translate import machine
from translate.experiments import runner
from translate.experiments.runner import job_environment


@pytest.mark.parametrize(
    ("chosen", "side_by_side", "threads"),
    [(None, 1, None), (None, 3, "2"), (None, 9, "1"), ("7", 3, "2"), ("3", 3, "3"), ("7", 1, "7")],
)
def test_processes_share_the_usable_cores(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, side_by_side: int, threads: str | None
) -> None:
    """Seven cores, which a container may already have made the number of threads."""
    monkeypatch.setattr(machine, "assigned_cores", lambda: 64)
    monkeypatch.setattr(machine, "cpu_limit", lambda: 6.5)
    variables = {} if chosen is None else {"OMP_NUM_THREADS": chosen}
    monkeypatch.setattr(os, "environ", variables)
    monkeypatch.setattr(runner, "better_allocator", lambda: None)
    assert job_environment(side_by_side).get("OMP_NUM_THREADS") == threads
    assert "LD_PRELOAD" not in job_environment(side_by_side)


@pytest.mark.parametrize(("own", "library"), [(None, "libjemalloc.so.2"), ("libmine.so", "libmine.so")])
def test_processes_use_an_installed_allocator_unless_the_user_has_chosen_one(
    monkeypatch: pytest.MonkeyPatch, own: str | None, library: str
) -> None:
    monkeypatch.setattr(os, "environ", {} if own is None else {"LD_PRELOAD": own})
    monkeypatch.setattr(runner, "better_allocator", lambda: "libjemalloc.so.2")
    assert job_environment(1)["LD_PRELOAD"] == library
