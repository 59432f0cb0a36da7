"""Two-way check: `back` is the log-probability of the source given the translation; a low value adds a flag."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu

from tests.programs import program
from tests.translate.conftest import MAX_LENGTH
from translate.errors import UserError
from translate.inference.engines import CTranslate2Engine
from translate.inference.engines import TorchEngine
from translate.inference.scoring import score
from translate.inference.translator import Translator
from translate.inference.search import ranked
from translate.models.folder import ModelFolder
from translate.text.translation import Translation, join

LINES = ["der Hund singt", "die Katze läuft im Garten.", "im See"]


@pytest.fixture(scope="module")
def opposite(parts: ModelFolder) -> ModelFolder:
    return replace(parts, spec=replace(parts.spec, source="en", target="de"))


def test_back_is_the_score_of_the_source_given_the_translation(parts: ModelFolder, opposite: ModelFolder) -> None:
    alone, checked = (
        list(translator.passages(LINES, splits=False))
        for translator in (Translator(parts, beam_size=1), Translator(parts, beam_size=1, two_way=opposite))
    )
    for line, one, other in zip(LINES, alone, checked, strict=True):
        assert (one.text, one.confidence, one.back) == (other.text, other.confidence, None)
        (scored,) = score(opposite, [(other.text, line)])
        assert other.back == pytest.approx(scored.normalised, abs=1e-3)
        assert other.trust == pytest.approx(other.confidence + other.back / 4)
        assert other.record()["back"] == other.back
        assert "back" not in one.record()


def test_the_translation_is_the_hypothesis_of_the_beam_with_the_highest_trust(
    parts: ModelFolder, opposite: ModelFolder
) -> None:
    beam = 7
    lines = [*LINES, *(f"Hund {i}" for i in range(17))]
    hypotheses = list(Translator(parts, beam_size=beam).n_best(lines, beam))
    translator = Translator(parts, beam_size=beam, two_way=opposite)
    n_changed = 0
    for line, several, best, passage in zip(
        lines, hypotheses, translator.stream(lines), translator.passages(lines, guarded=False), strict=True
    ):
        trust = [
            one.confidence + scored.normalised / 4
            for one, scored in zip(several, score(opposite, [(one.text, line) for one in several]), strict=True)
        ]
        expected = several[trust.index(max(trust))]
        assert (best.text, best.trust) == (expected.text, pytest.approx(max(trust), abs=1e-3))
        assert passage.text == best.text
        n_changed += best.text != several[0].text
    assert n_changed  # otherwise the beam's own order would pass as well
    (three,) = translator.n_best(LINES[:1], 3)
    assert [one.trust for one in three] == sorted((one.trust for one in three), reverse=True)
    assert len(three) == 3


def test_what_the_other_model_cannot_read_comes_last(opposite: ModelFolder) -> None:
    def translation(text: str) -> Translation:
        return Translation(text, log_prob=-1.0, tokens=("x",), n_searches=1)

    blank, long, read = map(translation, ("", "word " * MAX_LENGTH, "the dog"))
    model = TorchEngine(opposite)
    found = ranked(model, {"der Hund": [blank, long, read], "": [blank]})
    assert [one.text for one in found["der Hund"]] == [read.text, blank.text, long.text]
    assert [one.back is None for one in found["der Hund"]] == [False, True, True]
    assert found[""] == [blank]
    assert ranked(model, {}) == {}


def test_text_that_the_other_model_cannot_read_stays_unchecked(parts: ModelFolder, opposite: ModelFolder) -> None:
    translator = Translator(parts, two_way=opposite)
    long = "der Hund " * MAX_LENGTH
    for line in ("", "42", long):
        (found,) = translator.passages([line])
        assert found.back is None or line == long  # a long line is searched, and so checked, in parts


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


def test_a_model_of_the_same_direction_is_refused(parts: ModelFolder) -> None:
    with pytest.raises(UserError, match=r"translates de-en, but the two-way check of de-en needs a model for en-de"):
        Translator(parts, two_way=parts)


@pytest.mark.parametrize(("back", "flags"), [(0.0, ()), (-3.0, ("confidence",))])
def test_a_low_two_way_score_is_flagged(
    parts: ModelFolder, opposite: ModelFolder, monkeypatch: pytest.MonkeyPatch, back: float, flags: tuple[str, ...]
) -> None:
    found = Translation("x", log_prob=-1.4, tokens=("x",), n_searches=1)
    assert not found.improbable
    monkeypatch.setattr(
        "translate.inference.translator.ranked",
        lambda model, several: {k: [replace(found, back=back)] for k in several},
    )
    (translation,) = Translator(parts, two_way=opposite).passages(["der Hund singt"])
    assert tuple(flag for flag in translation.flags if flag == "confidence") == flags


def test_scores_of_parts_are_weighted_by_their_tokens() -> None:
    parts = [Translation("a", tokens=("a",) * n, n_searches=1, back=back) for n, back in ((2, -1.0), (4, -3.0))]
    assert join(parts).back == pytest.approx((3 * -1.0 + 5 * -3.0) / 8)
    assert join([parts[0], Translation("?")]).back == -1.0
    assert join([Translation("?")]).back is None


def test_the_benchmark_counts_what_is_below_the_median(
    parts: ModelFolder, opposite: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = program("bench_confidence")
    path = tmp_path / "dev"
    for side in ("de", "en"):
        (tmp_path / f"dev.{side}").write_text("\n".join([*LINES, *LINES[:2]]) + "\n", encoding="utf-8")
    back = tmp_path / "back"
    shutil.copytree(parts.folder, back)
    opposite.spec.save(back / "translation.json")
    assert bench.main([str(parts.folder), "--back", str(back), "--suffix", "", "--lines", "3", str(path)]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    (measured,) = record["sets"].values()
    assert {name: (values["lines"], set(values["spearman"])) for name, values in measured.items()} == {
        "alone": (3, {"mean", "sum", "gnmt"}),
        "two_way": (3, {"mean", "sum", "gnmt", "back", "two_way"}),
    }
    references = ["the dog sings", "a cat runs", "x"]
    translations = [Translation(text, log_prob=-1, n_searches=1) for text in ("the dog sings", "a cat sings", "y")]
    values = bench.measured(translations, references)
    hypotheses = [one.text for one in translations]
    assert values["bleu"] == round(sacrebleu.corpus_bleu(hypotheses, [references]).score, 2)
    assert values["chrf"] == round(sacrebleu.corpus_chrf(hypotheses, [references]).score, 2)
    doubtful, sure = Translation("a", log_prob=-3, n_searches=1), Translation("b", log_prob=-0.1, n_searches=1, back=-9)
    lost = replace(sure, flags=("missing",), back=None)
    found = bench.suspicious([doubtful, sure, lost, replace(sure, back=-1)], [True, True, False, True])
    assert found == {"sentences": 3, "below_median": pytest.approx(2 / 3, abs=1e-3)}
