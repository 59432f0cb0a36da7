#!/usr/bin/env bash
# pysubs2 deletes what stands in braces from subtitles, also from SubRip and WebVTT, and also where ASS escapes them.
#
# Guess: a SubRip file that is read and written as SubRip has the same texts, and `plaintext` of ASS's `\{b\}` is "{b}".
# Miss:  every text becomes one of ASS, in which braces are commands: "Set {1, 2}" is written as "Set", "{Knall} Hallo"
#        as "Hallo", without a warning; of `\{b\}` only the first backslash is left.
. "$(dirname "$0")/environment.sh" pysubs2==1.8.1
python - <<'PYTHON'
from finding import expect
from pysubs2 import SSAEvent, SSAFile

TIMES = {"srt": "1\n00:00:01,000 --> 00:00:02,000\n", "vtt": "WEBVTT\n\n1\n00:00:01.000 --> 00:00:02.000\n"}

def read_and_written(text, kind):
    return SSAFile.from_string(f"{TIMES[kind]}{text}\n").to_string(kind).strip().split("\n")[-1]

for kind in TIMES:
    texts = [read_and_written(text, kind) for text in ("<i>Hallo</i>", "Set {1, 2}", "{Knall} Hallo")]
    expect(kind, texts, ["<i>Hallo</i>", "Set", "Hallo"])
expect("plaintext", SSAEvent(text=r"\{b\}").plaintext, "\\")
PYTHON
