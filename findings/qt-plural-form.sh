#!/usr/bin/env bash
# One empty plural form takes the others of a Qt message with it, and lrelease counts the message as finished.
#
# Guess: lrelease warns about a plural form that is missing or empty, and Qt shows the forms that are there.
# Miss:  it says "finished", with exit code 0; Qt then shows the source text for every number, also for the one whose
#        form was translated. A tool that fills the singular alone has translated nothing.
. "$(dirname "$0")/environment.sh" PySide6-Essentials==6.12.0
cat >de.ts <<'TS'
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en">
<context><name>Main</name>
<message numerus="yes"><source>%n folder(s)</source>
<translation><numerusform>%n Ordner</numerusform><numerusform>%n Ordner</numerusform></translation></message>
<message numerus="yes"><source>%n file(s)</source>
<translation><numerusform>%n Datei</numerusform></translation></message>
<message numerus="yes"><source>%n page(s)</source>
<translation><numerusform>%n Seite</numerusform><numerusform></numerusform></translation></message>
</context>
</TS>
TS
pyside6-lrelease de.ts -qm de.qm >lrelease.log 2>&1
python - <<'PYTHON'
import re
from PySide6.QtCore import QCoreApplication, QTranslator
from finding import expect

expect("lrelease", re.search(r"Generated (.*)", open("lrelease.log").read())[1],
       "3 translation(s) (3 finished and 0 unfinished)")
app, translator = QCoreApplication([]), QTranslator()
translator.load("de.qm")
app.installTranslator(translator)
shown = {(text, n): QCoreApplication.translate("Main", text, "", n)
         for text in ("%n folder(s)", "%n file(s)", "%n page(s)") for n in (1, 2)}
expect("both forms", [shown["%n folder(s)", n] for n in (1, 2)], ["1 Ordner", "2 Ordner"])
expect("one form missing", [shown["%n file(s)", n] for n in (1, 2)], ["1 file(s)", "2 file(s)"])
expect("one form empty", [shown["%n page(s)", n] for n in (1, 2)], ["1 page(s)", "2 page(s)"])
PYTHON
