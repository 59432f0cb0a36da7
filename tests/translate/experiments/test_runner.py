"""Processes that run side by side share the cores."""

import os

import pytest

from translate import machine
from translate.experiments.runner import environment


@pytest.mark.parametrize(
    ("chosen", "side_by_side", "threads"),
    [(None, 1, None), (None, 3, "2"), (None, 9, "1"), ("7", 3, "2"), ("3", 3, "3"), ("7", 1, "7")],
)
def test_processes_share_the_usable_cores(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, side_by_side: int, threads: str | None
) -> None:
    """Seven cores, which a container may already have made the number of threads."""
    monkeypatch.setattr(machine, "assigned_cores", lambda: 64)
    monkeypatch.setattr(machine.control_group, "cpu_limit", lambda: 6.5)
    variables = {} if chosen is None else {"OMP_NUM_THREADS": chosen}
    monkeypatch.setattr(os, "environ", variables)
    assert environment(side_by_side).get("OMP_NUM_THREADS") == threads
