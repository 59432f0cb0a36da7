#!/usr/bin/env bash
# Ray Data loses the type and the attributes of an error that a mapped function raises.
#
# Guess: the error that arrives is a RayTaskError whose `cause` is the ValueError of the function, with its attributes.
# Miss:  `cause` is a UserCodeException without a cause; what was raised is only in the text. With the setting
#        `raise_original_map_exception` type and attributes arrive, but three lines of advice are added to `args[0]`.
#        A program that tells a wrong line of a corpus from a fault of its own must set it, and keep its message elsewhere.
. "$(dirname "$0")/environment.sh" 'ray[data]==2.60.0' pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6
python - 2>ray.log <<'PYTHON'
import ray
from finding import expect

ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
context = ray.data.DataContext.get_current()
context.enable_progress_bars = False

def read(row):
    error = ValueError("line 7 has no text")
    error.line = 7
    raise error

def raised():
    try:
        ray.data.range(1).map(read).take_all()
    except ray.exceptions.RayTaskError as error:
        return error

error = raised()
expect("a ValueError arrives", isinstance(error, ValueError), False)
expect("type of the cause", type(error.cause).__name__, "UserCodeException")
expect("cause of the cause", error.cause.__cause__, None)
context.raise_original_map_exception = True
error = raised()
expect("with the setting, a ValueError arrives", isinstance(error, ValueError), True)
expect("its attribute", error.cause.line, 7)
expect("lines of its message", len(str(error.cause).splitlines()), 3)
expect("first line", str(error.cause).splitlines()[0], "line 7 has no text")
PYTHON
