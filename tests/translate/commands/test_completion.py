"""Shells complete verbs and options with the scripts that the command prints."""

import shutil
import subprocess

import pytest

from translate.commands.main import VERBS, main, options_of
from translate.options import names_of


@pytest.mark.parametrize(
    ("words", "expected"),
    [("translate ev", "evaluate"), ("translate text --engi", "--engine"), ("translate keys --req", "--requests")],
)
def test_bash_completes_verbs_and_options(words: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = f"{script}\nCOMP_WORDS=({words}); COMP_CWORD={words.count(' ')}; _translate; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [expected]
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_name_every_verb_and_long_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--completion", shell]) == 0
    script = capsys.readouterr().out
    for verb in VERBS:
        assert verb in script
        for name in names_of(options_of(verb)):
            assert name.removeprefix("--") in script or not name.startswith("--")
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", "-c", script], timeout=60, check=False).returncode == 0


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--completion"], ["--completion", "tcsh"]):
        assert main(arguments) == 2
        assert "bash, zsh, fish" in capsys.readouterr().err
