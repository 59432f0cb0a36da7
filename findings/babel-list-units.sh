#!/usr/bin/env bash
# Babel's `format_list` fails with a KeyError for German and Dutch lists of units, which it documents as a style.
#
# Guess: `format_list(["a", "b", "c"], "unit", "de")` is "a, b und c" or "a, b, c", as in other languages.
# Miss:  KeyError 'start' for the three "unit" styles in German and Dutch and for "standard-short" in Dutch, while
#        English and French have all of them: patterns that a locale inherits are not filled in.
. "$(dirname "$0")/environment.sh" babel==2.19.0
python - <<'PYTHON'
from babel.lists import format_list
from finding import expect

STYLES = ("standard", "standard-short", "or", "unit", "unit-short", "unit-narrow")

def failing(locale):
    for style in STYLES:
        try:
            format_list(["a", "b", "c"], style, locale)
        except KeyError as error:
            yield style, error.args[0]

expect("en", list(failing("en")), [])
expect("fr", list(failing("fr")), [])
expect("de", list(failing("de")), [(style, "start") for style in STYLES[3:]])
expect("nl", list(failing("nl")), [(style, "start") for style in ("standard-short", *STYLES[3:])])
PYTHON
