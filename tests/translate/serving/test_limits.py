"""What a client sends costs no more than its limits allow; the server stays reachable and ends when it is told to."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote, quote_plus, urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.serving.live import Live, live, until, workers
from translate.inference import pipeline
from translate.inference.translator import Translator
from translate.serving import files, limits, schemas
from translate.serving.access import KeyStore, Rates, RefusedError
from translate.serving.engines import ModelPool, ModelUnavailableError
from translate.serving.files import FileStore
from translate.serving.schemas import TranslateRequest
from translate.serving.settings import ServeOptions
from translate.text.glossary import Glossary

GERMAN = "der Hund schläft im Haus."
SENTENCES = " ".join(f"der Hund schläft im Haus {n}." for n in range(30))
LARGE = {"q": GERMAN * 1000, "source": "de", "target": "de"}
FORM = "application/x-www-form-urlencoded"


@contextlib.contextmanager
def logged() -> Iterator[list[logging.LogRecord]]:
    """Yield the records of the server, which grow until the block ends."""
    logger, kept = logging.getLogger("translate.serving"), BufferingHandler(10_000)
    logger.addHandler(kept)
    try:
        yield kept.buffer
    finally:
        logger.removeHandler(kept)


@contextlib.contextmanager
def held(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> Iterator[tuple[threading.Event, list[int]]]:
    """Let calls of a function wait until the block ends; yield an event that the first one sets, and all calls."""
    begun, go_on, calls, function = threading.Event(), threading.Event(), list[int](), getattr(owner, name)

    def waiting(*arguments: object, **options: object) -> object:
        calls.append(1)
        begun.set()
        assert go_on.wait(60)
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, waiting)
    try:
        yield begun, calls
    finally:
        go_on.set()


@contextlib.contextmanager
def time_over_at(event: threading.Event) -> Iterator[None]:
    """Let the time of requests be over when an event is set, however fast this machine is."""

    async def wait(futures: set[asyncio.Future[Any]], **_: object) -> None:
        while not event.is_set() and not any(future.done() for future in futures):
            await asyncio.sleep(0.005)

    with mock.patch.object(asyncio, "wait", wait):
        yield


def head(length: int, *lines: str, path: str = "/translate", kind: str = "application/json") -> bytes:
    """The head of a request whose body is not sent yet."""
    first = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}", f"Content-Length: {length}"]
    return "\r\n".join([*first, *lines, "", ""]).encode()


def status_of(server: Live, sent: bytes) -> int:
    """The status of the answer to bytes after which the client waits."""
    with server.connect() as connection:
        connection.sendall(sent)
        return int(connection.recv(1000).split()[1])


# Work after its end


@pytest.mark.parametrize("alternatives", [0, 2])
@pytest.mark.parametrize("text", [SENTENCES, SENTENCES.replace(". ", ".\n"), SENTENCES.replace(". ", ".\n\n")])
def test_work_ends_at_the_next_sentence_after_its_time_or_its_client_is_gone(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, alternatives: int
) -> None:
    """A check may take long, and it was made for each of the other sentences too."""
    with (
        live(options, tmp_path) as server,
        held(monkeypatch, pipeline, "missing") as (begun, calls),
        time_over_at(begun),
    ):
        assert server.translate(text, alternatives=alternatives).status_code == 504
        assert begun.is_set()
        n_begun = len(calls)
        monkeypatch.undo()
        after = list[int]()
        find = pipeline.missing
        monkeypatch.setattr(pipeline, "missing", lambda *given: (after.append(1), find(*given))[1])
    until(lambda: not server.state.requests.n_active)
    assert n_begun <= 16  # the threads for alternatives
    assert after == []


BUSY = """
import time
from translate.inference import pipeline

def endless(*_):
    open({mark!r}, "w").close()
    while True:
        time.sleep(0)

