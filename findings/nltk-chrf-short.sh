#!/usr/bin/env bash
# NLTK's chrF gives half of the points to "Ja." for "Ja.", and to a perfect system with short sentences less than all.
#
# Guess: with `beta=2`, NLTK computes the chrF of sacreBLEU divided by 100; equal texts have 1.0, and the default,
#        beta=3, changes the value of unequal ones alone.
# Miss:  the mean is over six lengths of character n-grams, also over those for which a text is too short, which count
#        as 0: two letters can reach 2/6, three 3/6. `corpus_chrf` averages over sentences, so subtitles and dialogues
#        lose points that no translation can win. sacreBLEU does so only with `eps_smoothing=True`.
. "$(dirname "$0")/environment.sh" nltk==3.10.4 sacrebleu==2.6.0 numpy==2.4.6
python - <<'PYTHON'
from finding import expect
from nltk.translate.chrf_score import corpus_chrf, sentence_chrf
from sacrebleu.metrics import CHRF

for text, stated in {"Ja": 0.333, "Ja.": 0.5, "Hallo": 0.833, "Guten Tag.": 1.0}.items():
    expect(f"NLTK, {text!r} for itself", round(sentence_chrf(text, text, beta=2), 3), stated)
    expect("sacreBLEU", CHRF().sentence_score(text, [text]).score, 100.0)
    expect("with eps_smoothing", round(CHRF(eps_smoothing=True).sentence_score(text, [text]).score / 100, 3), stated)
texts = ["Ja.", "Guten Tag."]
expect("NLTK, both for themselves", round(corpus_chrf(texts, texts, beta=2), 3), 0.75)
expect("sacreBLEU, both", CHRF().corpus_score(texts, [texts]).score, 100.0)
PYTHON
