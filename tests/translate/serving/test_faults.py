"""Bad requests and lost files get a clear status, and the server keeps running."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi.exceptions import RequestValidationError

from tests import forks
from tests.translate.conftest import random_model
from tests.translate.serving.live import Live, book, live, until, workers
from translate.exchange.ctranslate2_folder import export
from translate.inference.translator import Translator
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder
from translate.serving import app, limits
from translate.serving.access import KeyStore
from translate.serving.app import _tidy
from translate.serving.observing import set_up_log
from translate.serving.service import Threads
from translate.serving.settings import ServeOptions
from translate.text.glossary import Glossary

GERMAN = "der Hund schläft im Haus."
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BOUNDARY = {"Content-Type": "multipart/form-data; boundary=b"}
LONG = 2000  # lines of a request that takes seconds


@pytest.fixture(scope="module")
def server(options: ServeOptions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(options, tmp_path_factory.mktemp("server")) as running:
        yield running
        assert running.translate(GERMAN).status_code == 200


def message(body: bytes) -> bytes:
    """The bytes of an HTTP request."""
    head = (
        f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


def multipart(**fields: bytes) -> bytes:
    """The body of a form whose boundary is that of BOUNDARY."""
    parts = (
        b'--b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % (n.encode(), v) for n, v in fields.items()
    )
    return b"".join([*parts, b"--b--\r\n"])


def request(q: str) -> bytes:
    return json.dumps({"q": q, "source": "de", "target": "en"}).encode()


def test_work_for_a_disconnected_client_is_stopped(server: Live) -> None:
    with server.connect() as connection:
        connection.sendall(message(request(book(LONG))))
        until(lambda: server.state.service.scheduler.n_waiting)
    until(lambda: not server.state.requests.n_active)
    assert server.state.service.scheduler.n_waiting == 0
    assert server.translate(GERMAN).status_code == 200


def test_a_short_request_does_not_wait_behind_a_book(server: Live) -> None:
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(server.translate, book(LONG // 5))
        until(lambda: server.state.service.scheduler.n_waiting)
        assert server.translate("das Kind singt am See.").status_code == 200
        assert not long.done()
        assert len(long.result().json()["translatedText"].split("\n")) == LONG // 5


@pytest.mark.parametrize("counted", [True, False])
def test_a_body_of_100_mb_is_refused(server: Live, counted: bool) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield bytes(10**6)

    length = {"Content-Length": str(10**8)} if counted else {}
    answer = server.http.post("/translate", content=parts(), headers=JSON | length)
    assert (answer.status_code, answer.json().keys()) == (413, {"error"})
    assert server.state.requests.n_active == 0
    until(lambda: 'route="/translate",status="413"' in server.http.get("/metrics").text)


def test_bytes_that_are_not_utf8_are_refused(server: Live) -> None:
    bad = "der Müll".encode("latin-1")
    for content, headers in (
        (b'{"q": "' + bad + b'", "source": "de", "target": "en"}', JSON),
        (b"q=" + bad + b"&source=de&target=en", FORM),
        (b"q=%ff&source=de&target=en", FORM),
        (multipart(q=bad, source=b"de", target=b"en"), BOUNDARY),
    ):
        answer = server.http.post("/translate", content=content, headers=headers)
        assert (answer.status_code, answer.json().keys()) == (400, {"error"})
    answer = upload(server, "a.txt", b"gut\n" + bad)
    assert (answer.status_code, "line 2" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize("more", ["", ";", "; charset=utf-8", "; charset=utf-16"])
def test_a_multipart_form_is_read_as_utf8(server: Live, more: str, translator: Translator) -> None:
    headers = {"Content-Type": BOUNDARY["Content-Type"] + more}
    content = multipart(q=GERMAN.encode(), source=b"de", target=b"en")
    answer = server.http.post("/translate", content=content, headers=headers)
    assert answer.json() == {"translatedText": translator(GERMAN)}


def test_damaged_bodies_are_refused(server: Live) -> None:
    for content, headers in (
        (b"[" * 100_000, JSON),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, JSON),
        (b'{"q": ' + b"9" * 10_000 + b"}", JSON),
        (b"[]", JSON),
        (b"", JSON),
        (b"null", JSON),
        (b"&".join(b"a%d=1" % i for i in range(1000)), FORM),
        (b"--b\r\nno head", BOUNDARY),
        (b"x" * 1000, BOUNDARY),
        (b"", {"Content-Type": "multipart/form-data"}),
    ):
        answer = server.http.post("/translate", content=content, headers=headers)
        assert (answer.status_code, answer.json().keys()) == (400, {"error"}), content[:20]


@pytest.mark.parametrize(
    "wrong", [lambda n: {"q": [3] * n}, lambda n: {"q": GERMAN, "glossary": dict.fromkeys(map(str, range(n)), 3)}]
)
def test_a_wrong_body_costs_no_more_for_having_many_mistakes(
    server: Live, monkeypatch: pytest.MonkeyPatch, wrong: Callable[[int], dict[str, object]]
) -> None:
    answers, n_described = list[str](), list[int]()
    described = RequestValidationError.__init__

    def noted(self: RequestValidationError, errors: Sequence[Any]) -> None:
        n_described.append(len(errors))
        described(self, errors)

    monkeypatch.setattr(RequestValidationError, "__init__", noted)
    for n in (3, 700):
        answer = server.http.post("/translate", json={"source": "de", "target": "en", **wrong(n)})
        assert answer.status_code == 400
        answers.append(answer.json()["error"])
    assert answers[0] == answers[1]
    assert n_described[:1] == n_described[1:]


def test_others_are_served_while_a_glossary_is_read(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, served, read = threading.Event(), threading.Event(), Glossary.read

    def slow(lines: list[str], name: str) -> Glossary:
        reading.set()
        assert served.wait(60)
        return read(lines, name)

    monkeypatch.setattr(Glossary, "read", slow)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.translate, GERMAN, glossary="no term")
        assert reading.wait(60)
        assert server.http.get("/health").status_code == 200
        served.set()
        assert (answer.result().status_code, "line 1" in answer.result().json()["error"]) == (400, True)


def test_a_message_that_is_not_http_is_refused(server: Live) -> None:
    with server.connect() as connection:
        connection.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 400")


def upload(server: Live, name: str, content: bytes, **more: str) -> httpx.Response:
    data = {"source": "de", "target": "en"} | more
    return server.http.post("/translate_file", files={"file": (name, content)}, data=data)


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/rates.sqlite", "/etc/passwd", "a%00b", "x" * 300, "."],
)
def test_names_of_files_do_not_lead_out_of_the_folder(server: Live, name: str) -> None:
    with server.connect() as connection:
        connection.sendall(f"GET /download_file/{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404"))
    assert b"root:" not in answer


@pytest.mark.parametrize(
    "name",
    [
        "../../../evil.txt",
        "..\\evil.txt",
        "/tmp/evil.txt",
        "evil\r\nX-Bad: 1.txt",
        "....txt",
        "übel.txt",
        "中" * 75 + ".txt",
    ],
)
def test_an_uploaded_name_is_harmless(server: Live, name: str) -> None:
    answer = upload(server, name, GERMAN.encode())
    assert answer.status_code == 200
    stored = answer.json()["translatedFileUrl"].rpartition("/download_file/")[2]
    assert "/" not in stored
    found = server.http.get(answer.json()["translatedFileUrl"])
    assert (found.status_code, "x-bad" in found.headers) == (200, False)


def test_a_file_whose_name_is_too_long_for_the_disk_is_not_found(server: Live) -> None:
    upload(server, "a.txt", GERMAN.encode())  # makes the folder
    for letter in "aä":
        assert server.http.get(f"/download_file/{'0' * 32}.{letter * 200}").status_code == 404


def test_a_file_must_have_a_known_format_and_size(options: ServeOptions, tmp_path: Path) -> None:
    with live(replace(options, file_size=1000), tmp_path) as server:
        for name, content, status in (
            ("a.pdf", b"x", 400),
            ("a", b"x", 400),
            ("a.txt", b"", 400),
            ("a.txt", b"x" * 1001, 413),
        ):
            answer = upload(server, name, content)
            assert (answer.status_code, answer.json().keys()) == (status, {"error"})
        answer = server.http.post("/translate_file", data={"source": "de", "target": "en"})
        assert answer.json() == {"error": "Invalid request: missing file parameter"}
        text = {"file": "letter.txt", "source": "de", "target": "en"}  # curl without the @
        for answer in (server.http.post("/translate_file", data=text), server.http.post("/translate_file", json=text)):
            assert (answer.status_code, "-F file=@letter.txt" in answer.json()["error"]) == (400, True)


def test_a_byte_order_mark_stays_and_does_not_hide_front_matter(server: Live, translator: Translator) -> None:
    page = f"---\nlayout: {GERMAN}\n---\n\n{GERMAN}\n"
    for encoding in ("utf-8", "utf-8-sig"):
        answer = upload(server, "page.markdown", page.encode(encoding))
        translated = page.replace(f"\n{GERMAN}", f"\n{translator(GERMAN)}")
        assert server.http.get(answer.json()["translatedFileUrl"]).content == translated.encode(encoding)


def test_scripts_in_a_page_are_kept_and_never_executed(server: Live, translator: Translator) -> None:
    page = f"<p>{GERMAN}</p>\n<script>alert('der Hund')</script>\n"
    done = server.http.get(upload(server, "page.html", page.encode()).json()["translatedFileUrl"])
    assert done.text == page.replace(GERMAN, translator(GERMAN))
    assert done.headers["content-disposition"].startswith("attachment")
    assert done.headers["content-security-policy"] == "sandbox"
    assert done.headers["x-content-type-options"] == "nosniff"
    answer = server.translate(page, format="html")
    assert answer.headers["content-type"] == "application/json"


def test_wrong_and_revoked_keys_are_refused(
    options: ServeOptions, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    key = store.add("anna", max_characters=30)
    assert key.encode() not in store.path.read_bytes()
    with live(replace(options, keys=store.path, require_key=True), tmp_path) as server:
        assert server.translate(GERMAN, api_key=key).status_code == 200
        assert server.translate(GERMAN + GERMAN, api_key=key).status_code == 400
        for wrong in ("x", key[:-1], "' OR 1=1 --", "\u00fc" * 1000):
            refused = server.translate(GERMAN, api_key=wrong)
            assert (refused.status_code, refused.json()) == (403, {"error": "Invalid API key"})
        for absent in ({}, {"api_key": ""}):
            assert "contact the server operator" in server.translate(GERMAN, **absent).json()["error"]
        assert server.translate(GERMAN, api_key=1).status_code == 400
        store.revoke("anna")
        assert server.translate(GERMAN, api_key=key).status_code == 403
        store.path.write_bytes(b"damaged")
        set_up_log()
        assert server.translate(GERMAN, api_key=key).status_code == 500
    log = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert "keys.sqlite" in next(entry for entry in log if entry["event"] == "request failed")["problem"]


def test_requests_per_minute_are_limited_for_each_client(options: ServeOptions, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    key = store.add("bert", requests_per_minute=0)
    with live(replace(options, requests=2, keys=store.path), tmp_path) as server:
        answers = [server.http.post("/detect", json={"q": GERMAN}) for _ in range(5)]
        refused = answers[-1]
        assert refused.status_code == 429
        assert refused.json() == {"error": "Slowdown: 2 per 1 minute"}
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert server.http.post("/detect", json={"q": GERMAN, "api_key": key}).status_code == 200
        assert server.http.get("/languages").status_code == 200


def test_wrong_keys_count_for_the_address(options: ServeOptions, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    store.add("anna")
    with live(replace(options, requests=3, keys=store.path), tmp_path) as server:
        answers = [server.translate(GERMAN, api_key=f"wrong {n}").status_code for n in range(5)]
    assert answers == [403] * 3 + [429] * 2


def test_bodies_of_answered_requests_are_no_longer_held(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.serving.limits._MAX_BODIES", 0)  # so the limit is that of the largest body
    options = replace(options, characters=10, file_size=0)
    size = app._max_body(options, 10)
    with live(options, tmp_path) as server:
        for _ in range(4):
            answer = server.http.post("/detect", content=b" " * size, headers={"Content-Type": "application/json"})
            assert answer.status_code == 400


def test_characters_per_minute_are_limited_for_each_client(options: ServeOptions, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    key = store.add("dora")
    with live(replace(options, minute_characters=60, keys=store.path), tmp_path) as server:

        def status(q: object, **more: object) -> int:
            answer = server.translate(q, **more)
            if answer.status_code == 429:
                assert answer.json() == {"error": "Slowdown: 60 characters per 1 minute"}
                assert 1 <= int(answer.headers["Retry-After"]) <= 60
            return answer.status_code

        assert status("x" * 61) == 400  # it would be refused in every minute
        assert [status(GERMAN), status(GERMAN), status(GERMAN)] == [200, 200, 429]
        assert status("das Kind") == 200  # the refused one was not counted
        assert status(["x" * 30, "x" * 30], api_key=key) == 200


def test_a_key_may_have_a_limit_of_characters_per_minute_of_its_own(options: ServeOptions, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    more, less, all_ = (store.add(f"key {n}", characters_per_minute=n) for n in (70, 30, 0))
    with live(replace(options, minute_characters=60, keys=store.path), tmp_path) as server:

        def statuses(n_characters: int, key: str) -> list[int]:
            return [server.translate("x" * n_characters, api_key=key).status_code for _ in range(2)]

        assert statuses(35, more) == [200, 200]
        assert statuses(35, more) == [429, 429]
        assert statuses(31, less) == [400, 400]
        assert statuses(100, all_) == [200, 200]


def test_the_log_names_clients_that_are_refused(
    options: ServeOptions, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    key = store.add("dora", requests_per_minute=1)
    with live(replace(options, keys=store.path), tmp_path) as server:
        set_up_log()
        for secret in (key, key, "wrong"):
            server.http.post("/detect", json={"q": GERMAN, "api_key": secret})
    log = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    seen = [(entry["status"], entry["client"]) for entry in log if entry["event"] == "request"]
    assert seen == [(200, "key dora"), (429, "key dora"), (403, "address 127.0.0.1")]


def test_a_client_that_goes_while_it_sends_is_no_error_of_the_server(
    options: ServeOptions, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = b"POST /translate_file HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    with live(options, tmp_path) as server:
        set_up_log()
        for route, parts in (
            ("/translate", message(request(GERMAN))[:-5]),
            ("/translate_file", file + b"Content-Length: 700\r\n\r\n--b\r\n"),
        ):
            with server.connect() as connection:
                connection.sendall(parts)
            until(lambda route=route: f'route="{route}",status="499"}} 1.0' in server.http.get("/metrics").text)
    log = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [entry["status"] for entry in log if entry["event"] == "request"] == [499, 499]
    assert not [entry for entry in log if entry["level"] == "error"]


def test_too_many_requests_are_told_to_retry(options: ServeOptions, tmp_path: Path) -> None:
    with live(replace(options, queue=1), tmp_path) as server, server.connect() as connection:
        connection.sendall(message(request(book(LONG))))
        until(lambda: server.state.requests.n_active)
        answer = server.translate(GERMAN)
        assert (answer.status_code, answer.json().keys()) == (503, {"error"})
        assert int(answer.headers["Retry-After"]) >= 1
        assert server.http.get("/health").status_code == 200


def test_beyond_the_limit_of_connections_requests_are_told_to_retry(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_MAX_REQUESTS", 1)
    with live(options, tmp_path) as server, server.connect() as connection:
        connection.sendall(message(request(book(LONG))))
        until(lambda: server.state.requests.n_active)
        answer = server.http.get("/health")
        assert (answer.status_code, answer.json().keys()) == (503, {"error"})
        assert int(answer.headers["Retry-After"]) >= 1


def test_pages_of_other_origins_can_read_every_error(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = {"Origin": "https://example.org"}
    with live(replace(options, cors=["https://example.org"], characters=5, file_size=0), tmp_path) as server:

        def fail(*_: object) -> None:
            raise ValueError

        monkeypatch.setattr(server.state.service, "detect", fail)
        for path, body, status in (
            ("/translate", {"q": GERMAN, "source": "de", "target": "en"}, 400),
            ("/translate", {"q": "x" * 10**6, "source": "de", "target": "en"}, 413),
            ("/detect", {"q": "a"}, 500),
        ):
            answer = server.http.post(path, json=body, headers=origin)
            assert (answer.status_code, answer.json().keys()) == (status, {"error"})
            assert answer.headers["access-control-allow-origin"] == "https://example.org"
            assert "Retry-After" in answer.headers["access-control-expose-headers"]


def test_characters_of_refused_requests_are_not_counted(options: ServeOptions, tmp_path: Path) -> None:
    limits = replace(options, queue=1, minute_characters=10**6, suggestions=tmp_path / "suggestions")
    with live(limits, tmp_path) as server, server.connect() as connection:

        def n_counted() -> int:
            return server.state.rates.count("characters of address 127.0.0.1", 0)

        wrong = {"q": GERMAN, "translation": "the dog", "s": "the dog", "source": "de", "target": "xx"}
        for route in ("/translate", "/alignment", "/suggest"):
            assert server.http.post(route, json=wrong).status_code == 400
        answer = server.http.post("/translate_file", data=wrong, files={"file": ("a.txt", GERMAN.encode())})
        assert (answer.status_code, n_counted()) == (400, 0)
        connection.sendall(message(request(book(LONG))))
        until(lambda: server.state.requests.n_active)
        before = n_counted()
        assert server.translate(GERMAN).status_code == 503
        assert server.http.post("/detect", json={"q": GERMAN}).status_code == 503
        assert n_counted() == before
        assert "translate_characters_total 0.0" in server.http.get("/metrics").text


def test_characters_of_requests_that_are_refused_after_they_began_are_not_counted(
    options: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as text that turns out to be in another language."""
    with live(replace(options, minute_characters=10**6), tmp_path) as server:
        french = "Je ne sais pas encore si nous pourrons venir demain avec les enfants."
        answer = server.http.post("/translate", json={"q": french, "source": "auto", "target": "en"})
        assert (answer.status_code, answer.json()["error"]) == (400, "fr is not supported")
        assert server.state.rates.count("characters of address 127.0.0.1", 0) == 0
        monkeypatch.setattr("translate.text.languages._ranked", lambda text: [])  # as without fastText
        answer = server.http.post("/translate", json={"q": french, "source": "auto", "target": "en"})
        assert (answer.status_code, answer.json()["error"]) == (500, "This server cannot detect languages")


