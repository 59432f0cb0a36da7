#!/usr/bin/env bash
# fflate cuts a gzip file of two members to the length of the last: "Der " is left of a corpus, without an error.
#
# Guess: `gunzipSync`, `decompressSync` and `gunzip` unpack all members of a file, as gzip, Node.js and pako do; files
#        which were joined (`cat a.gz b.gz`) are ordinary gzip files.
# Miss:  they unpack the first, and as the length is taken from the end of the file, no more of it than the last is
#        long: 1.6 MB followed by "Ja.\n" are the four letters "Der ". The class `Gunzip` of the same package, for
#        streams, gives everything. A page or a server that loads a word list or a translation memory so has its first
#        words.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund fflate@0.8.3 pako@3.0.3
cat >unpack.mjs <<'JAVASCRIPT'
import { decompressSync, gunzip, gunzipSync, Gunzip } from 'fflate'
import { readFileSync } from 'node:fs'
import zlib from 'node:zlib'
import { ungzip } from 'pako'

const file = readFileSync('corpus.gz')
const stream = []
const unpacker = new Gunzip((part) => stream.push(part))
unpacker.push(file, true)
const all = {
  'zlib of Node.js': zlib.gunzipSync(file),
  pako: ungzip(file),
  'fflate, Gunzip': Buffer.concat(stream),
  'fflate, gunzipSync': gunzipSync(file),
  'fflate, decompressSync': decompressSync(file),
  'fflate, gunzip': await new Promise((done) => gunzip(file, (error, data) => done(data))),
}
const texts = Object.entries(all).map(([name, data]) => [name, Buffer.from(data).toString()])
process.stdout.write(JSON.stringify(Object.fromEntries(texts)))
JAVASCRIPT
python - <<'PYTHON'
import gzip
import json
import subprocess

from finding import expect

CORPUS, APPENDED = 100_000 * "Der erste Satz.\n", "Ja.\n"
with open("corpus.gz", "wb") as file:
    file.writelines(gzip.compress(part.encode()) for part in (CORPUS, APPENDED))
out = subprocess.run(["node", "unpack.mjs"], check=True, capture_output=True).stdout
for name, text in json.loads(out).items():
    whole = name in ("zlib of Node.js", "pako", "fflate, Gunzip")
    expect(name, "all" if text == CORPUS + APPENDED else text[:20], "all" if whole else "Der ")
PYTHON
