#!/usr/bin/env bash
# Babel's `to_gettext` writes plural expressions with a variable that gettext has not, for French, Spanish and others.
#
# Guess: `to_gettext(Locale("fr").plural_form)` is a `Plural-Forms` header that gettext reads, as for German.
# Miss:  the rule asks for `e`, the exponent of compact numbers such as 1c6, and gettext knows `n` alone: Python's
#        `gettext` raises ValueError and `msgfmt -c` ends with "invalid plural expression", so no such file is compiled.
. "$(dirname "$0")/environment.sh" babel==2.19.0
python - <<'PYTHON'
import gettext
from babel import Locale
from babel.localedata import locale_identifiers
from babel.plural import to_gettext
from finding import expect

def expression(locale):
    return to_gettext(Locale.parse(locale).plural_form).partition("plural=")[2].rstrip(";")

def is_refused(locale):
    try:
        gettext.c2py(expression(locale))
    except ValueError as error:
        return str(error) == "invalid token in plural form: e"
    return False

expect("forms of German for 0, 1, 2", [gettext.c2py(expression("de"))(n) for n in range(3)], [1, 0, 1])
languages = {name.partition("_")[0] for name in locale_identifiers()}
expect("refused", sorted(filter(is_refused, languages)), ["ca", "es", "fr", "gl", "it", "lld", "pt", "scn", "vec"])
PYTHON
