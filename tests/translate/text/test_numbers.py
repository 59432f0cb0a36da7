"""Numbers are found, distinguished from words and symbols, and written in either language's format."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.numbers import added, converted, missing, protect
from translate.text.placeholders import restore, symbol

DE_EN, EN_DE = ("de", "en"), ("en", "de")


def written(number: str, source: str, target: str) -> str:
    """A number in the other language's format, as in the second search."""
    protected = protect(number, source, target)
    return restore(protected.text, protected.originals) or ""


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("1.234.567,8", "1,234,567.8"),
        ("1.234.567", "1,234,567"),
        ("1.234,56 €", "1,234.56 €"),
        ("19,99 %", "19.99 %"),
        ("$1.234", "$1,234"),
    ],
)
def test_amounts_change_their_separators(german: str, english: str) -> None:
    assert written(german, *DE_EN) == english
    assert written(english, *EN_DE) == german
    assert written(german, "de", "fr") == german


@pytest.mark.parametrize(
    "number",
    [
        "15,16",
        "13.485",
        "3,5",
        "30.11.2024",
        "2.13.0",
        "14:35",
        "2024",
        "1/2",
        "5",
        "12,5.1",
        "abc",
        "",
        "030.901.820",
        "192.168.178.9",
    ],
)
def test_dates_versions_and_times_are_unchanged_in_both_languages(number: str) -> None:
    assert written(number, *DE_EN) == written(number, *EN_DE) == number


def test_a_number_with_a_unit_name_is_an_amount() -> None:
    assert written("19,99 Euro, 3,5 Prozent", *DE_EN) == "19.99 Euro, 3.5 Prozent"
    assert written("3.5 percent or 1,234 dollars", *EN_DE) == "3,5 percent or 1.234 dollars"


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Das Auto kostet 3.500 Euro.", "The car costs 3.500 euros.", "The car costs 3,500 euros."),
        ("Von 3,5 % auf 1.250,5.", "From 3,5 % to 1.250,5.", "From 3.5 % to 1,250.5."),
        ("Es kostet 1.500 €, 1,500 %.", "It costs 1,500 €, 1.500 %.", "It costs 1,500 €, 1.500 %."),
        ("1.500 € für Version 1.500", "1.500 € for version 1.500", "1.500 € for version 1.500"),
        ("3.500 Euro", "3,500 euros", "3,500 euros"),
        ("3.500 Euro", "x3.500, 3.500m, 13.500 and 3.500.1", "x3.500, 3.500m, 13.500 and 3.500.1"),
        ("Version 3.500", "version 3.500", "version 3.500"),
        ("Etwa 1,5 Millionen Menschen", "About 1,5 million people", "About 1.5 million people"),
        (
            "12,5 kg, 3,75 m, 38,5 °C und 2,5 Stunden",
            "12,5 kg, 3,75 m, 38,5 °C, 2,5 h",
            "12.5 kg, 3.75 m, 38.5 °C, 2.5 h",
        ),
        ("Abschnitt 3,5 Minus", "section 3,5 minus", "section 3,5 minus"),
        ("Es sind 1.250,5 km.", "It is 1.250.5 km or 12505 m.", "It is 1,250.5 km or 12505 m."),
    ],
)
def test_a_copied_number_gets_the_separators_of_the_target(source: str, output: str, expected: str) -> None:
    assert converted(output, source, *DE_EN) == expected


