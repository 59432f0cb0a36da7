"""Alternatives on text agree with search and scoring, and branches keep their beginning."""

from dataclasses import replace

import pytest

from tests.translate.conftest import random_model
from transformer.search.scoring import score_ids
from translate.errors import UserError
from translate.inference.research import SearchEngine, SearchRules, Term, alternatives, branches, translate_from
from translate.models.folder import ModelFolder
from translate.text.translation import Translation, TranslationOptions

LINES = ["der Hund singt im Haus.", "", "  die Katze schläft am See. ", "der Hund singt im Haus."]
NONE: list[tuple[int, ...]] = [()] * len(LINES)


def first(engine: SearchEngine, prefixes: list[tuple[int, ...]] = NONE) -> list[Translation]:
    return [best[0] for best in translate_from(engine, LINES, prefixes)]


def test_alternative_tokens_have_the_probability_that_scoring_gives(parts: ModelFolder) -> None:
    engine, ids = SearchEngine([parts]), parts.tokenizer.ids
    best = first(engine)
    found = alternatives(engine, LINES, best, NONE, 3)
    assert found[1] == []
    for line, translation, places in zip(LINES, best, found, strict=True):
        for t, others in enumerate(places):
            token = [*translation.tokens, None][t]
            assert len(others) == 3
            assert token not in [other.token for other in others]
            for other in others:
                before = ids(translation.tokens[:t])
                after = [] if other.token is None else ids([other.token])
                (scores,) = score_ids(parts.model, [parts.tokenizer.encode(line.strip())], [[*before, *after]])
                assert other.log_prob == pytest.approx(scores[t], abs=1e-4)


@pytest.mark.parametrize("terms", [(), (Term("Hund", "dog"),)])
@pytest.mark.parametrize("position", [0, 2])
def test_branches_share_a_beginning_and_differ_at_the_chosen_position(
    terms: tuple[Term, ...], position: int, parts: ModelFolder
) -> None:
    other = replace(parts, model=random_model(parts.tokenizer, seed=8))
    engine = SearchEngine([parts, other], SearchRules(terms=terms, no_repeat=2))
    options = TranslationOptions(beam_size=3)
    best = [own[0] for own in translate_from(engine, LINES, NONE, options=options)]
    found = branches(engine, LINES, best, NONE, 3, position, options)
    places = alternatives(engine, LINES, best, NONE, 4)
    for line, translation, others, own in zip(LINES, best, places, found, strict=True):
        if not line:
            assert own == []
            continue
        assert all(t.tokens[:position] == translation.tokens[:position] for t in own)
        there = others[position] if position < len(others) else []
        expected = [o.token for o in there if o.token is not None][:3]
        assert [t.tokens[position] for t in own] == expected
        assert all("dog" in t.text for t in own if terms and "Hund" in line)
        assert all(t.text.startswith("  ") for t in own if line.startswith("  "))


def test_there_are_no_branches_within_a_prefix_or_after_the_end(parts: ModelFolder) -> None:
    engine = SearchEngine([parts])
    prefixes = [tuple(parts.tokenizer.encode("the dog"))] * len(LINES)
    best = first(engine, prefixes)
    assert branches(engine, LINES, best, prefixes, 2, 0) == [[]] * len(LINES)
    assert branches(engine, LINES, best, prefixes, 2, 99) == [[]] * len(LINES)
    inside = [len(own) for own in alternatives(engine, LINES, best, prefixes, 2)[0]]
    assert inside[: len(prefixes[0])] == [0] * len(prefixes[0])


def test_outputs_of_maximum_length_are_not_continued(parts: ModelFolder) -> None:
    engine = SearchEngine([parts])
    best = first(engine)
    assert all("length" in t.flags for t in best if t.tokens)
    for translation, own in zip(best, branches(engine, LINES, best, NONE, 2, len(best[0].tokens)), strict=True):
        assert own == [] or len(translation.tokens) > len(best[0].tokens)


def test_a_line_split_into_parts_has_no_alternatives(parts: ModelFolder) -> None:
    engine, line = SearchEngine([parts]), "Ja. " * 40
    best = [own[0] for own in translate_from(engine, [line], [()])]
    with pytest.raises(UserError, match="has no alternatives"):
        alternatives(engine, [line], best, [()], 2)