pipeline.missing = endless
"""


@pytest.mark.parametrize(("number", "n_workers"), [(signal.SIGTERM, 1), (signal.SIGHUP, 2)])
def test_a_signal_ends_a_server_whose_thread_is_busy(
    options: ServeOptions, tmp_path: Path, number: signal.Signals, n_workers: int
) -> None:
    """It waited for the thread for ever."""
    mark, temporary = tmp_path / "begun", tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "sitecustomize.py").write_text(BUSY.format(mark=str(mark)), encoding="utf-8")
    assert options.model
    command = [sys.executable, "-m", "translate", "serve", "--port", "0", "--workers", str(n_workers), "--grace", "1"]
    root = Path(__file__).parents[3]
    paths = os.pathsep.join(map(str, (tmp_path, root)))
    environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [*command, "--model", str(options.model[0])],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        url = next(word for word in process.stderr.readline().split() if word.startswith("http")).rstrip(";")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        with ThreadPoolExecutor(1) as pool:
            body = {"q": GERMAN, "source": "de", "target": "en"}
            answer = pool.submit(lambda: httpx.post(f"{url}/translate", json=body, timeout=60, verify=False))
            until(mark.exists, 60)
            served = workers(process.pid)
            process.send_signal(number)
            assert process.wait(60) == 0
            assert not {*served}.intersection(workers(None))
            with contextlib.suppress(httpx.HTTPError):
                assert answer.result().status_code == 503
    assert list(temporary.glob("translate-serve-*")) == []


def test_nohup_keeps_workers_running(options: ServeOptions) -> None:
    """uvicorn would replace them."""
    from translate.serving.server import Workers, configuration

    before = [signal.getsignal(number) for number in range(1, 25) if number not in (signal.SIGKILL, signal.SIGSTOP)]
    numbers = [number for number in range(1, 25) if number not in (signal.SIGKILL, signal.SIGSTOP)]
    try:
        for handler, stops in ((signal.SIG_IGN, False), (signal.SIG_DFL, True)):
            signal.signal(signal.SIGHUP, handler)
            workers = Workers(configuration("none", options), sockets=[])
            workers.handle_hup()
            assert workers.should_exit.is_set() == stops
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


# Admission before the body is read


def test_a_request_over_its_limit_is_refused_before_its_body_arrives(options: ServeOptions, tmp_path: Path) -> None:
    with live(replace(options, requests=1), tmp_path) as server:
        assert server.translate(GERMAN).status_code == 200
        for kind in ("application/json", FORM, "multipart/form-data; boundary=b"):
            assert status_of(server, head(10**6, kind=kind)) == 429


def test_a_key_outside_of_the_body_admits_or_refuses_before_it_arrives(options: ServeOptions, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    good, used = store.add("good"), store.add("used", requests_per_minute=0)
    limits = replace(options, keys=store.path, requests=2)
    with live(limits, tmp_path) as server:
        wrong = "Authorization: Bearer wrong"
        assert status_of(server, head(10**6, wrong)) == 403
        assert status_of(server, head(10**6, path="/translate?api_key=wrong")) == 403
        assert status_of(server, head(10**6, wrong)) == 429
        assert status_of(server, head(10**6)) == 429  # a large body without a key, of an address without requests left
        for key in (good, used):
            answer = server.http.post("/translate", json=LARGE, headers={"Authorization": f"Bearer {key}"})
            assert answer.status_code == 200
            assert server.http.post(f"/translate?api_key={key}", json=LARGE).status_code in (200, 429)
            assert (
                server.translate(GERMAN, api_key=used).status_code == 200
            )  # small, so a key is looked for in the body


def test_a_request_without_a_place_in_the_queue_is_refused_before_its_body_arrives(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        live(replace(options, queue=1), tmp_path) as server,
        ThreadPoolExecutor(1) as pool,
        held(monkeypatch, pipeline, "missing") as (begun, _),
    ):
        first = pool.submit(server.translate, GERMAN)
        assert begun.wait(60)
        for path in ("/translate", "/detect", "/alignment", "/translate_file"):
            assert status_of(server, head(10**6, path=path)) == 503
        monkeypatch.undo()
    assert first.result().status_code == 200


@pytest.mark.parametrize("kind", ["json", "form", "multipart"])
def test_others_are_served_while_a_large_body_is_read(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    text = " ".join([GERMAN] * 1000)
    fields = {"q": text, "source": "de", "target": "de"}
    how = {"json": {"json": fields}, "form": {"data": fields}, "multipart": {"data": fields, "files": {"x": b"x"}}}
    with (
        live(options, tmp_path) as server,
        ThreadPoolExecutor(2) as pool,
        held(monkeypatch, schemas, "read_body") as (begun, calls),
    ):
        answers = [pool.submit(lambda: server.http.post("/translate", **how[kind])) for _ in range(2)]  # type: ignore[arg-type]
        assert begun.wait(60)
        assert server.http.get("/health").status_code == 200
        assert len(calls) == 1  # the second waits: each takes many times the size of its body
        monkeypatch.undo()
    assert [answer.result().json()["translatedText"] for answer in answers] == [text, text]


@pytest.mark.parametrize("path", ["/translate", "/detect"])
@pytest.mark.parametrize("text", ["", "a"])
def test_a_list_of_too_many_texts_is_refused_before_the_work(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, text: str
) -> None:
    """Two million empty texts stopped all other requests for two seconds; a million letters took a minute."""
    monkeypatch.setattr(schemas, "MOST_TEXTS", 7)
    with live(options, tmp_path) as server:
        for n, status in ((7, 200), (8, 400)):
            answer = server.http.post(path, json={"q": [text] * n, "source": "de", "target": "de"})
            assert answer.status_code == status
    assert answer.json() == {"error": "Invalid request: q parameter has 8 texts; send at most 7 at a time"}


@pytest.mark.parametrize("path", ["/translate", "/detect"])
def test_a_text_of_too_many_lines_is_refused_before_the_work(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A million empty lines stopped all other requests for a second, and took their whole time."""
    monkeypatch.setattr(schemas, "MOST_TEXTS", 7)
    with live(options, tmp_path) as server:
        for texts, status in (("a\n" * 7, 200), (["\n" * 3, "\n" * 4], 200), ("\n" * 8, 400), (["\n" * 5] * 2, 400)):
            answer = server.http.post(path, json={"q": texts, "source": "de", "target": "de"})
            assert answer.status_code == status
    assert answer.json() == {"error": "Invalid request: request has 10 lines; send at most 7 at a time"}