@given(st.lists(st.sampled_from(["1.234,5", "3.500 Euro", "12,5 %", "7.3.2024", "15,25", "und", "x"]), max_size=5))
def test_a_copy_of_the_source_gets_the_numbers_that_a_second_search_would_insert(words: list[str]) -> None:
    text = " ; ".join(words)
    assert converted(text, text, *DE_EN) == written(text, *DE_EN)
    assert missing(converted(text, text, *DE_EN), text, *DE_EN) == missing(text, text, *DE_EN)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Am 3. Mai kommen 12 Leute.", "Twelve people come on the third of May."),
        ("Der 15. Mai 2024.", "May 15th, 2024."),
        ("Es kostet 1.234,56 €.", "It costs 1,234.56 euros."),
        ("Es kostet 1.234,56 €.", "It costs € 1.234,56."),
        ("50% und 50 %", "50 per cent and 50%"),
        ("Die A4 und B52 um 14:35.", "The A4 and B52 at 14:35."),
        ("Tel. 030 1234567", "Phone 030 1234567"),
        ("Um 18 Uhr oder 0:30 Uhr.", "At 6 o'clock in the evening or 12:30 a.m."),
        ("Um 14.30 Uhr oder 24 Uhr", "At 14:30 or 24"),
        ("UM 18.00 UHR", "At 6 p.m."),
        ("Es wiegt 19,5kg und 100.000km.", "It weighs nothing."),
        ("20\u27e61\u27e730 Stück", "20\u27e61\u27e730 pieces"),
        ("20 Leute und 21 Hunde", "Twenty people and twenty-one dogs"),
        ("Im Jahr 1984 waren es 2000 von 125.", "In nineteen eighty-four, two thousand of a hundred and twenty-five."),
        ("Am 20. Mai", "On the twentieth of May"),
        ("Ein 30-jähriger hat das 20-fache.", "A thirty-year-old man has it twentyfold."),
        ("3 % in Zimmer Nr. 5", "three per cent in room number five"),
        ("Von 8 bis 20 Uhr", "From 8 to 8 pm"),
        ("Um 12 Uhr und um 0 Uhr", "At noon and at midnight"),
        ("Um 9 Uhr", "At nine o'clock"),
        ("Heute Abend um 8 Uhr", "Tonight at 8 p.m."),
        ("In Europa sind es 30 Dollars, 20 Prozentpunkte.", "In Europe it is $30, 20 percentage points."),
        ("Um 8 Uhr abends oder 11 Uhr nachts", "At 8 pm or 11 pm"),
    ],
)
def test_numbers_in_any_correct_form_are_not_missing(source: str, target: str) -> None:
    assert not missing(target, source, *DE_EN)


@pytest.mark.parametrize(
    ("text", "output", "languages"),
    [
        ("About 3.5 million at 6:30 p.m.", "Etwa 3,5 Millionen um 18.30 Uhr", EN_DE),
        ("3.5 million for 20 %", "3,5 millions pour vingt pour cent de 20", ("en", "fr")),
        ("1.234 Euro und 30 Leute", "1\u202f234 euros et 30", ("de", "fr")),
        ("50 von 1.234.567", "50 sur 1 234 567", ("de", "fr")),
        ("30 people at 12:30 a.m.", "dreißig Leute um 0.30 Uhr, 3", EN_DE),
    ],
)
def test_other_separators_and_clock_formats_are_not_missing_numbers(
    text: str, output: str, languages: tuple[str, str]
) -> None:
    assert not missing(output, text, *languages)
    assert missing(output.replace("3", "4"), text, *languages)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Am 30.11.2024 um 18:00", "At 18:00"),
        ("1.234,56 €", "1,234.56"),
        ("50 von 50", "50 of all"),
        ("Es kostet 12,50 Euro.", "It costs 1250 euros."),
        ("3 %", "three"),
        ("20 Leute", f"{symbol(19)} people"),
        ("Im Jahr 2024", "In 2023"),
        ("Er wohnt in Zimmer Nr. 5.", "He lives in room No."),
        ("21 Leute", "twenty people"),
        ("50 und 50", "50 und 1 234"),
        ("Um 18.30 Uhr", "At 7:30 p.m."),
        ("Um 18.30 Uhr", "At 6:30 a.m."),
        ("Sie hat 3,4 Milliarden Einwohner.", "It has €3.4 billion inhabitants."),
        ("Das sind 30 Dollar.", "That is 30 dollars, 30 per cent."),
        ("Um 8 Uhr abends", "At 8am"),
        ("Um 19:30 Uhr", "At 7:30"),
        ("Um 0:30 Uhr", "At 12:30"),
        ("Um 18 Uhr", "At 6 o'clock"),
        ("Mo-Fr 9-18 Uhr", "Mon-Fri 9-18 pm"),
        ("8" * 5000, "8"),
    ],
)
def test_missing_numbers_are_detected(source: str, target: str) -> None:
    assert missing(target, source, *DE_EN)


