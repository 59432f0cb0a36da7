"""Records with a checksum are read as written, and refused if they were edited by hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translate.errors import UserError
from translate.experiments import records

LINE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\n"), max_size=7)


@settings(max_examples=20)
@given(lines=st.lists(LINE, max_size=5), value=st.floats(allow_nan=False, allow_infinity=False))
def test_a_record_is_read_as_written(tmp_path_factory: pytest.TempPathFactory, lines: list[str], value: float) -> None:
    folder = tmp_path_factory.mktemp("record") / "a"
    records.write(folder, {"x": value, "row": ["ä"]}, {"a.hyp": lines})
    record = records.read(folder)
    assert record is not None
    assert (record["x"], record["row"]) == (value, ["ä"])
    assert records.read_text(folder, "a.hyp", record) == lines


def test_a_missing_record_is_read_as_none(tmp_path: Path) -> None:
    assert records.read(tmp_path / "none") is None


def test_a_new_record_replaces_an_old_one(tmp_path: Path) -> None:
    records.write(tmp_path / "a", {"x": 1}, {"old": ["text"]})
    records.write(tmp_path / "a", {"x": 2}, {})
    record = records.read(tmp_path / "a")
    assert record is not None
    assert record["x"] == 2
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["record.json"]


def test_a_score_changed_by_hand_is_refused(tmp_path: Path) -> None:
    records.write(tmp_path / "a", {"bleu": 31.5}, {})
    path = tmp_path / "a" / "record.json"
    path.write_text(path.read_text(encoding="utf-8").replace("31.5", "41.5"), encoding="utf-8")
    with pytest.raises(UserError, match=r"record.json: was changed after it was written; remove .* scored again"):
        records.read(tmp_path / "a")


def test_reformatting_a_record_is_not_a_change(tmp_path: Path) -> None:
    records.write(tmp_path / "a", {"bleu": 31.5, "row": [1]}, {})
    path = tmp_path / "a" / "record.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")), sort_keys=True), encoding="utf-8")
    assert records.read(tmp_path / "a")


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_damaged_record_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "record.json").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="damaged; remove"):
        records.read(tmp_path)


@pytest.mark.parametrize("damage", [lambda path: path.write_text("other\n", encoding="utf-8"), Path.unlink])
def test_a_changed_text_is_refused(tmp_path: Path, damage) -> None:
    records.write(tmp_path / "a", {}, {"a.hyp": ["one"]})
    record = records.read(tmp_path / "a")
    assert record is not None
    damage(tmp_path / "a" / "a.hyp")
    with pytest.raises(UserError, match=r"a.hyp: (was changed|missing or damaged)"):
        records.read_text(tmp_path / "a", "a.hyp", record)
