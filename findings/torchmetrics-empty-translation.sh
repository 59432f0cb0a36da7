#!/usr/bin/env bash
# torchmetrics counts an empty translation as no error: TER gets better by it, and chrF stays as it is.
#
# Guess: `TranslationEditRate` and `CHRFScore` give the values of sacreBLEU, whose algorithms they follow; an empty
#        translation lacks every word of its reference, so both scores get worse.
# Miss:  both leave such a pair out. Of three sentences with a TER of 58.3 one is empty, and torchmetrics says 25.0, less
#        than the 37.5 of the two others, as the words of the reference count and the edits do not. A model that does not
#        answer some sentences, as an undertrained one, looks better in training than sacreBLEU finds it afterwards.
. "$(dirname "$0")/environment.sh" torchmetrics==1.9.0 torch==2.13.0 sacrebleu==2.6.0 numpy==2.4.6
python - 2>warnings.log <<'PYTHON'
from finding import expect
from sacrebleu import CHRF, TER
from torchmetrics.text import CHRFScore, TranslationEditRate

REFERENCES = ["das Haus ist groß", "der Garten ist schön", "ein Baum steht dort"]
ANSWERS = ["das Haus ist klein", "der Garten", ""]


def scores(n):
    """Return TER and chrF of the first n sentences by sacreBLEU and by torchmetrics, in percent."""
    answers, references = ANSWERS[:n], REFERENCES[:n]
    by_sacrebleu = [metric.corpus_score(answers, [references]).score for metric in (TER(), CHRF())]
    metrics = TranslationEditRate(), CHRFScore(n_word_order=0)
    by_torchmetrics = [100 * float(metric(answers, [[one] for one in references])) for metric in metrics]
    return [[round(score, 1) for score in each] for each in (by_sacrebleu, by_torchmetrics)]


expect("TER and chrF without the empty one, by sacreBLEU and torchmetrics", scores(2), [[37.5, 56.1], [37.5, 56.1]])
expect("TER and chrF with it", scores(3), [[58.3, 39.0], [25.0, 56.1]])
PYTHON
