#!/usr/bin/env bash
# po2ini and po2resx write an empty text for each message that has no translation yet.
#
# Guess: without translations, `po2html` gives the HTML file of its template again, and so do the other converters of
#        Translate Toolkit; `po2ini` and `po2resx` keep even the comments.
# Miss:  so it is with JSON, HTML and Java properties. In INI files and resources of .NET the text is gone: a program
#        whose catalogue is half translated has blank labels, where the others show the source. A draft, marked fuzzy,
#        is written as the source, so an entry that nobody touched is worse off than one that was guessed.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 iniparse==0.5.3 polib==1.2.0
printf '[a]\nfirst = House\nsecond = Garden\nthird = Tree\n' >in.ini
printf 'first = House\nsecond = Garden\nthird = Tree\n' >in.properties
printf '{"first": "House", "second": "Garden", "third": "Tree"}' >in.json
printf '<p>House</p><p>Garden</p><p>Tree</p>' >in.html
{
    printf '<?xml version="1.0" encoding="utf-8"?>\n<root>\n'
    printf '<data name="%s" xml:space="preserve"><value>%s</value></data>\n' first House second Garden third Tree
    printf '</root>\n'
} >in.resx
python - <<'PYTHON'
import re
import subprocess
from pathlib import Path

import polib
from finding import expect

def converted(kind, name):
    """Return the texts of a file in whose PO file one message is translated, one fuzzy, and one has no translation."""
    subprocess.run([f"{name}2po", "--progress=none", f"in.{kind}", f"{kind}.po"], check=True)
    catalogue = polib.pofile(f"{kind}.po")
    catalogue.find("House").msgstr = "Haus"
    draft = catalogue.find("Garden")
    draft.msgstr, draft.flags = "Gartn", ["fuzzy"]
    catalogue.save()
    subprocess.run(
        [f"po2{name}", "--progress=none", "-t", f"in.{kind}", f"{kind}.po", f"out.{kind}"], check=True, capture_output=True
    )
    text = Path(f"out.{kind}").read_text()
    value = {
        "ini": r"= ?(.*)", "properties": r"= ?(.*)", "json": r': "(.*)"', "html": "<p>(.*?)</p>",
        "resx": "<value>(.*)</value>",
    }[kind]
    return re.findall(value, text)

for kind, name in (("json", "json"), ("html", "html"), ("properties", "prop")):
    expect(kind, converted(kind, name), ["Haus", "Garden", "Tree"])
for kind in ("ini", "resx"):
    expect(kind, converted(kind, kind), ["Haus", "Garden", ""])
PYTHON
