"""Options are parsed as typer does without pydantic, and shells can complete verbs and options."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import translate
from translate.cli.help import GroupedCommand, GroupedVerbs
from translate.cli.verbs import app

ARGUMENTS = {
    "model": ["--model", "x"], "beam": ["--beam", "3"], "engine": ["--engine", "torch"], "json": ["--json"],
    "input": ["--input", "-"], "output": ["--output", "y"], "column": ["--column", "2"], "from": ["--from", "de"],
}  # fmt: skip


def options(arguments: list[str]) -> object:
    command = typer.main.get_command(app)
    with command.make_context("translate", ["text", *arguments]) as context:
        return command.invoke(context)


@given(st.lists(st.sampled_from([*ARGUMENTS]), unique=True), st.lists(st.sampled_from(["eins", "zwei drei"])))
def test_options_are_parsed_as_by_typer(chosen: list[str], sentences: list[str]) -> None:
    arguments = [argument for name in chosen for argument in ARGUMENTS[name]] + sentences
    found = options(arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(GroupedCommand, "parse_args")
        patch.delattr(GroupedVerbs, "parse_args")
        assert found == options(arguments)


@pytest.mark.parametrize(("words", "expected"), [("translate ev", "evaluate"), ("translate text --engi", "--engine")])
def test_bash_completes_verbs_and_options(words: str, expected: str) -> None:
    asked = {"_TRANSLATE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "translate"],
        env=os.environ | asked | {"PYTHONPATH": str(Path(translate.__file__).parents[1])},
        capture_output=True, text=True, encoding="utf-8", timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [expected]
