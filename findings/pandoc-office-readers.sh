#!/usr/bin/env bash
# pandoc's new readers of PPTX and XLSX leave out groups and notes, cut words at bold letters, and make dates numbers.
#
# Guess: pandoc 3.9 reads slides and tables as it reads DOCX: all texts, also those of groups and of the speaker's
#        notes; "Haus" with "bau" in bold is one word; a date is a date.
# Miss:  shapes in a group, such as a diagram's labels, and notes are not there, without a warning. A space is put
#        between runs, so that "Hausbau" with a bold half is "Haus bau", and so in cells. A date is its serial number,
#        48000.0 days, 2 is "2.0" and true is "1.0". Of fields, of which no guess was written, the text is there. Text
#        for translation, or for a model to read, lacks sentences, and has words that nobody wrote. markitdown has
#        groups and notes, and the words whole.
. "$(dirname "$0")/environment.sh" pypandoc-binary==1.17 python-pptx==1.0.2 xlsxwriter==3.3.1 'markitdown[pptx]==0.1.9'
python - <<'PYTHON' 2>warnings.log
import datetime

import pptx
import pypandoc
import xlsxwriter
from finding import expect
from markitdown import MarkItDown

BOX = (0, 0, 914400, 914400)
presentation = pptx.Presentation()
slide = presentation.slides.add_slide(presentation.slide_layouts[6])
paragraph = slide.shapes.add_textbox(*BOX).text_frame.paragraphs[0]
for text, bold in (("Der Haus", False), ("bau", True), (".", False)):
    run = paragraph.add_run()
    run.text, run.font.bold = text, bold
slide.shapes.add_group_shape().shapes.add_textbox(*BOX).text_frame.text = "Gruppe"
slide.notes_slide.notes_text_frame.text = "Notiz"
presentation.save("slide.pptx")

workbook = xlsxwriter.Workbook("table.xlsx")
sheet = workbook.add_worksheet("Blatt")
sheet.write_rich_string("A1", "Haus", workbook.add_format({"bold": True}), "bau")
date = workbook.add_format({"num_format": "dd.mm.yyyy"})
sheet.write_datetime("A2", datetime.datetime(2031, 6, 1), date)
sheet.write("A3", 2)
sheet.write("A4", True)
workbook.close()

expect("pandoc", str(pypandoc.get_pandoc_version()), "3.9")
by_pandoc = pypandoc.convert_file("slide.pptx", "plain")
expect("pandoc, slide", by_pandoc.split("\n", 1)[1].split(), ["Der", "Haus", "bau", "."])
by_markitdown = MarkItDown().convert("slide.pptx").text_content
expect("markitdown, slide", [text in by_markitdown for text in ("Der Hausbau.", "Gruppe", "Notiz")], 3 * [True])
cells = pypandoc.convert_file("table.xlsx", "plain").split("\n")
cells = [cell.strip() for cell in cells if cell.strip(" -")]
expect("pandoc, cells", cells, ["Blatt", "Haus bau", "48000.0", "2.0", "1.0"])
PYTHON
