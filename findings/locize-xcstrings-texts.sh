#!/usr/bin/env bash
# locize-xcstrings changes texts on the way from an Apple string catalogue and back: 'auf "OK": jetzt' gets a space.
#
# Guess: `locize2xcstrings(xcstrings2locize(catalogue))` has the same texts, plural forms and comments; states are lost,
#        as each text comes back "translated".
# Miss:  the file is written as JSON and then made to look like Apple's by replacing signs in the whole of it, texts
#        included. A quotation mark before a colon gets a space in each language. A text with empty braces and a comma
#        gets two line ends, and the file is no JSON any more. A key that ends with square brackets, and in such a
#        catalogue the key is the source text, loses them and its translation: the brackets are taken for a mark of
#        plural forms. Substitutions, the plural forms of a sentence with two numbers, are not carried, so the sentence
#        refers to nothing; a name that must not be translated loses `shouldTranslate`.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund locize-xcstrings@2.0.0
cat >back.mjs <<'JAVASCRIPT'
import { locize2xcstrings, xcstrings2locize } from 'locize-xcstrings'

const unit = (value) => ({ stringUnit: { state: 'translated', value } })
const plural = (one, other) => ({ variations: { plural: { one: unit(one), other: unit(other) } } })
const back = (strings) => locize2xcstrings(xcstrings2locize({ sourceLanguage: 'en', version: '1.0', strings }))
const german = (entry) => entry?.localizations?.de
const strings = {
  plain: { localizations: { de: unit('Drücken Sie OK: jetzt') } },
  quoted: { localizations: { de: unit('Drücken Sie auf "OK": jetzt') } },
  files: { localizations: { de: plural('%lld Datei', '%lld Dateien') } },
  'Notes [draft]': { localizations: { de: unit('Notizen [Entwurf]') } },
  both: { localizations: { de: { ...unit('%#@f@ neu'), substitutions: { f: plural('%arg Datei', '%arg Dateien') } } } },
  Lingua: { shouldTranslate: false, localizations: { de: unit('Lingua') } },
}
const seen = JSON.parse(back(strings)).strings
let json = true
try {
  JSON.parse(back({ empty: { localizations: { de: unit('Felder: {}, Werte: 5') } } }))
} catch {
  json = false
}
console.log(JSON.stringify({
  plain: german(seen.plain).stringUnit.value,
  quoted: german(seen.quoted).stringUnit.value,
  files: german(seen.files).variations.plural.other.stringUnit.value,
  keys: Object.keys(seen).sort(),
  bracket: german(seen['Notes '])?.stringUnit?.value ?? null,
  substitutions: german(seen.both).substitutions ?? null,
  shouldTranslate: seen.Lingua.shouldTranslate ?? null,
  json,
}))
JAVASCRIPT
node back.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

STATED = {
    "plain": "Drücken Sie OK: jetzt",
    "quoted": 'Drücken Sie auf "OK" : jetzt',
    "files": "%lld Dateien",
    "keys": ["Lingua", "Notes ", "both", "files", "plain", "quoted"],
    "bracket": None,
    "substitutions": None,
    "shouldTranslate": None,
    "json": False,
}
with open("seen.json", encoding="utf-8") as file:
    seen = json.load(file)
for name, stated in STATED.items():
    expect(name, seen[name], stated)
PYTHON
