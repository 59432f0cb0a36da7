#!/usr/bin/env bash
# Readers of RTF double letters, halve emoji, drop the word behind a no-break hyphen, or read what the page hides.
#
# Guess: striprtf, pandoc, officeparser and @iarna/rtf-to-html (rtf-parser) give the text that a word processor shows:
#        "\u223\'df" is one letter with a replacement for old readers, two halves are one emoji, "\~" is a no-break
#        space, "\_" a no-break hyphen, a font of Windows-1251 has Cyrillic letters, and hidden text is not there.
# Miss:  rtf-parser gives the letter and its replacement, "straßße" for a file that gives each letter one,
#        has no quotation marks and dashes that have names, and drops the word behind "\_" or "\-". officeparser 8
#        shows "10~km" and "E_Mail" and has no dashes. striprtf returns halves of emoji, which no file in UTF-8 takes,
#        and pandoc two signs for unknown letters. pandoc reads each font as Windows-1252, so Cyrillic is "Ìîñêâà". All
#        but pandoc read hidden text as words of the sentence, and all but pandoc deleted text. Text for training from
#        such files has words that no dictionary knows.
. "$(dirname "$0")/environment.sh" striprtf==0.0.35 pypandoc-binary==1.17
npm install --silent --no-audit --no-fund officeparser@8.1.1 @iarna/rtf-to-html@1.1.0 rtf-parser@1.3.3 2>npm.log
cat >read.mjs <<'JAVASCRIPT'
import { readFileSync } from 'fs'
import { fromString } from '@iarna/rtf-to-html'
import { parseOffice } from 'officeparser'

const file = process.argv[2]
const html = await new Promise((resolve) => fromString(readFileSync(file, 'latin1'), (error, html) => resolve(html)))
const words = html.slice(html.indexOf('<body>')).replace(/<[^>]*>/g, '').trim()
console.log(JSON.stringify([await (await parseOffice(file)).to('text'), words]))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

import pypandoc
from finding import expect
from striprtf.striprtf import rtf_to_text

def texts(body, *fonts):
    table = "".join(rf"{{\f{number}\fcharset{charset} F;}}" for number, charset in enumerate((0, *fonts)))
    with open("page.rtf", "w") as file:
        file.write(rf"{{\rtf1\ansi\ansicpg1252\uc1{{\fonttbl{table}}}\f0 {body}\par}}")
    with open("page.rtf") as file:
        plain = rtf_to_text(file.read())
    node = subprocess.run(["node", "read.mjs", "page.rtf"], capture_output=True, check=True, text=True)
    office, html = json.loads(node.stdout)
    pandoc = pypandoc.convert_file("page.rtf", "plain", extra_args=["--wrap=none"])
    return [text.strip() for text in (plain, pandoc, office["value"], html)]

letters = texts(r"stra\u223\'dfe \u8222\'84Ja\u8220\'93")
expect("letters with a replacement", letters, 3 * ["straße „Ja“"] + ["straßße „„Ja““"])
named = texts(r"\ldblquote Ja\rdblquote \endash  so")
expect("named signs", named, 2 * ["“Ja”– so"] + ["“Ja” so", "Ja so"])
spaces = texts(r"10\~km E\_Mail Haus\-bau da")
right = "10\N{NO-BREAK SPACE}km E\N{NON-BREAKING HYPHEN}Mail Haus\N{SOFT HYPHEN}bau da"
expect("no-break and soft", spaces[:3], [right, right, "10~km E_Mail Hausbau da"])
lost = "10\N{NO-BREAK SPACE}km E\N{NON-BREAKING HYPHEN}Haus\N{SOFT HYPHEN}da"
expect("no-break and soft, rtf-to-html", spaces[3], lost)
emoji = texts(r"\u-10179?\u-8704?")
expect("emoji", emoji, ["\ud83d\ude00", 2 * "\N{REPLACEMENT CHARACTER}", "\N{GRINNING FACE}", "\ud83d?\ude00?"])
cyrillic = texts(r"{\f1 \'cc\'ee\'f1\'ea\'e2\'e0}", 204)
expect("font of Windows-1251", cyrillic, ["Москва", "Ìîñêâà", "Москва", "Москва"])
expect("hidden", texts(r"Er {\v nie }kam."), ["Er nie kam.", "Er kam.", "Er nie kam.", "Er nie kam."])
expect("deleted", texts(r"Er {\deleted nie }kam."), ["Er nie kam.", "Er ~~nie~~ kam.", "Er nie kam.", "Er nie kam."])
PYTHON
