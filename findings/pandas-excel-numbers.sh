#!/usr/bin/env bash
# pandas turns texts of a spreadsheet into numbers if a column has no other: "1.10" is 1.1, "007" is 7, "TRUE" is True.
#
# Guess: `read_excel` gives the text "007" of a cell that the file stores as text, since a spreadsheet, unlike CSV, says for
#        each cell whether it is a text or a number.
# Miss:  the texts go through the same guessing as those of CSV, for each column that is all numbers or all truth values.
#        Numbers of sections, versions and identifiers beside the sentences lose zeros, "1.10" and "1.1" become one, and
#        phone numbers their plus. One other text in the column, and all stay. `dtype=object` or `dtype=str` keep them.
. "$(dirname "$0")/environment.sh" pandas==3.1.1 openpyxl==3.1.5
python - <<'PYTHON'
import openpyxl
import pandas
from finding import expect

COLUMNS = {
    "section": (["1.1", "1.10"], [1.1, 1.1]),
    "id": (["007", "012"], [7, 12]),
    "phone": (["+49301234567", "+49301234568"], [49301234567, 49301234568]),
    "de": (["TRUE", "FALSE"], [True, False]),
    "mixed": (["007", "a7"], ["007", "a7"]),
}
book = openpyxl.Workbook()
for row in (list(COLUMNS), *zip(*(written for written, _ in COLUMNS.values()), strict=True)):
    book.active.append(row)
book.save("texts.xlsx")
expect("types of cells", {cell.data_type for row in openpyxl.load_workbook("texts.xlsx").active for cell in row}, {"s"})
read, kept = pandas.read_excel("texts.xlsx"), pandas.read_excel("texts.xlsx", dtype=object)
for name, (written, stated) in COLUMNS.items():
    expect(name, read[name].tolist(), stated)
    expect(f"{name}, dtype=object", kept[name].tolist(), written)
PYTHON
