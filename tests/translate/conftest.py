"""Fixtures with a tiny translation model of random weights."""

from collections.abc import Iterable, Sequence

import pytest
import torch

from transformer.config import ModelConfig, Request, SearchConfig
from transformer.model import Transformer
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import Tokenizer, train
from translate.inference.translator import Translator
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec
from translate.text.formality import TAGS

SUBJECTS = ["der Hund", "die Katze", "das Kind", "the dog", "the cat", "the child", "ein Vogel"]
VERBS = ["schläft", "läuft", "singt", "sleeps", "runs", "sings"]
PLACES = ["im Haus", "im Garten", "am See", "in the house", "by the lake"]
SENTENCES = [f"{s} {v} {p}." for s in SUBJECTS for v in VERBS for p in PLACES]
MAX_LENGTH, MAX_EXTRA = 61, 5


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train(SENTENCES, TokenizerConfig(vocab_size=331))


def random_model(tokenizer: Tokenizer, seed: int = 3) -> Transformer:
    """A model with random weights; learned positions limit its length, so long lines are cheap to test."""
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=14,
        n_heads=2,
        d_ff=22,
        n_encoder_layers=1,
        n_decoder_layers=2,
        positions="learned",
        max_length=MAX_LENGTH,
    )
    return Transformer(config).eval()


@pytest.fixture(scope="session")
def parts(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    """An open model folder; tests must not change its files."""
    folder = tmp_path_factory.mktemp("run") / "model"
    spec = TranslationSpec("de", "en", SearchConfig(beam_size=2, alpha=0.6, max_extra=MAX_EXTRA))
    model_folder.save(random_model(tokenizer), tokenizer, spec, folder)
    return ModelFolder.open(folder)


@pytest.fixture(scope="session")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    """An open model folder for English-German whose tokenizer has the tags for the form of address."""
    tokenizer = train(SENTENCES, TokenizerConfig(vocab_size=333), [*TAGS.values()])
    folder = tmp_path_factory.mktemp("tagged") / "model"
    spec = TranslationSpec("en", "de", SearchConfig(beam_size=2, alpha=0.6, max_extra=MAX_EXTRA))
    model_folder.save(random_model(tokenizer), tokenizer, spec, folder)
    return ModelFolder.open(folder)


@pytest.fixture(scope="session")
def translator(parts: ModelFolder) -> Translator:
    return Translator(parts)


def requests(sources: Iterable[Sequence[int]], max_lengths: Iterable[int]) -> list[Request]:
    """Requests to an engine, without constraints."""
    return [Request(tuple(ids), length) for ids, length in zip(sources, max_lengths, strict=True)]
