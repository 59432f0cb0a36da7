"""A missing package is a UserError that names the extra to install."""

import json

import pytest

from translate.errors import UserError, optional_package


def test_an_installed_package_is_returned() -> None:
    assert optional_package("json", "x") is json


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(UserError, match=r"needs the package no_such_package: .*\[some\]"):
        optional_package("no_such_package", "some")
