"""Settings of the memory allocator and of oneDNN's cache, and when they apply; limits of control groups."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forks
from translate import machine
from translate.machine import KERNELS, cpu_limit, memory_limit

# Twice each of some shapes of a product, more than the kernels that oneDNN caches, in a process that raises the limit
# or in one that does not.
PRODUCTS = """
import sys, torch
from translate import machine
n_shapes, raised = map(int, sys.argv[1:])
if raised:
    machine.KERNELS = raised
    machine.keep_kernels()
x, weight = torch.ones(n_shapes, 16), torch.ones(8, 16)
for _ in range(2):
    for n in range(1, n_shapes + 1):
        torch.mm(x[:n].bfloat16(), weight.T.bfloat16())
"""


def test_the_number_of_kernels_does_not_grow_with_the_memory(monkeypatch):
    """With a quarter of 24 GB, those of an epoch took 3 GB."""
    for gib in (3, 768):
        environment = dict[str, str]()
        monkeypatch.setattr(machine.os, "environ", environment)
        monkeypatch.setattr(machine, "memory", lambda gib=gib: (gib * 2**30, 0))
        machine.keep_kernels()
        assert int(environment["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]) == machine.KERNELS


def test_the_environment_variable_takes_precedence(monkeypatch):
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    machine.keep_kernels()
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("libjemalloc.so.2", "jemalloc"),
        ("libtcmalloc_minimal.so.4.5.10", "tcmalloc_minimal"),
        ("libtcmalloc.so.4", "tcmalloc"),
        ("libc.so.6", None),
        ("libjemallocator.so", None),
    ],
)
def test_the_allocator_is_detected_from_the_mapped_libraries(tmp_path, file, name):
    maps = tmp_path / "maps"
    maps.write_text(
        f"7f00-7f01 r-xp 00000000 08:01 17 /usr/bin/python3\n7f02-7f03 r--p 00000000 08:01 35 /usr/lib/{file}\n"
    )
    assert machine.allocator(maps) == name
    assert machine.allocator(tmp_path / "none") is None


def test_an_installed_allocator_is_proposed_unless_one_is_in_use(monkeypatch):
    installed = {"jemalloc": "libjemalloc.so.2", "tcmalloc_minimal": "libtcmalloc_minimal.so.4"}
    monkeypatch.setattr(machine.sys, "platform", "linux")
    monkeypatch.setattr("ctypes.util.find_library", installed.get)
    monkeypatch.setattr(machine, "allocator", lambda: None)
    assert machine.better_allocator() == "libtcmalloc_minimal.so.4"
    del installed["tcmalloc_minimal"]
    assert machine.better_allocator() == "libjemalloc.so.2"
    monkeypatch.setattr(machine, "allocator", lambda: "jemalloc")
    assert machine.better_allocator() is None
    monkeypatch.setattr(machine, "allocator", lambda: None)
    installed.clear()
    assert machine.better_allocator() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forks of one that has torch")
@pytest.mark.parametrize(
    ("n_shapes", "default", "raised"),
    [(150, {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "100"}, 200), pytest.param(1300, {}, KERNELS, marks=pytest.mark.slow)],
)
def test_kernels_of_an_epoch_are_created_once(n_shapes, default, raised):
    """The limit takes effect after the import of torch. With the capacity that oneDNN has by default: slow."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ONEDNN")}
    environment |= {"ONEDNN_VERBOSE": "profile_create", "OMP_NUM_THREADS": "1"}
    n_made = []
    for more, limit in ((default, 0), ({}, raised)):
        done = forks.run(["-c", PRODUCTS, str(n_shapes), str(limit)], env=environment | more)
        assert done.returncode == 0, done.stderr
        if "create:" not in done.stdout:
            pytest.skip("products do not go through oneDNN here")
        n_made.append(done.stdout.count("create:cache_miss"))
    assert n_made[0] > 1.5 * n_shapes
    assert n_made[1] < 1.1 * n_shapes


@pytest.mark.parametrize(("free", "released"), [(0.2, True), (0.3, False)])
def test_memory_is_returned_to_the_system_only_if_it_is_scarce(monkeypatch, free, released):
    calls = []
    monkeypatch.setattr(machine, "memory", lambda: (1000, 1000 * free))
    monkeypatch.setattr(machine, "release_memory", lambda: calls.append(1))
    machine.relieve_memory()
    assert bool(calls) == released


@pytest.mark.parametrize(
    ("limit", "environment", "threads"),
    [
        (None, {}, None),
        (0.5, {}, "1"),
        (2.3, {}, "3"),
        (7.0, {}, None),
        (64.0, {}, None),
        (2.3, {"OMP_NUM_THREADS": "5"}, "5"),
    ],
)
def test_threads_follow_the_limit_of_a_container(monkeypatch, limit, environment, threads):
    monkeypatch.setattr(machine, "assigned_cores", lambda: 7)
    monkeypatch.setattr(machine, "cpu_limit", lambda: limit)
    monkeypatch.setattr(machine.os, "environ", environment)
    machine.set_up_threads()
    assert environment.get("OMP_NUM_THREADS") == threads
    assert machine.n_cores() == int(threads or 7)


