#!/usr/bin/env bash
# pycaption reads "00:00:01.500000" of TTML as 501 seconds, since it takes any fraction of a second for milliseconds.
#
# Guess: "00:00:01.5" and "1.5s" are 1.5 seconds.
# Miss:  so it is with up to three digits, and in "1.500000s". With more, the digits of a clock time are a number of
#        milliseconds: four make a caption late by up to ten seconds, six, as microseconds have, by up to
#        1,000 seconds, and an end may come before its begin. Nothing is reported.
. "$(dirname "$0")/environment.sh" pycaption==2.3.14
python - <<'PYTHON'
from finding import expect
from pycaption import DFXPReader

def seconds(begin, end):
    content = (
        '<tt xmlns="http://www.w3.org/ns/ttml" xml:lang="de"><body><div>'
        f'<p begin="{begin}" end="{end}">Haus</p></div></body></tt>'
    )
    (caption,) = DFXPReader().read(content).get_captions("de")
    return caption.start / 1e6, caption.end / 1e6

expect("up to three digits", seconds("00:00:01.5", "00:00:02.250"), (1.5, 2.25))
expect("seconds", seconds("1.500000s", "2.25s"), (1.5, 2.25))
expect("four digits", seconds("00:00:01.5004", "00:00:01.9999"), (6.004, 10.999))
expect("six digits", seconds("00:00:01.500000", "00:00:02.250000"), (501.0, 252.0))
PYTHON
