#!/usr/bin/env bash
# A Windows line end in a cell is "_x000D_" in the text for two of six readers of XLSX, and a third reader drops it.
#
# Guess: a cell that is stored as "eins_x000D_\nzwei" has a line end, and no letters of an escape, for openpyxl,
#        calamine, xlsx2csv, pandoc, ExcelJS and SheetJS; the text "_x0041_" comes back from what openpyxl, XlsxWriter,
#        ExcelJS and SheetJS write. The reading above a Japanese word is no part of its text.
# Miss:  OOXML writes a sign that XML cannot hold, or a carriage return, as "_xHHHH_", and "_x005F_" for the underscore
#        of a text that looks so. calamine, ExcelJS and SheetJS know that. openpyxl and pandoc show "eins_x000D_",
#        which is then in the texts for translation, and in the translations; xlsx2csv has no return, and
#        "_x005F_x0041_". Only XlsxWriter escapes the underscore, so that a name such as "_x0041_" is "A" in Excel if
#        another package wrote it, each of which reads its own file otherwise. pandoc puts the reading of a word with
#        bold letters behind it.
. "$(dirname "$0")/environment.sh" openpyxl==3.1.5 xlsxwriter==3.3.1 python-calamine==0.9.1 xlsx2csv==0.8.6 pypandoc-binary==1.17
npm install --silent --no-audit --no-fund exceljs@4.4.0 xlsx@0.18.5 2>npm.log
cat >sheet.cjs <<'JAVASCRIPT'
const ExcelJS = require('exceljs')
const XLSX = require('xlsx')

async function main() {
  const [read, written] = [new ExcelJS.Workbook(), new ExcelJS.Workbook()]
  await read.xlsx.readFile('cells.xlsx')
  const sheet = XLSX.readFile('cells.xlsx').Sheets.Sheet1
  const cells = ['A1', 'B1', 'C1']
  const texts = [cells.map((name) => read.worksheets[0].getCell(name).text), cells.map((name) => sheet[name].v)]
  console.log(JSON.stringify(texts))
  written.addWorksheet('Sheet1').getCell('A1').value = '_x0041_'
  await written.xlsx.writeFile('exceljs.xlsx')
  const book = XLSX.utils.book_new()
  XLSX.utils.book_append_sheet(book, XLSX.utils.aoa_to_sheet([['_x0041_']]))
  XLSX.writeFile(book, 'sheetjs.xlsx')
}
main()
JAVASCRIPT
python - <<'PYTHON'
import csv
import json
import re
import subprocess
import zipfile

import openpyxl
import pypandoc
import xlsxwriter
from finding import expect
from python_calamine import CalamineWorkbook
from xlsx2csv import Xlsx2csv

TEXTS = ["ONE", "TWO", "THREE"]
STORED = [
    "<t>eins_x000D_\nzwei</t>",
    "<t>_x005F_x0041_</t>",
    '<r><t>漢</t></r><r><rPr><b/></rPr><t>字</t></r><rPh sb="0" eb="2"><t>カンジ</t></rPh>',
]
right = ["eins\r\nzwei", "_x0041_", "漢字"]
with xlsxwriter.Workbook("plain.xlsx") as workbook:
    workbook.add_worksheet().write_row(0, 0, TEXTS)
with zipfile.ZipFile("plain.xlsx") as plain, zipfile.ZipFile("cells.xlsx", "w") as cells:
    for name in plain.namelist():
        data = plain.read(name).decode()
        for text, stored in zip(TEXTS, STORED):
            data = data.replace(f"<t>{text}</t>", stored)
        cells.writestr(name, data)

def by_calamine(name):
    return CalamineWorkbook.from_path(name).get_sheet_by_index(0).to_python()[0]

expect("calamine", by_calamine("cells.xlsx"), right)
node = subprocess.run(["node", "sheet.cjs"], capture_output=True, check=True, text=True)
expect("ExcelJS and SheetJS", json.loads(node.stdout), [right, right])
first = [cell.value for cell in openpyxl.load_workbook("cells.xlsx").active[1]]
expect("openpyxl", first, ["eins_x000D_\nzwei", "_x0041_", "漢字"])
Xlsx2csv("cells.xlsx").convert("cells.csv")
with open("cells.csv", newline="") as file:
    expect("xlsx2csv", next(csv.reader(file)), ["eins\nzwei", "_x005F_x0041_", "漢字"])
words = re.findall(r"[^\s-]+", pypandoc.convert_file("cells.xlsx", "plain", extra_args=["--wrap=none"]))
expect("pandoc", words, ["Sheet1", "eins_x000D_", "zwei", "_x005F_x0041_", "漢", "字", "カンジ"])

workbook = openpyxl.Workbook()
workbook.active["A1"] = "_x0041_"
workbook.save("openpyxl.xlsx")
with xlsxwriter.Workbook("xlsxwriter.xlsx") as workbook:
    workbook.add_worksheet().write(0, 0, "_x0041_")
for name, text in {"openpyxl": "A", "xlsxwriter": "_x0041_", "exceljs": "A", "sheetjs": "A"}.items():
    expect(f"{name}, written", by_calamine(f"{name}.xlsx"), [text])
PYTHON
