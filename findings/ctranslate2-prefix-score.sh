#!/usr/bin/env bash
# CTranslate2 leaves a target prefix out of the score of a translation, but counts its tokens in the length penalty.
#
# Guess: the score of `translate_batch(target_prefix=...)` is the log-probability of the whole hypothesis, as
#        `score_batch` gives it, divided by its length.
# Miss:  only the tokens after the prefix are summed; the sum is divided by the length with the prefix. Scores of
#        translations with different prefixes therefore do not compare, and a longer prefix looks more probable.
. "$(dirname "$0")/environment.sh" ctranslate2==4.8.1 numpy==2.4.6
python - <<'PYTHON'
import ctranslate2, numpy as np
import ctranslate2_model
from finding import expect

ctranslate2_model.save(".")
model, source, prefix = ctranslate2.Translator("."), ["a", "b", "</s>"], ["c", "d", "e"]
options = {"beam_size": 1, "max_decoding_length": 5, "return_scores": True, "target_prefix": [prefix]}
[penalised] = model.translate_batch([source], **options)
[summed] = model.translate_batch([source], length_penalty=0, **options)
[tokens] = penalised.hypotheses
log_probs = model.score_batch([source], [tokens])[0].log_probs[: len(tokens)]
expect("tokens of the hypothesis", len(tokens), 5)
expect("score without penalty is the sum of all tokens", bool(np.isclose(summed.scores[0], sum(log_probs), atol=1e-4)), False)
expect("it is the sum of the tokens after the prefix", bool(np.isclose(summed.scores[0], sum(log_probs[3:]), atol=1e-4)), True)
expect("the penalty divides that by all tokens", bool(np.isclose(penalised.scores[0], summed.scores[0] / 5, atol=1e-5)), True)
PYTHON
