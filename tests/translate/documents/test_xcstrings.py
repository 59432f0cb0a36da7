"""String catalogs of Xcode: the target language is filled, and everything else stays."""

import json
from typing import Any

import pytest

from tests.translate.documents.translators import marked, texts, translated, upper
from translate.documents.document import Reading, read
from translate.errors import UserError


def unit(value: str, state: str = "translated") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": value}}


def plural(**forms: str) -> dict[str, Any]:
    return {"variations": {"plural": {name: unit(text) for name, text in forms.items()}}}


STRINGS: dict[str, Any] = {
    "": {},
    "Hello %@": {},
    "Key": {"comment": "c", "localizations": {"en": unit("One %1$@ of %lld"), "fr": unit("x")}},
    "New": {"localizations": {"de": unit("", "new")}},
    "No": {"shouldTranslate": False},
    "Old": {"extractionState": "stale"},
    "Plural": {"localizations": {"en": plural(one="%lld file", other="%lld files")}},
    "There": {"localizations": {"de": unit("Da", "needs_review"), "en": unit("There it is")}},
}


def catalog(strings: dict[str, Any], source: str = "en") -> bytes:
    """Return a catalog as Xcode writes it."""
    value = {"sourceLanguage": source, "strings": strings, "version": "1.0"}
    text = json.dumps(value, indent=2, ensure_ascii=False, separators=(",", " : "), sort_keys=True)
    return (text.replace("{}", "{\n\n    }") + "\n").encode()


DATA = catalog(STRINGS)


def strings(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data)["strings"]
    return found


def phrases(*texts: str, state: str = "new") -> dict[str, Any]:
    return {"stringSet": {"state": state, "values": [*texts]}}


def test_each_text_of_a_set_is_translated() -> None:
    both = {"de": phrases("", "", state="new"), "en": phrases("Stop ${applicationName}", "End it")}
    data = catalog(
        {
            "Start": {"localizations": {"en": phrases("Start ${applicationName}", "Go now")}},
            "Stop": {"localizations": both},
        }
    )
    assert texts("a.xcstrings", data) == ["Start ${applicationName}", "Go now", "Stop ${applicationName}", "End it"]
    found = strings(translated("a.xcstrings", data, upper))
    wanted = phrases("START ${applicationName}", "GO NOW", state="needs_review")
    assert found["Start"]["localizations"] == {"de": wanted, "en": phrases("Start ${applicationName}", "Go now")}
    wanted = phrases("STOP ${applicationName}", "END IT", state="needs_review")
    assert found["Stop"]["localizations"] == both | {"de": wanted}
    after = translated("a.xcstrings", data, upper, final=True)
    assert translated("a.xcstrings", after, marked) == after
    assert after == catalog(strings(after))


def test_texts_are_what_the_target_has_not() -> None:
    assert texts("a.xcstrings", DATA) == [
        *("Hello %@", "One %1$@ of %lld", "New", "%lld file", "%lld files", "There it is")
    ]
    document = read(DATA, Reading(name="a.xcstrings", source="en", target="de"))
    assert [one.done for one in document.units] == [None] * 5 + ["Da"]
    assert document.write([None] * 6) == DATA


def test_a_new_translation_has_the_form_of_its_source() -> None:
    after = translated("a.xcstrings", DATA, marked)
    wanted = json.loads(json.dumps(STRINGS))
    for key, value in [("Hello %@", "Hello %@\u00b6"), ("Key", "One %1$@ of %lld\u00b6"), ("New", "New\u00b6")]:
        wanted[key].setdefault("localizations", {})["de"] = unit(value, "needs_review")
    forms = plural(one="%lld file\u00b6", other="%lld files\u00b6")
    for form in forms["variations"]["plural"].values():
        form["stringUnit"]["state"] = "needs_review"
    wanted["Plural"]["localizations"]["de"] = forms
    assert strings(after) == wanted
    assert after == catalog(wanted)  # as Xcode writes it


def test_final_translations_are_translated_and_replace_others() -> None:
    found = strings(translated("a.xcstrings", DATA, upper, final=True, replace=True))
    assert found["There"]["localizations"]["de"] == unit("THERE IT IS")
    assert found["Key"]["localizations"]["de"] == unit("ONE %1$@ OF %lld")


@pytest.mark.parametrize("forms", [{"one": "%lld plik"}, {"few": "%lld pliki", "other": "%lld pliku"}])
def test_a_plural_that_lacks_categories_of_the_target_gets_them(forms: dict[str, str]) -> None:
    """A translation of which a person has made one form is not done."""
    source = plural(one="%lld file", other="%lld files")
    shown = {"stringUnit": unit("%#@n@")["stringUnit"], "substitutions": {"n": source}}
    done = {"stringUnit": unit("%#@n@")["stringUnit"], "substitutions": {"n": plural(**forms)}}
    data = catalog(
        {
            "A": {"localizations": {"en": source, "pl": plural(**forms)}},
            "B": {"localizations": {"en": shown, "pl": done}},
        }
    )
    after = translated("a.xcstrings", data, upper, target="pl", final=True)
    made = {"few": "%lld FILES", "many": "%lld FILES", "one": "%lld FILE", "other": "%lld FILES"}
    found = strings(after)
    assert found["A"]["localizations"]["pl"] == plural(**made | forms)
    assert found["B"]["localizations"]["pl"]["substitutions"]["n"] == plural(**made | forms)
    assert after == catalog(found)
    assert translated("a.xcstrings", after, marked, target="pl") == after


def test_plurals_have_the_categories_of_the_target() -> None:
    forms = strings(translated("a.xcstrings", DATA, upper, target="pl"))["Plural"]["localizations"]["pl"]
    assert list(forms["variations"]["plural"]) == ["few", "many", "one", "other"]
    assert forms["variations"]["plural"]["few"]["stringUnit"]["value"] == "%lld FILES"


def test_substitutions_are_translated() -> None:
    arg = {"argNum": 1, "formatSpecifier": "lld", **plural(one="%arg file", other="%arg files")}
    source = {**unit("In %#@files@ here"), "substitutions": {"files": arg}}
    data = catalog({"a": {"localizations": {"en": source}}})
    assert texts("a.xcstrings", data) == ["In %#@files@ here", "<g1/> file", "<g1/> files"]
    new = strings(translated("a.xcstrings", data, upper))["a"]["localizations"]["de"]
    assert new["stringUnit"]["value"] == "IN %#@files@ HERE"
    assert new["substitutions"]["files"]["argNum"] == 1
    assert new["substitutions"]["files"]["variations"]["plural"]["one"]["stringUnit"]["value"] == "%arg FILE"


def test_the_code_that_the_file_has_is_taken() -> None:
    data = catalog({"a": {"localizations": {"de-DE": unit("b")}}, "c": {}})
    assert "de-DE" in strings(translated("a.xcstrings", data, upper))["c"]["localizations"]


def test_a_translation_with_other_codes_is_reported() -> None:
    reports = list[str]()
    data = catalog({"a %@": {}})
    assert translated("a.xcstrings", data, lambda text: "b", reports=reports) == data
    assert reports == ["a.xcstrings, line 4: is not translated, as the translation has '%@' 0 times, not 1"]


def test_another_source_language_is_refused() -> None:
    with pytest.raises(UserError, match="its source language is 'fr', not 'en'"):
        texts("a.xcstrings", catalog({}, "fr"))
    with pytest.raises(UserError, match="has no strings"):
        texts("a.xcstrings", b"{}")
