"""Shells complete commands and options with the scripts that the command prints."""

import re
import shutil
import subprocess

import pytest

from translate.commands.main import COMMANDS, main, options_of
from translate.options import names_of


def completed(words: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """What bash offers for the last of these words; "" is empty."""
    assert main(["--completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = f"{script}\nCOMP_WORDS=({words}); COMP_CWORD={words.count(' ')}; _translate; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [("translate ev", "evaluate"), ("translate text --engi", "--engine"), ("translate keys --req", "--requests")],
)
def test_bash_completes_commands_and_options(words: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(words, capsys) == {expected}


@pytest.mark.parametrize("words", ["translate --", "translate --model x --", "translate Hallo --"])
def test_bash_completes_the_options_of_text_without_its_command(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(words, capsys) >= {name for name in names_of(options_of("text")) if name.startswith("--")}


@pytest.mark.parametrize("words", ['translate train ""', 'translate text --input ""', 'translate --input ""'])
def test_bash_leaves_the_names_of_files_to_its_default(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(words, capsys) == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_name_every_command_and_long_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--completion", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command in script
        for name in names_of(options_of(command)):
            assert name.removeprefix("--") in script or not name.startswith("--")
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", "-c", script], timeout=60, check=False).returncode == 0


def test_fish_completes_the_options_of_text_without_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--completion", "fish"]) == 0
    found = re.findall(r'-n "not __fish_seen_subcommand_from (.*)" -l (\S+)', capsys.readouterr().out)
    assert {commands for commands, _ in found} == {" ".join(COMMANDS)}
    options = {name for name in names_of(options_of("text")) if name.startswith("--")}
    assert {f"--{name}" for _, name in found} == {*options, "--help", "--version", "--debug", "--completion"}


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--completion"], ["--completion", "tcsh"]):
        assert main(arguments) == 2
        assert "bash, zsh, fish" in capsys.readouterr().err
