"""Search options on text: each alone, in pairs, and the cases in which they are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

import pytest
import torch

import translate.inference.research
from tests.translate.conftest import SENTENCES, random_model
from transformer.model import Transformer
from transformer.search.hypothesis import length_penalty
from transformer.search.sampling import Sampling
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import train
from translate.errors import UserError
from translate.inference.research import SearchEngine, SearchRules, Term, forced_ids, read_terms, translate_from
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text import sentences
from translate.text.translation import Translation, TranslationOptions

LINES = ["der Hund singt im Haus.", "", "  die Katze schläft am See. ", "der Hund singt im Haus.", "Ja. " * 40]
SHORT = LINES[:4]

Form = Literal["NFC", "NFD"]


def translate_lines(
    engine: SearchEngine, lines: list[str], prefixes: list[str] | None = None, *, n_best: int = 1, **options: Any
) -> list[list[Translation]]:
    ids = [tuple(forced_ids(engine.tokenizer, prefix)) for prefix in prefixes or [""] * len(lines)]
    return translate_from(engine, lines, ids, n_best=n_best, options=TranslationOptions(**options))


@pytest.fixture
def other(parts: ModelFolder) -> ModelFolder:
    return replace(parts, model=random_model(parts.tokenizer, seed=8))


def test_without_options_results_equal_those_of_the_translator(parts: ModelFolder, translator: Translator) -> None:
    assert [best[0] for best in translate_lines(SearchEngine([parts]), LINES)] == [*translator.translate_lines(LINES)]


def test_an_ensemble_of_two_equal_models_equals_the_model_and_of_different_ones_does_not(
    parts: ModelFolder, other: ModelFolder
) -> None:
    alone, twice, both = (translate_lines(SearchEngine(m), LINES) for m in ([parts], [parts, parts], [parts, other]))
    assert [best[0].tokens for best in twice] == [best[0].tokens for best in alone]
    assert [best[0].tokens for best in both] != [best[0].tokens for best in alone]


@pytest.mark.parametrize("sampling", [None, Sampling(0.7, top_k=9, top_p=0.9)])
@pytest.mark.parametrize("no_repeat", [0, 2])
def test_every_translation_begins_with_its_own_prefix(
    sampling: Sampling | None, no_repeat: int, parts: ModelFolder, other: ModelFolder
) -> None:
    """Two lines have the same source and different prefixes."""
    engine = SearchEngine([parts, other], SearchRules(sampling=sampling, no_repeat=no_repeat))
    prefixes = ["the dog", "", "the", "the child"]
    for best, prefix in zip(translate_lines(engine, SHORT, prefixes, n_best=2), prefixes, strict=True):
        assert all(t.text.strip().startswith(prefix) for t in best)
        pairs = [list(zip(t.tokens, t.tokens[1:], strict=False)) for t in best]
        assert not no_repeat or all(len(set(own)) == len(own) for own in pairs)


@pytest.mark.parametrize("order", [1, -1])
def test_a_part_of_a_long_line_does_not_take_the_prefix_of_an_equal_line(order: int, parts: ModelFolder) -> None:
    long, engine = LINES[-1].strip(), SearchEngine([parts])
    (alone,) = translate_lines(engine, [long])
    limit, encode = Translator(parts).limit, parts.tokenizer.encode
    first = next(iter(sentences.cut(long, lambda text: len(encode(text)) <= limit)))
    assert first != long
    lines, prefixes = [long, first, "Ja."][::order], ["", "the dog", ""][::order]
    found = dict(zip(lines, translate_lines(engine, lines, prefixes), strict=True))
    assert found[long][0].tokens == alone[0].tokens
    assert found[first][0].text.startswith("the dog")


def test_a_sample_depends_on_its_sentence_and_the_seed_alone(parts: ModelFolder) -> None:
    engine = SearchEngine([parts], SearchRules(sampling=Sampling(), seed=5))
    found = translate_lines(engine, LINES, n_best=3, beam_size=3)
    assert [best[0].tokens for best in translate_lines(engine, LINES[::-1])] == [b[0].tokens for b in found[::-1]]
    assert found[0] == found[3]
    assert len({tuple(t.tokens) for t in found[0]}) > 1
    assert (
        translate_lines(SearchEngine([parts], replace(engine.rules, seed=6)), LINES[:1])[0][0].tokens
        != found[0][0].tokens
    )


@pytest.mark.parametrize("prefix", ["", "a"])
def test_a_term_appears_where_its_source_does(prefix: str, parts: ModelFolder) -> None:
    terms = [Term("Hund", "dog"), Term("See", "lake")]
    engine = SearchEngine([parts], SearchRules(terms=terms))
    found = translate_lines(engine, SHORT, [prefix] * 4, n_best=2, beam_size=2)
    with_part = SearchEngine([parts], SearchRules(terms=[*terms, Term("Hun", "cat")]))  # a part of a word is no match
    assert translate_lines(with_part, SHORT, [prefix] * 4, n_best=2, beam_size=2) == found
    for line, best in zip(SHORT, found, strict=True):
        for translation in best:
            words = " ".join(translation.tokens)
            for source, target in (("Hund", "dog"), ("See", "lake")):
                assert source not in line or target in translation.text, words


@pytest.mark.parametrize("forms", [("NFC", "NFD", "NFD"), ("NFD", "NFC", "NFC"), ("NFD", "NFD", "NFD")])
def test_composed_and_decomposed_letters_are_the_same(forms: tuple[Form, Form, Form], parts: ModelFolder) -> None:
    line, source, target = map(normalize, forms, ("der Hund schläft.", "schläft", "läuft"))
    terms = [*read_terms([f"{source}\t{target}"], Path("terms"))]
    (best,) = translate_lines(SearchEngine([parts], SearchRules(terms=terms)), [line])
    assert "läuft" in best[0].text
    (begun,) = translate_lines(SearchEngine([parts]), [line], [target])
    assert begun[0].text.startswith("läuft")


@pytest.mark.parametrize(("alpha", "searched"), [(None, 0.6), (1.1, 1.1)])
def test_the_length_penalty_of_lines_with_terms_is_limited(
    alpha: float | None, searched: float, parts: ModelFolder
) -> None:
    terms = [Term("Hund", "dog")]
    lines = ["der Hund singt im Haus.", "die Katze schläft am See."]
    engine = SearchEngine([parts], SearchRules(terms=terms, terms_alpha=alpha))
    found = translate_lines(engine, lines, beam_size=3, alpha=2.0)
    same = SearchEngine([parts], SearchRules(terms=terms, terms_alpha=searched))
    assert found[0][0].tokens == translate_lines(same, lines, beam_size=3, alpha=searched)[0][0].tokens
    best = translate_lines(engine, lines[:1], n_best=3, beam_size=3, alpha=2.0)[0]
    assert [t.score for t in best] == sorted((t.score for t in best), reverse=True)
    assert best[0].score == pytest.approx(
        best[0].log_prob / length_penalty(len(best[0].tokens) + 1, searched), abs=1e-4
    )
    free = translate_lines(SearchEngine([parts]), lines, beam_size=3, alpha=2.0)[1]
    assert [t.tokens for t in found[1]] == [t.tokens for t in free]
    assert [t.score for t in found[1]] == pytest.approx([t.score for t in free], abs=1e-4)  # of another batch


@pytest.mark.parametrize("most", [512, 1])
def test_a_translation_does_not_depend_on_the_terms_of_other_lines(
    most: int, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = [Term("Hund", "dog"), Term("Katze", "the cat"), Term("Garten", "garden")]
    engine = SearchEngine([parts], SearchRules(terms=terms))
    lines = ["das Kind läuft.", "der Hund singt im Garten.", "ein Vogel singt.", "die Katze schläft.", "der Hund"]
    alone = [translate_lines(engine, [line], n_best=2)[0] for line in lines]
    monkeypatch.setattr(translate.inference.research, "BATCH_HYPOTHESES", most)
    for found, expected in zip(translate_lines(engine, lines, n_best=2), alone, strict=True):
        assert [t.tokens for t in found] == [t.tokens for t in expected]
        assert [t.score for t in found] == pytest.approx([t.score for t in expected], abs=1e-4)


def test_impossible_rules_and_ensembles_are_refused(parts: ModelFolder) -> None:
    small = train(SENTENCES, TokenizerConfig(vocab_size=60, byte_fallback=False))
    bare = replace(parts, tokenizer=small, model=random_model(small))
    with pytest.raises(UserError, match="another vocabulary"):
        SearchEngine([parts, bare])
    with pytest.raises(UserError, match="from en to de, and .* from de to en"):
        SearchEngine([parts, replace(parts, spec=replace(parts.spec, source="en", target="de"))])
    with pytest.raises(UserError, match="no pieces for"):
        SearchEngine([bare], SearchRules(terms=[Term("", "漢")]))
    with pytest.raises(UserError, match="no pieces for"):
        translate_lines(SearchEngine([bare]), ["der Hund"], ["漢"])
    with pytest.raises(UserError, match="force less"):
        translate_lines(SearchEngine([parts]), ["Ja."], ["the dog sleeps in the house. " * 3])
    with pytest.raises(UserError, match="cannot have a prefix"):
        translate_lines(SearchEngine([parts]), LINES[-1:], ["the"])
    with pytest.raises(UserError, match="penalty need a search"):
        SearchEngine([parts], SearchRules(sampling=Sampling(), terms=[Term("", "dog")]))
    with pytest.raises(UserError, match="penalty need a search"):
        SearchEngine([parts], SearchRules(sampling=Sampling(), coverage=0.1))
    for beta in (-0.1, float("inf"), float("nan")):
        with pytest.raises(UserError, match="coverage = "):
            SearchEngine([parts], SearchRules(coverage=beta))
    with pytest.raises(UserError, match="ask for less"):
        translate_lines(SearchEngine([parts], SearchRules(no_repeat=1)), ["der Hund"], ["the the"])


@pytest.mark.parametrize("rules", [SearchRules(sampling=Sampling()), SearchRules(coverage=0.1, no_repeat=2)])
def test_a_model_without_finite_probabilities_is_refused(rules: SearchRules, parts: ModelFolder) -> None:
    model = Transformer(parts.model.config).eval()
    torch.nn.init.constant_(model.output_weight, float("nan"))
    with pytest.raises(UserError, match="not finite"):
        translate_lines(SearchEngine([replace(parts, model=model)], rules), ["Ja."])


@pytest.mark.parametrize("terms", [(), (Term("Hund", "dog"),)])
def test_coverage_affects_ranking_and_score(terms: tuple[Term, ...], parts: ModelFolder, other: ModelFolder) -> None:
    plain, covered = (SearchEngine([parts, other], SearchRules(terms=terms, coverage=beta)) for beta in (0.0, 0.8))
    before, after = (translate_lines(engine, SHORT, n_best=3, beam_size=3, alpha=0.0) for engine in (plain, covered))
    for line, old, new in zip(SHORT, before, after, strict=True):
        assert not line or {tuple(t.tokens) for t in new} == {tuple(t.tokens) for t in old}
        assert [t.score for t in new] == sorted((t.score for t in new), reverse=True)
        assert not line.strip() or all(t.score < t.log_prob for t in new)
    assert [b[0].tokens for b in translate_lines(covered, SHORT, beam_size=3, alpha=0.0)] == [
        b[0].tokens for b in after
    ]


def test_pieces_that_an_imported_model_cannot_write_are_refused(parts: ModelFolder) -> None:
    """Its target vocabulary lacks them, and its bias is so low that a search would go on to the longest output."""
    model = Transformer(replace(parts.model.config, output_bias=True)).eval()
    ids = forced_ids(parts.tokenizer, "dog")
    with torch.no_grad():
        model.output_bias_V[ids[-1]] = -1e4
    for half in (model, model.bfloat16()):
        engine = SearchEngine([replace(parts, model=half)])
        assert engine.forced_ids("cat") == forced_ids(parts.tokenizer, "cat")
        with pytest.raises(UserError, match="'dog': has pieces that the target vocabulary of the imported model lacks"):
            engine.forced_ids("dog")
        with pytest.raises(UserError, match="'dog': has pieces"):
            SearchEngine([replace(parts, model=half)], SearchRules(terms=[Term("Hund", "dog")]))
