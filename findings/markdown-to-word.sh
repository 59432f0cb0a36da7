#!/usr/bin/env bash
# Two npm packages that make Word documents of Markdown give clauses other numbers, show "R&amp;D", or drop <div>.
#
# Guess: markdown-docx and @mohtasham/md-to-docx have all words of a Markdown text, "R&D" of "R&amp;D" as well, and a
#        list that begins at 5 has the numbers 5, 6 and 7.
# Miss:  markdown-docx counts each list from 1, and a second paragraph of an item has a number of its own, so that
#        clause 7 is clause 4. References stay as they are written: the reader sees "R&amp;D" and "5&nbsp;km".
#        md-to-docx has both right, and leaves a block of HTML out with its words. Neither says a word. Clauses that
#        refer to others by their numbers refer to wrong ones.
. "$(dirname "$0")/environment.sh" python-docx==1.2.0
npm install --silent --no-audit --no-fund markdown-docx@1.7.0 @mohtasham/md-to-docx@4.0.1
cat >text.md <<'MARKDOWN'
R&amp;D, 5&nbsp;km

5. fünf
6. sechs

   Absatz
7. sieben

<div>Ein Absatz in HTML</div>

Ende
MARKDOWN
cat >convert.mjs <<'JAVASCRIPT'
import { readFileSync, writeFileSync } from 'node:fs'
import { convertMarkdownToDocx } from '@mohtasham/md-to-docx'
import markdownDocx, { Packer } from 'markdown-docx'

const text = readFileSync('text.md', 'utf8')
writeFileSync('markdown-docx.docx', await Packer.toBuffer(await markdownDocx(text)))
writeFileSync('md-to-docx.docx', Buffer.from(await (await convertMarkdownToDocx(text)).arrayBuffer()))
JAVASCRIPT
node convert.mjs
python - <<'PYTHON'
from collections import Counter

import docx
from finding import expect


def lines(file):
    """Return the paragraphs with words, each with the number that Word shows before it, if it has one."""
    document = docx.Document(file)
    numbering = document.part.numbering_part.element
    seen, shown = Counter(), []
    for paragraph in document.paragraphs:
        properties = paragraph._p.pPr.numPr if paragraph._p.pPr is not None else None
        if properties is None or not paragraph.text:
            shown += [paragraph.text] if paragraph.text else []
            continue
        level = properties.ilvl.val, properties.numId.val
        (start,) = numbering.xpath("w:num[@w:numId=%d]/w:lvlOverride[@w:ilvl=%d]/w:startOverride/@w:val" % level[::-1])
        shown.append(f"{int(start) + seen[level]}. {paragraph.text}")
        seen[level] += 1
    return shown


expect(
    "markdown-docx",
    [line.strip() for line in lines("markdown-docx.docx")],
    ["R&amp;D, 5&nbsp;km", "1. fünf", "2. sechs", "3. Absatz", "4. sieben", "<div>Ein Absatz in HTML</div>", "Ende"],
)
expect(
    "md-to-docx",
    lines("md-to-docx.docx"),
    ["R&D, 5\xa0km", "5. fünf", "6. sechs", "Absatz", "7. sieben", "Ende"],
)
PYTHON
