"""Every pair is kept or counted under exactly one rule, and the rules apply in a fixed order."""

import tracemalloc
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.config.schema import CleaningConfig
from translate.corpus.cleaning import RULES, Cleaner, HeldOut, Report
from translate.corpus.sources import Pair
from translate.text.placeholders import symbol

CONFIG = CleaningConfig(max_words=7, max_characters=60, max_ratio=3.0)
HELD_OUT = HeldOut(
    [
        ("Der Hund läuft nach Hause.", "The dog runs home now."),
        ("Ja bitte sehr", "yes please do"),
        ("วันนี้อากาศดีมาก", "今天天气很好我们出去"),
        ("Sag danke.", "请说谢谢。"),
    ]
)
GOOD = ("Die Katze schläft.", "The cat sleeps.")


def clean(
    pairs: Sequence[Pair], config: CleaningConfig = CONFIG, held_out: HeldOut = HELD_OUT
) -> tuple[list[Pair], Report]:
    cleaner = Cleaner(config, held_out)
    return list(cleaner.clean(pairs, "a corpus")), cleaner.report


def dropped(pairs: Sequence[Pair], config: CleaningConfig = CONFIG) -> dict[str, int]:
    """The rules that dropped something, with their counts."""
    return {rule: n for rule, n in clean(pairs, config)[1].dropped.items() if n}


@pytest.mark.parametrize(
    ("pair", "rule"),
    [
        (("", "empty"), "empty"),
        (("leer", " \t\u2028"), "empty"),
        (("a b c d e f g h", "eight words"), "too_long"),
        (("eight words", "a b c d e f g h"), "too_long"),
        (("x" * 61, "y" * 61), "too_long"),
        (("a" * 31, "b" * 10), "ratio"),
        (("b" * 10, "a" * 31), "ratio"),
        (("Ja.", "Yes, of course I do."), "ratio"),  # 20 characters
        (("same text", "same text"), "identical"),
        (("DER  hund läuft\tnach hause. ", "Something else entirely"), "test_overlap"),
        (("\u201eDer Hund läuft nach Hause!\u201c", "Something else entirely"), "test_overlap"),
        (("Ja, bitte sehr!", "Yes, please do."), "test_overlap"),
        (("Yes please do", "Ja bitte sehr"), "test_overlap"),
        (("Sag danke", "请说谢谢"), "test_overlap"),
        (("Etwas ganz anderes", "the dog runs home now."), "test_overlap"),
        (("The dog runs home now.", "Seiten vertauscht"), "test_overlap"),
        (("<BT> same text", "same text"), "identical"),
        (("<BT>  ", "nothing was generated"), "empty"),
        (("<BT> der Hund läuft nach Hause.", "Something else entirely"), "test_overlap"),
        (("Etwas ganz anderes", "今天天气很好我们出去"), "test_overlap"),
        (("วันนี้อากาศดีมาก", "something else"), "test_overlap"),
    ],
)
def test_each_rule_drops_what_it_says(pair: Pair, rule: str) -> None:
    assert dropped([pair]) == {rule: 1}


@pytest.mark.parametrize(
    "pair",
    [
        GOOD,
        ("a b c d e f g", "seven words are not too long"),
        ("x" * 60, "y" * 60),
        ("a" * 30, "b" * 10),  # exactly the ratio
        ("Ja.", "Yes, of course I do"),  # 19 characters: too short for the ratio to mean anything
        ("Ja bitte sehr", "held out, but of three words"),
        ("Sagt danke.", "请说谢谢。"),  # held out, but of two words
        ("<BT> a b c d e f g", "seven words and a tag"),
        ("Ja bitte nicht sehr", "yes please do"),  # a side of three words
        (" leading space stays ", "and  so  does  this"),
    ],
)
def test_pairs_that_break_no_rule_are_kept_unchanged(pair: Pair) -> None:
    assert clean([pair])[0] == [pair]


@pytest.mark.parametrize(
    ("pairs", "counts"),
    [
        ([("", "x" * 61)], {"empty": 1}),
        ([("", "")], {"empty": 1}),
        ([("x" * 61, "y")], {"too_long": 1}),
        ([("w " * 8, "w " * 8)], {"too_long": 1}),
        ([("Der Hund läuft nach Hause.", "home")], {"ratio": 1}),
        ([("same text", "same text")] * 3, {"identical": 3}),
        ([("Der Hund läuft nach Hause.", "The dog walks home.")] * 3, {"duplicate": 2, "test_overlap": 1}),
    ],
)
def test_a_pair_counts_under_the_first_rule_that_hits(pairs: list[Pair], counts: dict[str, int]) -> None:
    """Each pair breaks two rules or more."""
    assert dropped(pairs) == counts


def test_a_repeated_pair_is_a_duplicate_but_a_shared_side_is_not() -> None:
    kept, report = clean([GOOD, (GOOD[0], "The cat is asleep."), ("Sie schläft.", GOOD[1]), GOOD, GOOD])
    assert len(kept) == 3
    assert report.dropped["duplicate"] == 2


def test_a_synthetic_pair_does_not_take_the_place_of_a_natural_one() -> None:
    pairs = [(f"<BT> {GOOD[0]}", GOOD[1]), GOOD]
    assert clean(pairs)[0] == pairs
    assert dropped([*pairs, *pairs]) == {"duplicate": 2}


def test_duplicates_depend_on_the_boundary_between_the_sides() -> None:
    pairs = [("ab", "c"), ("a", "bc"), ("a\n", "b"), ("a", "\nb"), ("1:a", "b"), ("1", ":ab")]
    assert clean(pairs)[0] == pairs


