"""A glossary finds whole words, the longest first, and none within a symbol; a wrong file gets one sentence."""

import re
import time
import unicodedata
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from translate.errors import UserError
from translate.text.glossary import Glossary, missing_terms
from translate.text.placeholders import symbol


def found(text: str, terms: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(text[term.start : term.stop], term.target) for term in Glossary.of(terms).find(text)]


def test_forms_match_as_whole_words() -> None:
    terms = {"Haus|Hauses": "house", "C++": "C++", "3D-Druck": "3D printing"}
    assert found("Das Haus des Hauses, Haushund, Haus_1, Kauf-Haus; C++-3D-Druck", terms) == [
        ("Haus", "house"),
        ("Hauses", "house"),
        ("Haus", "house"),
        ("C++", "C++"),
        ("3D-Druck", "3D printing"),
    ]


@pytest.mark.parametrize(
    ("form", "inside", "apart"),
    [
        (".NET", "ASP.NET 3.NET .NETZ", ".NET (.NET) „.NET“ .NET-Code Visual-.NET"),
        ("C++", "C++11 C++x", "C++ C++, C++-Code Obj-C++."),
        ("#1", "C#1 #12 #1a", "#1 (#1) #1."),
        ("-fach", "dreifach -fache", "-fach 3-fach mehr-fach."),
        ("Haupt-", "Haupt Überhaupt-", "Haupt-Eingang Haupt- und"),
        ("Nr.", "Nr Nr, xNr.", "Nr. Nr.5"),
        ("l'", "l l, el'", "l'arte l'"),
    ],
)
def test_forms_with_signs_at_their_ends_match_as_whole_words(form: str, inside: str, apart: str) -> None:
    assert found(inside, {form: "x"}) == []
    assert found(apart, {form: "x"}) == [(form, "x")] * apart.count(form)
    assert missing_terms(inside, [form]) == [form]
    assert missing_terms(apart, [form] * apart.count(form)) == []


def test_a_capital_is_added_at_the_beginning_only() -> None:
    terms = {"laufen": "jog", "IT": "computing"}
    assert found("„Laufen ist laufen, Laufen nicht.", terms) == [("Laufen", "jog"), ("laufen", "jog")]
    assert found(f"{symbol(0)} Laufen LAUFEN it", terms) == [("Laufen", "jog")]


def test_the_longest_term_wins_with_any_white_space_and_composition() -> None:
    terms = {"Bank": "bank", "Bank für Bäume": "tree bank"}
    assert found("Die Bank  für Bäume, die Bank für", terms) == [("Bank  für Bäume", "tree bank"), ("Bank", "bank")]
    decomposed = unicodedata.normalize("NFD", "Die Bank für Bäume hier")
    assert found(decomposed, terms) == [(unicodedata.normalize("NFD", "Bank für Bäume"), "tree bank")]


def test_no_term_is_in_a_symbol() -> None:
    assert found(f"Ein {symbol(1)} und 2", {"2": "two", "und": "and"}) == [("und", "and"), ("2", "two")]


WORDS = st.sampled_from(["Haus", "Hauses", "haus", "Bank", "für", "alle", "Ha", "us", "3"])


@given(st.lists(WORDS, max_size=8), st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=1, max_size=6))
def test_terms_are_in_order_apart_and_none_is_left(words: list[str], forms: list[list[str]]) -> None:
    text, terms = " ".join(words), {" ".join(form): f"t{i}" for i, form in enumerate(forms)}
    places = Glossary.of(terms).find(text)
    ends = [end for term in places for end in (term.start, term.stop)]
    assert ends == sorted(ends)
    rest = "".join(" | " if any(t.start <= i < t.stop for t in places) else c for i, c in enumerate(text))
    assert not any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", rest) for form in terms)


SIGNED = st.lists(st.sampled_from(["a", "A", "b", "-", ".", " ", "  ", "+", "a b", "ab"]), max_size=7).map("".join)


