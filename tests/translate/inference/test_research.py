"""Search options on text: each alone, in pairs, and the cases in which they are refused."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

import pytest
import torch

import translate.inference.search
from tests.translate.conftest import SENTENCES, random_model
from transformer.config import Hypotheses, Request, SearchConfig, length_penalty
from transformer.model import Transformer
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import train
from translate.errors import UserError
from translate.inference.constraints import Constraints, Term, forced_ids, read_terms
from translate.inference.search import SentenceSearch
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text import sentences
from translate.text.translation import Search, Translation

LINES = ["der Hund singt im Haus.", "", "  die Katze schläft am See. ", "der Hund singt im Haus.", "Ja. " * 40]
SHORT = LINES[:4]

Form = Literal["NFC", "NFD"]


def search_of(engine: TorchEngine, terms: Sequence[Term] = (), **settings: Any) -> SentenceSearch:
    config = Search(**settings).config(engine.spec.decoding)
    return SentenceSearch(engine, config, phrases=Constraints(engine, terms).phrases)


def translate_lines(
    engine: TorchEngine,
    lines: list[str],
    prefixes: list[str] | None = None,
    *,
    n_best: int = 1,
    terms: Sequence[Term] = (),
    **settings: Any,
) -> list[list[Translation]]:
    search = search_of(engine, terms, **settings)
    ids = [forced_ids(engine.tokenizer, prefix) for prefix in prefixes or [""] * len(lines)]
    found = search.translate(lines, n_best=n_best, prefixes=ids)
    return [[search.scored(translation) for translation in own] for own in found]


@pytest.fixture
def other(parts: ModelFolder) -> ModelFolder:
    return replace(parts, model=random_model(parts.tokenizer, seed=8))


def test_without_options_results_equal_those_of_the_translator(parts: ModelFolder, translator: Translator) -> None:
    assert [best[0] for best in translate_lines(TorchEngine(parts), LINES)] == [*translator.translate_lines(LINES)]


def test_an_ensemble_of_two_equal_models_equals_the_model_and_of_different_ones_does_not(
    parts: ModelFolder, other: ModelFolder
) -> None:
    others: list[list[ModelFolder]] = [[], [parts], [other]]
    alone, twice, both = (translate_lines(TorchEngine(parts, others=own), LINES) for own in others)
    assert [best[0].tokens for best in twice] == [best[0].tokens for best in alone]
    assert [best[0].tokens for best in both] != [best[0].tokens for best in alone]


@pytest.mark.parametrize("settings", [{}, {"sample": True, "temperature": 0.7, "top_k": 9, "top_p": 0.9}])
@pytest.mark.parametrize("no_repeat", [0, 2])
def test_every_translation_begins_with_its_own_prefix(
    settings: dict[str, Any], no_repeat: int, parts: ModelFolder, other: ModelFolder
) -> None:
    """Two lines have the same source and different prefixes."""
    engine = TorchEngine(parts, others=[other])
    prefixes = ["the dog", "", "the", "the child"]
    found = translate_lines(engine, SHORT, prefixes, n_best=2, no_repeat=no_repeat, **settings)
    for best, prefix in zip(found, prefixes, strict=True):
        assert all(t.text.strip().startswith(prefix) for t in best)
        pairs = [list(zip(t.tokens, t.tokens[1:], strict=False)) for t in best]
        assert not no_repeat or all(len(set(own)) == len(own) for own in pairs)


def test_all_prefixes_of_a_sentence_are_searched_in_one_batch(
    parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[Request]] = []
    search_batch = TorchEngine.search_batch

    def watched(self: TorchEngine, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        asked.append(requests)
        return search_batch(self, requests, config)

    monkeypatch.setattr(TorchEngine, "search_batch", watched)
    prefixes = ["the dog", "", "the", "the child", "the dog"]
    found = translate_lines(TorchEngine(parts), LINES[:1] * 5, prefixes)
    assert [len(requests) for requests in asked] == [4]
    assert found[0] == found[4]
    assert [best[0].text.startswith(prefix) for best, prefix in zip(found, prefixes, strict=True)] == [True] * 5


@pytest.mark.parametrize("order", [1, -1])
def test_a_part_of_a_long_line_does_not_take_the_prefix_of_an_equal_line(order: int, parts: ModelFolder) -> None:
    long, engine = LINES[-1].strip(), TorchEngine(parts)
    (alone,) = translate_lines(engine, [long])
    limit, encode = Translator(parts).limit, parts.tokenizer.encode
    first = next(iter(sentences.cut(long, lambda text: len(encode(text)) <= limit)))
    assert first != long
    lines, prefixes = [long, first, "Ja."][::order], ["", "the dog", ""][::order]
    found = dict(zip(lines, translate_lines(engine, lines, prefixes), strict=True))
    assert found[long][0].tokens == alone[0].tokens
    assert found[first][0].text.startswith("the dog")


def test_a_sample_depends_on_its_sentence_and_the_seed_alone(parts: ModelFolder) -> None:
    engine = TorchEngine(parts)
    found = translate_lines(engine, LINES, n_best=3, sample=True, seed=5)
    backwards = translate_lines(engine, LINES[::-1], sample=True, seed=5)
    assert [best[0].tokens for best in backwards] == [b[0].tokens for b in found[::-1]]
    assert found[0] == found[3]
    assert len({tuple(t.tokens) for t in found[0]}) > 1
    assert translate_lines(engine, LINES[:1], sample=True, seed=6)[0][0].tokens != found[0][0].tokens


@pytest.mark.parametrize("prefix", ["", "a"])
def test_a_term_appears_where_its_source_does(prefix: str, parts: ModelFolder) -> None:
    terms = [Term("Hund", "dog"), Term("See", "lake")]
    engine = TorchEngine(parts)
    found = translate_lines(engine, SHORT, [prefix] * 4, n_best=2, beam_size=2, terms=terms)
    with_part = [*terms, Term("Hun", "cat")]  # a part of a word is no match
    assert translate_lines(engine, SHORT, [prefix] * 4, n_best=2, beam_size=2, terms=with_part) == found
    for line, best in zip(SHORT, found, strict=True):
        for translation in best:
            words = " ".join(translation.tokens)
            for source, target in (("Hund", "dog"), ("See", "lake")):
                assert source not in line or target in translation.text, words


@pytest.mark.parametrize("forms", [("NFC", "NFD", "NFD"), ("NFD", "NFC", "NFC"), ("NFD", "NFD", "NFD")])
def test_composed_and_decomposed_letters_are_the_same(forms: tuple[Form, Form, Form], parts: ModelFolder) -> None:
    line, source, target = map(normalize, forms, ("der Hund schläft.", "schläft", "läuft"))
    terms = [*read_terms([f"{source}\t{target}"], Path("terms"))]
    (best,) = translate_lines(TorchEngine(parts), [line], terms=terms)
    assert "läuft" in best[0].text
    (begun,) = translate_lines(TorchEngine(parts), [line], [target])
    assert begun[0].text.startswith("läuft")


@pytest.mark.parametrize(("alpha", "searched"), [(None, 0.6), (1.1, 1.1)])
def test_the_length_penalty_of_lines_with_terms_is_limited(
    alpha: float | None, searched: float, parts: ModelFolder
) -> None:
    terms = [Term("Hund", "dog")]
    lines = ["der Hund singt im Haus.", "die Katze schläft am See."]
    steep = replace(parts.spec, decoding=replace(parts.spec.decoding, alpha=2.0))
    engine = TorchEngine(replace(parts, spec=steep))
    found = translate_lines(engine, lines, beam_size=3, terms=terms, alpha=alpha)
    same = translate_lines(TorchEngine(parts), lines, beam_size=3, terms=terms, alpha=searched)
    assert found[0][0].tokens == same[0][0].tokens
    best = translate_lines(engine, lines[:1], n_best=3, beam_size=3, terms=terms, alpha=alpha)[0]
    assert [t.score for t in best] == sorted((t.score for t in best), reverse=True)
    assert best[0].score == pytest.approx(
        best[0].log_prob / length_penalty(len(best[0].tokens) + 1, searched), abs=1e-4
    )
    free = translate_lines(engine, lines, beam_size=3, alpha=alpha)[1]
    assert [t.tokens for t in found[1]] == [t.tokens for t in free]
    assert [t.score for t in found[1]] == pytest.approx([t.score for t in free], abs=1e-4)  # of another batch


@pytest.mark.parametrize("most", [512, 1])
def test_a_translation_does_not_depend_on_the_terms_of_other_lines(
    most: int, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = [Term("Hund", "dog"), Term("Katze", "the cat"), Term("Garten", "garden")]
    engine = TorchEngine(parts)
    lines = ["das Kind läuft.", "der Hund singt im Garten.", "ein Vogel singt.", "die Katze schläft.", "der Hund"]
    alone = [translate_lines(engine, [line], n_best=2, terms=terms)[0] for line in lines]
    monkeypatch.setattr(translate.inference.search, "BATCH_HYPOTHESES", most)
    for found, expected in zip(translate_lines(engine, lines, n_best=2, terms=terms), alone, strict=True):
        assert [t.tokens for t in found] == [t.tokens for t in expected]
        assert [t.score for t in found] == pytest.approx([t.score for t in expected], abs=1e-4)


def test_impossible_rules_and_ensembles_are_refused(parts: ModelFolder) -> None:
    small = train(SENTENCES, TokenizerConfig(vocab_size=60, byte_fallback=False))
    bare = replace(parts, tokenizer=small, model=random_model(small))
    with pytest.raises(UserError, match="another vocabulary"):
        TorchEngine(parts, others=[bare])
    with pytest.raises(UserError, match="from en to de, and .* from de to en"):
        TorchEngine(parts, others=[replace(parts, spec=replace(parts.spec, source="en", target="de"))])
    with pytest.raises(UserError, match="no pieces for"):
        Constraints(TorchEngine(bare), [Term("", "漢")])
    with pytest.raises(UserError, match="no pieces for"):
        translate_lines(TorchEngine(bare), ["der Hund"], ["漢"])
    with pytest.raises(UserError, match="force less"):
        translate_lines(TorchEngine(parts), ["Ja."], ["the dog sleeps in the house. " * 3])
    with pytest.raises(UserError, match="cannot have a prefix"):
        translate_lines(TorchEngine(parts), LINES[-1:], ["the"])
    with pytest.raises(UserError, match="draw and do not search"):
        Search(sample=True, constrain="terms.txt")
    with pytest.raises(UserError, match="draw and do not search"):
        Search(sample=True, coverage=0.1)
    for beta in (-0.1, float("inf"), float("nan")):
        with pytest.raises(UserError, match="coverage = "):
            Search(coverage=beta)
    with pytest.raises(UserError, match="ask for less"):
        translate_lines(TorchEngine(parts), ["der Hund"], ["the the"], no_repeat=1)


@pytest.mark.parametrize("settings", [{"sample": True}, {"coverage": 0.1, "no_repeat": 2}])
def test_a_model_without_finite_probabilities_is_refused(settings: dict[str, Any], parts: ModelFolder) -> None:
    model = Transformer(parts.model.config).eval()
    torch.nn.init.constant_(model.output_weight, float("nan"))
    with pytest.raises(UserError, match="not finite"):
        translate_lines(TorchEngine(replace(parts, model=model)), ["Ja."], **settings)


@pytest.mark.parametrize("terms", [(), (Term("Hund", "dog"),)])
def test_coverage_affects_ranking_and_score(terms: tuple[Term, ...], parts: ModelFolder, other: ModelFolder) -> None:
    engine, settings = TorchEngine(parts, others=[other]), {"terms": terms, "beam_size": 3, "alpha": 0.0}
    before, after = (translate_lines(engine, SHORT, n_best=3, coverage=beta, **settings) for beta in (0.0, 0.8))
    for line, old, new in zip(SHORT, before, after, strict=True):
        assert not line or {tuple(t.tokens) for t in new} == {tuple(t.tokens) for t in old}
        assert [t.score for t in new] == sorted((t.score for t in new), reverse=True)
        assert not line.strip() or all(t.score < t.log_prob for t in new)
    best = translate_lines(engine, SHORT, coverage=0.8, **settings)
    assert [b[0].tokens for b in best] == [b[0].tokens for b in after]


def test_pieces_that_an_imported_model_cannot_write_are_refused(parts: ModelFolder) -> None:
    """Its target vocabulary lacks them, and its bias is so low that a search would go on to the longest output."""
    model = Transformer(replace(parts.model.config, output_bias=True)).eval()
    ids = forced_ids(parts.tokenizer, "dog")
    with torch.no_grad():
        model.output_bias_V[ids[-1]] = -1e4
    for half in (model, model.bfloat16()):
        engine = TorchEngine(replace(parts, model=half))
        assert forced_ids(engine.tokenizer, "cat", engine.models) == forced_ids(parts.tokenizer, "cat")
        with pytest.raises(UserError, match="'dog': has pieces that the target vocabulary of the imported model lacks"):
            forced_ids(engine.tokenizer, "dog", engine.models)
        with pytest.raises(UserError, match="'dog': has pieces"):
            Constraints(engine, [Term("Hund", "dog")])
