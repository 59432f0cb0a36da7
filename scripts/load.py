"""Load on a server: `translate serve` on a free port, and clients that send requests at the same time.

Clients share the processor with the server, as little as Python allows: each is a thread with one open connection.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path

SECONDS = 600  # for one request


@dataclass
class Sent:
    """Answered requests: their durations, their errors, and the time of all."""

    seconds: float = 0.0
    durations: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Requests per second."""
        return len(self.durations) / self.seconds

    def quantile(self, share: float) -> float:
        """Return the duration that this share of the requests did not exceed, in seconds."""
        return sorted(self.durations)[min(len(self.durations) - 1, int(share * len(self.durations)))]

    def figures(self) -> dict[str, object]:
        """Return the figures for the record."""
        milliseconds = {f"p{p}_ms": round(1000 * self.quantile(p / 100)) for p in (50, 95, 99)}
        return {"per_second": round(self.per_second, 1), **milliseconds, "errors": len(self.errors)}


Send = Callable[[HTTPConnection, str], object]  # sends what belongs to a line; OSError or ValueError if that fails


def send_all(port: int, lines: Sequence[str], n_clients: int, send: Send, stop: threading.Event | None = None) -> Sent:
    """Send each line to a server, and return the requests.

    Args:
        port: of the server.
        lines: the texts.
        n_clients: number of clients at a time; each has one connection.
        send: called for each line; its duration is measured.
        stop: if given, the lines are sent again and again until it is set.
    """
    sent, waiting, start = Sent(), iter(cycle(lines) if stop else lines), time.perf_counter()
    lock = threading.Lock()

    def client() -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        while stop is None or not stop.is_set():
            with lock:
                line = next(waiting, None)
            if line is None:
                break
            begin, errors = time.perf_counter(), list[str]()
            try:
                send(connection, line)
            except (OSError, ValueError) as error:
                connection.close()
                errors.append(repr(error))
            with lock:
                sent.durations.append(time.perf_counter() - begin)
                sent.errors += errors
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent.seconds = time.perf_counter() - start
    return sent


def ask(connection: HTTPConnection, path: str, key: str, **body: object) -> object:
    """Return one part of the answer to a request; ValueError if it is refused, or if that part is empty.

    Args:
        connection: to the server.
        path: of the request.
        key: of the part.
        body: of the request.
    """
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    if response.status != 200 or not answer[key]:
        raise ValueError(answer)
    return answer[key]


@contextmanager
def serving(
    folders: Sequence[Path], n_clients: int, options: Sequence[str]
) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Start a server on a free port, and stop it at the end; yield its process and port.

    Args:
        folders: the models.
        n_clients: number of clients at a time, none of which is refused.
        options: more of `translate serve`.
    """
    command = [sys.executable, "-m", "translate", "serve", "--port", "0", "--timeout", str(SECONDS)]
    command += [word for folder in folders for word in ("--model", str(folder))]
    command += ["--queue", str(2 * n_clients + 2), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = re.search(r":(\d+);", process.stderr.readline())
        assert url is not None
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield process, int(url[1])
        finally:
            process.terminate()


def cpu_seconds(pid: int) -> float:
    """Return the seconds of processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
