"""Writing resumes exactly after the last complete window of a file, or refuses to."""

import errno
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest

from translate.commands.lines import writable
from translate.commands.resuming import GrowingFile
from translate.errors import UserError

SETTINGS = {"model": "abc", "format": "text"}
WINDOWS = ["eins\n", "zwei\ndrei\n", "", "vier"]


class Killed(BaseException):
    """Stands for the end of the process."""


def write(place: Path, *, stop: int | None = None, torn: str = "", force: bool = False) -> int:
    """Write the missing windows and return their number; stop before window `stop`."""
    n_written = 0
    with GrowingFile(place, SETTINGS, force=force).opened() as out:
        for n, window in enumerate(WINDOWS[out.n_done :], start=out.n_done):
            if n == stop:
                out.write(torn)
                raise Killed
            out.write(window)
            out.end_window()
            n_written += 1
    return n_written


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def test_resuming_a_complete_file_changes_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert write(place) == len(WINDOWS)
    assert capsys.readouterr().err == ""
    for _ in range(2):
        assert write(place) == 0
        assert place.read_text(encoding="utf-8") == "".join(WINDOWS)
        assert capsys.readouterr().err == f"translate: {place}: is complete already\n"
    assert write(place, force=True) == len(WINDOWS)


@pytest.mark.parametrize(
    ("key", "old", "new", "said"),
    [
        ("format", "text", "html", "another format (text, not html);"),
        ("source_sha256", "0" * 64, "1" * 64, "another input;"),
        ("tokenizer_sha256", "0" * 64, "", "another tokenizer;"),
        ("model", ["0" * 64, "2" * 64], ["1" * 64, "2" * 64], "another model;"),
        ("search", {"beam_size": 4, "alpha": 1}, {"beam_size": 3, "alpha": 1}, "search (beam_size = 4, not 3);"),
    ],
)
def test_another_setting_is_named_without_digests(key: str, old: object, new: object, said: str, place: Path) -> None:
    with GrowingFile(place, {**SETTINGS, key: old}, force=False).opened():
        pass
    growing = GrowingFile(place, {**SETTINGS, key: new}, force=False)
    with pytest.raises(UserError) as caught, growing.opened():
        pass
    assert said in str(caught.value)
    assert "0" * 64 not in str(caught.value)


@pytest.mark.parametrize("content", ["other", "".join(WINDOWS) + "more\n"])
def test_a_complete_file_that_was_changed_is_not_resumed(content: str, place: Path) -> None:
    write(place)
    place.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="exists already"):
        write(place)
    assert place.read_text(encoding="utf-8") == content


def test_a_complete_file_that_was_removed_is_written_again(place: Path) -> None:
    write(place)
    place.unlink()
    assert write(place) == len(WINDOWS)


def test_a_file_that_is_overwritten_without_resuming_is_not_resumed(place: Path) -> None:
    """Even if it has as many bytes."""
    write(place)
    with writable(place, force=True) as file:
        file.write("x" * len("".join(WINDOWS)))
    with pytest.raises(UserError, match="exists already"):
        write(place)


@pytest.mark.parametrize("stop", range(len(WINDOWS)))
@pytest.mark.parametrize("n_torn", [0, 1, 3])
def test_a_stopped_file_resumes_after_its_last_complete_window(place: Path, stop: int, n_torn: int) -> None:
    with pytest.raises(Killed):
        write(place, stop=stop, torn="".join(WINDOWS[stop:])[:n_torn])
    assert write(place) == len(WINDOWS) - stop
    assert place.read_text(encoding="utf-8") == "".join(WINDOWS)


