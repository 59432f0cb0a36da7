"""Scores and p-values are those of sacreBLEU; text that the metrics cannot score sensibly is refused."""

import itertools
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu

from translate.errors import UserError
from translate.evaluation import comparison, other_metrics
from translate.evaluation.scores import (
    Test,
    check_hypotheses,
    corpus_bleu,
    greedy_bleu,
    metrics,
    paired_scores,
    paired_test,
    score,
)
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Search

REFERENCES = [f"The {noun} sleeps in the old house, doesn't it?" for noun in ("dog", "cat", "bird", "child", "cow")]
HYPOTHESES = [line.replace("old", "cold").replace("bird", "Bird") for line in REFERENCES]


def test_the_numbers_are_those_of_sacrebleu() -> None:
    scores = score(HYPOTHESES, REFERENCES)
    assert scores.bleu.value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert scores.chrf.value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2).score
    assert scores.ter.value == sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES]).score
    assert scores.bleu.value == corpus_bleu(HYPOTHESES, REFERENCES)


SHORT = ["Ja.", "Nein.", "Guten Tag."]


@pytest.mark.parametrize("confidence", [False, True])
@pytest.mark.parametrize("lines", [["Ja."], SHORT, ["", "Ja."]], ids=["one line", "short lines", "an empty line"])
def test_a_bleu_of_zero_for_short_lines_says_why(lines: list[str], confidence: bool) -> None:
    scores = score(lines, lines, confidence=confidence)
    assert scores.bleu.value == 0
    assert scores.chrf.value == pytest.approx(100)
    assert "BLEU is 0 because no translation has 4 words in a row" in scores.bleu.notes[0]
    assert scores.as_dict()["bleu"]["notes"] == list(scores.bleu.notes)
    assert not any("BLEU" in note for other in (scores.chrf, scores.ter) for note in other.notes)


def test_a_bleu_that_is_smoothed_alone_says_so() -> None:
    scores = score(["eins zwei drei vier fünf"], ["eins zwei drei x vier fünf"])
    assert scores.bleu.value > 0
    assert "smoothing alone" in scores.bleu.notes[0]
    assert score(HYPOTHESES, REFERENCES).bleu.notes == ()
    assert "notes" not in score(HYPOTHESES, REFERENCES).as_dict()["bleu"]


@pytest.mark.parametrize("test", ["bootstrap", "ar"])
def test_the_interval_of_one_line_says_why_it_is_zero(test: Test) -> None:
    one = [["The old dog sleeps in the house."], ["The dog sleeps in the old house."]]
    for scores in paired_scores(one, one[0], test, confidence=True):
        for metric in scores.by_name().values():
            assert metric.interval == 0
            assert any("a single line" in note for note in metric.notes)
    (scores, _) = paired_scores([HYPOTHESES, REFERENCES], REFERENCES, test, confidence=True)
    assert not any(metric.notes for metric in scores.by_name().values())


def test_a_perfect_translation_has_the_best_scores() -> None:
    scores = score(REFERENCES, REFERENCES)
    assert (scores.bleu.value, scores.chrf.value, scores.ter.value) == (pytest.approx(100), pytest.approx(100), 0)


def test_every_score_has_its_signature() -> None:
    record = score(HYPOTHESES, REFERENCES).as_dict()
    assert record["lines"] == 5
    for name in ("bleu", "chrf++", "ter"):
        assert f"version:{sacrebleu.__version__}" in record[name]["signature"]
    assert "tok:13a" in record["bleu"]["signature"]
    assert "case:mixed" in record["bleu"]["signature"]


def test_intervals_surround_the_score_and_are_the_same_every_time() -> None:
    hypotheses, references = HYPOTHESES + REFERENCES, REFERENCES + REFERENCES
    scores = score(hypotheses, references, confidence=True)
    assert scores == score(hypotheses, references, confidence=True)
    for metric in (scores.bleu, scores.chrf, scores.ter):
        assert metric.interval > 0
        assert abs(metric.value - metric.mean) < metric.interval
        assert "bs:1000" in metric.signature
    assert scores.bleu.value == score(hypotheses, references).bleu.value


