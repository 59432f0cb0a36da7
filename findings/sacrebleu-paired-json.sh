#!/usr/bin/env bash
# sacreBLEU computes a bootstrap test of chrF or TER and then cannot write it as JSON.
#
# Guess: `--paired-bs -f json` writes what `-f text` does, for each metric, as `--confidence -f json` does.
# Miss:  BLEU is written. For chrF and TER it raises a TypeError after the test, as their mean is a float32 of NumPy,
#        which `json` does not know; with `-m bleu chrf` BLEU is lost too. A script that reads the results has nothing
#        after all resamples of a long comparison; approximate randomization, which has no mean, is written.
. "$(dirname "$0")/environment.sh" sacrebleu==2.6.0 numpy==2.4.6
for n in $(seq 20); do echo "Das ist der Satz mit der Nummer $n, und er ist lang."; done >reference
sed 's/lang/kurz/' reference >first
sed 's/Nummer/hohen Nummer/' reference >second
for metric in bleu chrf ter "bleu chrf"; do
    for test in bs ar; do
        run="$metric.$test"
        sacrebleu reference -i first second -m $metric --paired-$test -f json >"$run.json" 2>"$run.log" || true
    done
done
python - <<'PYTHON'
import json
from pathlib import Path
from finding import expect

def outcome(run):
    text = Path(f"{run}.json").read_text()
    return len(json.loads(text)) if text else Path(f"{run}.log").read_text().splitlines()[-1]

LOST = "TypeError: Object of type float32 is not JSON serializable"
expect("randomization, systems", [outcome(f"{metric}.ar") for metric in ("bleu", "chrf", "ter")], [2, 2, 2])
expect("bootstrap", [outcome(f"{metric}.bs") for metric in ("bleu", "chrf", "ter")], [2, LOST, LOST])
expect("bootstrap of BLEU and chrF", outcome("bleu chrf.bs"), LOST)
PYTHON
