#!/usr/bin/env bash
# Workers of Ray run at the lowest priority but four, not at that of the program that started Ray.
#
# Guess: a worker has the niceness of the process that called `ray.init`: 0.
# Miss:  it has 15. Beside any other work on the machine, tasks get a small part of the processor, and a comparison of the
#        same function with and without Ray measures the other work. RAY_worker_niceness changes it.
. "$(dirname "$0")/environment.sh" 'ray[data]==2.60.0' pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6
cat >program.py <<'PYTHON'
import os
import ray

ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")

@ray.remote
def niceness():
    return os.nice(0)

print(os.nice(0), ray.get(niceness.remote()))
PYTHON
python program.py >default 2>ray.log
RAY_worker_niceness=0 python program.py >changed 2>>ray.log
python - <<'PYTHON'
from pathlib import Path
from finding import expect

own, worker = map(int, Path("default").read_text().split()[-2:])
expect("above the program's own niceness", worker - own, 15)
own, worker = map(int, Path("changed").read_text().split()[-2:])
expect("with RAY_worker_niceness=0", worker - own, 0)
PYTHON
