"""The server under load on loopback, beside `translate text` on a file.

    python scripts/bench.py serve de-en
    python scripts/bench.py serve de-en --source data/test.de --clients 32 --book 10000 --requests 20000

    file      sentences/s of `translate text` on the lines, without the start
    clients   the same lines, one request for each, sent by --clients clients at a time
    book      the same again while one more client sends --book lines in one request
    memory    resident memory of the server during --requests more requests, which should stay flat; every tenth asks
              for the alignment of a translation

File and clients take turns, --rounds times, and the medians count. Processor time, of the file's process without its
start and of the server, tells apart what the machine's other work takes.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path
from statistics import median

from harness import Case, memory_mb, model_facts
from load import SECONDS, Send, Sent, ask, cpu_seconds, send_all, serving
from records import Record, linked, machine_name, model_name

from translate.corpus import grammar
from translate.errors import say
from translate.models import registry
from translate.models.folder import TranslationSpec

N_MEMORY = 10  # measurements of the memory
N_ALIGNED = 10  # one of so many requests of the memory test asks for an alignment


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", type=Path, help="name or folder of a model")
    parser.add_argument("--source", type=Path, help="sentences, one per line (default: German ones, generated)")
    parser.add_argument("--lines", type=int, default=1000, help="number of sentences (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=32, help="clients at a time (default: %(default)s)")
    parser.add_argument("--book", type=int, default=10_000, help="lines of the long request (default: %(default)s)")
    parser.add_argument("--requests", type=int, default=20_000, help="of the memory test (default: %(default)s)")
    parser.add_argument("--batch-tokens", type=int, default=512, help="of the server (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of file and clients (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: one per core)")


def run(args: argparse.Namespace) -> Record:
    """Measure file and clients in turns, then clients beside a book, then the memory."""
    folder = registry.locate(args.model, say)
    lines = read(args.source, args.lines) if args.source else generated(args.lines)
    book = list(islice(cycle(lines), args.book))
    threads = ["--threads", str(args.threads)] if args.threads else []
    files: list[tuple[float, float]] = []
    rounds: list[tuple[Sent, float]] = []
    with serving([folder], args.clients, ["--batch-tokens", str(args.batch_tokens), *threads]) as (process, port):
        translate, align = requests_of(TranslationSpec.load(folder))
        send = partial(send_all, port, n_clients=args.clients)
        send(lines[: args.clients], send=translate)  # the model is loaded and every client has had an answer
        start_cpu = file_speed(folder, lines[:1], threads)[1]
        for _ in range(args.rounds):
            files.append(file_speed(folder, lines, threads))
            before = cpu_seconds(process.pid)
            rounds.append((send(lines, send=translate), cpu_seconds(process.pid) - before))
        busy = send_beside(port, book, lines, args.clients, translate)
        memory = [memory_mb(process.pid)]
        for part in parts(lines, args.requests):
            n_aligned = max(1, len(part) // N_ALIGNED)
            sent = [send(part[n_aligned:], send=translate), send(part[:n_aligned], send=align)]
            if errors := [error for of in sent for error in of.errors]:
                raise SystemExit(f"a request of the memory test failed: {errors[0]}")
            memory.append(memory_mb(process.pid))
    alone = sorted((sent for sent, _ in rounds), key=lambda sent: sent.per_second)[args.rounds // 2]
    ratios = (sent.per_second / rate for (sent, _), (rate, _) in zip(rounds, files, strict=True))
    return {
        **model_facts(args.model),
        "model": args.model.name,
        "lines": len(lines),
        "rounds": args.rounds,
        "file_per_second": round(median(rate for rate, _ in files), 1),
        "file_cpu_ms": round(1000 * (median(cpu for _, cpu in files) - start_cpu) / len(lines), 1),
        "clients": {"n": args.clients, **alone.figures()},
        "clients_cpu_ms": round(1000 * median(cpu for _, cpu in rounds) / len(lines), 1),
        "ratio_to_file": round(median(ratios), 2),
        "clients_beside_book": {"book_lines": len(book), **busy.figures()},
        "ratio_of_p95": round(busy.quantile(0.95) / alone.quantile(0.95), 2),
        "memory_mb": memory,
        "memory_requests": args.requests,
    }


def requests_of(spec: TranslationSpec) -> tuple[Send, Send]:
    """Return what sends a line to be translated, and what sends one to be aligned with itself."""
    languages = {"source": spec.source, "target": spec.target}

    def translate(connection: HTTPConnection, line: str) -> object:
        return ask(connection, "/translate", "translatedText", q=line, **languages)

    def align(connection: HTTPConnection, line: str) -> object:
        return ask(connection, "/alignment", "weights", q=line, translation=line, **languages)

    return translate, align


def send_beside(port: int, book: list[str], lines: Sequence[str], n_clients: int, translate: Send) -> Sent:
    """Send lines while another client sends a book; return the requests of the lines."""
    done, problems = threading.Event(), list[str]()

    def send_book() -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        try:
            translate(connection, book)  # type: ignore[arg-type]
        except (OSError, ValueError) as error:
            problems.append(repr(error))
        connection.close()
        done.set()

    thread = threading.Thread(target=send_book)
    thread.start()
    sent = send_all(port, lines, n_clients, translate, done)
    thread.join()
    sent.errors += problems
    return sent


def parts(lines: Sequence[str], n_requests: int) -> Iterator[list[str]]:
    """Yield N_MEMORY parts of the lines of this many requests."""
    waiting = cycle(lines)
    for _ in range(N_MEMORY):
        yield list(islice(waiting, max(2, n_requests // N_MEMORY)))


def file_speed(folder: Path, lines: Sequence[str], threads: Sequence[str]) -> tuple[float, float]:
    """Return the sentences per second that `translate text` reports for a file, and its seconds of processor time."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "lines.txt"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        command = [sys.executable, "-m", "translate", "text", "--model", str(folder), "--input", str(file)]
        before = os.times()
        done = subprocess.run(
            [*command, "--output", f"{place}/out.txt", *threads], check=True, capture_output=True, text=True
        )
        after = os.times()
    found = re.search(r"in ([\d,.]+) s", done.stderr)
    assert found is not None
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return len(lines) / max(0.05, float(found[1].replace(",", ""))), cpu


def read(path: Path, n: int) -> list[str]:
    """Return the first lines of a file that are not blank."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()][:n]


def generated(n: int) -> list[str]:
    """Return German sentences of the built-in grammar."""
    return [german for german, _ in grammar.generate("test", n, seed=0)]


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield the row of a record."""
    clients, beside, memory = record["clients"], record["clients_beside_book"], record["memory_mb"]
    yield {
        "model": linked(model_name(record), record),
        "reranked": "yes" if record.get("reranked") else "no",
        "machine": machine_name(record),
        "clients": str(clients["n"]),
        "sentences/s": f"{clients['per_second']:.0f}",
        "of `translate text`": f"{record['ratio_to_file']:.0%}",
        "p50, p95": f"{clients['p50_ms']}, {clients['p95_ms']} ms",
        "p95 beside a book": f"{beside['p95_ms']} ms",
        "errors": str(clients["errors"] + beside["errors"]),
        "memory": f"{min(memory):.0f} to {max(memory):.0f} MB over {record['memory_requests']:,} requests",
    }


def summary(record: Record) -> tuple[str, str]:
    """Return the rate of the clients."""
    clients = record["clients"]
    return "`translate serve`", f"{clients['per_second']:.0f} sentences/s for {clients['n']} clients"


CASE = Case("Server", options, run, rows, summary=summary)
