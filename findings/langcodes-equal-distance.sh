#!/usr/bin/env bash
# langcodes gives an Austrian reader the German of Switzerland or of Liechtenstein, if that comes first in the list.
#
# Guess: `closest_match("de-AT", ["de-CH", "de-DE"])` is "de-DE", since CLDR, whose distances it uses, prefers the main
#        variety of a language, as it does for English, Spanish and Portuguese.
# Miss:  German has no such groups in CLDR: all its regions are at the distance 4, plain "de" too, and the first of the list
#        is taken. Lists are often sorted, so that "de-CH" is before "de-DE". The text then has "ss" for each sharp s,
#        which is a mistake in Austria. Whoever offers regions has to sort them by preference.
. "$(dirname "$0")/environment.sh" langcodes==3.5.1 language_data==1.3.0
python - <<'PYTHON'
from finding import expect
from langcodes import closest_match

STATED = {
    ("de-CH", "de-DE"): ("de-CH", 4), ("de-DE", "de-CH"): ("de-DE", 4), ("de-LI", "de-CH", "de-DE"): ("de-LI", 4),
    ("de-CH", "de"): ("de-CH", 4),
}
for offered, stated in STATED.items():
    expect(f"de-AT of {', '.join(offered)}", closest_match("de-AT", offered), stated)
expect("es-MX", closest_match("es-MX", ["es-ES", "es-419"]), ("es-419", 1))
PYTHON
