"""Variants appear at their rates, depend on the pair alone, and change both sides alike."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from translate.config.schema import AugmentationConfig
from translate.corpus.augmentation import Augmenter
from translate.corpus.sources import Pair, with_symbols
from translate.text.placeholders import SYMBOL, protect, restore

SIDES = st.text(alphabet="aB 1.!?{}%s<b>/⟦2⟧ß", max_size=25)
PAIRS = st.tuples(SIDES, SIDES)
ALL = AugmentationConfig(case=1, ending=1, symbols=1, title=1, typos=1)


def variants(pairs: Sequence[Pair], config: AugmentationConfig = ALL, n_symbols: int = 16) -> list[Pair]:
    return list(Augmenter(config, n_symbols)(pairs))


@given(st.lists(PAIRS, max_size=5))
def test_without_rates_and_symbols_nothing_changes(pairs):
    assert variants(pairs, AugmentationConfig(), 0) == pairs


@given(st.lists(PAIRS, max_size=5))
def test_variants_depend_on_the_pair_only(pairs):
    """So neither the order of pairs nor the number of processes matters."""
    config = AugmentationConfig(case=0.3, ending=0.4, symbols=0.5, title=0.4, typos=0.5)
    alone = [variant for pair in pairs for variant in variants([pair], config)]
    assert variants(pairs, config) == alone


@given(PAIRS)
@example(("Ende.", "End!"))
@example((" .", "End!"))
def test_a_variant_of_case_or_ending_changes_nothing_else(pair):
    def skeleton(text: str) -> str:
        return re.sub(r"[.!?\s]", "", text).upper().replace("SS", "ß".upper())

    for variant in variants([pair], AugmentationConfig(case=1, ending=1), 0)[1:]:
        assert variant != pair
        assert all(variant)
        assert [skeleton(side) for side in variant] == [skeleton(side) for side in pair]


@given(PAIRS)
@example(("wir gehen heute", "I go today"))
@example(("Nein", "不"))
def test_a_variant_of_case_changes_both_sides(pair):
    for variant in variants([pair], AugmentationConfig(case=1), 0)[1:]:
        assert all(new != old for new, old in zip(variant, pair, strict=True))


@pytest.mark.parametrize("marks", [".!", "。！", "।!"])
def test_an_ending_has_the_mark_of_its_script(marks):
    letter = {".": "a", "。": "天", "।": "क"}[marks[0]]
    bare = [(f"Satz {i}", f"{i}{letter}") for i in range(30)]
    config = AugmentationConfig(ending=1)
    ended = [variant for pair in bare for variant in variants([pair], config, 0)[1:]]
    assert {target[-1] for _, target in ended} == set(marks)
    assert [tuple(side[:-1] for side in pair) for pair in ended] == bare
    assert [variant for pair in ended for variant in variants([pair], config, 0)[1:]] == bare


WORDS = {"katze": "cat", "die": "the", "ente": "duck", "sieht": "see"}


@pytest.mark.parametrize(("n_symbols", "expected"), [(1, {1}), (2, {1, 2})])
def test_symbols_stand_for_names_and_nouns_and_stand_alone(n_symbols, expected):
    """As variables do. Function words and verbs stay, and so do words that something is joined to."""
    pairs = [
        (f"Hier sieht die Katze-{i} die Ente und Tom.", f"Here the cat-{i} can see the duck, Tom.") for i in range(99)
    ]
    made = [pair for pair in Augmenter(AugmentationConfig(symbols=1), n_symbols, WORDS)(pairs) if pair not in pairs]
    assert {len(SYMBOL.findall(source)) for source, _ in made} == expected
    for source, target in made:
        assert re.search(r"Hier sieht die Katze-\d+ die (?:Ente|⟦1⟧) und (?:Tom|⟦[12]⟧)\.", source)
        assert re.search(r"Here the cat-\d+ can see the (?:duck|⟦[12]⟧), (?:Tom|⟦[12]⟧)\.", target)
        assert sorted(SYMBOL.findall(source)) == sorted(SYMBOL.findall(target))
        assert ("Tom" in source, "Ente" in source) == ("Tom" in target, "duck" in target)


@given(PAIRS)
@example(("Tom hat Hunde", "Tom has dogs"))
def test_symbols_are_the_same_on_both_sides(pair):
    for source, target in variants([pair], AugmentationConfig(symbols=1))[1:]:
        symbols = SYMBOL.findall(source)
        assert sorted(symbols) == sorted(SYMBOL.findall(target))


@given(st.text("aB äé-'", max_size=30), st.text("aB äé-'", max_size=30))
def test_title_case_changes_the_first_letters_of_words_alone(source, target):
    for new in variants([(source, target)], AugmentationConfig(title=1), 0)[1:]:
        assert [side.lower() for side in new] == [source.lower(), target.lower()]
        assert all(word[0].isupper() or word[0] in "-'" for side in new for word in side.split())


def test_short_text_begins_with_another_letter_and_keeps_the_capitals_of_german():
    def of(*pair: str) -> set[Pair]:
        return set(variants([pair], AugmentationConfig(capitals=1), 0)[1:])

    assert of("house", "Haus") == {("House", "Haus")}
    assert of("save", "speichern") == {("Save", "Speichern")}
    assert of("Haus", "house") == {("haus", "house")}
    assert of("Open file", "Datei öffnen") == {("open file", "Datei öffnen")}
    assert of("USB", "USB") == of("Ja.", "Yes.") == of("Das ist ein sehr langer Satz", "A long sentence") == set()


@given(st.from_regex(r"[a-z]{1,9}( [a-z]{1,9}){0,4}", fullmatch=True))
def test_typing_errors_are_few_and_leave_the_target_alone(source):
    for new, target in variants([(source, "x")], AugmentationConfig(typos=1), 0)[1:]:
        assert target == "x"
        assert new != source
        assert len(new.split()) == len(source.split())
        assert sum(a != b for a, b in zip(source.split(), new.split(), strict=True)) <= 2
        assert abs(len(new) - len(source)) <= 2
        assert all(a[0] == b[0] for a, b in zip(source.split(), new.split(), strict=True))


def test_values_vary_more_often_the_rarer_they_are_and_also_stand_alone():
    def of(*pair: str) -> list[Pair]:
        return list(Augmenter(AugmentationConfig(values=1), 0, source="de", target="en")([pair]))[1:]

    times = of("Er kommt um 8 Uhr.", "He comes at 8 am.")
    assert len(times) > len(of("Er hat 1.234 Hunde.", "He has 1,234 dogs.")) == 1
    assert sum(not source.startswith("Er kommt um") for source, _ in times) == 2
    assert of("Er kommt um 8 Uhr.", "He comes at 9 am.") == []


NAMES = ["Merkel", "Ødegård", "Zoph", "Gergovia", "Smits"]


def test_a_new_name_takes_the_place_of_one_that_both_sides_share():
    pairs = [(f"Hier wohnt {name}.", f"{name} lives here, {name}.") for name in NAMES]  # counts differ: not shared
    pairs += [(f"Ja, {name} kam.", f"Yes, {name} came.") for name in NAMES]
    pairs += [(f"Tom und Tom sahen {i} Hunde", f"Tom and Tom saw {i} dogs") for i in range(40)]
    pairs += [("Sag es Tom.", "Tell Tom.")] + [(f"Tom sah {i} Katzen", f"Tom saw {i} cats") for i in range(40)]
    found = variants(pairs, AugmentationConfig(names=1), 0)
    added = [pair for pair in found if pair not in pairs]
    assert all(pair != variant for pair, variant in zip(found, found[1:], strict=False))
    frames = [[re.sub("|".join([*NAMES, "Tom"]), "X", side) for side in pair] for pair in pairs]
    for pair in added:
        here = [re.findall("|".join([*NAMES, "Tom"]), side) for side in pair]
        assert here[0] == here[1]
        assert len(set(here[0])) == 1
        assert [re.sub(here[0][0], "X", side) for side in pair] in frames
    assert {name for name in NAMES if any(name in side for pair in added for side in pair)} == set(NAMES)
    assert any("cats" in target for _, target in added)
    assert not any("dogs" in target for _, target in added)  # there, Tom begins the sentence and may be any word


@pytest.mark.parametrize(
    "pair",
    [
        ("Warm ist es.", "Warm it is."),  # the first word of a sentence
        ("Sieh, die Hand.", "Look, the Hand."),  # in the dictionary
        ("Sieh, der HUND.", "Look, the HUND."),
        ("Sieh, Anna.", "Look, Ann."),
    ],
)
def test_words_that_may_be_no_names_are_not_taken(pair):
    pairs = [pair, ("Ja, Merkel kam.", "Yes, Merkel came.")]
    assert list(Augmenter(AugmentationConfig(names=1), 0, {"hand": "hand"})(pairs)) == pairs


@given(PAIRS)
@example(("{a} {a} %s", "%s {a} und {a}"))
@example(("⟦2⟧ {x}", "{x} ⟦2⟧"))
def test_symbols_stand_for_the_same_things_on_both_sides(pair):
    source, target = with_symbols(pair, 16)
    if (source, target) == pair:
        return
    originals = protect(pair[0]).originals
    assert restore(source, originals) == pair[0]
    assert restore(target, originals) == pair[1]


def test_a_pair_with_different_placeholders_on_its_sides_stays_unchanged():
    assert with_symbols(("Siehe {a}.", "See {b}."), 16) == ("Siehe {a}.", "See {b}.")
    assert with_symbols(("Siehe {a} {b}.", "See {a} {b}."), 1) == ("Siehe {a} {b}.", "See {a} {b}.")
    assert with_symbols(("Siehe {a} %s.", "%s see {a}."), 2) == ("Siehe ⟦1⟧ ⟦2⟧.", "⟦2⟧ see ⟦1⟧.")


def test_repeated_placeholders_are_matched_in_order_and_a_tag_stays():
    assert with_symbols(("{a} {b} {a}", "{a} {a} {b}"), 3) == ("⟦1⟧ ⟦2⟧ ⟦3⟧", "⟦1⟧ ⟦3⟧ ⟦2⟧")
    assert with_symbols(("<BT> Siehe {a}.", "See {a}."), 1) == ("<BT> Siehe ⟦1⟧.", "See ⟦1⟧.")


@pytest.mark.parametrize("kind", ["case", "ending"])
def test_a_rate_applies_to_twelve_words_and_scales_inversely_with_length(kind):
    """Within five standard deviations of the binomial distribution."""
    config = AugmentationConfig(**{kind: 0.1})
    for n_words, rate in ((12, 0.1), (3, 0.4), (24, 0.05), (1, 1.0)):
        for word, gap, place in (("Wort", " ", "Ort"), *([("天地", "", "Aa天地")] if n_words > 1 else [])):
            pairs = [(gap.join([word] * (n_words - 1) + [f"{place}{i}"]) + ".", f"Word place{i}.") for i in range(1000)]
            augmenter = Augmenter(config, 16)
            n_added = len(list(augmenter(pairs))) - len(pairs)
            assert augmenter.added == {kind: n_added}
            assert abs(n_added - 1000 * rate) <= 5 * (1000 * rate * (1 - rate)) ** 0.5


def sentences(n: int, mark: str = ".") -> list[Pair]:
    return [(f"Das ist der lange Satz {i}{mark}", f"This is the long sentence {i}{mark}") for i in range(n)]


@given(st.integers(1, 60), st.sampled_from([0.1, 0.5, 1.0]))
def test_joined_pairs_are_adjacent_in_order_and_within_the_length_range(n, rate):
    pairs = sentences(n)
    found = variants(pairs, AugmentationConfig(joined=rate), 0)
    joined = [pair for pair in found if pair not in pairs]
    assert [pair for pair in found if pair in pairs] == pairs
    sources, targets = (" ".join(sides) for sides in zip(*pairs, strict=True))
    for source, target in joined:
        assert source in sources
        assert target in targets
        assert re.findall(r"\d+", source) == re.findall(r"\d+", target)
        assert 25 <= len(source.split()) <= 75
    assert n < 60 or rate < 1 or joined


@given(st.lists(st.integers(1, 200), min_size=1, max_size=12))
def test_a_long_pair_is_not_repeated_and_does_not_lead_out_of_the_length_range(lengths: list[int]):
    pairs = [(f"{'ja ' * n}{i}.", f"{'yes ' * n}{i}.") for i, n in enumerate(lengths)]
    found = variants(pairs, AugmentationConfig(joined=1), 0)
    joined = [pair for pair in found if pair not in pairs]
    assert len(found) == len(pairs) + len(joined)
    assert all(25 <= len(source.split()) <= 75 for source, _ in joined)


def test_only_whole_sentences_in_a_row_are_joined():
    config = AugmentationConfig(joined=1)
    title = ("Ein Titel", "A title")
    assert variants(sentences(40, ""), config, 0) == sentences(40, "")
    broken = [pair for four in zip(*[iter(sentences(40))] * 4, strict=True) for pair in (*four, title)]
    assert variants(broken, config, 0) == broken
    one_sided = [(source, target[:-1]) for source, target in sentences(40)]
    assert variants(one_sided, config, 0) == one_sided


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_joined_pairs_have_all_lengths_of_the_range_at_any_rate(rate):
    pairs = sentences(2000)
    joined = [pair for pair in variants(pairs, AugmentationConfig(joined=rate), 0) if len(pair[0].split()) > 6]
    lengths = [len(source.split()) for source, _ in joined]
    assert min(lengths) < 32
    assert max(lengths) > 68


def test_sentences_without_spaces_are_joined_without_spaces():
    pairs = [(f"我们今天去公园看书{i}。", f"This is the long sentence {i}!") for i in range(60)]
    joined = [pair for pair in variants(pairs, AugmentationConfig(joined=1), 0) if pair not in pairs]
    assert joined
    for source, target in joined:
        assert source in "".join(source for source, _ in pairs)
        assert target in " ".join(target for _, target in pairs)
        assert 25 <= len(re.findall(r"[^\d。]", source)) / 2 <= 75 + 5


def test_symbols_are_numbered_through_a_joined_pair():
    pairs = [(f"Sieh www.a{i}.de an, bitte sehr.", f"Look at www.a{i}.de, please.") for i in range(15)]
    joined = [pair for pair in variants(pairs, AugmentationConfig(joined=1), 16) if len(pair[0].split()) > 12]
    for source, target in joined:
        assert SYMBOL.findall(source) == SYMBOL.findall(target) == [str(i + 1) for i in range(source.count("Sieh"))]
    assert joined


@pytest.mark.parametrize(
    ("german", "english", "share"),
    [
        ("Haben Sie {}?", "Do you have {}?", {"<formal>": 1.0}),
        ("Hast du {}?", "Do you have {}?", {"<informal>": 1.0}),
        ("Ich habe {}.", "I have {}.", {"<formal>": 0.1, "<informal>": 0.1}),
        ("Man sieht {}.", "You see {}.", {}),  # it speaks to somebody, in no form
        ("Hast du {}, oder haben Sie es?", "Do you have {}?", {}),
        ("HABEN SIE {}?", "DO YOU HAVE {}?", {}),
    ],
)
def test_a_pair_that_speaks_to_nobody_has_either_tag(german, english, share):
    """Within five standard deviations of the binomial distribution."""
    n, rate = 1500, 0.5
    pairs = [(english.format(i), german.format(i)) for i in range(n)]
    found = variants(pairs, AugmentationConfig(formality=rate), 0)
    assert [source.removeprefix("<formal> ").removeprefix("<informal> ") for source, _ in found] == [
        s for s, _ in pairs
    ]
    for tag in ("<formal>", "<informal>"):
        p = rate * share.get(tag, 0.0)
        assert abs(sum(source.startswith(tag) for source, _ in found) - n * p) <= 5 * (n * p * (1 - p)) ** 0.5


def test_a_synthetic_source_keeps_its_tag_in_every_variant():
    pairs = [(f"<BT> {source}", target) for source, target in sentences(30)]
    config = AugmentationConfig(case=1, ending=1, title=1, typos=1, joined=1)
    found = variants(pairs, config)
    assert len(found) > 2 * len(pairs)
    assert all(source.startswith("<BT> ") and source.count("<BT>") == 1 for source, _ in found)
    assert [source.removeprefix("<BT> ") for source, _ in found] == [s for s, _ in variants(sentences(30), config)]


@pytest.mark.parametrize(
    ("source", "respelled"),
    [
        ("Grüße aus der Straße", {"Grüsse aus der Strasse", "Gruesse aus der Strasse"}),
        ("Öl, Äpfel, böse", {"Oel, Aepfel, boese"}),
        ("ÄRGER IN KÖLN", {"AERGER IN KOELN"}),
        ("Hallo", set()),
    ],
)
def test_a_spelling_replaces_letters_of_the_source_alone(source, respelled):
    pairs = [(source, f"ü {i}") for i in range(40)]
    made = list(Augmenter(AugmentationConfig(spelling=1), 0, source="de")(pairs))
    assert {pair[0] for pair in made} == {source, *respelled}
    assert {pair[1] for pair in made} == {pair[1] for pair in pairs}


def test_a_language_without_respellings_has_no_variants_of_spelling():
    for code in ("en", "xx", ""):
        assert list(Augmenter(AugmentationConfig(spelling=1), 0, source=code)([("Straße", "a")])) == [("Straße", "a")]
