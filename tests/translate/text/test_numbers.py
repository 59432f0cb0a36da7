"""Numbers of a source are found in its translation by value, and times of day as times, in linear time."""

import re
from datetime import date
from decimal import Decimal

import pytest
from babel import Locale
from babel.numbers import format_decimal
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.growth import grows_linearly
from translate.inference.pipeline import missing
from translate.text import languages, numbers
from translate.text.numbers import masked_part

AMOUNTS = st.decimals(2, 10**12, places=2) | st.integers(2, 10**12).map(Decimal)
DATES = st.dates(date(1000, 1, 1))
PAIRS = st.sampled_from([("de", "en"), ("en", "de")])


def written(value: Decimal, language: str) -> str:
    """A number with the separators of a language, as Python and not the code under test writes it."""
    english = f"{value:,.2f}" if value % 1 else f"{int(value):,}"
    return english if language == "en" else english.translate(str.maketrans(",.", ".,"))


def lost(source: str, output: str, pair: tuple[str, str] = ("de", "en")) -> list[str]:
    return [number.text for number in numbers.missing(output, source, pair[1], pair[0])]


@given(AMOUNTS, AMOUNTS, PAIRS)
def test_a_number_is_there_if_its_value_is(one: Decimal, other: Decimal, pair: tuple[str, str]) -> None:
    source = written(one, pair[0])
    assert lost(f"Das {source} ist.", f"It {written(one, pair[1])} is.", pair) == []
    assume(one != other)
    assert lost(f"Das {source} ist.", f"It {written(other, pair[1])} is.", pair) == [source]


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Kapitel XIV ist lang.", "Chapter XIV is long."),
        ("Kapitel XIV ist lang.", "Chapter 14 is long."),
        ("Kapitel 14 ist lang.", "Chapter XIV is long."),
        ("Im XIX. Jahrhundert", "In the nineteenth century"),
        ("Das XXVIII. Treffen", "The XXVIIIth meeting"),
        ("Der 2. Weltkrieg", "World War II"),
        ("I X VL IIII XL MIX III-a", "nothing"),
    ],
)
def test_roman_numerals_are_numbers(german: str, english: str) -> None:
    assert lost(german, english) == []
    if english != "nothing":
        assert lost(english, german, ("en", "de")) == []
        assert len(lost(german, english.replace("XIV", "XVI").replace("14", "16").replace("nine", "eigh"))) == (
            "XIV" in german or "14" in german or "XIX" in german
        )


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 59), st.sampled_from(":."))
def test_times_with_seconds_are_times(hour: int, minutes: int, seconds: int, other: int, sign: str) -> None:
    german = f"um {hour}{sign}{minutes:02}{sign}{seconds:02} Uhr"
    for said in (seconds, other):
        english = f"at {hour % 12 or 12}:{minutes:02}:{said:02} {'ap'[hour >= 12]}m"
        assert bool(lost(german, english)) == bool(lost(english, german, ("en", "de"))) == (said != seconds)