def test_resamples_without_a_match_count_in_the_intervals() -> None:
    bleu = score(["a b c d e", "q"], ["a b c d e", "z"], confidence=True).bleu
    assert bleu.interval == pytest.approx(50, abs=0.1)  # from 0, where only the second line was drawn, to 100
    assert 0 < bleu.mean < 100


@pytest.mark.parametrize("target", ["zh", "zh-CN", "zh_Hans", "zho_Hans", "cmn"])
def test_chinese_is_split_into_characters(target):
    references, hypotheses = ["我喜欢吃苹果和香蕉。"], ["我喜欢吃苹果和梨。"]
    theirs = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="zh").score
    bleu = score(hypotheses, references, target=target).bleu
    assert "tok:zh" in bleu.signature
    assert bleu.value == corpus_bleu(hypotheses, references, target=target) == pytest.approx(theirs)
    assert theirs > corpus_bleu(hypotheses, references)


@pytest.mark.parametrize("function", [score, corpus_bleu])
def test_unequal_counts_are_an_error_with_both_counts(function) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match="5 translations but 3 references"):
        function(HYPOTHESES, REFERENCES[:3])
    with pytest.raises(UserError, match="no lines"):
        function([], [])


def test_blank_lines_count_as_lines() -> None:
    assert score(["", "a b c d"], ["a b c d", "a b c d"]).n_lines == 2
    assert corpus_bleu(["", "a b c d"], ["a b c d", "a b c d"]) < 100


NOUNS = ("dog", "cat", "bird", "child", "cow", "house", "river")
PAIRED_REFERENCES = [
    f"The {NOUNS[i % 7]} number {i} sleeps in the old {NOUNS[i % 5]} of Mr {i % 3}, doesn't it?" for i in range(201)
]


def system(seed: int, share: float) -> list[str]:
    """The references with one word replaced in a share of the lines."""
    chosen = random.Random(seed)
    return [line.replace("sleeps", "walks") if chosen.random() < share else line for line in PAIRED_REFERENCES]


