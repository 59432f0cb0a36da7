"""How large a server must be: memory and sentences/s by threads, with and without alignments.

    python scripts/bench.py sizing --out scripts/results/sizing.json
    python scripts/bench.py sizing --lines 64 --clients 8

    load     a new server for each number of threads, with and without alignments. --clients clients send one German
             sentence per request; with alignments, each then asks for the alignment of its sentence, as if somebody
             pointed at a word of every sentence. Sentences/s, the median time of a sentence, and the peak of the
             resident memory of the server and its child processes.
    memory   one server with the defaults: resident memory before the first request, and after each of: a translation
             from German, one from English, an alignment of each.

`python scripts/results.py` makes the tables of docs/serve.md from the record.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

from harness import Case, memory_mb, peak_mb_of_tree
from load import SECONDS, ask, send_all, serving
from records import Record

from cases.serve import generated
from translate.errors import say
from translate.models import registry

MODELS = ("de-en", "en-de")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--server-threads", type=int, nargs="+", default=[1, 2], help="CPU threads (default: 1 2)")
    parser.add_argument("--lines", type=int, default=1000, help="sentences of a measurement (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=32, help="clients at a time (default: %(default)s)")


def run(args: argparse.Namespace) -> Record:
    """Measure a new server for each number of threads, with and without alignments."""
    folders = [registry.locate(Path(name), say) for name in MODELS]
    lines, load = generated(args.lines), []
    for n_threads, alignment in itertools.product(args.server_threads, (False, True)):
        options = ["--threads", str(n_threads), *([] if alignment else ["--no-alignment"])]
        with serving(folders, args.clients, options) as (process, port):
            send = partial(send_all, port, n_clients=args.clients, send=partial(send_one, alignment))
            send(lines[: args.clients])  # the models are loaded
            sent = send(lines)
            if sent.errors:
                raise SystemExit(f"sizing: {len(sent.errors)} requests failed: {sent.errors[0]}")
            figures = {"per_second": round(sent.per_second, 1), "p50_ms": round(1000 * sent.quantile(0.5))}
            load.append(
                {"threads": n_threads, "alignment": alignment, **figures, "peak_mb": peak_mb_of_tree(process.pid)}
            )
        print(load[-1], file=sys.stderr)
    return {"lines": len(lines), "clients": args.clients, "load": load, "memory": memory(folders)}


def send_one(alignment: bool, connection: HTTPConnection, line: str) -> None:
    """Send one sentence; with alignments its duration includes that of its own."""
    languages = {"source": "de", "target": "en"}
    translation = ask(connection, "/translate", "translatedText", q=line, **languages)
    if alignment:
        ask(connection, "/alignment", "weights", q=line, translation=translation, **languages)


def memory(folders: Sequence[Path]) -> dict[str, int]:
    """Return the resident memory in MB of a server with two models after each step of its use."""
    with serving(folders, 1, []) as (process, port):
        connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        connection.request("GET", "/health")
        connection.getresponse().read()
        found = {"started, no model loaded": memory_mb(process.pid)}
        pairs = {"de": ("Guten Morgen", "Good morning"), "en": ("Good morning", "Guten Morgen")}
        for path, key, step in (
            ("/translate", "translatedText", "`{}` in use"),
            ("/alignment", "weights", "and alignments of `{}`"),
        ):
            for source, target in (("de", "en"), ("en", "de")):
                q, translation = pairs[source]
                more = {"translation": translation} if path == "/alignment" else {}
                ask(connection, path, key, q=q, source=source, target=target, **more)
                found[step.format(f"{source}-{target}")] = memory_mb(process.pid)
        connection.close()
        return {**found, "peak": peak_mb_of_tree(process.pid)}


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield the load by threads; the memory has a table of its own, in docs/serve.md."""
    for row in record["load"]:
        yield {
            "threads": str(row["threads"]),
            "alignments": "of every sentence" if row["alignment"] else "`--no-alignment`",
            "sentences/s": f"{row['per_second']:.0f}",
            "median": f"{row['p50_ms']} ms",
            "peak memory": f"{row['peak_mb']} MB",
        }


CASE = Case("Size of a machine", options, run, rows, kind="sizing")
