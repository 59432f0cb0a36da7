"""Input lines arrive complete and without delay from files, pipes and terminals; typed lines go into the history."""

import codecs
import io
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import forks
from translate.commands.lines import ArrivingLines, ended, open_lines
from translate.commands.main import main
from translate.commands.prompt import TypedLines, history_file
from translate.commands.text import TextOptions
from translate.errors import UserError
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder


def arriving(data: bytes) -> ArrivingLines:
    return ArrivingLines(io.BufferedReader(io.BytesIO(data)), "a test")


@given(data=st.lists(st.sampled_from([b"\n", b"Ja.", b"\r", "ä".encode(), b"abcdefgh"]), max_size=19).map(b"".join))
def test_lines_do_not_depend_on_the_portions_in_which_they_arrive(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translate.commands.lines._CHUNK", 7)
        lines = arriving(data)
        found = list(lines)
    assert "".join(found) == data.decode()
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in found[:-1])
    assert lines.n_bytes == len(data)
    assert list(ended(found)) == [line if line.endswith("\n") else line + "\n" for line in found]


def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    lines = arriving("\ufeffeins\n\ufeffzwei".encode())
    assert (list(lines), lines.mark) == (["eins\n", "\ufeffzwei"], "\ufeff")
    lines = arriving("eins\n\ufeffzwei".encode())
    assert (list(lines), lines.mark) == (["eins\n", "\ufeffzwei"], "")


@pytest.mark.parametrize("data", [b"eins\nzw\xffei\n", "eins\nzwei".encode("utf-16"), bytes(range(256))])
def test_undecodable_text_is_named_by_line_and_byte(data: bytes) -> None:
    with pytest.raises(UserError, match=r"^a test, line \d: not UTF-8 text \(byte 0x"):
        list(arriving(data))


def test_reading_time_is_linear_in_the_length_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.commands.lines._CHUNK", 7)
    start = time.process_time()
    (line,) = arriving(b"x" * 2**20)
    assert len(line) == 2**20
    assert time.process_time() - start < 5  # a tenth of a second; copying the line for each portion takes minutes


def test_a_pipe_reports_when_reading_would_wait_and_a_file_never_waits(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"eins\nzwei\ndr")
    with os.fdopen(read, "rb") as file:
        lines = ArrivingLines(file, "a pipe")
        stream = iter(lines)
        assert [(next(stream), lines.is_ready()), (next(stream), lines.is_ready())] == [
            ("eins\n", True),
            ("zwei\n", False),
        ]
        os.close(write)
        assert list(stream) == ["dr"]
    (tmp_path / "x").write_bytes(b"eins\nzwei")
    with (tmp_path / "x").open("rb") as file:
        lines = ArrivingLines(file, "a file")
        assert [(line, lines.is_ready()) for line in lines] == [("eins\n", True), ("zwei", True)]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes block there")
def test_a_pause_of_a_non_blocking_stdin_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parent that made its own end of the terminal or pipe non-blocking has changed ours as well."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    with os.fdopen(read, encoding="utf-8") as stdin, ThreadPoolExecutor(1) as sender:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(write, b"eins\n")
        stream = iter(open_lines(TextOptions()))
        assert next(stream) == "eins\n"
        sent = sender.submit(lambda: (time.sleep(0.2), os.write(write, b"zwei\n"), os.close(write)))
        assert list(stream) == ["zwei\n"]
        sent.result()


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    pytest.importorskip("readline").clear_history()
    return history_file()


def typed(monkeypatch: pytest.MonkeyPatch, inputs: list[str]) -> list[tuple[str, bool]]:
    """Lines that a prompt yields for these inputs, each with whether another is available at once."""
    import readline

    waiting = iter(inputs)

    def type_in(_: str) -> str:
        text = next(waiting, None)
        if text is None:
            raise EOFError
        readline.add_history(text)  # `input` does this at a terminal
        return text

    monkeypatch.setattr("builtins.input", type_in)
    lines = TypedLines()
    return [(line, lines.is_ready()) for line in lines]


def test_a_pasted_text_yields_all_its_lines(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = typed(monkeypatch, ["eins", "zwei\n\ndrei"])
    assert found == [("eins\n", False), ("zwei\n", True), ("\n", True), ("drei\n", False)]


def test_the_next_prompt_remembers_what_was_typed(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import readline

    typed(monkeypatch, ["Guten Morgen"])
    assert history.stat().st_mode & 0o777 == 0o600
    readline.clear_history()
    typed(monkeypatch, ["Hallo"])
    assert [readline.get_history_item(i) for i in (1, 2)] == ["Guten Morgen", "Hallo"]


def test_what_was_typed_survives_a_closed_terminal_and_other_sessions(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import readline

    def type_in(_: str) -> str:
        readline.add_history("eins")
        return "eins"

    monkeypatch.setattr("builtins.input", type_in)
    lines = iter(TypedLines())
    assert next(lines) == "eins\n"
    assert history.read_text(encoding="utf-8").splitlines() == ["eins"]
    readline.clear_history()
    typed(monkeypatch, ["zwei", "drei"])  # another session
    lines.close()
    assert history.read_text(encoding="utf-8").splitlines() == ["eins", "zwei", "drei"]


def test_without_a_home_folder_there_is_no_history(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert typed(monkeypatch, ["Hallo"]) == [("Hallo\n", False)]


def test_without_a_writable_folder_there_is_no_history(
    history: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("no folder", encoding="utf-8")
    assert typed(monkeypatch, ["Hallo"]) == [("Hallo\n", False)]
    assert capsys.readouterr().err.count("\n") == 1


def test_a_closed_stdin_gives_a_one_sentence_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match="stdin is closed"):
        open_lines(TextOptions())


PROMPT = """
import os, sys
from translate.program import program

os.login_tty(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
sys.stdin = open(0)
program()
"""


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="the terminal is that of a fork")
def test_lines_typed_at_a_terminal_are_translated_and_go_into_the_history(
    parts: ModelFolder, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uses the real prompt, in a process of its own on a pseudo-terminal."""
    monkeypatch.setenv("TERM", "dumb")
    arguments = ["decode", "--threads", "1", "--model", str(parts.folder)]
    typed = ["der Hund", "Ja."]
    ours, terminal = os.openpty()
    with (
        os.fdopen(terminal, "wb", 0) as theirs,
        forks.Popen(["-c", PROMPT, *arguments], None, None, theirs, theirs) as process,
    ):
        theirs.close()
        timer = threading.Timer(120, process.send_signal, [signal.SIGKILL])
        timer.start()
        shown, decode = "", codecs.getincrementaldecoder("utf-8")().decode  # a read may end within a character
        for text in (*(f"{line}\n" for line in typed), "\x04"):
            while not shown.endswith("> "):
                shown += decode(os.read(ours, 1024))
            shown += "|"
            os.write(ours, text.encode())
        assert process.wait() == 0
        timer.cancel()
    os.close(ours)
    assert [t.text for t in Translator(parts).translate_lines(typed) if t.text not in shown] == []
    assert [line for line in typed if line not in history.read_text(encoding="utf-8")] == []


def test_an_empty_input_needs_no_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").write_bytes(b"\n \n")
    assert main(["--from", "auto", "--input", str(tmp_path / "empty.txt")]) == 0
    assert capsys.readouterr().out == "\n \n"
