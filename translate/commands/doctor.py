"""`translate doctor`: report versions, hardware and measured speed."""

import importlib.metadata
import json
import platform
import re
from dataclasses import dataclass

from translate.options import Json

DISTRIBUTION = "transformer-translate"  # not from the package, whose other owner may lack it

Report = dict[str, dict[str, object]]


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Show versions, hardware, speed and missing packages."""

    as_json: Json = False


def run(options: DoctorOptions) -> None:
    """Print versions, missing packages, hardware and measured speed, as text or as one JSON object."""
    report = examine()
    if options.as_json:
        print(json.dumps(report))
        return
    for title, facts in report.items():
        print(title)
        for name, value in facts.items():
            print(f"  {name:24}{_shown(value)}")


def examine() -> Report:
    """Return all findings, in sections; measuring takes about a second of CPU time."""
    return {
        "versions": {"python": platform.python_version(), **_versions([DISTRIBUTION, *_required(extra=None)])},
        "packages": {"translate": _shared()},
        "extras": _extras(),
        "machine": _machine(),
        "precision": _precision(),
    }


def _required(extra: str | None) -> list[str]:
    """Names of the packages that the distribution, or one of its extras, requires."""
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
    """Installed versions; None for a missing package."""
    found: dict[str, object] = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def sharing() -> list[str]:
    """Return name and version of each other distribution in the environment that has a package `translate`."""
    names = {*importlib.metadata.packages_distributions().get("translate", [])} - {DISTRIBUTION}
    return [f"{name} {importlib.metadata.version(name)}" for name in sorted(names)]


def _shared() -> str:
    """Whether the package `translate` is of this project alone, and how to mend it."""
    others = " and ".join(sharing())
    advice = f"install {DISTRIBUTION} into an environment of its own"
    return f"also of {others}, which replaces or removes its files; {advice}" if others else f"of {DISTRIBUTION} alone"


def _extras() -> dict[str, object]:
    """For each extra, "complete" or the missing packages and the command that installs them."""
    try:
        extras = importlib.metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    findings: dict[str, object] = {}
    for extra in extras:
        missing = [name for name in _required(extra) if _versions([name])[name] is None]
        command = f"pip install '.[{extra}]' in a clone of this project"
        findings[extra] = f"missing {', '.join(missing)}: {command}" if missing else "complete"
    return findings


def _machine() -> dict[str, object]:
    import torch

    from translate.machine import allocator, better_allocator, choose_device, memory, usable_cores

    device = choose_device()
    total, free = memory()
    facts: dict[str, object] = {
        "system": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "cores": usable_cores(),
        "threads": torch.get_num_threads(),
    }
    if total:  # known on Linux only
        facts |= {"memory_gib": round(total / 2**30, 1), "memory_free_gib": round(free / 2**30, 1)}
    if device.type == "cuda":
        facts["device_memory_gib"] = round(torch.cuda.get_device_properties(device).total_memory / 2**30, 1)
    library = better_allocator()
    faster = f"LD_PRELOAD={library}" if library else "tcmalloc or jemalloc"
    return facts | {"allocator": allocator() or f"the C library's; training on a CPU is faster with {faster}"}


def _precision() -> dict[str, object]:
    """Measured rates of matrix products, and whether bf16 is faster in training."""
    import torch

    from translate.machine import bf16_pays, choose_device, product_rate

    device = choose_device()
    single, half = product_rate(torch.float32, device), product_rate(torch.bfloat16, device)
    return {
        "fp32_gflops": round(single / 1e9, 1),
        "bf16_gflops": round(half / 1e9, 1),
        "bf16_pays": bf16_pays(device, (single, half)),
    }


def _shown(value: object) -> str:
    """A finding as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "missing" if value is None else str(value)
