"""Sheets for a reader who does not know the systems."""

import csv
import json
from math import isclose
from pathlib import Path

import pytest

from tests.programs import program

blind = program("blind")
N_LINES = 35
NAMES = ["--before", "one", "--after", "other", "--set", "news", "--reader", "a test"]


def written(folder: Path, **columns: list[str]) -> dict[str, str]:
    """Write a file for each column; return the paths."""
    for name, lines in columns.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {name: str(folder / name) for name in columns}


def sheet(folder: Path, *options: str) -> Path:
    """Write a sheet of two systems; the second is equal in every fifth line."""
    before = [f"before {n}" for n in range(N_LINES)]
    after = [one if n % 5 == 0 else f'after\t"{n}"' for n, one in enumerate(before)]
    sides = {"source": [f"Quelle {n}" for n in range(N_LINES)], "reference": [f"source {n}" for n in range(N_LINES)]}
    paths = written(folder, **sides, before=before, after=after)
    assert blind.main(["sheet", *paths.values(), str(folder / "sheet.tsv"), *options]) == 0
    return folder / "sheet.tsv"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, dialect="excel-tab"))


def answered(path: Path, wanted: str) -> None:
    """Choose the translation that begins with a word in every row."""
    rows = rows_of(path)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, blind.COLUMNS, dialect="excel-tab")
        writer.writeheader()
        writer.writerows(row | {"better": "A" if row["A"].startswith(wanted) else "B"} for row in rows)


@pytest.mark.parametrize("wanted", ["before", "after"])
def test_a_reader_who_always_prefers_one_system_is_counted_so(
    wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sheet(tmp_path)
    rows = rows_of(path)
    assert {row["A"].split()[0] for row in rows} == {"before", "after"}  # in random order
    assert all(row["source"].removeprefix("Quelle") == row["reference"].removeprefix("source") for row in rows)
    answered(path, wanted)
    blind.main(["count", str(path), *NAMES])
    record = json.loads(capsys.readouterr().out)
    n_same = N_LINES // 5
    assert record["same"] == record["equal"] == n_same
    assert (record["worse"], record["better"]) == ((len(rows), 0) if wanted == "before" else (0, len(rows)))
    assert len(rows) + n_same == N_LINES


def test_a_sheet_has_a_sample_of_the_lines(tmp_path: Path) -> None:
    rows = rows_of(sheet(tmp_path, "--lines", "13"))
    same = json.loads((tmp_path / "sheet.key.json").read_text(encoding="utf-8"))["same"]
    assert len({row["line"] for row in rows}) + same == 13


def test_a_row_without_an_answer_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sheet(tmp_path)
    with pytest.raises(SystemExit):
        blind.main(["count", str(path), *NAMES])
    assert "row 1 has ''" in capsys.readouterr().err


def test_a_sheet_that_lost_a_row_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sheet(tmp_path)
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    with pytest.raises(SystemExit):
        blind.main(["count", str(path), *NAMES])
    assert "has 27 rows, but its key 28" in capsys.readouterr().err


def test_files_of_different_lengths_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = written(tmp_path, source=["a", "b"], reference=["c", "d"], before=["e", "f"], after=["g"])
    with pytest.raises(SystemExit):
        blind.main(["sheet", *paths.values(), str(tmp_path / "sheet.tsv")])
    assert "has 1 line" in capsys.readouterr().err
    assert not (tmp_path / "sheet.tsv").exists()


def test_a_sheet_with_answers_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answered(sheet(tmp_path), "after")
    before = (tmp_path / "sheet.tsv").read_bytes()
    with pytest.raises(SystemExit):
        sheet(tmp_path)
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "sheet.tsv").read_bytes() == before


def test_the_sign_test_is_that_of_a_fair_coin() -> None:
    assert blind.sign_test(0, 0) == blind.sign_test(5, 5) == 1.0
    assert isclose(blind.sign_test(7, 0), 2 * 0.5**7)
    assert isclose(blind.sign_test(3, 5), 2 * (56 + 28 + 8 + 1) / 256)
