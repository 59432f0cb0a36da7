"""Reranking orders a beam by the probability of the source given the translation; a low score is flagged."""

import json
import math
import random
import shutil
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace

import harness
import pytest
import sacrebleu

from tests.programs import case
from tests.translate.conftest import MAX_LENGTH
from translate.errors import OptionError, UserError
from translate.inference.ctranslate2_engine import CTranslate2Engine
from translate.inference.scoring import score
from translate.inference.search import rerank
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Document, Search, Translation, join

WEIGHT = 1.0  # of a model without a tuned weight
LINES = ["der Hund singt", "die Katze läuft im Garten.", "im See"]


@pytest.fixture(scope="module")
def opposite(parts: ModelFolder) -> ModelFolder:
    return replace(parts, spec=replace(parts.spec, source="en", target="de"))


def translator(parts: ModelFolder, beam_size: int | None, reranker: ModelFolder | None, **options: bool) -> Translator:
    document = Document(format="lines", **options)
    return Translator(parts, Search(beam_size=beam_size), document, reranker=reranker)


def test_the_reverse_log_probability_is_the_score_of_the_source(parts: ModelFolder, opposite: ModelFolder) -> None:
    alone, reranked = (list(translator(parts, 1, model).passages(LINES)) for model in (None, opposite))
    for line, one, other in zip(LINES, alone, reranked, strict=True):
        assert (one.text, one.confidence, one.reverse_log_prob) == (other.text, other.confidence, None)
        (scored,) = score(opposite, [(other.text, line)])
        assert other.reverse_log_prob == pytest.approx(scored.normalised, abs=1e-3)
        assert other.rerank_score == pytest.approx(other.confidence + WEIGHT * (other.reverse_log_prob or 0.0))
        assert other.record()["rerank_score"] == other.rerank_score
        assert not {"reverse_log_prob", "rerank_score"} & one.record().keys()


@pytest.mark.parametrize("tuned", [None, 0.0, 0.25, 3.0])
def test_the_translation_is_the_hypothesis_of_the_beam_with_the_highest_score(
    parts: ModelFolder, opposite: ModelFolder, tuned: float | None
) -> None:
    parts = replace(parts, spec=replace(parts.spec, reverse_weight=tuned))
    weight = WEIGHT if tuned is None else tuned
    beam = 7
    lines = [*LINES, *(f"Hund {i}" for i in range(17))]
    hypotheses = list(translator(parts, beam, None).n_best(lines, beam))
    reranking = translator(parts, beam, opposite, checks=False)
    n_changed = 0
    for line, several, best, passage in zip(
        lines, hypotheses, reranking.translate_lines(lines), reranking.passages(lines), strict=True
    ):
        scores = [
            one.confidence + weight * scored.normalised if one.text else -math.inf  # a blank text has no score
            for one, scored in zip(several, score(opposite, [(one.text, line) for one in several]), strict=True)
        ]
        expected = several[scores.index(max(scores))]
        assert (best.text, best.rerank_score) == (expected.text, pytest.approx(max(scores), abs=1e-3))
        assert passage.text == best.text
        n_changed += best.text != several[0].text
    assert n_changed  # otherwise the beam's own order would pass as well
    (three,) = reranking.n_best(LINES[:1], 3)
    assert [one.rerank_score for one in three] == sorted((one.rerank_score or 0.0 for one in three), reverse=True)
    assert len(three) == 3


@pytest.mark.parametrize(("own", "asked", "reranked"), [(1, None, 4), (3, None, 4), (5, None, 5), (5, 2, 2)])
def test_reranking_has_hypotheses_to_choose_from(
    parts: ModelFolder, opposite: ModelFolder, own: int, asked: int | None, reranked: int
) -> None:
    parts = replace(parts, spec=replace(parts.spec, decoding=replace(parts.spec.decoding, beam_size=own)))
    (found,) = translator(parts, asked, opposite).translate_lines(LINES[:1])
    (expected,) = translator(parts, reranked, opposite).translate_lines(LINES[:1])
    assert found == expected
    with pytest.raises(OptionError, match=f"beam of {reranked} has fewer"):
        translator(parts, asked, opposite).n_best(LINES[:1], reranked + 1)
    with pytest.raises(OptionError, match=f"beam of {asked or own} has fewer"):
        translator(parts, asked, None).n_best(LINES[:1], (asked or own) + 1)


def test_what_the_other_model_cannot_read_comes_last(opposite: ModelFolder) -> None:
    def translation(text: str) -> Translation:
        return Translation(text, log_prob=-1.0, tokens=("x",), n_segments=1)

    model = TorchEngine(opposite)
    texts = ["q" * n for n in range(1, MAX_LENGTH + 1)]
    of_length = dict(zip(map(len, model.tokenizer.encode_batch(texts)), texts, strict=True))
    blank, long, read = map(translation, ("", of_length[MAX_LENGTH], of_length[MAX_LENGTH - 1]))  # one place is eos's
    one_line, empty = rerank(model, [("der Hund", [blank, long, read]), ("", [blank])], WEIGHT)
    assert [one.text for one in one_line] == [read.text, blank.text, long.text]
    assert [one.rerank_score is None for one in one_line] == [False, True, True]
    assert empty == [blank]
    assert rerank(model, [], WEIGHT) == []


