#!/usr/bin/env bash
# DuckDB drops the lines at the start of a file of pairs that have no tab, and those with "#", however many there are.
#
# Guess: `read_csv` with `delim='\t', header=false` reads each line: one without a tab is an error, or has NULL as its
#        second column, and "# Titel" is a text. Without `header`, the first of several lines of text is data.
# Miss:  the separator is given, yet the number of lines to skip and a sign for comments are guessed. 300 pairs after
#        50 lines that lack their second side are 300 rows; the same line between the pairs is an error. Lines that
#        begin with "#" and have no tab are gone anywhere. A list of sentences is divided at commas, and loses its
#        first lines without a comma. `ignore_errors` keeps that first line and drops all pairs. Nothing is said.
#        Without `header` the first pair is the names of the columns. `columns`, or `skip=0` and `comment=''`, make
#        errors of such lines.
. "$(dirname "$0")/environment.sh" duckdb==2.0.1
python - <<'PYTHON'
import duckdb
from finding import expect

PAIRS = ["Guten Tag.\tGood day.", "Das ist gut.\tThat is good.", "Ja.\tYes."]
ROWS = [tuple(pair.split("\t")) for pair in PAIRS]
TAB = r"delim='\t', header=false"


def read(lines, options):
    """Return the rows that DuckDB reads, or the name of an error."""
    with open("lines.txt", "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    try:
        return duckdb.sql(f"SELECT * FROM read_csv('lines.txt', {options})").fetchall()
    except duckdb.Error as error:
        return type(error).__name__


expect("a line without a tab, first", read(["Nur eine Seite", *PAIRS], TAB), ROWS)
expect("a line without a tab, third", read([*PAIRS[:2], "Nur eine Seite", PAIRS[2]], TAB), "InvalidInputException")
alone = [f"Zeile {number} ohne Partner" for number in range(50)]
expect("fifty of them, first", len(read(alone + 100 * PAIRS, TAB)), 300)
expect("with ignore_errors", read(["Nur eine Seite", *PAIRS], f"{TAB}, ignore_errors=true"), [("Nur eine Seite",)])
expect("lines with #", read([*PAIRS, "# Titel", *PAIRS], TAB), 2 * ROWS)
expect("lines with #, comment=''", read([*PAIRS, "# Titel", *PAIRS], f"{TAB}, comment=''"), "InvalidInputException")
expect("with skip=0", read(["Nur eine Seite", *PAIRS], f"{TAB}, skip=0"), "InvalidInputException")
sentences = ["Das Haus", "Der Hund, die Katze", "Ja, gut"]
expect("sentences", read(sentences, "header=false"), [("Der Hund", " die Katze"), ("Ja", " gut")])
columns = "columns={'text': 'VARCHAR'}"
expect("sentences, columns", read(sentences, f"header=false, {columns}"), [(sentence,) for sentence in sentences])
expect("without header", read(PAIRS, r"delim='\t'"), ROWS[1:])
PYTHON
