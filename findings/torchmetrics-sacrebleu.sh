#!/usr/bin/env bash
# torchmetrics' SacreBLEUScore is 0 where sacreBLEU is 38, and depends on the order of the references.
#
# Guess: `SacreBLEUScore` gives the BLEU of sacreBLEU divided by 100, as its tokenizers and its name do.
# Miss:  it does not smooth by default, so texts without a common 4-gram have 0, and it has no smoothing "exp", the
#        default of sacreBLEU. If two references are equally far from the length of the translation, sacreBLEU takes the
#        shorter for the brevity penalty, and torchmetrics the first: the score falls from 0.67 to 0.55 if files of
#        references change places. A model seems to learn nothing in its first epochs, and values of validation do not
#        compare with published ones.
. "$(dirname "$0")/environment.sh" torch==2.13.0 torchmetrics==1.9.0 sacrebleu==2.6.0 regex==2026.11.15 numpy==2.4.6
python - <<'PYTHON'
from finding import expect
from sacrebleu.metrics import BLEU
from torchmetrics.text import SacreBLEUScore


def scores(translation, references):
    """Return the scores of sacreBLEU and of torchmetrics for one sentence, from 0 to 1."""
    of_sacrebleu = BLEU().corpus_score([translation], [[r] for r in references]).score / 100
    return round(of_sacrebleu, 2), round(SacreBLEUScore()([translation], [references]).item(), 2)


short, long = "the cat sat down", "the cat sat down on it"
expect("short reference first", scores("the cat sat down here", [short, long]), (0.67, 0.67))
expect("long reference first", scores("the cat sat down here", [long, short]), (0.67, 0.55))
expect("no common 4-gram", scores("the old cat sat down now", ["the old cat lay down now"]), (0.38, 0.0))
PYTHON
