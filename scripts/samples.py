"""Documents to measure with, made by python-docx, python-pptx, odfdo, pandoc, LibreOffice, and by hand.

    python scripts/samples.py FOLDER

Each program makes its documents from the same sentences, with words in bold, italics and links, and with what it offers
beside the text: tables, headers, notes and comments. The last two programs are left out where they are not installed.
"""

import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

VARIANTS = 5  # of each document, with other sentences
SENTENCES = (
    "Die Tür ist **immer** offen.",
    "Wir haben den *alten* Vertrag **gestern Abend** gekündigt.",
    "Bitte lesen Sie [die Anleitung](https://example.org/a) vor dem ersten Gebrauch.",
    "Der Zug nach **München** fährt heute *nicht* mehr.",
    "Ohne Strom bleibt das Haus dunkel.",
    "Die **Rechnung** liegt auf dem *runden Tisch* in der Küche.",
    "Meine Schwester wohnt seit drei Jahren am See.",
    "Das ist **sehr** wichtig, *aber* niemand spricht darüber.",
    "Öffnen Sie [den Deckel](https://example.org/b) **langsam** und warten Sie eine Minute.",
    "Am Ende des Weges steht ein kleines Gasthaus.",
    "Der *neue* Lehrer kennt **alle** Kinder beim Namen.",
)
_MARK = re.compile(r"\*\*(?P<bold>.+?)\*\*|\*(?P<italic>.+?)\*|\[(?P<link>.+?)\]\((?P<url>.+?)\)")
Run = tuple[str, str]  # a text, and "bold", "italic", a URL or ""


def paragraphs(variant: int, n: int) -> list[list[Run]]:
    """Return paragraphs of one to three sentences, as runs."""
    sentences = itertools.cycle(SENTENCES[variant * 2 % len(SENTENCES) :] + SENTENCES[: variant * 2 % len(SENTENCES)])
    return [list(runs(" ".join(next(sentences) for _ in range(1 + k % 3)))) for k in range(n)]


def runs(text: str) -> Iterator[Run]:
    """Divide a text with marks of Markdown."""
    end = 0
    for mark in _MARK.finditer(text):
        if mark.start() > end:
            yield text[end : mark.start()], ""
        kind = str(mark.lastgroup)
        yield (mark["link"], mark["url"]) if kind == "url" else (mark[kind], kind)
        end = mark.end()
    if end < len(text):
        yield text[end:], ""


def plain(paragraph: list[Run]) -> str:
    """Return the text of a paragraph."""
    return "".join(text for text, _ in paragraph)


