#!/usr/bin/env bash
# sacreBLEU's chrF does not count what a system invents for an empty reference, and little of it for a short one.
#
# Guess: an empty reference counts as one of length 0, as in BLEU and TER.
# Miss:  n-grams of lengths that the reference does not have are left out. If one of two references is empty, any text
#        is right there: chrF is 100 where BLEU is 46 and TER 117. For "Ja.", the 4-, 5- and 6-grams of an invented
#        sentence behind it cost nothing, and chrF is 93; for the same texts the other way round, it is 50. So chrF
#        alone does not show a model that goes on after the end of short lines, as in subtitles.
. "$(dirname "$0")/environment.sh" sacrebleu==2.6.0
python - <<'PYTHON'
from finding import expect
from sacrebleu.metrics import BLEU, CHRF, TER

sentence, invented = "Der Hund schläft heute im Garten.", "Das Wetter wird morgen besser als heute."


def scores(translations, references):
    """Return BLEU, TER and chrF of a corpus, rounded."""
    return [round(metric.corpus_score(translations, [references]).score) for metric in (BLEU(), TER(), CHRF())]


expect("all equal", scores([sentence, ""], [sentence, ""]), [100, 0, 100])
expect("invented, reference empty", scores([sentence, invented], [sentence, ""]), [46, 117, 100])
expect("empty, reference a sentence", scores([sentence, ""], [sentence, invented]), [32, 54, 50])
expect("invented behind Ja.", scores([sentence, f"Ja. {invented}"], [sentence, "Ja."]), [43, 100, 93])
expect("Ja. alone for both", scores([sentence, "Ja."], [sentence, f"Ja. {invented}"]), [41, 50, 50])
PYTHON
