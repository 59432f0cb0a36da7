#!/usr/bin/env bash
# pofile takes a draft for a translation if "fuzzy" is not its first flag, as Babel and Translate Toolkit write it.
#
# Guess: the npm package pofile reads "#, c-format, fuzzy" as it reads "#, fuzzy, c-format", and gives a file back with
#        its flags and the previous text of a draft ("#|").
# Miss:  flags are divided at commas, and the space behind a comma stays: the second flag is " fuzzy", which nobody
#        asks for. gettext-compile of easygettext and the compiler of angular-gettext leave drafts out by that flag, so
#        they show this one. msgmerge writes "fuzzy" first, and hides the fault; Babel sorts the flags, polib appends
#        them, and so does Translate Toolkit, by which Weblate writes: a message of C, C# or Boost has another before
#        it. The previous text, by which a translator sees what has changed, is not written at all.
. "$(dirname "$0")/environment.sh" babel==2.19.0 polib==1.2.0 translate-toolkit==3.20.4
npm install --silent --no-audit --no-fund pofile@1.1.4 easygettext@2.17.0 angular-gettext-tools@2.5.3 2>npm.log
python - <<'PYTHON'
import io
import re

import polib
from babel.messages import pofile
from finding import expect
from translate.storage import pypo

header = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n\n'
header = header.replace('utf-8\\n"\n', 'utf-8\\n"\n"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n')
message = '#, csharp-format\nmsgid "{0} files"\nmsgstr "{0} Feile"\n'

catalogue = pofile.read_po(io.BytesIO((header + message).encode()))
catalogue["{0} files"].flags.add("fuzzy")
file = io.BytesIO()
pofile.write_po(file, catalogue)
by_babel = file.getvalue().decode()
catalogue = polib.pofile(header + message)
catalogue[0].flags.append("fuzzy")
by_polib = str(catalogue)
catalogue = pypo.pofile.parsestring((header + message).encode())
catalogue.units[1].markfuzzy()
by_toolkit = bytes(catalogue).decode()
for name, text in {"Babel": by_babel, "polib": by_polib, "Translate Toolkit": by_toolkit}.items():
    expect(name, re.findall("^#, (.*fuzzy.*)", text, re.MULTILINE)[-1].split(", ")[:2], ["csharp-format", "fuzzy"])

with open("second.po", "w") as second, open("first.po", "w") as first:
    second.write(by_toolkit.replace("msgid \"{0}", "#| msgid \"{0} file\"\nmsgid \"{0}"))
    first.write(header + message.replace("csharp-format", "fuzzy, csharp-format"))
PYTHON
cat >read.cjs <<'JAVASCRIPT'
const { readFileSync } = require('fs')
const { Compiler } = require('angular-gettext-tools')
const PO = require('pofile')

const seen = {}
for (const name of ['first', 'second']) {
  const text = readFileSync(`${name}.po`, 'utf8')
  const catalogue = PO.parse(text)
  const shown = JSON.parse(new Compiler({ format: 'json' }).convertPo([text])).de ?? {}
  seen[name] = [Object.keys(catalogue.items[0].flags), shown, catalogue.toString().includes('#| msgid')]
}
console.log(JSON.stringify(seen))
JAVASCRIPT
node read.cjs >read.json
for name in first second; do npx --no-install gettext-compile --output $name.json $name.po >compile.log; done
python - <<'PYTHON'
import json

from finding import expect

seen = json.load(open("read.json"))
draft = {"{0} files": "{0} Feile"}
expect("flags, fuzzy first", seen["first"][0], ["fuzzy", " csharp-format"])
expect("flags, fuzzy second", seen["second"][0], ["csharp-format", " fuzzy"])
expect("angular-gettext, fuzzy first", seen["first"][1], {})
expect("angular-gettext, fuzzy second", seen["second"][1], draft)
expect("easygettext, fuzzy first", json.load(open("first.json")), {"de": {}})
expect("easygettext, fuzzy second", json.load(open("second.json")), {"de": draft})
expect("previous text is written", seen["second"][2], False)
PYTHON
