"""The limits of CPU time and memory that Linux sets for a container, a service or a job.

Outside this file, "cores" and "memory" are what the machine has: in a container with 2 of 64 cores, PyTorch would start
64 threads, which wait for each other.
"""

from collections.abc import Iterator
from pathlib import Path

PROCESS, TREE = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def cpu_limit(process: Path = PROCESS, tree: Path = TREE) -> float | None:
    """Return how many cores' time this process may use, such as 1.5; None without a limit.

    Args:
        process: the file that names the groups of the process.
        tree: where the groups are mounted, of version 1 or 2.
    """
    limits = []
    for group in _groups("cpu", process, tree):
        quota = _words(group / "cpu.max") or _words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us")
        if len(quota) == 2 and quota[0].isdecimal():  # "max" or -1 is no limit
            limits.append(int(quota[0]) / int(quota[1]))
    return min(limits, default=None)


def free_memory(process: Path = PROCESS, tree: Path = TREE) -> tuple[int, int] | None:
    """Return the bytes that this process and the others of its group may use, and how many of them are free.

    Cached files that were not used recently count as free, since the kernel drops them first. If groups contain each
    other, the one with the least free memory counts. None without a limit.

    Args:
        process: the file that names the groups of the process.
        tree: where the groups are mounted, of version 1 or 2.
    """
    found = []
    for group in _groups("memory", process, tree):
        limit = _words(group / "memory.max") or _words(group / "memory.limit_in_bytes")
        used = _words(group / "memory.current") or _words(group / "memory.usage_in_bytes")
        if limit and limit[0].isdecimal() and used:
            words = _words(group / "memory.stat")
            counts = dict(zip(words[::2], words[1::2], strict=False))
            cached = counts.get("total_inactive_file") or counts.get("inactive_file") or 0
            found.append((int(limit[0]), max(0, int(limit[0]) - int(used[0]) + int(cached))))
    return min(found, key=lambda memory: memory[1], default=None)


def _groups(controller: str, process: Path, tree: Path) -> Iterator[Path]:
    """Yield the folders of the groups that limit a process: its own and those that contain it.

    In a container the path of the group may be that on the host, while `tree` begins at the group itself.
    """
    for line in _lines(process):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        top = tree / controller if controllers else tree  # version 2 has one tree for all
        group = top / path.lstrip("/")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(top))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    return [word for line in _lines(path) for word in line.split()]
