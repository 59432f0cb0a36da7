#!/usr/bin/env bash
# Three converters from Markdown to reStructuredText make lists of dates and initials, and a comment of ".. und dann?".
#
# Guess: m2r2 and sphinx-mdinclude write "3\. Oktober", "Haus**bau**" and other text so that docutils shows the words
#        and the emphasis of the Markdown text. Of pandoc no guess was written.
# Miss:  none of the three marks what is a list or a comment at the beginning of a paragraph. Of "3\. Oktober", of
#        "\- Nein." and of "A. Meier kam." the first sign is the mark of an item, so that the text of the last, for a
#        search or a translator, is "Meier kam."; ".. und dann?" is not in the page. Inside a line, sphinx-mdinclude
#        shows the asterisks of a word that is bold in part and loses the backslash of a path, and both it and m2r2 show
#        "&lt;b&gt;" as it is written; pandoc has these right.
. "$(dirname "$0")/environment.sh" m2r2==2.1.0 sphinx-mdinclude==0.6.2 docutils==0.22.4 pypandoc-binary==1.17
python - <<'PYTHON'
import io
import re
from html import unescape

import m2r2
import pypandoc
import sphinx_mdinclude
from docutils.core import publish_parts
from finding import expect

def page(text):
    """Return the HTML of a text in reStructuredText, without other tags than those of bold words and of items."""
    settings = {"warning_stream": io.StringIO()}
    body = publish_parts(text, writer="html5", settings_overrides=settings)["body"]
    return unescape(" ".join(re.sub("<(?!/?(strong|li)>)[^>]*>", " ", body).split()))

CONVERTERS = {
    "pandoc": lambda text: pypandoc.convert_text(text, "rst", "commonmark"),
    "m2r2": m2r2.convert,
    "sphinx-mdinclude": sphinx_mdinclude.convert,
}
for text, *stated in (
    (r"3\. Oktober", "<li> Oktober </li>", "<li> Oktober </li>", "<li> Oktober </li>"),
    (r"\- Nein.", "<li> Nein. </li>", "<li> Nein. </li>", "<li> Nein. </li>"),
    ("A. Meier kam.", "<li> Meier kam. </li>", "<li> Meier kam. </li>", "<li> Meier kam. </li>"),
    (".. und dann?", "", "", ""),
    ("Haus**bau**", "Haus<strong>bau</strong>", "Haus<strong>bau</strong>", "Haus**bau**"),
    (r"C:\\temp", r"C:\temp", r"C:\temp", "C:temp"),
    ("Der Tag &lt;b&gt;", "Der Tag <b>", "Der Tag &lt;b&gt;", "Der Tag &lt;b&gt;"),
):
    for (name, convert), words in zip(CONVERTERS.items(), stated, strict=True):
        expect(f"{name}, {text}", page(convert(f"{text}\n")), words)
PYTHON
