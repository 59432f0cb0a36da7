#!/usr/bin/env python3
"""Compare two systems by a reader who does not know which is which.

    python scripts/blind.py sheet newstest2013.de newstest2013.en before.txt after.txt sheet.tsv
    python scripts/blind.py count sheet.tsv --before de-en --after runs/new --set newstest2013 --reader "a translator"

`sheet` draws lines at random and writes source, reference and both translations in random order, as A and B. Which is
which stands in a file beside it, `sheet.key.json`, which the reader leaves closed. Lines with two equal translations
are counted, but are not in the sheet. The reader writes A, B or = into the last column. `count` counts how often the
second system is better, worse and equal, with the p-value of a two-sided sign test, and prints a JSON record.
"""

import argparse
import csv
import json
import random
import sys
from collections.abc import Sequence
from math import comb
from pathlib import Path

from translate.errors import UserError
from translate.files import read_json, read_lines, write_json
from translate.training.run import commit

COLUMNS = ["line", "source", "reference", "A", "B", "better"]
BEFORE, AFTER, EQUAL = "before", "after", "="


def main(argv: Sequence[str] | None = None) -> int:
    """Write a sheet, or count the answers in one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(required=True, metavar="sheet|count")
    sheet = tasks.add_parser("sheet", help="write a sheet")
    for name in ("source", "reference", "before", "after", "sheet"):
        sheet.add_argument(name, type=Path)
    sheet.add_argument("--lines", type=int, default=100, help="at most (default: %(default)s)")
    sheet.add_argument("--seed", type=int, default=1, help="of lines and order (default: %(default)s)")
    sheet.set_defaults(task=write_sheet)
    count = tasks.add_parser("count", help="count the answers")
    count.add_argument("sheet", type=Path)
    count.add_argument("--before", required=True, help="name of the first system")
    count.add_argument("--after", required=True, help="name of the second system")
    count.add_argument("--set", required=True, help="name of the test set")
    count.add_argument("--reader", required=True, help="who answered")
    count.add_argument("--out", type=Path, metavar="FILE", help="write the record here, too")
    count.set_defaults(task=write_count)
    args = parser.parse_args(argv)
    try:
        args.task(args)
    except UserError as error:
        parser.error(str(error))
    return 0


def write_sheet(args: argparse.Namespace) -> None:
    """Write the sheet and its key."""
    files = (args.source, args.reference, args.before, args.after)
    columns = [list(read_lines(file)) for file in files]
    if len(set(map(len, columns))) > 1:
        counts = ", ".join(f"{file} has {len(column):,} lines" for file, column in zip(files, columns, strict=True))
        raise UserError(f"line n of all files should belong together, but {counts}")
    draw = random.Random(args.seed)
    rows = list(enumerate(zip(*columns, strict=True), start=1))
    drawn = sorted(draw.sample(rows, min(args.lines, len(rows))))
    shown = [row for row in drawn if row[1][2] != row[1][3]]
    first = [draw.choice([BEFORE, AFTER]) for _ in shown]
    try:
        out = args.sheet.open("x", encoding="utf-8", newline="")
    except FileExistsError as error:
        raise UserError(f"{args.sheet}: exists already and may have answers; name another file") from error
    with out as file:
        writer = csv.writer(file, "excel-tab")
        writer.writerow(COLUMNS)
        for (n, (source, reference, before, after)), a in zip(shown, first, strict=True):
            writer.writerow([n, source, reference, *((before, after) if a == BEFORE else (after, before)), ""])
    write_json(key_of(args.sheet), {"first": first, "same": len(drawn) - len(shown)})


def write_count(args: argparse.Namespace) -> None:
    """Print the record of a sheet that was answered."""
    key = read_json(key_of(args.sheet))
    with args.sheet.open(encoding="utf-8", newline="") as file:
        answers = [row["better"].strip() for row in csv.DictReader(file, dialect="excel-tab")]
    votes = counted(answers, key["first"])
    votes["equal"] += key["same"]
    record = {
        "kind": "blind",
        "commit": commit(),
        "before": args.before,
        "after": args.after,
        "set": args.set,
        "reader": args.reader,
        **votes,
        "same": key["same"],
        "p": round(sign_test(votes["better"], votes["worse"]), 4),
    }
    if args.out:
        write_json(args.out, record)
    print(json.dumps(record, ensure_ascii=False))


def key_of(sheet: Path) -> Path:
    """Return the file that says which system is A."""
    return sheet.with_suffix(".key.json")


def counted(answers: Sequence[str], first: Sequence[str]) -> dict[str, int]:
    """Return how often the second system is better, worse and equal; UserError for a missing row or answer.

    Args:
        answers: A, B or = for each row.
        first: the system that is A in each row, BEFORE or AFTER.
    """
    if len(answers) != len(first):
        raise UserError(
            f"the sheet has {len(answers)} rows, but its key {len(first)}; restore the rows that are missing"
        )
    found = {"better": 0, "worse": 0, "equal": 0}
    for n, (answer, a) in enumerate(zip(answers, first, strict=True), start=1):
        if answer not in ("A", "B", EQUAL):
            raise UserError(f"row {n} has {answer!r} in its last column; write A, B or {EQUAL}")
        found["equal" if answer == EQUAL else "better" if (answer == "A") == (a == AFTER) else "worse"] += 1
    return found


def sign_test(better: int, worse: int) -> float:
    """Return the probability of a difference as large as this or larger if both outcomes were equally probable."""
    n = better + worse
    tail = sum(comb(n, k) for k in range(max(better, worse), n + 1))
    return min(1.0, 2 * tail * 0.5**n)


if __name__ == "__main__":
    sys.exit(main())
