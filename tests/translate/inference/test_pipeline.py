"""Passages are restored completely; guards change only the sentences that need it, and flag them."""

import re
import unicodedata
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.characters import readable
from translate.text.checks import NO_REPEAT
from translate.text.passages import Passages
from translate.text.placeholders import symbol
from translate.text.translation import Translation

SYMBOLS = [symbol(i) for i in range(16)]
Speak = Callable[[str], str]


class Model:
    """A model defined by a function; without repetition it outputs each word once."""

    def __init__(self, speak: Speak, confidence: Callable[[str], float] = lambda _: -0.5) -> None:
        self.speak, self.confidence = speak, confidence
        self.asked: list[str] = []

    def search(self, texts: Sequence[str], no_repeat: int) -> dict[str, Translation]:
        self.asked += texts
        return {text: self.sentence(text, no_repeat) for text in texts}

    def sentence(self, text: str, no_repeat: int) -> Translation:
        said = self.speak(text)
        if no_repeat:
            said = " ".join(dict.fromkeys(said.split()))
        tokens = tuple(said.split())
        return Translation(said, log_prob=self.confidence(text) * (len(tokens) + 1), tokens=tokens, n_searches=1)


def translated(model: Model, *texts: str, n_symbols: int = 16, guarded: bool = True) -> list[Translation]:
    return Passages(model.search, "de", "en", n_symbols, guarded).translate(texts)


def swapped(text: str) -> str:
    return re.sub(r"[^\W\d_]+", lambda match: match[0].swapcase(), text)


def test_sentences_are_translated_one_by_one_and_the_space_between_them_stays() -> None:
    model = Model(swapped)
    (sentence,) = translated(model, "  Das ist gut.  Komm her! ")
    assert sentence.text == "  dAS IST GUT.  kOMM HER! "
    assert model.asked == ["Das ist gut.", "Komm her!"]
    assert sentence.log_prob == pytest.approx(-0.5 * (4 + 3))
    assert (sentence.n_searches, len(sentence.tokens), sentence.confidence) == (2, 5, pytest.approx(-0.5))


def test_a_sentence_in_several_passages_is_translated_once() -> None:
    model = Model(swapped)
    translated(model, "Ja. Nein.", "Nein. Ja.", "Ja.")
    assert sorted(model.asked) == ["Ja.", "Nein."]


@pytest.mark.parametrize(
    "text", ["", "  ", "...", "3,50", "🙂", "- 7 -", "{0} %s", "&nbsp;", "&laquo;", "<b>&nbsp;</b>"]
)
@pytest.mark.parametrize("n_symbols", [0, 16])
def test_text_without_words_never_reaches_the_model(text: str, n_symbols: int) -> None:
    model = Model(swapped)
    (sentence,) = translated(model, text, n_symbols=n_symbols)
    assert (sentence.text, model.asked, sentence.log_prob, sentence.confidence) == (text, [], 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.234,50 €", "1,234.50 €"), ("12,5 %", "12.5 %"), ("1.234", "1.234"), ("7.3.2024", "7.3.2024")],
)
def test_an_amount_alone_gets_the_separators_of_the_target(text: str, expected: str) -> None:
    model = Model(swapped)
    (amount,) = translated(model, text)
    assert (amount.text, model.asked) == (expected, [])
    assert amount.flags == (("copied", "numbers") if text != expected else ("copied",))


def test_only_text_in_another_language_is_kept_and_flagged() -> None:
    model = Model(swapped)
    english = "This is the dog that you have seen."
    (sentence,) = translated(model, f"Hallo du. {english}")
    assert sentence.text == f"hALLO DU. {english}"
    assert sentence.flags == ("language",)
    assert model.asked == ["Hallo du."]


def test_a_loop_is_broken_and_flagged() -> None:
    model = Model(lambda text: "ha " * 9 if "Witz" in text else text)
    mended, plain = translated(model, "Ein Witz.", "Ein Ernst.")
    assert (mended.text, mended.flags) == ("ha", ("repetition",))
    assert (plain.text, plain.flags) == ("Ein Ernst.", ())


def test_a_loop_that_cannot_be_broken_stays_as_it_was() -> None:
    model = Model(lambda _: "hahahahahahahahahaha")
    (sentence,) = translated(model, "Ein Witz.")
    assert (sentence.text, sentence.flags) == ("hahahahahahahahahaha", ("repetition",))


def test_no_sentence_gets_an_empty_translation() -> None:
    model = Model(lambda text: "" if text[0].islower() else text.upper())
    found, lost = translated(model, "oder nicht", "ja"), translated(Model(lambda _: " "), "Das ist gut.")
    assert [(one.text, one.flags, one.suspicious) for one in found] == [
        ("ODER NICHT", ("empty",), True),
        ("JA", ("empty",), True),
    ]
    assert [(one.text, one.flags) for one in lost] == [("Das ist gut.", ("empty",))]


