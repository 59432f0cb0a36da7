#!/usr/bin/env bash
# A PO file that goes to XLIFF and back through Translate Toolkit loses its contexts, and deleted messages live again.
#
# Guess: `po2xliff` writes XLIFF 1.2, leaves obsolete entries (#~) out, and `xliff2po` brings contexts and flags back.
# Miss:  it writes XLIFF 1.1; the obsolete entry becomes an approved unit and comes back as a message in use; msgctxt,
#        and c-format are gone. Of two messages that differ in context alone one is left, with the other's translation lost.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 polib==1.2.0
cat >de.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: de\n"

msgctxt "menu"
msgid "Open"
msgstr "Öffnen"

msgctxt "state"
msgid "Open"
msgstr "Offen"

#, c-format
msgid "%d files"
msgstr "%d Dateien"

#~ msgid "Gone"
#~ msgstr "Weg"
PO
po2xliff --progress=none de.po de.xlf
xliff2po --progress=none de.xlf back.po
python - <<'PYTHON'
import re
import polib
from finding import expect

def entries(path):
    return [(one.msgctxt, one.msgid, one.msgstr, bool(one.obsolete), one.flags) for one in polib.pofile(path)]

expect("version of XLIFF", re.search(r'<xliff[^>]* version="([\d.]+)"', open("de.xlf").read())[1], "1.1")
expect("before", entries("de.po"), [("menu", "Open", "Öffnen", False, []), ("state", "Open", "Offen", False, []),
       (None, "%d files", "%d Dateien", False, ["c-format"]), (None, "Gone", "Weg", True, [])])
expect("after", entries("back.po"), [("", "Open", "Öffnen", False, []), (None, "%d files", "%d Dateien", False, []),
       (None, "Gone", "Weg", False, [])])
PYTHON
