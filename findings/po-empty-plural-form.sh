#!/usr/bin/env bash
# A PO message with one empty plural form is compiled in four ways: the text that appears may be the source, or nothing.
#
# Guess: a message whose plural forms are not all there counts as untranslated, as one without a translation does, so
#        that the application shows the source; `msgfmt -c` reports it.
# Miss:  for "%d Datei" with an empty plural, the catalogs of GNU's msgfmt and of Translate Toolkit show no text at all
#        for two files; msgfmt -c is content, and counts the message as translated. polib's leaves the message out, and
#        Babel's shows the source for two files alone. If the singular is the empty one, msgfmt too leaves it out, and
#        the toolkit shows nothing for one file. A translation that fills one form of a message is worse than none for
#        some.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 polib==1.2.0 babel==2.19.0
cat >de.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: de\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] ""

msgid "%d page"
msgid_plural "%d pages"
msgstr[0] ""
msgstr[1] "%d Seiten"
PO
pocompile --progress=none de.po toolkit.mo
if [ -n "$(command -v msgfmt)" ]; then msgfmt -c -o gnu.mo de.po 2>warnings.log; fi
python - <<'PYTHON'
import gettext
from pathlib import Path

import polib
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from finding import expect

polib.pofile("de.po").save_as_mofile("polib.mo")
with open("de.po", "rb") as source, open("babel.mo", "wb") as target:
    write_mo(target, read_po(source))
STATED = {  # the texts for one and two files, then those for one and two pages
    "gnu": ["%d Datei", "", "%d page", "%d pages"],
    "toolkit": ["%d Datei", "", "", "%d Seiten"],
    "polib": ["%d file", "%d files", "%d page", "%d pages"],
    "babel": ["%d Datei", "%d files", "%d page", "%d Seiten"],
}
for name, stated in STATED.items():
    if Path(f"{name}.mo").exists():
        with open(f"{name}.mo", "rb") as catalog:
            ngettext = gettext.GNUTranslations(catalog).ngettext
        seen = [ngettext(f"%d {word}", f"%d {word}s", n) for word in ("file", "page") for n in (1, 2)]
        expect(name, seen, stated)
PYTHON
