#!/usr/bin/env python3
"""Write anew what the documentation shows of the models that ship: outputs of commands and of Python, and pictures.

    python scripts/outputs.py

Run it after a change of the models, then read the difference: the sentences around an output may no longer fit. An
output that still matches stays; in it, "..." stands for any lines, which are written in full if it does not match.
"""

import contextlib
import io
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from translate.commands.main import main as translate
from translate.files import write_text

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FIGURES = DOCS / "guide" / "figures"
# The page of the guide whose Python prints what the model `de-en` computes.
CALCULATED = DOCS / "guide" / "6-tokens-and-vectors.md"
SENTENCE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
_MODEL = ("--model", "de-en")
PICTURES = {
    "attention": ("--attention", SENTENCE, "--layer", "5", *_MODEL),
    "heads": ("--attention", SENTENCE, "--part", "encoder", "--every-head", *_MODEL),
    "positions": ("--positions", *_MODEL),
    "schedule": ("--schedule",),
    "steps": ("--beam", "2", "--steps", "Guten Morgen.", *_MODEL),
    "temperature": ("--temperature", "Ich habe das Buch gelesen.", "--prefix", "I have", *_MODEL),
}
_JQ = "jq -r '.alternatives[].text'"


def main() -> int:
    """Write the pages and the pictures."""
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        text = path.read_text(encoding="utf-8")
        new = with_outputs(text)
        if path == CALCULATED:
            new = with_printed(new)
        if new != text:
            write_text(path, new)
            print(f"{path.relative_to(ROOT)}: read the change")
    for name, options in PICTURES.items():
        said_by(("explain", *options, "--out", str(FIGURES / f"{name}.svg"), "--force"))
    return 0


def with_outputs(page: str) -> str:
    """Return a page with the present outputs of the `translate` commands in its `console` blocks.

    A block `$ cat FILE` makes the file that later commands read.
    """

    def rerun(block: re.Match[str]) -> str:
        parts = (f"$ {_with_output(command, shown)}" for command, shown in session(block[1]))
        return "```console\n" + "\n".join(parts) + "\n```"

    with _in_examples():
        return re.sub(r"^```console\n(.*?)\n```$", rerun, page, flags=re.DOTALL | re.MULTILINE)


def session(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a `console` block and the lines below it."""
    for part in block.removeprefix("$ ").split("\n$ "):
        command, _, shown = part.partition("\n")
        yield command, shown


def _with_output(command: str, shown: str) -> str:
    """Return a command with its present output below it."""
    if command.startswith("cat "):
        Path(command.removeprefix("cat ")).write_text(f"{shown}\n", encoding="utf-8")
    before = f"{command}\n{shown}" if shown else command
    if not command.startswith("translate "):
        return before
    words, _, pipe = command.partition(" | ")
    said = said_by(shlex.split(words)[1:])
    if pipe == _JQ:
        said = "\n".join(other["text"] for other in json.loads(said)["alternatives"])
    elif pipe:
        raise ValueError(f"{command}: only {_JQ} is known after a bar")
    return before if not shown or is_like(said, shown) else f"{command}\n{said}"


def with_printed(page: str) -> str:
    """Return a page with the present outputs of its `python` blocks, which run in order, in one namespace."""
    namespace: dict[str, object] = {}

    def rerun(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block["code"], namespace)
        if block["shown"] is None or is_like(printed.getvalue().rstrip("\n"), block["shown"]):
            return block[0]
        return f"```python\n{block['code']}```\n\n```text\n{printed.getvalue()}```"

    pattern = r"^```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<shown>.*?)\n```$)?"
    with _in_examples():
        return re.sub(pattern, rerun, page, flags=re.DOTALL | re.MULTILINE)


def said_by(words: tuple[str, ...] | list[str]) -> str:
    """Return what `translate WORDS` writes to stdout, without the last line break.

    RuntimeError if the command fails.
    """
    said, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        code = translate(list(words))
    if code:
        raise RuntimeError(f"translate {shlex.join(words)}: {errors.getvalue()}")
    return said.getvalue().removesuffix("\n")


def is_like(said: str, shown: str) -> bool:
    """Return whether an output matches the one shown, in which "..." stands for any text."""
    return re.fullmatch(re.escape(shown).replace(r"\.\.\.", "(?s:.*)"), said) is not None


@contextlib.contextmanager
def _in_examples() -> Iterator[None]:
    """Work in a new folder with the files that the examples read."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copy(ROOT / "tests" / "documents" / "page.md", folder)
        Path("corpus.de").write_text("Guten Morgen\n", encoding="utf-8")
        yield


if __name__ == "__main__":
    sys.exit(main())
