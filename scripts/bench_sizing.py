#!/usr/bin/env python3
"""Measure how large a server must be: memory and sentences/s by threads, with and without alignments.

    python scripts/bench_sizing.py --write scripts/results/sizing.json
    python scripts/bench_sizing.py --lines 64 --clients 8

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
import json
import sys
from collections.abc import Sequence
from http.client import HTTPConnection
from pathlib import Path

from bench_serve import SECONDS, Sent, generated, resident_mb, send_all, serving
from contenders import machine, peak_mb

from translate.files import write_json
from translate.models import registry

MODELS = ("de-en", "en-de")


def main() -> int:
    """Measure, and write the record or print it."""
    args = parse_args()
    folders = [registry.locate(Path(name), print) for name in MODELS]
    lines = generated(args.lines)
    load = []
    for n_threads, alignment in itertools.product(args.threads, (False, True)):
        options = ["--threads", str(n_threads), *([] if alignment else ["--no-alignment"])]
        with serving(folders, args.clients, options) as (process, port):
            send(port, lines[: args.clients], args.clients, alignment)  # the models are loaded
            sent = send(port, lines, args.clients, alignment)
            if sent.errors:
                raise SystemExit(f"bench_sizing.py: {len(sent.errors)} requests failed: {sent.errors[0]}")
            figures = {"per_second": round(sent.per_second, 1), "p50_ms": round(1000 * sent.quantile(0.5))}
            load.append({"threads": n_threads, "alignment": alignment, **figures, "peak_mb": peak_of_tree(process.pid)})
        print(load[-1], file=sys.stderr)
    record = {"kind": "sizing", **machine(), "lines": len(lines), "clients": args.clients, "load": load}
    record["memory"] = memory(folders)
    print(record["memory"], file=sys.stderr)
    if args.write:
        write_json(args.write, record)
    else:
        print(json.dumps(record))
    return 0


def send(port: int, lines: Sequence[str], n_clients: int, alignment: bool) -> Sent:
    """Send each line as one request, and return the requests; with alignments the time of each includes its own.

    Args:
        port: of the server.
        lines: German sentences.
        n_clients: number of clients at a time.
        alignment: whether each translation is aligned with its sentence.
    """

    def send_one(connection: HTTPConnection, line: str) -> str | None:
        try:
            translation = ask(connection, "/translate", q=line, source="de", target="en")["translatedText"]
            if alignment:
                ask(connection, "/alignment", q=line, translation=str(translation), source="de", target="en")
        except (OSError, ValueError, KeyError) as error:
            connection.close()
            return repr(error)
        return None

    return send_all(port, lines, n_clients, send_one)


def ask(connection: HTTPConnection, path: str, **body: str) -> dict[str, object]:
    """Return the answer to a request; ValueError if it is refused."""
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer: dict[str, object] = json.loads(response.read())
    if response.status != 200:
        raise ValueError(answer)
    return answer


def memory(folders: Sequence[Path]) -> dict[str, int]:
    """Return the resident memory in MB of a server with two models after each step of its use."""
    with serving(folders, 1, []) as (process, port):
        connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        connection.request("GET", "/health")
        connection.getresponse().read()
        found = {"started, no model loaded": resident_mb(process.pid)}
        pairs = {"de": ("Guten Morgen", "Good morning"), "en": ("Good morning", "Guten Morgen")}
        for path, step in (("/translate", "`{}` in use"), ("/alignment", "and alignments of `{}`")):
            for source, target in (("de", "en"), ("en", "de")):
                q, translation = pairs[source]
                more = {"translation": translation} if path == "/alignment" else {}
                ask(connection, path, q=q, source=source, target=target, **more)
                found[step.format(f"{source}-{target}")] = resident_mb(process.pid)
        connection.close()
        found["peak"] = peak_of_tree(process.pid)
    return {name: round(value) for name, value in found.items()}


def peak_of_tree(pid: int) -> int:
    """Return the sum of the largest resident sets of a process and its descendants that run, in MB."""
    children = [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in read(path).split()]
    return peak_mb(pid) + sum(map(peak_of_tree, children))


def read(path: Path) -> str:
    """Return the text of a file of a process, "" if the process has ended."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def parse_args() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="CPU threads (default: 1 2)")
    parser.add_argument("--lines", type=int, default=1000, help="sentences of a measurement (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=32, help="clients at a time (default: %(default)s)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the record to this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
