"""Limits of control groups, read from trees as the kernel shows them."""

from pathlib import Path

import pytest

from translate.machine import cpu_limit, memory_limit

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
