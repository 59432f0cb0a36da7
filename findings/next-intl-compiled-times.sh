#!/usr/bin/env bash
# A time loses its hour if next-intl compiles the message ahead: `{t, time, ::jmm}` is "34" at 12:34.
#
# Guess: what `icu-minify` compiles, and next-intl shows with precompiled messages, is what FormatJS, which it has
#        otherwise, makes of the message: plural forms, offsets, quotes, tags, styles and skeletons. The README says
#        "Full ICU support".
# Miss:  "j" in a skeleton, the hour as the language writes it, needs a language. The compiler has none and leaves the
#        hour out, alone or with a date. `scale/100`, by which 0.5 is 50 or a percentage, is dropped. With `offset:1`,
#        "Anna and # others" counts Anna as one of the others (a build for development has an error there, and none for
#        the rest). An empty plural form is an empty list and no text. A site that turns precompiling on to save bytes
#        shows other times and numbers, in each language, and nothing is reported.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund icu-minify@4.15.0 use-intl@4.15.0 intl-messageformat@12.1.5 \
    react@18.3.1 2>npm.log
cat >show.mjs <<'JAVASCRIPT'
import compile from 'icu-minify/compile'
import { IntlMessageFormat } from 'intl-messageformat'
import format from 'use-intl/format-message/format-only'

const formatters = {
  getDateTimeFormat: (...options) => new Intl.DateTimeFormat(...options),
  getNumberFormat: (...options) => new Intl.NumberFormat(...options),
  getPluralRules: (...options) => new Intl.PluralRules(...options),
}
const options = { locale: 'de', formatters, timeZone: 'UTC' }
const time = new Date('2031-05-17T12:34:56Z')
const anna = '{n, plural, offset:1 =1 {Anna} one {Anna und # Person} other {Anna und # Personen}}'
const messages = [
  ['{n, time, short}', time], ['{n, time, ::Hmm}', time], ['{n, time, ::jmm}', time], ['{n, date, ::yMMMdjmm}', time],
  ['{n, number, percent}', 0.5], ['{n, number, ::scale/100}', 0.5], [anna, 3], ['{n, plural, one {} other {#}}', 1],
]
console.log(JSON.stringify(messages.map(([message, n]) => [
  new IntlMessageFormat(message, 'de').format({ n }), format('key', compile(message), { n }, options),
])))
JAVASCRIPT
TZ=UTC node show.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

seen = json.load(open("seen.json"))
expect("style", seen[0], ["12:34", "12:34"])
expect("Hmm", seen[1], ["12:34", "12:34"])
expect("jmm", seen[2], ["12:34", "34"])
expect("yMMMdjmm", seen[3], ["17. Mai 2031, 12:34", "17. Mai 2031, 34"])
expect("percent", seen[4], 2 * ["50\N{NO-BREAK SPACE}%"])
expect("scale", seen[5], ["50", "0,5"])
expect("offset", seen[6], ["Anna und 2 Personen", "Anna und 3 Personen"])
expect("empty form", seen[7], ["", []])
PYTHON
