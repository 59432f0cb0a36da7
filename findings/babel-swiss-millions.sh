#!/usr/bin/env bash
# Babel 2.19 writes Swiss numbers from a million on without separators, or with some of them: "1234567", "1234567'890".
#
# Guess: `format_decimal(1234567.5, locale="de_CH")` has an apostrophe after every third digit, as 12'345 has it.
# Miss:  the data of Babel 2.19 have the straight apostrophe as separator, where 2.18 had the curved one. In a pattern this
#        sign quotes text, and Babel removes quotes after it has put the number in: two separators are a pair, and go. So it
#        is in the German, French, Italian and English of Switzerland, for amounts too. A test with thousands does not
#        show it. Strict reading refuses the right form, "1'234'567", and any reading what Babel wrote before, with curved
#        apostrophes.
. "$(dirname "$0")/environment.sh" babel==2.19.0
python - <<'PYTHON'
from babel.localedata import locale_identifiers
from babel.numbers import NumberFormatError, format_currency, format_decimal, get_group_symbol, parse_decimal
from finding import expect


def parsed(text, **options):
    try:
        return parse_decimal(text, locale="de_CH", **options)
    except NumberFormatError:
        return "refused"


for number, written in ((12345, "12'345"), (1234567.5, "1234567.5"), (1234567890, "1234567'890")):
    expect(f"{number}", format_decimal(number, locale="de_CH"), written)
expect("amount", format_currency(1234567, "CHF", locale="de_CH"), "CHF\xa01234567.00")
expect("German", format_decimal(1234567.5, locale="de"), "1.234.567,5")
locales = [one for one in locale_identifiers() if get_group_symbol(one) == "'"]
expect("locales", " ".join(sorted(locales)), "de_CH de_LI en_CH fr_CH gsw gsw_CH gsw_FR gsw_LI it_CH")
expect("without a separator in the middle", {format_decimal(1234567, locale=one) for one in locales}, {"1234567"})
expect("read, curved", parsed("1\u2019234\u2019567"), "refused")
expect("read, straight", int(parsed("1'234'567")), 1234567)
expect("read strictly, straight", parsed("1'234'567", strict=True), "refused")
PYTHON
