#!/usr/bin/env bash
# num2words drops the sign of numbers between -1 and 0, and writes the German year 44 BC as minus 156.
#
# Guess: -0.5 is "minus null Komma fünf", as -1.5 is "minus eins Komma fünf"; the year -44 is "vierundvierzig vor Christus"
#        or "minus vierundvierzig", as in English, which says "forty-four BC".
# Miss:  -0.5 is "null Komma fünf", another number, in English too. The year -44 is "minuseinshundertsechsundfünfzig", as
#        it is divided into -1 hundreds and 56, and the year 100 is "einshundert", which is no word. Text that is
#        normalised so, for speech or for pairs with numbers in words, says other numbers than its other side.
. "$(dirname "$0")/environment.sh" num2words==0.5.14
python - <<'PYTHON'
from finding import expect
from num2words import num2words

expect("-1.5", num2words(-1.5, lang="de"), "minus eins Komma fünf")
expect("-0.5", num2words(-0.5, lang="de"), "null Komma fünf")
expect("-0.5 in English", num2words(-0.5, lang="en"), "zero point five")
expect("the year -44 in English", num2words(-44, lang="en", to="year"), "forty-four BC")
expect("the year -44", num2words(-44, lang="de", to="year"), "minuseinshundertsechsundfünfzig")
expect("the year 100", num2words(100, lang="de", to="year"), "einshundert")
PYTHON
