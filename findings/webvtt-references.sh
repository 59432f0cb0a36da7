#!/usr/bin/env bash
# webvtt-py writes the references of WebVTT into SubRip, where they are shown: "M&uuml;ller &amp; S&ouml;hne".
#
# Guess: `text` of a caption is what a viewer reads, so "&amp;" is "&" there, and in the SubRip file that the package writes.
# Miss:  `text` has no tags but all references, and so has the SubRip file: a viewer, or a translator, gets "&nbsp;" and
#        "&lt;". In the other direction, of which no guess was written, nothing is marked: "a<b und c>d" of SubRip is in the
#        WebVTT file as it is, where it is a tag, and `text`, or SubRip written from it, is "ad".
. "$(dirname "$0")/environment.sh" webvtt-py==0.6.0
python - <<'PYTHON'
import io

import webvtt
from finding import expect

def as_subrip(captions):
    written = io.StringIO()
    captions.write(written, format="srt")
    return written.getvalue().splitlines()[2]

captions = webvtt.from_string("WEBVTT\n\n00:01.000 --> 00:02.000\n<i>M&uuml;ller</i> &amp; S&ouml;hne, 5&nbsp;&lt;&nbsp;7\n")
expect("text", captions[0].text, "M&uuml;ller &amp; S&ouml;hne, 5&nbsp;&lt;&nbsp;7")
expect("SubRip", as_subrip(captions), "M&uuml;ller &amp; S&ouml;hne, 5&nbsp;&lt;&nbsp;7")
with open("de.srt", "w") as file:
    file.write("1\n00:00:01,000 --> 00:00:02,000\nwenn a<b und c>d\n\n")
captions = webvtt.from_srt("de.srt")
expect("WebVTT of SubRip", captions.content.splitlines()[-1], "wenn a<b und c>d")
expect("its text", captions[0].text, "wenn ad")
expect("SubRip again", as_subrip(captions), "wenn ad")
PYTHON