FIELDS = st.dictionaries(st.text(max_size=5), st.text(max_size=30), min_size=1, max_size=5)


def read(body: bytes, kind: str, query: bytes = b"") -> dict[str, object]:
    """The parameters that a body has besides those that are required."""
    more = urlencode({"source": "de", "target": "en"}).encode()
    return schemas.read_body(TranslateRequest, body, kind, b"&".join(filter(None, (query, more)))).model_dump()


@given(st.text(min_size=1), st.sampled_from([quote, quote_plus]), st.booleans(), st.sampled_from([3, 5, 2**14]))
def test_a_form_is_read_as_it_was_written(text: str, escaped: Callable[[str], str], in_query: bool, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schemas, "_PIECE", piece)
        check_form(text, escaped, in_query)


def check_form(text: str, escaped: Callable[[str], str], in_query: bool) -> None:
    pair = b"q=" + escaped(text).encode()
    found = read(b"", FORM, pair) if in_query else read(pair, FORM)
    assert found["q"] == text.replace("\r\n", "\n")


@given(st.text(min_size=1), st.text(st.characters(codec="utf-8"), min_size=1), st.binary(max_size=20))
def test_a_multipart_form_is_read_as_it_was_written(q: str, key: str, content: bytes) -> None:
    request = httpx.Request("POST", "http://x", data={"q": q, "api_key": key}, files={"file": ("a", content)})
    found = read(request.read(), request.headers["content-type"])
    assert (found["q"], found["api_key"]) == (q.replace("\r\n", "\n"), key.replace("\r\n", "\n"))


