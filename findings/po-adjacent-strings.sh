#!/usr/bin/env bash
# Two strings on one line of a PO file are one text for GNU gettext; readers in Python keep the quotes, or refuse.
#
# Guess: `msgid "a" "b"` is read as "ab", as GNU's msgfmt reads it and as in C; strings on lines of their own are.
# Miss:  Babel and Translate Toolkit read `a" "b`, without a warning, and Babel writes that as another message, whose
#        translation no program finds; polib raises an OSError for the file.
. "$(dirname "$0")/environment.sh" babel==2.19.0 translate-toolkit==3.20.4 polib==1.2.0
cat >de.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

msgid "one " "line"
msgstr "eine " "Zeile"

msgid ""
"two "
"lines"
msgstr "zwei Zeilen"
PO
if [ -n "$(command -v msgfmt)" ]; then msgfmt -o de.mo de.po; fi
python - <<'PYTHON'
import gettext, io, os
import polib
from babel.messages.pofile import read_po, write_po
from finding import expect
from translate.storage import pypo

if os.path.exists("de.mo"):
    with open("de.mo", "rb") as file:
        expect("GNU", gettext.GNUTranslations(file).gettext("one line"), "eine Zeile")
broken = [('one " "line', 'eine " "Zeile'), ("two lines", "zwei Zeilen")]
with open("de.po", "rb") as file:
    catalog = read_po(file)
expect("Babel", [(entry.id, entry.string) for entry in catalog if entry.id], broken)
written = io.BytesIO()
write_po(written, catalog, omit_header=True)
expect("Babel writes", written.getvalue().decode().split("\n")[0], r'msgid "one \" \"line"')
units = pypo.pofile.parsefile("de.po").units
expect("Translate Toolkit", [(unit.source, unit.target) for unit in units if unit.source], broken)
try:
    seen = len(polib.pofile("de.po"))
except OSError as error:
    seen = str(error)
expect("polib", seen, "Syntax error in po file de.po (line 5): unescaped double quote found")
PYTHON