@given(st.lists(st.integers(2, 10**9).map(Decimal), min_size=1, max_size=7), st.data(), PAIRS)
def test_each_number_needs_a_counterpart_of_its_own(
    values: list[Decimal], data: st.DataObject, pair: tuple[str, str]
) -> None:
    values = [*values, *values]
    shuffled = data.draw(st.permutations(values))
    source = " und ".join(written(value, pair[0]) for value in values)
    assert lost(source, " and ".join(written(value, pair[1]) for value in shuffled), pair) == []
    fewer = " and ".join(written(value, pair[1]) for value in shuffled[1:])
    assert lost(source, fewer, pair) == [written(shuffled[0], pair[0])]


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Es waren 530.530 Euro.", "There were 530 euros.", ["530.530"]),
        ("2.000.000 Euro", "2,000 euros", ["2.000.000"]),
        ("5.000.000 Bücher sind hier.", "5,000,000,000 books are here.", ["5.000.000"]),
        ("5 Bücher", "5,000 books", ["5"]),
        ("Es kostet 1.000,50 Euro.", "It costs 1,000,50 euros.", ["1.000,50"]),
        ("5 Millionen Menschen", "5 billion people", ["5"]),
        ("5 Millionen Menschen", "5 people", ["5"]),
        ("20 Leute", "8 people", ["20"]),
        ("Am 3.10.2024", "In October 2024", ["3.10.2024"]),
        ("von 1990 bis 1990", "in 1990", ["1990"]),
        ("Am 11.9.2001 geschah es.", "It happened on 111,9.2001.", ["11.9.2001"]),
        ("Am 15.12.2021", "On November 15, 2021", ["15.12.2021"]),
        ("Am 3.4.2020", "On March 4, 2020", ["3.4.2020"]),
        ("Am 7.5.2023", "On 7/6/2023", ["7.5.2023"]),
        ("Am 31.8.", "On 31 July", ["31.8"]),
        ("3/4 Liter", "4 litres", ["3/4"]),
        ("Der Berg ist 8.848 Meter hoch.", "The mountain is 8.848 metres high.", ["8.848"]),
        ("Die Strecke ist 42,195 km lang.", "The route is 42,195 km long.", ["42,195"]),
        ("Rund 1.000 Leute", "About 1.000 people", ["1.000"]),
        ("Er zahlt EUR 1.250.", "He pays EUR 1.250.", ["1.250"]),
        ("Es kostet im Monat 1.250 Euro.", "It costs 1.250 euros a month.", ["1.250"]),
        ("Ich kaufe 20k Aktien.", "I buy 20 shares.", ["20"]),
        ("Der Code ist 0042.", "The code is 42.", ["0042"]),
        ("007 kommt.", "7 is coming.", ["007"]),
        ("PLZ 01067", "postcode 1067", ["01067"]),
        ("Es kostet 12,34 Euro.", "It costs 34 euros 12.", ["12,34"]),
        ("Es steht 3:15.", "It is 15 to 3.", ["3:15"]),
        ("Nimm Version 1.2.3.", "Take version 3.2.1.", ["1.2.3"]),
        ("Version 3.10", "version 3.1", ["3.10"]),
        ("Version 3.1", "version 3.10", ["3.1"]),
        ("Das neue Python 3.10 ist da.", "The new Python 3.1 is here.", ["3.10"]),
        ("Python 3.10 ist da.", "Python 3.1 is here.", ["3.10"]),
        ("Etwa 1.250 kamen.", "About 1.250 came.", ["1.250"]),
        ("½ Liter", "a litre", ["½"]),
        ("1½ Jahre", "2 years", ["1½"]),
        ("2½ Stunden", "2 hours", ["2½"]),
        ("ein Raum mit 10 m²", "a room of 10 m", ["²"]),
        ("10⁶ Zellen", "106 cells", ["10", "⁶"]),
        ("50² Meter", "502 metres", ["50", "²"]),
        ("CO₂", "CO", ["₂"]),
        ("Schritt ③", "step", ["③"]),
        ("Kapitel Ⅳ", "chapter", ["Ⅳ"]),
        ("Kapitel ⅩⅣ", "chapter XV", ["ⅩⅣ"]),
        ("10⁻³", "10³", ["⁻³"]),
        ("2,5 Stunden", "two hours", ["2,5"]),
    ],
)
def test_a_number_of_another_value_is_missing(source: str, output: str, expected: list[str]) -> None:
    assert lost(source, output) == expected


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("530.530 Euro", "530,530 euros"),
        ("1.000,50 Euro", "1,000.50 euros"),
        ("2 Millionen Menschen", "2 million people"),
        ("2 Millionen Menschen", "two million people"),
        ("2,5 Mio. Euro", "€2.5m"),
        ("20.000 Kronen", "20 thousand crowns"),
        ("3,5 Milliarden Dollar", "$3.5 billion"),
        ("7 Milliarden", "7,000,000,000"),
        ("3 bis 5 Millionen", "3 to 5 million"),
        ("die 7-Milliarden-Marke", "the seven billion mark"),
        ("zwei Hunde und 2 Katzen", "two dogs and 2 cats"),
        ("der 3. Mai", "the third of May"),
        ("im 19. Jahrhundert", "in the nineteenth century"),
        ("am 30.11.2024", "on November 30, 2024"),
        ("am 30.11.24", "on November 30, 2024"),
        ("am 2024-05-17", "on May 17, 2024"),
        ("am 11.9.2001", "on 11 Sept. 2001"),
        ("am 05.03.2020", "on March 5, 2020"),
        ("am 7.5.", "on 7 May"),
        ("1/2 Liter", "half a litre"),
        ("3/4 Liter", "three quarters of a litre"),
        ("1/3 der Leute", "a third of the people"),
        ("in den 60er Jahren", "in the sixties"),
        ("in den sechziger Jahren", "in the 60s"),
        ("20k Aktien", "20,000 shares"),
        ("20k Aktien", "20k shares"),
        ("$2.3bn", "$2.3bn"),
        ("die 5m hohe Mauer", "the 5 metre wall"),
        ("die Version 3.125", "the version 3.125"),
        ("der Code 0042", "the code 0042"),
        ("in den 80er Jahren", "in the 1980s"),
        ("in den 1990ern", "in the '90s"),
        ("die Saison 1990/91", "the 1990/1991 season"),
        ("Version 1.2.3", "version 1.2.3"),
        ("Windows 8.1", "Windows 8.1"),
        ("Das Gerät erfüllt ISO 13.485.", "The device meets ISO 13.485."),
        ("Tel. 030 1234567", "phone 030 1234567"),
        ("die Räume 101, 102 und 103", "rooms 101, 102 and 103"),
        ("1990-2021", "1990–2021"),
        ("12,5 %", "12.5 per cent"),
        ("1 234 567 Menschen", "1,234,567 people"),
        ("50 Hunde, 50 Katzen", "50 dogs, fifty cats"),
        ("Ludwig XIV.", "Louis XIV"),
        ("am 2013.10.09", "on 10/9/2013"),
        ("die Version 3.0", "version 3"),
        ("Python 3.125 ist da.", "Python 3.125 is here."),
        ("Python 3.10 ist da.", "Python 3.10 is here."),
        ("½ Liter", "half a litre"),
        ("2,5 Stunden", "two and a half hours"),
        ("1,5 Millionen", "one and a half million"),
        ("1914–1918", "1914–18"),
        ("½ Liter", "1/2 litre"),
        ("Die TÃ¼r ist offen.", "The door is open."),  # a letter in the wrong encoding
        ("0,5 Liter", "½ litre"),
        ("1½ Jahre", "a year and a half"),
        ("anderthalb Jahre", "1½ years"),
        ("2½ Stunden", "two and a half hours"),
        ("2½ Stunden", "2.5 hours"),
        ("2 ½ Stunden", "2 1/2 hours"),
        ("¾ Liter", "three quarters of a litre"),
        ("⅓ Liter", "a third of a litre"),
        ("10 m²", "10 square metres"),
        ("10 Quadratmeter", "10 sq m"),
        ("10 m²", "10 m2"),
        ("5 m³", "5 cubic metres"),
        ("CO₂", "CO2"),
        ("10⁶ Zellen", "10⁶ cells"),
        ("Schritt ③", "step 3"),
        ("Kapitel Ⅳ", "chapter IV"),
        ("Kapitel ⅩⅣ", "chapter XIV"),
    ],
)
def test_another_form_of_a_number_is_the_same_number(german: str, english: str) -> None:
    assert lost(german, english) == []
    assert lost(english, german, ("en", "de")) == []


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Der Zug fährt um 8 Uhr ab.", "The train leaves at 8 p.m."),
        ("Die Sitzung beginnt um 08:15 Uhr.", "The meeting starts at 08:15 pm."),
        ("Um 8.15 Uhr", "At 8:15 PM"),
        ("Sprechzeit: 14-18 Uhr", "Hours: 2-18 pm"),
        ("Um 15 Uhr", "At 3 a.m."),
        ("Von 14 bis 18 Uhr", "From 2 am to 6 am"),
        ("Um 1 Uhr", "At 1 pm"),
        ("Um acht Uhr", "At 8 p.m."),
        ("Um acht Uhr", "At eight p.m."),
        ("Um 0:30 Uhr", "At 12:30 pm"),
        ("Um 7 Uhr und um 19 Uhr", "At 7 pm and at 7 p.m."),
        ("08:15", "8:15 pm"),
        ("um 8 uhr", "at 8 pm"),
        ("Um 8 Uhr", "At 20:00"),
        ("08:15 Uhr", "20:15"),
        ("Um 8 Uhr", "At 8 in the evening"),
        ("Um acht Uhr", "At eight o'clock in the evening"),
        ("Um 17 Uhr", "At 5 in the morning"),
        ("UM ACHT UHR", "AT 8 P.M."),
    ],
)
def test_the_other_half_of_the_day_is_another_time(source: str, output: str) -> None:
    assert lost(source, output)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("The meeting is at 5 pm.", "Die Sitzung ist um 5 Uhr."),
        ("Open 9 am–5 pm.", "9 Uhr–5 Uhr geöffnet."),
        ("Open 9 am–5 pm.", "9–5 Uhr geöffnet."),
        ("At 5:30 p.m.", "Um 5.30 Uhr"),
        ("At 7 am", "Um 19 Uhr"),
        ("At five p.m.", "Um fünf Uhr"),
        ("At 12 am", "Um 12 Uhr"),
        ("At 7 in the morning", "Um 19 Uhr"),
        ("At seven in the evening", "Um 7 Uhr"),
        ("At 3 o'clock in the afternoon", "Um 3 Uhr"),
        ("Between 2 and 6 pm", "Zwischen 2 und 6 Uhr"),
    ],
)
def test_half_a_day_is_not_lost_in_german(source: str, output: str) -> None:
    assert lost(source, output, ("en", "de"))


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Um 8 Uhr", "At 8 a.m."),
        ("Um 8 Uhr", "At 8 o'clock"),
        ("Um 8 Uhr", "At eight"),
        ("Um acht Uhr", "At eight o'clock"),
        ("Um ein Uhr", "At one am"),
        ("Um zwölf Uhr", "At noon"),
        ("Um zwanzig Uhr", "At eight in the evening"),
        ("Um 8 Uhr abends", "At 8 pm"),
        ("Heute Abend um 8 Uhr", "At 8 p.m. tonight"),
        ("Nachmittags um 3 Uhr", "At 3 in the afternoon"),
        ("Um 2 Uhr nachts", "At 2 a.m. at night"),
        ("14-18 Uhr", "2–6 pm"),
        ("14-18 Uhr", "14:00–18:00"),
        ("9–17 Uhr", "9 am–5 pm"),
        ("Von 10 bis 18 Uhr", "From 10 am to 6 p.m."),
        ("Um 8 Uhr 30", "At 8:30 am"),
        ("Um 18.30 Uhr", "At 6:30 pm"),
        ("12 Uhr", "noon"),
        ("0 Uhr", "midnight"),
        ("0:15 Uhr", "12:15 a.m."),
        ("24 Uhr", "12 am"),
        ("12 Uhr", "12 pm"),
        ("14:35", "2:35 p.m."),
        ("Um 8 Uhr kommen 20 Leute", "20 people come at 8 am"),
        ("Um 20 Uhr kommen 8 Leute", "8 people come at 8 pm"),
        ("Es steht 3:15", "It is 3:15"),
        ("Um 7 Uhr", "At 7 in the morning"),
        ("Um 19 Uhr", "At seven in the evening"),
        ("Um 13 Uhr", "At one in the afternoon"),
        ("Um 15 Uhr", "At 3 o'clock in the afternoon"),
    ],
)
def test_the_same_time_of_day_is_there_in_12_and_24_hours(german: str, english: str) -> None:
    assert lost(german, english) == []
    assert lost(english, german, ("en", "de")) == []


