#!/usr/bin/env bash
# pysubs2 drops the last line of a WebVTT caption if it is a number: of "Es war im Jahr" and "2031" the first is left.
#
# Guess: pysubs2, srt, pysrt, webvtt-py, pycaption and ttconv keep a line that is a number alone, as a year or a count
#        of seconds: the number of a caption stands in front of its times.
# Miss:  pysubs2 takes all lines between two lines of times, and removes a number at their end as that of the next
#        caption. Captions of WebVTT need no numbers, and seldom have them, so that a number of the text is removed
#        instead. In SubRip it happens to the last caption of a file. A caption that is a number alone is kept. Nothing
#        is reported: a count, a price or a year is in the programme and not in its translation.
. "$(dirname "$0")/environment.sh" pysubs2==1.8.1 webvtt-py==0.6.0 srt==3.5.3
python - <<'PYTHON'
from io import StringIO

import pysubs2
import srt
import webvtt
from finding import expect

web = """WEBVTT

00:01.000 --> 00:02.000
Wie viele kamen?
17

00:03.000 --> 00:04.000
Es war im Jahr
2031

00:05.000 --> 00:06.000
1984
"""
texts = [caption.text for caption in webvtt.from_buffer(StringIO(web))]
expect("webvtt-py", texts, ["Wie viele kamen?\n17", "Es war im Jahr\n2031", "1984"])
texts = [event.plaintext for event in pysubs2.SSAFile.from_string(web, format_="vtt")]
expect("pysubs2", texts, ["Wie viele kamen?", "Es war im Jahr", "1984"])

subrip = """1
00:00:01,000 --> 00:00:02,000
Wie viele kamen?
17

2
00:00:03,000 --> 00:00:04,000
Es war im Jahr
2031
"""
expect("srt", [caption.content for caption in srt.parse(subrip)], ["Wie viele kamen?\n17", "Es war im Jahr\n2031"])
written = pysubs2.SSAFile.from_string(subrip).to_string("srt")
texts = [caption.content for caption in srt.parse(written)]
expect("SubRip that pysubs2 read and wrote", texts, ["Wie viele kamen?\n17", "Es war im Jahr"])
PYTHON
