#!/usr/bin/env bash
# vue3-gettext extracts "Line 1nLine 2" for 'Line 1\nLine 2', so a page asks for a text that no catalogue has.
#
# Guess: `vue-gettext-extract` writes the texts that `$gettext` gets when a page is shown: with the escapes of
#        JavaScript and the references of HTML decoded; two strings that are joined by a plus sign are one text, or
#        none.
# Miss:  a backslash is dropped and the letter behind it kept: "\n" is an n, and "\u00e4" u00e4. "&amp;" and "&nbsp;",
#        which Vue decodes in attributes and between braces, stay as they are. Of joined strings only the first is
#        extracted, as a sentence without its end. In all three cases a translator translates a text that nothing asks
#        for, and the page stays in the source language; the numbers of the catalogue say that all is done. Texts with
#        quotes, and calls in handlers, slots and object literals are right.
. "$(dirname "$0")/environment.sh" polib==1.2.0
npm install --silent --no-audit --no-fund vue3-gettext@4.0.1 vue@3.5.45
mkdir src language
cat >src/Page.vue <<'VUE'
<template>
  <p :title="$gettext('It\'s here')">{{ $gettext("two words") }}</p>
  <p :title="$gettext('Bed &amp; breakfast')">{{ $gettext('5&nbsp;km') }}</p>
  <p>{{ $gettext('Line 1\nLine 2') }} {{ $gettext('\u00c4pfel') }}</p>
  <p>{{ $gettext('One sentence, ' + 'in two parts') }}</p>
</template>
VUE
cat >gettext.config.js <<'JAVASCRIPT'
module.exports = { input: { path: './src' }, output: { path: './language', locales: [] } }
JAVASCRIPT
cat >show.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import { createSSRApp } from 'vue'
import { renderToString } from 'vue/server-renderer'

const asked = []
const template = readFileSync('src/Page.vue', 'utf8').replace(/<\/?template>/g, '')
const app = createSSRApp({ template })
app.config.globalProperties.$gettext = (text) => asked.push(text) && text
await renderToString(app)
console.log(JSON.stringify(asked))
JAVASCRIPT
npx vue-gettext-extract >extract.log
node show.mjs >asked.json
python - <<'PYTHON'
import json

import polib
from finding import expect

STATED = {  # what the page asks for, and what was extracted
    "It's here": "It's here",
    "two words": "two words",
    "Bed & breakfast": "Bed &amp; breakfast",
    "5\u00a0km": "5&nbsp;km",
    "Line 1\nLine 2": "Line 1nLine 2",
    "Äpfel": "u00c4pfel",
    "One sentence, in two parts": "One sentence, ",
}
with open("asked.json", encoding="utf-8") as file:
    expect("asked for", json.load(file), list(STATED))
extracted = [entry.msgid for entry in polib.pofile("language/messages.pot")]
expect("extracted", sorted(extracted), sorted(STATED.values()))
PYTHON
