"""Plural rules of Apple: texts change, and everything else stays, as Python's reader of property lists sees it."""

import plistlib
from typing import Any

import pytest

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.errors import UserError

RULE = {"NSStringFormatSpecTypeKey": "NSStringPluralRuleType", "NSStringFormatValueTypeKey": "d"}
RULES: dict[str, Any] = {
    "%d files": {
        "NSStringLocalizedFormatKey": "In %#@folders@: %#@files@ & more",
        "files": RULE | {"zero": "no <b>file</b>", "one": "%d file", "other": "%d files"},
        "folders": RULE | {"one": "a folder", "other": "%d folders"},
    },
    "tap": {"NSStringDeviceSpecificRuleType": {"mac": "Click here", "other": "Tap here"}},
    "wide": {"NSStringVariableWidthRuleType": {"20": "Short", "50": "Somewhat long\u2026"}},
    "only": {"NSStringLocalizedFormatKey": "%#@n@", "n": RULE | {"other": "%d \u00fc"}},
}
DATA = plistlib.dumps(RULES, sort_keys=False)


def in_capitals(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {key: in_capitals(part, key) for key, part in value.items()}
    return value if key.startswith("NSStringFormat") else upper(value)


def test_texts_of_rules_are_translated_and_nothing_else() -> None:
    assert unchanged("a.stringsdict", DATA) == (DATA, DATA)
    after = plistlib.loads(translated("a.stringsdict", DATA, upper))
    wanted = in_capitals(RULES)
    wanted["%d files"]["NSStringLocalizedFormatKey"] = "IN %#@folders@: %#@files@ & MORE"
    wanted["only"]["NSStringLocalizedFormatKey"] = "%#@n@"
    assert after == wanted
    assert texts("a.stringsdict", DATA)[:3] == ["In %#@folders@: %#@files@ & more", "no <b>file</b>", "%d file"]


def test_a_plural_gets_the_forms_of_the_target_language() -> None:
    after = plistlib.loads(translated("a.stringsdict", DATA, marked, target="pl"))
    files, n = after["%d files"]["files"], after["only"]["n"]
    assert {*files} - {*RULE} == {"zero", "one", "few", "many", "other"}
    assert files["few"] == files["other"] == "%d files\u00b6"
    assert {*n} - {*RULE} == {"other"}  # the source has no form for one
    lines = translated("a.stringsdict", DATA, marked, target="pl").decode().splitlines()
    place = lines.index("\t\t\t<key>few</key>")
    assert lines[place + 1].startswith("\t\t\t<string>")


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_the_encoding_stays(encoding: str) -> None:
    data = DATA.decode().replace("UTF-8", encoding).replace("\u2026", "").encode(encoding)
    assert unchanged("a.stringsdict", data) == (data, data)
    after = translated("a.stringsdict", data, lambda text: f"\u20ac {text}")
    assert plistlib.loads(after)["tap"]["NSStringDeviceSpecificRuleType"]["mac"] == "\u20ac Click here"


def test_a_lost_argument_is_reported() -> None:
    reports: list[str] = []
    assert translated("a.stringsdict", DATA, lambda text: text.replace("%d", ""), reports=reports) == DATA
    assert len(reports) == 4


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (plistlib.dumps(RULES, fmt=plistlib.FMT_BINARY), "is binary"),
        (b"<html/>", "no property list"),
        (b"<plist><dict>", "damaged"),
    ],
)
def test_other_files_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        texts("a.stringsdict", data)
