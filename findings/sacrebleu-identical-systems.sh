#!/usr/bin/env bash
# sacreBLEU finds that a system is significantly different from itself.
#
# Guess: two files with the same translations have the p-value 1, or nan, in both paired tests.
# Miss:  p = 0.0010 in bootstrap resampling and 0.0001 in approximate randomization, the smallest values there are, which
#        the table marks as significant: samples count whose difference is larger than that of the systems, and none is
#        larger than 0. A script that compares checkpoints, and meets one twice, reports a difference with confidence.
. "$(dirname "$0")/environment.sh" sacrebleu==2.6.0 numpy==2.4.6
python - 2>log <<'PYTHON'
from finding import expect
from sacrebleu import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

references = [f"Das ist der Satz mit der Nummer {n}, und er ist lang." for n in range(20)]
answers = [line.replace("lang", "kurz") for line in references]
for test, name, p_value in (("bs", "bootstrap", 0.001), ("ar", "randomization", 0.0001)):
    systems = [("first", answers), ("second", answers)]
    metrics = {metric.__name__: metric(references=[references]) for metric in (BLEU, CHRF, TER)}
    _, results = PairedTest(systems, metrics, None, test_type=test)()
    pairs = [results[name] for name in results if name != "System"]
    expect(f"{name}: equal scores", [first.score == second.score for first, second in pairs], [True] * 3)
    expect(f"{name}: p-values", [round(second.p_value, 4) for _, second in pairs], [p_value] * 3)
PYTHON
