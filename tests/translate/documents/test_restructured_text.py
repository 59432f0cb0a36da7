"""Messages of Sphinx keep their inline markup, in which the titles of links and formatted words are translated."""

import pytest

from tests.growth import grows_linearly
from tests.translate.documents.stubs import reverse
from tests.translate.documents.test_po import po
from tests.translate.documents.translators import texts, translated
from tests.translate.documents.translators import upper as in_capitals
from translate.documents.document import Reading, read
from translate.documents.restructured_text import RestructuredText
from translate.inference.documents import keeps_tags


def entry(message: str, comment: str = "#: ../index.rst:4") -> bytes:
    escaped = message.replace("\\", "\\\\").replace('"', '\\"')
    return po(f'{comment}\nmsgid "{escaped}"\nmsgstr ""\n')


def written(data: bytes) -> str:
    return data.decode().rpartition('msgstr "')[2].removesuffix('"\n').replace('\\"', '"').replace("\\\\", "\\")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Use |prod|, |release|_ and ``pip  install x``.", "USE |prod|, |release|_ AND ``pip  install x``."),
        ("See :ref:`a` and :ref:`the page <a-b>`.", "SEE :ref:`a` AND :ref:`THE PAGE <a-b>`."),
        ("Call :py:meth:`~list.append` of `x`:class:.", "CALL :py:meth:`~list.append` OF `x`:class:."),
        ("Read `our site <https://a.org/b_c>`_, then ``x``.", "READ `OUR SITE <https://a.org/b_c>`_, THEN ``x``."),
        ("A `link`__, `one <page_>`_ and `two\\ s <b>`__.", "A `LINK`__, `ONE <page_>`_ AND `TWO\\ S <b>`__."),
        ("The **best** tool for *all* people.", "THE **BEST** TOOL FOR *ALL* PEOPLE."),
        ("A note [#f1]_, a [CIT2002]_, a [1]_ and [*]_.", "A NOTE [#f1]_, A [CIT2002]_, A [1]_ AND [*]_."),
        ("Pass \\*args and \\*\\*kwargs to snake\\_case.", "PASS \\*args AND \\*\\*kwargs TO snake\\_case."),
        ("An _`inline target` and :kbd:`Ctrl <x>`.", "AN _`inline target` AND :kbd:`Ctrl <x>`."),
        ("H\\ :sub:`2`\\ O is (*very*) ``a``/``b``.", "H\\ :sub:`2`\\ O IS (*VERY*) ``a``/``b``."),
        ("2 * 3 * 4 and a * star, `` and |.", "2 * 3 * 4 AND A * STAR, `` AND |."),
        (":guilabel:`&OK` closes it.", ":guilabel:`&OK` CLOSES IT."),
        (".. image:: a.png", ".. image:: a.png"),
    ],
)
def test_markup_stays_around_what_is_translated(message: str, expected: str) -> None:
    assert written(translated("a.po", entry(message), in_capitals)) == expected


@pytest.mark.parametrize("message", ["See a_ and `b c`_ in *a* row.", "**One** and ``two`` :ref:`and so <x>` on."])
def test_its_own_text_is_a_translation(message: str) -> None:
    assert written(translated("a.po", entry(message), str)) == message


def test_references_by_name_lead_to_the_same_targets_in_another_order() -> None:
    found = written(translated("a.po", entry("one word_ or `two words`_"), reverse))
    assert found == "`WORDS TWO <two words_>`_ OR `WORD`_ ONE"


@pytest.mark.parametrize(
    ("message", "said", "expected"),
    [
        ("Run ``a`` now", "{}s jetzt", "``a``\\ s jetzt"),
        ("Run *fast* now", "Jetzt weg{} .", "Jetzt weg\\ *schnell* ."),
        ("Run ``a`` now", "({})-Lauf.", "(``a``)-Lauf."),
    ],
)
def test_markup_beside_letters_is_divided_from_them(message: str, said: str, expected: str) -> None:
    (text,) = texts("a.po", entry(message))
    start, stop = text.index("<"), text.rindex(">") + 1
    tags = text[start:stop].replace("fast", "schnell")
    assert written(translated("a.po", entry(message), lambda _: said.replace("{}", tags, 1))) == expected