def test_the_second_search_forbids_repetition() -> None:
    seen: list[tuple[list[str], int]] = []

    def search(texts: Sequence[str], no_repeat: int) -> dict[str, Translation]:
        seen.append((list(texts), no_repeat))
        found = Translation("a b", log_prob=-1.0, tokens=("a", "b"), n_searches=1, flags=("length",))
        return dict.fromkeys(texts, found)

    (sentence,) = Passages(search, "de", "en").translate(["Ja."])
    assert seen == [(["Ja."], 0), (["Ja."], NO_REPEAT)]
    assert sentence.flags == ("length", "repetition")


@pytest.mark.parametrize("text", ["guten morgen", "Guten morgen", "es war einmal ein kleiner hund im"])
def test_a_few_lower_case_german_words_are_also_tried_with_capitals(text: str) -> None:
    model = Model(str, lambda text: -0.1 if text.istitle() else -0.9)
    (sentence,) = translated(model, text)
    few = text.islower() and len(text.split()) <= 6
    assert (sentence.text, "capitals" in sentence.flags) == (text.title() if few else text, few)


def test_text_in_capitals_is_searched_in_lower_case_too_and_the_output_is_unchanged() -> None:
    model = Model(str, lambda text: -0.1 if text == "UNESCO" else -0.5)
    shouted, name, abbreviation = translated(model, "HALLO!", "UNESCO", "USA")
    assert model.asked == ["Hallo!", "HALLO!", "Unesco", "UNESCO", "USA"]
    assert (shouted.text, shouted.flags) == ("Hallo!", ("capitals",))
    assert (name.text, name.flags) == ("UNESCO", ())
    assert (abbreviation.text, abbreviation.flags) == ("USA", ())


def test_placeholders_go_through_the_model_as_symbols() -> None:
    model = Model(lambda text: " ".join(reversed(swapped(text).split())))
    (sentence,) = translated(model, "Hallo {name} und %s dort")
    assert model.asked == [f"Hallo {SYMBOLS[0]} und {SYMBOLS[1]} dort"]
    assert (sentence.text, sentence.flags) == ("DORT %s UND {name} hALLO", ("echo",))


@pytest.mark.parametrize("loss", [lambda text: text.replace(SYMBOLS[0], ""), lambda text: text + SYMBOLS[1]])
def test_a_lost_or_invented_placeholder_keeps_all_at_their_source_positions(loss: Speak) -> None:
    model = Model(lambda text: loss(swapped(text)) if SYMBOLS[0] in text else swapped(text))
    (sentence,) = translated(model, "Hallo {name} und Tag")
    assert (sentence.text, sentence.flags) == ("hALLO {name} UND tAG", ("placeholders",))


def test_a_placeholder_invented_by_the_model_is_removed() -> None:
    model = Model(lambda text: f"{swapped(text)} {SYMBOLS[2]}")
    plain, holding = translated(model, "Guten Tag", "Hallo {name}")
    assert (plain.text, plain.flags) == ("gUTEN tAG", ("placeholders",))
    assert (holding.text.split(), holding.flags) == (["hALLO", "{name}"], ("placeholders",))


@pytest.mark.parametrize("name", ["Übungsblätter.pdf", "#größe", "{größe}", "@jürgen"])
def test_placeholders_may_have_decomposed_letters(name: str) -> None:
    model = Model(swapped)
    (sentence,) = translated(model, unicodedata.normalize("NFD", f"Hallo {name} dort"))
    assert model.asked == [f"Hallo {SYMBOLS[0]} dort"]
    assert sentence.text == f"hALLO {name} DORT"


@pytest.mark.parametrize("n_symbols", [0, 16])
def test_words_in_another_script_are_kept_in_a_sentence_in_latin_letters(n_symbols: int) -> None:
    model = Model(lambda text: re.sub("[^\x00-\x7f\u27e6\u27e7]", "", text))
    mixed, russian = translated(model, "Nimm 20 µg Водка!", "Привет Tom мир!", n_symbols=n_symbols)
    assert mixed.text.split() == ["Nimm", "20", "µg", "Водка!"]
    assert (russian.text, russian.flags) == ("Привет Tom мир!", ("language",))


def test_a_quotation_of_two_sentences_keeps_both_quotation_marks() -> None:
    model = Model(lambda text: text.replace('"', "").upper())
    (sentence,) = translated(model, "Er sagte: \u201eIch gehe. Ich bin krank.\u201c Ja.")
    assert sentence.text == 'ER SAGTE: "ICH GEHE. ICH BIN KRANK." JA.'


def test_without_sentence_splitting_the_model_translates_unpaired_marks() -> None:
    model = Model(str)
    (sentence,) = Passages(model.search, "de", "en", splits=False).translate(["Ich bin krank.\u201c"])
    assert (model.asked, sentence.text) == (["Ich bin krank.\u201c"], "Ich bin krank.\u201c")


