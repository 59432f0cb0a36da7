#!/usr/bin/env bash
# ReportLab writes a semicolon behind the word that follows an ampersand: "AT&T" is "AT&T;" in the PDF file.
#
# Guess: a `Paragraph` is marked up as XML, so that "R&D" without a reference either is an error, as "a<b" may be, or is
#        read as an ampersand, as browsers read it: "R&D" again.
# Miss:  an ampersand before an ASCII letter begins a reference, whether it ends with a semicolon or not. If nobody
#        knows the name, it is written as text, with the semicolon that it should have had: "F&E, Q&A" is "F&E;, Q&A;",
#        and an address with two parameters is another one. Between spaces, before a digit or an umlaut, "&" is "&". A
#        translated text that goes into a form or a report is changed so without a word, just in the names of companies
#        and in addresses, where nobody takes a semicolon for a mistake in typing. Escaped texts are right.
. "$(dirname "$0")/environment.sh" reportlab==5.1.0 pdfminer.six==20260107
python - <<'PYTHON'
import io
from xml.sax.saxutils import escape

from finding import expect
from pdfminer.high_level import extract_text
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

STYLE = getSampleStyleSheet()["Normal"]


def printed(text):
    """Return the text that stands in a PDF file with one paragraph."""
    file = io.BytesIO()
    SimpleDocTemplate(file).build([Paragraph(text, STYLE)])
    return extract_text(io.BytesIO(file.getvalue())).strip()


for text, stated in {
    "Müller & Söhne": "Müller & Söhne",
    "5&7, A&Ö": "5&7, A&Ö",
    "AT&T": "AT&T;",
    "F&E, Q&A": "F&E;, Q&A;",
    "Forschung&Entwicklung": "Forschung&Entwicklung;",
    "http://example.org/?a=1&b=2": "http://example.org/?a=1&b;=2",
}.items():
    expect(text, printed(text), stated)
    expect("escaped", printed(escape(text)), text)
PYTHON
