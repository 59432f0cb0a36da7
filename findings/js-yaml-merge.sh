#!/usr/bin/env bash
# js-yaml 5 reads YAML 1.2 alone: a locale that takes its texts from another with "<<" has none of them.
#
# Guess: js-yaml reads 2031-05-17 as a Date and 1_000 as 1000, as it has done since its first versions.
# Miss:  both were of YAML 1.1 and are texts now. So was merging at "<<", of which no guess was written: "<<" is an
#        ordinary key now, whose value is the other locale. A file of Rails, with "de-AT" made of "de" and some words
#        of its own, offers each text a second time under "<<" for translation, and the program has "de-AT" without
#        the rest. PyYAML reads the same file as before, and so does js-yaml with `YAML11_SCHEMA`.
. "$(dirname "$0")/environment.sh" PyYAML==6.0.3
npm install --silent --no-audit --no-fund js-yaml@5.5.0
cat >locales.yaml <<'YAML'
de: &de
  hello: Hallo
  bye: Bis bald
de-AT:
  <<: *de
  hello: Servus
date: 2031-05-17
number: 1_000
YAML
cat >read.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import { load, YAML11_SCHEMA } from 'js-yaml'

const text = readFileSync('locales.yaml', 'utf8')
const described = ({ 'de-AT': austrian, date, number }) => [austrian, date instanceof Date, number]
console.log(JSON.stringify([described(load(text)), described(load(text, { schema: YAML11_SCHEMA }))]))
JAVASCRIPT
node read.mjs >read.json
python - <<'PYTHON'
import datetime
import json

import yaml
from finding import expect

plain, old = json.load(open("read.json"))
german, austrian = {"hello": "Hallo", "bye": "Bis bald"}, {"hello": "Servus", "bye": "Bis bald"}
expect("de-AT, js-yaml", plain[0], {"<<": german, "hello": "Servus"})
expect("a date", plain[1], False)
expect("number", plain[2], "1_000")
expect("YAML 1.1", old, [austrian, True, 1000])
seen = yaml.safe_load(open("locales.yaml"))
expect("PyYAML", [seen["de-AT"], seen["date"], seen["number"]], [austrian, datetime.date(2031, 5, 17), 1000])
PYTHON