def test_duplicates_are_found_across_sources() -> None:
    cleaner = Cleaner(CONFIG, HeldOut())
    assert list(cleaner.clean([GOOD], "first")) == [GOOD]
    assert list(cleaner.clean([GOOD], "second")) == []
    assert list(cleaner.clean([GOOD[::-1]], "first")) == [GOOD[::-1]]
    assert cleaner.report.origins == {"first": {"read": 2, "kept": 2}, "second": {"read": 1, "kept": 0}}


def test_rules_that_are_turned_off_drop_nothing() -> None:
    config = CleaningConfig(duplicates=False, identical=False, test_overlap=False)
    pairs = [GOOD, GOOD, ("OK", "OK"), ("Der Hund läuft nach Hause.", "The dog runs home now.")]
    assert clean(pairs, config)[0] == pairs


def test_a_source_of_names_keeps_identical_pairs_and_no_others() -> None:
    tested = "Der Hund läuft nach Hause."
    cleaner = Cleaner(CONFIG, HELD_OUT)
    pairs = [("Berlin", "Berlin"), ("Berlin", "Berlin"), ("", ""), ("x" * 61, "x" * 61), (tested, tested)]
    assert list(cleaner.clean(pairs, "names", keep_identical=True)) == [("Berlin", "Berlin")]
    dropped = {rule: n for rule, n in cleaner.report.dropped.items() if n}
    assert dropped == {"duplicate": 1, "empty": 1, "too_long": 1, "test_overlap": 1}
    assert list(cleaner.clean([("Bonn", "Bonn")], "text")) == []


# Few letters and few lengths, so that every rule is met.
sides = st.text(alphabet="ab ", max_size=9) | st.sampled_from(
    ["Der Hund läuft nach Hause.", "x" * 61, "a a a a a a a a"]
)


@given(pairs=st.lists(st.tuples(sides, sides), max_size=30))
def test_every_pair_is_kept_or_counted_once_and_order_stays(pairs: list[Pair]) -> None:
    kept, report = clean(pairs)
    assert report.read == len(pairs) == len(kept) + sum(report.dropped.values())
    rest = iter(pairs)
    assert all(pair in rest for pair in kept)  # a subsequence: `in` moves the iterator on


@given(pairs=st.lists(st.tuples(sides, sides), max_size=30))
def test_cleaning_a_clean_corpus_drops_nothing(pairs: list[Pair]) -> None:
    kept, _ = clean(pairs)
    assert clean(kept)[0] == kept


def test_the_report_has_a_few_shortened_examples_with_origin_and_line() -> None:
    _, report = clean([GOOD, *[("", f"{n}" + "y" * 200) for n in range(5)]])
    examples = report.as_dict()["examples"]
    assert isinstance(examples, dict)
    assert list(examples) == list(RULES)
    assert [example["line"] for example in examples["empty"]] == [2, 3, 4]
    assert examples["empty"][0] == {"origin": "a corpus", "line": 2, "source": "", "target": "0" + "y" * 79}


def test_held_out_sides_are_found_whatever_their_case_spacing_and_punctuation() -> None:
    assert HELD_OUT.overlaps(("x", "the DOG  runs, home -- now"))
    assert HELD_OUT.overlaps(("x", f"{symbol(0)}The dog runs home now.{symbol(1)}"))
    assert HeldOut([("Straße frei für alle", "x")]).overlaps(("STRASSE frei für alle!", "y"))
    assert HeldOut([("Öl für das Rad", "x")]).overlaps((unicodedata.normalize("NFD", "Öl für das Rad"), "y"))
    assert not HELD_OUT.overlaps(("x", "yes please do"))  # three words are too common to count as overlap
    assert not HELD_OUT.overlaps(("x", "the dog runs home"))
    assert not HeldOut().overlaps(("x", "y"))


def test_a_pair_without_letters_is_held_out_as_it_is() -> None:
    held_out = HeldOut([("?!", "...")])
    assert held_out.overlaps(("? !", "..."))
    assert not held_out.overlaps(("?", "..."))


PUNCTUATION = st.text(alphabet=".,;:!?\u2026\u201e\u201c\u00bb()[] \t-\u2013", max_size=3)


@given(data=st.data(), pair=st.tuples(*2 * [st.lists(st.sampled_from(["Hallo", "ja", "straße", "µm"]), min_size=1)]))
def test_a_held_out_pair_of_any_length_is_found_in_any_case_and_punctuation(
    data: st.DataObject, pair: tuple[list[str], list[str]]
) -> None:
    def varied(words: list[str]) -> str:
        cases = st.sampled_from([str.upper, str.lower, str.title])
        parts = [data.draw(cases)(word) + data.draw(PUNCTUATION) + " " for word in words]
        return data.draw(PUNCTUATION) + "".join(parts)

    source, target = (" ".join(side) for side in pair)
    assert HeldOut([(source, target)]).overlaps((varied(pair[0]), varied(pair[1])))
    assert not HeldOut([(source, target)]).overlaps((source + " x", target + " y"))


@pytest.mark.slow
def test_each_pair_takes_at_most_24_bytes() -> None:
    """Memory grows in steps, from 8 to 16 bytes a pair, so the slope between two sizes may exceed both."""

    def peak(n: int) -> int:
        cleaner = Cleaner(CONFIG, HELD_OUT)
        tracemalloc.start()
        for _ in cleaner.clean((f"der Satz {i}", f"sentence number {i}") for i in range(n)):
            pass
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert cleaner.report.kept == n
        return highest

    assert (peak(300_000) - peak(60_000)) / 240_000 < 24
