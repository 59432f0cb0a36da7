"""Files of rows on a cluster: one row in, one row out, in order, also after an interruption at any place."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.translate.one_process import OneProcess, connected
from translate.cluster import PartIndex
from translate.commands import rows
from translate.commands.main import main
from translate.models.folder import ModelFolder

LINES = ["der Hund läuft.", "", "  die Katze schläft. ein Vogel singt. ", "12", "\tdas Kind\r", "a\fb\u2028c", "\x00"]
TEXTS = ["der Hund läuft.", None, "", "das Kind singt.\nein Vogel läuft.", " die Katze "]
METADATA = {b"origin": b"here"}


@pytest.fixture
def translate(parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """`translate text` in a folder with the folders "in" and "more", in one process and parts of three rows."""
    monkeypatch.chdir(tmp_path)
    for name in ("in", "more"):
        (tmp_path / name).mkdir()
    for name, stand_in in (("Dataset", OneProcess), ("cluster.connected", connected), ("ROWS", 3)):
        monkeypatch.setattr(f"translate.commands.rows.{name}", stand_in)
    return lambda *arguments: main(["text", "--model", str(parts.folder), *arguments])


def on_cluster(translate: Callable[..., int], *arguments: str) -> int:
    return translate("--input", "in/*", "--output", "out", "--ray", *arguments)


@example(["\ufeff" + LINES[0], *LINES[1:], "ohne Ende"], "")
@example(["\ufeff"], "")
@given(st.lists(st.sampled_from(LINES), max_size=10), st.sampled_from(["\n", ""]))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_have_the_bytes_of_a_file_that_is_translated_alone(
    translate: Callable[..., int], lines: list[str], end: str
) -> None:
    """A fixture is made once for all examples, which replace each other's files."""
    Path("in/a.txt").write_bytes(("\n".join(lines) + end).encode())
    assert translate("--input", "in/a.txt", "--output", "alone.txt", "--force") == 0
    assert on_cluster(translate, "--force") == 0
    assert Path("out/a.txt").read_bytes() == Path("alone.txt").read_bytes()


def table(n: int) -> pa.Table:
    texts = [TEXTS[i % len(TEXTS)] for i in range(n)]
    ids = pa.array([2**53 + 1 if i % 2 else None for i in range(n)], pa.int64())
    return pa.table({"id": ids, "none": pa.nulls(n), "text": pa.array(texts, pa.string())}, metadata=METADATA)


def alone(translate: Callable[..., int], text: str) -> str:
    Path("one").write_bytes(f"{text}\n".encode())
    assert translate("--input", "one", "--output", "one.out", "--force") == 0
    return Path("one.out").read_bytes().decode().removesuffix("\n")


KINDS = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("n", [0, 1, 3, 11])
def test_a_table_keeps_its_rows_and_columns_and_gains_one(
    translate: Callable[..., int], kind: pa.DataType, n: int
) -> None:
    """Row groups end elsewhere than parts."""
    before = table(n).set_column(2, "text", table(n)["text"].cast(kind))
    pq.write_table(before, "in/a.parquet", row_group_size=5)
    assert on_cluster(translate, "--column", "3") == 0
    after = pq.read_table("out/a.parquet")
    assert after.drop_columns("translation").equals(pq.read_table("in/a.parquet"))
    assert after.schema.metadata[b"origin"] == b"here"
    known = {text: None if text is None else alone(translate, text) for text in TEXTS}
    assert after["translation"].to_pylist() == [known[TEXTS[i % len(TEXTS)]] for i in range(n)]
    assert after["translation"].type == pa.large_string()


class StoppedError(Exception):
    pass


