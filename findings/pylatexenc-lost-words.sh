#!/usr/bin/env bash
# pylatexenc leaves words and signs out of the text of LaTeX: what \mbox and \verb hold, quotation marks, units.
#
# Guess: `latex_to_text` of \glqq Haus\grqq{} is "Haus" in German quotation marks, as accents, \ss and the euro sign are
#        right. Of \mbox, \verb, \href, \S and \SI no guess was written.
# Miss:  \mbox{Dr. Meier} and \verb|file.txt| are nothing, as are \S, \LaTeX and \euro; \SI{5}{\kilo\metre} is "5". The marks
#        of \glqq and \enquote are lost. \href{address}{word} ends in an IndexError. \ss, accents, \texteuro and \emph are
#        right, so that a sample looks good. The text of papers, for a corpus or for a search, has gaps that nobody is
#        told of, just where authors keep a name on one line or quote a program.
. "$(dirname "$0")/environment.sh" pylatexenc==2.11
python - <<'PYTHON'
from finding import expect
from pylatexenc.latex2text import LatexNodes2Text

def text(latex):
    try:
        return LatexNodes2Text().latex_to_text(latex)
    except IndexError as error:
        return repr(error)

STATED = {
    r"Stra\ss e, caf\'e, 5\,\texteuro, \emph{Haus}": "Straße, café, 5 €, Haus",
    r"\unknown{Haus} steht": "Haus steht",
    r"\glqq Haus\grqq{} und \enquote{Hof}": "Haus und Hof",
    r"Er fragt \mbox{Dr. Meier} heute": "Er fragt  heute",
    r"Die Datei \verb|file.txt| fehlt": "Die Datei  fehlt",
    r"Nach \S\,5 gilt": "Nach  5 gilt",
    r"\LaTeX{} kostet 5\,\euro{} und \SI{5}{\kilo\metre}": " kostet 5  und 5",
    r"Siehe \href{https://example.org}{hier}": "IndexError('list index out of range')",
}
for latex, stated in STATED.items():
    expect(latex, text(latex), stated)
PYTHON
