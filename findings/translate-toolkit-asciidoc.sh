#!/usr/bin/env bash
# po2asciidoc writes a list with hyphens or numbers as one line, and never ends a table with a cell of two lines.
#
# Guess: `asciidoc2po`, then `po2asciidoc` without a translation, gives a text that Asciidoctor shows alike; only lines
#        of a paragraph may be joined.
# Miss:  only lists with "*" and "." are known. Any other block is a paragraph, and its lines are joined by a space: "-
#        Apfel" and "- Birne" are one item, "Apfel - Birne"; numbered steps are one step; a glossary whose definitions
#        stand below the terms has one term. A plus sign that broke a line is in the text. If a table has a cell of two
#        lines or with a specifier, as "2+|", the rest of the table becomes text with its end mark, and the paragraphs
#        behind it are cells. Quotations, examples and titles of blocks are not given to the translator at all. It
#        happens to every file that goes through, also where nobody has translated anything.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4
npm install --silent --no-audit --no-fund @asciidoctor/core@4.1.0
cat >show.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import { convert } from '@asciidoctor/core'

const pages = JSON.parse(readFileSync('pages.json', 'utf8'))
const count = (html, tag) => html.split(`<${tag}`).length - 1
const shown = []
for (const page of pages) {
  const html = await convert(page)
  const text = html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim()
  shown.push([text, count(html, 'li>'), count(html, 'dt '), count(html, 'td '), count(html, 'br>')])
}
console.log(JSON.stringify(shown))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

from finding import expect

PAGES = {
    "stars": "* Apfel\n* Birne\n",
    "hyphens": "- Apfel\n- Birne\n",
    "numbers": "1. Schrauben lösen\n2. Deckel abnehmen\n",
    "terms": "Haus::\n  Gebäude\nHof::\n  Platz\n",
    "line break": "Haus +\nHof\n",
    "table": "|===\n|Haus\nmit Garten\n|Hof\n|===\n\nDanach.\n",
}


def converted(page):
    """Return a page after the way to PO and back, without a translation."""
    with open("page.adoc", "w") as file:
        file.write(page)
    subprocess.run(["asciidoc2po", "--progress=none", "page.adoc", "page.po"], check=True)
    subprocess.run(["po2asciidoc", "--progress=none", "-t", "page.adoc", "page.po", "new.adoc"], check=True)
    with open("new.adoc") as file:
        return file.read()


with open("pages.json", "w") as file:
    json.dump([text for page in PAGES.values() for text in (page, converted(page))], file)
shown = iter(json.loads(subprocess.check_output(["node", "show.mjs"])))
STATED = {  # the text, and the number of items, terms, cells and line breaks
    "stars": (["Apfel Birne", 2, 0, 0, 0], ["Apfel Birne", 2, 0, 0, 0]),
    "hyphens": (["Apfel Birne", 2, 0, 0, 0], ["Apfel - Birne", 1, 0, 0, 0]),
    "numbers": (["Schrauben lösen Deckel abnehmen", 2, 0, 0, 0], ["Schrauben lösen 2. Deckel abnehmen", 1, 0, 0, 0]),
    "terms": (["Haus Gebäude Hof Platz", 0, 2, 0, 0], ["Haus Gebäude Hof:: Platz", 0, 1, 0, 0]),
    "line break": (["Haus Hof", 0, 0, 0, 1], ["Haus + Hof", 0, 0, 0, 0]),
    "table": (["Haus mit Garten Hof Danach.", 0, 0, 2, 0], ["Haus mit Garten Hof === Danach.", 0, 0, 3, 0]),
}
for name, (before, after) in STATED.items():
    expect(name, next(shown), before)
    expect("  after", next(shown), after)
converted(".Letzte Worte\n____\nMehr Licht.\n____\n\nDanach.\n")
with open("page.po") as file:
    messages = file.read()
expect("messages", [text in messages for text in ("Danach.", "Mehr Licht.", "Letzte Worte")], [True, False, False])
PYTHON
