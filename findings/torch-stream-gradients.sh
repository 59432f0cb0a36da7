#!/usr/bin/env bash
# A sync generator behind Starlette's StreamingResponse leaves its `torch.no_grad()` in the thread of its first part.
#
# Guess: with `torch.no_grad()` around the loop of the generator, each part is made without gradients, however many
#        requests a server has; so with `torch.inference_mode()`, and with autocast.
# Miss:  Starlette asks for each part in a thread of a pool, the one that became free last, and PyTorch keeps these
#        modes for each thread. If another request has taken the first thread, the next parts record gradients, and
#        with them the memory of each step; under autocast they have another type. The other request runs without
#        gradients. One stream alone stays in one thread, so tests see nothing. A context within each step is right.
. "$(dirname "$0")/environment.sh" starlette==1.10.0 anyio==4.16.0 torch==2.13.0 numpy==2.4.6
OMP_NUM_THREADS=1 python - <<'PYTHON'
import asyncio
import contextlib
import threading

import torch
from anyio.to_thread import run_sync
from finding import expect
from starlette.responses import StreamingResponse

weight = torch.nn.Linear(4, 4)


def state():
    product = weight(torch.ones(1, 4))
    return "gradients" if product.requires_grad else "none", str(product.dtype).removeprefix("torch.")


def translate(modes):
    with contextlib.ExitStack() as stack:
        for mode in modes:
            stack.enter_context(mode)
        for _ in range(3):
            yield state()


async def streamed(modes, others):
    """Return the states of three parts and of another request, which runs from the first part to the last."""
    parts = StreamingResponse(translate(modes)).body_iterator
    first, done = await anext(parts), threading.Event()
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def other():
        loop.call_soon_threadsafe(begun.set)
        done.wait(60)
        return state()

    request = asyncio.create_task(run_sync(other)) if others else None
    if request:
        await begun.wait()
    rest = [await anext(parts), await anext(parts)]
    done.set()
    return [first, *rest], await request if request else None


WITH, WITHOUT = ("gradients", "float32"), ("none", "float32")
for name, modes, inside in (
    ("no_grad", lambda: [torch.no_grad()], WITHOUT),
    ("inference_mode", lambda: [torch.inference_mode()], WITHOUT),
    ("no_grad and autocast", lambda: [torch.no_grad(), torch.autocast("cpu", torch.bfloat16)], ("none", "bfloat16")),
):
    expect(f"{name}, one stream", asyncio.run(streamed(modes(), others=False)), ([inside] * 3, None))
    expect(f"{name}, and a request", asyncio.run(streamed(modes(), others=True)), ([inside, WITH, WITH], inside))
PYTHON
