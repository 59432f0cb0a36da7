#!/usr/bin/env bash
# ttconv loses the words that have ruby when it writes SubRip or WebVTT, and writes "a < b, dann c > d" as a tag.
#
# Guess: "&" and "<" of SubRip are references in WebVTT, as in TTML, and so are those that were read from WebVTT; a ruby
#        of WebVTT has at least its base in SubRip.
# Miss:  <ruby>漢<rt>かん</rt></ruby> leaves nothing behind, base or reading, without a warning; TTML has both. The writer
#        of WebVTT marks neither sign: a player takes "< b, dann c >" for a tag that it does not know, and shows "a  d";
#        "&lt;b&gt;" of WebVTT is written as "<b>", bold, so that a file that is only read and written is another one.
. "$(dirname "$0")/environment.sh" ttconv==1.2.3 webvtt-py==0.6.0
python - <<'PYTHON'
import io
import logging

import ttconv.imsc.writer
import ttconv.srt.reader
import ttconv.srt.writer
import ttconv.vtt.reader
import ttconv.vtt.writer
import webvtt
from finding import expect

logging.disable()


def subrip(text):
    return ttconv.srt.reader.to_model(io.StringIO(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n"))


def vtt(text):
    return ttconv.vtt.reader.to_model(io.StringIO(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n"))


def written(writer, model):
    return writer.from_model(model).strip().split("\n")[-1]


def ttml(model):
    return "".join(ttconv.imsc.writer.from_model(model).getroot().itertext()).strip()


TEXT = "Wenn a < b, dann c > d, sagt R&D"
line = written(ttconv.vtt.writer, subrip(TEXT))
expect("SubRip to WebVTT", line, TEXT)
shown = webvtt.from_string(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{line}\n")[0].text
expect("as webvtt-py shows it", shown, "Wenn a  d, sagt R&D")
expect("SubRip to TTML", ttml(subrip(TEXT)), TEXT)
marked = written(ttconv.vtt.writer, vtt("Das Element &lt;b&gt; ist alt"))
expect("WebVTT to WebVTT, a reference is a tag", ("<b>" in marked, "&lt;" in marked), (True, False))
ruby = vtt("Das Zeichen <ruby>漢<rt>かん</rt></ruby> hier")
expect("WebVTT to SubRip, ruby", written(ttconv.srt.writer, ruby), "Das Zeichen  hier")
expect("WebVTT to WebVTT, ruby", [word in written(ttconv.vtt.writer, ruby) for word in ("Zeichen", "漢")], [True, False])
expect("WebVTT to TTML, ruby", ttml(ruby), "Das Zeichen 漢かん hier")
PYTHON
