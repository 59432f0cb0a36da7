#!/usr/bin/env bash
# Three converters from HTML to Markdown write "&lt;b&gt;" as a tag, and one of them turns a date into a list.
#
# Guess: html2text, markdownify, turndown and pandoc write the paragraph "3. Oktober 1990" with a backslash, so that it is
#        no list in Markdown. Of a text about tags, such as "Das Zeichen &lt;b&gt;", no guess was written.
# Miss:  markdownify writes no backslash: the day is the number of an item, and "- Nein." of a dialogue an item, too. And all
#        but pandoc write "<b>", which is a tag in Markdown: the name of the tag is not in the text any more. Pages that were
#        turned into Markdown for a corpus, or for a model to read, lose what they say about HTML, XML and templates.
. "$(dirname "$0")/environment.sh" html2text==2025.4.15 markdownify==1.2.3 pypandoc-binary==1.17 markdown-it-py==4.3.0
npm install --silent --no-audit --no-fund turndown@7.2.5
cat >turndown.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import Turndown from 'turndown'

console.log(JSON.stringify(JSON.parse(readFileSync('pages.json')).map((page) => new Turndown().turndown(page))))
JAVASCRIPT
python - <<'PYTHON'
import html
import json
import re
import subprocess

import html2text
import markdownify
import pypandoc
from finding import expect
from markdown_it import MarkdownIt

TEXTS = ["3. Oktober 1990", "- Nein.", "Das Zeichen <b> steht vorn."]
PAGES = [f"<p>{text.replace('<', '&lt;').replace('>', '&gt;')}</p>" for text in TEXTS]

def shown(markdown):
    """Return what a reader of Markdown shows."""
    return html.unescape(re.sub("<[^>]*>", "", MarkdownIt().render(markdown))).strip()

with open("pages.json", "w") as file:
    json.dump(PAGES, file)
turned = json.loads(subprocess.run(["node", "turndown.mjs"], check=True, capture_output=True, text=True).stdout)
tag = "Das Zeichen  steht vorn."
for name, pages, stated in (
    ("pandoc", [pypandoc.convert_text(page, "markdown", "html") for page in PAGES], TEXTS),
    ("html2text", [html2text.html2text(page) for page in PAGES], [*TEXTS[:2], tag]),
    ("turndown", turned, [*TEXTS[:2], tag]),
    ("markdownify", [markdownify.markdownify(page) for page in PAGES], ["Oktober 1990", "Nein.", tag]),
):
    expect(name, [shown(page) for page in pages], stated)
PYTHON