@given(SIGNED, st.lists(SIGNED.filter(lambda form: re.search(r"\w", form)), min_size=1, max_size=5))
@example("a-a b", ["a", "a-", "a- b", "a-a b"])
def test_terms_are_those_of_one_pattern_for_each_form(text: str, forms: list[str]) -> None:
    terms = {" ".join(form.split()): f"t{i}" for i, form in enumerate(forms)}
    ordered = sorted(((form, form, False) for form in terms), key=lambda row: -len(row[0]))
    ordered += [(form[0].upper() + form[1:], form, True) for form in terms if form[0].islower()]
    ordered.sort(key=lambda row: (-len(row[0]), row[2]))
    expected, place = list[tuple[str, str]](), 0
    for token in re.finditer(r"\w+|[^\w\s]", text):
        for shown, form, begins in ordered if token.start() >= place else ():
            words = r"\s+".join(map(re.escape, shown.split()))
            before = "" if shown[0] == "-" else r"(?<!\w)"
            match = re.compile(before + words + ("" if shown[-1] in "-." else r"(?!\w)")).match(text, token.start())
            if match and not (begins and re.search(r"\w", text[: token.start()])):
                expected.append((match[0], terms[form]))
                place = match.end()
                break
    assert found(text, terms) == expected


def test_many_terms_with_one_first_word_are_found_quickly() -> None:
    glossary = Glossary.of({f"Haus {i}": "x" for i in range(20_000)})
    glossary.find("Haus")  # prepares the search
    start = time.process_time()
    assert len(glossary.find("Das Haus x und das Haus 19999 " * 500)) == 500
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["Haus\thouse", "Hund"], r"f\.tsv, line 2: not a term; write SOURCE, a tab and TARGET"),
        (["", "a\tb\tc"], r"f\.tsv, line 2: not a term"),
        (["Haus\t "], r"f\.tsv, line 1: has no target term"),
        (["Haus||Hauses\thouse"], r"f\.tsv, line 1: '' is no source term"),
        (["§\tsection"], r"f\.tsv, line 1: '§' is no source term"),
        (["Haus\thouse", "Maus|Haus\tmouse"], r"f\.tsv, line 2: 'Haus' is 'house' in an earlier line and 'mouse' here"),
        (["Haus\tho\x07use"], r"f\.tsv, line 1: has the control character '\\x07'"),
    ],
)
def test_a_wrong_line_is_named(lines: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Glossary.read(lines, "f.tsv")


def test_a_mapping_is_checked_like_a_file() -> None:
    assert Glossary.of({"Haus|Hauses": " house "}) == Glossary.read(["Haus | Hauses\thouse"], "f")
    with pytest.raises(UserError, match=r"terms, 'Haus': has the control character"):
        Glossary.of({"Haus": "a\nb"})
    with pytest.raises(UserError, match=r"terms, 'Haus': 3 is not a term; both sides must be text"):
        Glossary.of({"Haus": 3})  # type: ignore[dict-item]


def test_a_translation_has_a_term_as_often_as_the_source() -> None:
    assert missing_terms("House and houses", ["house", "houses"]) == []
    assert missing_terms("the houses", ["house"]) == ["house"]
    assert missing_terms("the houses", ["house"], whole_words=False) == []
    assert missing_terms("the House", ["house"]) == ["house"]
    assert missing_terms("a house", ["house", "house"]) == ["house"]
    assert missing_terms("a guest house", ["house", "guest house"]) == ["house"]
    text = "Die Türen sind grün."
    for form, other in (("NFC", "NFD"), ("NFD", "NFC")):
        target, longer = (unicodedata.normalize(form, word) for word in ("Türen", "Tür"))  # type: ignore[arg-type]
        assert missing_terms(unicodedata.normalize(other, text), [target, longer]) == [longer]  # type: ignore[arg-type]


def test_a_glossary_is_a_mapping_from_forms_to_target_terms() -> None:
    glossary = Glossary.of({"Haus|Hauses": "house", "See": "lake"})
    assert [*glossary.items()] == [("Haus", "house"), ("Hauses", "house"), ("See", "lake")]
    assert (len(glossary), glossary["Hauses"], "Haus" in glossary, "house" in glossary) == (3, "house", True, False)
    assert glossary == {"See": "lake", "Hauses": "house", "Haus": "house"}
