#!/usr/bin/env bash
# Three writers of XLSX put the text of a cell in three places, and openpyxl drops bold words on the way.
#
# Guess: openpyxl and XlsxWriter write the texts of cells to xl/sharedStrings.xml, each once.
# Miss:  openpyxl 3.1 writes every text into its cell (inlineStr) and no table of strings at all; XlsxWriter does so with
#        `constant_memory`, else in the table. Who translates the table alone sees nothing of such a file. openpyxl also
#        reads a cell with one bold word as plain text, so that opening and saving loses the format.
. "$(dirname "$0")/environment.sh" openpyxl==3.1.5 xlsxwriter==3.3.1
python - <<'PYTHON'
import re, zipfile
import openpyxl, xlsxwriter
from finding import expect

def places(path):
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        has_table = "xl/sharedStrings.xml" in archive.namelist()
        return re.findall(r' t="(\w+)"', sheet), has_table

book = openpyxl.Workbook()
book.active["A1"] = "Guten Tag"
book.save("openpyxl.xlsx")
for name, options in (("table", {}), ("constant", {"constant_memory": True})):
    with xlsxwriter.Workbook(f"{name}.xlsx", options) as book:
        book.add_worksheet().write_rich_string("A1", "ganz ", book.add_format({"bold": True}), "fett")
expect("openpyxl", places("openpyxl.xlsx"), (["inlineStr"], False))
expect("XlsxWriter", places("table.xlsx"), (["s"], True))
expect("XlsxWriter, constant_memory", places("constant.xlsx"), (["inlineStr"], False))
openpyxl.load_workbook("table.xlsx").save("saved.xlsx")
with zipfile.ZipFile("saved.xlsx") as archive:
    sheet = archive.read("xl/worksheets/sheet1.xml").decode()
expect("the rich text after openpyxl", re.search(r"<is>.*</is>", sheet)[0], "<is><t>ganz fett</t></is>")
PYTHON