@pytest.mark.parametrize("unit", [b"%41", b"%41a", b"%41ab", b"+", b"%", b"%%41", "ü".encode()])
def test_a_form_takes_little_more_memory_than_its_size(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escapes took a hundred times their size."""
    monkeypatch.setattr(schemas, "_PIECE", 2**11)
    body = b"q=" + unit * (2**16 // len(unit))
    tracemalloc.start()
    try:
        read(body, FORM)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(body)


@pytest.mark.parametrize("kind", ["text/plain", "text/plain; charset=utf-8", "application/xml", "image/png", "x"])
def test_a_body_of_another_type_is_refused(kind: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read(b"q=Hund", kind)
    assert caught.value.status == 415
    assert read(b"q=Hund", "")["q"] == "Hund"
    assert read(b"", kind, b"q=Hund")["q"] == "Hund"


# Glossaries


@pytest.mark.parametrize("terms", [{"Haus|Hauses": "house", "See": "lake"}, "Haus|Hauses\thouse\nSee\tlake"])
def test_a_glossary_counts_as_characters(options: ServeOptions, tmp_path: Path, terms: dict[str, str] | str) -> None:
    n = len(terms) if isinstance(terms, str) else sum(map(len, [*terms, *terms.values()]))
    with live(replace(options, characters=len(GERMAN) + n, minute_characters=10**6), tmp_path) as server:
        assert server.translate(GERMAN, glossary=terms).status_code in (200, 400)  # 400: the model has no symbols
        assert server.translate(GERMAN + "x", glossary=terms).json()["error"].startswith("Invalid request: request (")
        assert server.translate(GERMAN + "x").status_code == 200


def test_a_glossary_is_built_in_the_queue_and_in_time(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        live(replace(options, queue=1), tmp_path) as server,
        ThreadPoolExecutor(1) as pool,
        held(monkeypatch, Glossary, "of") as (begun, _),
        time_over_at(refused := threading.Event()),
    ):
        first = pool.submit(server.translate, GERMAN, glossary={"Haus": "house"})
        assert begun.wait(60)
        assert server.translate(GERMAN).status_code == 503
        refused.set()
        assert first.result().status_code == 504
    until(lambda: not server.state.requests.n_active)


def test_a_glossary_is_built_once(options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = list[object]()
    of, read_lines = Glossary.of, Glossary.read
    monkeypatch.setattr(Glossary, "of", lambda terms: (built.append(terms), of(terms))[1])
    monkeypatch.setattr(Glossary, "read", lambda lines, name: (built.append(lines), read_lines(lines, name))[1])
    with live(options, tmp_path) as server:
        for terms in ({"Haus": "house"}, "Haus\thouse", {"Haus": "home"}) * 3:
            server.translate(GERMAN, glossary=terms)
    assert len(built) == 3


# Counting, connections and files


def test_requests_are_counted_in_memory_while_the_disk_is_full(options: ServeOptions, tmp_path: Path) -> None:
    """Each request was answered with 500."""
    folder = tmp_path / "server"
    with live(replace(options, requests=2), folder) as server, logged() as records:
        folder.rmdir() if folder.is_dir() else None
        folder.touch()  # no folder can be made there any more
        assert [server.translate(GERMAN).status_code for _ in range(3)] == [200, 200, 429]
        assert [record.getMessage() for record in records].count("requests counted in memory") == 1


def test_the_file_of_the_counts_is_tried_again_in_the_next_minute(tmp_path: Path) -> None:
    now, problems = [0.0], list[Exception]()
    place = tmp_path / "folder"
    place.touch()
    rates = Rates(place / "rates", lambda: now[0], problems.append)
    assert [rates.count("a"), rates.count("a"), rates.count("b", 5)] == [1, 2, 5]
    rates.refund("a", 1, rates.minute)
    assert (rates.count("a"), len(problems)) == (2, 1)
    now[0] += 60
    assert (rates.count("a"), len(problems)) == (1, 2)
    place.unlink()
    now[0] += 60
    other = Rates(place / "rates", lambda: now[0])
    assert [rates.count("a"), other.count("a"), len(problems)] == [1, 2, 2]
    rates.close()
    other.close()


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET", head(5)[:-2], head(5), head(5) + b"{"], ids=range(5))
def test_a_connection_that_sends_nothing_is_closed(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(limits, "IDLE_SECONDS", 0.2)
    with live(options, tmp_path) as server, server.connect() as connection:
        connection.sendall(sent)
        until(lambda: is_closed(connection))
        until(lambda: not server.state.requests.n_active)
        monkeypatch.setattr(limits, "IDLE_SECONDS", 30.0)
        assert server.http.get("/health").status_code == 200


def test_a_connection_that_does_not_read_its_answer_is_closed(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDLE_SECONDS", 0.2)
    with live(options, tmp_path) as server, server.connect() as connection:
        asked = b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**12)
        connection.sendall(asked * 1000)
        assert connection.recv(5) == b"HTTP/"  # the server has the connection and answers
        until(lambda: not server.uvicorn.server_state.connections)


def test_a_connection_that_waits_for_its_answer_stays(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDLE_SECONDS", 0.5)
    with live(options, tmp_path) as server, ThreadPoolExecutor(1) as pool:
        with held(monkeypatch, pipeline, "missing") as (begun, _):
            answer = pool.submit(server.translate, GERMAN)
            assert begun.wait(60)
            with server.connect() as other:  # it is closed at its time, and the one that waits is older
                until(lambda: is_closed(other))
        assert answer.result().status_code == 200


def test_idle_connections_give_way_to_new_ones(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "most_connections", lambda: 5)
    with live(options, tmp_path) as server, contextlib.ExitStack() as opened:
        idle = [opened.enter_context(server.connect()) for _ in range(20)]
        for _ in range(3):
            assert httpx.get(f"{server.url}/health", verify=False).status_code == 200
        until(lambda: len(server.uvicorn.server_state.connections) <= 5)
        until(lambda: sum(map(is_closed, idle)) >= 15)


def test_without_idle_connections_a_new_one_is_told_to_come_back(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "most_connections", lambda: 1)
    with (
        live(options, tmp_path) as server,
        ThreadPoolExecutor(1) as pool,
        held(monkeypatch, pipeline, "missing") as (begun, _),
    ):
        first = pool.submit(server.translate, GERMAN)
        assert begun.wait(60)
        answer = httpx.get(f"{server.url}/health", verify=False)
        assert (answer.status_code, answer.json().keys()) == (503, {"error"})
        assert int(answer.headers["Retry-After"]) >= 1
    assert first.result().status_code == 200


@pytest.mark.parametrize("limit", [64, 256, 1024, 10**6, None])
def test_the_number_of_connections_fits_the_limit_of_open_files(
    monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    monkeypatch.setattr(limits, "open_files", lambda: limit)
    most = limits.most_connections()
    assert limits.LEAST <= most <= limits.MOST
    assert limit is None or most == limits.LEAST or most + limits.BURST < limit


def test_a_file_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        path.write_text(content.decode()[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        FileStore(tmp_path).add("a.txt", "en", GERMAN.encode())
    assert os.listdir(tmp_path) == []


def test_a_translated_file_without_room_is_no_error_of_the_server(options: ServeOptions, tmp_path: Path) -> None:
    """It was answered with 500 and a traceback in the log."""
    (tmp_path / "files").touch()  # no folder can be made there any more
    with live(options, tmp_path) as server, logged() as records:
        answer = server.http.post(
            "/translate_file", data={"source": "de", "target": "en"}, files={"file": ("a.txt", GERMAN.encode())}
        )
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == str(files.KEPT_SECONDS)
    assert answer.json()["error"].startswith("The server has no room for the translated file; ")
    assert not any(record.exc_info for record in records)


# Suggestions, proxies and models


SUGGESTION = {"q": "Hund", "s": "dog", "source": "de", "target": "en"}


@pytest.fixture(scope="module")
def suggested(options: ServeOptions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Live, Path]]:
    """A server that takes suggestions, also from one other origin, and the file of them."""
    folder = tmp_path_factory.mktemp("suggestions")
    file = folder / "suggestions"
    with live(replace(options, suggestions=file, cors=["https://allowed.example"]), folder / "server") as server:
        yield server, file


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://{host}"}, 200),
        ({"Origin": "https://{host}"}, 200),  # behind a proxy with TLS
        ({"Origin": "https://{host}", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "https://behind.example", "Sec-Fetch-Site": "same-origin"}, 200),  # a proxy that changes the host
        ({"Origin": "https://allowed.example"}, 200),
        ({"Origin": "https://foreign.example"}, 403),
        ({"Origin": "https://foreign.example", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://{host}:1"}, 403),
        ({"Origin": "http://{host}", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://{host}.foreign.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
    ],
)
@pytest.mark.parametrize("kind", [FORM, "application/json", "text/plain", None])
def test_a_page_of_another_origin_cannot_suggest(
    suggested: tuple[Live, Path], headers: dict[str, str], status: int, kind: str | None
) -> None:
    """A browser sends a form or plain text for any page."""
    server, file = suggested
    file.unlink(missing_ok=True)
    body = json.dumps(SUGGESTION) if kind == "application/json" else urlencode(SUGGESTION)
    host = server.url.removeprefix("http://")
    sent = {name: value.format(host=host) for name, value in headers.items()}
    sent |= {} if kind is None else {"Content-Type": kind}
    answer = server.http.post("/suggest", content=body, headers=sent)
    expected = 415 if kind == "text/plain" and status == 200 else status
    assert answer.status_code == expected
    assert file.exists() == (expected == 200)


def test_suggestions_are_private_to_the_user_of_the_server(options: ServeOptions, tmp_path: Path) -> None:
    file = tmp_path / "suggestions"
    with live(replace(options, suggestions=file), tmp_path / "server") as server:
        assert server.http.post("/suggest", json=SUGGESTION).status_code == 200
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.chmod(0o640)  # chosen by the user
        assert server.http.post("/suggest", json=SUGGESTION).status_code == 200
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert len(file.read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize("proxy", ["*", "10.0.0.0/8, *"])
@pytest.mark.parametrize(
    ("sent", "client"),
    [
        (["203.0.113.5"], "203.0.113.5"),
        (["198.51.100.1, 203.0.113.5"], "203.0.113.5"),
        (["198.51.100.1", "203.0.113.5"], "203.0.113.5"),
        (["198.51.100.1,198.51.100.2", "198.51.100.3, 203.0.113.5:99"], "203.0.113.5"),
        ([""], "127.0.0.1"),
        ([], "127.0.0.1"),
    ],
)
def test_the_address_of_a_client_is_what_its_proxy_says_and_not_the_client(
    options: ServeOptions, tmp_path: Path, proxy: str, sent: list[str], client: str
) -> None:
    with live(replace(options, proxy=proxy, requests=1), tmp_path) as server:
        headers = [("X-Forwarded-For", value) for value in sent]
        body = {"q": GERMAN, "source": "de", "target": "de"}
        assert server.http.post("/translate", json=body, headers=headers).status_code == 200
        assert server.state.rates.count(f"address {client}", 0) == 1


def test_a_model_that_could_not_be_loaded_is_tried_again(translator: Translator, tmp_path: Path) -> None:
    """The reason may have been a lack of memory or of descriptors, and the files are what they were."""
    loaded = list[str]()

    def opened(folder: Path) -> object:
        loaded.append("")
        if len(loaded) == 2:
            raise MemoryError
        return translator.engine

    folder = translator.engine.folder
    for retry_after, n in ((60.0, 2), (0.0, 3)):
        loaded[:] = [""]
        pool = ModelPool([folder], 60.0, opened, retry_after)  # type: ignore[arg-type]
        for _ in range(3):
            with contextlib.suppress(ModelUnavailableError), pool.engine(("de", "en")):
                pass
        assert len(loaded) == n
