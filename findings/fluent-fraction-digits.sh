#!/usr/bin/env bash
# fluent.runtime chooses the singular for a number that it then writes with decimals: "1,0 Stunde".
#
# Guess: `NUMBER($n, minimumFractionDigits: 1)` chooses the plural form of the number as it is written, as Fluent.js
#        does with Intl.PluralRules: "1,0" is `other` in German and English, for which "1" alone is `one`.
# Miss:  it writes 1.0 and chooses by the value before that, `one`, unless the number is a Decimal that has the digits
#        itself. A message that says "1.0 hours" in a browser says "1.0 hour" on a server in Python.
. "$(dirname "$0")/environment.sh" fluent.runtime==0.4.0 fluent.syntax==0.19.0 babel==2.19.0
python - <<'PYTHON'
from decimal import Decimal

from babel import Locale
from finding import expect
from fluent.runtime import FluentBundle, FluentResource

MESSAGE = """
duration = { NUMBER($n, minimumFractionDigits: 1) ->
    [one] { NUMBER($n, minimumFractionDigits: 1) } singular
   *[other] { NUMBER($n, minimumFractionDigits: 1) } plural
}
"""
for language, written in (("de", "1,0"), ("en", "1.0")):
    bundle = FluentBundle([language], use_isolating=False)
    bundle.add_resource(FluentResource(MESSAGE))
    duration = bundle.get_message("duration").value
    expect(f"{language}, category of {written}", Locale(language).plural_form(Decimal("1.0")), "other")
    for n, form in ((1, "singular"), (1.0, "singular"), (Decimal("1.0"), "plural")):
        expect(f"{language}, {n!r}", bundle.format_pattern(duration, {"n": n}), (f"{written} {form}", []))
PYTHON
