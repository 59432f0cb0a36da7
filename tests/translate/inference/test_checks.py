"""Text without words, loops, copied sources and missing numbers are detected; ordinary text passes."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.corpus.grammar import generate
from translate.inference.pipeline import echoes, has_words, is_overlong, loops, missing
from translate.text import numbers
from translate.text.languages import capitalisations
from translate.text.placeholders import symbol, without_symbols
from translate.text.translation import Translation

GRAMMAR = generate("train", 300, 3)


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "3,50", "12.5.2024", "- 7 -", "🙂🙃", "§ 3", "→", "\0", "1️⃣"])
def test_text_without_letters_has_no_words(text: str) -> None:
    assert not has_words(text)


@pytest.mark.parametrize("text", ["a", "3 km", "漢字", "ß", "🙂 ja"])
def test_a_letter_of_any_script_is_a_word(text: str) -> None:
    assert has_words(text)


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("no no no", "nein"),
        ("No, no, no, no, no.", "Nein, nein."),
        ("the man and the man and the man and the man", "der Mann und die Frau"),
        ("Hahahahahahahahaha", "Ha"),
        ("in the house of the cat, in the house of the dog, in the house of the cow", "im Haus der Katze"),
        ("Good morning. Good morning. Good morning.", "Guten Morgen."),
    ],
)
def test_repetition_that_is_not_in_the_source_is_a_loop(output: str, source: str) -> None:
    assert loops(output, source)


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("", ""),
        ("Hello", "Hallo"),
        ("very, very good", "sehr gut"),
        ("No, no, no!", "Nein, nein, nein!"),
        ("Nein, nein, nein, nein.", "No, no, no."),
        ("no no no no no", "nein nein nein nein nein"),
        ("Hahahahahahahahaha", "Hahahahahahahahaha"),
        ("1000000000000", "1000000000000"),
        ("He ran and ran.", "Er lief und lief."),
        ("A rose is a rose is a rose.", "Eine Rose ist eine Rose ist eine Rose."),
    ],
)
def test_legitimate_repetition_is_not_a_loop(output: str, source: str) -> None:
    assert not loops(output, source)


@given(st.lists(st.sampled_from(["ja", "nein", "der Hund", "3", "-"]), max_size=30).map(" ".join))
def test_a_text_is_never_a_loop_compared_with_itself(text: str) -> None:
    assert not loops(text, text)


@given(st.text(min_size=1, max_size=9).filter(has_words), st.integers(5, 30))
def test_repeated_words_are_a_loop(text: str, n: int) -> None:
    if any(character.isalnum() for character in text):
        assert loops(" ".join([f"a{text}"] * n), "etwas anderes")


def test_correct_translations_are_neither_loops_nor_echoes_nor_too_long() -> None:
    for german, english in GRAMMAR:
        assert not echoes(english, german)
        assert not loops(english, german)
        n_source, tokens = len(german.split()), tuple(english.split())
        assert not is_overlong(Translation(english, tokens=tokens, n_segments=1, n_source_tokens=n_source))


def test_a_translation_of_more_than_twice_the_tokens_of_its_source_is_overlong() -> None:
    def of_length(n: int, n_segments: int = 1) -> bool:
        found = Translation("", tokens=("a",) * n, n_segments=n_segments, n_source_tokens=5)
        return is_overlong(found)

    assert [of_length(18), of_length(19), of_length(27, 2), of_length(28, 2)] == [False, True, False, True]
    assert not is_overlong(Translation("copied"))


def test_an_output_with_the_words_of_its_source_is_an_echo() -> None:
    for text in ("This is English", "qwe rtz uio pas", "Das ist Das hier"):
        assert echoes(text.upper(), text)
    assert echoes("The Hund schläft im Garten", "Der Hund schläft im Garten.")
    for output, source in (
        ("I love New York City.", "Ich liebe New York City."),
        ("Mr Smith is in New York.", "Herr Smith ist in New York."),
        ("Tom Miller", "Tom Miller"),
        ("1 2 3 4", "1 2 3 4"),
        ("", ""),
        ("⟦1⟧ ⟦2⟧ ⟦3⟧", "⟦1⟧ ⟦2⟧ ⟦3⟧"),
    ):
        assert not echoes(output, source)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HALLO!", "Hallo!"),
        ("STRAßE", "Straße"),
        ("GROẞER", "Großer"),
        ("30 ÄPFEL", "30 Äpfel"),
        ("\u201eHALLO, DU!\u201c", "\u201eHallo, du!\u201c"),
        ("IBAN: DE89 3704", "Iban: DE89 3704"),
        ("PASSWORT: QWERTZ7", "Passwort: QWERTZ7"),
        ("NACH COVID-19 UND A-7", "Nach COVID-19 und A-7"),
        ("DIE 20-JÄHRIGE", "Die 20-jährige"),
        *((text, text) for text in ("Hallo", "USA", "NATO", "3 KM", "A", "")),
    ],
)
def test_text_in_capitals_is_lowered_and_abbreviations_are_not(text: str, expected: str) -> None:
    assert capitalisations(text, "en") == list(dict.fromkeys([expected, text]))


def test_a_few_german_words_in_lower_case_are_capitalised_too() -> None:
    assert capitalisations("guten morgen", "de") == ["guten morgen", "Guten Morgen"]
    assert capitalisations("GUTEN MORGEN", "de") == ["Guten morgen", "GUTEN MORGEN"]
    for text in ("Guten morgen", "es war einmal ein kleiner hund im", "", "3"):
        assert capitalisations(text, "de") == [text]
    assert capitalisations("good morning", "en") == ["good morning"]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("IJSLAND IS MOOI", "nl", "IJsland is mooi"),
        ("„IJSLAND IS MOOI”", "nl", "„IJsland is mooi”"),
        ("IJSLAND IS MOOI", "en", "Ijsland is mooi"),
        ("ÇA VA BIEN\u202f!", "fr", "Ça va bien\u202f!"),
        ("L'ÉTÉ EST FINI", "fr", "L'été est fini"),
    ],
)
def test_text_in_capitals_begins_with_the_first_letter_of_its_language(text: str, language: str, expected: str) -> None:
    """The first letter of IJsland has two characters."""
    assert capitalisations(text, language) == [expected, text]


def lost(output: str, source: str, target: str = "en") -> list[str]:
    """The numbers of the source that the output lacks, each with the signs beside it."""
    found = numbers.missing(without_symbols(output), without_symbols(source), target)
    return list(dict.fromkeys(source[slice(*numbers.with_signs(number, source))] for number in found))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Am 3. Mai kommen 12 Leute.", "Twelve people come on the third of May."),
        ("Der 15. Mai 2024.", "May 15th, 2024."),
        ("Am 30.11.2024 und am 3.10. frei", "Closed on November 30, 2024 and October 3"),
        ("Es kostet 1.234,56 €.", "It costs 1,234.56 euros."),
        ("Es kostet 1.234,56 €.", "It costs € 1.234,56."),
        ("Es kostet 19,99 €", "It costs 19 euros 99"),
        ("50% und 50 %", "50 per cent and 50%"),
        ("Die A4 und B52 um 14:35.", "The A4 and B52 at 14:35."),
        ("Tel. 030 1234567", "Phone 030 1234567"),
        ("Um 18 Uhr oder 0:30 Uhr.", "At 6 o'clock in the evening or 12:30 a.m."),
        ("Um 14.30 Uhr oder 24 Uhr", "At 14:30 or 24"),
        ("UM 18.00 UHR", "At 6 p.m."),
        ("20⟦1⟧30 Stück", "20⟦1⟧30 pieces"),
        ("20 Leute und 21 Hunde", "Twenty people and twenty-one dogs"),
        ("Im Jahr 1984 waren es 2000 von 125.", "In nineteen eighty-four, two thousand of a hundred and twenty-five."),
        ("Am 20. Mai", "On the twentieth of May"),
        ("Ein 30-jähriger hat das 20-fache.", "A thirty-year-old man has it twentyfold."),
        ("3 % in Zimmer Nr. 5", "three per cent in room number five"),
        ("Es sind 1250 m und 1 250 m", "It is 1,250 m and 1250 m"),
        ("Etwa 3,5 Mio. und 118,8 Tausend", "About 3,500,000 and 118,800"),
        ("Windows 8.1 und 2 GB", "Windows 8,1 and 2 GB"),
        ("Nur 1 Hund", "Only a dog"),
    ],
)
def test_numbers_in_any_correct_form_are_not_missing(source: str, target: str) -> None:
    assert lost(target, source) == []


@pytest.mark.parametrize(
    ("text", "output", "target"),
    [
        ("About 3.5 million at 6:30 p.m.", "Etwa 3,5 Millionen um 18.30 Uhr", "de"),
        ("At 9pm", "Ab 21:00 Uhr", "de"),
        ("3.5 million for 20 %", "3,5 millions pour vingt pour cent de 20", "fr"),
        ("1.234 Euro und 30 Leute", "1\u202f234 euros et 30", "fr"),
        ("50 von 1.234.567", "50 sur 1 234 567", "fr"),
        ("30 people at 12:30 a.m.", "dreißig Leute um 0.30 Uhr", "de"),
    ],
)
def test_other_languages_and_clock_formats_are_not_missing_numbers(text: str, output: str, target: str) -> None:
    assert lost(output, text, target) == []
    assert lost(output.replace("3", "4").replace("2", "4"), text, target)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Am 30.11.2024 um 18:00", "At 18:00", ["30.11.2024"]),
        ("50 von 50", "50 of all", ["50"]),
        ("50 Hunde und 50 Katzen sind weltbekannt.", "50 dogs are world-famous.", ["50"]),
        ("50 Hunde und 20 Katzen, 50 Wölfe", "50 dogs and twenty cats", ["50"]),
        ("Es kostet 12,50 Euro.", "It costs 1250 euros.", ["12,50"]),
        ("20 Leute", f"{symbol(19)} people", ["20"]),
        ("Im Jahr 2024", "In 2023", ["2024"]),
        ("Windows 8.1 und 2 GB", "Windows 8 and two GB", ["8.1"]),
        ("Räume 101,102,103", "Rooms 101,102", ["101,102,103"]),
        ("Konto 123.456.789", "Account 123.456", ["123.456.789"]),
        ("21 Leute", "twenty people", ["21"]),
        ("50 und 50", "50 und 1 234", ["50"]),
        ("Um 18.30 Uhr", "At 7:30 p.m.", ["18.30"]),
        ("Es sind 12,5 % und € 300.", "It is some.", ["12,5 %", "€ 300"]),
        ("8" * 5000, "8", ["8" * 5000]),
    ],
)
def test_missing_numbers_are_found_with_the_signs_beside_them(source: str, target: str, expected: list[str]) -> None:
    assert lost(target, source) == expected


@given(st.text(max_size=60) | st.text("12 .,:/€%kU'⟦⟧\u0663", max_size=20))
def test_a_copy_has_all_numbers(text: str) -> None:
    assert lost(text, text, "fr") == []


def test_a_german_compound_contains_its_number() -> None:
    assert lost("eine hundertjährige Mauer", "a 100-year-old wall", "de") == []
    assert lost("eine tausendjährige Mauer", "a 100-year-old wall", "de") == ["100"]


def lacking(output: str, source: str, pair: tuple[str, str] = ("de", "en"), rare: str = "") -> list[str]:
    """What symbols hold of a source that the output lacks, with a model that cannot read the letters `rare`."""
    return [held for _, _, held in missing(output, source, *pair, lambda word: not {*word} & {*rare})]


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Heinrich VIII. hatte sechs Frauen.", "Heinrich VIII.", ["VIII."]),
        ("Papst Johannes XXIII. wollte keinen Krieg.", "Pope John XXIII.", ["XXIII."]),
        ("Die Fa. Müller u. Co. liefert ca. 20 Stück.", "Müller and Co.", ["Co.", "20"]),
        ("Unter Heinrich VIII. lebte er gut.", "He lived well under Henry VIII.", []),
        ("Ludwig XIV. war der Enkel von Ludwig XIV.", "Louis XIV was the grandson of Louis XIV.", []),
        ("Es regierte Heinrich VIII.", "The ruler was Henry VIII.", []),
        ("Am 3. Oktober kam er.", "He came on October 3.", []),
    ],
)
def test_a_translation_that_ends_at_an_abbreviation_lacks_the_rest(
    source: str, output: str, expected: list[str]
) -> None:
    assert lacking(output, source) == expected


@pytest.mark.parametrize(
    ("source", "output", "rare", "expected"),
    [
        ("Das Zeichen 漢 ist schön.", "The sign is beautiful.", "", ["漢"]),
        ("Das Wort Привет ist russisch.", "The word OSIX is Russian.", "", ["Привет"]),
        ("α und β sind Winkel.", "There are angles and α.", "", ["β"]),
        ("漢 und 漢", "漢", "", ["漢"]),
        ("Herr Dvořák kommt.", "Mr DvoOSIXák comes.", "ř", ["Dvořák"]),
        ("Die Dvořák-Halle", "The Dvorak hall", "ř", ["Dvořák"]),
        ("Herr Dvořák kommt.", "Mr Dvořák is coming.", "ř", []),
        ("DVOŘÁK", "Dvořák", "Řř", []),
        ("Herr Dvořák kommt.", "Mr Dvorak comes.", "", []),
        ("Die Männer aßen Äpfel.", "The men ate apples.", "äßÄ", []),
        ("\u200bDas ist gut\u2026", "That is good", "\u2026", []),
    ],
)
def test_words_in_letters_that_the_model_does_not_know_are_copied(
    source: str, output: str, rare: str, expected: list[str]
) -> None:
    assert lacking(output, source, rare=rare) == expected
    assert lacking(source, source, rare=rare) == []


@pytest.mark.parametrize(
    ("source", "output", "pair", "expected"),
    [
        ("Es kostet 50 €.", "It costs 50.", ("de", "en"), ["50 €"]),
        ("Es sind 20 °C.", "It is 20.", ("de", "en"), ["20 °C"]),
        ("$5 or 5%", "5 Dollar oder 5", ("en", "de"), ["5%"]),
        ("Die Preise in £", "The prices", ("de", "en"), ["£"]),
        ("Es kostet 50 €.", "It costs 50 euros.", ("de", "en"), []),
        ("Er ist 5′ 3″ groß.", "He is 5 3 tall.", ("de", "en"), ["5′", "3″"]),
        ("Er ist 5′ 3″ groß.", "He is 5 feet 3 inches tall.", ("de", "en"), []),
        ("The angle is 5′ 3″.", "Der Winkel ist 5' 3\".", ("en", "de"), []),
        ("Es sind 20 °C und 5 %.", "It is 20 degrees and 5 per cent.", ("de", "en"), []),
        ("$5 and £6", "5 Dollar und 6 Pfund", ("en", "de"), []),
        ("50 €", "50 euro", ("de", "xx"), []),
        ("Es sind -5 Grad.", "It is 5 degrees.", ("de", "en"), ["-5"]),
        ("10 ± 5 Grad", "10 5 degrees", ("de", "en"), ["±"]),
        ("10 ± 5 Grad", "10 plus or minus 5 degrees", ("de", "en"), []),
        ("½ Liter", "a litre", ("de", "en"), ["½"]),
        ("10 m²", "10 m", ("de", "en"), ["m²"]),
        ("It is \u22128 °C.", "Es sind 8 °C.", ("en", "de"), ["\u22128 °C"]),
        ("The rent is £1,250 a month.", "Die Miete ist 1.250 im Monat.", ("en", "de"), ["£1.250"]),
        ("Es sind -5 Grad.", "It is five degrees below zero.", ("de", "en"), []),
        ("Voir le n° 3 et le N°4.", "See No. 3 and No. 4.", ("fr", "en"), []),
        ("Il fait 20 °C.", "It is 20.", ("fr", "en"), ["20 °C"]),
        ("It is 20 °C and 5%.", "Il fait 20 degrés et 5 pour cent.", ("en", "fr"), []),
        ("Het is 20 °C en 5%.", "It is 20.", ("nl", "en"), ["20 °C", "5%"]),
        ("Cela coûte 50\u00a0€.", "Het kost 50 euro.", ("fr", "nl"), []),
        ("Gewinn: -250 €", "Profit: -€250", ("de", "en"), []),
        ("Vom 12.-14. Mai, Seiten 3 -5, A-7", "From 12 to 14 May, pages 3 to 5, A7", ("de", "en"), []),
    ],
)
def test_a_sign_is_there_as_a_sign_or_in_words(
    source: str, output: str, pair: tuple[str, str], expected: list[str]
) -> None:
    assert lacking(output, source, pair) == expected


def test_all_times_of_day_are_held_if_one_is_wrong() -> None:
    assert lacking("Hours: 2-18 pm", "Sprechzeit: 14-18 Uhr") == ["2 pm", "6 pm"]
    assert lacking("9 Uhr–5 Uhr geöffnet.", "Open 9 am–5 pm.", ("en", "de")) == ["9 Uhr", "17 Uhr"]
    assert lacking("Hours: 2–6 pm", "Sprechzeit: 14-18 Uhr") == []


CODES = st.sampled_from(["de", "en", "fr", "nl", "xx"])


@given(st.text(max_size=40) | st.text("12 .,:/€%kUhru\u202f°à ampř漢-", max_size=30), CODES, CODES)
def test_what_is_missing_is_in_order_and_within_the_source(text: str, language: str, target: str) -> None:
    spans = [(start, stop) for start, stop, _ in missing("", text, language, target)]
    ends = [0, *(end for span in spans for end in span), len(text)]
    assert ends == sorted(ends)


@pytest.mark.parametrize("sign", [":", "-", "/", "%-"])
def test_a_run_of_lost_numbers_is_held_once(sign: str) -> None:
    """Each of its numbers held the whole run, so that 36 kB of them took 200 MB, and a million characters 170 GB."""
    source = f"Haus {sign.join(map(str, range(10, 2_000)))}%"
    tracemalloc.start()
    parts = missing("", source, "de", "en")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parts
    assert peak < 2**22
