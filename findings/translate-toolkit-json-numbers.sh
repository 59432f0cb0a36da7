#!/usr/bin/env bash
# json2po writes an empty PO file, and ends with exit code 0, if a JSON file has one number or truth value.
#
# Guess: of {"title": "House", "rooms": 5, "open": true} the text is a message; the rest is left out, as `po2json` keeps it.
# Miss:  the one number makes the whole file fail with a warning about "got 'int'", and the PO file is empty. A value
#        that is null is no error: it becomes a message with an empty text. A script that converts a folder of catalogues and
#        goes by exit codes hands the translators an empty file, and every text of that catalogue stays in the source
#        language. `po2json` alone, for the same template, is right.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 polib==1.2.0
python - <<'PYTHON'
import json
import subprocess
from pathlib import Path

import polib
from finding import expect

def messages(value):
    """Return the exit code of json2po and the messages, or None for a file without a byte."""
    Path("de.json").write_text(json.dumps({"title": "House", "value": value}))
    done = subprocess.run(["json2po", "--progress=none", "de.json", "de.po"], capture_output=True, text=True)
    if not Path("de.po").stat().st_size:
        return done.returncode, None
    return done.returncode, [entry.msgid for entry in polib.pofile("de.po")]

expect("null", messages(None), (0, ["House", ""]))
expect("another text", messages("Garden"), (0, ["House", "Garden"]))
for value in (5, 1.5, True, ["Garden", 5]):
    expect(repr(value), messages(value), (0, None))
PYTHON
