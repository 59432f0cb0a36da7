"""Scores of text lines equal those of the search, keep the order, and do not depend on the batch."""

import random
from dataclasses import replace

import pytest
import torch

import translate.inference.scoring
import translate.inference.torch_engine
from tests.translate.conftest import MAX_LENGTH, SENTENCES, requests
from transformer.config import SearchConfig
from transformer.model import Transformer
from transformer.search.scoring import score_ids
from translate.errors import UserError
from translate.inference.scoring import score
from translate.inference.torch_engine import TorchEngine
from translate.models.folder import ModelFolder


def test_scores_are_those_of_the_search_for_the_same_tokens(parts: ModelFolder) -> None:
    engine, most = TorchEngine(parts), 9
    sources = engine.tokenizer.encode_batch(["der Hund singt", "am See", "die Katze läuft im Garten."])
    found = engine.search(requests(sources, [most] * 3), SearchConfig(beam_size=5, n_best=5))
    pairs = [(ids, hypothesis) for ids, best in zip(sources, found, strict=True) for hypothesis in best]
    scores = engine.score([ids for ids, _ in pairs], [hypothesis.tokens for _, hypothesis in pairs])
    assert len(scores) == 15
    assert scores == pytest.approx([hypothesis.log_prob for _, hypothesis in pairs], abs=1e-3)


def test_the_score_of_a_text_is_that_of_its_tokens(parts: ModelFolder) -> None:
    pairs = [("der Hund singt", "the dog"), ("  am See ", " a cat. "), ("die Katze läuft im Garten.", "the dog sleeps")]
    for (line, text), own in zip(pairs, score(parts, pairs), strict=True):
        source, ids = (parts.tokenizer.encode(side.strip()) for side in (line, text))
        (expected,) = score_ids(parts.model, [source], [ids])
        assert own.token_log_probs == pytest.approx(expected, abs=1e-4)
        assert (own.n_tokens, own.tokens) == (len(ids) + 1, parts.tokenizer.tokens(ids))


def test_pairs_come_back_in_order_whatever_the_batch(parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    pairs = [(draw.choice([*SENTENCES, ""]), draw.choice([*SENTENCES, "", " "])) for _ in range(41)]
    together = list(score(parts, pairs))
    assert [(s.source, s.reference) for s in together] == pairs
    assert all(s.log_prob == pytest.approx(sum(s.token_log_probs)) for s in together)
    monkeypatch.setattr(translate.inference.torch_engine, "_PAIRED_TOKENS", 1)
    monkeypatch.setattr(translate.inference.scoring, "_WINDOW", 7)
    alone = list(score(parts, pairs))
    assert [s.log_prob for s in alone] == pytest.approx([s.log_prob for s in together], abs=1e-4)


def test_a_pair_of_blank_lines_has_no_tokens_and_half_a_pair_has_a_score(parts: ModelFolder) -> None:
    both, target, source = score(parts, [("", " "), ("", "Ja."), ("Ja.", "")])
    assert (both.log_prob, both.n_tokens, both.normalised) == (0.0, 0, 0.0)
    assert target.n_tokens > 1
    assert source.n_tokens == 1
    assert min(target.log_prob, source.log_prob) > source.log_prob + target.log_prob


@pytest.mark.parametrize(("pair", "side"), [(("Ja. " * 70, "Ja."), "source"), (("Ja.", "Ja. " * 70), "reference")])
def test_a_line_that_is_too_long_is_refused_with_its_number(
    parts: ModelFolder, pair: tuple[str, str], side: str
) -> None:
    with pytest.raises(
        UserError, match=rf"^line 2: the {side} has [\d,]+ tokens, and .* reads at most {MAX_LENGTH - 1};"
    ):
        list(score(parts, [("Ja.", "Ja."), pair]))


def test_a_model_without_finite_probabilities_is_refused(parts: ModelFolder) -> None:
    model = Transformer(parts.model.config).eval()
    torch.nn.init.constant_(model.output_weight, float("nan"))
    with pytest.raises(UserError, match="not finite"):
        list(score(replace(parts, model=model), [("Ja.", "Yes.")]))
