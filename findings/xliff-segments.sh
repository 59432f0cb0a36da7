#!/usr/bin/env bash
# The npm package xliff pairs the source of the last segment of an XLIFF 2 unit with the target of another.
#
# Guess: a unit that a translator's program has divided into two segments gives both texts, joined or as a list, here as
#        with Translate Toolkit.
# Miss:  `xliff2js` has one source and one target for each unit: those that it met last. Of two translated segments the
#        first is lost, and it is not in the file that `js2xliff` writes. If the second has no translation yet, its source
#        stands beside the target of the first, as a pair. Programs that divide units into sentences, as translation
#        memories want them, make such files, and a half translated one is their usual state.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4
npm install --silent --no-audit --no-fund xliff@6.4.0
segment() { printf '<segment><source>%s</source>%s</segment>' "$1" "${2:+<target>$2</target>}"; }
file() {  # SEGMENTS
    printf '<xliff version="2.0" srcLang="en" trgLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0">'
    printf '<file id="f"><unit id="u">%s</unit></file></xliff>' "$1"
}
file "$(segment 'Stop here.' 'Hier anhalten.')$(segment 'Then go.' 'Dann gehen.')" >whole.xlf
file "$(segment 'Stop here.' 'Hier anhalten.')$(segment 'Then go.')" >half.xlf
cat >read.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import xliff from 'xliff'

const out = {}
for (const name of ['whole', 'half']) {
  const read = await xliff.xliff2js(readFileSync(`${name}.xlf`, 'utf8'))
  const { source, target } = read.resources.f.u
  out[name] = { pair: [source, target], written: await xliff.js2xliff(read) }
}
console.log(JSON.stringify(out))
JAVASCRIPT
node read.mjs >seen.json
python - <<'PYTHON'
import json
import re

from finding import expect
from translate.storage.xliff2 import Xliff2File

first, second = ["Stop here.", "Hier anhalten."], ["Then go.", "Dann gehen."]
seen = json.load(open("seen.json"))
expect("xliff, both translated", seen["whole"]["pair"], second)
expect("xliff, the first translated", seen["half"]["pair"], [second[0], first[1]])
expect("sources written", re.findall("<source>(.*)</source>", seen["whole"]["written"]), [second[0]])
for name, target in (("whole", second[1]), ("half", None)):
    units = Xliff2File.parsefile(f"{name}.xlf").units
    expect(f"Translate Toolkit, {name}", [[unit.source, unit.target] for unit in units], [first, [second[0], target]])
PYTHON