def test_a_clock_word_of_the_source_tells_no_time() -> None:
    assert missing("9am-18 Uhr", "9am-6pm", *EN_DE) == {0}
    assert not missing("9-18 Uhr", "9am-6pm", *EN_DE)


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("Das kostet 20 €.", "It costs €20 50.", DE_EN),
        ("Mitte November", "In the middle of the 19th century", DE_EN),
        ("It won 4-0 at home.", "Es gewann zu Hause 4.20.", EN_DE),
        ("There were 300 people.", "Es waren 300 Leute in 45 Zimmern.", EN_DE),
    ],
)
def test_added_numbers_are_detected(source: str, target: str, languages: tuple[str, str]) -> None:
    assert added(target, source, *languages)


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("Zwanzig Leute um 18 Uhr", "20 people at 6 pm", DE_EN),
        ("Um halb acht, in den 80er Jahren", "At 7:30, in the 1980s", DE_EN),
        ("In the 1980s, half of 3 million", "In den 80er Jahren 1,5 von 3.000.000", EN_DE),
        ("Eineinhalb Stunden am 30.11.2024, ein Jahrhundert", "1.5 hours on 30 November 2024, 100 years", DE_EN),
        ("⟦1⟧ kostet 1.250,50 €", "⟦1⟧ costs €1,250.50, ⟦14⟧", DE_EN),
    ],
)
def test_a_number_in_another_form_is_not_added(source: str, target: str, languages: tuple[str, str]) -> None:
    assert not added(target, source, *languages)


@given(st.text("12 .,:/€%kU'\u27e6\u27e7\u0663ab", max_size=20))
def test_a_copy_has_no_added_number(text: str) -> None:
    assert not added(text, text, *DE_EN)


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("von 9–18 Uhr", "von 9 am–6 pm", DE_EN),
        ("from 2 to 6 pm", "from 14 Uhr to 18 Uhr", EN_DE),
        ("from 9 to 5 pm", "from 9 Uhr to 17 Uhr", EN_DE),
        ("11-1 pm or 6-6 pm", "11 Uhr-13 Uhr or 6 Uhr-18 Uhr", EN_DE),
        ("1.200 und 1.500 Euro", "1,200 und 1,500 Euro", DE_EN),
        ("2,5 auf 3,75 %", "2.5 auf 3.75 %", DE_EN),
        ("2,50 x 1,20 m", "2.50 x 1.20 m", DE_EN),
        ("1,500 people, 13,485", "1.500 people, 13.485", EN_DE),
        ("3.769.495 Einwohner", "3,769,495 Einwohner", DE_EN),
        ("13.485 und 2.500", "13.485 und 2.500", DE_EN),
    ],
)
def test_both_ends_of_a_range_are_written_in_one_convention(
    source: str, target: str, languages: tuple[str, str]
) -> None:
    protected = protect(source, *languages)
    assert restore(protected.text, protected.originals) == target
    assert not missing(target, source, *languages)


def test_with_the_end_of_a_span_its_beginning_is_missing_too() -> None:
    assert missing("9–18", "9–18 Uhr", *DE_EN) == set()
    assert missing("9–6", "9–18 Uhr", *DE_EN) == {0, 2}


def test_a_german_compound_contains_its_number() -> None:
    assert not missing("eine hundertjährige Mauer", "a 100-year-old wall", *EN_DE)
    assert missing("eine tausendjährige Mauer", "a 100-year-old wall", *EN_DE)


def test_new_symbols_continue_the_numbering_and_are_restored_at_any_position() -> None:
    text = f"Am 30.11.2024 zahlt {symbol(0)} an {symbol(1)} 1.234,56 € und 3 Taler."
    protected = protect(text, *DE_EN)
    assert protected.text == f"Am {symbol(2)} zahlt {symbol(0)} an {symbol(1)} {symbol(3)} und 3 Taler."
    said = f"{symbol(1)} {symbol(3)} {symbol(0)} {symbol(2)}"
    assert restore(said, protected.originals) == f"{symbol(1)} 1,234.56 € {symbol(0)} 30.11.2024"
    for wrong in (said.replace(symbol(2), ""), said + symbol(2), said.replace(symbol(0), ""), said + symbol(4), ""):
        assert restore(wrong, protected.originals) is None


