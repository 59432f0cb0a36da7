"""A sentence as the model reads it, and the labels of tokens."""

from transformer.search.hypothesis import SearchConfig
from translate.errors import UserError
from translate.inference.engines import TorchEngine
from translate.inference.search import SentenceSearch
from translate.models.folder import ModelFolder

MAX_TOKENS = 60  # more are too small to read in any form
END = "</s>"


def encoded(model_folder: ModelFolder, sentence: str) -> list[int]:
    """Return the token ids of a sentence, without eos; UserError if it is empty or too long to draw or to translate."""
    ids = model_folder.tokenizer.encode(sentence.strip())
    limit = min(MAX_TOKENS, _search(model_folder).limit)
    if not ids:
        raise UserError("the sentence is empty; write one in quotation marks")
    if len(ids) > limit:
        raise UserError(f"{sentence.strip()[:30]!r}...: has {len(ids)} tokens, too long to draw; the limit is {limit}")
    return ids


def search_config(model_folder: ModelFolder, beam_size: int | None = None) -> SearchConfig:
    """Return the model's own settings of the search, or those with another beam size."""
    decoding, config = model_folder.spec.decoding, model_folder.model.config
    return SearchConfig(
        bos=config.bos,
        eos=config.eos,
        beam_size=beam_size or decoding.beam_size,
        alpha=decoding.alpha,
        length_rule=decoding.length_penalty,
    )


def max_length(model_folder: ModelFolder, ids: list[int]) -> int:
    """Return the maximum number of tokens of a translation, eos included."""
    return _search(model_folder).max_length(len(ids))


def _search(model_folder: ModelFolder) -> SentenceSearch:
    """Return the search whose limits a drawn sentence has."""
    return SentenceSearch(TorchEngine(model_folder), model_folder.spec.decoding)


def label(piece: str) -> str:
    """Return a piece without its mark of a new word; "+" marks letters that continue a word."""
    if piece.startswith("\u2581"):
        return piece[1:] or "\u2581"
    return f"+{piece}" if piece[0].isalnum() else piece
