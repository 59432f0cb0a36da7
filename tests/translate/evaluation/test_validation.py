"""The validation score is that of greedy translations, with the same metric as all other scores."""

from translate.config.decoding import TranslationOptions
from translate.evaluation.scores import score
from translate.evaluation.validation import greedy_bleu
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder

SOURCES = ["der Hund singt im Haus.", "die Katze am See.", "", "das Kind läuft in the house."]


def test_the_validation_score_is_the_bleu_of_greedy_translations(parts: ModelFolder) -> None:
    greedy = [t.text for t in Translator(parts, TranslationOptions(beam_size=1)).translate_lines(SOURCES)]
    references = [f"{text} and the dog" for text in greedy]
    expected = score(greedy, references).bleu.value
    assert 0 < expected < 100
    assert greedy_bleu(parts, list(zip(SOURCES, references, strict=True))) == expected