@pytest.mark.parametrize(
    ("source", "output", "is_lost"),
    [
        ("Um 8:15 Uhr", "At a quarter past eight.", False),
        ("Um 20.15 Uhr", "At quarter past eight in the evening", False),
        ("Um 8:15 Uhr", "At a quarter past eight pm", True),
        ("Um 8:15 Uhr", "At a quarter to eight", True),
        ("Um 8:30 Uhr", "At half past eight", False),
        ("Um 8:30 Uhr", "At half past nine", True),
        ("Um 23:45 Uhr", "At a quarter to twelve, as always", False),
        ("Um 7 Uhr 5 kommt er.", "He comes at 7:05.", False),
        ("Er kommt um 8 Uhr 35.", "He comes at 8:35.", False),
        ("Er kommt um 8 Uhr 5.", "He comes at 8:15.", True),
        ("Ab 8 Uhr 3 Personen", "5 persons from 8 o'clock", True),
    ],
)
def test_minutes_in_words_and_of_one_digit(source: str, output: str, is_lost: bool) -> None:
    assert bool(lost(source, output)) == is_lost


@pytest.mark.parametrize(
    ("source", "output", "is_lost"),
    [
        ("At 8:30 am", "Um halb neun", False),
        ("At 8:30 am", "Um halb acht", True),
        ("At 7:45 pm", "Um Viertel vor acht.", False),
        ("At 8:15 am", "Um viertel nach acht", False),
        ("At 8:45 am", "Um dreiviertel neun", False),
        ("At 12:30 am", "Um halb eins", False),
    ],
)
def test_german_times_that_are_counted_from_an_hour(source: str, output: str, is_lost: bool) -> None:
    assert bool(lost(source, output, ("en", "de"))) == is_lost


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Wir treffen uns um halb neun.", "We meet at half past eight."),
        ("Um halb neun", "At 8:30"),
        ("Um halb neun abends", "At 8:30 pm"),
        ("Um halb neun Uhr", "At half past eight"),
        ("Um halb eins", "At half-past twelve"),
        ("Um halb 9", "At 8:30 am"),
        ("Um Viertel vor neun", "At a quarter to nine"),
        ("Um Viertel nach acht", "At 8:15"),
        ("Um viertel acht", "At a quarter past seven"),
        ("Um drei Viertel acht", "At a quarter to eight"),
        ("Um fünf vor halb neun", "At twenty-five past eight"),
        ("Es ist 20 nach drei.", "It is twenty past three."),
        ("Um 9 h", "At 9 am"),
        ("Um 21 h", "At 9 p.m."),
        ("Um 9h30", "At 9:30"),
        ("Um 18.30 h", "At 6:30 pm"),
        ("Von 9 bis 17 h", "From 9 am to 5 pm"),
        ("Von 9 h bis 17 h", "From 9 am to 5 pm"),
        ("Es dauert 9 h.", "It takes 9 hours."),
        ("Im Viertel vor acht Jahren", "In the quarter eight years ago"),
        ("In einem Viertel nach zwei Tagen", "In a quarter after two days"),
    ],
)
def test_a_time_counted_from_an_hour_and_a_sign_for_hours_are_read(german: str, english: str) -> None:
    assert lost(german, english) == []
    assert lost(english, german, ("en", "de")) == []


