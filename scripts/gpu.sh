#!/usr/bin/env bash
# One step of the work on a GPU that is lent for minutes; the last line is a record in JSON.
#
#     scripts/gpu.sh check [DIRECTION]     tests marked gpu; losses of the first updates on both devices; training speed
#     scripts/gpu.sh teacher DIRECTION     a paper-base model of stage 1 of the recipe, in the time that is left
#     scripts/gpu.sh table3                the rows of table 3 for as many updates as are wanted
#
# The same command continues after an interruption. From the environment:
#
#     OUT        folder for runs and records (default: gpu)
#     LIMIT      seconds for training in the step teacher (default: 420)
#     UPDATES    of the comparison in check (default: 50), and of a row in table3 (default: 3000)
#     CONFIG     experiment in place of the recipe's
#     SETTINGS   more arguments of `translate train`, such as "--set model.d_model=32"
#     BENCH      arguments of bench.py train in check (default: --preset paper-base)

set -euo pipefail

STEP=${1:?name a step: check, teacher or table3}
DIRECTION=${2:-de-en}
OUT=${OUT:-gpu}
PYTHON=${PYTHON:-python3}
CONFIG=${CONFIG:-configs/shipped/$DIRECTION-1.toml}
PREPARED=$OUT/prepared-$DIRECTION
read -ra SETTINGS <<< "${SETTINGS:-}"
mkdir -p "$OUT"

translate() { "$PYTHON" -m translate "$@"; }

# Train in the run folder $1 for $2 updates, with the further arguments.
train() {
    translate train "$CONFIG" --run "$1" --prepared "$PREPARED" --resume \
        --set training.max_steps="$2" --set training.log_every=5 "${SETTINGS[@]}" "${@:3}" >&2
}

# Print the field $2 of the lines of kind $3 in the metrics of the run $1, one on each line.
metric() {
    "$PYTHON" - "$@" <<'PY'
import json, sys
run, field, kind = sys.argv[1:]
for line in open(f"{run}/metrics.jsonl", encoding="utf-8"):
    record = json.loads(line)
    if record["kind"] == kind:
        print(record[field])
PY
}

# Print a record: the fields are NAME=JSON.
record() {
    "$PYTHON" - "$STEP" "$@" <<'PY' | tee "$OUT/$STEP.json"
import json, subprocess, sys
import torch
device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
fields = {name: json.loads(value) for name, value in (field.split("=", 1) for field in sys.argv[2:])}
print(json.dumps({"step": sys.argv[1], "device": device, "torch": torch.__version__, "commit": commit, **fields}))
PY
}

listed() { paste -sd, - | sed 's/^/[/; s/$/]/'; }

check() {
    local updates=${UPDATES:-50} status=0
    "$PYTHON" -m pytest -q -n 0 -m gpu tests/test_gpu.py >&2 || status=$?
    # 5: there is no GPU, so that no test was run.
    [ $status = 0 ] || [ $status = 5 ] || exit $status
    CUDA_VISIBLE_DEVICES="" train "$OUT/check-cpu" "$updates" --set training.precision=fp32
    train "$OUT/check-here" "$updates"
    local bench
    read -ra bench <<< "${BENCH:---preset paper-base}"
    record tests=$status \
        loss_cpu="$(metric "$OUT/check-cpu" nll train | listed)" \
        loss_here="$(metric "$OUT/check-here" nll train | listed)" \
        training="$("$PYTHON" scripts/bench.py train "${bench[@]}" | tail -n 1)"
}

# Train for as many updates as fit into the time, so that the learning rate falls to zero at the end of it.
teacher() {
    local size=(--set training.valid_bleu_sentences=0 --set training.save_minutes=1)
    [ "${CONFIG#configs/shipped/}" = "$CONFIG" ] || size+=(
        --set model.d_model=512 --set model.d_ff=2048 --set model.n_heads=8 --set model.dropout=0.1
        --set tokenizer.vocab_size=16000 --set training.batch_tokens=24576
    )
    local run=$OUT/teacher-$DIRECTION steps=$OUT/teacher-$DIRECTION.steps
    if [ ! -e "$steps" ]; then
        train "$OUT/rate-$DIRECTION" 30 "${size[@]}"
        # The first updates compile kernels, so the rate is that of the last ones.
        metric "$OUT/rate-$DIRECTION" seconds train | tail -n 3 | "$PYTHON" -c "
import sys
first, *_, last = map(float, sys.stdin)
print(max(60, round(${LIMIT:-420} * 10 / (last - first))))" > "$steps"
    fi
    train "$run" "$(cat "$steps")" "${size[@]}"
    [ -e "$run/int8" ] || translate compress "$run/model" --out "$run/int8" >&2
    record direction="\"$DIRECTION\"" updates="$(cat "$steps")" nll="$(metric "$run" nll valid | listed)" \
        tokens="$(metric "$run" tokens train | tail -n 1)" tokens_per_s="$(metric "$run" tokens_per_s train | tail -n 1)"
}

table3() {
    translate experiment configs/paper/table3.toml --runs "$OUT/table3" --set training.max_steps="${UPDATES:-3000}" \
        "${SETTINGS[@]}" >&2
    record rows="$(cat "$OUT/table3/table.json")"
}

case $STEP in
check | teacher | table3) $STEP ;;
*) echo "gpu.sh: $STEP is no step; name check, teacher or table3" >&2 && exit 2 ;;
esac
