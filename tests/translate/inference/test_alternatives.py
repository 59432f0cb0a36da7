"""Alternatives on text agree with search and scoring, and branches keep their beginning."""

from dataclasses import replace

import pytest

from tests.translate.conftest import random_model
from tests.translate.inference.test_research import search_of
from transformer.search.scoring import score_ids
from translate.errors import UserError
from translate.inference.constraints import Term
from translate.inference.research import alternatives, branches
from translate.inference.search import SentenceSearch
from translate.inference.torch_engine import TorchEngine
from translate.models.folder import ModelFolder
from translate.text.translation import Translation

LINES = ["der Hund singt im Haus.", "", "  die Katze schläft am See. ", "der Hund singt im Haus."]
NONE: list[tuple[int, ...]] = [()] * len(LINES)


def first(search: SentenceSearch, prefixes: list[tuple[int, ...]] = NONE) -> list[Translation]:
    return [search.scored(best[0]) for best in search.translate(LINES, prefixes=prefixes)]


def test_alternative_tokens_have_the_probability_that_scoring_gives(parts: ModelFolder) -> None:
    search, ids = search_of(TorchEngine(parts)), parts.tokenizer.ids
    best = first(search)
    found = alternatives(search, LINES, best, NONE, 3)
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
    search = search_of(TorchEngine(parts, others=[other]), terms, no_repeat=2, beam_size=3)
    best = first(search)
    found = branches(search, LINES, best, NONE, 3, position)
    places = alternatives(search, LINES, best, NONE, 4)
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
    search = search_of(TorchEngine(parts))
    prefixes = [tuple(parts.tokenizer.encode("the dog"))] * len(LINES)
    best = first(search, prefixes)
    assert branches(search, LINES, best, prefixes, 2, 0) == [[]] * len(LINES)
    assert branches(search, LINES, best, prefixes, 2, 99) == [[]] * len(LINES)
    inside = [len(own) for own in alternatives(search, LINES, best, prefixes, 2)[0]]
    assert inside[: len(prefixes[0])] == [0] * len(prefixes[0])


def test_outputs_of_maximum_length_are_not_continued(parts: ModelFolder) -> None:
    search = search_of(TorchEngine(parts))
    best = first(search)
    assert all("length" in t.flags for t in best if t.tokens)
    for translation, own in zip(best, branches(search, LINES, best, NONE, 2, len(best[0].tokens)), strict=True):
        assert own == [] or len(translation.tokens) > len(best[0].tokens)


def test_a_line_split_into_parts_has_no_alternatives(parts: ModelFolder) -> None:
    search, line = search_of(TorchEngine(parts)), "Ja. " * 40
    best = [own[0] for own in search.translate([line])]
    with pytest.raises(UserError, match="has no alternatives"):
        alternatives(search, [line], best, [()], 2)
