"""The cache: entries are complete or absent even with concurrent writers, its size is bounded, and it is optional."""

import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from translate.models import cache

FILES = {"a": b"x" * 70, "b": b"y" * 30}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "translate"


def contents(folder: Path | None) -> dict[str, bytes]:
    assert folder is not None
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def store(key: str, files: Mapping[str, bytes] = FILES) -> None:
    with cache.new_entry() as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        cache.keep(folder, key)


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def test_a_stored_entry_is_found_until_it_is_removed(root: Path) -> None:
    assert cache.find("k") is None
    store("k")
    assert contents(cache.find("k")) == FILES
    store("k", {"a": b"new"})
    assert contents(cache.find("k")) == FILES
    cache.remove("k")
    cache.remove("k")
    assert cache.find("k") is None
    assert names(root) == set()


def test_the_files_are_on_the_disk_before_the_entry_has_its_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power failure could leave an entry of empty files, which every later use would find."""
    on_disk, named, sync, rename = set[int](), list[set[int]](), os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        sync(descriptor)
        on_disk.add(os.fstat(descriptor).st_ino)

    def renamed(folder: Path, target: Path) -> Path:
        named.append({path.stat().st_ino for path in (*folder.iterdir(), folder)} - on_disk)
        return rename(folder, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    store("k")
    assert named == [set()]
    assert names(root) == {"k"}


def test_concurrent_first_uses_leave_one_whole_entry(root: Path) -> None:
    threads = [threading.Thread(target=store, args=("k",)) for _ in range(7)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if (entry := cache.find("k")) is not None:
            assert contents(entry) == FILES
    assert contents(cache.find("k")) == FILES
    assert names(root) == {"k"}


def test_the_least_recently_used_entries_are_removed_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_BYTES", 250)
    for age, key in enumerate(["new", "old"]):
        store(key)
        os.utime(root / key, (1000 - age, 1000 - age))
    assert cache.find("old") is not None  # which makes it the newest
    store("third")
    assert names(root) == {"old", "third"}
    store("too large", {"a": bytes(251)})
    assert names(root) == {"old", "third"}


def test_leftovers_of_a_killed_process_are_removed_later(root: Path) -> None:
    for name, age in ((".partial-old", 1e9), (".partial-new", 2e10)):
        (root / name).mkdir(parents=True)
        os.utime(root / name, (age, age))
    store("k")
    assert names(root) == {"k", ".partial-new"}


def test_a_foreign_file_stays_and_does_not_stop_the_removal(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_BYTES", 150)
    store("old")
    os.utime(root / "old", (1000, 1000))
    (root / ".DS_Store").write_text("foreign", encoding="utf-8")
    store("new")
    assert names(root) == {"new", ".DS_Store"}


def test_an_unwritable_cache_is_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    for home in (tmp_path / "file", Path("/proc/none"), Path("/dev/full")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(home))
        store("k")
        assert cache.find("k") is None


def test_an_entry_that_is_not_kept_leaves_nothing(root: Path) -> None:
    def fail() -> None:
        with cache.new_entry() as folder:
            assert folder.parent == root
            (folder / "a").write_bytes(b"x")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert names(root) == set()


def test_without_a_writable_cache_an_entry_is_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/full")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with cache.new_entry() as folder:
        assert folder.parent == tmp_path / "temporary"
        cache.keep(folder, "k")
        assert folder.is_dir()
    assert names(tmp_path / "temporary") == set()