@pytest.mark.parametrize(("text", "n_alternatives"), [(book(LONG), 0), ("\n" * 60_000, 3), ("1\n" * 60_000, 0)])
def test_a_request_that_takes_too_long_is_stopped(
    options: ServeOptions, tmp_path: Path, text: str, n_alternatives: int
) -> None:
    """Blank and copied lines need no search, but time."""
    with live(replace(options, timeout=0.3), tmp_path) as server:
        answer = server.translate(text, alternatives=n_alternatives)
        assert (answer.status_code, answer.json().keys()) == (504, {"error"})
        until(lambda: not server.state.requests.n_active)


def test_a_key_may_allow_longer_requests_than_the_server(options: ServeOptions, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    key = store.add("emil", max_characters=200_000)
    with live(replace(options, keys=store.path, characters=1000, file_size=0), tmp_path) as server:
        text = " " * 150_000
        assert server.translate(text, api_key=key).status_code == 200
        assert server.translate(text).status_code == 400


def test_parts_of_one_name_are_counted(server: Live) -> None:
    part = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = server.http.post("/translate", content=f"{part * 1001}--x--\r\n", headers=headers)
    assert (answer.status_code, "Too many fields" in answer.text) == (400, True)


def test_running_requests_are_finished_when_the_server_stops(options: ServeOptions, tmp_path: Path) -> None:
    n_threads = threading.active_count()
    with ThreadPoolExecutor(1) as pool, live(options, tmp_path) as server:
        answer = pool.submit(server.translate, book(100))
        until(lambda: server.state.service.scheduler.n_waiting)
        server.uvicorn.should_exit = True
        assert answer.result().status_code == 200
    until(lambda: threading.active_count() <= n_threads + 1)


def test_requests_that_outlast_the_grace_of_a_stopping_server_are_told_to_try_again(
    options: ServeOptions, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as pool, live(replace(options, grace=1), tmp_path) as server:
        answer = pool.submit(server.translate, book(LONG))
        until(lambda: server.state.service.scheduler.n_waiting)
        server.uvicorn.should_exit = True
        assert (answer.result().status_code, answer.result().json().keys()) == (503, {"error"})
        assert int(answer.result().headers["retry-after"]) >= 1


def test_the_folder_of_the_server_may_be_deleted(options: ServeOptions, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    with live(replace(options, requests=1000), folder) as server:
        stored = upload(server, "a.txt", GERMAN.encode()).json()["translatedFileUrl"]
        shutil.rmtree(folder)
        gone = server.http.get(stored)
        assert (gone.status_code, gone.json().keys()) == (404, {"error"})
        again = upload(server, "a.txt", GERMAN.encode())
        assert server.http.get(again.json()["translatedFileUrl"]).status_code == 200
        server.state.tidy()


def test_a_replaced_model_is_used_at_once_and_a_damaged_one_never(
    parts: ModelFolder, options: ServeOptions, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(parts.folder, folder)
    with live(replace(options, model=[folder]), tmp_path / "server") as server:

        def answer() -> str:
            return str(server.translate(GERMAN).json()["translatedText"])

        old = answer()
        model_folder.save(random_model(parts.tokenizer, seed=5), parts.tokenizer, parts.spec, folder, replace=True)
        new = Translator.load(folder)(GERMAN)
        assert answer() == new != old
        weights = folder / "model.safetensors"
        damaged = folder / "damaged"
        damaged.write_bytes(weights.read_bytes()[:100])
        damaged.replace(weights)
        assert answer() == new
        shutil.rmtree(folder)
        assert answer() == new
        server.state.service.pool._unload_after = 0
        server.state.service.pool.unload_idle()
        refused = server.translate(GERMAN)
        assert (refused.status_code, refused.json().keys()) == (503, {"error"})
        assert str(tmp_path) not in refused.text
        shutil.copytree(parts.folder, folder)
        assert answer() == old


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_loaded_model_aligns_without_its_files(
    is_gone: bool, parts: ModelFolder, options: ServeOptions, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(parts.folder, tmp_path / "model"))
    with live(replace(options, model=[folder]), tmp_path / "server") as server:
        body = {"q": "der Hund", "translation": "the dog", "source": "de", "target": "en"}
        before = server.http.post("/alignment", json=body).json()
        if is_gone:
            shutil.rmtree(folder)
        else:
            os.truncate(folder / "model.safetensors", 100)
        assert server.http.post("/alignment", json=body).json() == before


def test_alignments_of_an_export_without_a_layer_for_them_are_unavailable(
    parts: ModelFolder, options: ServeOptions, tmp_path: Path
) -> None:
    """As those of earlier versions are."""
    pytest.importorskip("ctranslate2")
    export(parts, tmp_path / "model", [GERMAN])
    parts.spec.save(tmp_path / "model")
    assert parts.spec.alignment_layer is None
    with live(replace(options, model=[tmp_path / "model"]), tmp_path / "server") as server:
        assert server.translate(GERMAN).status_code == 200
        body = {"q": "der Hund", "translation": "the dog", "source": "de", "target": "en"}
        refused = server.http.post("/alignment", json=body)
        assert (refused.status_code, refused.json().keys()) == (503, {"error"})
        assert str(tmp_path) not in refused.text


def test_the_log_contains_no_text_of_requests(
    options: ServeOptions, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "Geheimnis"
    with live(options, tmp_path) as server:
        set_up_log()
        server.translate(f"das {secret} singt.")
        server.http.post(f"/translate?q={secret}&source=de&target=en")
        upload(server, f"{secret}.txt", GERMAN.encode())
        server.http.get(f"/{secret}")

        def fail(*_: object) -> None:
            raise ValueError(secret)

        monkeypatch.setattr(server.state.service, "translate", fail)
        answer = server.translate(secret)
        assert (answer.status_code, answer.json()) == (500, {"error": "Internal error"})
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert 'route="/translate",status="500"} 1.0' in server.http.get("/metrics").text
    log = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert secret not in json.dumps(log)
    assert [entry["route"] for entry in log if entry["event"] == "request"] == [
        "/translate", "/translate", "/translate_file", "other", "/translate",
    ]  # fmt: skip
    last = [entry for entry in log if entry["event"] == "request"][-1]
    assert (last["status"], last["id"]) == (500, answer.headers["x-request-id"])
    assert last["id"] == next(entry["id"] for entry in log if entry["event"] == "request failed")
    assert "ValueError" in {entry.get("exception") for entry in log}
    assert log[0].keys() >= {"time", "level", "event"}


@contextlib.contextmanager
def started(options: ServeOptions) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Start a server with two worker processes; yield it, its address, and the lines that it writes from then on."""
    models = [argument for folder in options.model or () for argument in ("--model", str(folder))]
    command = [sys.executable, "-m", "translate", "serve", "--port", "0", "--workers", "2", *models]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as process:
        assert process.stderr is not None
        url = next(word for word in process.stderr.readline().split() if word.startswith("http")).rstrip(";")
        said: list[str] = []
        threading.Thread(target=lambda: said.extend(process.stderr or ()), daemon=True).start()
        try:
            until(lambda: len(workers(process.pid)) >= 2, 60)
            yield process, url, said
        finally:
            process.terminate()


def test_sigterm_ends_a_server_that_is_still_starting(options: ServeOptions) -> None:
    """It was ignored until uvicorn ran, and whoever stops the server waited in vain."""
    program = """
import os, signal, sys
from translate.commands.main import main
from translate.serving import server

def stopped(*arguments):
    os.kill(os.getpid(), signal.SIGTERM)
    return create(*arguments)

create, server.create_app = server.create_app, stopped
sys.exit(main(["serve", "--port", "0", "--model", sys.argv[1]]))
"""
    assert options.model
    done = forks.run(["-c", program, str(options.model[0])], timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_worker_that_is_killed_is_replaced_and_all_stop_when_their_parent_is_killed(options: ServeOptions) -> None:
    """They went on without it, and the server could not be started again on its address."""
    with started(options) as (process, url, said):
        with httpx.Client(base_url=url, timeout=30, transport=httpx.HTTPTransport(verify=False, retries=3)) as http:
            assert http.get("/health").status_code == 200
            before = {*workers(process.pid)}
            killed = min(before)
            os.kill(killed, signal.SIGKILL)
            until(lambda: {*workers(process.pid)} - before, 60)
            assert httpx.get(f"{url}/languages", timeout=60, verify=False).status_code == 200
        until(lambda: any(f"Child process [{killed}] died" in line for line in said))
        left = {*workers(process.pid)}
        process.kill()
        try:
            until(lambda: not left.intersection(workers(None)), 30)
        finally:
            for pid in left.intersection(workers(None)):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_worker_that_is_busy_is_not_replaced(options: ServeOptions) -> None:
    """One that loads its libraries on a slow machine answers late; it was killed, and so were those after it."""
    with started(options) as (process, url, said):
        assert httpx.get(f"{url}/health", timeout=60, verify=False).status_code == 200
        before = {*workers(process.pid)}
        busy = min(before)
        os.kill(busy, signal.SIGSTOP)
        try:
            time.sleep(9)
        finally:
            os.kill(busy, signal.SIGCONT)
        assert {*workers(process.pid)} == before, said


def test_an_error_does_not_end_the_cleanup_loop() -> None:
    times = []

    def tidy() -> None:
        times.append(1)
        raise OSError("disk full")

    state: Any = SimpleNamespace(options=SimpleNamespace(unload=0.001), tidy=tidy, threads=Threads())

    async def tidied() -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(_tidy(state), 0.5)

    asyncio.run(tidied())
    assert len(times) >= 2
