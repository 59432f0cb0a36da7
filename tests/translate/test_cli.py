"""The command line: fast help, clean stdout, and for every user error one line on stderr with exit code 2."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import torch

import translate.inference.translator
from translate import machine
from translate.commands.lines import ArrivingLines
from translate.commands.main import COMMANDS, GROUPS, main, options_of, with_command
from translate.commands.prepare import PrepareOptions
from translate.commands.train import TrainOptions
from translate.errors import UserError
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Search

COMMAND = [sys.executable, "-m", "translate"]
LINES = ["--format", "lines", "--no-checks"]  # every line is one sentence, as in `decode`


@pytest.fixture
def model(parts: ModelFolder) -> str:
    return str(parts.folder)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No installed model and no environment settings."""
    monkeypatch.chdir(tmp_path)
    for name in ("TRANSLATE_MODEL", "TRANSLATE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(translate.__file__).parent.parent))


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@contextmanager
def in_a_pipe(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[io.FileIO, io.BufferedReader, list[int]]]:
    """Run a command in a thread; yield its stdin, its stdout and a list for its exit code.

    Its stdout is closed after two minutes, so a hanging test fails.
    """
    (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
    codes: list[int] = []
    with (
        open(theirs_in, encoding="utf-8") as their_stdin,
        open(theirs_out, "w", encoding="utf-8") as their_stdout,
        open(ours_in, "wb", buffering=0) as stdin,
        open(ours_out, "rb") as stdout,
    ):
        monkeypatch.setattr(sys, "stdin", their_stdin)
        monkeypatch.setattr(sys, "stdout", their_stdout)

        def run() -> None:
            codes.append(main(arguments))
            their_stdout.close()

        command = threading.Thread(target=run, daemon=True)
        timer = threading.Timer(120, their_stdout.close)
        command.start()
        timer.start()
        yield stdin, stdout, codes
        timer.cancel()
        command.join(120)


def test_help_and_imports_load_no_heavy_packages() -> None:
    """Importing the package and the help of every command load no torch, no data sets, and start nothing."""
    program = f"""
import sys
events = []
sys.addaudithook(lambda event, _: events.append(event) if event.startswith(("socket", "_thread.start")) else None)
import transformer, translate
from translate.commands.main import main
for arguments in [["--help"], ["--version"], *([command, "--help"] for command in {list(COMMANDS)})]:
    assert main(arguments) == 0, arguments
heavy = ("torch", "rich", "datasets", "sacrebleu", "matplotlib", "fastapi", "ctranslate2", "pandas", "pyarrow")
heavy += ("fasttext", "text_to_num", "sentencepiece")
assert not [name for name in heavy if name in sys.modules], sorted(sys.modules)
assert not events, events
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text_without_code(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: translate {command}")
    assert "Annotated" not in out


def test_the_version_names_the_commit_of_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the program, wherever it is called; without a checkout it is the version alone."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    root = tmp_path / "checkout"
    file = root / "translate" / "machine.py"
    file.parent.mkdir(parents=True)
    file.write_text("", encoding="utf-8")
    monkeypatch.setattr("translate.machine.__file__", str(file))
    monkeypatch.setattr("translate.commands.main.git", machine.git.__wrapped__)  # not the answers before

    def said() -> str:
        assert main(["--version"]) == 0
        return capsys.readouterr().out

    assert said() == f"translate {translate.__version__}\n"
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a"]):
        subprocess.run([*git, *arguments], cwd=root, check=True)
    asked = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(asked, cwd=root, check=True, capture_output=True, text=True).stdout[:12]
    assert said() == f"translate {translate.__version__} (commit {commit})\n"
    file.write_text("changed", encoding="utf-8")
    assert said() == f"translate {translate.__version__} (commit {commit} with changes)\n"


def test_a_sentence_is_translated_without_a_command(
    model: str, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    (expected,) = [*translator.translate_lines(["Guten Morgen"])]
    for arguments in (
        ["text", *LINES, "--model", model, "Guten Morgen"],
        ["-m", model, *LINES, "Guten Morgen"],
        ["Guten Morgen", "--model", model, *LINES],
        ["--debug", *LINES, "--model", model, "--", "Guten Morgen"],
        ["decode", "--model", model, "Guten Morgen"],
    ):
        assert main(arguments) == 0
        assert capsys.readouterr().out == expected.text + "\n"


@pytest.mark.parametrize(
    "text", ["- Hallo", "-mal sehen", "-5 Grad heute.", "-5", "-", "--- x", "-m", "--beam 3 ist", "-h"]
)
@pytest.mark.parametrize("command", ["text", "decode"])
def test_text_that_begins_with_a_hyphen_is_translated(
    command: str, text: str, model: str, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is unless it is one word like an option or begins with an option, and always after "--"."""
    (expected,) = translator.translate_lines([text])
    arguments = [command, *(LINES if command == "text" else []), "--model", model]
    before = [] if text in ("-m", "-h") else [[text], [text, "--threads", "1"]]
    for given in ([*arguments, *words] for words in [*before, ["--", text]]):
        assert main(given) == 0
        assert capsys.readouterr().out == expected.text + "\n"


@pytest.mark.parametrize(
    ("word", "command"),
    [("trian", "train"), ("evalute", "evaluate"), ("doctr", "doctor"), ("model", "models"), ("decod", "decode")],
)
def test_a_lower_case_word_similar_to_a_command_is_taken_for_a_misspelt_command(word: str, command: str) -> None:
    for arguments in ([word], [word, "configs/demo.toml"], [word, "--model", "x"]):
        with pytest.raises(UserError, match=f"did you mean '{command}'.*translate text {word}"):
            with_command(arguments)


@pytest.mark.parametrize("arguments", [["help"], ["version"], ["help", "train"]])
def test_a_word_that_other_programs_take_as_a_command_is_not_translated(arguments: list[str]) -> None:
    with pytest.raises(UserError, match=f"did you mean '--{arguments[0]}'"):
        with_command(arguments)
    assert with_command([arguments[0], "me"]) == ["text", arguments[0], "me"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["Average"],
        ["Average", "--model", "x"],
        ["Train"],
        ["Models", "--to", "de"],
        ["Trainer", "Texte"],
        ["average speed"],
        ["der Zug fährt", "im Regen"],
        ["training"],
        ["port"],
        ["--model", "x", "trian"],
        [],
    ],
)
def test_all_other_arguments_are_text(arguments: list[str]) -> None:
    assert with_command(arguments) == ["text", *arguments]


def test_commands_are_listed_in_groups_with_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    position = 0
    for group, commands in GROUPS.items():
        position = out.index(f"\n{group}:\n", position)
        for command in commands:
            line = re.search(rf"^  {command}  .*\.$", out[position:], re.MULTILINE)
            assert line is not None, command
            assert len(line[0]) <= 80


def test_the_help_of_text_fits_on_a_screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["text", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 49
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", ["text", "decode", "train", "evaluate"])
def test_options_are_listed_in_named_groups(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    groups = re.findall(r"^(\w[\w ]*):$", out, re.MULTILINE)
    assert len(groups) >= 4
    assert groups[0] == "Arguments"
    assert groups[-1] == "Other"
    assert out.rpartition("Other:\n")[2].split() == ["-h,", "--help", "Show", "this", "message", "and", "exit."]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_has_options_without_a_group(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert "\nOptions:\n" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_threads_do_not_spin_for_long_unless_told_to(environment: dict[str, str], expected: str | None) -> None:
    """GNU OpenMP reads the environment once, when importing torch loads its library."""
    program = """
import ctypes, os, sys
from importlib.util import find_spec
from pathlib import Path
from translate.commands.main import main
main(["--version"])
assert "torch" not in sys.modules
print(os.environ.get("GOMP_SPINCOUNT"))
torch = Path(find_spec("torch").origin).parent
for library in [*torch.glob("lib/libgomp*"), *torch.parent.glob("torch.libs/libgomp*")]:
    ctypes.CDLL(library)
"""
    inherited = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    variables = inherited | environment | {"OMP_DISPLAY_ENV": "verbose"}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(expected)
    if expected and "GOMP_SPINCOUNT" in done.stderr:  # only GNU OpenMP shows it
        assert f"GOMP_SPINCOUNT = '{expected}'" in done.stderr


@pytest.fixture(autouse=True)
def nothing_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without the shipped models."""
    monkeypatch.setattr("translate.models.registry.places", list)


MISTAKES = {
    "no model anywhere": "Hallo",
    "model is no folder": "--model nowhere Hallo",
    "model is another folder": "--model empty Hallo",
    "truncated weights": "--model cut-weights Hallo",
    "damaged config": "--model cut-config Hallo",
    "damaged tokenizer": "--model cut-tokenizer Hallo",
    "unknown option": "text --modle MODEL Hallo",
    "option without value": "text Hallo --model",
    "too few words": "explain --analogy Haus house",
    "beam out of range": "--model MODEL --beam 0 Hallo",
    "alpha is no number": "decode --model MODEL --alpha x Hallo",
    "no threads": "--model MODEL --threads 0 Hallo",
    "too many threads": "--model MODEL --threads 100000 Hallo",
    "input is missing": "--model MODEL --input gone.de",
    "input is a folder": "--model MODEL --input empty",
    "input is not UTF-8": "--model MODEL --input bad.de",
    "input and sentence": "--model MODEL --input text.de Hallo",
    "output exists": "--model MODEL --input text.de --output done.en",
    "output is the input": "--model MODEL --input text.de --output text.de --force",
    "output is a folder": "--model MODEL --input text.de --output empty --force",
    "output is a circle of links": "--model MODEL --input text.de --output circle --force",
    "output of decode is a circle": "decode --model MODEL --output circle Hallo",
    "resume of a circle": "--model MODEL --input text.de --output circle --resume",
    "config is a circle": "prepare circle.toml",
    "corpus in a circle": "prepare small.toml --out circle",
    "broken input, new output": "--model MODEL --input bad.de --output new.en",
    "broken input, old output": "--model MODEL --input bad.de --output done.en --force",
    "beam too wide": "--model MODEL --beam 257 Hallo",
    "alpha out of range": "decode --model MODEL --alpha 10.5 Hallo",
    "unknown engine": "--model MODEL --engine fast Hallo",
    "unknown format": "--model MODEL --format pdf Hallo",
    "no experiment file": "prepare",
    "one word too many": "prepare a.toml b.toml",
    "sentence like an option": "text --model MODEL -Hallo",
    "research option": "--model MODEL --n-best 3 Hallo",
    "alternatives in plain text": "decode --model MODEL --n-best 3 Hallo",
    "decode of a missing file": "decode --model MODEL --input gone.de",
    "no such column": "--model MODEL --format tsv --column 0 --input text.de",
    "column beyond all lines": "--model MODEL --format tsv --column 2 --input text.de --output new.en",
    "column of no table": "--model MODEL --column 2 --input text.de",
    "resume without files": "--model MODEL --resume Hallo",
    "resume without output": "--model MODEL --resume --input text.de",
    "resume of a missing file": "--model MODEL --resume --input gone.de --output new.en",
    "resume of another's file": "--model MODEL --resume --input text.de --output done.en",
    "no model for these languages": "--from fr --to de Hallo",
    "model of other languages": "--model MODEL --from fr Hallo",
    "language that does not show": "--from auto 12345",
    "compress onto something": "compress MODEL --out empty",
    "compress to nothing known": "compress MODEL --out small --dtype int3",
    "card of no model": "models nowhere",
    "model without card": "models MODEL",
    "output has no folder": "--model MODEL --input text.de --output gone/x.en",
    "undecodable argument": "--model MODEL Hallo\udcff",
    "undecodable prefix": "decode --model MODEL --prefix ein\udcff Hallo",
    "undecodable picture": "explain --model MODEL --steps ein\udcff",
    "misspelt command": "evalute runs/x",
    "no config": "prepare gone.toml",
    "unknown key": "prepare typo.toml",
    "no experiment": "train",
    "no run to repeat": "train --reproduce gone",
    "a run and an experiment": "train a.toml --reproduce gone",
    "no config to train": "train gone.toml",
    "source without reference": "evaluate MODEL --source text.de",
    "unequal files": "evaluate MODEL --source text.de --reference short.en",
    "unknown test set": "evaluate MODEL --test-set wmt1066",
    "no run around the model": "evaluate MODEL",
    "average without out": "average MODEL",
    "average onto something": "average MODEL --out empty",
    "average of nothing": "average empty --out mean",
}

TYPO = """
[data]
sorce = "de"
source = "de"
target = "en"
train = [{ source = "text.de", target = "text.de" }]
valid = { source = "text.de", target = "text.de" }
"""


@pytest.fixture
def folder_of_mistakes(model: str, tmp_path: Path) -> Path:
    """Files with the errors that the commands above must report."""
    (tmp_path / "text.de").write_text("eins\nzwei\n", encoding="utf-8")
    (tmp_path / "short.en").write_text("one\n", encoding="utf-8")
    (tmp_path / "bad.de").write_bytes(b"eins\nzw\xffei\n")
    (tmp_path / "done.en").write_text("precious\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "typo.toml").write_text(TYPO, encoding="utf-8")
    (tmp_path / "small.toml").write_text(TYPO.replace('sorce = "de"\n', ""), encoding="utf-8")
    for name in ("circle", "circle.toml"):
        (tmp_path / name).symlink_to(name)
    for name, file in (("weights", "model.safetensors"), ("config", "config.json"), ("tokenizer", "tokenizer.model")):
        path = shutil.copytree(model, tmp_path / f"cut-{name}") / file
        path.write_bytes(path.read_bytes()[:-9])
    return tmp_path


def command(mistake: str, model: str) -> list[str]:
    return MISTAKES[mistake].replace("MODEL", model).split(" ")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_one_line_on_stderr_and_exit_code_2(
    mistake: str, model: str, folder_of_mistakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder_of_mistakes.rglob("*") if path.is_file()}
    assert main(command(mistake, model)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("translate: ")
    assert captured.err.endswith("\n")
    assert captured.err.count("\n") == 1
    assert not any(word in captured.err for word in ("Traceback", "Value error"))
    assert before == {path: path.read_bytes() for path in folder_of_mistakes.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("too few words", ["--analogy", "3", "see translate explain --help"]),
        ("input is not UTF-8", ["bad.de, line 2", "0xff"]),
        ("resume of a missing file", ["gone.de", "No such file"]),
        ("output is a circle of links", ["circle", "--output"]),
        ("corpus in a circle", ["circle", "not a prepared corpus", "name another folder"]),
        ("unequal files", ["text.de has 2 lines", "short.en has 1"]),
        ("output exists", ["done.en", "--force"]),
        ("truncated weights", ["model.safetensors"]),
        ("no model anywhere", ["--model", "make demo", "translate train"]),
        ("undecodable argument", ["SENTENCE", r"Hallo\udcff", "UTF-8"]),
        ("undecodable prefix", ["--prefix", r"ein\udcff", "UTF-8"]),
        ("undecodable picture", ["--steps", r"ein\udcff", "UTF-8"]),
        ("unknown option", ["--modle", "did you mean --model", "--help"]),
        ("research option", ["--n-best", "translate decode"]),
        ("beam too wide", ["--beam", "257", "at most 256"]),
        ("unknown engine", ["--engine", "'fast'", "ctranslate2"]),
        ("no experiment file", ["CONFIG", "translate prepare --help"]),
        ("one word too many", ["'b.toml'"]),
        ("sentence like an option", ["-Hallo", '"--"']),
        ("unknown key", ["sorce", "source"]),
    ],
)
def test_messages_name_the_place(
    mistake: str, words: list[str], model: str, folder_of_mistakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(command(mistake, model))
    err = capsys.readouterr().err
    assert [word for word in words if word not in err] == []


@pytest.mark.parametrize("switch", ["option", "environment"])
def test_debug_shows_the_traceback(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if switch == "environment":
        monkeypatch.setenv("TRANSLATE_DEBUG", "1")
    with pytest.raises(UserError):
        main(["text", "Hallo", *(["--debug"] if switch == "option" else [])])


def test_ctrl_c_exits_with_130_and_no_traceback(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Translator, "passages", interrupt)
    assert main(["--model", model, "Hallo"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_gives_a_one_line_error(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["--model", model, "Hallo"]) == 2
    assert capsys.readouterr().err == "translate: standard output: No space left on device; free space on the disk\n"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"PK\x03\x04\x14\x00\x06\x00[Content_Types].xml\n\xff", "ZIP"),
        (b"PK\x03\x04 all ASCII\n", "ZIP"),
        (b"%PDF-1.7\n%\xe2\xe3\n", "PDF"),
        (b"{\\rtf1\\ansi Hallo}\n", "RTF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Word or Excel"),
    ],
)
def test_a_document_in_a_pipe_is_named_with_how_to_translate_it(content: bytes, kind: str) -> None:
    done = subprocess.run([*COMMAND], input=content, capture_output=True, timeout=120)
    said = f"translate: stdin: a {kind} file, not text; unpack it, or give a document by its name, as in --input report"
    assert (done.returncode, done.stdout, done.stderr.decode().count("\n")) == (2, b"", 1)
    assert done.stderr.decode().startswith(said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_messages_on_a_full_disk_change_no_exit_code() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "--model", "none", "Ja"], stdout=subprocess.PIPE, stderr=full, timeout=120)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_unwritable_output_at_exit_causes_no_message_of_python() -> None:
    read, write = os.pipe()
    os.close(read)
    full = os.open("/dev/full", os.O_WRONLY)
    for stdout, code, said in (
        (full, 2, b"translate: standard output: No space left on device; free space on the disk\n"),
        (write, 141, b""),
    ):
        done = subprocess.run([*COMMAND, "--help"], stdout=stdout, stderr=subprocess.PIPE, timeout=120)
        os.close(stdout)
        assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize(
    "arguments", [["doctor"], ["models"], ["cost", "configs/demo.toml"], ["explain", "--positions"]]
)
def test_results_that_would_go_nowhere_are_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(arguments) == 2
    assert capsys.readouterr().err == "translate: stdout is closed; leave it open, as the results go there\n"


def test_a_closed_output_pipe_ends_the_command_quietly(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.de").write_text("Ja.\nder Hund singt.\n" * 50_000, encoding="utf-8")
    with in_a_pipe(["--model", model, "--threads", "1", "--input", "x.de"], monkeypatch) as (_, stdout, codes):
        assert stdout.readline().endswith(b"\n")
        stdout.close()
    assert codes == [141]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["text", "decode"])
def test_each_line_is_answered_before_the_next_is_sent(
    command: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that alternately sends and reads one line must not hang."""
    with in_a_pipe([command, "--model", model, "--threads", "1"], monkeypatch) as (stdin, stdout, codes):
        for line in (b"Ja.\n", b"\n", b"der Hund singt.\n"):
            stdin.write(line)
            assert stdout.readline().endswith(b"\n")
        stdin.close()
        assert stdout.read() == b""
    assert codes == [0]


def test_stdin_is_translated_line_by_line(
    model: str, translator: Translator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["der Hund singt.", "", " \t", "a\rb", "das\u2028Haus", "Ja.\r", "kein Zeilenende"]
    pipe(monkeypatch, "\n".join(lines).encode())
    assert main(["--model", model, *LINES]) == 0
    expected = [t.text for t in translator.translate_lines(lines)]
    assert capsys.readouterr().out == "".join(f"{text}\n" for text in expected)


def test_no_input_is_no_output(model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pipe(monkeypatch, b"")
    assert main(["--model", model]) == 0
    assert capsys.readouterr().out == ""


def test_undecodable_stdin_names_the_line(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(monkeypatch, b"\xef\xbb\xbfeins\nzwei\ndr\xe4i\n")
    assert main(["--model", model]) == 2
    assert "stdin, line 3: not UTF-8 text (byte 0xe4 at 2)" in capsys.readouterr().err


def test_files_of_a_thousand_lines_are_translated_line_by_line(
    model: str, translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number of lines read, translated or written at a time."""
    lines = [["Ja.", "", "der Hund\rsingt", "🙂", "\u2028", "am See " * 30][i * i % 11 % 6] for i in range(1000)]
    expected = "".join(f"{t.text}\n" for t in translator.translate_lines(lines))
    monkeypatch.setattr("translate.commands.lines._CHUNK", 1999)
    monkeypatch.setattr("translate.text.formats.WINDOW", 27)
    monkeypatch.setattr("translate.commands.text._WINDOWS_TO_RELEASE", 3)
    (tmp_path / "x.de").write_bytes("\n".join(lines).encode() + b"\n")
    assert main(["--model", model, *LINES, "--input", "x.de", "--output", "x.en"]) == 0
    assert (tmp_path / "x.en").read_bytes().decode() == expected


def test_a_long_line_is_named_on_stderr(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--model", model, "Ja.", "am See " * 50]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 2
    assert captured.err.startswith("translate: warning: line 2: longer than the model reads")
    assert captured.err.count("\n") == 1


def test_json_is_one_object_a_line(model: str, translator: Translator, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["der Hund", "", 'sagt: "Ja\\"\t']
    assert main(["--model", model, *LINES, "--json", *lines]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.split("\n")[:-1]]
    assert [record["source"] for record in records] == lines
    for record, translation in zip(records, [*translator.translate_lines(lines)], strict=True):
        assert record["text"] == translation.text
        assert record["score"] == pytest.approx(translation.score)  # another engine rounds differently
        assert record["log_prob"] == pytest.approx(translation.log_prob)
        assert tuple(record["tokens"]) == translation.tokens


@pytest.mark.parametrize(("end", "code"), [(UserError("stdin, line 3: broken"), 2), (KeyboardInterrupt(), 130)])
def test_a_failure_half_way_keeps_the_old_output_and_names_the_partial_one(
    end: BaseException,
    code: int,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def arriving(*_: object) -> Iterator[str]:
        yield from ("\n", " \n")
        raise end

    (tmp_path / "x.en").write_text("precious\n", encoding="utf-8")
    pipe(monkeypatch, b"")
    monkeypatch.setattr(ArrivingLines, "__iter__", arriving)
    assert main(["--model", model, "--output", "x.en", "--force"]) == code
    assert (tmp_path / "x.en").read_text(encoding="utf-8") == "precious\n"
    assert (tmp_path / ".x.en.partial").read_text(encoding="utf-8") == "\n \n"
    assert ".x.en.partial holds the translation up to the failure" in capsys.readouterr().err


def test_an_output_keeps_its_link_and_its_permissions(model: str, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old\n", encoding="utf-8")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    assert main(["--model", model, "", "--output", "link", "--force"]) == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8") == "\n"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_disk_filled_by_output_gives_a_one_line_error(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", model, "Hallo", "--output", "/dev/full"]) == 2
    assert capsys.readouterr().err == "translate: /dev/full: No space left on device; free space on the disk\n"


@pytest.mark.parametrize("name", ["new.en", "old.en"])
def test_an_output_without_write_permission_gives_a_one_line_error(
    name: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Simulated, because tests in containers run as root, which may write everywhere."""

    def denying(real: Callable[..., object]) -> Callable[..., object]:
        def opened(path: Path | str, *arguments: Any, **options: Any) -> object:
            if name in str(path):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *arguments, **options)

        return opened

    (tmp_path / "old.en").write_text("precious\n", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", denying(Path.open))
        patch.setattr(os, "open", denying(os.open))
        assert main(["--model", model, "Hallo", "--output", name, "--force"]) == 2
    assert capsys.readouterr().err.startswith(f"translate: {name}: cannot be written: Permission denied;")
    assert [path.name for path in tmp_path.iterdir()] == ["old.en"]
    assert (tmp_path / "old.en").read_text(encoding="utf-8") == "precious\n"


def test_beam_and_alpha_reach_the_search(model: str, parts: ModelFolder, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["der Hund singt", "am See", "Ja."]
    expected = [t.score for t in Translator(parts, Search(beam_size=5, alpha=2.5)).translate_lines(lines)]
    assert expected != [t.score for t in Translator(parts).translate_lines(lines)]
    assert main(["decode", "--model", model, "--json", "--beam", "5", "--alpha", "2.5", *lines]) == 0
    assert [json.loads(line)["score"] for line in capsys.readouterr().out.split("\n")[:-1]] == expected


def test_without_stderr_no_message_appears_on_stdout() -> None:
    arguments = shlex.join([*COMMAND, "--model", "nowhere", "Hallo"])
    done = subprocess.run(["sh", "-c", f"{arguments} 2>&-"], stdout=subprocess.PIPE, timeout=120)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_name_with_invalid_bytes_can_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="utf-8"))
    monkeypatch.setattr("translate.commands.prepare.run", lambda options: print(options.config))
    assert main(["prepare", "x\udcff.toml"]) == 0
    assert written.getvalue() == b"x\\udcff.toml\n"


def test_the_prompt_goes_on_after_an_invalid_byte(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter([b"\xff", b"Hund"])

    def type_in(_: str) -> str:
        if (line := next(typed, None)) is None:
            raise EOFError
        return line.decode()

    pipe(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", type_in)
    assert main(["--model", model]) == 0
    found = capsys.readouterr()
    assert "the typed text is not utf-8" in found.err
    assert found.out.count("\n") == 1


def test_force_overwrites(model: str, tmp_path: Path) -> None:
    (tmp_path / "x.en").write_text("old\nolder\n", encoding="utf-8")
    assert main(["--model", model, "", "--output", "x.en", "--force"]) == 0
    assert (tmp_path / "x.en").read_text(encoding="utf-8") == "\n"


def test_a_terminal_gets_a_prompt_until_its_end(
    model: str, translator: Translator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["der Hund", ""])

    def type_in(prompt: str) -> str:
        assert prompt == ""  # a prompt on stdout would be taken for a translation
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    pipe(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", type_in)
    assert main(["decode", "--model", model]) == 0
    captured = capsys.readouterr()
    assert captured.out == [*translator.translate_lines(["der Hund"])][0].text + "\n\n"
    assert captured.err.count("\n") == 1


def test_options_reach_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """`prepare` and `train` get the experiment file, the repeated settings and their folder."""
    calls: list[object] = []
    monkeypatch.setattr("translate.commands.prepare.run", calls.append)
    monkeypatch.setattr("translate.commands.train.run", calls.append)
    assert main(["prepare", "a.toml", "--set", "x.y=1", "--set", "x.z=2", "--out", "b", "--from", "m"]) == 0
    assert main(["train", "a.toml"]) == 0
    assert main(["train", "a.toml", "--run", "r", "--prepared", "p", "--set", "x.y=1", "--resume", "--from", "m"]) == 0
    assert calls == [
        PrepareOptions(config=Path("a.toml"), overrides=["x.y=1", "x.z=2"], out=Path("b"), from_model=Path("m")),
        TrainOptions(config=Path("a.toml")),
        TrainOptions(
            config=Path("a.toml"), run=Path("r"), prepared=Path("p"), overrides=["x.y=1"], resume=True,
            from_model=Path("m"),
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(("command", "summary"), [pair for commands in GROUPS.values() for pair in commands.items()])
def test_the_options_of_a_command_fit_its_function_and_its_line_in_the_help(command: str, summary: str) -> None:
    """The module is found by the command's name, so a type checker cannot check the options."""
    options = options_of(command)
    run = sys.modules[options.__module__ if command != "serve" else "translate.commands.serve"].run
    assert [parameter.annotation for parameter in signature(run).parameters.values()] == [options]
    assert (options.__doc__ or "").partition("\n")[0] == summary


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried ..."),
        RuntimeError("Storage size calculation overflowed with sizes=[9, 9]"),
        RuntimeError("std::bad_alloc"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    ],
    ids=repr,
)
@pytest.mark.parametrize("command", ["text", "decode", "train", "prepare", "evaluate", "compress"])
def test_a_lack_of_memory_is_a_sentence_of_every_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(f"translate.commands.{command}.run", fail)
    given = {"train": ["x.toml"], "prepare": ["x.toml"], "compress": ["m", "--out", "o"]}
    assert main([command, *given.get(command, [])]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), "not enough memory" in err) == ("", 1, True)
    with pytest.raises(type(error)):
        main([command, *given.get(command, []), "--debug"])


def test_another_error_of_the_program_is_no_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a mistake of the program")

    monkeypatch.setattr("translate.commands.text.run", fail)
    with pytest.raises(RuntimeError, match="a mistake"):
        main(["text"])
