#!/usr/bin/env bash
# node-gettext chooses plural forms by a table of its own, not by the catalogue: Brazilian Portuguese says "0 arquivos".
#
# Guess: `ngettext` goes by the `Plural-Forms` of the catalogue that was added, as every gettext does: with "n > 1", which
#        Brazilian catalogues have, none is singular, "0 arquivo". Of Georgian and Sorbian no guess was written.
# Miss:  the header is not read. What follows the language is cut off, so Brazil has the rule of Portugal. Georgian has one
#        form in the table, so that the form for several is never shown, although the catalogue has it. A language that
#        the table lacks, such as Upper Sorbian or Swiss German, is a TypeError as soon as a plural is asked for. The same
#        catalogues are right in Python.
. "$(dirname "$0")/environment.sh" polib==1.2.0
npm install --silent --no-audit --no-fund node-gettext@3.0.1 gettext-parser@10.0.0
catalogue() {  # LANGUAGE PLURAL-FORMS TRANSLATION...
    printf 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n"Language: %s\\n"\n' "$1"
    printf '"Plural-Forms: %s\\n"\n\nmsgid "%%d file"\nmsgid_plural "%%d files"\n' "$2"
    shift 2
    local number=0
    for form; do printf 'msgstr[%d] "%s"\n' $((number++)) "$form"; done
}
catalogue pt_BR 'nplurals=2; plural=(n > 1);' '%d arquivo' '%d arquivos' >pt_BR.po
catalogue ka 'nplurals=2; plural=(n != 1);' one other >ka.po
catalogue de 'nplurals=2; plural=(n != 1);' '%d Datei' '%d Dateien' >de.po
catalogue hsb 'nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);' a b c d >hsb.po
cat >show.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import Gettext from 'node-gettext'
import { po } from 'gettext-parser'

const seen = {}
for (const language of ['pt_BR', 'ka', 'de', 'hsb']) {
  const gettext = new Gettext()
  gettext.addTranslations(language, 'messages', po.parse(readFileSync(`${language}.po`)))
  gettext.setLocale(language)
  try {
    seen[language] = [0, 1, 2].map((n) => gettext.ngettext('%d file', '%d files', n))
  } catch (error) {
    seen[language] = error.name
  }
}
console.log(JSON.stringify(seen))
JAVASCRIPT
node show.mjs >seen.json
python - <<'PYTHON'
import gettext
import io
import json

import polib
from finding import expect

def by_python(language):
    translations = gettext.GNUTranslations(io.BytesIO(polib.pofile(f"{language}.po").to_binary()))
    return [translations.ngettext("%d file", "%d files", n) for n in (0, 1, 2)]

seen = json.load(open("seen.json"))
one, other = "%d arquivo", "%d arquivos"
expect("Python, pt_BR", by_python("pt_BR"), [one, one, other])
expect("node-gettext, pt_BR", seen["pt_BR"], [other, one, other])
expect("Python, ka", by_python("ka"), ["other", "one", "other"])
expect("node-gettext, ka", seen["ka"], ["one", "one", "one"])
expect("Python, hsb", by_python("hsb"), ["d", "a", "b"])
expect("node-gettext, hsb", seen["hsb"], "TypeError")
expect("node-gettext, de", seen["de"], by_python("de"))
PYTHON
