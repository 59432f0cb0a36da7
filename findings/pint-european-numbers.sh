#!/usr/bin/env bash
# Pint reads "2,54 cm" as 254 centimetres, "0,5 l" and "10 000 m" as zero, and "5–10 m" as 50 metres.
#
# Guess: a comma in a number is an error, as for Python's `float`, and so is a space; `Quantity` reads "1.5 m" and
#        refuses what it does not understand.
# Miss:  commas are taken out before anything is read, so "2,54" is 254, and "0,5" is 05, which is 0. A space is a
#        product: the metres of "10 000 m" are 10 times 0. So is the dash of a range. "1.500,50 m" is one and a half
#        metres. No error and no warning comes. A program that converts the measures in German, French or Polish texts
#        writes lengths that are wrong by a factor of 10 or 1000, or zero, and all of them are lengths.
. "$(dirname "$0")/environment.sh" pint==0.25.3
python - <<'PYTHON'
import pint
from finding import expect

registry = pint.UnitRegistry()
STATED = {
    "1.5 m": 1.5,
    "1,500 m": 1500,
    "1,5 m": 15,
    "2,54 cm": 254,
    "0,5 l": 0,
    "1.500,50 m": 1.5005,
    "10 000 m": 0,
    "2 500 kg": 1000,
    "5–10 m": 50,
}
for text, number in STATED.items():
    expect(text, registry.Quantity(text).magnitude, number)
PYTHON
