#!/usr/bin/env bash
# Lingui writes the text for exactly 0 as the singular of a PO file: one hit is "Keine Treffer" after the way back.
#
# Guess: @lingui/format-po-gettext keeps a plural that gettext cannot say, as one with =0, as an ICU message, as it
#        keeps `selectordinal` and plurals with text around; the quotes of ICU come back.
# Miss:  the forms are written in their order, and read as those of the language. "=0 {Keine Treffer} other {# Treffer}"
#        comes back as "one {Keine Treffer}": a search with one hit says that there is none, without a warning. With a
#        form for one as well, many files are "Eine Datei"; there a warning says that there is a translation too many.
#        An offset is lost, so that Anna is counted among the others, and quoted braces become a variable. A catalogue
#        without faults has them after an export that no translator has touched.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund @lingui/format-po-gettext@5.9.0 intl-messageformat@12.1.5
cat >back.mjs <<'JAVASCRIPT'
import { formatter } from '@lingui/format-po-gettext'
import { IntlMessageFormat } from 'intl-messageformat'

const context = { locale: 'de', sourceLocale: 'en', existing: null, filename: 'de.po' }
const show = (text, counts) => counts.map((n) => new IntlMessageFormat(text, 'de').format({ n, Datei: '' }))
const seen = {}
console.warn = () => (seen.warned = true)
for (const [name, counts, translation] of [
  ['ordinary', [0, 1, 5], '{n, plural, one {Eine Datei} other {# Dateien}}'],
  ['none', [0, 1, 5], '{n, plural, =0 {Keine Treffer} other {# Treffer}}'],
  ['all', [0, 1, 5], '{n, plural, =0 {Keine Datei} one {Eine Datei} other {# Dateien}}'],
  ['offset', [2, 3], '{n, plural, offset:1 one {Anna und # anderer} other {Anna und # andere}}'],
  ['quoted', [1], "{n, plural, one {'{'Datei'}' wählen} other {# wählen}}"],
]) {
  const entry = { message: '{n, plural, one {# file} other {# files}}', translation, origin: [], extra: {} }
  seen.warned = false
  const po = await formatter().serialize({ [name]: entry }, context)
  const back = (await formatter().parse(po, context))[name].translation
  seen[name] = [show(translation, counts), show(back, counts), seen.warned]
}
console.log(JSON.stringify(seen))
JAVASCRIPT
node back.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

seen = json.load(open("seen.json", encoding="utf-8"))
ordinary = ["0 Dateien", "Eine Datei", "5 Dateien"]
expect("one, other", seen["ordinary"], [ordinary, ordinary, False])
before, after = ["Keine Treffer", "1 Treffer", "5 Treffer"], ["0 Treffer", "Keine Treffer", "5 Treffer"]
expect("=0, other", seen["none"], [before, after, False])
before, after = ["Keine Datei", "Eine Datei", "5 Dateien"], ["Eine Datei", "Keine Datei", "Eine Datei"]
expect("=0, one, other", seen["all"], [before, after, True])
before, after = ["Anna und 1 anderer", "Anna und 2 andere"], ["Anna und 2 andere", "Anna und 3 andere"]
expect("offset", seen["offset"], [before, after, False])
expect("quoted", seen["quoted"], [["{Datei} wählen"], [" wählen"], False])
PYTHON