def test_a_translation_with_new_markup_is_reported() -> None:
    reports = list[str]()
    data = translated("a.po", entry("Run ``a`` now"), lambda text: f"{text} `b`", reports=reports)
    assert written(data) == ""
    assert len(reports) == 1


def test_a_translation_of_the_file_has_the_tags_of_its_source() -> None:
    data = entry("A *b* of ``c``").removesuffix(b'""\n') + b'"``c`` von *d*"\n'
    (unit,) = read(data, Reading(name="a.po", source="en", target="de")).units
    assert unit.done is not None
    assert "<" in unit.done
    assert keeps_tags(unit.text, unit.done)


@pytest.mark.parametrize("comment", ["#: ../a.rst:4", "#: ../a.py:docstring of a.b:3", "#. see :ref:`x`"])
def test_where_a_message_is_from_says_that_it_is_markup(comment: str) -> None:
    assert written(translated("a.po", entry("The *b* |c|", comment), reverse)) == "|c| *B* THE"


def test_messages_of_programs_are_no_markup() -> None:
    assert texts("a.po", entry("a * b | c_ *d*", "#: a.c:1")) == ["a * b | c_ *d*"]


# docutils 0.22.4 reads each as a list, a field, a block of lines or of code, or a target.
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("3. Oktober 1990", "3\\. Oktober 1990"),
        ("3) Oktober", "3\\) Oktober"),
        ("(3) Oktober", "\\(3) Oktober"),
        ("A. Meier kam.", "A\\. Meier kam."),
        ("z. B. so", "z\\. B. so"),
        ("IV. Teil", "IV\\. Teil"),
        ("(xii) so", "\\(xii) so"),
        ("#. so", "#\\. so"),
        ("3.", "3\\."),
        *((f"{mark} Nein", f"\\{mark} Nein") for mark in "-+*|\u2022\u2023\u2043"),
        (">>> so", "\\>>> so"),
        ("__ so", "\\__ so"),
        (":Ort und Zeit: so", "\\:Ort und Zeit: so"),
    ],
)
def test_what_a_translation_begins_with_is_no_mark_of_a_block(said: str, expected: str) -> None:
    for source in ("It was so.", "5\\. It was so."):
        data = translated("a.po", entry(source), lambda _: said)
        assert written(data) == expected
        (unit,) = read(data, Reading(name="a.po", source="en", target="de")).units
        assert unit.done == said


@pytest.mark.parametrize(
    "said",
    [
        "3.5 Liter",
        "3.Oktober",
        "IIb. Teil",
        "A1. Teil",
        "Nein. So",
        "\u2013 Nein",
        "-Nein",
        ":so:so",
        ": so",
        "(a b) so",
    ],
)
def test_what_is_no_mark_of_a_block_has_no_backslash(said: str) -> None:
    assert written(translated("a.po", entry("It was so."), lambda _: said)) == said


@pytest.mark.parametrize("mark", ["1.", "-", "|", ">>>", ":name:"])
def test_a_mark_of_a_block_in_the_source_is_one_in_the_translation(mark: str) -> None:
    assert written(translated("a.po", entry(f"{mark} so"), in_capitals)) == f"{mark} so".upper()


def test_an_escaped_mark_of_a_block_is_read_as_text() -> None:
    assert texts("a.po", entry("3\\. Oktober 1990")) == ["3. Oktober 1990"]
    assert written(translated("a.po", entry("3\\. Oktober"), lambda _: "October 3")) == "October 3"
    assert written(translated("a.po", entry("3\\. Oktober"), str)) == "3\\. Oktober"


@pytest.mark.parametrize(
    "unit",
    ["1", "iv", "i", "#", ":", ":a", ":a\\", "\\", "a", "a-", "a\\", "``a ", "`a<", "*a ", "|a ", "[a", "_`a"],
)
def test_any_message_takes_linear_time(unit: str) -> None:
    assert grows_linearly(lambda n: RestructuredText(unit * n, "gx").text, 500, 4_000)
