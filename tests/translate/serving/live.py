"""A live server on loopback, in a thread of the test process."""

import asyncio
import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import uvicorn
import uvicorn.server

from translate.serving import api, server
from translate.serving.access import Rates
from translate.serving.api import State
from translate.serving.app import create_app
from translate.serving.settings import ServeOptions


class Prompt:
    """asyncio for a server of uvicorn, which looks only every tenth of a second whether it should stop."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        """Wait for at most a few milliseconds."""
        await asyncio.sleep(min(seconds, 0.005))


uvicorn.server.asyncio = Prompt()  # type: ignore[assignment]


@dataclass
class Live:
    """A running server: its address, an HTTP client for it, and its parts."""

    url: str
    http: httpx.Client
    state: State
    uvicorn: uvicorn.Server

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def translate(self, q: object, source: str = "de", target: str = "en", **more: object) -> httpx.Response:
        return self.http.post("/translate", json={"q": q, "source": source, "target": target, **more})

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


@contextlib.contextmanager
def live(options: ServeOptions, folder: Path) -> Iterator[Live]:
    """Serve while the block runs, then stop all threads of the server.

    The minute in which requests are counted does not end meanwhile.
    """
    with server.listen("127.0.0.1", 0) as listener:
        with mock.patch.object(api, "Rates", partial(Rates, clock=lambda: 30.0)):
            app = create_app(options, folder)
        running = uvicorn.Server(server.configuration(app, options))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not running.started:
                time.sleep(0.005)
            url = server.address(listener)
            # To read the certificates of all authorities takes longer than most requests here.
            with httpx.Client(base_url=url, timeout=60, verify=False) as http:
                yield Live(url, http, app.state.server, running)
        finally:
            running.should_exit = True
            thread.join(30)
    assert not thread.is_alive()


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until a function returns a true value."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def workers(parent: int | None) -> list[int]:
    """The worker processes of a server, None for all; multiprocessing starts another one that tracks resources."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text()
        except OSError:
            continue
        if parent in (None, int(status[1])) and "spawn_main" in command and status[0] != "Z":
            found.append(int(folder.name))
    return found


WORDS = "der die das Hund Katze Kind Vogel läuft singt schläft im am Haus Garten See und".split()  # noqa: SIM905


def book(n_lines: int) -> str:
    """Distinct lines that keep a server busy for a while."""
    draw = random.Random(n_lines)
    return "\n".join(" ".join(draw.choices(WORDS, k=7)) for _ in range(n_lines))
