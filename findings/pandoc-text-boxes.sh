#!/usr/bin/env bash
# pandoc reads a Word paragraph with a text box as the box alone, and one with an older box as the paragraph alone.
#
# Guess: a text box that is anchored in a paragraph is read once, beside the words of the paragraph: Word writes it twice,
#        for newer and older programs, and pandoc takes one of the two. Paragraphs in custom XML are read.
# Miss:  of a paragraph with a DrawingML box the box is left, and the words are gone, without a warning; it is the other way
#        round with a box of VML alone. Only a box in an empty paragraph is read as it is. Word anchors boxes in
#        paragraphs of the text. What stands in `w:customXml` is left out too. A translation by way of pandoc lacks the
#        first paragraph of a letter whose address stands in a box.
. "$(dirname "$0")/environment.sh" pypandoc_binary==1.17 python-docx==1.2.0
python - <<'PYTHON'
import docx
import pypandoc
from docx.oxml import parse_xml
from finding import expect

OFFICE = "http://schemas.openxmlformats.org"
NAMESPACES = (
    f'xmlns:w="{OFFICE}/wordprocessingml/2006/main" xmlns:a="{OFFICE}/drawingml/2006/main" '
    f'xmlns:wp="{OFFICE}/drawingml/2006/wordprocessingDrawing" xmlns:mc="{OFFICE}/markup-compatibility/2006" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)


def run(text):
    return f"<w:r><w:t>{text}</w:t></w:r>"


content = f"<w:txbxContent><w:p>{run('Adresse')}</w:p></w:txbxContent>"
vml = f"<w:pict><v:shape><v:textbox>{content}</v:textbox></v:shape></w:pict>"
place = "".join(
    f'<wp:position{axis} relativeFrom="{origin}"><wp:posOffset>0</wp:posOffset></wp:position{axis}>'
    for axis, origin in (("H", "column"), ("V", "paragraph"))
)
drawing = (
    '<w:drawing><wp:anchor distT="0" distB="0" distL="0" distR="0" simplePos="0" relativeHeight="1" behindDoc="0" '
    f'locked="0" layoutInCell="1" allowOverlap="1"><wp:simplePos x="0" y="0"/>{place}<wp:extent cx="9" cy="9"/>'
    '<wp:wrapNone/><wp:docPr id="1" name="Box"/><a:graphic>'
    '<a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:wsp>'
    f'<wps:cNvSpPr txBox="1"/><wps:spPr/><wps:txbx>{content}</wps:txbx><wps:bodyPr/></wps:wsp>'
    "</a:graphicData></a:graphic></wp:anchor></w:drawing>"
)
both = (
    f'<w:r><mc:AlternateContent><mc:Choice Requires="wps">{drawing}</mc:Choice>'
    f"<mc:Fallback>{vml}</mc:Fallback></mc:AlternateContent></w:r>"
)
PARAGRAPHS = {
    "words": (run("Guten Tag"), "Guten Tag"),
    "words and a box": (run("Guten ") + both + run("Tag"), "Adresse"),
    "a box alone": (both, "Adresse"),
    "words and an older box": (f"<w:r>{vml}</w:r>{run('Guten Tag')}", "Guten Tag"),
    "custom XML": (f'<w:customXml w:element="name">{run("Anna")}</w:customXml>{run(" Muster")}', "Muster"),
}
for name, (xml, stated) in PARAGRAPHS.items():
    document = docx.Document()
    document.element.body.insert(0, parse_xml(f"<w:p {NAMESPACES}>{xml}</w:p>"))
    document.save("letter.docx")
    expect(name, pypandoc.convert_file("letter.docx", "plain").strip(), stated)
PYTHON
