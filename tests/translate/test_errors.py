"""A missing package is a UserError that names the extra to install."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.errors import UserError, optional_package, printable, say


def test_an_installed_package_is_returned() -> None:
    assert optional_package("json", "x") is json


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(UserError, match=r"needs the package no_such_package: .*\[some\]"):
        optional_package("no_such_package", "some")


@given(st.text())
def test_text_of_others_cannot_command_a_terminal(text: str) -> None:
    shown = printable(text)
    assert not [sign for sign in shown if unicodedata.category(sign) == "Cc" and sign not in "\t\n"]
    assert printable(shown) == shown
    if not any(unicodedata.category(sign) == "Cc" for sign in text):
        assert shown == text


def test_a_message_escapes_the_name_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    say("runs/\x1b]0;title\x07\x9b31m: no such file")
    assert capsys.readouterr().err == "translate: runs/\\x1b]0;title\\x07\\x9b31m: no such file\n"
