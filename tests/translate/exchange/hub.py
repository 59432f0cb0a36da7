"""A Hugging Face hub on the loopback address, with repositories in memory.

Large files are behind a redirect, as on the real one, and have an ETag that is their SHA-256; small ones have git's
digest.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import quote, unquote, urlsplit

LARGE = 5000  # bytes; larger files are in "LFS"

Files = Mapping[str, bytes]


@dataclass
class Repository:
    """Commits, oldest first, by their ids.

    Attributes:
        token: who downloads must send it; "" for none.
        says: digests that the hub names, where they are not those of the files.
    """

    commits: dict[str, Files]
    token: str = ""
    says: dict[str, str] = field(default_factory=dict)

    def commit(self, revision: str) -> str | None:
        if revision == "main":
            return [*self.commits][-1]
        return revision if revision in self.commits else None


@dataclass
class Hub:
    """The state of the server.

    Attributes:
        breaks: after how many bytes the connection breaks, by file; each time once.
        stalls: after how many bytes the answer stops until `go_on`, by file.
        requests: method, path and Range of each request.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    breaks: dict[str, list[int]] = field(default_factory=dict)
    stalls: dict[str, int] = field(default_factory=dict)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    stalled: Event = field(default_factory=Event)
    go_on: Event = field(default_factory=Event)
    url: str = ""

    def add(self, name: str, *commits: Files, token: str = "") -> list[str]:
        ids = [hashlib.sha1(f"{name} {n}".encode()).hexdigest() for n in range(len(commits))]
        self.repositories[name] = Repository(dict(zip(ids, commits, strict=True)), token)
        return ids

    def fetched(self) -> list[str]:
        """The names of the files whose content was asked for."""
        return [path.rpartition("/")[2] for method, path, _ in self.requests if method == "GET" and "/cdn/" in path]


def digests(content: bytes) -> tuple[str, str]:
    return hashlib.sha256(content).hexdigest(), hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@contextmanager
def running() -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append((self.command, path, self.headers.get("Range")))
            for name, repository in hub.repositories.items():
                if path == f"/api/models/{name}" or path.startswith(f"/api/models/{name}/revision/"):
                    self.describe(name, repository, path.partition("/revision/")[2] or "main")
                    return
                for place in ("", "/cdn"):
                    if path.startswith(f"{place}/{name}/resolve/"):
                        self.give(name, repository, path.split("/resolve/")[1], is_cdn=bool(place))
                        return
            self.refuse(404, "RepoNotFound")

        def describe(self, name: str, repository: Repository, revision: str) -> None:
            if (commit := repository.commit(revision)) is None:
                self.refuse(404, "RevisionNotFound")
                return
            siblings = []
            for file, content in repository.commits[commit].items():
                sha256, sha1 = digests(content)
                lfs = {"sha256": repository.says.get(file, sha256), "size": len(content), "pointerSize": 133}
                one = {"rfilename": file, "size": len(content), "blobId": repository.says.get(file, sha1)}
                siblings.append(one | ({"lfs": lfs} if len(content) > LARGE else {}))
            gated = "manual" if repository.token else False
            values = {"id": name, "sha": commit, "siblings": siblings, "private": False, "gated": gated, "tags": []}
            self.send(200, json.dumps(values).encode(), {"Content-Type": "application/json"})

        def give(self, name: str, repository: Repository, place: str, *, is_cdn: bool) -> None:
            revision, _, file = place.partition("/")
            commit = repository.commit(revision)
            if not is_cdn and repository.token not in (
                "",
                self.headers.get("Authorization", "").removeprefix("Bearer "),
            ):
                self.refuse(403, "GatedRepo")
            elif commit is None or file not in repository.commits[commit]:
                self.refuse(404, "EntryNotFound")
            else:
                content = repository.commits[commit][file]
                sha256, sha1 = digests(content)
                etag = repository.says.get(file, sha256 if len(content) > LARGE else sha1)
                head = {"X-Repo-Commit": commit, "X-Linked-Size": str(len(content)), "X-Linked-ETag": f'"{etag}"'}
                if not is_cdn:
                    self.send(302, b"", head | {"Location": f"{elsewhere}/cdn/{name}/resolve/{quote(place)}"})
                else:
                    self.content(file, content, {"ETag": f'"{etag}"', "Accept-Ranges": "bytes"})

        def content(self, file: str, content: bytes, head: dict[str, str]) -> None:
            if self.headers.get("If-None-Match") == head["ETag"]:
                self.send(304, b"", head)
                return
            asked = self.headers.get("Range")
            if self.headers.get("If-Range", head["ETag"]) != head["ETag"]:
                asked = None
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if asked:
                head |= {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
            rest = content[start:]
            self.begin(206 if asked else 200, len(rest), head)
            if self.command == "HEAD":
                return
            if hub.breaks.get(file):
                rest = rest[: hub.breaks[file].pop(0)]
                self.close_connection = True
            stop = hub.stalls.pop(file, len(rest))
            self.wfile.write(rest[:stop])
            self.wfile.flush()
            if stop < len(rest):
                hub.stalled.set()
                hub.go_on.wait(60)
                self.wfile.write(rest[stop:])

        def refuse(self, status: int, code: str) -> None:
            self.send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

        def send(self, status: int, content: bytes, head: dict[str, str]) -> None:
            self.begin(status, len(content), head)
            if self.command != "HEAD":
                self.wfile.write(content)

        def begin(self, status: int, length: int, head: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in head.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(length))
            self.end_headers()

        def handle(self) -> None:
            with suppress(ConnectionError):  # of a client that was killed
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    elsewhere = f"http://localhost:{server.server_port}"  # another host, whose answer lacks the headers of the hub
    Thread(target=server.serve_forever, args=[0.005], daemon=True).start()  # seconds until it sees that it should stop
    try:
        yield hub
    finally:
        hub.go_on.set()
        server.shutdown()
        server.server_close()
