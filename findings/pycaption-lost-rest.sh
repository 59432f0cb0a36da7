#!/usr/bin/env bash
# pycaption ends a SubRip file at a space behind a number, or at a blank line in a text, and drops all that follows.
#
# Guess: a caption with a blank line between its two lines keeps both, or loses the second; the captions behind it are
#        there. Of a space behind a caption's number no guess was written.
# Miss:  where a caption should begin, a line that is not all digits ends the reading. There is no error, as there is
#        for a number without times: of eight captions, of which the third has a blank line or the fourth a space behind
#        its number, three are left, and so in each format that they are written to. Most of a film has no subtitles
#        then, and a corpus of subtitles lacks it on one side alone. srt, pysubs2 and webvtt-py read all eight.
. "$(dirname "$0")/environment.sh" pycaption==2.3.14 srt==3.5.3 pysubs2==1.8.1 webvtt-py==0.6.0
python - <<'PYTHON'
from pathlib import Path

import pycaption
import pysubs2
import srt
import webvtt
from finding import expect

whole = [f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\nZeile {n}" for n in range(1, 9)]


def changed(place: int, old: str, new: str) -> str:
    """Return the file with a change in one caption."""
    return "\n\n".join([*whole[:place], whole[place].replace(old, new, 1), *whole[place + 1 :]]) + "\n"


def n_captions(text: str) -> dict[str, int]:
    """Return how many captions each package reads."""
    Path("film.srt").write_text(text, encoding="utf-8")
    return {
        "pycaption": len(pycaption.SRTReader().read(text).get_captions("en-US")),
        "srt": len(list(srt.parse(text))),
        "pysubs2": len(pysubs2.SSAFile.from_string(text)),
        "webvtt-py": len(webvtt.from_srt("film.srt")),
    }


expect("as it is", n_captions("\n\n".join(whole) + "\n"), {"pycaption": 8, "srt": 8, "pysubs2": 8, "webvtt-py": 8})
blank = changed(2, "Zeile 3", "- Ja.\n\n- Nein.")
expect("a blank line in the third", n_captions(blank), {"pycaption": 3, "srt": 8, "pysubs2": 8, "webvtt-py": 8})
space = changed(3, "4\n", "4 \n")
expect("a space behind the number 4", n_captions(space), {"pycaption": 3, "srt": 8, "pysubs2": 8, "webvtt-py": 8})
web = pycaption.WebVTTWriter().write(pycaption.SRTReader().read(space))
expect("lines with times in WebVTT", web.count("-->"), 3)
PYTHON
