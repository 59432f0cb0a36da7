#!/usr/bin/env bash
# NLTK's BLEU of a perfect translation is 1.12 with two of its smoothing methods, and 0.56 to 0.84 if it is short.
#
# Guess: equal texts of six words have 1.0 with every method of `SmoothingFunction`: there is nothing to smooth, as no
#        precision is 0. With three words, which have no 4-grams, methods differ, and none is above 1.
# Miss:  methods 5 and 7 replace each precision by a mean with its neighbours, and take the one before the first for that
#        plus 1. So the unigrams get (2 + 1 + 1) / 3, and the score of every text goes up, not only that of texts whose
#        precisions are 0. Averages over sentences, and thresholds such as "above 0.5", mean something else with each
#        method. sacreBLEU has none of these two, and no smoothing of it goes above 100.
. "$(dirname "$0")/environment.sh" nltk==3.10.4 sacrebleu==2.6.0
python - <<'PYTHON' 2>warnings.log
from finding import expect
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu
from sacrebleu import BLEU


def smoothed(n_words):
    words = "Der Hund schläft unter dem Tisch".split()[:n_words]
    methods = [getattr(SmoothingFunction(), f"method{n}") for n in range(8)]
    return [round(sentence_bleu([words], words, smoothing_function=method), 2) for method in methods]


expect("six words, methods 0 to 7", smoothed(6), [1.0, 1.0, 1.0, 1.0, 1.0, 1.12, 1.0, 1.12])
expect("three words, methods 0 to 7", smoothed(3), [0.0, 0.56, 0.84, 0.84, 0.58, 0.7, 1.0, 0.75])
words = "a b c d e f g h i j".split()
score = corpus_bleu([[words]] * 9, [words] * 9, smoothing_function=SmoothingFunction().method5)
expect("corpus, method 5", round(score, 2), 1.12)
text = "Der Hund schläft unter dem Tisch"
for method in ("floor", "add-k", "exp", "none"):
    metric = BLEU(smooth_method=method, effective_order=True)
    expect(f"sacreBLEU, {method}", round(metric.sentence_score(text, [text]).score, 1), 100.0)
PYTHON
