"""Scores equal sacreBLEU's, have signatures, and require matching line counts."""

import pytest
import sacrebleu

from translate.errors import UserError
from translate.evaluation.scores import corpus_bleu, score

REFERENCES = [f"The {noun} sleeps in the old house, doesn't it?" for noun in ("dog", "cat", "bird", "child", "cow")]
HYPOTHESES = [line.replace("old", "cold").replace("bird", "Bird") for line in REFERENCES]


def test_the_numbers_are_those_of_sacrebleu() -> None:
    scores = score(HYPOTHESES, REFERENCES)
    assert scores.bleu.value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert scores.chrf.value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2).score
    assert scores.ter.value == sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES]).score
    assert scores.bleu.value == corpus_bleu(HYPOTHESES, REFERENCES)


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


def test_chinese_is_not_split_at_spaces() -> None:
    scores = score(["你好世界吗"], ["你好世界呢"], target="zh")
    assert "tok:zh" in scores.bleu.signature
    assert scores.bleu.value > 0


@pytest.mark.parametrize("target", ["zh", "zh-CN", "zh_Hans"])
def test_chinese_is_split_into_characters(target):
    references, hypotheses = ["我喜欢吃苹果和香蕉。"], ["我喜欢吃苹果和梨。"]
    theirs = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="zh").score
    assert corpus_bleu(hypotheses, references, target=target) == pytest.approx(theirs)
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
