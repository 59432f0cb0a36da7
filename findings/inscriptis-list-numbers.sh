#!/usr/bin/env bash
# inscriptis counts a list that begins at 5 from 1, and so gives the clauses of a contract other numbers.
#
# Guess: <ol start="5"> counts from 5 and <li value="9"> is 9, as browsers show them; `reversed` counts down. Of
#        the other three no guess was written.
# Miss:  `value` is obeyed, and what follows counts on from it; `start` and `reversed` are not read. html2text, markdownify
#        and pandoc read `start`, but not `value`. A text with several lists of one numbering, as laws, manuals and
#        terms of use have them, refers to "5" and has two points "1". Where numbers of a translation are compared with those
#        of its source, both pages have to be read by the same package.
. "$(dirname "$0")/environment.sh" inscriptis==2.7.6 html2text==2025.4.15 markdownify==1.2.3 pypandoc-binary==1.17
python - <<'PYTHON'
import re

import html2text
import inscriptis
import markdownify
import pypandoc
from finding import expect

def numbers(text):
    return [int(number) for number in re.findall(r"(?m)^ *(\d+)\.", text)]

READERS = {
    "inscriptis": inscriptis.get_text,
    "html2text": html2text.html2text,
    "markdownify": markdownify.markdownify,
    "pandoc": lambda page: pypandoc.convert_text(page, "plain", "html"),
}
for page, by_inscriptis, by_others in (
    ('<ol start="5"><li>a</li><li>b</li></ol>', [1, 2], [5, 6]),
    ('<ol><li>a</li><li value="9">b</li><li>c</li></ol>', [1, 9, 10], [1, 2, 3]),
    ("<ol reversed><li>a</li><li>b</li></ol>", [1, 2], [1, 2]),
):
    for name, read in READERS.items():
        stated = by_inscriptis if name == "inscriptis" else by_others
        expect(f"{name}, {page}", numbers(read(f"<p>Text</p>{page}")), stated)
PYTHON
