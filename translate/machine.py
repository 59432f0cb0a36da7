"""Properties of this machine: device, precision, cores, memory, and settings of the memory allocator.

"Cores" and "memory" are what this process may use. In a container with 2 of 64 cores, PyTorch would start 64 threads,
which wait for each other.
"""

import ctypes
import errno
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from translate.errors import UserError

if TYPE_CHECKING:
    import torch

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8
CONTROL_GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# Kernels that oneDNN keeps for bf16 products, by default 1,024. One takes 0.55 MB, and half a millisecond or more to
# make. An epoch of the shipped recipe needs 4,200, and a batch of it 51; by calculation 13 of these are made anew with
# 1,024, which a small model notices, 6 with 2,048, and none with 4,200, which take 2.4 GB.
KERNELS = 2048
ALLOCATORS = ("tcmalloc_minimal", "tcmalloc", "jemalloc")


def set_up_threads() -> None:
    """Limit OpenMP's threads to the usable cores, and let idle ones sleep soon; call it before torch is imported.

    Threads of GNU OpenMP spin at every barrier, by default for milliseconds. If another process keeps one core busy,
    the others spin while one thread waits for its turn, and training falls to a third of its speed or less. An
    environment that sets GOMP_SPINCOUNT, OMP_WAIT_POLICY or OMP_NUM_THREADS is left alone.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    if (n_usable := usable_cores()) < assigned_cores():
        os.environ.setdefault("OMP_NUM_THREADS", str(n_usable))


def set_up_torch(threads: int | None) -> None:
    """Set the number of CPU threads, None for the default, and keep freed memory for the next tensors."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    tune_malloc()


def n_cores() -> int:
    """Return OMP_NUM_THREADS if that is set, or the number of cores that this process may use."""
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    return int(chosen) if chosen.isdecimal() and int(chosen) else usable_cores()


def usable_cores() -> int:
    """Return the number of cores whose time this process may use; part of a core counts as one."""
    limit = cpu_limit()
    return assigned_cores() if limit is None else max(1, min(assigned_cores(), math.ceil(limit)))


def assigned_cores() -> int:
    """Return the number of cores on which this process may run, however little of their time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_limit(process: Path = CONTROL_GROUPS[0], tree: Path = CONTROL_GROUPS[1]) -> float | None:
    """Return how many cores' time Linux lets this process use, such as 1.5; None without a limit.

    Containers, services and jobs have such limits.

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


def choose_device(name: str | None = None) -> "torch.device":
    """Return the device of a name, such as "cuda:1", or else the first CUDA device or the CPU.

    UserError if this machine has no such device.
    """
    import torch

    if not name:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=name).cpu()
    except (RuntimeError, AssertionError) as error:  # AssertionError: PyTorch was built without such devices
        raise UserError(f"there is no device {name}; name another one, such as cpu, or leave it out") from error
    return torch.device(name)


def tune_malloc() -> bool:
    """Make glibc keep freed blocks; return whether that worked.

    By default glibc returns every large block to the kernel and faults it in again, which takes about a third of a
    training step on a CPU. Other C libraries are not changed.
    """
    if (mallopt := _mallopt()) is None:
        return False
    # This comes first: older versions refuse thresholds above 2^25, and setting another value would fix a lower one.
    if not any(mallopt(M_MMAP_THRESHOLD, size) == 1 for size in (2**30, 2**25)):
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1) == 1 and mallopt(M_TOP_PAD, 2**28) == 1)


def share_heap() -> None:
    """Let all threads use one heap of glibc; call it before there are any.

    By default each thread has its own, and cannot use what was freed in another one. MALLOC_ARENA_MAX, if it is set,
    stays in force, and other C libraries are not changed.
    """
    if "MALLOC_ARENA_MAX" not in os.environ and (mallopt := _mallopt()) is not None:
        mallopt(M_ARENA_MAX, 1)


def _mallopt() -> Callable[[int, int], int] | None:
    """Return the function of glibc; None if the C library has none."""
    return getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform.startswith("linux") else None


def allocator(maps: Path = Path("/proc/self/maps")) -> str | None:
    """Return the name of the preloaded allocator if it is one of ALLOCATORS, or None; `maps` lists loaded libraries."""
    try:
        mapped = maps.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return next((name for name in ALLOCATORS if f"/lib{name}." in mapped), None)


