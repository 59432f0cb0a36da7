#!/usr/bin/env bash
# Three readers of Word documents show what Word hides in a field, and two of them lose what a simple field shows.
#
# Guess: a field gives its result and no code, however it is written and nested: `w:fldSimple` is the short way to write
#        what three `w:fldChar` do. Of moved text the new place alone is read.
# Miss:  a letter that says "Herr" by a condition on another field has that field's last value in front, "mHerr", in all
#        three, since the code of a field may contain fields with results. python-docx and mammoth leave a simple field
#        out, such as a date or a name; docx2python has moved text twice. A text for translation, or a corpus from such
#        letters, says what its readers never saw, and lacks names.
. "$(dirname "$0")/environment.sh" python-docx==1.2.0 mammoth==1.13.0 docx2python==3.7.1
python - <<'PYTHON'
import docx, mammoth
from docx.oxml import parse_xml
from docx2python import docx2python
from finding import expect

NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def run(text):
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def field(code, result):
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'.format
    return mark("begin") + code + mark("separate") + run(result) + mark("end")


def code(text):
    return f'<w:r><w:instrText xml:space="preserve">{text}</w:instrText></w:r>'


def moved(place):
    return f'<w:{place} w:id="1" w:author="A">{run("Text")}</w:{place}>'


PARAGRAPHS = {
    "field": field(code(" PAGE "), "7"),
    "field in a code": field(
        code(" IF ") + field(code(" MERGEFIELD Anrede "), "m") + code(' = "m" "Herr" "Frau" '), "Herr"
    ),
    "simple field": f'<w:fldSimple w:instr=" AUTHOR ">{run("Adam")}</w:fldSimple>',
    "moved": moved("moveFrom") + run(" ") + moved("moveTo"),
}
STATED = {  # python-docx, mammoth, docx2python
    "field": ("7", "7", "7"),
    "field in a code": ("mHerr", "mHerr", "mHerr"),
    "simple field": ("", "", "Adam"),
    "moved": ("", "Text", "Text Text"),
}
for name, xml in PARAGRAPHS.items():
    document = docx.Document()
    document.element.body.insert(0, parse_xml(f"<w:p {NAMESPACE}>{xml}</w:p>"))
    document.save("letter.docx")
    with open("letter.docx", "rb") as file:
        by_mammoth = mammoth.extract_raw_text(file).value
    seen = docx.Document("letter.docx").paragraphs[0].text, by_mammoth, docx2python("letter.docx").text
    expect(name, tuple(text.strip() for text in seen), STATED[name])
PYTHON
