"""A model as a step function: search agrees with the model's own probabilities of whole sentences."""

import dataclasses
import itertools
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toys import TINY, VARIANTS, toy_model
from transformer.config import Hypothesis, Request, Sampling, SearchConfig, length_penalty
from transformer.model import Transformer
from transformer.search.beam import WithoutRepeats, beam_search, greedy_search
from transformer.search.constraints import ForcedPrefix, constrained_search
from transformer.search.ensemble import EnsembleStep
from transformer.search.model_step import ModelStep, pad_batch, search, source_batch, translate_ids

MODELS = {name: toy_model(config) for name, config in VARIANTS.items()}
EACH_VARIANT = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
SRC = [[5, 6, 7, 8], [9], [4, 3]]
SENTENCES = st.lists(st.lists(st.integers(3, TINY.vocab_size - 1), max_size=6), min_size=1, max_size=4)


def log_prob(model: Transformer, src: list[int], tokens: list[int]) -> float:
    """log P(tokens, eos | src) from one unpadded forward pass; padding and bos have probability 0."""
    config = model.config
    logits = model(torch.tensor([[*src, config.eos]]), torch.tensor([[config.bos, *tokens]]))[0]
    logits[:, [config.pad, config.bos]] = float("-inf")
    return float(logits.log_softmax(dim=-1)[range(len(tokens) + 1), [*tokens, config.eos]].sum().detach())


@EACH_VARIANT
@pytest.mark.parametrize("beam_size", [1, 4])
def test_scores_are_those_of_the_model(model: Transformer, beam_size: int) -> None:
    for src, found in zip(SRC, translate_ids(model, SRC, SearchConfig(beam_size=beam_size), max_extra=6), strict=True):
        (h,) = found
        assert h.log_prob == pytest.approx(log_prob(model, src, h.tokens), abs=1e-3)
        assert h.score == h.log_prob / length_penalty(len(h.tokens) + 1, 0.6)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_no_sentences_have_no_translations(beam_size: int) -> None:
    assert translate_ids(MODELS["paper"], [], SearchConfig(beam_size=beam_size)) == []


@pytest.mark.parametrize(
    ("name", "alpha"), [*((name, 0.6) for name in MODELS), *(("paper", alpha) for alpha in (0.0, 2.0))]
)
def test_beam_one_is_greedy(name: str, alpha: float) -> None:
    model = MODELS[name]
    limits, config = [len(src) + 6 for src in SRC], SearchConfig(beam_size=1, alpha=alpha)
    beams = beam_search(ModelStep(model, source_batch(model, SRC)), limits, config)
    for found, beam in zip(translate_ids(model, SRC, config, max_extra=6), beams, strict=True):
        same(found, beam)


@pytest.mark.parametrize("seed", range(5))
def test_an_unpruned_beam_equals_exhaustive_search(seed: int) -> None:
    """Two words and eos, at most three words: fifteen outputs."""
    model = toy_model(dataclasses.replace(TINY, vocab_size=5), seed)
    outputs = [list(output) for n in range(4) for output in itertools.product([3, 4], repeat=n)]
    log_probs = [log_prob(model, [4, 3], output) for output in outputs]
    for alpha in (0.0, 0.6):
        scores = [p / length_penalty(len(output) + 1, alpha) for output, p in zip(outputs, log_probs, strict=True)]
        (found,) = translate_ids(model, [[4, 3]], SearchConfig(beam_size=15, n_best=15, alpha=alpha), max_extra=2)
        order = sorted(range(15), key=lambda i: -scores[i])
        assert [h.tokens for h in found] == [outputs[i] for i in order]
        assert [h.score for h in found] == pytest.approx([scores[i] for i in order], abs=1e-3)


def same(one: list[Hypothesis], other: list[Hypothesis]) -> None:
    assert [h.tokens for h in one] == [h.tokens for h in other]
    assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)


@EACH_VARIANT
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_batch_gives_the_same_outputs_as_batches_of_one(model: Transformer, beam_size: int) -> None:
    """Neither the other sentences nor their padding change an output."""
    together = translate_ids(model, SRC, SearchConfig(beam_size=beam_size, n_best=beam_size), max_extra=6)
    for src, found in zip(SRC, together, strict=True):
        same(translate_ids(model, [src], SearchConfig(beam_size=beam_size, n_best=beam_size), max_extra=6)[0], found)


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 4])
def test_500_sentences_are_the_same_in_batches_of_1_7_and_64_in_any_order(beam_size: int) -> None:
    """Tokens are equal in float32; scores are equal up to rounding."""
    model, draw = MODELS["paper"], random.Random(3)
    sentences = [[draw.randrange(3, TINY.vocab_size) for _ in range(draw.randint(0, 12))] for _ in range(500)]

    def translated(batch_size: int, order: list[int]) -> list[Hypothesis]:
        found: dict[int, Hypothesis] = {}
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            results = translate_ids(
                model, [sentences[i] for i in batch], SearchConfig(beam_size=beam_size), max_extra=5
            )
            found.update(zip(batch, (best for (best,) in results), strict=True))
        return [found[i] for i in range(len(order))]

    alone = translated(1, list(range(500)))
    for batch_size in (7, 64):
        same(translated(batch_size, draw.sample(range(500), 500)), alone)


