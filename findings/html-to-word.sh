#!/usr/bin/env bash
# Two npm packages that make Word documents of HTML leave out the words in <kbd>, <abbr>, <q>, <tfoot> and <caption>.
#
# Guess: html-to-docx, its successor @turbodocx/html-to-docx and html-for-docx of Python have all words of a page,
#        where they do not know a tag without its format; what stands in blocks of its own is a paragraph.
# Miss:  the two of npm leave such an element out with its words, so that "Drücken Sie <kbd>F1</kbd>" is "Drücken
#        Sie". A table loses its foot and its caption, and a bold word in loose text is a paragraph of its own.
#        html-for-docx drops the caption too, and puts blocks that are no paragraphs into the one before: a term and
#        its explanation are one word. Nothing is reported. Who translates a page and delivers a document delivers
#        less than the page.
. "$(dirname "$0")/environment.sh" html-for-docx==1.2.1 python-docx==1.2.0
npm install --silent --no-audit --no-fund html-to-docx@1.8.0 @turbodocx/html-to-docx@1.23.1
cat >convert.cjs <<'JAVASCRIPT'
const { readFileSync, writeFileSync } = require('fs')
const converter = require(process.argv[2])
const convert = converter.default || converter
convert(readFileSync('page.html', 'utf8')).then((file) => writeFileSync('page.docx', file))
JAVASCRIPT
python - <<'PYTHON'
import subprocess

import docx
from finding import expect
from html4docx import HtmlToDocx

INLINE = [
    "<kbd>Taste</kbd>", "<abbr>Abkürzung</abbr>", "<q>Frage</q>", "<ruby>Wort</ruby>", "<dfn>Begriff</dfn>",
    "<code>Code</code>", "<b>fett</b>", '<a href="https://example.org">Verweis</a>', "<span>Text</span>",
]
TABLE = "<table><caption>Titel</caption>{}{}</table>".format(
    *(f"<{part}><tr><td>{part}</td></tr></{part}>" for part in ("tbody", "tfoot"))
)


def by_npm(package):
    def convert(html):
        with open("page.html", "w", encoding="utf-8") as file:
            file.write(html)
        subprocess.run(["node", "convert.cjs", package], check=True, capture_output=True)
        return docx.Document("page.docx")

    return convert


def by_python(html):
    document = docx.Document()
    HtmlToDocx().add_html_to_document(html, document)
    return document


def words(document):
    """Return the text of each paragraph and then of each cell."""
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    return [text for text in [paragraph.text for paragraph in document.paragraphs] + cells if text.strip()]


for name, convert in (
    ("html-to-docx", by_npm("html-to-docx")),
    ("@turbodocx/html-to-docx", by_npm("@turbodocx/html-to-docx")),
    ("html-for-docx", by_python),
):
    npm = name != "html-for-docx"
    lost = [element for element in INLINE if not words(convert(f"<p>{element}</p>"))]
    expect(f"{name}, lost in a line", lost, [*INLINE[:5]] if npm else [])
    expect(f"{name}, table", words(convert(TABLE)), ["tbody"] if npm else ["tbody", "tfoot"])
    terms = words(convert("<dl><dt>Haus</dt><dd>Gebäude</dd></dl>"))
    expect(f"{name}, terms", terms, ["Haus", "Gebäude"] if npm else ["HausGebäude"])
    loose = words(convert("Das <b>große</b> Haus"))
    loose = [text.strip() for text in loose]
    expect(f"{name}, loose text", loose, ["Das", "große", "Haus"] if npm else ["Das große Haus"])
PYTHON