def test_a_run_that_stops_anywhere_is_continued_where_it_stopped(
    translate: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in/a.txt").write_text("".join(f"{LINES[i % 7]}\n" for i in range(11)), encoding="utf-8", newline="\n")
    pq.write_table(table(8), "in/b.parquet", row_group_size=5)
    Path("in/c.txt").write_text("", encoding="utf-8")
    assert on_cluster(translate, "--column", "3") == 0
    expected = {path.name: path.read_bytes() for path in Path("out").iterdir() if path.suffix == ".txt"}
    rows_expected = pq.read_table("out/b.parquet")
    notes, counts = OneProcess.notes, []

    for n in itertools.count():

        def some(parts: OneProcess, n: int = n) -> Iterator[tuple[PartIndex, Any]]:
            yield from itertools.islice(notes(parts), n)
            raise StoppedError

        folder = f"out{n}"
        with monkeypatch.context() as patch:
            patch.setattr(OneProcess, "notes", some)
            with pytest.raises(StoppedError):
                translate("--input", "in/*", "--output", folder, "--ray", "--column", "3", "--resume")
        capsys.readouterr()
        assert translate("--input", "in/*", "--output", folder, "--ray", "--column", "3", "--resume") == 0
        found = capsys.readouterr().err
        counts.append(int(found.split(" rows in ")[0].rsplit(" ", 1)[1]) if " rows in " in found else 0)
        assert {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.suffix == ".txt"} == expected
        assert pq.read_table(f"{folder}/b.parquet").equals(rows_expected)
        assert not [*Path(folder).glob(".*part*")]
        if not counts[-1]:
            break
    assert counts == [19, 16, 13, 10, 8, 5, 2, 0]


def test_outputs_are_kept_and_continued_only_with_the_same_settings(
    translate: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in/a.txt").write_text("der Hund\n", encoding="utf-8")
    pq.write_table(table(2), "in/b.parquet")
    assert on_cluster(translate, "--column", "3") == 0
    assert on_cluster(translate, "--column", "3") == 2
    assert "exists already; name another file, or add --force" in capsys.readouterr().err
    assert on_cluster(translate, "--column", "3", "--resume") == 0
    assert capsys.readouterr().err.count("is complete already") == 2
    assert on_cluster(translate, "--column", "3", "--resume", "--beam", "3") == 2
    assert "was begun with another search" in capsys.readouterr().err
    pq.write_table(table(3), "in/b.parquet")
    assert on_cluster(translate, "--column", "3", "--resume") == 2
    assert "b.parquet: was begun with another input;" in capsys.readouterr().err
    assert on_cluster(translate, "--column", "3", "--force") == 0
    assert pq.read_table("out/b.parquet").num_rows == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--ray translates files into a folder"),
        (["--input", "in/*"], "--ray translates files into a folder"),
        (["--input", "in/*", "--output", "out", "--json"], "leave out --json"),
        (["--input", "in/*", "--output", "out", "--from", "auto"], "name it with --from"),
        (["--input", "in/*", "--output", "out", "--format", "markdown"], "leave out --format markdown"),
        (["--input", "nothing/*", "--output", "out"], "nothing/*: there is no such file; correct the pattern"),
        (["--input", "in", "--output", "out"], "in: is no file of text or Parquet"),
        (["--input", "*/a.txt", "--output", "out"], "their outputs would have one name"),
        (["--input", "in/*", "--output", "in"], "a.txt: is the input too"),
        (["--input", "in/a.txt", "--output", "in/a.txt"], "in/a.txt: cannot be the folder of the outputs: File exists"),
        (
            ["--input", "*/t.parquet", "--output", "out"],
            "column 1 has no text; choose another of 1 (id, int64), 2",
        ),
        (["--input", "*/t.parquet", "--output", "out", "--column", "9"], "column 9 has no text"),
        (["--input", "*/u.parquet", "--output", "out"], "has a column 'translation' already"),
        (["--input", "*/v.parquet", "--output", "out"], "v.parquet: not a Parquet file, or damaged: "),
        (["--input", "*/w.txt", "--output", "out"], "w.txt, line 2: not UTF-8 text (byte 0xff at 1)"),
    ],
)
def test_what_cannot_be_translated_is_one_sentence(
    translate: Callable[..., int], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    for name in ("in", "more"):
        Path(f"{name}/a.txt").write_text("der Hund\n", encoding="utf-8")
    pq.write_table(table(2), "more/t.parquet")
    pq.write_table(pa.table({"translation": ["a"]}), "more/u.parquet")
    Path("more/v.parquet").write_bytes(b"no table")
    Path("more/w.txt").write_bytes(b"gut\na\xff\n")
    assert translate(*arguments, "--ray") == 2
    shown = capsys.readouterr().err.strip()
    assert message in shown
    assert shown.count("\n") == 0


def test_another_model_on_a_node_is_refused(
    translate: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in/a.txt").write_text("der Hund\n", encoding="utf-8")
    own, calls = rows.digests, itertools.count()
    monkeypatch.setattr(rows, "digests", lambda folder: own(folder) if next(calls) == 0 else ["another"])
    assert on_cluster(translate, "--beam", "4") == 2
    assert "is another model on" in capsys.readouterr().err
