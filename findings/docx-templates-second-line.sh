#!/usr/bin/env bash
# docx-templates writes a line break where Word has only letters: three of five readers lose "zwei" of "eins\nzwei".
#
# Guess: a value of two lines is two lines in the document, as `processLineBreaks` is on, and all readers of Word
#        documents have both. "a || b" stays as it is. "R&D" is escaped, and "+++" is no command in a value.
# Miss:  the break is put into the text of the run, `<w:t>eins<w:br/>zwei</w:t>`, where the schema has no elements.
#        Word is lenient. python-docx, docx2python and docx2txt read up to the break, mammoth and pandoc have
#        "einszwei": an address of three lines is its first line, or one word, for whoever translates or indexes
#        letters that were made so. "||" in a value begins and ends OOXML, so the document has "a  b", as the README
#        says of templates.
. "$(dirname "$0")/environment.sh" python-docx==1.2.0 mammoth==1.13.0 docx2python==3.7.1 docx2txt==0.9 pypandoc-binary==1.17
npm install --silent --no-audit --no-fund docx-templates@4.15.0 2>npm.log
cat >fill.mjs <<'JAVASCRIPT'
import { readFileSync, writeFileSync } from 'fs'
import { createReport } from 'docx-templates'

const values = { lines: 'eins\nzwei', signs: 'R&D +++x+++', bars: 'a || b || c', bar: 'a || b' }
for (const [name, x] of Object.entries(values)) {
  writeFileSync(`${name}.docx`, await createReport({ template: readFileSync('template.docx'), data: { x } }))
}
JAVASCRIPT
python - <<'PYTHON'
import docx

document = docx.Document()
document.add_paragraph("Text +++INS x+++ Ende")
document.save("template.docx")
PYTHON
node fill.mjs
python - <<'PYTHON'
import docx
import docx2txt
import mammoth
import pypandoc
from docx2python import docx2python
from finding import expect

def by_python_docx(name):
    return docx.Document(name).paragraphs[0].text

def by_mammoth(name):
    with open(name, "rb") as file:
        return mammoth.extract_raw_text(file).value.strip()

expect("python-docx, two lines", by_python_docx("lines.docx"), "Text eins Ende")
expect("docx2python, two lines", docx2python("lines.docx").text.strip(), "Text eins Ende")
expect("docx2txt, two lines", docx2txt.process("lines.docx").strip(), "Text eins\n Ende")
expect("mammoth, two lines", by_mammoth("lines.docx"), "Text einszwei Ende")
expect("pandoc, two lines", pypandoc.convert_file("lines.docx", "plain").strip(), "Text einszwei Ende")
expect("signs", by_python_docx("signs.docx"), "Text R&D +++x+++ Ende")
expect("two bars", by_python_docx("bars.docx"), "Text a  b  c Ende")
expect("one bar", by_python_docx("bar.docx"), "Text a  b Ende")
PYTHON