def test_a_model_without_symbols_translates_the_text_between_placeholders() -> None:
    model = Model(
        lambda text: f"{text[: len(text) - len(text.lstrip())]}{swapped(text.strip())}{text[len(text.rstrip()) :]}"
    )
    (sentence,) = translated(model, "Hallo {name} und Tag!", n_symbols=0)
    assert (sentence.text, sentence.flags) == ("hALLO {name} UND tAG!", ("placeholders",))


def forgetful(text: str) -> str:
    """Drop every number that is not a symbol."""
    return re.sub(r"(?<!\u27e6)\b\d[\d.,:]*", "", swapped(text))


def test_a_lost_number_is_restored_at_the_position_of_its_symbol() -> None:
    model = Model(forgetful)
    (sentence,) = translated(model, "Am 30.11.2024 zahlt {name} 1.234,56 Euro")
    assert model.asked[1:] == [f"Am {SYMBOLS[1]} zahlt {SYMBOLS[0]} {SYMBOLS[2]} Euro"]
    assert (sentence.text, {*sentence.flags} - {"echo"}) == ("aM 30.11.2024 ZAHLT {name} 1,234.56 eURO", {"numbers"})


def test_a_copied_number_is_written_as_in_the_target_language() -> None:
    model = Model(swapped)
    first, second = translated(model, "Es kostet 3.500 Euro", "Es ist 3.500 alt")
    assert model.asked == ["Es kostet 3.500 Euro", "Es ist 3.500 alt"]
    assert (first.text, {*first.flags} - {"echo"}) == ("eS KOSTET 3,500 eURO", {"numbers"})
    assert (second.text, {*second.flags} - {"echo"}) == ("eS IST 3.500 ALT", set())


def test_all_numbers_become_symbols_if_one_symbol_made_the_model_drop_another_number() -> None:
    def speak(text: str) -> str:
        return swapped(text.replace("2024 ", "") if SYMBOLS[0] in text else text.replace("365 ", ""))

    model = Model(speak)
    (sentence,) = translated(model, "Im Jahr 2024 sind es 365 Tage")
    one, two = SYMBOLS[:2]
    assert model.asked[1:] == [f"Im Jahr 2024 sind es {one} Tage", f"Im Jahr {one} sind es {two} Tage"]
    assert (sentence.text, {*sentence.flags} - {"echo"}) == ("iM jAHR 2024 SIND ES 365 tAGE", {"numbers"})


@pytest.mark.parametrize("n_symbols", [0, 1, 16])
def test_a_number_that_stays_lost_is_flagged(n_symbols: int) -> None:
    model = Model(lambda text: re.sub(r"\S*\d\S*", "", swapped(text)).strip())
    (sentence,) = translated(model, "Im Jahr 2024 sind es 365 Tage", n_symbols=n_symbols)
    assert len(model.asked) == len(set(model.asked))
    assert (sentence.text.split(), {*sentence.flags} - {"echo"}) == (["iM", "jAHR", "SIND", "ES", "tAGE"], {"missing"})


@pytest.mark.parametrize("text", ["Es kostet 19.99 Euro, also 3 mal 6.66", "Das sind 20 Leute", "ISO 13.485 um 8 Uhr"])
def test_a_translation_that_has_its_numbers_is_left_as_it_is(text: str) -> None:
    model = Model(lambda text: swapped(text).replace("20", "twenty"))
    (sentence,) = translated(model, text)
    assert (sentence.text, {*sentence.flags} - {"echo"}) == (model.speak(text), set())
    assert len(model.asked) == 1


def test_numbers_of_text_in_capitals_are_looked_for_in_its_lower_case_form() -> None:
    model = Model(lambda text: forgetful(text).lower())
    (sentence,) = translated(model, "WIR TREFFEN UNS AM 30.11.2024")
    assert (sentence.text, {*sentence.flags} - {"echo"}) == ("wir treffen uns am 30.11.2024", {"numbers", "capitals"})


def test_without_guards_everything_reaches_the_model_but_placeholders_stay() -> None:
    model = Model(lambda text: "ha " * 9 if text == "Witz." else swapped(text))
    texts = ["...", "Witz.", "This is the dog that you have seen.", "HALLO {x}!"]
    found = translated(model, *texts, guarded=False)
    assert [s.text for s in found] == ["...", "ha " * 9, swapped(texts[2]), "hallo {x}!"]
    assert {flag for s in found for flag in s.flags} == set()


TEXT = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=40)
MIXED = st.lists(
    st.sampled_from(["{name}", "%s", "<b>", "</b>", "Hallo", " ", ". ", "Ja!", *SYMBOLS[:2]]) | TEXT, max_size=7
)


@given(passages=st.lists(MIXED.map("".join), max_size=4), n_symbols=st.sampled_from([0, 2, 16]))
def test_a_model_that_copies_its_source_restores_any_text(passages: list[str], n_symbols: int) -> None:
    """Splitting, protecting and joining neither lose nor move anything."""
    found = translated(Model(str), *passages, n_symbols=n_symbols)
    for text, sentence in zip(passages, found, strict=True):
        assert readable(sentence.text) == readable(text) or {*sentence.flags} & {"repetition", "capitals"}
