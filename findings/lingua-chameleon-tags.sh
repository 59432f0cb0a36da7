#!/usr/bin/env bash
# Lingua extracts "Text <dynamic element> here" of a Chameleon template that will ask for "Text <em>only</em> here".
#
# Guess: what Lingua, the extractor that Pyramid's guides use, writes into the catalogue for `i18n:translate=""` is the
#        text that Chameleon looks up, also with parts that have an `i18n:name`, references, line ends and <br/>.
# Miss:  so it is but for tags without a name: Chameleon looks them up as they are, and Lingua writes "<dynamic
#        element>" for each. A comment is part of the text for Chameleon, and not for Lingua. A text with "${price}" is
#        looked up with the price in it. Translators fill all of these messages, statistics say that the language is
#        complete, and the paragraphs with an <em> or a line break stay in the source language for good. Nothing is
#        reported.
. "$(dirname "$0")/environment.sh" lingua==4.16.2 Chameleon==4.6.0 polib==1.2.0
cat >page.pt <<'PT'
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:tal="http://xml.zope.org/namespaces/tal"
      xmlns:i18n="http://xml.zope.org/namespaces/i18n" i18n:domain="shop">
<p i18n:translate="">Two
  lines</p>
<p i18n:translate="">Bed &amp; breakfast</p>
<p i18n:translate="">Hello <b tal:content="name" i18n:name="who">Bob</b></p>
<p i18n:translate="">Members <em>only</em> here</p>
<p i18n:translate="">First<br/>second</p>
<p i18n:translate="">Open <!-- on weekdays --> today</p>
<p i18n:translate="">Costs ${price} euros</p>
</html>
PT
pot-create -o shop.pot page.pt
python - <<'PYTHON'
import polib
from chameleon import PageTemplateFile
from finding import expect

asked = []


def translate(message, default=None, **options):
    asked.append(str(message))
    return default or message


PageTemplateFile("page.pt", translate=translate)(name="Anna", price=5)
extracted = [entry.msgid for entry in polib.pofile("shop.pot")]
STATED = {  # what the page asks for, and what was extracted
    "Two lines": "Two lines",
    "Bed &amp; breakfast": "Bed &amp; breakfast",
    "Hello ${who}": "Hello ${who}",
    "Members <em>only</em> here": "Members <dynamic element> here",
    "First<br/>second": "First<dynamic element>second",
    "Open <!-- on weekdays --> today": "Open today",
    "Costs 5 euros": "Costs ${price} euros",
}
expect("asked for", asked, list(STATED))
expect("extracted", set(extracted), set(STATED.values()))
PYTHON
