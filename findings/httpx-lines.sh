#!/usr/bin/env bash
# httpx and requests cut a line of a stream at U+2028 and U+0085, so that a translation in JSON lines is no JSON.
#
# Guess: `iter_lines()` of httpx, and of requests with `decode_unicode=True`, ends a line at "\n" or "\r\n", as Python's
#        files, requests without decoding, and a shell do; JSON allows a line separator within a string.
# Miss:  both divide what they have decoded with `str.splitlines`, which knows more ends of a line. One answer with the
#        line separator of a web page, or the U+0085 that a wrong code page has made of "…", is two lines, and
#        `json.loads` fails at each, far from the text that it comes from. A client that skips what it cannot read
#        loses a sentence. The parsers of server-sent events, httpx-sse and sseclient-py, keep the line whole.
. "$(dirname "$0")/environment.sh" httpx==0.28.1 httpx-sse==0.4.3 requests==2.34.2 sseclient-py==1.9.0 urllib3==2.8.0
python - <<'PYTHON'
import io
import json

import httpx
import requests
from finding import expect
from httpx_sse import EventSource
from sseclient import SSEClient
from urllib3 import HTTPResponse


def by_requests(content, decode):
    response = requests.Response()
    response.raw, response.encoding = HTTPResponse(io.BytesIO(content), preload_content=False), "utf-8"
    return response.iter_lines(decode_unicode=decode)


for name, character in {"U+2028": "\u2028", "U+2029": "\u2029", "U+0085": "\x85", "an ordinary space": " "}.items():
    line = json.dumps({"translation": f"eins{character}zwei"}, ensure_ascii=False)
    content = f"{line}\n".encode()
    whole, parts = [line], line.split(character)
    cut = whole if character == " " else parts
    expect(f"httpx, {name}", list(httpx.Response(200, content=content).iter_lines()), cut)
    expect(f"requests, decoded, {name}", list(by_requests(content, True)), cut)
    expect(f"requests, bytes, {name}", [json.loads(read) for read in by_requests(content, False)], [json.loads(line)])
    event = f"data: {line}\n\n".encode()
    response = httpx.Response(200, content=event, headers={"content-type": "text/event-stream"})
    expect(f"httpx-sse, {name}", [event.data for event in EventSource(response).iter_sse()], whole)
    expect(f"sseclient-py, {name}", [event.data for event in SSEClient(iter([event])).events()], whole)
PYTHON
