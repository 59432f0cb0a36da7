"""The tree of a beam search agrees with the search."""

import math
from collections.abc import Iterator

import pytest

from tests.toys import TableStep
from transformer.search.beam import beam_search
from transformer.search.hypothesis import SearchConfig
from translate.models.folder import ModelFolder
from translate.pictures.search import Node, RecordedStep, beam_picture


def paths(node: Node, tokens: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
    for child in node.children:
        yield (*tokens, child.token), child
        yield from paths(child, (*tokens, child.token))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("beam_size", [1, 2, 3])
def test_finished_nodes_are_the_hypotheses_of_the_search(seed: int, beam_size: int) -> None:
    config = SearchConfig(beam_size=beam_size, n_best=beam_size)
    step = RecordedStep(TableStep([seed], vocab_size=7), config, max_length=5)
    (hypotheses,) = beam_search(step, [5], config)
    finished = {tokens[:-1]: node for tokens, node in paths(step.root) if node.fate == "finished"}
    assert {tuple(h.tokens) for h in hypotheses} <= finished.keys()
    for hypothesis in hypotheses:
        node = finished[tuple(hypothesis.tokens)]
        assert node.log_prob == pytest.approx(hypothesis.log_prob)
        assert node.score == pytest.approx(hypothesis.score)


def test_each_step_keeps_the_best_hypotheses_up_to_the_beam_size() -> None:
    config = SearchConfig(beam_size=3)
    step = RecordedStep(TableStep([1], vocab_size=7), config, max_length=6)
    beam_search(step, [6], config)
    by_length: dict[int, list[Node]] = {}
    for tokens, node in paths(step.root):
        by_length.setdefault(len(tokens), []).append(node)
    for nodes in by_length.values():
        kept = [node.log_prob for node in nodes if node.fate == "kept"]
        pruned = [node.log_prob for node in nodes if node.fate == "pruned" and node.token != config.eos]
        assert len(kept) <= 3
        assert not kept or not pruned or min(kept) >= max(pruned)


def test_the_probabilities_on_a_path_multiply_to_that_of_the_hypothesis() -> None:
    config = SearchConfig(beam_size=2)
    step = RecordedStep(TableStep([4], vocab_size=7), config, max_length=4)
    beam_search(step, [4], config)

    def check(node: Node, log_prob: float) -> None:
        for child in node.children:
            assert child.log_prob == pytest.approx(log_prob + math.log(child.probability), abs=1e-4)
            check(child, child.log_prob)

    check(step.root, 0.0)


def test_the_text_names_one_result_and_what_was_pruned(parts: ModelFolder) -> None:
    picture = beam_picture(parts, "der Hund", beam_size=3)
    text = picture.text()
    assert text.startswith("der Hund (beam 3)\n")
    assert text.count("  best") == 1
    assert "pruned: " in text
    assert len(text.splitlines()) > 5
