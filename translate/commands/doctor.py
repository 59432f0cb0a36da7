"""`translate doctor`: what this machine and installation are good for."""

import importlib.metadata
import json
import os
import platform
import re
import tempfile
from pathlib import Path

DISTRIBUTION = "transformer-translate"

Report = dict[str, dict[str, object]]


def doctor(*, as_json: bool) -> None:
    """Print versions, hardware, measured speed, and what is missing, as text or as one JSON object."""
    report = examine()
    if as_json:
        print(json.dumps(report))
        return
    for title, facts in report.items():
        print(title)
        for name, value in facts.items():
            print(f"  {name:24}{_shown(value)}")


def examine() -> Report:
    """All findings, in sections; measuring takes about a second of CPU time."""
    return {
        "versions": {"python": platform.python_version(), **_versions([DISTRIBUTION, *_required(extra=None)])},
        "extras": _extras(),
        "machine": _machine(),
        "precision": _precision(),
        "folder": {"path": str(Path.cwd()), "writable": _writable(Path.cwd())},
    }


def _required(extra: str | None) -> list[str]:
    """Names of the packages that the core, or one extra, of the installed distribution asks for."""
    try:
        requirements = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:  # used from a source tree that is not installed
        return []
    names = []
    for requirement in requirements:
        marker = re.search(r"""extra\s*==\s*["']([\w-]+)["']""", requirement)
        if (marker[1] if marker else None) == extra:
            names.append(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
    return names


def _versions(packages: list[str]) -> dict[str, object]:
    """Installed versions; None where a package is missing."""
    found: dict[str, object] = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _extras() -> dict[str, object]:
    """For each extra "complete", or the packages that it lacks and the command that brings them."""
    try:
        extras = importlib.metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    findings: dict[str, object] = {}
    for extra in extras:
        missing = [name for name in _required(extra) if _versions([name])[name] is None]
        command = f"pip install '{DISTRIBUTION}[{extra}]'"
        findings[extra] = f"lacks {', '.join(missing)}: {command}" if missing else "complete"
    return findings


def _machine() -> dict[str, object]:
    import torch

    from translate.machine import choose_device, tune_malloc

    device = choose_device()
    facts: dict[str, object] = {
        "system": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        **_memory(),
    }
    if device.type == "cuda":
        facts["device_memory_gib"] = round(torch.cuda.get_device_properties(device).total_memory / 2**30, 1)
    return facts | {"malloc_tunable": tune_malloc(), "allocator": _allocator()}


def _allocator() -> str:
    """Who hands out memory, and what would be faster in training on a CPU."""
    from translate.machine import allocator, better_allocator

    if (name := allocator()) is not None:
        return name
    library = better_allocator()
    advice = f"LD_PRELOAD={library} trains faster" if library else "tcmalloc or jemalloc, preloaded, trains faster"
    return f"the C library's; {advice}"


def _memory() -> dict[str, object]:
    """Main memory in GiB, all of it and what is free, where the system tells."""
    try:
        page = os.sysconf("SC_PAGE_SIZE") / 2**30
        pages = {"memory_gib": os.sysconf("SC_PHYS_PAGES"), "memory_free_gib": os.sysconf("SC_AVPHYS_PAGES")}
    except (AttributeError, ValueError, OSError):
        return {}
    return {name: round(page * n, 1) for name, n in pages.items()}


def _precision() -> dict[str, object]:
    """Measured rates of matrix products, and whether training in bf16 pays."""
    import torch

    from translate.machine import bf16_pays, choose_device, product_rate

    device = choose_device()
    single, half = product_rate(torch.float32, device), product_rate(torch.bfloat16, device)
    return {
        "fp32_gflops": round(single / 1e9, 1),
        "bf16_gflops": round(half / 1e9, 1),
        "bf16_pays": bf16_pays(device, (single, half)),
    }


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _shown(value: object) -> str:
    """A finding as a reader wants it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "missing" if value is None else str(value)