@pytest.mark.parametrize(
    ("source", "output", "pair"),
    [
        ("Wir treffen uns um halb neun.", "We meet at half past nine.", ("de", "en")),
        ("Wir treffen uns um halb neun.", "We meet at nine.", ("de", "en")),
        ("Um halb 9", "At 9:30", ("de", "en")),
        ("Um halb neun", "At eight forty", ("de", "en")),
        ("Um Viertel vor neun", "At a quarter to ten", ("de", "en")),
        ("Um Viertel nach acht", "At a quarter to eight", ("de", "en")),
        ("Um 9 h", "At 9 pm", ("de", "en")),
        ("Ab 18 h", "From 6 am", ("de", "en")),
        ("Um 9h30", "At 9:30 pm", ("de", "en")),
        ("Um 18.30 h", "At 6:30 am", ("de", "en")),
        ("Von 9 bis 17 h", "From 9 am to 5 am", ("de", "en")),
        ("At half past eight", "Um halb acht", ("en", "de")),
        ("At half past eight", "Um acht Uhr", ("en", "de")),
        ("At a quarter to nine", "Um Viertel nach neun", ("en", "de")),
        ("At a quarter past eight", "Um Viertel vor acht", ("en", "de")),
        ("At twenty past three", "Um 20 nach vier", ("en", "de")),
    ],
)
def test_another_time_counted_from_an_hour_is_missing(source: str, output: str, pair: tuple[str, str]) -> None:
    assert missing(output, source, *pair)


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Um zehn vor fünf", "At ten to five"),
        ("Es ist fünf vor neun.", "It’s five to nine."),
        ("Es ist schon fünf vor neun.", "It is already five minutes to nine."),
        ("Um 5 vor 8", "At 7:55 am"),
        ("Um zwanzig vor neun", "At eight forty"),
        ("Um zwanzig nach acht", "At twenty past eight"),
        ("Er kam 20 nach acht an.", "He arrived at twenty past eight."),
        ("Um sieben Minuten vor acht", "At seven minutes to eight"),
        ("Um 23 Minuten nach vier", "At 23 minutes past four"),
        ("Um fünfundzwanzig nach acht", "At twenty-five past eight"),
        ("Um zehn vor fünf", "We close at four fifty"),
        ("Um fünf nach halb neun", "At 8:35"),
        ("Um dreiviertel neun", "At a quarter to nine"),
        ("Um Viertel nach Mitternacht", "At a quarter past midnight"),
        ("Eine Viertelstunde nach Mitternacht", "A quarter past midnight"),
        ("Es ist zehn Uhr zwanzig.", "It is twenty minutes past ten."),
        ("Um sieben Uhr fünfundvierzig", "At 7:45"),
        ("Um 12 Uhr mittags", "At noon"),
        ("Um Mitternacht", "At midnight"),
        ("Um 12 Uhr nachts", "At midnight"),
        ("Um null Uhr", "At midnight"),
        ("Zwei Drittel der Leute", "2/3 of the people"),
        ("Von zehn bis fünf", "From ten to five"),
        ("Von 9 bis 17 Uhr", "From nine to five"),
        ("Es waren 5 bis 8 Leute.", "It was 5 to 8 people."),
        ("eins zu eins", "at one to one"),
        ("Von 2 nach 3", "From 2 to 3"),
    ],
)
def test_minutes_before_and_after_an_hour_are_a_time_and_ranges_are_none(german: str, english: str) -> None:
    assert missing(english, german, "de", "en") == []
    assert missing(german, english, "en", "de") == []


@pytest.mark.parametrize(
    ("source", "output", "pair"),
    [
        ("Um zehn vor fünf", "At ten past five", ("de", "en")),
        ("Um zehn vor fünf", "At ten to six", ("de", "en")),
        ("Um zwanzig nach acht", "At 8:02", ("de", "en")),
        ("Es ist fünf vor neun.", "It is nine.", ("de", "en")),
        ("Um zehn vor Mitternacht", "At ten past midnight", ("de", "en")),
        ("Um zehn Uhr zwanzig", "At 10:12", ("de", "en")),
        ("It's only ten to seven.", "Es ist nur zehn bis sieben.", ("en", "de")),
        ("At twenty-three minutes past four", "Um 23 Minuten vor vier", ("en", "de")),
        ("At noon", "Um Mitternacht", ("en", "de")),
        ("Um 12 Uhr mittags", "At midnight", ("de", "en")),
        ("At midnight", "Um zwölf Uhr mittags", ("en", "de")),
        ("Um Mitternacht", "At noon", ("de", "en")),
        ("om tien voor vijf", "at ten past five", ("nl", "en")),
        ("à neuf heures moins dix", "at ten past nine", ("fr", "en")),
    ],
)
def test_other_minutes_before_and_after_an_hour_are_missing(source: str, output: str, pair: tuple[str, str]) -> None:
    assert missing(output, source, *pair)


