#!/usr/bin/env bash
# lxml puts the rest of a paragraph into <wbr>, so removing that tag removes the text behind it.
#
# Guess: <wbr>, the place where a long word may be divided, has no content for lxml, as <br> has none and as HTML says:
#        libxml2 2.14 splits tags as HTML 5 does.
# Miss:  what is a tag follows HTML 5, but what has content follows HTML 4, which has no <wbr>, <source> and <track>.
#        Text behind them is nested into them, once more at each, and </wbr> is written. A program that drops <wbr>, so
#        that a compound is one word for translation, keeps "Donau" and loses the sentence; so does Beautiful Soup with
#        lxml, and not with html.parser or html5lib.
. "$(dirname "$0")/environment.sh" lxml==6.1.3 beautifulsoup4==4.15.0 html5lib==1.1
python - <<'PYTHON'
import lxml.etree
import lxml.html
from bs4 import BeautifulSoup
from finding import expect

PAGE = "<p>Die Donau<wbr>dampf<wbr>schifffahrt ist alt. Sie <b>ruht</b>.</p>"
expect("libxml2", lxml.etree.LIBXML_VERSION[:2], (2, 14))
paragraph = lxml.html.fromstring(PAGE)
written = lxml.html.tostring(paragraph, encoding="unicode")
expect("lxml", written, "<p>Die Donau<wbr>dampf<wbr>schifffahrt ist alt. Sie <b>ruht</b>.</wbr></wbr></p>")
lxml.etree.strip_elements(paragraph, "wbr", with_tail=False)
expect("without wbr", paragraph.text_content(), "Die Donau")
for parser in ("lxml", "html.parser", "html5lib"):
    soup = BeautifulSoup(PAGE, parser)
    for tag in soup("wbr"):
        tag.decompose()
    whole = "Die Donaudampfschifffahrt ist alt. Sie ruht."
    expect(f"Beautiful Soup, {parser}", soup.get_text(), "Die Donau" if parser == "lxml" else whole)
PYTHON
