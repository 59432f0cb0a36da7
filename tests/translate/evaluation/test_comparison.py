"""Every sentence and word is in one bucket; n-grams belong to a system; marked sentences keep every character."""

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu import BLEU, CHRF

from translate.evaluation import comparison
from translate.evaluation.comparison import MarkedSpan, Matches, marked, ngram_differences

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=70)
BOUNDS = st.lists(st.integers(-30, 30), min_size=1, max_size=7, unique=True).map(sorted)


@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=5),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 2000)),
)
def test_frequency_buckets_add_up(lines: list[tuple[list[str], ...]], counts: dict[str, int]) -> None:
    first, second, references = zip(*lines, strict=True)
    found = comparison.by_frequency([first, second], references, Counter(counts))
    assert sum(matches[0].expected for _, matches in found) == sum(map(len, references))
    for side, outputs in enumerate((first, second)):
        common = [Counter(a) & Counter(b) for a, b in zip(outputs, references, strict=True)]
        assert sum(matches[side].matched for _, matches in found) == sum(c.total() for c in common)
    assert all(0 <= of.f1 <= 100 for _, matches in found for of in matches)


@given(st.lists(st.lists(st.integers(0, 70), min_size=1, max_size=5), min_size=1, max_size=7))
def test_length_buckets_hold_every_sentence_once(lengths: list[list[int]]) -> None:
    references = [" ".join(["word"] * n) for (n, *_) in lengths]
    found = comparison.by_length(BLEU(), [references, references], references, str.split)
    assert sum(bucket.size for bucket in found) == len(references)
    assert all(bucket.size for bucket in found)


@given(st.lists(st.floats(-60, 60), min_size=1, max_size=9), BOUNDS)
def test_bucket_counts_add_up_for_each_system(values: list[float], bounds: list[int]) -> None:
    found = comparison.by_count([values, [-value for value in values]], bounds, whole=False)
    assert [sum(bucket.values[side] for bucket in found) for side in (0, 1)] == [len(values)] * 2


@given(BOUNDS, st.floats(-40, 40), st.booleans())
@example([1, 3], 0.5, False)
def test_the_label_of_a_bucket_says_what_is_in_it(bounds: list[int], value: float, whole: bool) -> None:
    value = round(value) if whole else value
    (i,) = comparison.indices([value], bounds)
    label = comparison.labels(bounds, whole=whole)[i].replace("\u2212", "-")
    if label.startswith("<"):
        assert value < int(label[1:])
    elif label.startswith("\u2265"):
        assert value >= int(label[1:])
    elif " to " in label:
        low, high = map(int, label.split(" to "))
        assert low <= value <= high
    elif i or not whole:
        assert value == int(label)


def test_the_buckets_of_words_begin_with_those_that_were_never_seen() -> None:
    assert comparison.labels(comparison.FREQUENCIES) == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "5 to 9",
        "10 to 99",
        "100 to 999",
        "\u2265 1000",
    ]


def test_the_score_of_a_bucket_is_the_bleu_of_its_sentences() -> None:
    references = ["a b c d e", " ".join("abcdefghijklmno"), "c d e f g"]
    outputs = ["a b c d x", " ".join("abcdefghijklmno"), "c d e f g"]
    short, long = comparison.by_length(BLEU(), [outputs], references, str.split)
    assert (short.label, short.size, long.label, long.size) == ("< 10", 2, "10 to 19", 1)
    assert short.values[0] == BLEU().corpus_score(outputs[::2], [references[::2]]).score
    assert long.values[0] == pytest.approx(100)


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    assert Matches(3, 5, 7).f1 == pytest.approx(100 * 2 / (5 / 3 + 7 / 3))
    assert Matches(0, 0, 7).f1 == 0


TEXT = st.text(st.sampled_from("ab .,\u00df\u4e2d\u56fd'"), max_size=30)


