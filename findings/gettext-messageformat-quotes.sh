#!/usr/bin/env bash
# gettext-to-messageformat writes ICU messages in which an apostrophe hides an argument: "Datei '%s'" is "Datei {0}".
#
# Guess: apostrophes and braces are doubled or quoted, so that "geht's %s", "{x}", "%d%%", "<b>" and "#" of a PO file
#        mean the same in the ICU message that is made of it.
# Miss:  version 0.4.0 marks "{" and "#" with backslashes and leaves apostrophes, as messageformat 1 reads them. For
#        messageformat 2, @messageformat/core and intl-messageformat an apostrophe before a brace begins a quoted text,
#        and a backslash is a sign like others. So '%s' in single quotation marks, as catalogues have it around names of
#        files, loses the value without an error; "Nr. #5" is shown with a backslash; a text with braces is an error.
#        "geht's %s" and percentages are right, and so are tags if intl-messageformat is told to ignore them.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund gettext-to-messageformat@0.4.0 version1@npm:messageformat@1.1.1 \
    version2@npm:messageformat@2.3.0 @messageformat/core@3.4.0 intl-messageformat@12.1.5
cat >texts.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: de\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

msgid "apostrophe"
msgstr "Jetzt geht's %s"

msgid "percent"
msgstr "%d%% davon"

msgid "tag"
msgstr "<b>%s</b>"

msgid "quotes"
msgstr "Datei '%s' fehlt"

msgid "number sign"
msgstr "Nr. #5"

msgid "braces"
msgstr "Wert {x}"
PO
cat >texts.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import MessageFormat from '@messageformat/core'
import gettext from 'gettext-to-messageformat'
import { IntlMessageFormat } from 'intl-messageformat'
import MessageFormat1 from 'version1'
import MessageFormat2 from 'version2'

const { headers, pluralFunction, translations } = gettext.parsePo(readFileSync('texts.po', 'utf8'))
const formatters = {
  'messageformat 1': (text) => new MessageFormat1({ [headers.Language]: pluralFunction }).compile(text)(['A']),
  'messageformat 2': (text) => new MessageFormat2({ [headers.Language]: pluralFunction }).compile(text)(['A']),
  '@messageformat/core': (text) => new MessageFormat('de').compile(text)(['A']),
  'intl-messageformat': (text) => new IntlMessageFormat(text, 'de', undefined, { ignoreTag: true }).format(['A']),
}
const shown = (format, text) => {
  try {
    return format(text)
  } catch {
    return 'error'
  }
}
const seen = {}
for (const [name, format] of Object.entries(formatters)) {
  seen[name] = Object.fromEntries(Object.entries(translations).map(([id, text]) => [id, shown(format, text)]))
}
console.log(JSON.stringify(seen))
JAVASCRIPT
node texts.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

RIGHT = {
    "apostrophe": "Jetzt geht's A",
    "percent": "A% davon",
    "tag": "<b>A</b>",
    "quotes": "Datei 'A' fehlt",
    "number sign": "Nr. #5",
    "braces": "Wert {x}",
}
WRONG = {"quotes": "Datei {0} fehlt", "number sign": r"Nr. \#5", "braces": "error"}
with open("seen.json") as file:
    seen = json.load(file)
expect("messageformat 1", seen["messageformat 1"], RIGHT)
for name in ("messageformat 2", "@messageformat/core", "intl-messageformat"):
    expect(name, seen[name], {**RIGHT, **WRONG})
PYTHON
