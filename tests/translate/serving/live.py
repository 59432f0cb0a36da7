"""A live server on loopback, in a thread of the test process."""

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from translate.serving import server
from translate.serving.api import State
from translate.serving.app import create_app
from translate.serving.settings import Serve


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
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)


@contextlib.contextmanager
def live(options: Serve, folder: Path) -> Iterator[Live]:
    """Serve while the block runs, then stop all threads of the server."""
    with server.listen("127.0.0.1", 0) as listener:
        app = create_app(options, folder)
        running = uvicorn.Server(server.configuration(app, options))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not running.started:
                time.sleep(0.005)
            url = server.address(listener)
            with httpx.Client(base_url=url, timeout=60) as http:
                yield Live(url, http, app.state.server, running)
        finally:
            running.should_exit = True
            thread.join(30)
    assert not thread.is_alive()


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until a function returns a true value."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


WORDS = "der die das Hund Katze Kind Vogel läuft singt schläft im am Haus Garten See und".split()  # noqa: SIM905


def book(n_lines: int) -> str:
    """Distinct lines that keep a server busy for a while."""
    draw = random.Random(n_lines)
    return "\n".join(" ".join(draw.choices(WORDS, k=7)) for _ in range(n_lines))
