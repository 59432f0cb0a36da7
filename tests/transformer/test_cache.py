"""The cache changes the speed but no logit."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.toys import TINY, VARIANTS, random_ids, toy_model
from transformer.cache import DecoderCache
from transformer.model import Memory, Transformer

MODELS = {name: toy_model(config) for name, config in VARIANTS.items()}
EACH_VARIANT = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
CLOSE = {"rtol": 1e-4, "atol": 1e-4}

SRC_BS = torch.tensor([[5, 6, 7, 8, 2], [9, 2, 0, 0, 0], [4, 3, 2, 0, 0]])


def feed(model: Transformer, cache: DecoderCache, tgt_NT: Tensor) -> Tensor:
    """Logits from decoding one token at a time, (N, T, V)."""
    return torch.stack([model.decode_step(token_N, cache) for token_N in tgt_NT.T], dim=1)


def repeated(memory: Memory, n: int) -> Memory:
    """The memory repeated for n hypotheses of every sentence."""
    return Memory(memory.states.repeat_interleave(n, dim=0), memory.allowed.repeat_interleave(n, dim=0))


@EACH_VARIANT
def test_one_token_at_a_time_equals_all_at_once(model: Transformer) -> None:
    tgt_BT, memory = random_ids(3, 7), model.encode(SRC_BS)
    torch.testing.assert_close(feed(model, model.new_cache(memory), tgt_BT), model.decode(tgt_BT, memory), **CLOSE)


@EACH_VARIANT
@pytest.mark.parametrize("n_each", [2, 5])
def test_hypotheses_of_one_sentence_share_its_memory(model: Transformer, n_each: int) -> None:
    tgt_NT, memory = random_ids(3 * n_each, 7), model.encode(SRC_BS)
    expected = model.decode(tgt_NT, repeated(memory, n_each))
    torch.testing.assert_close(feed(model, model.new_cache(memory), tgt_NT), expected, **CLOSE)


@EACH_VARIANT
@settings(max_examples=settings.default.max_examples // 8)
@given(data=st.data())
def test_reorder_commutes_with_decoding(model: Transformer, data: st.DataObject) -> None:
    """Reordered hypotheses continue as if they had been in this order from the start."""
    n_each, cut = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
    slots = data.draw(st.lists(st.integers(0, n_each - 1), min_size=3 * n_each, max_size=3 * n_each))
    index_N = torch.tensor([i // n_each * n_each + slot for i, slot in enumerate(slots)])
    tgt_NT, memory = random_ids(3 * n_each, 7, seed=data.draw(st.integers(0, 99))), model.encode(SRC_BS)
    cache = model.new_cache(memory)
    feed(model, cache, tgt_NT[:, :cut])
    cache.reorder(index_N)
    history = torch.cat((tgt_NT[index_N, :cut], tgt_NT[:, cut:]), dim=1)
    expected = model.decode(history, repeated(memory, n_each))[:, cut:]
    torch.testing.assert_close(feed(model, cache, tgt_NT[:, cut:]), expected, **CLOSE)


@EACH_VARIANT
@pytest.mark.parametrize("kept", [[0, 2], [1], [2, 1]])
def test_remaining_sentences_are_unaffected_when_others_leave(model: Transformer, kept: list[int]) -> None:
    tgt_BT, memory = random_ids(3, 7), model.encode(SRC_BS)
    cache = model.new_cache(memory)
    feed(model, cache, tgt_BT[:, :4])
    cache.keep(torch.tensor(kept))
    cache.reorder(torch.tensor(kept))
    torch.testing.assert_close(feed(model, cache, tgt_BT[kept, 4:]), model.decode(tgt_BT, memory)[kept, 4:], **CLOSE)


@pytest.mark.parametrize("name", ["paper", "block order", "window"])
def test_decoding_goes_beyond_max_length_where_positions_are_sinusoids(name: str) -> None:
    """Two hypotheses of each sentence stay apart when the cache grows."""
    model, tgt_NT = MODELS[name], random_ids(6, TINY.max_length + 5)
    memory = model.encode(SRC_BS)
    expected = model.decode(tgt_NT, repeated(memory, 2))
    torch.testing.assert_close(feed(model, model.new_cache(memory), tgt_NT), expected, **CLOSE)


def test_decoding_ends_at_max_length_where_positions_are_learned() -> None:
    model = MODELS["learned positions"]
    cache = model.new_cache(model.encode(SRC_BS))
    feed(model, cache, random_ids(3, TINY.max_length))
    with pytest.raises(ValueError, match="position 13 is beyond max_length = 13"):
        model.decode_step(torch.full((3,), 5), cache)


def test_cached_positions_are_never_moved() -> None:
    """Each position is written once; reordering or growing the cache does not move it."""
    model = MODELS["paper"]
    cache = model.new_cache(model.encode(SRC_BS))
    assert [layer.self_k for layer in cache.layers] == [None] * TINY.n_decoder_layers
    written: list[list[Tensor]] = []
    for length in range(1, 41):
        model.decode_step(random_ids(6, seed=length), cache)
        assert cache.length == length
        written.append([layer.self_k[:, :, 2 * length - 2 : 2 * length].clone() for layer in cache.layers])
        cache.reorder(torch.tensor([1, 0, 2, 2, 5, 4]))
        for layer, parts in zip(cache.layers, zip(*written, strict=True), strict=True):
            assert layer.self_k[:, :, : 2 * length].equal(torch.cat(parts, dim=2))


def test_decoding_keeps_no_graph() -> None:
    """Otherwise the graph of all steps would stay in memory until the cache is dropped."""
    model = MODELS["paper"]
    cache = model.new_cache(model.encode(SRC_BS))
    assert not feed(model, cache, random_ids(6, 3)).requires_grad
    held = (x for layer in cache.layers for x in (layer.self_k, layer.self_v, layer.cross_k, layer.cross_v))
    assert not any(x.requires_grad for x in held)


@pytest.mark.parametrize(("first", "then"), [(3, 6), (6, 3), (6, 12), (3, 4), (4, 4)])
def test_another_number_of_hypotheses_than_before_is_refused(first: int, then: int) -> None:
    """The keys of earlier positions would be read at wrong places."""
    model = MODELS["paper"]
    cache = model.new_cache(model.encode(SRC_BS))
    if first % 3 == 0:
        model.decode_step(random_ids(first, 1)[:, 0], cache)
    with pytest.raises(ValueError, match="give every sentence the same number in every step"):
        model.decode_step(random_ids(then, 1)[:, 0], cache)


@EACH_VARIANT
def test_an_empty_target_has_no_logits(model: Transformer) -> None:
    assert model.decode(torch.empty(3, 0, dtype=torch.long), model.encode(SRC_BS)).shape == (3, 0, TINY.vocab_size)


def test_interleaved_decodes_of_one_model_are_independent() -> None:
    model = MODELS["paper"]
    memory = model.encode(SRC_BS)
    one, other = random_ids(3, 7, seed=1), random_ids(3, 7, seed=2)
    caches = model.new_cache(memory), model.new_cache(memory)
    steps = [(model.decode_step(one[:, t], caches[0]), model.decode_step(other[:, t], caches[1])) for t in range(7)]
    for tgt_BT, logits in zip((one, other), zip(*steps, strict=True), strict=True):
        torch.testing.assert_close(torch.stack(logits, dim=1), model.decode(tgt_BT, memory), **CLOSE)


def test_an_identity_reorder_before_the_first_step_has_no_effect() -> None:
    model, tgt_BT = MODELS["paper"], random_ids(3, 5)
    memory = model.encode(SRC_BS)
    cache = model.new_cache(memory)
    cache.reorder(torch.tensor([0, 1, 2]))
    torch.testing.assert_close(feed(model, cache, tgt_BT), model.decode(tgt_BT, memory), **CLOSE)
