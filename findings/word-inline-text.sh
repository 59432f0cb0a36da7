#!/usr/bin/env bash
# Three readers of Word documents lose or double what stands inside a line: a break, a hyphen, a moved word.
#
# Guess: a line break is a line end in mammoth's raw text; a no-break hyphen is a hyphen for all three; a word that was moved
#        with changes tracked stands at its new place (python-docx, which leaves insertions out: nowhere); a word whose
#        direction is given is text for mammoth and docx2python; `<w:b w:val="off"/>` is not bold.
# Miss:  mammoth's `extract_raw_text` joins the words at a break, "einszwei", and it leaves a word with a direction out, with a
#        warning in its messages alone; "off" is bold in its HTML. docx2python has no no-break hyphen, "EMail", and a moved
#        word at both places. Sentences for training or for a search are then not those of the document.
. "$(dirname "$0")/environment.sh" python-docx==1.2.0 mammoth==1.13.0 docx2python==3.7.1
python - <<'PYTHON'
import io

import docx
import mammoth
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx2python import docx2python
from finding import expect

def document(content):
    made = docx.Document()
    made.element.body.insert(0, parse_xml(f"<w:p {nsdecls('w')}>{content}</w:p>"))
    stream = io.BytesIO()
    made.save(stream)
    return io.BytesIO(stream.getvalue())

def run(text, properties=""):
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'

def read(content):
    return [
        docx.Document(document(content)).paragraphs[0].text.strip(),
        mammoth.extract_raw_text(document(content)).value.strip(),
        docx2python(document(content)).text.strip(),
    ]

moved = (
    run("Ja, ") + f'<w:moveFrom w:id="1" w:author="A">{run("morgen ")}</w:moveFrom>'
    + run("komme ich") + f'<w:moveTo w:id="2" w:author="A">{run(" morgen")}</w:moveTo>'
)
expect("a break", read(run("eins") + "<w:r><w:br/></w:r>" + run("zwei")), ["eins\nzwei", "einszwei", "eins\nzwei"])
hyphen = run("E") + "<w:r><w:noBreakHyphen/></w:r>" + run("Mail")
expect("a no-break hyphen", read(hyphen), ["E-Mail", "E\N{NON-BREAKING HYPHEN}Mail", "EMail"])
expect("a moved word", read(moved), ["Ja, komme ich", "Ja, komme ich morgen", "Ja, morgen komme ich morgen"])
expect("a direction", read(run("Das ") + f'<w:bdo w:val="ltr">{run("Haus")}</w:bdo>'), ["Das", "Das", "Das Haus"])
html = mammoth.convert_to_html(document(run("Haus", '<w:b w:val="off"/>'))).value
expect("bold that is off", html, "<p><strong>Haus</strong></p>")
PYTHON
