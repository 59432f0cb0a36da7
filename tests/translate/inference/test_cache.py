"""The cache of converted models: entries are whole even with concurrent writers, bounded in size, and optional."""

import os
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from translate.inference import ctranslate2_engine
from translate.inference.ctranslate2_engine import cached

FILES = {"a": b"x" * 70, "b": b"y" * 30}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "translate"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def use(key: str, files: Mapping[str, bytes] = FILES) -> dict[str, bytes]:
    """Return the contents of an entry, which is made of `files` if there is none."""

    def make(folder: Path) -> None:
        for name, content in files.items():
            (folder / name).write_bytes(content)

    return cached(lambda: key, make, contents)


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def test_an_entry_is_made_once_and_again_if_it_is_damaged(root: Path) -> None:
    others = {"a": b"new"}
    assert (use("k"), use("k", others)) == (FILES, FILES)

    def load(folder: Path) -> dict[str, bytes]:
        found = contents(folder)
        if found == FILES:
            raise RuntimeError("damaged")
        return found

    def write(folder: Path) -> None:
        (folder / "a").write_bytes(b"new")

    assert cached(lambda: "k", write, load) == others
    assert use("k") == others
    assert names(root) == {"k"}


def test_an_entry_whose_sources_change_meanwhile_is_not_kept(root: Path) -> None:
    keys = iter(["old", "new"])
    assert cached(lambda: next(keys), lambda folder: None, contents) == {}
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
    use("k")
    assert named == [set()]
    assert names(root) == {"k"}


def test_concurrent_first_uses_leave_one_whole_entry(root: Path) -> None:
    with ThreadPoolExecutor(7) as threads:
        for found in threads.map(use, ["k"] * 50):
            assert found == FILES
    assert names(root) == {"k"}


def test_the_least_recently_used_entries_are_removed_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctranslate2_engine, "CACHE_BYTES", 250)
    for age, key in enumerate(["new", "old"]):
        use(key)
        os.utime(root / key, (1000 - age, 1000 - age))
    assert use("old", {}) == FILES  # which makes it the newest
    use("third")
    assert names(root) == {"old", "third"}
    use("too large", {"a": bytes(251)})
    assert names(root) == {"old", "third"}


def test_leftovers_of_a_killed_process_are_removed_later(root: Path) -> None:
    for name, age in ((".partial-old", 1e9), (".partial-new", 2e10)):
        (root / name).mkdir(parents=True)
        os.utime(root / name, (age, age))
    use("k")
    assert names(root) == {"k", ".partial-new"}


def test_a_foreign_file_stays_and_does_not_stop_the_removal(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctranslate2_engine, "CACHE_BYTES", 150)
    use("old")
    os.utime(root / "old", (1000, 1000))
    (root / ".DS_Store").write_text("foreign", encoding="utf-8")
    use("new")
    assert names(root) == {"new", ".DS_Store"}


def test_an_unwritable_cache_is_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    for home in (tmp_path / "file", Path("/proc/none"), Path("/dev/full")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(home))
        assert use("k") == FILES
        assert use("k", {"a": b"new"}) == {"a": b"new"}


def test_a_failure_leaves_nothing(root: Path) -> None:
    def fail(folder: Path) -> None:
        assert folder.parent == root
        (folder / "a").write_bytes(b"x")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        cached(lambda: "k", fail, contents)
    assert names(root) == set()


def test_without_a_writable_cache_an_entry_is_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/full")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    place = cached(lambda: "k", lambda folder: None, lambda folder: folder)
    assert place.parent == tmp_path / "temporary"
    assert names(tmp_path / "temporary") == set()
