#!/usr/bin/env bash
# Two of four npm packages read Java properties otherwise than Java: keys get lost, and "\u00e4" is not replaced.
#
# Guess: javaproperties of Python, and dot-properties, properties-parser, java-properties and properties-reader of npm read
#        Unicode escapes, continued lines, escaped spaces in keys and spaces at the end as Java does. Of "!"
#        and ${key} no guess was written.
# Miss:  dot-properties and properties-parser do. properties-reader knows "=" alone: a continued line is a key of its own,
#        "key:text" and "key text" are keys without texts, "\u00e4" is six characters, and spaces at the end are gone.
#        java-properties knows escapes and colons, but takes "key text" for a key, keeps the backslash of "k\ ey", cuts
#        spaces at the end, and puts the text of another key for ${key}. Both take a comment with "!" for a key. A program
#        with texts that Java's tools wrote shows a key, or half a sentence; a file with "=" and ASCII alone is right.
. "$(dirname "$0")/environment.sh" javaproperties==0.8.2
npm install --silent --no-audit --no-fund dot-properties@1.1.2 properties-parser@0.6.0 java-properties@1.0.2 \
    properties-reader@3.0.1
cat >de.properties <<'PROPERTIES'
! A comment
equals=eins
colon:zwei
space drei
escaped=\u00e4
continued=vier \
    fünf
end=sechs: 
k\ ey=sieben
variable=${equals}
PROPERTIES
cat >read.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import dot from 'dot-properties'
import java from 'java-properties'
import parser from 'properties-parser'
import { propertiesReader } from 'properties-reader'

const text = readFileSync('de.properties', 'utf8')
const file = java.of('de.properties')
console.log(JSON.stringify({
  'dot-properties': dot.parse(text),
  'properties-parser': parser.parse(text),
  'java-properties': Object.fromEntries(file.getKeys().map((key) => [key, file.get(key)])),
  'properties-reader': propertiesReader({ sourceFile: 'de.properties' }).getAllProperties(),
}))
JAVASCRIPT
node read.mjs >seen.json
python - <<'PYTHON'
import json

import javaproperties
from finding import expect

seen = json.load(open("seen.json"))
java = {
    "equals": "eins", "colon": "zwei", "space": "drei", "escaped": "ä", "continued": "vier fünf", "end": "sechs: ",
    "k ey": "sieben", "variable": "${equals}",
}
expect("javaproperties", javaproperties.loads(open("de.properties", encoding="utf-8").read()), java)
expect("dot-properties", seen["dot-properties"], java)
expect("properties-parser", seen["properties-parser"], java)
expect("java-properties", seen["java-properties"], {
    "! A comment": "", "equals": "eins", "colon": "zwei", "space drei": "", "escaped": "ä", "continued": "vier fünf",
    "end": "sechs:", r"k\ ey": "sieben", "variable": "eins",
})
expect("properties-reader", seen["properties-reader"], {
    "! A comment": "", "equals": "eins", "colon:zwei": "", "space drei": "", "escaped": r"\u00e4", "continued": "vier \\",
    "fünf": "", "end": "sechs:", r"k\ ey": "sieben", "variable": "${equals}",
})
PYTHON
