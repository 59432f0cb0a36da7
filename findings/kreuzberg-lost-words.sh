#!/usr/bin/env bash
# kreuzberg takes the number off "3. Oktober" on a slide, and the words off a list item that has a list below.
#
# Guess: of Word, PowerPoint, OpenDocument, HTML and Markdown files all words are in the text that `extract_file_sync`
#        returns; what may differ is marks of lists and notes.
# Miss:  a paragraph of a slide that begins with a number and a full stop, or with a dash, counts as an item of a
#        list, and its mark is dropped: "2031. Das Jahr" is "Das Jahr", and as Markdown "12. Auflage" is "1. Auflage".
#        In Markdown, an item with items below has no text of its own. In HTML, definition lists, captions and loose
#        text are gone from plain text. ODT loses what follows a formatted word in a cell, and the words of a link.
#        Only Word was right. Who makes a corpus or an index of files in several formats has sentences with holes, and
#        no message.
. "$(dirname "$0")/environment.sh" kreuzberg==4.10.4 python-pptx==1.0.2 odfdo==3.27.3
python - <<'PYTHON' 2>messages.log
import kreuzberg
import odfdo
import pptx
from finding import expect

MARKDOWN = kreuzberg.ExtractionConfig(output_format="markdown")


def words(name, config=None):
    return kreuzberg.extract_file_sync(name, config=config).content.strip().split("\n")


def of_text(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return [line for line in words(name) if line]


def of_slide(text, config=None):
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, 914400, 914400).text_frame.text = "Anfang"
    slide.shapes.add_textbox(0, 0, 914400, 914400).text_frame.text = text
    presentation.save("slide.pptx")
    return words("slide.pptx", config)[-1]


def of_odt(xml):
    document = odfdo.Document("text")
    document.body.append(odfdo.Element.from_tag(xml))
    document.save("text.odt")
    return [line for line in words("text.odt") if line]


for text, stated in (
    ("3. Oktober", "Oktober"),
    ("2031. Das Jahr", "Das Jahr"),
    ("- Nein.", "Nein."),
    ("1.2 Kapitel", "1.2 Kapitel"),
):
    expect(f"slide, {text!r}", of_slide(text), stated)
expect("slide as Markdown", of_slide("12. Auflage", MARKDOWN), "1. Auflage")
expect("Markdown", of_text("list.md", "- Obst\n  - Apfel\n- Brot\n"), ["Apfel", "Brot"])
page = "<p>eins</p>{}<p>zwei</p>"
for html in (
    "<dl><dt>Haus</dt><dd>Gebäude</dd></dl>", "<figure><figcaption>Bild</figcaption></figure>", "lose",
    "<details><summary>Mehr</summary>Alles</details>",
):
    expect(f"HTML, {html}", of_text("page.html", page.format(html)), ["eins", "zwei"])
span = '<text:span text:style-name="Bold">{}</text:span>'
link = f'<text:p>Siehe <text:a xlink:href="https://example.org">{span.format("hier")}</text:a>.</text:p>'
expect("ODT, link", of_odt(link), ["Siehe ."])
cell = f"<text:p>Das {span.format('große')} Haus</text:p>"
row = f"<table:table-row><table:table-cell>{cell}</table:table-cell></table:table-row>"
table = f'<table:table table:name="T"><table:table-column/>{row}</table:table>'
expect("ODT, cell", of_odt(table), ["Das"])
PYTHON