def test_text_that_the_other_model_cannot_read_has_no_score(parts: ModelFolder, opposite: ModelFolder) -> None:
    reranking = translator(parts, None, opposite)
    long = "der Hund " * MAX_LENGTH
    for line in ("", "42", long):
        (found,) = reranking.passages([line])
        assert found.rerank_score is None


@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_both_engines_give_the_same_scores(parts: ModelFolder, n: int) -> None:
    pytest.importorskip("ctranslate2")
    rng = random.Random(n)
    sources, targets = (
        [[rng.randrange(4, parts.tokenizer.vocab_size) for _ in range(rng.randrange(1, 9))] for _ in range(n)]
        for _ in range(2)
    )
    one, other = TorchEngine(parts), CTranslate2Engine.convert(parts.folder)
    assert other.score(sources, targets) == pytest.approx(one.score(sources, targets), abs=1e-3)


def test_pairs_of_unequal_lengths_are_scored_at_the_same_time(parts: ModelFolder) -> None:
    pytest.importorskip("ctranslate2")
    engine, both = CTranslate2Engine.convert(parts.folder, threads=2), Barrier(2)

    def score_batch(sources: list[list[str]], targets: list[list[str]], **options: object) -> list[SimpleNamespace]:
        both.wait(timeout=30)
        return [
            SimpleNamespace(log_probs=[-len(source), -len(target)])
            for source, target in zip(sources, targets, strict=True)
        ]

    engine.translator = SimpleNamespace(score_batch=score_batch)
    assert engine.score([[5, 7, 5], [5]], [[6, 6], [6, 7, 6, 7]]) == [-5, -5]


def test_a_model_of_the_same_direction_is_refused(parts: ModelFolder) -> None:
    with pytest.raises(UserError, match=r"translates de-en, but reranking de-en needs a model for en-de"):
        Translator(parts, reranker=parts)


def test_a_model_with_limits_flags_what_is_improbable_and_one_without_flags_nothing(parts: ModelFolder) -> None:
    for low, flags in ((None, set()), (-100.0, set()), (0.0, {"confidence"})):
        limited = replace(parts, spec=replace(parts.spec, low_confidence=low))
        (found,) = translator(limited, None, None).passages(["der Hund singt"])
        assert {*found.flags} & {"confidence"} == flags


@pytest.mark.parametrize(("score", "flags"), [(-1.3, ()), (-1.5, ("confidence",)), (None, ("confidence",))])
def test_a_low_score_of_reranking_is_flagged_instead_of_a_low_confidence(
    score: float | None, flags: tuple[str, ...]
) -> None:
    found = Translation("x", log_prob=-4.0, tokens=("x",), n_segments=1, rerank_score=score)
    assert found.with_confidence_flag(-0.95, -1.4).flags == flags
    assert found.with_confidence_flag(None, None).flags == ()
    whole = replace(join([found, Translation("!")]), sentences=(("x", found),))
    assert whole.with_confidence_flag(-3.0, -1.4).flags == (flags if score else ())


def test_scores_of_parts_are_weighted_by_their_tokens() -> None:
    parts = [
        Translation("a", tokens=("a",) * n, n_segments=1, reverse_log_prob=value, rerank_score=2 * value)
        for n, value in ((2, -1.0), (4, -3.0))
    ]
    mean = (3 * -1.0 + 5 * -3.0) / 8
    assert (join(parts).reverse_log_prob, join(parts).rerank_score) == pytest.approx((mean, 2 * mean))
    assert join([parts[0], Translation("?")]).rerank_score == -2.0
    assert join([Translation("?")]).rerank_score is None


def test_the_benchmark_counts_what_is_below_the_median(
    parts: ModelFolder, opposite: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = case("confidence")
    path = tmp_path / "dev"
    for side in ("de", "en"):
        (tmp_path / f"dev.{side}").write_text("\n".join([*LINES, *LINES[:2]]) + "\n", encoding="utf-8")
    back = tmp_path / "back"
    shutil.copytree(parts.folder, back)
    opposite.spec.save(back)
    assert (
        harness.main(
            ["confidence", str(parts.folder), "--rerank", str(back), "--suffix", "", "--lines", "3", str(path)]
        )
        == 0
    )
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    (measured,) = record["sets"].values()
    assert {name: (values["lines"], set(values["spearman"])) for name, values in measured.items()} == {
        "alone": (3, {"mean", "sum", "gnmt"}),
        "reranked": (3, {"mean", "sum", "gnmt", "reverse", "reranked"}),
    }
    references = ["the dog sings", "a cat runs", "x"]
    translations = [Translation(text, log_prob=-1, n_segments=1) for text in ("the dog sings", "a cat sings", "y")]
    values = bench.measured(translations, references)
    hypotheses = [one.text for one in translations]
    assert values["bleu"] == round(sacrebleu.corpus_bleu(hypotheses, [references]).score, 2)
    assert values["chrf"] == round(sacrebleu.corpus_chrf(hypotheses, [references]).score, 2)
    doubtful, sure = Translation("a", flags=("confidence",), n_segments=1), Translation("b", n_segments=1)
    lost = replace(sure, flags=("missing",))
    found = bench.suspicious([doubtful, doubtful, lost, sure], [True, True, False, True])
    assert found == {"sentences": 3, "below_median": pytest.approx(2 / 3, abs=1e-3)}
