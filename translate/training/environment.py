"""The commit, package versions and hardware of this process."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "datasets", "numpy", "safetensors", "transformer-translate")


def environment() -> dict[str, Any]:
    """Return everything besides settings and data that may change the bits of a result.

    The keys are commit, uncommitted_changes, versions and machine; `threads` of the machine are those of each process.
    """
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "commit": commit(),
        "uncommitted_changes": None if changes is None else bool(changes),
        "versions": {"python": platform.python_version(), **{package: _version(package) for package in PACKAGES}},
        "machine": {
            "processor": processor_name(),
            "cores": os.cpu_count(),
            "processes": int(os.environ.get("WORLD_SIZE", "1")),
            "threads": torch.get_num_threads(),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        },
    }


def facts(start: dict[str, Any]) -> dict[str, str]:
    """Return each fact of a start, from `environment`, as text under one name."""
    names = ("processor", "device", "cores", "threads", "processes")
    values = {
        "commit": start["commit"],
        "uncommitted changes": start["uncommitted_changes"],
        **start["versions"],
        **{name: start["machine"][name] for name in names},
    }
    return {name: str(value) for name, value in values.items()}


def commit() -> str | None:
    """Return the commit of the project's checkout, or None if the project was installed without one."""
    return _git("rev-parse", "HEAD")


def processor_name() -> str:
    """Return the name that the system gives its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _git(*arguments: str) -> str | None:
    """Return the output of git in the project's checkout, or None without a checkout or without git."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