@given(st.text(max_size=60) | st.text("12 .,:/€%kU'\u27e6\u27e7\u0663", max_size=20))
def test_in_any_text_no_number_is_missing_and_all_can_be_restored(text: str) -> None:
    assert not missing(text, text, "de", "fr")
    protected = protect(text, "de", "fr")
    if protected.originals and "\u27e6" not in text:
        assert restore(protected.text, protected.originals) == text


@given(st.lists(st.integers(13, 10**9), min_size=1, max_size=5), st.sampled_from([DE_EN, EN_DE]))
def test_large_numbers_are_kept_in_both_formats(values: list[int], languages: tuple[str, str]) -> None:
    grouped = [f"{value:,} €" if languages == EN_DE else f"{value:,} €".replace(",", ".") for value in values]
    other = [number.translate(str.maketrans(".,", ",.")) for number in grouped]
    text = " und ".join(grouped)
    assert not missing(" x ".join(other), text, *languages)
    protected = protect(text, *languages)
    assert restore(protected.text, protected.originals) == " und ".join(other)


def test_only_the_missing_numbers_are_replaced() -> None:
    text = "On July 25, it was 100,000 since 2011."
    lost = missing("Am 25. Juli waren es viele seit 2011.", text, *EN_DE)
    protected = protect(text, *EN_DE, lost)
    assert (protected.text, protected.originals) == ("On July 25, it was \u27e61\u27e7 since 2011.", ("100.000",))
    assert protect(text, *EN_DE).originals == ("25", "100.000", "2011")


@pytest.mark.parametrize("text", ["3 € und 20 %", "3 Euro und 20 %", "3 EUR und 20 Prozent", "EUR 3 und 20 PROZENT"])
def test_a_number_without_its_unit_is_missing(text: str) -> None:
    percent = text.index("20")
    assert missing("3 and 20 percent", text, *DE_EN) == {0}
    assert missing("3 euros and 20", text, *DE_EN) == {percent}
    assert not missing("three euros and 20%", text, *DE_EN)
    assert not missing("EUR 3, 20 per cent", text, *DE_EN)
    assert not missing("3 et 20", text, "de", "fr")


@pytest.mark.parametrize("text", ["Es sind 3,4 Milliarden Euro.", "Es sind 3,4 Mrd. €.", "Es sind 3,4 Mrd. EUR."])
def test_a_power_of_ten_may_stand_between_a_number_and_its_unit(text: str) -> None:
    assert protect(text, *DE_EN).originals == ("3.4",)
    for lacking in ("It is 3.4 billion.", "It is 3.4 million euros.", "It is 3.4 euros."):
        assert missing(lacking, text, *DE_EN) == {8}
    for complete in ("It is 3.4 billion euros.", "It is €3.4 billion.", "It is 3,400,000,000 euros."):
        assert not missing(complete, text, *DE_EN)


def test_spelled_out_millions_are_not_missing() -> None:
    assert not missing("twenty million people", "20 Millionen Menschen", *DE_EN)
    assert missing("twenty people", "20 Millionen Menschen", *DE_EN) == {0}


def test_an_abbreviated_amount_stays_whole() -> None:
    assert protect("The budget is £50k or $3bn.", *EN_DE).originals == ("£50k", "$3bn")
    assert missing("Der Haushalt ist 50k.", "The budget is £50k.", *EN_DE) == {14}


def test_a_code_is_kept_with_its_number_and_a_name_is_translated() -> None:
    text = "1.234,56 EUR, USD 20 und 1.234,56 Euro"
    protected = protect(text, *DE_EN)
    assert protected.text == f"{symbol(0)}, {symbol(1)} und {symbol(2)} Euro"
    assert protected.originals == ("1,234.56 EUR", "USD 20", "1,234.56")
