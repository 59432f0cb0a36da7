#!/usr/bin/env bash
# typopo makes dashes of hyphens that are none: "Haus –, Garten- und Hofarbeit", 2031–05–17, the standard ISO 9001–2.
#
# Guess: with the locale de-de a text gets German quotation marks, no-break spaces in "z. B." and dashes in ranges, as
#        "5–10 m" and "1.–3. Mai"; no word or number is changed otherwise.
# Miss:  the hyphen that stands for a part of a word in a list of compounds becomes a dash with a hair space in front if
#        a comma follows, though one before "und" is kept. A hyphen between digits is a range wherever it is: dates in
#        the form of ISO 8601, telephone numbers and names of standards are other strings after it, which no search and
#        no link finds. "30 °C" loses the space that German wants. A site that runs it over its texts as they are shown
#        does so to translations that had all of this right.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund typopo@3.1.0
cat >fix.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import { fixTypos } from 'typopo'

console.log(JSON.stringify(JSON.parse(readFileSync('texts.json', 'utf8')).map((text) => fixTypos(text, 'de-de'))))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

from finding import expect

STATED = {
    'Er sagte "ja".': "Er sagte „ja“.",
    "z. B. 5-10 m": "z.\u00a0B. 5–10\u00a0m",
    "Vom 1.-3. Mai": "Vom 1.–3.\u00a0Mai",
    "Ein- und Ausgang": "Ein- und Ausgang",
    "Haus-, Garten- und Hofarbeit": "Haus\u200a–, Garten- und Hofarbeit",
    "Stand 2031-05-17": "Stand 2031–05–17",
    "Telefon 030/1234-56": "Telefon 030/1234–56",
    "nach ISO 9001-2": "nach ISO 9001–2",
    "bei 30 °C": "bei 30°C",
}
with open("texts.json", "w") as file:
    json.dump(list(STATED), file)
for (text, stated), seen in zip(STATED.items(), json.loads(subprocess.check_output(["node", "fix.mjs"]))):
    expect(text, seen, stated)
PYTHON
