#!/usr/bin/env bash
# Translate Toolkit leaves the end of the old translation in a unit with formatting, and approves the result.
#
# Guess: `unit.target = "..."` replaces the translation of an XLIFF or TMX unit, and marks it as translated.
# Miss:  only the text before the first inline element is replaced. The elements stay with their old words and what
#        follows them, so a unit says the new sentence and then half of the old one; in XLIFF it also becomes
#        approved="yes", where it needed a review before. A program that writes machine translations this way spoils the
#        units with formatting, and a translation memory of them is later data for training.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4
python - <<'PYTHON'
import io
from finding import expect
from translate.storage.tmx import tmxfile
from translate.storage.xliff import xlifffile

XLIFF = """<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
<file original="f" source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="1"><source>Press <g id="1">OK</g> now</source>
<target state="needs-review-translation">Drücke <g id="1">Gut</g> jetzt</target></trans-unit>
<trans-unit id="2"><source>Press OK</source>
<target state="needs-review-translation">Drücke Gut</target></trans-unit></body></file></xliff>"""
TMX = """<tmx version="1.4"><header creationtool="x" creationtoolversion="1" segtype="sentence" o-tmf="x"
adminlang="en" srclang="en" datatype="html"/><body><tu><tuv xml:lang="en"><seg>Press OK now</seg></tuv>
<tuv xml:lang="de"><seg>Drücke <bpt i="1">[</bpt>Gut<ept i="1">]</ept> jetzt</seg></tuv></tu></body></tmx>"""

units = xlifffile.parsestring(XLIFF.encode()).units
expect("approved before", [unit.isapproved() for unit in units], [False, False])
for unit in units:
    unit.target = "Bitte OK wählen"
again = xlifffile.parsestring(bytes(units[0]._store)).units
expect("targets", [unit.target for unit in again], ["Bitte OK wählenGut jetzt", "Bitte OK wählen"])
expect("approved after", [unit.isapproved() for unit in again], [True, True])
memory = tmxfile(io.BytesIO(TMX.encode()), "en", "de")
memory.units[0].target = "Bitte OK wählen"
expect("target of TMX", tmxfile(io.BytesIO(bytes(memory)), "en", "de").units[0].target, "Bitte OK wählen[Gut] jetzt")
PYTHON
