#!/usr/bin/env bash
# huggingface_hub finds a file that it has downloaded offline only by the revision that was named then.
#
# Guess: a file that was downloaded by the commit of a branch is found with HF_HUB_OFFLINE=1 by the branch too, which is
#        the default revision: the cache has the only commit of the repository.
# Miss:  the cache knows that "main" is this commit only if "main" was asked for; until then the file "is not in the
#        cache". A program that pins the commit of the newest revision, to get all files from one state, has to ask once
#        by the name of the branch.
. "$(dirname "$0")/environment.sh" huggingface_hub==2.4.0
cat > server.py <<'PYTHON'
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

COMMIT = "a" * 40

class Server(BaseHTTPRequestHandler):
    """Serves the same file under each revision, which is the same commit."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.respond(b"")

    def do_GET(self):
        self.respond(b"{}")

    def respond(self, content):
        self.send_response(200)
        self.send_header("ETag", '"b"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(content)

server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
Thread(target=server.serve_forever, daemon=True).start()
PYTHON
cat > download.py <<'PYTHON'
import sys
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import LocalEntryNotFoundError

try:
    hf_hub_download("owner/model", "config.json", revision=sys.argv[1], cache_dir="cache")
    print("found")
except LocalEntryNotFoundError:
    print("not in the cache")
PYTHON
PYTHONPATH="$PYTHONPATH:." python - <<'PYTHON'
import os, subprocess, sys
from finding import expect
from server import COMMIT, server

def download(revision, **settings):
    names = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    run = [sys.executable, "download.py", revision]
    return subprocess.run(run, env=os.environ | names | settings, capture_output=True, text=True).stdout.strip()

expect("online, by the commit", download(COMMIT), "found")
expect("offline, by the commit", download(COMMIT, HF_HUB_OFFLINE="1"), "found")
expect("offline, by the branch", download("main", HF_HUB_OFFLINE="1"), "not in the cache")
expect("online, by the branch", download("main"), "found")
expect("offline, by the branch, afterwards", download("main", HF_HUB_OFFLINE="1"), "found")
PYTHON
