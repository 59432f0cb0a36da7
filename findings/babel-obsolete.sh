#!/usr/bin/env bash
# Babel gives a message that was removed and comes back no translation, and then loses the one that it had kept.
#
# Guess: `pybabel update` marks what the template lacks as obsolete (#~) and takes it up again when the message is there
#        again, as msgmerge and polib do; that is what obsolete entries are kept for.
# Miss:  the message comes back untranslated, or as a draft with the translation of a similar text, and the right one
#        stands below as obsolete. When the message goes a second time, the obsolete entry becomes the empty one or the
#        draft. So after two changes of branches, or a commit that is reverted, the work of a translator is in no file
#        any more. Nothing is reported. Programs that extract often, as from a website, lose more the older their
#        catalogue is.
. "$(dirname "$0")/environment.sh" babel==2.19.0 polib==1.2.0
cat >head.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\n"
"Language: de\n"
PO
cat head.po - >de.po <<'PO'

msgid "House"
msgstr "Haus"

msgid "Close the window"
msgstr "Fenster schließen"

msgid "Never seen"
msgstr "Nie gesehen"
PO
cat head.po - >short.pot <<'PO'

msgid "House"
msgstr ""

msgid "Open the window"
msgstr ""
PO
cat short.pot - >full.pot <<'PO'

msgid "Close the window"
msgstr ""

msgid "Never seen"
msgstr ""
PO
cp de.po polib.po
python - <<'PYTHON'
import subprocess

import polib
from finding import expect


def update(template: str) -> dict[str, str]:
    """Update the catalogue and return its entries, with a sign before those that are obsolete or fuzzy."""
    command = ["pybabel", "--quiet", "update", "-l", "de", "-i", template, "-o", "de.po"]
    subprocess.run(command, check=True)
    entries = polib.pofile("de.po")
    return {("#~ " if one.obsolete else "") + one.msgid: "".join(one.flags) + one.msgstr for one in entries}


catalogue = polib.pofile("polib.po")
for template in ("short.pot", "full.pot"):
    catalogue.merge(polib.pofile(template))
expect("polib", catalogue.find("Never seen").msgstr, "Nie gesehen")

seen = update("short.pot")
expect("removed", seen["#~ Never seen"], "Nie gesehen")
seen = update("full.pot")
expect("back again", seen["Never seen"], "")
expect("and below", seen["#~ Never seen"], "Nie gesehen")
expect("a similar one is back", seen["Close the window"], "fuzzyFenster schließen")
seen = update("short.pot")
expect("removed again", seen["#~ Never seen"], "")
seen = update("full.pot")
expect("back once more", seen["Never seen"], "")
expect("the words in the file", "Nie gesehen" in open("de.po", encoding="utf-8").read(), False)
PYTHON
