#!/usr/bin/env bash
# text2num turns "1,5 Millionen" into "1,5 1000000", two numbers of another value.
#
# Guess: a number in digits before "Millionen" is multiplied or left alone; "eine Million" becomes 1000000.
# Miss:  the word alone is replaced, so the digits before it stand beside a second number; "eine" stays, and in "eins
#        Komma fünf Millionen" the decimals are not multiplied either. English does the same with "1.5 million".
. "$(dirname "$0")/environment.sh" text2num==3.1.0
python - <<'PYTHON'
from text_to_num import alpha2digit
from finding import expect

expect("zwei Millionen dreihunderttausend", alpha2digit("zwei Millionen dreihunderttausend", "de"), "2300000")
expect("1,5 Millionen", alpha2digit("1,5 Millionen", "de"), "1,5 1000000")
expect("eins Komma fünf Millionen", alpha2digit("eins Komma fünf Millionen", "de"), "1,5 1000000")
expect("eine Million", alpha2digit("eine Million", "de"), "eine 1000000")
expect("1.5 million", alpha2digit("1.5 million", "en"), "1.5 1000000")
PYTHON
