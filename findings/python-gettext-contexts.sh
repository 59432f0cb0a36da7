#!/usr/bin/env bash
# python-gettext gives the context of a message to all messages behind it, which are then not found and not translated.
#
# Guess: python-gettext, with which Zope and Plone compile their catalogues, makes the same MO file of a PO file as
#        msgfmt and polib: contexts, plural forms and escapes are there, fuzzy and obsolete messages are not.
# Miss:  a `msgctxt` is valid until the next one. A message without a context that stands behind one with a context has
#        that context in the MO file. A program that asks for it without a context, as it is in the source, gets the
#        source text. So one new message with a context turns off the translations of all that follow it, up to the end
#        of the file, whose order is that of the source code or the alphabet. The PO file is right, each editor shows it
#        as finished, and compiling it reports nothing.
. "$(dirname "$0")/environment.sh" python-gettext==5.0 polib==1.2.0
cat >de.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=n != 1;\n"

msgid "Close"
msgstr "Schließen"

msgctxt "menu"
msgid "Open"
msgstr "Öffnen"

msgid "Save"
msgstr "Speichern"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

#, fuzzy
msgid "Maybe"
msgstr "Vielleicht"

#~ msgid "Gone"
#~ msgstr "Weg"
PO
python - <<'PYTHON'
import gettext
import io

import polib
from finding import expect
from pythongettext.msgfmt import Msgfmt


def texts(compiled):
    """Return what a program shows for the messages of its source."""
    catalogue = gettext.GNUTranslations(io.BytesIO(compiled))
    return [
        catalogue.gettext("Close"),
        catalogue.pgettext("menu", "Open"),
        catalogue.gettext("Save"),
        catalogue.ngettext("%d file", "%d files", 5),
        catalogue.gettext("Maybe"),
        catalogue.gettext("Gone"),
    ]


expect("polib", texts(polib.pofile("de.po").to_binary()),
       ["Schließen", "Öffnen", "Speichern", "%d Dateien", "Maybe", "Gone"])
expect("python-gettext", texts(Msgfmt("de.po").get()), ["Schließen", "Öffnen", "Save", "%d files", "Maybe", "Gone"])
catalogue = gettext.GNUTranslations(io.BytesIO(Msgfmt("de.po").get()))
expect("with the context of another message", catalogue.pgettext("menu", "Save"), "Speichern")
PYTHON
