"""A sentence's translation does not depend on the other sentences in the batch."""

import functools
import random
from collections.abc import Sequence

import pytest

from tests.toys import toy_model
from tests.translate.conftest import requests
from transformer.config import Hypothesis, ModelConfig, SearchConfig
from translate.corpus.grammar import generate
from translate.corpus.tokenizer import Tokenizer
from translate.inference.torch_engine import TorchEngine, TorchPrecision
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec

SEARCHES = {"greedy": SearchConfig(beam_size=1), "beam": SearchConfig(n_best=2)}


@pytest.fixture(scope="module")
def parts(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    """A small model with random weights."""
    folder = tmp_path_factory.mktemp("batches") / "model"
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, d_model=42, n_heads=3, d_ff=66, n_encoder_layers=2, n_decoder_layers=2
    )
    model_folder.save(toy_model(config), tokenizer, TranslationSpec("de", "en"), folder)
    return ModelFolder.open(folder)


@functools.cache
def sentences(n: int) -> tuple[str, ...]:
    return tuple(german for german, _ in generate("test", n, 7))


def searched(
    parts: ModelFolder, n: int, config: SearchConfig, size: int, shuffled: bool, precision: TorchPrecision = "fp32"
) -> list[list[Hypothesis]]:
    """The hypotheses of each of n sentences, searched in batches of `size`."""
    sources = parts.tokenizer.encode_batch(sentences(n))
    order = random.Random(size).sample(range(n), n) if shuffled else list(range(n))
    engine, found = TorchEngine(parts, precision), dict[int, list[Hypothesis]]()
    for start in range(0, n, size):
        batch = order[start : start + size]
        lengths = [len(sources[i]) + 7 for i in batch]
        found |= zip(batch, engine.search_batch(requests([sources[i] for i in batch], lengths), config), strict=True)
    return [found[i] for i in range(n)]


def check_equal(found: Sequence[list[Hypothesis]], expected: Sequence[list[Hypothesis]]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert [h.tokens for h in ours] == [h.tokens for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-4)


@pytest.mark.parametrize("config", SEARCHES.values(), ids=SEARCHES.keys())
def test_translations_do_not_depend_on_the_batch(parts: ModelFolder, config: SearchConfig) -> None:
    check_equal(searched(parts, 17, config, 7, True), searched(parts, 17, config, 1, False))


@pytest.mark.slow
@pytest.mark.parametrize("config", SEARCHES.values(), ids=SEARCHES.keys())
def test_in_half_precision_nine_of_ten_sentences_do_not_depend_on_the_batch(
    parts: ModelFolder, config: SearchConfig
) -> None:
    """Other shapes add in another order; bf16 rounds the sums, and nearly equal hypotheses may swap."""
    expected = searched(parts, 500, config, 500, False, "bf16")
    found = searched(parts, 500, config, 7, True, "bf16")
    same = [(a[0], b[0]) for a, b in zip(found, expected, strict=True) if a[0].tokens == b[0].tokens]
    assert len(same) >= 450
    for a, b in same:
        assert a.log_prob == pytest.approx(b.log_prob, rel=0.02, abs=0.05)