@pytest.mark.parametrize(
    ("source", "output", "pair"),
    [
        ("om tien voor vijf", "at ten to five", ("nl", "en")),
        ("om 20 uur 's avonds", "at 8 pm", ("nl", "en")),
        ("à 20 h du soir", "at 8 pm", ("fr", "en")),
        ("om vijf voor half negen", "at 8:25", ("nl", "en")),
        ("at ten to five", "om tien voor vijf", ("en", "nl")),
        ("à neuf heures moins dix", "at ten to nine", ("fr", "en")),
        ("à huit heures moins vingt-cinq", "at 7:35", ("fr", "en")),
    ],
)
def test_minutes_before_an_hour_are_read_in_french_and_dutch(source: str, output: str, pair: tuple[str, str]) -> None:
    assert missing(output, source, *pair) == []


@given(st.integers(1, 12), st.integers(1, 12))
def test_halb_is_half_an_hour_before(hour: int, other: int) -> None:
    words = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
    source = f"Der Zug fährt um halb {words[hour % 12]}."  # hour:30
    for output in (f"The train leaves at {other}:30.", f"The train leaves at half past {other}."):
        assert (lost(source, output) == []) == (hour == other)


@given(st.integers(0, 23), st.integers(0, 23), st.integers(0, 59))
def test_every_time_of_day_has_one_counterpart(hour: int, other: int, minutes: int) -> None:
    half = f"{other % 12 or 12}:{minutes:02} {'ap'[other >= 12]}m"
    german, english = f"Es ist {hour}:{minutes:02} Uhr.", f"It is {half}."
    assert (lost(german, english) == []) == (hour == other)
    assert (lost(english, german, ("en", "de")) == []) == (hour == other)


@pytest.mark.parametrize(
    ("source", "pair", "expected"),
    [
        ("530.530 Euro", ("de", "en"), "530,530"),
        ("1,234 people", ("en", "de"), "1.234"),
        ("2.000.000 Euro", ("de", "en"), "2,000,000"),
        ("1.234,56 €", ("de", "en"), "1,234.56 €"),
        ("1.000,50 Euro", ("de", "en"), "1,000.50"),
        ("1,234.56 dollars", ("en", "de"), "1.234,56"),
        ("12,5 %", ("de", "en"), "12.5 %"),
        ("3.5 %", ("de", "en"), "3.5 %"),
        ("3,5 %", ("en", "de"), "3,5 %"),
        ("1.2.3", ("de", "en"), "1.2.3"),
        ("11.9.2001", ("de", "en"), "11.9.2001"),
        ("1990-2021", ("de", "en"), "1990-2021"),
        ("8 Uhr", ("de", "en"), "8 am"),
        ("18.30 Uhr", ("de", "en"), "6:30 pm"),
        ("5 p.m.", ("en", "de"), "17 Uhr"),
        ("12:15 am", ("en", "de"), "0:15 Uhr"),
        ("8 o'clock", ("en", "de"), "8"),
        ("halb neun", ("de", "en"), "8:30"),
        ("quarter to nine", ("en", "de"), "8:45"),
        ("7 in the evening", ("en", "de"), "19 Uhr"),
        ("£1,250", ("en", "de"), "£1.250"),
        ("$1.5m", ("en", "de"), "$1,5m"),
        ("20k", ("de", "en"), "20k"),
        ("-1.250 €", ("de", "en"), "-1,250 €"),
        ("1:25.000 groß", ("de", "en"), "1:25,000"),
        ("10,000-12,500 people", ("en", "de"), "10.000-12.500"),
        ("3,5–4 t", ("de", "en"), "3.5–4"),
        ("1.250-1.5 t", ("de", "en"), "1.250-1.5"),
        ("m² groß", ("de", "en"), "m²"),
        ("5′ lang", ("de", "en"), "5′"),
    ],
)
def test_a_time_and_a_number_with_separators_of_its_language_are_held_in_those_of_the_target(
    source: str, pair: tuple[str, str], expected: str
) -> None:
    number = numbers.find(source, pair[0])[0]
    start, stop, text = masked_part(number, source, *pair)
    assert text == expected
    assert (start, source[start:stop][0]) == (0, source[0])


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("The $1.5m house", "Das 1,5-Dollar-Haus"),
        ("We have 20k followers.", "Wir haben 20 Nachfolger."),
        ("We sold 1,234 units.", "Wir verkauften 1,234 Einheiten."),
        ("Revenue rose to $2.3bn.", "Der Umsatz stieg auf 2,3 Millionen $."),
        ("On May 5, 1999", "Am 5.5.1998"),
    ],
)
def test_a_german_number_of_another_value_is_missing(source: str, output: str) -> None:
    assert lost(source, output, ("en", "de"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Python 3.125 ist da.", "3.125"),
        ("Rund 3.125 Leute sind da.", "3,125"),
        ("Tel. 0123-456.789 ist besetzt.", "0123-456.789"),
    ],
)
def test_a_lost_number_that_may_be_a_version_or_of_a_phone_stays_as_written(source: str, expected: str) -> None:
    number, *_ = numbers.missing("It is there.", source, "en", "de")
    assert masked_part(number, source, "de", "en")[2] == expected