@pytest.mark.parametrize(("test", "option"), [("bootstrap", "--paired-bs"), ("ar", "--paired-ar")])
def test_the_p_values_are_those_of_the_command(test: Test, option: str, tmp_path: Path) -> None:
    """Compared with the program run on two saved outputs."""
    outputs, references = [system(1, 0.3)[:91], system(3, 0.45)[:91]], PAIRED_REFERENCES[:91]
    for name, lines in zip("abr", [*outputs, references], strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "r", "-i", "a", "b", "-m", "bleu", "chrf", "ter"]
    done = subprocess.run(
        [*command, "--chrf-word-order", "2", option, "--format", "latex", "-w", "6"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    row = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["b"])
    _, *theirs = (re.findall(r"\d+\.\d+", cell) for cell in row.split(" & "))
    _, ours = paired_scores(outputs, references, test)
    assert [f"{score.p_value:.4f}" for score in ours.by_name().values()] == [cell[-1] for cell in theirs]
    assert [f"{score.value:.6f}" for score in ours.by_name().values()] == [cell[0] for cell in theirs]
    assert 0.01 < ours.bleu.p_value < 0.99, "a value in between says more"


@pytest.mark.parametrize("test", ["bootstrap", "ar"])
def test_five_percent_of_replaced_sentences_are_found(test: Test) -> None:
    replaced = [NOUNS[i % 7] if i % 20 == 3 else line for i, line in enumerate(system(1, 0.3))]
    assert sum(a != b for a, b in zip(replaced, system(1, 0.3), strict=True)) == 10
    _, worse = paired_scores([system(1, 0.3), replaced], PAIRED_REFERENCES, test)
    assert all(score.p_value < 0.05 for score in worse.by_name().values())


@pytest.mark.parametrize("test", ["bootstrap", "ar"])
def test_an_identical_system_is_not_different(test: Test) -> None:
    first, same = paired_scores([system(1, 0.3)[:31], system(1, 0.3)[:31]], PAIRED_REFERENCES[:31], test)
    assert [score.p_value for score in first.by_name().values()] == [None] * 3
    assert [score.p_value for score in same.by_name().values()] == [1.0] * 3


def exact_p_value(first: list[str], second: list[str], references: list[str]) -> float:
    """The share of all exchanges of lines between two systems whose BLEU differs as much as theirs."""
    differing = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    differences = []
    for chosen in itertools.product((False, True), repeat=len(differing)):
        one, other = list(first), list(second)
        for i in itertools.compress(differing, chosen):
            one[i], other[i] = other[i], one[i]
        differences.append(abs(corpus_bleu(one, references) - corpus_bleu(other, references)))
    return sum(difference >= differences[0] - 1e-9 for difference in differences) / len(differences)


@pytest.mark.parametrize("test", ["bootstrap", "ar"])
@pytest.mark.parametrize("n_differing", [1, 5])
def test_few_differing_lines_are_not_called_significant(n_differing: int, test: Test) -> None:
    """Worse on all of them: only two exchanges make a difference as large. Metrics do not see a space at the end."""
    references = PAIRED_REFERENCES[:37]
    worse = [*NOUNS[:n_differing], *references[n_differing:]]
    exact = exact_p_value(references, worse, references)
    assert exact == 2 ** (1 - n_differing)
    _, score = paired_test([references, [f"{line} " for line in worse]], references, metrics()[0], test)
    assert score.p_value >= exact > 0.05


def test_lines_without_a_match_are_evidence_if_their_counts_differ() -> None:
    """chrF++ is 0 for each of these lines, but the longer ones lower that of the corpus."""
    references = PAIRED_REFERENCES[:23]
    short, long = (["#" * n] * 9 + references[9:] for n in (3, 131))
    _, score = paired_test([short, long], references, metrics()[1], "bootstrap")
    assert score.p_value < 0.01


def test_every_system_is_compared_with_the_first() -> None:
    """The order of the other systems does not matter."""
    a, b, c = (system(seed, share)[:31] for seed, share in ((1, 0.2), (2, 0.4), (3, 0.3)))
    _, of_b, of_c = paired_scores([a, b, c], PAIRED_REFERENCES[:31], "bootstrap")
    _, again_c, again_b = paired_scores([a, c, b], PAIRED_REFERENCES[:31], "bootstrap")
    assert (of_b, of_c) == (again_b, again_c)


def test_intervals_belong_to_bootstrap_and_to_ar_on_demand() -> None:
    outputs = [system(1, 0.3)[:31], system(2, 0.3)[:31]]
    bootstrap, plain, asked = (
        paired_scores(outputs, PAIRED_REFERENCES[:31], test, confidence=confidence)[1].bleu
        for test, confidence in (("bootstrap", False), ("ar", False), ("ar", True))
    )
    assert plain.interval is None
    assert bootstrap.interval > 0
    assert asked.interval > 0
    assert (asked.p_value, asked.value) == (plain.p_value, bootstrap.value)


def test_unequal_counts_are_an_error() -> None:
    with pytest.raises(UserError, match="201 references"):
        paired_scores([PAIRED_REFERENCES, PAIRED_REFERENCES[1:]], PAIRED_REFERENCES, "ar")


CASED_REFERENCES = [f"The House number {i} is in Berlin." for i in range(7)]


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("\u2581The \u2581Ho use \u2581is", "SentencePiece"),
        ("The Ho@@ use is", "BPE"),
        ("The House i@@", "BPE"),
        ("The Ho ##use is", "WordPiece"),
        ("The Ho \uffeduse is", "OpenNMT"),
    ],
)
def test_subwords_are_refused_with_the_line(line: str, tool: str) -> None:
    hypotheses = [*CASED_REFERENCES[:4], line, line, CASED_REFERENCES[6]]
    with pytest.raises(UserError, match=f"out.txt, line 5: still holds subwords, with marks of {tool}"):
        check_hypotheses("out.txt", hypotheses, CASED_REFERENCES)
    check_hypotheses("out.txt", hypotheses, [*CASED_REFERENCES[:4], line, *CASED_REFERENCES[5:]])


