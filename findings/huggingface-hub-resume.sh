#!/usr/bin/env bash
# huggingface_hub resumes a broken download only at multiples of 10 MiB, so a file below that starts from nothing.
#
# Guess: after "Trying to resume download..." the request has a Range that begins where the connection broke.
# Miss:  what was received since the last whole 10 MiB is thrown away. A file of 1 MB, broken at its half, is requested
#        again without a Range; one broken after 12,000,000 bytes continues at byte 10,485,760. A link that breaks
#        sooner than that makes no progress at all, and six attempts later the download is given up.
. "$(dirname "$0")/environment.sh" huggingface_hub==2.4.0
python - 2>client.log <<'PYTHON'
import os, tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from finding import expect

class Server(BaseHTTPRequestHandler):
    """Serves one file; the first time, the connection ends after `broken_at` bytes."""

    protocol_version = "HTTP/1.1"
    body, broken_at, ranges = b"", None, []

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.respond(b"", len(self.body))

    def do_GET(self):
        asked = self.headers.get("Range")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        part = self.body[start:]
        broken, Server.broken_at = self.broken_at, None
        self.respond(part[:broken], len(part), 206 if asked else 200)
        if broken:
            self.close_connection = True

    def respond(self, content, length, status=200):
        self.send_response(status)
        self.send_header("ETag", f'"{len(self.body)}"')
        self.send_header("X-Repo-Commit", "a" * 40)
        self.send_header("Content-Length", str(length))
        if status == 206:
            size = len(self.body)
            self.send_header("Content-Range", f"bytes {size - length}-{size - 1}/{size}")
        self.end_headers()
        self.wfile.write(content)

server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
Thread(target=server.serve_forever, daemon=True).start()
os.environ |= {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
from huggingface_hub import hf_hub_download

def ranges(n_bytes, broken_at):
    Server.body, Server.broken_at, Server.ranges = os.urandom(n_bytes), broken_at, []
    with open(hf_hub_download("owner/model", "file.bin", cache_dir=tempfile.mkdtemp(dir=".")), "rb") as file:
        expect(f"{n_bytes} bytes arrived in the end", file.read() == Server.body, True)
    return Server.ranges

expect("Range after 500,000 of 1,000,000 bytes", ranges(1_000_000, 500_000), [None, None])
expect("Range after 12,000,000 of 25,000,000 bytes", ranges(25_000_000, 12_000_000), [None, "bytes=10485760-"])
PYTHON