def test_memory_follows_the_limit_of_a_container(monkeypatch):
    monkeypatch.setattr(machine, "memory_limit", lambda: None)
    total, free = machine.memory()
    if not total:
        pytest.skip("no /proc/meminfo")
    assert 0 < free < total
    monkeypatch.setattr(machine, "memory_limit", lambda: (2**20, 3))
    assert machine.memory() == (2**20, 3)
    monkeypatch.setattr(machine, "memory_limit", lambda: (2**62, 2**61))
    assert machine.memory()[0] == total


GIB = 2**30
UNLIMITED = 2**63 - 4096  # what version 1 says without a limit


@pytest.fixture
def group(tmp_path):
    """Return a function that writes the files of one group of the tree; "__" stands for the dot in their names."""

    def write(place: str, **files: str) -> None:
        folder = tmp_path / "tree" / place
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(text + "\n")

    return write


def limits(tmp_path: Path, line: str):
    process = tmp_path / "cgroup"
    process.write_text(line + "\n")
    return cpu_limit(process, tmp_path / "tree"), memory_limit(process, tmp_path / "tree")


@pytest.mark.parametrize(("quota", "cores"), [("150000 100000", 1.5), ("350000 50000", 7.0), ("max 100000", None)])
def test_version_2_in_a_container(tmp_path, group, quota, cores):
    group("", cpu__max=quota, memory__max=str(3 * GIB), memory__current=str(2 * GIB), memory__stat="anon 5\nfile 7")
    assert limits(tmp_path, "0::/") == (cores, (3 * GIB, GIB))


def test_version_2_takes_the_tightest_of_nested_groups(tmp_path, group):
    group("a.slice", cpu__max="300000 100000", memory__max=str(5 * GIB), memory__current=str(4 * GIB))
    group("a.slice/b.service", cpu__max="max 100000", memory__max=str(3 * GIB), memory__current=str(GIB))
    group("another.slice", cpu__max="100000 100000", memory__max=str(GIB), memory__current=str(GIB))
    assert limits(tmp_path, "0::/a.slice/b.service") == (3.0, (5 * GIB, GIB))


@pytest.mark.parametrize("path", ["/docker/3f5a7", "/"])  # the path on the host, or within the container
def test_version_1_in_a_container(tmp_path, group, path):
    group("cpu", cpu__cfs_quota_us="70000", cpu__cfs_period_us="50000")
    group(
        "memory",
        memory__limit_in_bytes=str(7 * GIB),
        memory__usage_in_bytes=str(6 * GIB),
        memory__stat=f"inactive_file 3\ntotal_inactive_file {2 * GIB}",
    )
    line = f"5:cpu,cpuacct:{path}\n3:cpuset:{path}\n2:memory:{path}"
    assert limits(tmp_path, line) == (1.4, (7 * GIB, 3 * GIB))


def test_version_1_without_limits(tmp_path, group):
    group("cpu", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    group("memory", memory__limit_in_bytes=str(UNLIMITED), memory__usage_in_bytes="3")
    cores, memory = limits(tmp_path, "1:cpu:/\n2:memory:/")
    assert cores is None
    assert memory == (UNLIMITED, UNLIMITED - 3)


@pytest.mark.parametrize("line", ["", "0::/gone", "5:cpu:/gone\n4:memory:/gone"])
def test_no_tree_is_no_limit(tmp_path, line):
    process = tmp_path / "cgroup"
    process.write_text(line)
    assert cpu_limit(process, tmp_path / "tree") is None
    assert memory_limit(process, tmp_path / "tree") is None
    assert cpu_limit(tmp_path / "no file", tmp_path) is None


# 60 MB that are free, below a block that is in use, and as much for another thread.
THREADS = """
import sys, threading
from pathlib import Path
from translate import machine
def resident(): return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
if sys.argv[1] == "shared":
    machine.share_heap()
blocks = [bytes(1000) for _ in range(60_000)]
del blocks[:-1]
before = resident()
thread = threading.Thread(target=lambda: blocks.extend(bytes(1000) for _ in range(50_000)))
thread.start()
thread.join()
print(resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a setting of glibc")
def test_threads_that_share_a_heap_use_what_others_freed():
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MALLOC_", "LD_PRELOAD"))}

    def grown(setting: str, **more: str) -> int:
        """KiB of new memory."""
        command = [sys.executable, "-c", THREADS, setting]
        return int(subprocess.check_output(command, env=environment | more, timeout=100))

    if grown("default") < 40_000:
        pytest.skip("the C library has one heap for all threads anyway")
    assert grown("shared") < 10_000
    assert grown("shared", MALLOC_ARENA_MAX="8") > 40_000, "a setting of the user stays in force"
