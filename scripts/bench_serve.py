#!/usr/bin/env python3
"""Measure the server under load on loopback, beside `translate text` on a file: one JSON record as the last line.

    python scripts/bench_serve.py de-en
    python scripts/bench_serve.py de-en --source data/test.de --clients 32 --book 10000 --requests 20000

    file      sentences/s of `translate text` on the lines, without the start
    clients   the same lines, one request for each, sent by --clients clients at a time
    book      the same again while one more client sends --book lines in one request
    memory    resident memory of the server during --requests more requests, which should stay flat; every tenth asks
              for the alignment of a translation

File and clients take turns, --rounds times, and the medians count. Processor time, of the file's process without its
start and of the server, tells apart what the machine's other work takes.

Clients share the processor with the server, as little as Python allows: each is a thread with one open connection.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path
from statistics import median

from contenders import layers, machine

from translate.corpus import grammar
from translate.models import registry
from translate.models.folder import TranslationSpec

N_MEMORY = 10  # measurements of the memory
N_ALIGNED = 10  # one of so many requests of the memory test asks for an alignment
SECONDS = 600  # for one request


def main() -> int:
    """Measure and print."""
    args = parse_args()
    folder = registry.locate(args.model, print)
    spec = TranslationSpec.load(folder)
    lines = read(args.source, args.lines) if args.source else generated(args.lines)
    book = list(islice(cycle(lines), args.book))
    model = {"model": args.model.name, "layers": layers(folder)}
    record: dict[str, object] = {"kind": "bench_serve", **model, "lines": len(lines), **machine(args.threads)}
    files: list[tuple[float, float]] = []
    rounds: list[tuple[Sent, float]] = []
    options = ["--batch-tokens", str(args.batch_tokens), *common(args)]
    with serving([folder], args.clients, options) as (process, port):
        load = Load(port, spec.source, spec.target)
        load.send(lines[: args.clients], args.clients)  # the model is loaded and every client has had an answer
        start_cpu = file_speed(folder, lines[:1], args)[1]
        for _ in range(args.rounds):
            files.append(file_speed(folder, lines, args))
            before = cpu_seconds(process.pid)
            rounds.append((load.send(lines, args.clients), cpu_seconds(process.pid) - before))
        alone = sorted((sent for sent, _ in rounds), key=lambda sent: sent.per_second)[args.rounds // 2]
        record["rounds"] = args.rounds
        record["file_per_second"] = round(median(rate for rate, _ in files), 1)
        record["file_cpu_ms"] = round(1000 * (median(cpu for _, cpu in files) - start_cpu) / len(lines), 1)
        record["clients"] = {"n": args.clients, **alone.figures()}
        record["clients_cpu_ms"] = round(1000 * median(cpu for _, cpu in rounds) / len(lines), 1)
        ratios = (sent.per_second / rate for (sent, _), (rate, _) in zip(rounds, files, strict=True))
        record["ratio_to_file"] = round(median(ratios), 2)
        busy = load.send_beside(book, lines, args.clients)
        record["clients_beside_book"] = {"book_lines": len(book), **busy.figures()}
        record["ratio_of_p95"] = round(busy.quantile(0.95) / alone.quantile(0.95), 2)
        record["memory_mb"] = load.memory(process.pid, lines, args.clients, args.requests)
        record["memory_requests"] = args.requests
    for name, value in record.items():
        print(f"{name:20} {value}", file=sys.stderr)
    print(json.dumps(record))
    return 0


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


Send = Callable[[HTTPConnection, str], str | None]  # sends what belongs to a line; returns the error, if any


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
            begin = time.perf_counter()
            error = send(connection, line)
            with lock:
                sent.durations.append(time.perf_counter() - begin)
                sent.errors += [error] if error else []
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent.seconds = time.perf_counter() - start
    return sent


@dataclass(frozen=True)
class Load:
    """Clients of one server.

    Attributes:
        port: of the server.
        source, target: languages.
    """

    port: int
    source: str
    target: str

    def send(
        self, lines: Sequence[str], n_clients: int, stop: threading.Event | None = None, *, aligned: bool = False
    ) -> Sent:
        """Send each line as one request; see `send_all`.

        Args:
            lines, n_clients, stop: see `send_all`.
            aligned: ask for the alignment of each line with itself instead of its translation.
        """
        return send_all(self.port, lines, n_clients, self._align if aligned else self._post, stop)

    def send_beside(self, book: list[str], lines: Sequence[str], n_clients: int) -> Sent:
        """Send lines while another client sends a book; return the requests of the lines."""
        done = threading.Event()
        problems: list[str] = []

        def send_book() -> None:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
            error = self._post(connection, book)
            problems.extend([error] if error else [])
            connection.close()
            done.set()

        thread = threading.Thread(target=send_book)
        thread.start()
        sent = self.send(lines, n_clients, done)
        thread.join()
        sent.errors += problems
        return sent

    def memory(self, pid: int, lines: Sequence[str], n_clients: int, n_requests: int) -> list[float]:
        """Send requests and return the resident memory of the server during them, in MB.

        Every tenth request asks for the alignment of a line with itself.
        """
        measured = [resident_mb(pid)]
        waiting = cycle(lines)
        for _ in range(N_MEMORY):
            part = list(islice(waiting, max(2, n_requests // N_MEMORY)))
            n_aligned = max(1, len(part) // N_ALIGNED)
            sent = [self.send(part[n_aligned:], n_clients), self.send(part[:n_aligned], n_clients, aligned=True)]
            if errors := [error for of in sent for error in of.errors]:
                raise SystemExit(f"a request of the memory test failed: {errors[0]}")
            measured.append(resident_mb(pid))
        return measured

    def _post(self, connection: HTTPConnection, q: str | list[str]) -> str | None:
        """Send one request; return the error, if any."""
        return self._ask(connection, "/translate", {"q": q}, "translatedText")

    def _align(self, connection: HTTPConnection, line: str) -> str | None:
        """Ask for the alignment of a line with itself; return the error, if any."""
        return self._ask(connection, "/alignment", {"q": line, "translation": line}, "weights")

    def _ask(self, connection: HTTPConnection, path: str, body: dict[str, object], key: str) -> str | None:
        """Send one request; return the error, if any.

        Args:
            connection: to the server.
            path: of the request.
            body: of the request, without languages.
            key: of the answer that must not be empty.
        """
        languages = {"source": self.source, "target": self.target}
        try:
            connection.request("POST", path, json.dumps(body | languages), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, ValueError) as error:
            connection.close()
            return repr(error)
        return None if response.status == 200 and answer[key] else str(answer)


def file_speed(folder: Path, lines: Sequence[str], args: argparse.Namespace) -> tuple[float, float]:
    """Return the sentences per second that `translate text` reports for a file, and its seconds of processor time."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "lines.txt"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        command = [sys.executable, "-m", "translate", "text", "--model", str(folder), "--input", str(file)]
        command += ["--output", f"{place}/out.txt", *common(args)]
        before = os.times()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        after = os.times()
    found = re.search(r"in ([\d,.]+) s", done.stderr)
    assert found is not None
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return len(lines) / max(0.05, float(found[1].replace(",", ""))), cpu


def common(args: argparse.Namespace) -> list[str]:
    """Return the options that `translate text` and `translate serve` share."""
    return ["--threads", str(args.threads)] if args.threads else []


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


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s*(\d+) kB", status)
    assert found is not None
    return round(int(found[1]) / 1024, 1)


def read(path: Path, n: int) -> list[str]:
    """Return the first lines of a file that are not blank."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()][:n]


def generated(n: int) -> list[str]:
    """Return German sentences of the built-in grammar."""
    return [german for german, _ in grammar.generate("test", n, seed=0)]


def parse_args() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="name or folder of a model")
    parser.add_argument("--source", type=Path, help="sentences, one per line (default: German ones, generated)")
    parser.add_argument("--lines", type=int, default=1000, help="number of sentences (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=32, help="clients at a time (default: %(default)s)")
    parser.add_argument("--book", type=int, default=10_000, help="lines of the long request (default: %(default)s)")
    parser.add_argument(
        "--requests", type=int, default=20_000, help="requests of the memory test (default: %(default)s)"
    )
    parser.add_argument("--batch-tokens", type=int, default=512, help="of the server (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of file and clients (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: one per core)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