@given(TEXT, TEXT, TEXT)
def test_no_character_is_lost(first: str, second: str, reference: str) -> None:
    rows = marked(first, second, reference)
    assert ["".join(span.text for span in row) for row in rows] == [first, second, reference]


@given(TEXT, TEXT)
def test_identical_translations_have_no_marks(text: str, reference: str) -> None:
    assert {span.mark for row in marked(text, text, reference) for span in row} <= {""}


@given(TEXT, TEXT)
def test_a_perfect_translation_has_no_wrong_word(other: str, reference: str) -> None:
    _, perfect, expected = marked(other, reference, reference)
    assert "wrong" not in {span.mark for span in perfect}
    assert "first" not in {span.mark for span in expected}


def test_differences_are_marked_word_by_word() -> None:
    first, second, reference = marked("the old dog runs", "the cold dog runs", "an old dog runs")
    assert first == [MarkedSpan("the ", ""), MarkedSpan("old", "right"), MarkedSpan(" dog runs", "")]
    assert second == [MarkedSpan("the ", ""), MarkedSpan("cold", "wrong"), MarkedSpan(" dog runs", "")]
    assert reference == [MarkedSpan("an ", ""), MarkedSpan("old", "first"), MarkedSpan(" dog runs", "")]


def test_an_n_gram_belongs_to_the_system_that_matches_it_more_often() -> None:
    references = [line.split() for line in ("a b c", "a b d", "e", "e f", "g")]
    texts = ("a b x", "a b d", "y", "z", "g"), ("x c", "a d", "e", "e x", "y")
    first, second = ngram_differences([[line.split() for line in lines] for lines in texts], references, 7)
    assert [(item.text, item.matches, item.expected) for item in first] == [("a b", (2, 0), 2)]
    assert [(item.text, item.matches, item.expected) for item in second] == [("e", (0, 2), 2)]


def test_n_grams_are_ordered_by_the_share_of_the_system_and_parts_with_the_same_matches_are_left_out() -> None:
    both = ["y"] + ["c"] * 4
    lines = [*both, "c", "c", "c", *["a"] * 3, *["a b"] * 2, *["use", "house"] * 2, *["x y"] * 3]
    first = [line.split() if n < len(both) else [] for n, line in enumerate(lines)]
    second = [line.split() for line in lines]
    for n in (7, 3):
        _, found = ngram_differences([first, second], second, n)
        assert [(item.text, item.matches) for item in found] == [
            ("a", (0, 5)), ("x y", (0, 3)), ("a b", (0, 2)), ("house", (0, 2)), ("use", (0, 2)), ("y", (1, 4)),
            ("c", (4, 7)),
        ][:n]  # fmt: skip


def test_a_word_counts_no_more_often_than_the_reference_has_it() -> None:
    first, second = ngram_differences([[["a", "a", "a", "a"]], [["a"]]], [["a", "b"]], 3)
    assert (first, second) == ([], [])


def test_n_grams_have_no_punctuation_marks() -> None:
    """The most frequent difference was "." or ", and"; "5 €" and "don't" are words."""
    line = ["well", ",", "don't", "pay", "5", "€", ".", "“", "so"]
    found, _ = ngram_differences([[line, line], [[], []]], [line, line], 99)
    assert [item.text for item in found] == ["don't pay 5 €", "so", "well"]


def test_ties_are_the_lines_that_are_neither_gains_nor_losses() -> None:
    pairs = [("", "a b c d e"), ("", "f g h i j"), ("", "k l m n o"), ("", "p q r s t")]
    first = ["a b c d e", "x", "k l m n o", "p q"]
    second = ["a b c d e", "y", "k", "p q r"]  # the same, two without a match, a loss, a gain
    found = comparison.compare("toy", ["one", "two"], [first, second], pairs)
    assert (found.n_ties, found.n_same, found.n_gains, found.n_losses) == (2, 1, 1, 1)


REFERENCES = ["a b c d e f", "g h i j k", "l m n o", "p q r s"]
FIRST = ["a b c d e f", "g h i j k", "l m n o p q r", "p q"]
SECOND = ["a b c d", "g h x j k", "l m n o", "p q r s"]  # worse, worse, better, much better


