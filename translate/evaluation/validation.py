"""The BLEU of a model during training."""

from collections.abc import Sequence

from translate.config.decoding import TranslationOptions
from translate.corpus.sources import Pair
from translate.evaluation.scores import corpus_bleu
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder


def greedy_bleu(model: ModelFolder, pairs: Sequence[Pair]) -> float:
    """Return the sacreBLEU of greedy translations: a few points below beam search, and several times as fast."""
    source, reference = zip(*pairs, strict=True)
    translations = Translator(model, TranslationOptions(beam_size=1)).translate_lines(source)
    return corpus_bleu([translation.text for translation in translations], reference, target=model.spec.target)
