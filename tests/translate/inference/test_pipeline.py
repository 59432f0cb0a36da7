"""Text is restored completely; nothing but a new search changes a translation, and its flags say so."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from translate.inference import pipeline
from translate.inference.pipeline import NO_REPEAT, ProtectedSentence, Rules, protect, restore
from translate.text.glossary import Glossary
from translate.text.placeholders import symbol
from translate.text.sentences import readable
from translate.text.translation import Translation

SYMBOLS = [symbol(i) for i in range(16)]
Speak = Callable[[str], str]


class Model:
    """A model defined by a function; without repetition it outputs each word once."""

    def __init__(self, speak: Speak, confidence: Callable[[str], float] = lambda _: -0.5) -> None:
        self.speak, self.confidence = speak, confidence
        self.asked: list[str] = []

    def search(self, texts: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
        self.asked += texts
        return {text: self.sentence(text, no_repeat) for text in texts}

    def sentence(self, text: str, no_repeat: int) -> Translation:
        said = self.speak(text)
        if no_repeat:
            said = " ".join(dict.fromkeys(said.split()))
        tokens = tuple(said.split())
        return Translation(said, log_prob=self.confidence(text) * (len(tokens) + 1), tokens=tokens, n_segments=1)


def rules(n_symbols: int = 16, *, segments: bool = True, checks: bool = True) -> Rules:
    return Rules(source="de", target="en", n_symbols=n_symbols, segments=segments, checks=checks)


def translated(model: Model, *texts: str, n_symbols: int = 16, checks: bool = True) -> list[Translation]:
    return pipeline.translate(texts, model.search, rules(n_symbols, checks=checks))


def swapped(text: str) -> str:
    return re.sub(r"[^\W\d_]+", lambda match: match[0].swapcase(), text)


def test_sentences_are_translated_one_by_one_and_the_space_between_them_stays() -> None:
    model = Model(swapped)
    (sentence,) = translated(model, "  Das ist gut.  Komm her! ")
    assert sentence.text == "  dAS IST GUT.  kOMM HER! "
    assert model.asked == ["Das ist gut.", "Komm her!"]
    assert sentence.log_prob == pytest.approx(-0.5 * (4 + 3))
    assert (sentence.n_segments, len(sentence.tokens), sentence.confidence) == (2, 5, pytest.approx(-0.5))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das Haus<br>Der Hund schläft", ["Das Haus", "Der Hund schläft"]),
        ('<ul class="x"><li>Ein Haus</li><li>Zwei Häuser</li></ul>', ["Ein Haus", "Zwei Häuser"]),
        ("Name:<BR />Datum:", ["Name:", "Datum:"]),
        ("Das Haus <br> und der Hund", [f"Das Haus {SYMBOLS[0]} und der Hund"]),
        ("Das <i>Haus</i> da", [f"Das {SYMBOLS[0]}Haus{SYMBOLS[1]} da"]),
        ("Haus<br>{name}", ["Haus"]),
        ("Das Zeichen `<br>` hier", [f"Das Zeichen {SYMBOLS[0]} hier"]),
    ],
)
def test_a_sentence_ends_at_the_tags_of_blocks_of_html(text: str, expected: list[str]) -> None:
    """They are layout between texts; a symbol for one in the middle of a sentence would make one of two."""
    model = Model(swapped)
    (sentence,) = translated(model, text)
    assert model.asked[: len(expected)] == expected
    code = r"<[^<>]*>|\{\w+\}"
    assert sentence.text == re.sub(rf"({code})|[^\W\d_]+", lambda part: part[0] if part[1] else swapped(part[0]), text)


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


@pytest.mark.parametrize("n_symbols", [0, 16])
def test_each_branch_of_a_message_is_translated(n_symbols: int) -> None:
    inner = "{g, select, male {Sein Hund} other {Ihre Katze kommt. Sie {x} geht}}"
    text = f"Heute {{n, plural, offset:1 =0 {{niemand}} one {{}} other {{# Hunde und {inner}}}}} hier, {{name}}."
    model = Model(swapped)
    (found,) = translated(model, text, n_symbols=n_symbols)
    words = ["Heute", "niemand", "Hunde", "und", "Sein", "Hund", "Ihre", "Katze", "kommt", "Sie", "geht", "hier"]
    expected = text
    for word in words:
        expected = re.sub(rf"\b{word}\b", word.swapcase(), expected)
    assert found.text == expected
    assert "copied" not in found.flags
    (alone,) = translated(model, inner)
    assert alone.text == swapped(inner).replace("{G, SELECT, MALE", "{g, select, male").replace(
        "OTHER", "other"
    ).replace("{X}", "{x}")


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


def test_the_second_search_forbids_repetition() -> None:
    seen: list[tuple[list[str], int]] = []

    def search(texts: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
        seen.append((list(texts), no_repeat))
        found = Translation("a b", log_prob=-1.0, tokens=("a", "b"), n_segments=1, flags=("length",))
        return dict.fromkeys(texts, found)

    (sentence,) = pipeline.translate(["Ja."], search, rules())
    assert seen == [(["Ja."], 0), (["Ja."], NO_REPEAT)]
    assert sentence.flags == ("length", "repetition")


@pytest.mark.parametrize("text", ["guten morgen", "Guten morgen", "es war einmal ein kleiner hund im"])
def test_a_few_lower_case_german_words_are_also_tried_with_capitals(text: str) -> None:
    model = Model(str, lambda text: -0.1 if text.istitle() else -0.9)
    (sentence,) = translated(model, text)
    few = text.islower() and len(text.split()) <= 6
    assert (sentence.text, "capitals" in sentence.flags) == (text.title() if few else text, few)


def test_placeholders_go_through_the_model_as_symbols() -> None:
    model = Model(lambda text: " ".join(reversed(swapped(text).split())))
    (sentence,) = translated(model, "Hallo {name} und %s dort")
    assert model.asked == [f"Hallo {SYMBOLS[0]} und {SYMBOLS[1]} dort"]
    assert (sentence.text, sentence.flags) == ("DORT %s UND {name} hALLO", ("echo",))


@pytest.mark.parametrize(
    ("text", "is_copied"),
    [
        ("iv", True),
        ("(xii)", True),
        ("xxxix.", True),
        ("i", False),
        ("iiii", False),
        ("vil", False),
        ("Seite iv", False),
    ],
)
def test_the_number_of_a_page_in_small_roman_letters_is_copied(text: str, is_copied: bool) -> None:
    model = Model(swapped)
    (found,) = translated(model, text)
    assert (found.text == text, "copied" in found.flags, not model.asked) == (is_copied,) * 3


@pytest.mark.parametrize("loss", [lambda text: text.replace(SYMBOLS[0], ""), lambda text: text + SYMBOLS[1]])
def test_a_lost_or_invented_placeholder_keeps_all_at_their_source_positions(loss: Speak) -> None:
    model = Model(lambda text: loss(swapped(text)) if SYMBOLS[0] in text else swapped(text))
    (sentence,) = translated(model, "Hallo {name} und Tag")
    assert (sentence.text, sentence.flags) == ("hALLO {name} UND tAG", ("placeholders",))


def test_a_model_without_symbols_translates_the_text_between_placeholders() -> None:
    model = Model(
        lambda text: f"{text[: len(text) - len(text.lstrip())]}{swapped(text.strip())}{text[len(text.rstrip()) :]}"
    )
    sentence, number = translated(model, "Hallo {name} und Tag!", "Hallo {name} 42", n_symbols=0)
    assert (sentence.text, sentence.flags) == ("hALLO {name} UND tAG!", ("placeholders",))
    assert (number.text, number.flags) == ("hALLO {name} 42", ("placeholders",))  # as a whole, it is not copied


def test_text_in_capitals_is_searched_in_lower_case_too() -> None:
    model = Model(str, lambda text: -0.1 if text == "UNESCO" else -0.5)
    shouted, name, abbreviation = translated(model, "HALLO!", "UNESCO", "USA")
    assert sorted(model.asked) == ["HALLO!", "Hallo!", "UNESCO", "USA", "Unesco"]
    assert (shouted.text, shouted.flags) == ("Hallo!", ("capitals",))
    assert (name.text, name.flags) == ("UNESCO", ())
    assert (abbreviation.text, abbreviation.flags) == ("USA", ())


def test_an_empty_translation_is_searched_again_and_flagged() -> None:
    model = Model(lambda text: "" if text[0].islower() else text.upper())
    found, lost = translated(model, "oder nicht", "ja"), translated(Model(lambda _: " "), "Das ist gut.")
    assert [(one.text, one.flags, one.suspicious) for one in found] == [
        ("ODER NICHT", ("empty",), True),
        ("JA", ("empty",), True),
    ]
    assert [(one.text, one.flags) for one in lost] == [(" ", ("empty",))]


@pytest.mark.parametrize("text", ["\u201egut so\u201c", "5 gute Hunde", "{name} geht heute"])
def test_the_other_first_letter_may_follow_signs_and_numbers(text: str) -> None:
    model = Model(lambda text: "" if next(filter(str.isalpha, text)).islower() == text_is_lower else text.upper())
    text_is_lower = next(filter(str.isalpha, text.replace("{name}", ""))).islower()
    (sentence,) = translated(model, text)
    assert (sentence.text.casefold(), "empty" in sentence.flags) == (readable(text).casefold(), True)


def test_white_space_within_marks_and_marks_around_nothing_are_mended() -> None:
    source = "Das ist **sehr gut** so"
    (spaced,) = translated(Model(lambda text: swapped(text).replace(SYMBOLS[0], f"{SYMBOLS[0]} ")), source)
    assert spaced.text == "dAS IST **SEHR GUT** SO"
    emptied = Model(lambda text: swapped(re.sub(f"({SYMBOLS[0]})(.*)({SYMBOLS[1]})", r"\1\3\2", text)))
    (moved,) = translated(emptied, source)
    assert moved.text == "dAS IST **SEHR GUT** SO"
    assert "placeholders" in moved.flags


def test_terms_that_are_lost_alone_are_searched_with_all_terms() -> None:
    def speak(text: str) -> str:
        if SYMBOLS[1] in text:
            return f"{SYMBOLS[0]} sees {SYMBOLS[1]}"
        return "a dog sees" if SYMBOLS[0] in text else "a dog sees it"

    model, text = Model(speak), "Der Hund sieht das Haus"
    with_terms = replace(rules(), glossary=Glossary.of({"Hund": "dog", "Haus": "house"}))
    (sentence,) = pipeline.translate([text], model.search, with_terms)
    assert model.asked == [text, f"Der Hund sieht das {SYMBOLS[0]}", f"Der {SYMBOLS[0]} sieht das {SYMBOLS[1]}"]
    assert (sentence.text, sentence.flags) == ("dog sees house", ())


def test_a_search_with_symbols_for_numbers_that_loops_is_not_taken() -> None:
    def speak(text: str) -> str:
        return f"so {SYMBOLS[0]} " + "ja " * 30 if SYMBOLS[0] in text else "so"

    (sentence,) = translated(Model(speak), "Im Jahr 2024 war es so")
    assert (sentence.text, sentence.flags) == ("so", ("missing",))


def test_a_symbol_that_the_source_does_not_have_stays_and_is_flagged() -> None:
    model = Model(lambda text: f"{swapped(text)} {SYMBOLS[2]}")
    plain, holding = translated(model, "Guten Tag", "Hallo {name}")
    assert (plain.text, plain.flags, plain.suspicious) == (f"gUTEN tAG {SYMBOLS[2]}", ("symbol",), True)
    assert (holding.text, holding.flags) == (f"hALLO {SYMBOLS[2]} {{name}}", ("placeholders", "symbol"))


def forgetful(text: str) -> str:
    """Drop every number that is not a symbol."""
    return re.sub(r"(?<!\u27e6)\b\d[\d.,:]*", "", swapped(text))


def test_missing_numbers_are_searched_once_more_and_kept() -> None:
    model = Model(forgetful)
    (sentence,) = translated(model, "Am 30.11.2024 zahlt {name} 1.234,56 Euro")
    assert model.asked[1:] == [f"Am {SYMBOLS[1]} zahlt {SYMBOLS[0]} {SYMBOLS[2]} Euro"]
    assert (sentence.text, {*sentence.flags} - {"echo"}) == ("aM 30.11.2024 ZAHLT {name} 1,234.56 eURO", {"numbers"})


@pytest.mark.parametrize("n_symbols", [0, 1, 16])
def test_a_number_that_stays_missing_is_flagged(n_symbols: int) -> None:
    model = Model(lambda text: re.sub(r"\S*\d\S*", "", swapped(text)).strip())
    (sentence,) = translated(model, "Im Jahr 2024 sind es 365 Tage", n_symbols=n_symbols)
    assert len(model.asked) == (2 if n_symbols == 16 else 1)
    assert (sentence.text.split(), {*sentence.flags} - {"echo"}) == (["iM", "jAHR", "SIND", "ES", "tAGE"], {"missing"})


@pytest.mark.parametrize("n_symbols", [0, 16])
def test_words_that_the_model_does_not_know_are_held_or_flagged(n_symbols: int) -> None:
    model = Model(lambda text: re.sub("[Ř漢]", "?", swapped(text)))
    copies = replace(rules(n_symbols), knows=lambda word: "ř" not in word)
    texts = ["Herr Dvořák kommt heute", "Das Zeichen 漢 ist gut"]
    for text, one in zip(texts, pipeline.translate(texts, model.search, copies), strict=True):
        word = "Dvořák" if "Dvořák" in text else "漢"
        assert (word in one.text) == bool(n_symbols)
        assert {*one.flags} - {"echo"} == {"numbers" if n_symbols else "missing"}


@pytest.mark.parametrize("n_symbols", [0, 16])
def test_a_time_of_day_in_the_wrong_half_is_held_in_the_form_of_the_target_language(n_symbols: int) -> None:
    model = Model(lambda text: swapped(text).replace("8 uHR", "8 p.m."))
    (one,) = translated(model, "Der Zug kommt um 8 Uhr an", n_symbols=n_symbols)
    expected = ("8 am", "numbers") if n_symbols else ("8 p.m.", "missing")
    assert (expected[0] in one.text, expected[1] in one.flags) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        "Es kostet 3.500,50 Euro, also 3 mal 6.66",
        "Das sind 20 Leute",
        "Er sagte: \u201eDas 1.5fache\u201c um 8 Uhr",
        "1.234,50 \u20ac",
        "12,5 %",
    ],
)
def test_what_the_model_wrote_is_left_as_it_is(text: str) -> None:
    model = Model(lambda text: swapped(text).replace("20", "twenty"))
    (sentence,) = translated(model, text)
    assert (sentence.text, {*sentence.flags} - {"echo", "copied"}) == (model.speak(text), set())
    assert len(model.asked) <= 1


NUMBERS = st.from_regex(r"[1-9][0-9]{0,3}([.,:/-][0-9]{1,4}){0,4}", fullmatch=True)
GROUPS = ["192.168.100.200", "800.123.456", "123.456.789", "101,102,103", "8.1", "2"]


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(st.lists(st.sampled_from(["Haus", "{x}", "<b>", "und"]) | st.sampled_from(GROUPS) | NUMBERS, max_size=7))
@example(["1:10.000"])
def test_every_digit_group_survives_in_any_text(words: list[str]) -> None:
    """A model that drops all numbers is searched again; 1 is no group that is checked."""
    text = " ".join(["Das", *words])
    model = Model(lambda text: re.sub(r"(?<!\u27e6)\d(?!\u27e7)", "", text))
    (sentence,) = translated(model, text)
    groups = [group for group in re.findall(r"\d+", text) if int(group) > 1]
    assert sorted(g for g in re.findall(r"\d+", sentence.text) if int(g) > 1) == sorted(groups)


def test_without_checks_everything_reaches_the_model_but_placeholders_stay() -> None:
    model = Model(lambda text: "ha " * 9 if text == "Witz." else swapped(text))
    texts = ["...", "Witz.", "This is the dog that you have seen.", "HALLO {x}!", "Ja 2024. Nein."]
    found = translated(model, *texts, checks=False)
    assert [s.text for s in found] == ["...", "ha " * 9, swapped(texts[2]), "hallo {x}!", swapped(texts[4])]
    assert {flag for s in found for flag in s.flags} == set()


@given(st.text(max_size=30).map(lambda text: text.replace("\n", " ")))
def test_without_segments_and_checks_the_model_gets_the_text_as_it_is(text: str) -> None:
    model = Model(lambda text: f"{text}!")
    (found,) = pipeline.translate([text], model.search, rules(segments=False, checks=False))
    assert (model.asked, found.text) == ([text], f"{text}!")


@given(st.lists(st.sampled_from(["Haus", "ist", "da.", "42", "und", "\u00a0", "'s"]), min_size=1).map(" ".join))
@example("'s 42 's 's")
def test_checks_change_no_text_that_is_not_searched_again(text: str) -> None:
    model = Model(swapped)
    texts = [
        pipeline.translate([text], model.search, rules(segments=False, checks=checks))[0] for checks in (True, False)
    ]
    assert texts[0].text == texts[1].text or {*texts[0].flags} & {"repetition", "copied", "capitals", "language"}


def test_protecting_and_restoring_are_inverse() -> None:
    text = "\U0001f600 <b>Ja</b> 20\u00a0m {x}"
    sentence = protect(text, rules())
    assert sentence == ProtectedSentence("⟦1⟧Ja⟦2⟧ 20 m ⟦3⟧", ("<b>", "</b>", "{x}"), "\U0001f600 ")
    restored = restore(Translation(sentence.text), sentence)
    assert restored is not None
    assert restored.text == text.replace("\u00a0", " ")
    assert restore(Translation("⟦1⟧Ja⟦2⟧"), sentence) is None
    assert protect("This is the dog that you have seen.", rules()).kept == "language"
    assert protect("3,50", rules()).kept == "copied"
    assert protect("3,50", rules(checks=False)).kept == ""


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


def test_a_special_space_of_a_sentence_is_in_its_translation() -> None:
    """Also beside formatting and a placeholder; a model reads and writes plain spaces."""
    text = "Es sind 5\u00a0km. <b>Dr.</b>&nbsp;Meier hat {n}\u202fHunde."
    model = Model(swapped)
    found = [one.text for one in translated(model, text)]
    assert found == ["eS SIND 5\u00a0KM. <b>dR.</b> mEIER HAT {n}\u202fhUNDE."]
    assert not re.search("[\u00a0\u202f]|nbsp", " ".join(model.asked))


def test_work_can_be_given_up_before_each_translation_is_checked_for_repetitions() -> None:
    """A client may be gone; the check takes as long as the translation is."""
    looks = list[int]()

    def look() -> None:
        looks.append(1)
        if len(looks) == 4:
            raise InterruptedError

    found = {text: Translation(text.swapcase()) for text in ("Eins.", "Zwei.", "Drei.", "Vier.", "Acht.")}
    with pytest.raises(InterruptedError):
        pipeline.check_repetition(found, lambda texts, no_repeat=0: {}, replace(rules(), raise_if_cancelled=look))
    assert len(looks) == 4
