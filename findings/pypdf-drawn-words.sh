#!/usr/bin/env bash
# pypdf puts each string that ReportLab's `drawString` draws on a line of its own, also the parts of one word.
#
# Guess: strings drawn side by side at one height are one line, "Das Haus", as for pdfminer.six.
# Miss:  `drawString` ends each string with the operator for a next line, of which nothing is to be seen as the next string
#        has a place of its own; pypdf has a line end there: "Das \nHaus", "Haus\nbau". A sentence of an invoice or a label
#        that was drawn in parts, for a bold word or an exponent, is cut at each. `extraction_mode="layout"` has one line.
. "$(dirname "$0")/environment.sh" pypdf==7.1.1 reportlab==5.1.0 pdfminer.six==20260107
python - <<'PYTHON'
import io

from finding import expect
from pdfminer.high_level import extract_text
from pypdf import PdfReader
from reportlab.pdfgen.canvas import Canvas

def drawn(*strings):
    stream = io.BytesIO()
    canvas, x = Canvas(stream), 72
    for string in strings:
        canvas.drawString(x, 700, string)
        x += canvas.stringWidth(string)
    canvas.save()
    return io.BytesIO(stream.getvalue())

def read(*strings):
    page = PdfReader(drawn(*strings)).pages[0]
    readings = page.extract_text(), page.extract_text(extraction_mode="layout"), extract_text(drawn(*strings))
    return [text.strip() for text in readings]

expect("one string", read("Das Haus"), ["Das Haus", "Das Haus", "Das Haus"])
expect("two strings", read("Das ", "Haus"), ["Das \nHaus", "Das Haus", "Das Haus"])
expect("in one word", read("Haus", "bau"), ["Haus\nbau", "Hausbau", "Hausbau"])
PYTHON
