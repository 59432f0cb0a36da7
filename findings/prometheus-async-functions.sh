#!/usr/bin/env bash
# The decorators of prometheus_client measure an `async` function as 0 seconds, without errors and never in progress.
#
# Guess: `@histogram.time()` over `async def translate` observes the time until the translation is there,
#        `@counter.count_exceptions()` counts its errors, and `@gauge.track_inprogress()` is 1 while it runs. Over a
#        generator, the time is that until it is used up.
# Miss:  they measure the call, which only makes the coroutine or the generator, in microseconds. The number of
#        requests is right, so the panel of a server with async endpoints shows very quick answers and no errors, and an
#        alarm for either never comes. As context managers within the function, all three are right.
. "$(dirname "$0")/environment.sh" prometheus_client==0.26.0
python - <<'PYTHON'
import asyncio
import contextlib
import time

from finding import expect
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

registry = CollectorRegistry()
value = registry.get_sample_value
seconds = Histogram("seconds", "of an answer", registry=registry)
errors = Counter("errors", "of answers", registry=registry)
running = Gauge("running", "answers in progress", registry=registry)
seen = []


@seconds.time()
@errors.count_exceptions()
@running.track_inprogress()
async def decorated():
    seen.append(value("running"))
    await asyncio.sleep(0.2)
    raise ValueError


async def managed():
    with seconds.time(), errors.count_exceptions(), running.track_inprogress():
        seen.append(value("running"))
        await asyncio.sleep(0.2)
        raise ValueError


@seconds.time()
def stream():
    time.sleep(0.2)
    yield "ein Teil"


def spent(function):
    """Return whether 0.1 seconds or more were observed, and the number of errors that were counted."""
    before = value("seconds_sum"), value("errors_total")
    with contextlib.suppress(ValueError):
        function()
    return value("seconds_sum") - before[0] > 0.1, value("errors_total") - before[1]


expect("async, decorated: 0.1 seconds or more, errors", spent(lambda: asyncio.run(decorated())), (False, 0.0))
expect("async, context manager within", spent(lambda: asyncio.run(managed())), (True, 1.0))
expect("generator, decorated", spent(lambda: list(stream())), (False, 0.0))
expect("in progress, decorated and within", seen, [0.0, 1.0])
expect("calls", value("seconds_count"), 3.0)
PYTHON
