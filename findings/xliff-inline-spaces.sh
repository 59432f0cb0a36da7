#!/usr/bin/env bash
# The npm package xliff writes line breaks around inline tags, so "un<g>friendly</g>" is two words for all other readers.
#
# Guess: `jsToXliff12(await xliff12ToJs(file))` has the same text in source and target, and the same inline tags; what is
#        lost is the state of the target.
# Miss:  the file is indented, and so is the content of a source or a target with tags: a line break and ten spaces stand
#        before each tag. The package's own reader takes them out again, so that reading and writing seem to be exact. A
#        program for translators shows two words, and a translation memory has another segment. Text without tags is not
#        touched, and none is with `indent: ""`.
. "$(dirname "$0")/environment.sh" lxml==6.1.3
npm install --silent --no-audit --no-fund xliff@6.4.0
cat >first.xlf <<'XLIFF'
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="1"><source>un<g id="1">friendly</g>, two  spaces</source><target>un<g id="1">freundlich</g></target></trans-unit>
<trans-unit id="2"><source>Two  spaces</source></trans-unit>
</body></file></xliff>
XLIFF
cat >write.mjs <<'JAVASCRIPT'
import { readFileSync, writeFileSync } from 'node:fs'
import xliff from 'xliff'

const units = await xliff.xliff12ToJs(readFileSync('first.xlf', 'utf8'))
writeFileSync('second.xlf', await xliff.jsToXliff12(units))
writeFileSync('plain.xlf', await xliff.jsToXliff12(units, { indent: '' }))
const again = await xliff.xliff12ToJs(readFileSync('second.xlf', 'utf8'))
writeFileSync('same.txt', String(JSON.stringify(again) === JSON.stringify(units)))
JAVASCRIPT
node write.mjs
python - <<'PYTHON'
from lxml import etree
from finding import expect


def texts(path):
    found = etree.parse(path).xpath("//*[local-name()='source' or local-name()='target']")
    return ["".join(one.itertext()) for one in found]


before = ["unfriendly, two  spaces", "unfreundlich", "Two  spaces"]
expect("before", texts("first.xlf"), before)
expect("after", texts("second.xlf"), ["un\n          friendly, two  spaces\n        ",
       "un\n          freundlich\n        ", "Two  spaces"])
expect("same for the package itself", open("same.txt").read(), "true")
expect("without indentation", texts("plain.xlf"), before)
PYTHON
