"""Other translations of a passage, made of the second best translations of its sentences, the third best, and so on."""

import re
from collections.abc import Sequence

from translate.inference.translator import Translator
from translate.text.passages import Passages
from translate.text.placeholders import PLACEHOLDER
from translate.text.translation import Translation


def variants(translator: Translator, text: str, n: int, *, markup: re.Pattern[str] = PLACEHOLDER) -> list[str]:
    """Return up to n other translations of a passage, best first; all differ from each other and from the best one.

    Args:
        translator: the model; its beam is widened to n + 1 if it is smaller.
        text: the passage, without line breaks.
        n: number of translations.
        markup: matches placeholders.
    """
    sentences, spec = translator.sentences, translator.engine.spec
    n_symbols = translator.engine.tokenizer.n_placeholders
    found: dict[tuple[str, int], list[Translation]] = {}

    def ranked(rank: int) -> Passages:
        def search(lines: Sequence[str], no_repeat: int) -> dict[str, Translation]:
            new = [line for line in lines if (line, no_repeat) not in found]
            results = sentences.translate(
                new, sentences.best_limit, sentences.guarded_length, n_best=n + 1, no_repeat=no_repeat
            )
            found.update({(line, no_repeat): translations for line, translations in results.items()})
            translations = {line: found[line, no_repeat] for line in lines}
            return {line: ranking[min(rank, len(ranking) - 1)] for line, ranking in translations.items()}

        return Passages(search, spec.source, spec.target, n_symbols, markup=markup)

    (best,) = translator.passages([text], markup=markup)
    texts = dict.fromkeys(ranked(rank).translate([text])[0].text for rank in range(n + 1))
    return [other for other in texts if other != best.text][:n]