def word(path: Path, variant: int) -> None:
    """Make a document of Word by python-docx: headings, lists, a table, header and footer, comments."""
    file: Any = import_module("docx").Document()
    file.core_properties.title = "Ein Bericht"
    for section in file.sections:
        section.header.paragraphs[0].text, section.footer.paragraphs[0].text = "Kopf der Seite", "Fuß der Seite"
    for n, paragraph in enumerate(paragraphs(variant, 9)):
        if n % 4 == 0:
            file.add_heading(f"Kapitel {n // 4 + 1}", 1 + n // 8)
        own = file.add_paragraph(style="List Bullet" if n % 3 == 2 else None)
        for text, kind in paragraph:
            run = own.add_run(text)
            run.bold, run.italic = kind == "bold" or None, kind == "italic" or None
            run.underline = kind.startswith("http") or None
    file.add_comment(own.runs, "Stimmt das so?", author="A")
    table = file.add_table(2, 3)
    for cell, paragraph in zip([*table.rows[0].cells, *table.rows[1].cells], paragraphs(variant + 1, 6), strict=True):
        cell.text = plain(paragraph)
    file.save(str(path))


def slides(path: Path, variant: int) -> None:
    """Make slides by python-pptx: titles, lists, a table, a chart, notes."""
    data, sizes = import_module("pptx.chart.data"), import_module("pptx.util")
    file: Any = import_module("pptx").Presentation()
    for n, paragraph in enumerate(paragraphs(variant, 4)):
        slide = file.slides.add_slide(file.slide_layouts[1])
        slide.shapes.title.text = f"Folie {n + 1}"
        own = slide.placeholders[1].text_frame.paragraphs[0]
        for text, kind in paragraph:
            run = own.add_run()
            run.text, run.font.bold, run.font.italic = text, kind == "bold" or None, kind == "italic" or None
            if kind.startswith("http"):
                run.hyperlink.address = kind
        slide.notes_slide.notes_text_frame.text = plain(paragraphs(variant + 1, 1)[0])
    place = [sizes.Cm(n) for n in (2, 9, 20, 6)]
    file.slides[0].shapes.add_table(2, 2, *place).table.cell(0, 1).text = plain(paragraphs(variant, 1)[0])
    chart = data.CategoryChartData()
    chart.categories = ["Der Norden", "Der Süden"]
    chart.add_series("Umsatz im Jahr", (3, 7))
    file.slides[1].shapes.add_chart(import_module("pptx.enum.chart").XL_CHART_TYPE.BAR_CLUSTERED, *place, chart)
    file.save(str(path))


def open_text(path: Path, variant: int) -> None:
    """Make an OpenDocument text by odfdo: headings, a table, notes, comments."""
    odfdo = import_module("odfdo")
    file: Any = odfdo.Document("text")
    file.body.clear()
    for name, properties in (("bold", {"weight": "bold"}), ("italic", {"style": "italic"})):
        file.insert_style(
            odfdo.Style("text", name=name, area="text", **{f"fo:font-{k}": v for k, v in properties.items()})
        )
    file.body.append(odfdo.Header(1, f"Kapitel {variant + 1}"))
    for n, paragraph in enumerate(paragraphs(variant, 8)):
        own = odfdo.Paragraph()
        for text, kind in paragraph:
            if not kind:
                own.append(text)
            elif kind.startswith("http"):
                own.append(odfdo.Link(kind, text=text))
            else:
                own.append(odfdo.Span(text, style=kind))
        if n == 2:
            own.append(odfdo.Note(note_id="n1", citation="1", body="Eine Anmerkung dazu."))
        if n == 4:
            own.append(odfdo.Annotation("Stimmt das so?", creator="A"))
        file.body.append(own)
    table = odfdo.Table("Tabelle")
    table.set_values([[plain(paragraph) for paragraph in paragraphs(variant, 2)]])
    file.body.append(table)
    file.save(str(path))


def open_slides(path: Path, variant: int) -> None:
    """Make OpenDocument slides by odfdo."""
    odfdo = import_module("odfdo")
    file: Any = odfdo.Document("presentation")
    file.body.clear()
    for n, paragraph in enumerate(paragraphs(variant, 3)):
        page = odfdo.DrawPage(f"seite{n}", name=f"seite{n}")
        page.append(odfdo.Frame.text_frame([plain(paragraph)], size=("20cm", "5cm"), position=("2cm", "2cm")))
        file.body.append(page)
    file.save(str(path))


def markdown(variant: int) -> str:
    """Return a document for pandoc."""
    own = SENTENCES[variant * 2 :] + SENTENCES[: variant * 2]
    return f"""---
title: Ein Bericht
lang: de
---

# Kapitel *{variant + 1}*

{own[0]} {own[1]}[^1] {own[2]}

> {own[3]}

- {own[4]}
- {own[5]} {own[8]}

## Weiter

| Name | Wert |
|---|---|
| {own[6]} | 3 |

```
x = 1
```

{own[7]} Der Befehl `ls` steht [hier](#kapitel).

[^1]: {own[9]} {own[10]}
"""


WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def word_by_hand(path: Path, variant: int) -> None:
    """Write a document as Word leaves one after edits: runs cut within words, marks of spelling, footnotes, a field."""
    body = ""
    for n, paragraph in enumerate(paragraphs(variant, 7)):
        body += "<w:p>"
        for k, (text, kind) in enumerate(paragraph):
            look = {"bold": "<w:b/>", "italic": "<w:i/>", "": ""}.get(kind, "<w:u/>")
            middle = len(text) // 2
            for part, number in ((text[:middle], 2 * k), (text[middle:], 2 * k + 1)):
                body += f'<w:r w:rsidR="00{n:02}{number:04}"><w:rPr>{look}<w:lang w:val="de-DE"/></w:rPr>'
                body += f'<w:t xml:space="preserve">{part}</w:t></w:r><w:proofErr w:type="spellStart"/>'
        if n == 1:
            body += '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
        if n == 3:
            body += '<w:r><w:t xml:space="preserve"> Siehe Seite </w:t></w:r><w:fldSimple w:instr=" PAGEREF a "><w:r>'
            body += "<w:t>5</w:t></w:r></w:fldSimple><w:r><w:t>.</w:t></w:r>"
        body += "</w:p>"
    note = f'<w:footnote w:id="2"><w:p><w:r><w:t>{plain(paragraphs(variant + 1, 1)[0])}</w:t></w:r></w:p></w:footnote>'
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{TYPES}.document.main+xml"/>'
        f'<Override PartName="/word/footnotes.xml" ContentType="{TYPES}.footnotes+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="a" Type="{office}/officeDocument" '
        'Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{WORDS}"><w:body>{body}</w:body></w:document>',
        "word/footnotes.xml": f'<w:footnotes xmlns:w="{WORDS}">{note}</w:footnotes>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{relations}"><Relationship Id="b" '
        f'Type="{office}/footnotes" Target="footnotes.xml"/></Relationships>',
    }
    with ZipFile(path, "w", ZIP_DEFLATED) as members:
        for name, content in parts.items():
            members.writestr(name, content)