@pytest.mark.parametrize("stop", range(1, len(WINDOWS)))
@pytest.mark.parametrize("n_torn", [0, 2, 100])
def test_text_that_was_added_to_a_stopped_file_is_kept_in_another(
    place: Path, stop: int, n_torn: int, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "".join(WINDOWS[stop:])[:n_torn] + "my own text, longer than all that follows\n"
    for n in (1, 2):
        with pytest.raises(Killed):
            write(place, stop=stop, force=True)
        with place.open("a", encoding="utf-8") as file:
            file.write(own)
        assert write(place) == len(WINDOWS) - stop
        assert place.read_text(encoding="utf-8") == "".join(WINDOWS)
        rest = place.with_name(f"{place.name}.rest{n}")
        assert rest.read_text(encoding="utf-8") == own
        assert capsys.readouterr().err.endswith(f"it had other text, which is now in {rest}\n")


def test_a_file_with_nothing_of_the_translation_is_not_resumed(place: Path) -> None:
    with pytest.raises(Killed):
        write(place, stop=0)
    place.write_text("my own text\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(UserError, match="was changed since its translation stopped; .* --force"):
            write(place)
        assert place.read_text(encoding="utf-8") == "my own text\n"


def test_a_complete_file_stays_complete_if_its_repetition_is_killed(place: Path) -> None:
    write(place)
    with pytest.raises(Killed), GrowingFile(place, SETTINGS, force=False).opened():
        raise Killed
    with place.open("a", encoding="utf-8") as file:
        file.write("my own text\n")
    with pytest.raises(UserError, match="exists already"):
        write(place)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_only_one_process_writes_a_file_at_a_time(place: Path) -> None:
    with GrowingFile(place, SETTINGS, force=False).opened() as out:
        out.write(WINDOWS[0])
        out.end_window()
        for force in (False, True):
            with pytest.raises(UserError, match="another process is writing it"):
                write(place, force=force)
        assert place.read_text(encoding="utf-8") == WINDOWS[0]
    assert write(place, force=True) == len(WINDOWS)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_only_one_process_writes_a_new_file_at_a_time(place: Path) -> None:
    with writable(place) as file:
        file.write("eins\n")
        for force in (False, True):
            with (
                pytest.raises(UserError, match=f"{place.name}: another process is writing it"),
                writable(place, force=force),
            ):
                pass
        file.write("zwei\n")
    assert place.read_text(encoding="utf-8") == "eins\nzwei\n"
    assert os.listdir(place.parent) == [place.name]


def replace(place: Path, begun: Callable[[], object] = lambda: None) -> None:
    """Write the file without resuming; call `begun` meanwhile."""
    with writable(place, force=True) as file:
        file.write("other\n")
        begun()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_a_file_that_is_written_with_resume_is_not_replaced(place: Path) -> None:
    with ExitStack() as resuming:
        enter = partial(resuming.enter_context, GrowingFile(place, SETTINGS, force=True).opened())
        with pytest.raises(UserError, match=f"{place.name}: another process is writing it"):
            replace(place, enter)  # it appears meanwhile
        with pytest.raises(UserError, match=f"{place.name}: another process is writing it"):
            replace(place)
        assert place.read_text(encoding="utf-8") == ""
    replace(place, lambda: pytest.raises(UserError, write, place, force=True))
    assert place.read_text(encoding="utf-8") == "other\n"


def test_a_file_that_appeared_meanwhile_is_overwritten_only_with_force(place: Path) -> None:
    def translate(force: bool) -> None:
        with writable(place, force=force) as file:
            place.write_text("precious\n", encoding="utf-8")
            file.write("eins\n")

    with pytest.raises(UserError, match="exists already"):
        translate(force=False)
    assert place.read_text(encoding="utf-8") == "precious\n"
    assert place.with_name(f".{place.name}.partial").read_text(encoding="utf-8") == "eins\n"
    translate(force=True)
    assert place.read_text(encoding="utf-8") == "eins\n"


@pytest.mark.parametrize("turns", ["ba", "bba", "aab", "abbba"])
def test_two_processes_that_write_one_file_repeat_no_window(
    turns: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without locks; both are killed after these turns."""
    monkeypatch.setattr("translate.commands.lines.locked", lambda _: nullcontext())
    with suppress(Killed), ExitStack() as both:
        outs = {name: both.enter_context(GrowingFile(place, SETTINGS, force=False).opened()) for name in "ab"}
        for out in map(outs.__getitem__, turns):
            out.write(WINDOWS[out.n_done])
            out.end_window()
        raise Killed
    write(place)
    assert place.read_text(encoding="utf-8") == "".join(WINDOWS)


def test_a_foreign_file_is_not_resumed(place: Path) -> None:
    place.write_text("precious\n", encoding="utf-8")
    with pytest.raises(UserError, match="exists already"):
        write(place)
    assert place.read_text(encoding="utf-8") == "precious\n"
    assert write(place, force=True) == len(WINDOWS)


def test_an_empty_file_is_written_from_the_start(place: Path) -> None:
    place.touch()
    assert write(place) == len(WINDOWS)


def test_a_file_that_took_the_name_of_an_unfinished_one_is_not_resumed(place: Path) -> None:
    with pytest.raises(Killed):
        write(place, stop=2)
    place.write_text("my own work, longer than what was written\n", encoding="utf-8")
    with pytest.raises(UserError, match="was changed since its translation stopped; .* --force"):
        write(place)
    assert place.read_text(encoding="utf-8") == "my own work, longer than what was written\n"


def test_a_refusal_leaves_no_file_that_was_not_there(place: Path) -> None:
    with pytest.raises(Killed):
        write(place, stop=2)
    place.unlink()
    with pytest.raises(UserError, match="is shorter than it was"):
        write(place)
    assert not place.exists()


@pytest.mark.parametrize("change", ["setting", "shorter", "damaged", "foreign", "type"])
def test_resuming_a_changed_file_is_refused_with_advice(place: Path, change: str) -> None:
    with pytest.raises(Killed):
        write(place, stop=2)
    beside = place.with_name(".out.txt.resume")
    if change == "setting":
        values = json.loads(beside.read_text(encoding="utf-8"))
        values["settings"]["model"] = "xyz"
        beside.write_text(json.dumps(values), encoding="utf-8")
    elif change == "shorter":
        place.write_text("eins\n", encoding="utf-8")
    elif change == "type":
        values = json.loads(beside.read_text(encoding="utf-8"))
        beside.write_text(json.dumps({**values, "bytes": "9"}), encoding="utf-8")
    else:
        beside.write_text("{" if change == "damaged" else "[]", encoding="utf-8")
    with pytest.raises(UserError, match="--force"):
        write(place)
    assert write(place, force=True) == len(WINDOWS)


def test_a_pipe_without_a_name_is_written_to() -> None:
    read, write = os.pipe()
    with writable(Path(f"/dev/fd/{write}")) as file:
        file.write("eins\n")
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        assert pipe.read() == "eins\n"


def test_a_failure_is_not_hidden_by_the_partial_file(place: Path) -> None:
    """Another program may have removed that file."""

    def fail() -> None:
        with writable(place):
            place.with_name(f".{place.name}.partial").unlink()
            raise UserError("the reason")

    with pytest.raises(UserError, match="the reason"):
        fail()


@pytest.mark.parametrize("kind", ["symlink", "dangling", "hard link"])
def test_an_unfinished_output_is_never_another_file(place: Path, kind: str) -> None:
    """The hidden name can be guessed, and a clone or a shared folder may hold a link of that name."""
    victim = place.with_name("victim")
    if kind != "dangling":
        victim.write_text("kept", encoding="utf-8")
    partial = place.with_name(".out.txt.partial")
    partial.hardlink_to(victim) if kind == "hard link" else partial.symlink_to(victim)
    with pytest.raises(UserError, match="is a link"), writable(place) as file:
        file.write("x")
    assert not os.path.lexists(place)
    assert victim.exists() == (kind != "dangling")
    assert kind == "dangling" or victim.read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("is_file", [False, True])
def test_the_record_of_an_output_is_never_another_file(place: Path, is_file: bool, force: bool) -> None:
    victim = place.with_name("victim")
    if is_file:
        victim.write_text("kept", encoding="utf-8")
    place.with_name(".out.txt.resume").symlink_to(victim)
    with pytest.raises(UserError, match="is a link"):
        write(place, force=force)
    assert not place.exists()
    assert victim.exists() == is_file
    assert not is_file or victim.read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_an_unfinished_output_is_private(place: Path, mode: int) -> None:
    place.touch()
    place.chmod(mode)
    partial = place.with_name(".out.txt.partial")
    with writable(place, force=True) as file:
        assert partial.stat().st_mode & 0o777 == 0o600
        file.write("x")
    assert place.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": -1},
        {"bytes": -(10**30)},
        {"windows": -1},
        {"windows": True},
        {"bytes": 1.0},
        {"sha256": 5},
        {"sha256": None},
        {"settings": []},
        {"complete": "yes"},
        {"more": 1},
    ],
)
def test_a_damaged_record_is_refused_with_advice(place: Path, change: dict[str, object]) -> None:
    with suppress(Killed):
        write(place, stop=2)
    record, text = place.with_name(".out.txt.resume"), place.read_bytes()
    record.write_text(json.dumps({**json.loads(record.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    with pytest.raises(UserError, match=r"damaged; start again with --force|is shorter than it was"):
        write(place)
    assert place.read_bytes() == text


def test_an_output_that_cannot_be_written_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(place)
    assert str(place.name) in str(caught.value.filename)