@settings(max_examples=15)
@given(SENTENCES, st.integers(1, 4), st.integers(1, 6))
def test_outputs_are_words_within_the_limit(src: list[list[int]], beam_size: int, max_extra: int) -> None:
    config = MODELS["paper"].config
    lists = translate_ids(
        MODELS["paper"], src, SearchConfig(beam_size=beam_size, n_best=beam_size), max_extra=max_extra
    )
    assert len(lists) == len(src)
    for sentence, found in zip(src, lists, strict=True):
        assert 1 <= len(found) <= beam_size
        for h in found:
            assert len(h.tokens) + 1 <= len(sentence) + max_extra
            assert not {config.pad, config.bos, config.eos} & set(h.tokens)


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_another_number_of_maximum_lengths_than_sources_is_refused(n: int, beam_size: int) -> None:
    """Six lengths would decode two hypotheses of each of the three sentences."""
    with pytest.raises(ValueError, match=f"^{n} max_lengths do not fit 3 sources"):
        translate_ids(MODELS["paper"], SRC, SearchConfig(beam_size=beam_size), max_lengths=[5] * n)


@pytest.mark.parametrize("lengths", [[5, 0, 5], [-3, 1, 2]])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_an_output_without_room_for_eos_is_refused(lengths: list[int], beam_size: int) -> None:
    with pytest.raises(ValueError, match=f"at most {min(lengths)} tokens"):
        translate_ids(MODELS["paper"], SRC, SearchConfig(beam_size=beam_size), max_lengths=lengths)


def test_log_probabilities_are_a_distribution_over_words_and_eos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer.search.model_step._CHUNK", 2)  # rows are normalised in two groups
    model = MODELS["paper"]
    step = ModelStep(model, pad_batch(SRC, model.config.pad))
    probabilities_NV = step(torch.full((3,), model.config.bos)).exp()
    torch.testing.assert_close(probabilities_NV.sum(dim=1), torch.ones(3))
    assert not probabilities_NV[:, [model.config.pad, model.config.bos]].any()
    assert bool((probabilities_NV[:, 2:] > 0).all())


def test_special_ids_may_have_any_values() -> None:
    """The same model with other special ids finds the same outputs."""
    model = MODELS["paper"]
    renamed_config = dataclasses.replace(TINY, pad=7, bos=4, eos=11)
    rename = list(range(TINY.vocab_size))
    for old, new in ((0, 7), (1, 4), (2, 11)):
        rename[old], rename[new] = rename[new], rename[old]
    weights = model.state_dict()
    weights["src_embedding.weight_VD"] = weights["src_embedding.weight_VD"][rename]
    renamed = Transformer(renamed_config).eval()
    renamed.load_state_dict(weights)
    found = translate_ids(renamed, [[rename[i] for i in src] for src in SRC], max_extra=6)
    for (h,), (expected,) in zip(found, translate_ids(model, SRC, max_extra=6), strict=True):
        assert h.tokens == [rename[i] for i in expected.tokens]


def test_the_batch_is_padded_on_the_right() -> None:
    assert pad_batch([[5, 6, 7], [8]], pad=9).tolist() == [[5, 6, 7], [8, 9, 9]]


def test_translating_builds_no_graph_and_does_not_change_the_model() -> None:
    model = toy_model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    translate_ids(model, SRC, max_extra=6)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    model(torch.tensor([[5, 2]]), torch.tensor([[1, 6]])).sum().backward()


def test_learned_positions_bound_the_output() -> None:
    with pytest.raises(ValueError, match="beyond max_length"):
        translate_ids(MODELS["learned positions"], [[5] * TINY.max_length], max_extra=6)


def test_learned_positions_limit_the_output_of_a_short_source() -> None:
    model = MODELS["learned positions"]
    long, short = translate_ids(model, [[5] * 3, [6]], max_extra=10 * TINY.max_length)
    for (h,) in (long, short):
        assert len(h.tokens) < TINY.max_length
    assert short == translate_ids(model, [[6]], max_lengths=[TINY.max_length])[0]


def test_searches_for_another_number_of_sentences_are_refused() -> None:
    """Constraints and limits would move to other sentences."""
    model = MODELS["paper"]

    def step() -> ModelStep:
        return ModelStep(model, source_batch(model, SRC))

    assert step().n_sentences == EnsembleStep([step(), step()]).n_sentences == len(SRC)
    for own in (beam_search, greedy_search):
        with pytest.raises(ValueError, match="do not fit the"):
            own(step(), [5] * 2 * len(SRC), SearchConfig())
    with pytest.raises(ValueError, match="2 prefixes do not fit the 3 sentences"):
        ForcedPrefix(step(), [[3], [4]])
    with pytest.raises(ValueError, match="do not fit the"):
        beam_search(WithoutRepeats(step(), 2), [5] * 2, SearchConfig())
    with pytest.raises(ValueError, match="phrases for 2 sentences do not fit 3"):
        constrained_search(step(), [5] * 3, [[], []], SearchConfig())


@EACH_VARIANT
def test_each_output_has_its_own_maximum_length_and_repeats_nothing_if_requested(
    model: Transformer,
) -> None:
    lengths = [2, 9, 5]
    found = translate_ids(model, SRC, SearchConfig(no_repeat=1), max_lengths=lengths)
    for src, length, (h,) in zip(SRC, lengths, found, strict=True):
        assert len(h.tokens) + 1 <= length
        assert len(set(h.tokens)) == len(h.tokens)
        assert h.log_prob == pytest.approx(log_prob(model, src, h.tokens), abs=1e-3)


def test_a_sample_is_not_asked_to_contain_phrases() -> None:
    """They were ignored."""
    request = Request((5, 6), 9, phrases=((3, 4),))
    with pytest.raises(ValueError, match="cannot be made to contain phrases"):
        search([MODELS["paper"]], [request], SearchConfig(sampling=Sampling()))
