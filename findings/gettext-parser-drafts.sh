#!/usr/bin/env bash
# gettext-parser compiles fuzzy translations into a MO file, and turns the octal and hexadecimal escapes of PO to digits.
#
# Guess: `mo.compile(po.parse(...))` leaves fuzzy and empty messages out, as msgfmt, Babel and polib do; "\303\251" is the
#        letter of these two bytes, "\x41" is "A" and "\a" the bell, as in GNU gettext.
# Miss:  empty messages are left out and fuzzy ones compiled: a program shows drafts, often the translation of another text,
#        as soon as its catalogues are built with this package. Of an unknown escape the backslash is dropped:
#        "caf\303\251" is "caf303251", without an error.
. "$(dirname "$0")/environment.sh" babel==2.19.0 polib==1.2.0
npm install --silent --no-audit --no-fund gettext-parser@10.0.0
cat >de.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\n"

msgid "Delete"
msgstr "Löschen"

#, fuzzy
msgid "Do not delete"
msgstr "Löschen"

msgid "Open"
msgstr ""

msgid "Coffee"
msgstr "caf\303\251"

msgid "Letter"
msgstr "\x41"

msgid "Bell"
msgstr "\a"
PO
cat >compile.mjs <<'JAVASCRIPT'
import { readFileSync, writeFileSync } from 'node:fs'
import { mo, po } from 'gettext-parser'

writeFileSync('de.mo', mo.compile(po.parse(readFileSync('de.po'))))
JAVASCRIPT
node compile.mjs
python - <<'PYTHON'
import gettext
import io

import polib
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from finding import expect

def compiled_by_babel():
    compiled = io.BytesIO()
    write_mo(compiled, read_po(open("de.po", "rb")))
    return io.BytesIO(compiled.getvalue())

def texts(compiled):
    translations = gettext.GNUTranslations(compiled)
    return [translations.gettext(source) for source in ("Delete", "Do not delete", "Open")]

seen = open("de.mo", "rb")
expect("gettext-parser", texts(seen), ["Löschen", "Löschen", "Open"])
for name, compiled in (("Babel", compiled_by_babel()), ("polib", io.BytesIO(polib.pofile("de.po").to_binary()))):
    expect(name, texts(compiled), ["Löschen", "Do not delete", "Open"])
seen.seek(0)
translations = gettext.GNUTranslations(seen)
expect("escapes", [translations.gettext(source) for source in ("Coffee", "Letter", "Bell")], ["caf303251", "x41", "a"])
PYTHON
