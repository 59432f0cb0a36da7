"""Tiny models of every architecture, in folders, for tests of exports."""

from pathlib import Path

from tests.toys import toy_model
from tests.translate.conftest import SENTENCES
from transformer.config import ModelConfig, SearchConfig
from translate.corpus.tokenizer import Tokenizer
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec

TEXTS = [*SENTENCES[::23], "Ja", "x", "  the cat. ", "Über 7 Öfen & ⟦1⟧ 日本"]
BASE = ModelConfig(
    vocab_size=331, d_model=30, n_heads=3, d_ff=22, n_encoder_layers=2, n_decoder_layers=3, max_length=97
)


def tiny_parts(config: ModelConfig, tokenizer: Tokenizer, folder: Path) -> ModelFolder:
    """An open folder with a model of arbitrary weights."""
    spec = TranslationSpec("de", "en", SearchConfig(beam_size=2, alpha=0.6, max_extra=5))
    model_folder.save(toy_model(config), tokenizer, spec, folder)
    return ModelFolder.open(folder)