def compared(
    first: list[str], second: list[str], *, n_sentences: int = 9, ignore_case: bool = False
) -> comparison.Comparison:
    pairs = [(str(n), reference) for n, reference in enumerate(REFERENCES, start=1)]
    return comparison.compare(
        "toy", ["one", "two"], [first, second], pairs, n_sentences=n_sentences, ignore_case=ignore_case
    )


def test_words_are_counted_for_each_system_and_compared_with_the_references() -> None:
    found = compared(FIRST, SECOND)
    assert found.n_words == 19
    assert [one.n_words for one in found.systems] == [20, 17]
    assert [one.length_ratio for one in found.systems] == [20 / 19, 17 / 19]
    assert [one.brevity_penalty for one in found.systems] == [1, pytest.approx(math.exp(1 - 19 / 17))]
    assert [one.precisions[0] for one in found.systems] == [100 * 17 / 20, pytest.approx(100 * 16 / 17)]
    assert [(one.label, one.size, one.values) for one in found.by_excess] == [
        ("\u22122 to \u22121", 2, (1, 1)), ("0", 5, (2, 3)), ("1 to 2", 0, (0, 0)), ("3 to 5", 1, (1, 0)),
    ]  # fmt: skip


def test_gains_and_losses_are_the_sentences_that_change_most() -> None:
    found, chrf = compared(FIRST, SECOND), CHRF(word_order=2)
    scores = {
        n: tuple(chrf.sentence_score(line, [reference]).score for line in (first, second))
        for n, (first, second, reference) in enumerate(zip(FIRST, SECOND, REFERENCES, strict=True), start=1)
    }
    order = sorted(scores, key=lambda n: scores[n][1] - scores[n][0])
    assert [one.line for one in found.losses] == order[:2]
    assert [one.line for one in found.gains] == order[:1:-1]
    for one in (*found.gains, *found.losses):
        n = one.line
        assert (one.source, one.reference, one.scores) == (str(n), REFERENCES[n - 1], scores[n])
        assert one.outputs == (FIRST[n - 1], SECOND[n - 1])
    assert {one.label for one in found.by_score} <= {*comparison.labels(comparison.SCORES, whole=False)}
    assert {one.label for one in found.by_change} <= {*comparison.labels(comparison.CHANGES, whole=False)}
    assert [sum(of) for of in zip(*(one.values for one in found.by_score), strict=True)] == [4, 4]
    assert sum(one.size for one in found.by_change if one.label.startswith(("\u2212", "<"))) == 2
    short = compared(FIRST, SECOND, n_sentences=1)
    assert (short.gains, short.losses) == (found.gains[:1], found.losses[:1])


@pytest.mark.parametrize(
    ("values", "p_value", "said"),
    [
        ((20.0, 31.5), 0.04, "two is 11.50 BLEU above one; the difference is significant (p = 0.0400)."),
        ((31.5, 20.0), 0.06, "one is 11.50 BLEU above two; the difference may be chance (p = 0.0600)."),
        ((20.0, 20.0), 1.0, "one and two tie: they have the same BLEU."),
    ],
)
def test_the_verdict_names_the_better_system(values: tuple[float, float], p_value: float, said: str) -> None:
    found = compared(FIRST, SECOND)
    systems = [
        replace(one, scores=replace(one.scores, bleu=replace(one.scores.bleu, value=value, p_value=p_value)))
        for one, value in zip(found.systems, values, strict=True)
    ]
    assert replace(found, systems=systems).verdict == said


def test_case_makes_a_difference_unless_it_is_ignored() -> None:
    upper = [line.upper() for line in FIRST]
    for ignore_case in (False, True):
        found = compared(FIRST, upper, ignore_case=ignore_case)
        assert all((one == other) == ignore_case for _, (one, other) in found.by_frequency)
        assert found.verdict.startswith("one and two tie") == ignore_case