@given(st.integers(10, 97), st.sampled_from(["und", "oder"]), st.sampled_from([", ", " ", " and "]))
def test_a_list_without_spaces_is_no_decimal_number(first: int, word: str, between: str) -> None:
    source = f"Es fehlen {first},{first + 1} {word} {first + 2} Schrauben."
    (number, *others) = numbers.missing(f"{first}.{first + 1} and {first + 2} screws are missing.", source, "en", "de")
    assert (number.text, others) == (f"{first},{first + 1}", [])
    held = masked_part(number, source, "de", "en")[2]
    assert lost(source, f"{held} and {first + 2} screws are missing.") == []
    assert lost(source, f"{first}{between}{first + 1} and {first + 2} screws are missing.") == []


SEVERAL = st.lists(st.integers(13, 99), min_size=3, max_size=6, unique=True)  # no months, and no groups of 3 digits


@given(SEVERAL, PAIRS)
def test_commas_alone_join_numbers_to_a_list(values: list[int], pair: tuple[str, str]) -> None:
    first, *_, last = joined = [*map(str, values)]
    source = f"{','.join(joined)}."
    for between in (",", ", ", " "):
        assert lost(source, between.join(joined), pair) == []
    assert lost(source, ".".join(joined), pair) == lost(source, "", pair) == joined
    assert lost(source, ", ".join(joined[:-1]), pair) == [last]
    assert lost(", ".join(joined), ".".join(joined), pair) == joined
    number = numbers.missing("", source, pair[1], pair[0])[0]
    assert masked_part(number, source, *pair)[2] == ",".join(joined)


@given(st.lists(st.integers(2, 99), min_size=3, max_size=5), PAIRS)
def test_a_version_is_copied(values: list[int], pair: tuple[str, str]) -> None:
    version = ".".join(map(str, [*values, 31]))  # a part that can be no month is last
    assert lost(version, version, pair) == []
    for between in (",", ", "):
        assert lost(version, version.replace(".", between), pair) == [version]
    assert lost(version, f"{version}.2", pair) == [version]


@pytest.mark.parametrize("text", ["15,16 und 18 Meter", "1,2 und 3 Prozent", "15,16 Meter, und 17", "15,17 und 18"])
def test_other_decimal_numbers_before_another_number_stay_decimal(text: str) -> None:
    assert lost(text, text.replace(",", ".", 1)) == []


@given(st.integers(2, 99), st.integers(10, 99), st.sampled_from([" euros ", ".", " "]))
def test_the_parts_of_a_number_keep_their_order(whole: int, cents: int, between: str) -> None:
    assume(whole != cents)
    assert lost(f"Es kostet {whole},{cents} Euro.", f"It costs {whole}{between}{cents}") == []
    assert lost(f"Es kostet {whole},{cents} Euro.", f"It costs {cents}{between}{whole}")


@given(DATES, DATES, st.sampled_from(["%B %-d, %Y", "%-d %b %Y", "%m/%d/%Y", "%Y-%m-%d"]))
def test_a_date_is_there_if_day_month_and_year_are(one: date, other: date, form: str) -> None:
    source = f"Am {one.day}.{one.month}.{one:%Y} war es."
    assert lost(source, f"It was on {one.strftime(form)}.") == []
    for commas in (f"{one.day},{one.month},{one:%Y}", f"{one.day:02},{one.month:02},{one:%y}"):
        assert lost(source, f"It was on {commas}.")
    assume((other.year, {other.day, other.month}) != (one.year, {one.day, one.month}))
    assert lost(source, f"It was on {other.strftime(form)}.")


@given(DATES)
def test_a_day_is_no_decimal_number(day: date) -> None:
    """In English, 15.11 before a full stop is one."""
    source, said = f"Das war am {day.day}.{day.month:02}. so.", f"That was on {day.day},{day.month:02} so."
    assert lost(source, said)
    assert lost(source, said.replace(",", ".")) == lost(source, f"That was on {day:%-d %B}.") == []
    assert lost(f"It is {day.day}.{day.month:02}.", f"Es ist {day.day},{day.month:02}.", ("en", "de")) == []


