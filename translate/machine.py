"""What this machine is good at: device, threads, precision and memory allocation."""

import ctypes
import ctypes.util
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
ALLOCATORS = ("tcmalloc_minimal", "tcmalloc", "jemalloc")


def choose_device() -> "torch.device":
    """The first CUDA device, or the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def tune_malloc() -> bool:
    """Make glibc keep freed blocks; whether that worked.

    By default it returns every large block to the kernel and faults it in again, which costs a training step on a
    CPU about a third of its time. Other C libraries are left alone.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    # First, as older versions refuse a threshold above 2^25, and setting another value would freeze a far lower one.
    if not any(mallopt(M_MMAP_THRESHOLD, size) == 1 for size in (2**30, 2**25)):
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1) == 1 and mallopt(M_TOP_PAD, 2**28) == 1)


def allocator(maps: Path = Path("/proc/self/maps")) -> str | None:
    """The allocator that was preloaded in place of the C library's, if it is one of those known here."""
    try:
        mapped = maps.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return next((name for name in ALLOCATORS if f"/lib{name}." in mapped), None)


def better_allocator() -> str | None:
    """What to preload for faster training on a CPU: the file name of an installed library, if none is preloaded.

    Kernels that oneDNN keeps lie between the blocks of tensors and break glibc's heap into pieces, through which it
    looks for a place at each of thousands of allocations in a step. These sort blocks by size.
    """
    if not sys.platform.startswith("linux") or allocator():
        return None
    return next((file for name in ALLOCATORS if (file := ctypes.util.find_library(name))), None)


def keep_kernels() -> None:
    """Let oneDNN keep the kernels that it makes for every shape of a matrix product.

    By default it keeps 1,024, which the batches of an epoch exceed, so each has its kernels made anew: a fifth of the
    time of training a small model. One takes up to 1 MB; all may take a quarter of the machine's memory. No effect
    after the first product, nor where the environment says otherwise.
    """
    share = _memory("MemTotal") // 4 // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(max(1024, share // 2**20)))


def release_memory() -> None:
    """Give freed blocks back to the system after all; they cost seconds to fault in again."""
    if sys.platform.startswith("linux"):
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except AttributeError:  # not glibc
            return


def relieve_memory() -> None:
    """`release_memory` where less than a quarter of the machine's memory is left: a tuned heap fragments and grows."""
    if _memory("MemAvailable") < _memory("MemTotal") / 4:
        release_memory()


def _memory(key: str) -> int:
    """Bytes under this name in /proc/meminfo; 0 on other systems."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").split("\n")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:")), 0)


def product_rate(dtype: "torch.dtype", device: "torch.device", repeats: int = 7) -> float:
    """Measured rate of a matrix product in FLOP/s, median of `repeats`; 3 * 10^9 FLOPs each on a CPU."""
    import torch

    n, d_in, d_out = (2048, 512, 1536) if device.type == "cpu" else (16384, 4096, 4096)
    x, weight = torch.randn(n, d_in, device=device, dtype=dtype), torch.randn(d_out, d_in, device=device, dtype=dtype)
    seconds = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        torch.nn.functional.linear(x, weight)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return 2 * n * d_in * d_out / statistics.median(seconds[2:])  # the first two warm up


def bf16_pays(device: "torch.device", rates: tuple[float, float] | None = None) -> bool:
    """Whether bf16 products are at least 1.5 times as fast as float32 ones here.

    `rates` are those of float32 and bf16 products; None measures them, well under a second.
    """
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    single, half = rates or (product_rate(torch.float32, device), product_rate(torch.bfloat16, device))
    return half >= 1.5 * single


def choose_dtype(precision: str, device: "torch.device") -> "torch.dtype":
    """The type of matrix products: "fp32", "bf16", or what `bf16_pays` says for "auto"."""
    import torch

    if precision == "bf16" or (precision == "auto" and bf16_pays(device)):
        return torch.bfloat16
    return torch.float32
