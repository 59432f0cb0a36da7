#!/usr/bin/env bash
# pofilter reports the quotation marks of German, Polish, Russian and others as wrong, and takes straight ones for right.
#
# Guess: with `--language=de` the check "doublequoting" knows that "yes" in straight quotation marks is German with a low
#        and a high one, and reports other marks.
# Miss:  the module for German has nothing on quotation marks, as those for most languages: each translation with the marks
#        of its language is reported, and only the one that a typist would correct passes. French is an exception. Who
#        takes the reports for errors, or drops such pairs from a corpus, keeps the worse translations.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 polib==1.2.0
python - <<'PYTHON'
import subprocess

import polib
from finding import expect

TRANSLATIONS = {  # language, marks, reported
    ("de", "„ja“"): True, ("de", "»ja«"): True, ("de", '"ja"'): False,
    ("pl", "„tak”"): True, ("ru", "«да»"): True, ("sv", "”ja”"): True, ("cs", "„ano“"): True,
    ("fr", "«\xa0oui\xa0»"): False,
}
for (language, marked), stated in TRANSLATIONS.items():
    file = polib.POFile()
    file.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": language}
    file.append(polib.POEntry(msgid='"yes" is an answer', msgstr=f"{marked} x"))
    file.save("in.po")
    options = ["--progress=none", f"--language={language}", "-t", "doublequoting"]
    subprocess.run(["pofilter", *options, "in.po", "out.po"], check=True)
    try:
        reported = any("doublequoting" in one.tcomment for one in polib.pofile("out.po"))
    except OSError:  # nothing to report, no file
        reported = False
    expect(f"{language}, {marked}", reported, stated)
    subprocess.run(["rm", "-f", "out.po"], check=True)
PYTHON
