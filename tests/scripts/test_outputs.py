"""The outputs shown in the documentation are replaced where they differ, and nothing else is."""

import re

import pytest

from tests.programs import program

outputs = program("outputs")

PAGE = """Before.

```console
$ cat my.txt
Guten Morgen.
$ translate text --model de-en --input my.txt
{first}
$ translate text --model de-en "Ja."
{second}
```

```sh
translate text "not run"
```
"""


def test_outputs_are_replaced_one_by_one() -> None:
    (right,) = {outputs.with_outputs(PAGE.format(first=text, second=text)) for text in ("wrong", "also\nwrong")}
    first, second = re.findall(r"^(?:\$ translate .*)\n(.+)$", right, re.MULTILINE)
    assert first != second
    assert right == PAGE.format(first=first, second=second)
    assert outputs.with_outputs(right) == right


def test_three_dots_stand_for_any_text() -> None:
    shown = PAGE.format(first="...", second="...")
    assert outputs.with_outputs(shown) == shown


def test_a_command_shown_without_output_is_run_and_other_programs_are_not() -> None:
    commands = 'translate text --model de-en "Ja." --output my.txt', "rm my.txt", "translate text --input my.txt"
    page = "```console\n" + "".join(f"$ {command}\n" for command in commands) + "```\n"
    assert outputs.with_outputs(page) == page


def test_a_command_that_fails_and_an_unknown_pipe_are_errors() -> None:
    with pytest.raises(RuntimeError, match="nowhere"):
        outputs.with_outputs('```console\n$ translate text --model nowhere "Ja."\nYes.\n```')
    with pytest.raises(ValueError, match="jq"):
        outputs.with_outputs('```console\n$ translate text --model de-en "Ja." | wc\n1 1 1\n```')


def test_what_python_prints_is_replaced() -> None:
    code = "```python\n{}\n```\n\n"
    page = "".join(code.format(x) for x in ("x = 3\nprint(x)", "x += 4", "print(x)"))
    page = page.replace("print(x)\n```\n", "print(x)\n```\n\n```text\n{}\n```\n")
    assert outputs.with_printed(page.format(5, "...")) == page.format(3, "...")
    assert outputs.with_printed(page.format(3, 5)) == page.format(3, 7)
