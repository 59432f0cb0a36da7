#!/usr/bin/env bash
# easy-template-x puts the second line of a value behind the rest of the sentence: "eins.", and then "zwei".
#
# Guess: a value with line ends is written with line breaks where its placeholder stood, and the text behind the
#        placeholder follows the last line; "&", spaces and tabs of values are kept.
# Miss:  the further lines go to the end of the run, which is often the rest of the paragraph. An address in a sentence
#        has its street behind the full stop, and with two such values in a sentence the lines of both are mixed. A
#        placeholder at the end of a paragraph, as in an example or a test, is right, and so is one behind which the
#        formatting changes. What text is behind is no matter of the template alone: a translation that moves the
#        placeholder into the sentence moves the lines.
. "$(dirname "$0")/environment.sh" python-docx==1.2.0
npm install --silent --no-audit --no-fund easy-template-x@7.2.8
cat >fill.mjs <<'JAVASCRIPT'
import { readFileSync, writeFileSync } from 'node:fs'
import { TemplateHandler } from 'easy-template-x'

const values = { one: 'Haus & Hof', lines: 'eins\nzwei\ndrei', more: 'vier\nfünf' }
writeFileSync('filled.docx', await new TemplateHandler().process(readFileSync('template.docx'), values))
JAVASCRIPT
python - <<'PYTHON'
import subprocess

import docx
from finding import expect

STATED = {
    "An {one}, bitte.": "An Haus & Hof, bitte.",
    "An {lines}": "An eins\nzwei\ndrei",
    "An {lines}, bitte.": "An eins, bitte.\nzwei\ndrei",
    "{lines} und {more}.": "eins und vier.\nzwei\ndrei\nfünf",
}
template = docx.Document()
for text in STATED:
    template.add_paragraph(text)
template.add_paragraph("An {lines}").add_run(", bitte.").bold = True
template.save("template.docx")
subprocess.run(["node", "fill.mjs"], check=True)
filled = [paragraph.text for paragraph in docx.Document("filled.docx").paragraphs]
for (text, stated), seen in zip(STATED.items(), filled):
    expect(text, seen, stated)
expect("bold behind it", filled[-1], "An eins\nzwei\ndrei, bitte.")
PYTHON
