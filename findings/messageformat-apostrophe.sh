#!/usr/bin/env bash
# In an ICU message, "l'{name}" is "l'Anna" for two JavaScript libraries, and "l{name}" for ICU and FormatJS.
#
# Guess: an apostrophe before a brace begins a quotation, as in ICU, in icu4py, intl-messageformat (FormatJS, React
#        Intl), @messageformat/core and Lingui alike; before a letter it is an apostrophe.
# Miss:  @messageformat/core, and Lingui with its parser, begin one only if a second apostrophe ends it. French and
#        Italian, whose articles stand so before a name, are right there, "l'Anna"; in the other two the same
#        catalogue shows the placeholder, and drops the apostrophe. Within a plural form, "l'# ans" swallows the brace
#        there, and is an error. Two apostrophes are right in all four. A check of placeholders finds "{name}" in both
#        texts.
. "$(dirname "$0")/environment.sh" icu4py==1.2.0
npm install --silent --no-audit --no-fund intl-messageformat@12.1.5 @messageformat/core@3.4.1 @lingui/core@5.9.5 \
    @lingui/message-utils@5.9.5
cat >format.mjs <<'JAVASCRIPT'
import MessageFormat from '@messageformat/core'
import { setupI18n } from '@lingui/core'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import { IntlMessageFormat } from 'intl-messageformat'
import { readFileSync } from 'node:fs'

const VALUES = { name: 'Anna', n: 2 }
const lingui = (text) => {
  const i18n = setupI18n({ locale: 'fr', messages: { fr: { key: compileMessage(text) } } })
  return i18n._('key', VALUES)
}
const libraries = {
  'intl-messageformat': (text) => new IntlMessageFormat(text, 'fr').format(VALUES),
  '@messageformat/core': (text) => new MessageFormat('fr').compile(text)(VALUES),
  lingui,
}
const attempt = (format, text) => {
  try {
    return format(text)
  } catch {
    return 'error'
  }
}
const texts = JSON.parse(readFileSync('texts.json', 'utf8'))
const all = Object.entries(libraries).map(([name, format]) => [name, texts.map((text) => attempt(format, text))])
process.stdout.write(JSON.stringify(Object.fromEntries(all)))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

from finding import expect
from icu4py.messageformat import MessageFormat

TEXTS = ["l'{name}", "l''{name}", "l'homme {name}", "'{name}' {n}", "{n, plural, one {l'an} other {l'# ans}}"]
with open("texts.json", "w", encoding="utf-8") as file:
    json.dump(TEXTS, file)


def by_icu(text):
    try:
        return MessageFormat(text, "fr").format({"name": "Anna", "n": 2})
    except Exception:
        return "error"


seen = {"icu4py": [by_icu(text) for text in TEXTS]}
seen |= json.loads(subprocess.run(["node", "format.mjs"], check=True, capture_output=True).stdout)
alike = ["l'Anna", "l'homme Anna", "{name} 2"]
for name, texts in seen.items():
    expect(f"{name}, the same in all", texts[1:4], alike)
    quotes = name in ("icu4py", "intl-messageformat")
    expect(f"{name}, {TEXTS[0]!r}", texts[0], "l{name}" if quotes else "l'Anna")
    expect(f"{name}, in a plural form", texts[4], "error" if quotes else "l'2 ans")
PYTHON
