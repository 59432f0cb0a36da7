"""Files are written completely or not at all."""

import contextlib
import errno
import hashlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.errors import UserError
from translate.files import (
    hidden,
    locked,
    new_folder,
    open_hidden,
    read_json,
    recover_folder,
    sha256,
    write_json,
    write_text,
)


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x00\xffabc")
    assert sha256(tmp_path / "file") == hashlib.sha256(b"\x00\xffabc").hexdigest()


@pytest.mark.parametrize("durable", [False, True])
def test_writing_text_replaces_a_file_and_leaves_no_other_file(tmp_path: Path, durable: bool) -> None:
    (tmp_path / "file").write_text("old", encoding="utf-8")
    write_text(tmp_path / "file", "a\n\u00fc\r\n", durable=durable)
    assert (tmp_path / "file").read_bytes() == "a\n\u00fc\r\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_link_leads_to_the_new_file(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(Path("disk") / "real")
    if exists:
        (tmp_path / "disk" / "real").write_text("old", encoding="utf-8")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "disk" / "real").read_text(encoding="utf-8") == "new"
    assert os.listdir(tmp_path / "disk") == ["real"]


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "file", "\ud800")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "old"


def test_processes_that_write_one_file_at_a_time_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one writes all of the file before the first one gives its file the name."""
    path = tmp_path / "file"

    def meanwhile(_: int) -> None:
        monkeypatch.undo()
        with monkeypatch.context() as second:
            second.setattr("os.getpid", lambda: 2)
            write_text(path, "second")
        assert path.read_text(encoding="utf-8") == "second"

    monkeypatch.setattr("os.fsync", meanwhile)
    write_text(path, "first", durable=True)
    assert path.read_text(encoding="utf-8") == "first"
    assert os.listdir(tmp_path) == ["file"]


def test_a_write_that_fails_leaves_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_text(tmp_path / "file", "x", durable=True)
    assert os.listdir(tmp_path) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x, max_size=3), max_leaves=5
)


@given(st.dictionaries(st.text(), JSON))
def test_json_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, value: dict[str, object]) -> None:
    path = tmp_path_factory.mktemp("json") / "value.json"
    write_json(path, value)
    assert read_json(path) == value


def test_a_name_that_is_not_utf_8_reads_back_as_it_was(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \xc3\xa9 \\")
    write_json(tmp_path / "x.json", {"name": name})
    assert os.fsencode(read_json(tmp_path / "x.json")["name"]) == os.fsencode(name)
    assert "\u00e9".encode() in (tmp_path / "x.json").read_bytes()


@pytest.mark.parametrize("text", ["[1]", "", "{", "3", "[" * 200_000])
def test_json_that_is_not_an_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="does not contain a JSON object|Expecting|nested too deeply"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize("durable", [False, True])
def test_a_folder_appears_when_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    place = tmp_path / "a" / "b"
    with new_folder(place, durable=durable) as partial:
        (partial / "file").write_text("x", encoding="utf-8")
        assert not place.exists()
    assert [path.name for path in place.iterdir()] == ["file"]
    assert [path.name for path in place.parent.iterdir()] == ["b"]
    assert len(synced) == (3 if durable else 0)  # the file, its folder, and the folder around them


def test_who_may_read_a_new_folder_may_read_its_files(tmp_path: Path) -> None:
    """Files of safetensors and tempfile are private at first, and a server often has another user than training."""
    old = os.umask(0o027)
    try:
        with new_folder(tmp_path / "new") as partial:
            (partial / "in").mkdir()
            (partial / "in" / "private").touch(mode=0o600)
            (partial / "program").touch(mode=0o700)
    finally:
        os.umask(old)
    modes = [(tmp_path / "new" / name).stat().st_mode & 0o777 for name in ("in/private", "program")]
    assert modes == [0o640, 0o740]


def test_a_failure_leaves_no_new_folder(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "new") as partial:
            (partial / "file").write_text("x", encoding="utf-8")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_replaced_only_on_request_and_survives_a_failure(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with new_folder(place) as partial:
        (partial / "first").touch()
    with pytest.raises(FileExistsError), new_folder(place):
        pass
    with pytest.raises(RuntimeError), new_folder(place, replace=True):
        raise RuntimeError
    assert [path.name for path in place.iterdir()] == ["first"]
    with new_folder(place, replace=True) as partial:
        (partial / "second").touch()
    assert [path.name for path in place.iterdir()] == ["second"]
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_has_one_writer_at_a_time(tmp_path: Path, replace: bool) -> None:
    place = tmp_path / "place"
    with new_folder(place) as first:
        (first / "first").touch()
        with pytest.raises(BlockingIOError, match="another process is writing it"), new_folder(place, replace=replace):
            pass
    assert [path.name for path in place.iterdir()] == ["first"]
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_new_folder_has_no_leftovers(tmp_path: Path) -> None:
    (tmp_path / ".place.partial" / "in").mkdir(parents=True)
    (tmp_path / ".place.partial" / "in" / "file").touch()
    (tmp_path / ".place.partial" / "link").symlink_to("in")
    with new_folder(tmp_path / "place") as partial:
        assert list(partial.iterdir()) == []


@pytest.mark.parametrize("replace", [False, True])
def test_a_link_leads_to_the_new_folder(tmp_path: Path, replace: bool) -> None:
    """Such as a folder that was moved to a larger disk; without `replace`, the link leads nowhere yet."""
    place, disk = tmp_path / "place", tmp_path / "disk" / "real"
    disk.parent.mkdir()
    place.symlink_to(disk)
    if replace:
        disk.mkdir()
        (disk / "old").touch()
    for n in range(1 + replace):
        with new_folder(place, replace=replace) as partial:
            (partial / str(n)).touch()
        assert place.is_symlink()
        assert [path.name for path in disk.iterdir()] == [str(n)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "place"]
    assert [path.name for path in disk.parent.iterdir()] == ["real"]


def test_leftovers_of_a_killed_process_are_repaired(tmp_path: Path) -> None:
    """Killed between the two renames, so neither folder has its final name."""
    (tmp_path / ".place.old").mkdir()
    (tmp_path / ".place.old" / "precious").touch()
    (tmp_path / ".place.partial").mkdir()
    with pytest.raises(FileExistsError), new_folder(tmp_path / "place"):
        pass
    assert (tmp_path / "place" / "precious").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
@pytest.mark.parametrize("is_folder", [False, True])
def test_one_process_holds_a_lock_at_a_time(tmp_path: Path, is_folder: bool) -> None:
    path = tmp_path if is_folder else tmp_path / ".lock"
    program = (
        "import sys, pathlib; from translate.files import locked\n"
        "with locked(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.readline()"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), locked(path):
            pass
        waited = []

        def on_wait() -> None:
            waited.append(True)
            other.kill()  # a killed process holds no lock

        with locked(path, on_wait):
            assert waited == [True]


def test_a_replacement_that_was_killed_is_undone(tmp_path: Path) -> None:
    """Between the two renames only the old folder, renamed, and the new one exist."""
    place, old = tmp_path / "place", tmp_path / ".place.old"
    old.mkdir()
    (old / "first").touch()
    (tmp_path / ".place.partial").mkdir()
    recover_folder(place)
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert [path.name for path in place.iterdir()] == ["first"]


def test_an_old_folder_is_removed_once_the_new_one_is_in_place(tmp_path: Path) -> None:
    for name in ("place", ".place.old"):
        (tmp_path / name).mkdir()
    recover_folder(tmp_path / "place")
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder that belongs to something else."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "kept").write_text("kept", encoding="utf-8")
    return folder


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("ending", ["partial", "old"])
@pytest.mark.parametrize("target", ["victim", "victim/kept", "victim/new"])
def test_a_link_in_place_of_a_hidden_folder_is_not_followed(
    tmp_path: Path, victim: Path, target: str, ending: str, replace: bool
) -> None:
    """A clone of a repository may hold such a link."""
    place = tmp_path / "prepared" / "tiny"
    place.parent.mkdir()
    place.with_name(f".tiny.{ending}").symlink_to(Path("..", target))
    with pytest.raises(UserError, match="is a link"), new_folder(place, replace=replace) as partial:
        (partial / "file").write_text("x", encoding="utf-8")
    with contextlib.suppress(UserError):
        recover_folder(place)
    assert not os.path.lexists(place)
    assert [(path.name, path.read_text(encoding="utf-8")) for path in victim.iterdir()] == [("kept", "kept")]


def test_a_link_in_an_unfinished_folder_is_removed_and_not_followed(tmp_path: Path, victim: Path) -> None:
    unfinished = tmp_path / ".tiny.partial"
    (unfinished / "deep").mkdir(parents=True)
    for link in (unfinished / "file", unfinished / "deep" / "file"):
        link.symlink_to(victim)
    with new_folder(tmp_path / "tiny") as partial:
        (partial / "file").write_text("x", encoding="utf-8")
    assert os.listdir(tmp_path / "tiny") == ["file"]
    assert os.listdir(victim) == ["kept"]


@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "pipe", "folder"])
def test_a_hidden_file_is_never_another_file(tmp_path: Path, victim: Path, kind: str) -> None:
    path = hidden(tmp_path / "out.txt", "partial")
    make = {
        "link": lambda: path.symlink_to(victim / "kept"),
        "dangling link": lambda: path.symlink_to(victim / "new"),
        "second name": lambda: path.hardlink_to(victim / "kept"),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }
    make[kind]()
    with pytest.raises((UserError, IsADirectoryError)):
        open_hidden(path)
    if "link" in kind:
        with pytest.raises(UserError, match="is a link"):
            hidden(tmp_path / "out.txt", "partial")
    assert os.listdir(victim) == ["kept"]
    assert (victim / "kept").read_text(encoding="utf-8") == "kept"


def test_a_lock_makes_no_file_through_a_link(tmp_path: Path, victim: Path) -> None:
    (tmp_path / ".lock").symlink_to(victim / "new")
    with pytest.raises(OSError, match=r"\.lock"), locked(tmp_path / ".lock"):
        pass
    assert os.listdir(victim) == ["kept"]


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
@pytest.mark.parametrize("before", [None, 0o600, 0o640, 0o666])
def test_a_file_keeps_its_permissions_and_is_private_until_it_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int | None, mask: int
) -> None:
    path = tmp_path / "file"
    seen = list[int]()

    def modes() -> list[int]:
        return [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir() if file != path]

    fchmod = os.fchmod
    monkeypatch.setattr("os.fchmod", lambda *how: (seen.extend(modes()), fchmod(*how)))
    old = os.umask(mask)
    try:
        if before is not None:
            path.touch()
            path.chmod(before)
        write_text(path, "x")
    finally:
        assert os.umask(old) == mask
    assert seen == [0o600]
    assert stat.S_IMODE(path.stat().st_mode) == (0o666 & ~mask if before is None else before)


def test_a_file_system_that_refuses_permissions_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    with new_folder(tmp_path / "new") as partial:
        (partial / "file").touch(mode=0o600)
        for name in ("chmod", "fchmod"):
            monkeypatch.setattr(f"os.{name}", refused)
        write_text(partial / "text", "x")
    assert (tmp_path / "new" / "text").read_text(encoding="utf-8") == "x"
    assert (tmp_path / "new" / "file").exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("write", [lambda path: write_text(path, "x", durable=True), lambda path: filled(path)])
def test_an_error_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None], code: int
) -> None:
    """The system's error of a write names none."""

    def full(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=re.escape(os.strerror(code))) as caught:
        write(tmp_path / "file")
    assert str(caught.value.filename) == str(tmp_path / "file")


def filled(place: Path) -> None:
    with new_folder(place, durable=True):
        pass