@pytest.mark.parametrize(
    "unit",
    [
        "Haus 1990-2021-5 ",
        "7",
        "12 ",
        "123.456.",
        "1,",
        "1 234 ",
        "8:15 Uhr ",
        "8 bis ",
        "2 Millionen ",
        "5€",
        "-",
        "1-",
        "m²",
        "½",
        "2½ ",
        "Ⅳ",
        "Haus 1.250 ",
        "halb neun ",
        "um 9h30 ",
        "a 8 ",
        "um zehn vor acht ",
        "acht Uhr zwanzig ",
    ],
)
def test_the_time_is_linear_in_the_length(unit: str) -> None:
    """36 kB of the first unit took half a minute."""

    def work(size: int) -> object:
        text = unit * (size // len(unit))
        return numbers.missing(text[: len(text) // 2], f"{text} 77", "en", "de")

    assert grows_linearly(work, 1_250, 10_000)


def cldr(value: Decimal, language: str) -> str:
    """A number as CLDR writes it in a language."""
    return format_decimal(value, format="#,##0.00" if value % 1 else "#,##0", locale=language)


OTHER_PAIRS = st.sampled_from([("fr", "en"), ("en", "fr"), ("nl", "en"), ("en", "nl"), ("fr", "nl"), ("de", "fr")])


@pytest.mark.parametrize("language", ["de", "en", "fr", "nl"])
def test_the_separators_and_months_of_a_language_are_those_of_cldr(language: str) -> None:
    rules, locale = languages.find(language), Locale.parse(language)
    assert rules
    assert rules.decimal == locale.number_symbols["latn"]["decimal"]
    assert rules.group == locale.number_symbols["latn"]["group"]
    for width in ("wide", "abbreviated"):
        for month, name in locale.months["format"][width].items():
            assert next(i for i, words in enumerate(rules.months, 1) if re.match(rf"(?:{words})", name)) == month


@pytest.mark.parametrize(
    ("source", "output", "is_lost"),
    [
        ("1/5 der Leute", "on 1 May the people", True),
        ("2/5 der Leute", "on 2 May the people", True),
        ("3/4 Liter", "on April 3", True),
        ("3/4 Liter", "three quarters of a litre", False),
        ("1/5 der Leute", "one in five people", False),
        ("2/5 der Leute", "two fifths of the people", False),
        ("1/2 Liter", "half a litre", False),
        ("am 3/4/2020", "on April 3, 2020", False),
    ],
)
def test_a_fraction_is_no_date_where_no_date_has_a_slash(source: str, output: str, *, is_lost: bool) -> None:
    assert (lost(source, output) != []) == is_lost
    assert "/" not in Locale.parse("de").date_formats["short"].pattern
    assert lost("on 1/5", "am 1. Mai", ("en", "de")) == []  # which may be either in English


@given(AMOUNTS, AMOUNTS, OTHER_PAIRS)
def test_a_number_of_another_language_is_there_if_its_value_is(
    one: Decimal, other: Decimal, pair: tuple[str, str]
) -> None:
    source = cldr(one, pair[0])
    assert lost(f"x {source} x.", f"x {cldr(one, pair[1])} x.", pair) == []
    assume(one != other)
    assert lost(f"x {source} x.", f"x {cldr(other, pair[1])} x.", pair) == [source]


@given(AMOUNTS, OTHER_PAIRS)
def test_a_held_number_is_written_as_cldr_does(value: Decimal, pair: tuple[str, str]) -> None:
    source = cldr(value, pair[0])
    (number,) = numbers.find(source, pair[0])
    assert masked_part(number, source, *pair) == (0, len(source), cldr(value, pair[1]))


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f"])
@pytest.mark.parametrize(
    ("french", "english"),
    [
        ("à 14 h 30", "at 2:30 p.m."),
        ("à 14h30", "at 2:30 pm"),
        ("à 14 h", "at 2 o'clock in the afternoon"),
        ("à 8 heures et demie", "at half past eight"),
        ("à 9 h moins le quart", "at a quarter to nine"),
        ("à 8 heures du soir", "at 8 p.m."),
        ("à huit heures", "at eight o'clock"),
        ("à midi", "at noon"),
        ("8 heures de travail", "eight hours of work"),
        ("dans 30 h", "in 30 hours"),
        ("1 234 567 personnes", "1,234,567 people"),
        ("3,5 millions d'euros", "3.5 million euros"),
        ("5 M€", "5 million euros"),
        ("2 milliards", "2 billion"),
        ("le 1er mai 2020", "on May 1, 2020"),
        ("quatre-vingt-dix-sept ans et 97 jours", "ninety-seven years and 97 days"),
        ("au XXe siècle", "in the twentieth century"),
        ("de 8 à 10 h", "from 8 to 10 am"),
        ("dans les années 1990", "in the 1990s"),
        ("la version 3.10", "version 3.10"),
    ],
)
def test_french_numbers_and_times(french: str, english: str, space: str) -> None:
    written = re.sub(r"(?<=\d) (?=\d|h|M)", space, french)
    assert lost(written, english, ("fr", "en")) == []


@pytest.mark.parametrize(
    ("french", "english", "expected"),
    [
        ("à 14 h 30", "at 3:30 p.m.", ["14"]),
        ("à 14h30", "at 2 pm", ["14"]),
        ("à 8 heures et demie", "at 8 am", ["8"]),
        ("à 8 h", "at 8 pm", ["8"]),
        ("à 8 h du soir", "at 8 am", ["8"]),
        ("à 8 h 30 du matin", "at 8:30 pm", ["8"]),
        ("à 3 h de l'après-midi", "at 3 am", ["3"]),
        ("à huit heures", "at 9 am", ["huit"]),
        ("8 heures de travail", "six hours of work", ["8"]),
        ("1 234 personnes", "234 people", ["1 234"]),
        ("3,5 millions", "3.5 billion", ["3,5"]),
        ("3,125 litres", "3,125 litres", ["3,125"]),
    ],
)
def test_a_french_number_of_another_value_is_missing(french: str, english: str, expected: list[str]) -> None:
    found = numbers.missing(english, french, "en", "fr")
    assert [french[number.start : number.stop] for number in found] == expected


@pytest.mark.parametrize(
    ("source", "output", "pair", "is_lost"),
    [
        ("in the 20th century", "au XXe siècle", ("en", "fr"), False),
        ("in the 20th century", "au XIXe siècle", ("en", "fr"), True),
        ("There are 6 in life.", "Il y en a dans la vie.", ("en", "fr"), True),
        ("at 8:30 pm", "à vingt heures trente", ("en", "fr"), False),
        ("at 12:30 pm", "à midi et demi", ("en", "fr"), False),
        ("May 5, 2020", "le 5 mai 2020", ("en", "fr"), False),
        ("05/06/2020", "le 6 mai 2020", ("en", "fr"), False),
        ("1,234 people", "1,234 personnes", ("en", "fr"), True),
        ("12 eggs", "une douzaine d'œufs", ("en", "fr"), False),
        ("at 2:30 pm", "om 14.30 uur", ("en", "nl"), False),
        ("at 2:30 pm", "om half drie", ("en", "nl"), False),
        ("at 2:30 pm", "om half vier", ("en", "nl"), True),
        ("om 14.30 uur", "at 2:30 pm", ("nl", "en"), False),
        ("om acht uur", "at 8 pm", ("nl", "en"), True),
        ("om 8 uur 's avonds", "at 8 pm", ("nl", "en"), False),
        ("om 8 uur 's avonds", "at 8 am", ("nl", "en"), True),
        ("om 8 uur \u2019s ochtends", "at 8 pm", ("nl", "en"), True),
        ("om 11 uur 's nachts", "at 11 pm", ("nl", "en"), False),
        ("om 14.30 u.", "at 2:30 pm", ("nl", "en"), False),
        ("8 uur slapen", "sleep eight hours", ("nl", "en"), False),
        ("3 miljard", "3 billion", ("nl", "en"), False),
        ("eenentwintig en 21", "twenty-one and 21", ("nl", "en"), False),
        ("om 8 uur", "à 8 h", ("nl", "fr"), False),
        ("97 people", "quatre-vingt-dix-sept personnes", ("en", "fr-CA"), False),
        ("5 milijona", "5 million", ("xx", "en"), False),
        ("5 milijona", "6 million", ("xx", "en"), True),
        ("5 million", "5 milijona", ("en", "xx"), False),
    ],
)
def test_numbers_and_times_of_other_languages(source: str, output: str, pair: tuple[str, str], is_lost: bool) -> None:
    assert bool(lost(source, output, pair)) == is_lost


@given(st.integers(0, 23), st.integers(0, 23), st.integers(1, 59), st.sampled_from(["en", "de", "nl"]))
def test_every_french_time_has_one_counterpart(hour: int, other: int, minutes: int, language: str) -> None:
    forms = {"en": f"{other % 12 or 12}:{minutes:02} {'ap'[other >= 12]}m", "de": f"{other}:{minutes:02} Uhr"}
    written = forms.get(language, f"{other}.{minutes:02} uur")
    assert (lost(f"à {hour} h {minutes:02}", f"x {written}", ("fr", language)) == []) == (hour == other)
    assert (lost(f"x {written}", f"à {hour} h {minutes:02}", (language, "fr")) == []) == (hour == other)


@pytest.mark.parametrize(
    ("source", "pair", "expected"),
    [
        ("à 14 h 30", ("fr", "en"), "2:30 pm"),
        ("at 2:30 pm", ("en", "fr"), "14\u00a0h\u00a030"),
        ("um 20 Uhr", ("de", "fr"), "20\u00a0h"),
        ("at 2:30 pm", ("en", "nl"), "14.30 uur"),
        ("8 heures de travail", ("fr", "en"), "8"),
        ("8 heures du soir", ("fr", "en"), "8 pm"),
        ("8 uur slapen", ("nl", "en"), "8"),
        ("3.5 %", ("fr", "en"), "3.5 %"),
        ("at 2:30 pm", ("en", "xx"), "2:30"),
        ("1,234.5", ("en", "xx"), "1,234.5"),
    ],
)
def test_times_and_durations_of_other_languages_are_held(source: str, pair: tuple[str, str], expected: str) -> None:
    assert masked_part(numbers.find(source, pair[0])[0], source, *pair)[2] == expected


@pytest.mark.parametrize("mixed", ["1 1/2", "1\u00bd", "1 \u00bd", "1,5"])
@pytest.mark.parametrize(
    ("translation", "is_same"),
    [
        ("{} cups", True),
        ("1 1/2 cups", True),
        ("1\u00bd cups", True),
        ("1.5 cups", True),
        ("one and a half cups", True),
        ("a cup and a half", True),
        ("1 and 1/2 cups", True),
        ("1/2 cups", False),
        ("\u00bd cups", False),
        ("0.5 cups", False),
        ("1 cup", False),
        ("a cup", False),
        ("11/2 cups", False),
    ],
)
def test_the_one_before_a_fraction_may_be_an_article_only_in_words(mixed: str, translation: str, is_same: bool) -> None:
    if mixed == "1,5":
        translation = translation.replace("{}", "1.5")
    found = numbers.missing(translation.replace("{}", mixed), f"{mixed} Tassen", "en", "de")
    assert [number.text for number in found] == ([] if is_same else [mixed])


@pytest.mark.parametrize(("whole", "over", "under"), [(2, 1, 4), (3, 3, 8), (12, 5, 16), (1, 2, 3)])
def test_a_whole_number_with_a_fraction_is_one_number(whole: int, over: int, under: int) -> None:
    text = f"{whole} {over}/{under}"
    assert [number.text for number in numbers.find(f"Das sind {text} Tassen.", "de")] == [text]
    assert numbers.missing(f"That is {text} cups.", f"Das sind {text} Tassen.", "en", "de") == []
    if under % 3:
        assert numbers.missing(f"That is {whole + over / under} cups.", f"Das sind {text} Tassen.", "en", "de") == []
    for wrong in (f"{over}/{under}", f"{whole}", f"{whole + 1} {over}/{under}"):
        assert numbers.missing(f"That is {wrong} cups.", f"Das sind {text} Tassen.", "en", "de")


@pytest.mark.parametrize("text", ["2024 1/2", "3 5/4", "10.000 1/2", "4-1 1/2", "8 1/2/24", "7 1/2.5", "3 0/4"])
def test_other_numbers_beside_a_slash_are_apart(text: str) -> None:
    assert len(numbers.find(text, "de")) > 1


@pytest.mark.parametrize(
    ("source", "translation", "pair", "is_same"),
    [
        ("1/5 der Leute", "a fifth of the people", "de-en", True),
        ("1/5 der Leute", "one fifth of the people", "de-en", True),
        ("1/5 der Leute", "1 in 5 people", "de-en", True),
        ("1/5 der Leute", "0.2 of the people", "de-en", True),
        ("1/5 der Leute", "5 people", "de-en", False),
        ("1/5 der Leute", "people on 5 March", "de-en", False),
        ("1/2 der Leute", "half of the people", "de-en", True),
        ("1/2 der Leute", "2 people", "de-en", False),
        ("on 1/5", "am 5. Januar", "en-de", True),
        ("on 1/5", "am 1. Mai", "en-de", True),
        ("on 1/5", "am 5. M\u00e4rz", "en-de", False),
        ("1/5 of it", "ein F\u00fcnftel davon", "en-de", True),
    ],
)
def test_the_one_of_a_fraction_may_be_an_article_only_in_words(
    source: str, translation: str, pair: str, is_same: bool
) -> None:
    own, target = pair.split("-")
    assert (numbers.missing(translation, source, target, own) == []) == is_same