def better_allocator() -> str | None:
    """Return the file name of an installed allocator that makes training on a CPU faster; None if one is preloaded.

    Kernels that oneDNN caches lie between the blocks of tensors and split glibc's heap into pieces. glibc searches them
    at each of the thousands of allocations in a step; these allocators sort blocks by size.
    """
    if not sys.platform.startswith("linux") or allocator():
        return None
    from ctypes.util import find_library  # imports subprocess, which would make every start slower

    return next((file for name in ALLOCATORS if (file := find_library(name))), None)


def keep_kernels() -> None:
    """Enlarge oneDNN's cache of kernels, which are made for every shape of a bf16 product; see `KERNELS`.

    Has no effect after the first product, or if ONEDNN_PRIMITIVE_CACHE_CAPACITY is set.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(KERNELS))


def leave_lost_terminal() -> None:
    """Discard what is written to a terminal that was closed; writing there would be an error, and saving would end."""
    for descriptor in (1, 2):
        try:
            os.get_terminal_size(descriptor)
        except OSError as error:  # ENOTTY for a file or a pipe
            if error.errno == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def is_out_of_memory(error: Exception) -> bool:
    """Return whether memory does not suffice; PyTorch on the CPU and CTranslate2 have no exception class for it."""
    reasons = ("can't allocate memory", "Storage size calculation overflowed", "bad_alloc", "out of memory")
    known = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"  # PyTorch's, if it is loaded
    return known or (isinstance(error, RuntimeError) and any(reason in str(error) for reason in reasons))


@contextmanager
def out_of_memory(message: str) -> Iterator[None]:
    """Turn a lack of memory in this block into a UserError."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(message) from error


def release_memory() -> None:
    """Return freed blocks to the system; faulting them in again takes seconds."""
    if sys.platform.startswith("linux"):
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except AttributeError:  # another C library
            return


def relieve_memory() -> None:
    """Call `release_memory` if less than a quarter of the memory is free: a tuned heap fragments and grows."""
    total, free = memory()
    if free < total / 4:
        release_memory()


def memory() -> tuple[int, int]:
    """Return the bytes of main memory that this process may use, and how many of them are free; 0 if unknown."""
    try:
        words = [line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()]
    except OSError:
        return 0, 0
    sizes = {name: int(kib) * 1024 for name, kib, *_ in words}
    total, free = sizes["MemTotal:"], sizes.get("MemAvailable:", 0)
    limit = memory_limit()
    return (total, free) if limit is None else (min(total, limit[0]), min(free, limit[1]))


def memory_limit(process: Path = CONTROL_GROUPS[0], tree: Path = CONTROL_GROUPS[1]) -> tuple[int, int] | None:
    """Return the bytes that this process and the others of its group may use, and how many of them are free.

    Cached files that were not used recently count as free, since the kernel drops them first. If groups contain each
    other, the one with the least free memory counts. None without a limit. The arguments are those of `cpu_limit`.
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


def product_rate(
    dtype: "torch.dtype", device: "torch.device", clock: Callable[[], float] = time.perf_counter, n_products: int = 7
) -> float:
    """Measure the rate of matrix products, in FLOP/s: the fastest counts, as other processes can only slow it down."""
    import torch

    n, d_in, d_out = (2048, 512, 1536) if device.type == "cpu" else (16384, 4096, 4096)
    x, weight = (torch.ones(size, d_in, device=device, dtype=dtype) for size in (n, d_out))
    seconds = []
    for _ in range(2 + n_products):
        start = clock()
        torch.mm(x, weight.T)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(clock() - start)
    return 2 * n * d_in * d_out / min(seconds[2:])  # the first two warm up


def bf16_pays(device: "torch.device", rates: tuple[float, float] | None = None) -> bool:
    """Return whether bf16 products are at least 1.5 times as fast as float32 products.

    Args:
        rates: of float32 and bf16 products; None measures them, which takes less than a second.
    """
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # In processor time: beside other processes, the products of one type may be interrupted more often.
    single, half = rates or (
        product_rate(kind, device, clock=time.process_time, n_products=3) for kind in (torch.float32, torch.bfloat16)
    )
    return half >= 1.5 * single


def choose_dtype(precision: str, device: "torch.device") -> "torch.dtype":
    """Return the type of products for a `precision`: "fp32", "bf16", or "auto", which asks `bf16_pays`."""
    import torch

    if precision == "bf16" or (precision == "auto" and bf16_pays(device)):
        return torch.bfloat16
    return torch.float32


def git(*arguments: str) -> str | None:
    """Return the output of git in the project's checkout, or None without a checkout or without git."""
    import subprocess

    root = Path(__file__).parents[1]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


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
