"""The tree of a beam search agrees with the search; probabilities at temperatures."""

import math
from collections.abc import Iterator

import pytest
import torch

from tests.toys import TableStep
from transformer.config import SearchConfig
from transformer.search.beam import beam_search
from transformer.search.model_step import ModelStep, source_batch
from translate.models.folder import ModelFolder
from translate.pictures.search import (
    TEMPERATURES,
    RecordedStep,
    SearchNode,
    beam_picture,
    temperature_picture,
    with_temperature,
)


def paths(node: SearchNode, tokens: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], SearchNode]]:
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
    by_length: dict[int, list[SearchNode]] = {}
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

    def check(node: SearchNode, log_prob: float) -> None:
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


def test_temperature_one_changes_nothing_low_ones_favour_the_best_and_high_ones_are_uniform() -> None:
    log_prob = torch.randn(11, generator=torch.Generator().manual_seed(0)).log_softmax(dim=0)
    torch.testing.assert_close(with_temperature(log_prob, 1.0).float(), log_prob.exp())
    assert with_temperature(log_prob, 1e-3)[log_prob.argmax()] == pytest.approx(1.0)
    torch.testing.assert_close(with_temperature(log_prob, 1e6).float(), torch.full((11,), 1 / 11), atol=1e-5, rtol=0)


def test_the_column_of_temperature_one_has_the_models_probabilities(parts: ModelFolder) -> None:
    picture = temperature_picture(parts, "der Hund", prefix="the")
    step = ModelStep(parts.model, source_batch(parts.model, [parts.tokenizer.encode("der Hund")]))
    step(torch.tensor([parts.model.config.bos]))
    for token in parts.tokenizer.encode("the"):
        (log_prob,) = step(torch.tensor([token]))
    one = TEMPERATURES.index(1.0)
    assert picture.rows[0][one] == pytest.approx(log_prob.exp().max().item(), rel=1e-4)
    for column in zip(*picture.rows, strict=True):
        assert sum(column) == pytest.approx(1.0)
