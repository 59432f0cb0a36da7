#!/usr/bin/env bash
# pycaption puts a space at each inline tag of TTML, so "Haus<span>bau</span>" is "Haus bau" in the SubRip file.
#
# Guess: "Haus<span>bau</span>" of TTML (DFXP) is "Hausbau" in SubRip, and "<i>" of WebVTT is "<i>" there.
# Miss:  a space appears before and behind the tag, also before a full stop, so a word that is coloured in part is two
#        words, and a translator gets other text than the viewer; italics of WebVTT are gone. Two captions that are shown at
#        the same time, such as two speakers, become one.
. "$(dirname "$0")/environment.sh" pycaption==2.3.14
python - <<'PYTHON'
from finding import expect
from pycaption import DFXPReader, SRTReader, SRTWriter, WebVTTReader

def text(reader, content):
    return SRTWriter().write(reader().read(content)).splitlines()[2]

def ttml(paragraph):
    return (
        '<tt xmlns="http://www.w3.org/ns/ttml" xml:lang="de"><body><div>'
        f'<p begin="1s" end="2s">{paragraph}</p></div></body></tt>'
    )

expect("a word in part", text(DFXPReader, ttml("Haus<span>bau</span>")), "Haus bau")
expect("before a full stop", text(DFXPReader, ttml("Ein <span>Haus</span>.")), "Ein Haus .")
expect("WebVTT", text(WebVTTReader, "WEBVTT\n\n00:01.000 --> 00:02.000\n<i>Haus</i>\n"), "Haus")
TIMES = "00:00:01,000 --> 00:00:02,000"
two = f"1\n{TIMES}\n- Ja?\n\n2\n{TIMES}\n- Nein.\n\n"
expect("captions of two", SRTWriter().write(SRTReader().read(two)), f"1\n{TIMES}\n- Ja?\n- Nein.\n")
PYTHON
