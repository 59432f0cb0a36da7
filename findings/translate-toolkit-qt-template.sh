#!/usr/bin/env bash
# po2ts with a template writes each message twice, the old translation first, and lrelease takes that.
#
# Guess: a TS file that goes to PO and back has its messages again: `ts2po` keeps contexts and plural forms, and `po2ts`
#        puts what was translated into the messages of the template.
# Miss:  the messages of the template stay as they were, and the translated ones follow as further messages of the same
#        context. lrelease keeps the first of equal messages, so a translation that was corrected is never shown, while one
#        that was missing before is: the mistake is seen only where somebody looks for a correction. Without a template
#        each message is there once.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 pyside6-essentials==6.12.0 polib==1.2.0
cat >de.ts <<'TS'
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en">
<context><name>Main</name>
<message><source>Open</source><translation>Auf</translation></message>
<message><source>Save</source><translation type="unfinished"></translation></message>
</context>
</TS>
TS
python - <<'PYTHON'
import re
import subprocess

import polib
from finding import expect
from PySide6.QtCore import QCoreApplication, QTranslator

app = QCoreApplication([])

def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)

def shown(name):
    """Return what a program shows with a file."""
    run("pyside6-lrelease", f"{name}.ts", "-qm", f"{name}.qm")
    translator = QTranslator()
    translator.load(f"{name}.qm")
    return [translator.translate("Main", source) for source in ("Open", "Save")]

run("ts2po", "--progress=none", "de.ts", "de.po")
catalogue = polib.pofile("de.po")
for source, translation in (("Open", "Öffnen"), ("Save", "Sichern")):
    entry = catalogue.find(source)
    entry.msgstr, entry.flags = translation, []
catalogue.save()
run("po2ts", "--progress=none", "-t", "de.ts", "de.po", "template.ts")
run("po2ts", "--progress=none", "de.po", "alone.ts")
expect("sources", re.findall("<source>(.*)</source>", open("template.ts").read()), ["Open", "Save", "Open", "Save"])
expect("sources without a template", re.findall("<source>(.*)</source>", open("alone.ts").read()), ["Open", "Save"])
expect("with a template", shown("template"), ["Auf", "Sichern"])
expect("without a template", shown("alone"), ["Öffnen", "Sichern"])
PYTHON