@pytest.mark.parametrize("n_tags", [1, 4])
def test_a_few_tags_are_not_taken_for_subwords(n_tags: int) -> None:
    lines = CASED_REFERENCES * 20
    check_hypotheses("out.txt", [f"{line} ##tag" if n < n_tags else line for n, line in enumerate(lines)], lines)


@pytest.mark.parametrize("line", ["Mail to a@b.de, or @@ and # 5", "C## is no language", "A@@b"])
def test_other_uses_of_subword_marks_are_accepted(line: str) -> None:
    check_hypotheses("out.txt", [line] * 7, CASED_REFERENCES)


def test_lower_cased_output_is_refused_unless_asked() -> None:
    lower = [line.lower() for line in CASED_REFERENCES]
    with pytest.raises(UserError, match="out.txt: has no capital letter, but 7 references have.*--ignore-case"):
        check_hypotheses("out.txt", lower, CASED_REFERENCES)
    check_hypotheses("out.txt", lower, CASED_REFERENCES, ignore_case=True)
    check_hypotheses("out.txt", lower, lower)
    check_hypotheses("out.txt", [*lower[1:], "One"], CASED_REFERENCES)


def test_little_evidence_is_not_taken_for_lower_case() -> None:
    check_hypotheses("out.txt", ["1 2 3", "", "\u4e2d\u56fd", "", "", "", ""], CASED_REFERENCES)
    check_hypotheses("out.txt", ["one"] * 7, ["One", *["two"] * 6])


def test_unequal_counts_name_the_system_and_both_counts() -> None:
    with pytest.raises(UserError, match="out.txt: has 5 lines, but the references have 7"):
        check_hypotheses("out.txt", CASED_REFERENCES[:5], CASED_REFERENCES)


SOURCES = ["der Hund singt im Haus.", "die Katze\n am See.", "die Katze am See.", "", "das Kind läuft in the house."]


def test_the_validation_score_is_the_bleu_of_greedy_translations(parts: ModelFolder) -> None:
    greedy = [t.text for t in Translator(parts, Search(beam_size=1)).translate_lines(SOURCES)]
    references = [f"{text} and the dog" for text in greedy]
    expected = score(greedy, references).bleu.value
    assert 0 < expected < 100
    assert greedy_bleu(parts, list(zip(SOURCES, references, strict=True))) == expected


TWO_LISTS: dict[str, Callable[[list[str], list[str]], object]] = {
    "score": score,
    "score with intervals": lambda a, b: score(a, b, confidence=True),
    "corpus_bleu": corpus_bleu,
    "paired_scores": lambda a, b: paired_scores([b, a], b, "ar"),
    "paired_test": lambda a, b: paired_test([b, a], b, metrics()[1], "bootstrap"),
    "check_hypotheses": lambda a, b: check_hypotheses("a system", a, b),
    "paper_bleu": lambda a, b: other_metrics.paper_bleu(a, b, "en"),
    "comet": lambda a, b: other_metrics.comet(sys.executable, b, a, b),
    "comet with sources": lambda a, b: other_metrics.comet(sys.executable, a, b, b),
    "compare": lambda a, b: comparison.compare("set", ["x", "y"], [b, a], [("", line) for line in b]),
}


@pytest.mark.parametrize("function", TWO_LISTS)
@pytest.mark.parametrize(("n", "m"), [(3, 5), (5, 3), (0, 3), (1, 3)])
def test_lists_of_unequal_length_are_refused_with_both_numbers(function: str, n: int, m: int) -> None:
    """sacreBLEU scores as many lines as the shorter list has."""
    with pytest.raises(UserError) as caught:
        TWO_LISTS[function](REFERENCES[:n], REFERENCES[:m])
    assert {str(n), str(m)} <= set(re.findall(r"\d+", str(caught.value)))


@pytest.mark.parametrize("function", [name for name in TWO_LISTS if name not in ("check_hypotheses",)])
def test_empty_lists_have_no_score(function: str) -> None:
    with pytest.raises(UserError, match="no lines to score"):
        TWO_LISTS[function]([], [])
