"""Several processes write one file in order, for any number of windows."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import translate
from translate.cli import main
from translate.commands.sharing import shared
from translate.models.folder import ModelFolder
from translate.training.distributed import Ranks

T = TypeVar("T")


class Threads(Ranks):
    """A rank that runs in a thread."""

    def __init__(self, rank: int, size: int, barrier: threading.Barrier) -> None:
        super().__init__(rank, size)
        self.barrier = barrier

    def sum(self, *values: float) -> list[float]:
        self.barrier.wait(10)
        return list(values)

    def on_rank_0(self, act: Callable[[], T]) -> T:
        found = act() if self.is_first else None
        self.barrier.wait(10)
        return found  # type: ignore[return-value]


@settings(max_examples=25, deadline=None)
@given(windows=st.lists(st.lists(st.text(max_size=5), max_size=3), max_size=8), size=st.integers(2, 3))
def test_several_ranks_write_the_same_file_as_one_process(
    windows: list[list[str]], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    windows = [[text.encode("utf-8", "replace").decode() for text in window] for window in windows]
    folder = tmp_path_factory.mktemp("out")
    barrier = threading.Barrier(size)

    def share(rank: int) -> None:
        with shared(folder / "out.txt", Threads(rank, size, barrier)) as out:
            for n, window in enumerate(windows, start=1):
                if out.wants(n):
                    for text in window:
                        out.write(text)
                    out.end_window()

    threads = [threading.Thread(target=share, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = "".join(text for window in windows for text in window)
    assert (folder / "out.txt").read_bytes().decode("utf-8") == expected
    assert list(folder.iterdir()) == [folder / "out.txt"]


def test_a_failure_leaves_no_files(tmp_path: Path) -> None:
    def fail() -> None:
        with shared(tmp_path / "out.txt", Threads(1, 2, threading.Barrier(2))) as out:
            out.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = str(Path(translate.__file__).parents[1])
    return subprocess.run(
        [*command, "-m", "--", "translate", "text", *arguments],
        env=environment, capture_output=True, text=True, encoding="utf-8", timeout=150,
    )  # fmt: skip


@pytest.mark.slow
def test_two_processes_write_what_one_writes(parts: ModelFolder, tmp_path: Path) -> None:
    lines = "\n".join(f"der Hund {n} läuft im Garten." if n % 7 else "" for n in range(1, 2501))
    (tmp_path / "in.txt").write_text(lines, encoding="utf-8")
    arguments = ["--model", str(parts.folder), "--input", str(tmp_path / "in.txt"), "--beam", "1", "--output"]
    assert main([*arguments, str(tmp_path / "one.txt")]) == 0
    done = torchrun(*arguments, str(tmp_path / "two.txt"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("2,500 lines in") == 1
    assert (tmp_path / "two.txt").read_bytes() == (tmp_path / "one.txt").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "one.txt", "two.txt"]
    again = torchrun(*arguments, str(tmp_path / "two.txt"))
    assert again.returncode != 0
    assert again.stderr.count("exists already") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["Ja"], "name them with --input and --output"),
        (["--input", "in.txt"], "name them with --input and --output"),
        (["--input", "in.txt", "--output", "out.txt", "--resume"], "--resume works with one process"),
    ],
)
def test_invalid_options_for_several_processes_are_refused(
    arguments: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from contextlib import nullcontext

    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("Ja\n", encoding="utf-8")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr("translate.training.distributed.joined", lambda: nullcontext(Ranks()))
    assert main(["text", *arguments]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert error.count("\n") == 1


def test_decode_runs_in_one_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["decode", "Ja"]) == 2
    assert "decode runs in one process" in capsys.readouterr().err
