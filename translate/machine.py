"""Properties of this machine: device, precision, and settings of the memory allocator."""

import ctypes
import ctypes.util
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from translate import control_group

if TYPE_CHECKING:
    import torch

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
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


def n_cores() -> int:
    """Return OMP_NUM_THREADS if that is set, or the number of cores that this process may use."""
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    return int(chosen) if chosen.isdecimal() and int(chosen) else usable_cores()


def usable_cores() -> int:
    """Return the number of cores whose time this process may use; part of a core counts as one."""
    limit = control_group.cpu_limit()
    return assigned_cores() if limit is None else max(1, min(assigned_cores(), math.ceil(limit)))


def assigned_cores() -> int:
    """Return the number of cores on which this process may run, however little of their time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_device() -> "torch.device":
    """Return the first CUDA device, or the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def tune_malloc() -> bool:
    """Make glibc keep freed blocks; return whether that worked.

    By default glibc returns every large block to the kernel and faults it in again, which takes about a third of a
    training step on a CPU. Other C libraries are not changed.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    # This comes first: older versions refuse thresholds above 2^25, and setting another value would fix a lower one.
    if not any(mallopt(M_MMAP_THRESHOLD, size) == 1 for size in (2**30, 2**25)):
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1) == 1 and mallopt(M_TOP_PAD, 2**28) == 1)


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
    return next((file for name in ALLOCATORS if (file := ctypes.util.find_library(name))), None)


def keep_kernels() -> None:
    """Enlarge oneDNN's cache of kernels, which are made for every shape of a matrix product.

    By default oneDNN keeps 1,024 kernels. An epoch needs more, so kernels are made again and again, which takes a fifth
    of the training time of a small model. A kernel takes up to 1 MB; all together may take a quarter of the memory.
    Has no effect after the first product, or if ONEDNN_PRIMITIVE_CACHE_CAPACITY is set.
    """
    share = memory()[0] // 4 // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(max(1024, share // 2**20)))


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
    limit = control_group.free_memory()
    return (total, free) if limit is None else (min(total, limit[0]), min(free, limit[1]))


def product_rate(
    dtype: "torch.dtype",
    device: "torch.device",
    repeats: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Measure the rate of matrix products, in FLOP/s.

    Args:
        dtype: type of the matrices.
        device: device of the matrices.
        repeats: number of products; the fastest counts, as other processes can only slow it down. On a CPU each takes
            3 * 10^9 FLOPs.
        clock: returns seconds.
    """
    import torch

    n, d_in, d_out = (2048, 512, 1536) if device.type == "cpu" else (16384, 4096, 4096)
    x, weight = (torch.ones(size, d_in, device=device, dtype=dtype) for size in (n, d_out))
    seconds = []
    for _ in range(repeats + 2):
        start = clock()
        torch.mm(x, weight.T)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(clock() - start)
    return 2 * n * d_in * d_out / min(seconds[2:])  # the first two warm up


def bf16_pays(device: "torch.device", rates: tuple[float, float] | None = None) -> bool:
    """Return whether bf16 products are at least 1.5 times as fast as float32 products.

    Args:
        device: where to multiply.
        rates: of float32 and bf16 products; None measures them, which takes less than a second.
    """
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # In processor time: beside other processes, the products of one type may be interrupted more often.
    single, half = rates or (
        product_rate(kind, device, clock=time.process_time) for kind in (torch.float32, torch.bfloat16)
    )
    return half >= 1.5 * single


def choose_dtype(precision: str, device: "torch.device") -> "torch.dtype":
    """Return the type of products for a `precision`: "fp32", "bf16", or "auto", which asks `bf16_pays`."""
    import torch

    if precision == "bf16" or (precision == "auto" and bf16_pays(device)):
        return torch.bfloat16
    return torch.float32
