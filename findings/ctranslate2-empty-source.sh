#!/usr/bin/env bash
# CTranslate2 scores every translation of an empty source with probability 1.
#
# Guess: `score_batch([[]], [["a"]])` computes the probability given an encoder that read nothing, or is an error.
# Miss:  the log-probability of each token is exactly 0.0, better than of any real pair, so an empty source line wins
#        each comparison by score; `translate_batch` answers it with an empty hypothesis, without a search.
. "$(dirname "$0")/environment.sh" ctranslate2==4.8.1 numpy==2.4.6
python - <<'PYTHON'
import ctranslate2
import ctranslate2_model
from finding import expect

ctranslate2_model.save(".")
model = ctranslate2.Translator(".")
empty, real = model.score_batch([[], ["a", "b", "</s>"]], [["c", "d"], ["c", "d"]])
expect("log-probabilities without a source", empty.log_probs, [0.0, 0.0, 0.0])
expect("all below 0 with a source", max(real.log_probs) < 0, True)
[answer] = model.translate_batch([[]], beam_size=3, num_hypotheses=2, return_scores=True)
expect("translations of an empty source", answer.hypotheses, [[], []])
PYTHON
