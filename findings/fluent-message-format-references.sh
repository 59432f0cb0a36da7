#!/usr/bin/env bash
# A Fluent message that refers to another loses the variables of that one when it becomes MessageFormat 2.
#
# Guess: `fluentToResource` of @messageformat/fluent gives messages that format as in @fluent/bundle: a reference to a
#        message takes the variables of the whole, as Fluent has it, and a term has only what is given in brackets.
# Miss:  a message is called like a term, without variables. "{ files } in { folder }" for one file shows the
#        placeholders, and the plural form for others, since no number is there to choose by; only the handler of errors
#        hears of it. The same messages by themselves are right, as are selectors, attributes and terms, so a test of
#        each message alone shows nothing. Who moves a catalogue to the new format finds this in the composed texts
#        alone.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund \
    @messageformat/fluent@0.14.0 messageformat@4.0.0 @fluent/bundle@0.19.1 @fluent/syntax@0.19.0
cat >messages.ftl <<'FTL'
-brand = { $case ->
    [genitive] Hauses
   *[other] Haus
}
of = Bilder des { -brand(case: "genitive") }
files = { $files ->
    [one] eine Datei
   *[other] { $files } Dateien
}
folder = Ordner { $folder }
both = { files } in { folder }
FTL
cat >format.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import { fluentToResource } from '@messageformat/fluent'
import { FluentBundle, FluentResource } from '@fluent/bundle'

const source = readFileSync('messages.ftl', 'utf8')
const bundle = new FluentBundle('de', { useIsolating: false })
bundle.addResource(new FluentResource(source))
const resource = fluentToResource('de', source, { bidiIsolation: 'none' })
const variables = { files: 1, folder: 'A' }
const seen = {}
for (const name of ['of', 'files', 'folder', 'both']) {
  const errors = []
  seen[name] = [
    bundle.formatPattern(bundle.getMessage(name).value, variables),
    resource.get(name).get('').format(variables, (error) => errors.push(error)),
    errors.length > 0,
  ]
}
console.log(JSON.stringify(seen))
JAVASCRIPT
node format.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

seen = json.load(open("seen.json", encoding="utf-8"))
for name, text in [("of", "Bilder des Hauses"), ("files", "eine Datei"), ("folder", "Ordner A")]:
    expect(name, seen[name], [text, text, False])
expect("both", seen["both"], ["eine Datei in Ordner A", "{$files} Dateien in Ordner {$folder}", True])
PYTHON