def book_by_hand(path: Path, variant: int) -> None:
    """Write an EPUB 3 with its chapters in a folder of another name, a note and a picture's text."""
    body = ""
    for paragraph in paragraphs(variant, 6):
        tags = {"bold": ("<b>", "</b>"), "italic": ("<i>", "</i>"), "": ("", "")}
        looks = [(text, *tags.get(kind, (f'<a href="{kind}">', "</a>"))) for text, kind in paragraph]
        body += f"<p>{''.join(first + text + last for text, first, last in looks)}</p>\n"
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="de" xml:lang="de">'
    )
    parts = {
        "META-INF/container.xml": '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="buch/b.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>",
        "buch/b.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="i">urn:x:1</dc:identifier><dc:title>Die Reise'
        '</dc:title><dc:language>de</dc:language><meta property="dcterms:modified">2026-01-01T00:00:00Z</meta>'
        "</metadata>"
        '<manifest><item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/><item id="c" '
        'href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>',
        "buch/n.xhtml": f'{page}<head><title>Inhalt</title></head><body><nav epub:type="toc"><ol><li><a href="c.xhtml">'
        "Erstes Kapitel</a></li></ol></nav></body></html>",
        "buch/c.xhtml": f"{page}<head><title>Erstes Kapitel</title></head><body><h1>Erstes Kapitel</h1>\n{body}"
        "<pre>x = 1</pre></body></html>",
    }
    with ZipFile(path, "w", ZIP_DEFLATED) as members:
        members.writestr("mimetype", "application/epub+zip", ZIP_STORED)
        for name, content in parts.items():
            members.writestr(name, content)


LIBRARIES: dict[str, tuple[str, Callable[[Path, int], None]]] = {  # of each name: the suffix, and what makes it
    "python-docx": (".docx", word),
    "python-pptx": (".pptx", slides),
    "odfdo-text": (".odt", open_text),
    "odfdo-slides": (".odp", open_slides),
    "hand-word": (".docx", word_by_hand),
    "hand-book": (".epub", book_by_hand),
}


def make(folder: Path) -> list[Path]:
    """Make the documents in a folder, and return their paths."""
    made = list[Path]()
    for variant in range(VARIANTS):
        for name, (suffix, maker) in LIBRARIES.items():
            made.append(folder / f"{name}-{variant}{suffix}")
            maker(made[-1], variant)
        if shutil.which("pandoc"):
            for kind, suffix in (("docx", ".docx"), ("odt", ".odt"), ("epub2", ".epub"), ("epub3", ".epub")):
                made.append(folder / f"pandoc-{kind}-{variant}{suffix}")
                command = ["pandoc", "--from", "markdown", "--to", kind, "--output", str(made[-1])]
                subprocess.run(command, input=markdown(variant), text=True, check=True)
    if shutil.which("soffice"):
        for first, suffix in (("python-docx", ".odt"), ("odfdo-text", ".docx"), ("python-pptx", ".odp")):
            made += converted([path for path in made if path.name.startswith(first)][:2], suffix)
    return made


def converted(paths: list[Path], suffix: str) -> list[Path]:
    """Return documents that LibreOffice made of others."""
    results = [path.with_name(f"libreoffice-{path.stem}{suffix}") for path in paths]
    with tempfile.TemporaryDirectory() as own:
        command = ["soffice", f"-env:UserInstallation=file://{own}/office", "--headless", "--convert-to", suffix[1:]]
        command += ["--outdir", own, *map(str, paths)]
        subprocess.run(command, check=True, capture_output=True)
        for path, result in zip(paths, results, strict=True):
            shutil.move(Path(own, path.stem + suffix), result)
    return results


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print(*make(target), sep="\n")
