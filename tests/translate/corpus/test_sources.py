"""Every source yields its pairs exactly, and unreadable data gives a one-sentence error."""

import bz2
import gzip
import hashlib
import itertools
import json
import lzma
import re
import tarfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from portalocker.exceptions import LockException

from translate.config.schema import (
    CleaningConfig,
    GrammarSource,
    HubSource,
    MonoSource,
    RecordSource,
    SacrebleuSource,
    Source,
    TextSource,
    TsvSource,
)
from translate.corpus import sources
from translate.corpus.cleaning import Cleaner, HeldOut
from translate.corpus.sources import Pair, describe, identity, pair_lines, read_pairs
from translate.errors import UserError
from translate.files import read_lines, sample_lines

PAIRS = [
    ("Der Hund läuft.", "The dog runs."),
    (" zwei  Wörter ", "two words"),
    ("", "empty side"),
    ("ß\u2028\u0085\rb", "x"),
]
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}
TEXT = TextSource(source="a.de", target="a.en")

line_text = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)


def write_text(folder: Path, pairs: list[Pair], suffix: str = "", end: str = "\n") -> TextSource:
    for side, language in enumerate(("de", "en")):
        text = "".join(pair[side] + end for pair in pairs)
        (folder / f"a.{language}{suffix}").write_bytes(COMPRESS[suffix](text.encode()))
    return TextSource(source=f"a.de{suffix}", target=f"a.en{suffix}")


def problem(source: Source, root: Path, langpair: str = "de-en") -> str:
    """The error message of reading `source` to its end."""
    with pytest.raises(UserError) as caught:
        list(read_pairs(source, root, langpair))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_text_files_are_read_plain_and_compressed(tmp_path: Path, suffix: str) -> None:
    assert list(read_pairs(write_text(tmp_path, PAIRS, suffix), tmp_path)) == PAIRS


def test_a_last_line_without_a_line_end_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_bytes(b"eins\nzwei")
    (tmp_path / "a.en").write_bytes(b"one\ntwo\n")
    assert list(read_pairs(TEXT, tmp_path)) == [("eins", "one"), ("zwei", "two")]


def test_windows_line_ends_are_not_part_of_the_text(tmp_path: Path) -> None:
    assert list(read_pairs(write_text(tmp_path, PAIRS, end="\r\n"), tmp_path)) == PAIRS


def test_a_byte_order_mark_is_ignored_only_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfeins\n\xef\xbb\xbfzwei\n")
    assert list(read_lines(tmp_path / "a")) == ["eins", "\ufeffzwei"]


@given(lines=st.lists(line_text.filter(lambda line: not line.endswith("\r")), max_size=5))
def test_only_a_line_feed_ends_a_line(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    """Python's own line reading would also split at other Unicode line breaks."""
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(b"\n" + "".join(line + "\n" for line in lines).encode())
    assert list(read_lines(path)) == ["", *lines]


@given(total=st.integers(0, 40), n=st.integers(1, 50))
def test_a_sample_of_lines_is_evenly_spaced(tmp_path_factory: pytest.TempPathFactory, total: int, n: int) -> None:
    path = tmp_path_factory.mktemp("sample") / "a"
    path.write_text("".join(f"{i}\n" for i in range(total)), encoding="utf-8")
    places = [int(line) for line in sample_lines(path, n)]
    assert len(places) == min(n, total)
    assert {b - a for a, b in itertools.pairwise(places)} <= {total // n, total // n + 1}
    assert [int(line) for line in sample_lines(path, None)] == list(range(total))


def test_an_absolute_path_ignores_the_root(tmp_path: Path) -> None:
    write_text(tmp_path, PAIRS)
    source = TextSource(source=str(tmp_path / "a.de"), target=str(tmp_path / "a.en"))
    assert list(read_pairs(source, Path("/nowhere"))) == PAIRS


@pytest.mark.parametrize(("n_source", "n_target"), [(3, 5), (7, 5), (0, 3)])
def test_parallel_files_of_unequal_length_are_refused_with_both_counts(
    tmp_path: Path, n_source: int, n_target: int
) -> None:
    (tmp_path / "a.de").write_text("Satz\n" * n_source)
    (tmp_path / "a.en").write_text("sentence\n" * n_target)
    message = problem(TEXT, tmp_path)
    assert f"a.de has {n_source} lines" in message
    assert f"a.en has {n_target}:" in message


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_compressed_file_without_its_suffix_is_named(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "a").write_bytes(COMPRESS[suffix](b"one\n"))
    with pytest.raises(UserError, match=r"a: a \w+ file, not text; unpack it"):
        list(read_lines(tmp_path / "a"))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_undecodable_bytes_are_named_by_file_and_line(tmp_path: Path, suffix: str) -> None:
    write_text(tmp_path, PAIRS, suffix)
    (tmp_path / f"a.en{suffix}").write_bytes(COMPRESS[suffix](b"one\ntwo\nthr\xe9e\nfour\n"))
    assert f"a.en{suffix}, line 3: not UTF-8 text (byte 0xe9 at 3)" in problem(
        TextSource(source=f"a.de{suffix}", target=f"a.en{suffix}"), tmp_path
    )


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_cut_off_compressed_file_is_named(tmp_path: Path, suffix: str) -> None:
    source = write_text(tmp_path, [(f"{n}", f"{n}") for n in range(999)], suffix)
    path = tmp_path / source.target
    path.write_bytes(path.read_bytes()[:-20])
    assert f"a.en{suffix}: the compressed file is damaged or cut off after line" in problem(source, tmp_path)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_file_that_is_not_compressed_as_its_name_says_is_named(tmp_path: Path, suffix: str) -> None:
    source = write_text(tmp_path, PAIRS, suffix)
    (tmp_path / source.source).write_bytes(b"plain text\n" * 9)
    said = problem(source, tmp_path)
    assert f"a.de{suffix}: the compressed file is damaged or cut off after line 0: " in said
    assert said.endswith("; copy it again, or rename it if it is not compressed")


def test_flipped_bits_in_a_compressed_file_are_noticed(tmp_path: Path) -> None:
    source = write_text(tmp_path, [(f"{n * n}", f"{n}") for n in range(999)], ".gz")
    data = bytearray((tmp_path / "a.de.gz").read_bytes())
    data[len(data) // 2] ^= 0x55
    (tmp_path / "a.de.gz").write_bytes(data)
    assert "a.de.gz" in problem(source, tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        TEXT,
        TsvSource(kind="tsv", path="a.tsv"),
        RecordSource(kind="jsonl", path="a.jsonl", source="de", target="en"),
        RecordSource(kind="parquet", path="a.parquet", source="de", target="en"),
    ],
    ids=lambda source: source.kind,
)
def test_a_missing_file_is_named_with_the_setting_of_its_folder(tmp_path: Path, source: Source) -> None:
    message = problem(source, tmp_path)
    assert message.startswith(f"{tmp_path / 'a.'}")
    assert "data.root" in message


def test_text_that_a_model_wrote_is_made_again(tmp_path: Path) -> None:
    """The config.json of a run names it, and a corpus that is prepared from that does not make it."""
    write_text(tmp_path, PAIRS)
    pairs = TextSource(source="a.de", target="a.en", model="m", synthetic="a.0123456789abcdef.jsonl")
    text = MonoSource(kind="mono", path="a.en", model="m", synthetic="a.0123456789abcdef.txt")
    for source in (pairs, text):
        for read in (read_pairs, identity):
            with pytest.raises(UserError, match=r"no such file; run `translate prepare` with the experiment file"):
                read(source, tmp_path)
    own = text.model_copy(update={"synthetic": "mine.txt"})
    assert "mine.txt: no such file; correct the path" in problem(own, tmp_path)


def test_a_folder_in_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    write_text(tmp_path, PAIRS)
    (tmp_path / "d").mkdir()
    assert "d: cannot be read" in problem(TextSource(source="d", target="a.en"), tmp_path)


def test_tsv_columns_are_chosen_by_name_in_a_file_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1\tja\tyes\n", encoding="utf-8")
    columns = ("n", "de", "en")
    source = TsvSource(kind="tsv", path="a.tsv", columns=columns, source="en", target="de")
    assert list(read_pairs(source, tmp_path)) == [("yes", "ja")]
    assert TsvSource(**source.model_dump()) == source
    for others in ({"columns": columns}, {}):
        with pytest.raises(ValueError, match=r'source = "fr" is no name of a column; list the names .* in `columns`'):
            TsvSource(kind="tsv", path="a.tsv", source="fr", target=1, **others)
    with pytest.raises(ValueError, match="valid tuple"):
        TsvSource(kind="tsv", path="a.tsv", columns=5)


@pytest.mark.parametrize("header", ["n\tde\ten", '"n"\tde\t"en"\r', "\ufeffn\tde\ten"])
def test_a_header_with_the_names_of_the_columns_is_no_pair(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.tsv").write_text(f"{header}\n1\tja\tyes\nn\tde\ten\n", encoding="utf-8", newline="")
    named = TsvSource(kind="tsv", path="a.tsv", columns=("n", "de", "en"), source="de", target="en")
    assert list(read_pairs(named, tmp_path)) == [("ja", "yes"), ("de", "en")]
    others = named.model_copy(update={"columns": ("n", "de", "xx")})
    assert 'a.tsv, line 1: is a header; write columns = ["n", "de", "en"' in problem(others, tmp_path)


@pytest.mark.parametrize("columns", [("de", "en"), ("n", "de", "en", "note")])
def test_names_of_other_columns_than_a_file_has_are_refused(tmp_path: Path, columns: tuple[str, ...]) -> None:
    """The names would be those of other columns."""
    (tmp_path / "a.tsv").write_text("n\tde\ten\n1\tja\tyes\n")
    source = TsvSource(kind="tsv", path="a.tsv", columns=columns, source="de", target="en")
    said = problem(source, tmp_path)
    assert f"a.tsv, line 1: has 3 tab-separated columns, and `columns` names {len(columns)}" in said


@pytest.mark.parametrize("header", ["de\ten", "Source\tTarget\tid", "\ufeffen\tde", '"EN"\t"DE"', "target\tde"])
def test_a_header_without_names_of_columns_is_refused(tmp_path: Path, header: str) -> None:
    """It would be a pair of the corpus, and the columns may be those of the other direction, which the remedy swaps."""
    is_reversed = "de" in header.lower()[3:]
    pair = ("ja", "yes", "1")
    rest = "\t".join([*(pair[1::-1] if is_reversed else pair[:2]), *pair[2 : header.count("\t") + 1]])
    (tmp_path / "a.tsv").write_text(f"{header}\n{rest}\n", encoding="utf-8")
    said = problem(TsvSource(kind="tsv", path="a.tsv"), tmp_path)
    remedy = re.fullmatch(r".*a\.tsv, line 1: is a header; write (.*), (.*) and (.*) to leave it out", said)
    assert remedy
    keys = tomllib.loads("\n".join(remedy.groups()))
    assert list(read_pairs(TsvSource(kind="tsv", path="a.tsv", **keys), tmp_path)) == [("ja", "yes")]


@pytest.mark.parametrize("first", ["de\tde", "Target\ttarget", "de\tsource"])
def test_a_pair_of_one_word_is_no_header(tmp_path: Path, first: str) -> None:
    (tmp_path / "a.tsv").write_text(f"{first}\n", encoding="utf-8")
    assert list(read_pairs(TsvSource(kind="tsv", path="a.tsv"), tmp_path)) == [tuple(first.split("\t"))]


def test_the_marks_of_tsv_cells_that_must_be_quoted_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('"Er sagte ""ja""."\t"He ""agreed"" ""?"\n"Ja."\t"""Yes"\n', encoding="utf-8")
    source = TsvSource(kind="tsv", path="a.tsv")
    assert list(read_pairs(source, tmp_path)) == [
        ('Er sagte "ja".', 'He "agreed" "?'),
        ('"Ja."', '"Yes'),
    ]


def test_tsv_columns_are_chosen_by_number_and_quotes_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('1\t"ja\tyes"\n2\tnein\tno\n', encoding="utf-8")
    source = TsvSource(kind="tsv", path="a.tsv", source=2, target=1)
    assert list(read_pairs(source, tmp_path)) == [('yes"', '"ja'), ("no", "nein")]


def test_each_translation_in_a_cell_makes_a_pair(tmp_path: Path) -> None:
    """All combinations of both cells, in the order of the cells, the source first."""
    (tmp_path / "a.tsv").write_text("Bank\tbank|bench\nFahrrad|Rad\tbicycle|bike\nja\tyes\n", encoding="utf-8")
    assert list(read_pairs(TsvSource(kind="tsv", path="a.tsv", split="|"), tmp_path)) == [
        ("Bank", "bank"),
        ("Bank", "bench"),
        ("Fahrrad", "bicycle"),
        ("Fahrrad", "bike"),
        ("Rad", "bicycle"),
        ("Rad", "bike"),
        ("ja", "yes"),
    ]


def test_cells_are_split_only_on_request_and_only_at_the_separator(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a|b\tc / d\n", encoding="utf-8")
    assert list(read_pairs(TsvSource(kind="tsv", path="a.tsv"), tmp_path)) == [("a|b", "c / d")]
    split = TsvSource(kind="tsv", path="a.tsv", source=1, target=0, split=" / ")
    assert list(read_pairs(split, tmp_path)) == [("c", "a|b"), ("d", "a|b")]


def test_empty_alternatives_are_left_to_cleaning(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("Haus\thouse||home|\n\tx\n", encoding="utf-8")
    pairs = list(read_pairs(TsvSource(kind="tsv", path="a.tsv", split="|"), tmp_path))
    assert pairs == [("Haus", "house"), ("Haus", ""), ("Haus", "home"), ("Haus", ""), ("", "x")]
    cleaner = Cleaner(CleaningConfig(), HeldOut())
    assert list(cleaner.clean(pairs)) == [("Haus", "house"), ("Haus", "home")]
    assert cleaner.report.dropped["empty"] == 3


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [("ja\tyes\nnein\n", 2, "add the missing cells, or remove the line"), ("ja\n", 1, "correct `source` or `target`")],
)
def test_a_tsv_line_without_the_column_is_named(tmp_path: Path, text: str, line: int, remedy: str) -> None:
    (tmp_path / "a.tsv").write_text(text)
    said = problem(TsvSource(kind="tsv", path="a.tsv"), tmp_path)
    assert f"a.tsv, line {line}: has 1 tab-separated columns" in said
    assert remedy in said


BLANK_LINES = ["{0}{1}\n", "{0}\n{1}", "\n{0}{1}", "{0} \n{1}\r\n", "{0}\u00a0\n{1}"]


@pytest.mark.parametrize("layout", BLANK_LINES, ids=["end", "middle", "start", "spaces", "no-break space"])
@pytest.mark.parametrize("kind", ["jsonl", "tsv"])
def test_blank_lines_are_counted_and_dropped(tmp_path: Path, kind: str, layout: str) -> None:
    """As in plain text, where a blank line is an empty pair."""
    rows = {"tsv": ["ja\tyes\n", "nein\tno\n"]}
    rows["jsonl"] = [json.dumps(dict(zip(("de", "en"), row.split(), strict=True))) + "\n" for row in rows["tsv"]]
    text = layout.format(*rows[kind])
    (tmp_path / "a").write_bytes(text.encode())
    columns = {"source": "de", "target": "en"}
    source = TsvSource(kind="tsv", path="a") if kind == "tsv" else RecordSource(kind="jsonl", path="a", **columns)
    cleaner = Cleaner(CleaningConfig(), HeldOut())
    assert list(cleaner.clean(read_pairs(source, tmp_path))) == [("ja", "yes"), ("nein", "no")]
    assert cleaner.report.read == text.count("\n")
    assert cleaner.report.dropped["empty"] == text.count("\n") - 2


def write_jsonl(folder: Path, *lines: str) -> RecordSource:
    (folder / "a.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return RecordSource(kind="jsonl", path="a.jsonl", source="translation.de", target="translation.en")


def test_json_lines_with_dotted_keys(tmp_path: Path) -> None:
    """Text in JSON may even contain a line feed."""
    pairs = [*PAIRS, ("zwei\nZeilen", "two\nlines")]
    lines = [json.dumps({"id": 1, "translation": {"de": de, "en": en}}) for de, en in pairs]
    assert list(read_pairs(write_jsonl(tmp_path, *lines), tmp_path)) == pairs


def test_a_null_is_an_empty_side_for_cleaning_to_count(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path, '{"translation": {"de": null, "en": "x"}}', '{"translation": null}')
    assert list(read_pairs(source, tmp_path)) == [("", "x"), ("", "")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{not json}", "not a JSON object"),
        ("[" * 9999, "not a JSON object"),
        ("[1, 2]", "there is no 'translation.de'"),
        ("null", "there is no 'translation.de'"),
        ('{"text": "ja"}', "there is no 'translation.de'"),
        ('{"translation": "ja"}', "there is no 'translation.de'"),
        ('{"translation": {"de": "ja", "fr": "oui"}}', "there is no 'translation.en': at 'en' it holds de, fr"),
        ('{"translation": {"de": 5, "en": "five"}}', "'translation.de' is 5, not text"),
        (r'{"translation": {"de": "\ud83d", "en": "half"}}', "'translation.de' holds half of a surrogate pair"),
        ('{"translation": {"de": "ja", "de": "nein", "en": "yes"}}', "has the key 'de' twice"),
        ('{"translation": {"de": "ja", "en": "yes"}, "translation": null}', "has the key 'translation' twice"),
        (f'{{"translation": {{"de": {"7" * 5003}, "en": "many"}}}}', "'translation.de' is Infinity, not text"),
    ],
)
def test_an_unusable_json_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    source = write_jsonl(tmp_path, '{"translation": {"de": "ja", "en": "yes"}}', line)
    message = problem(source, tmp_path)
    assert "a.jsonl, line 2: " in message
    assert words in message


def test_a_large_number_beside_the_text_is_no_mistake(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path, f'{{"id": {"7" * 5003}, "translation": {{"de": "ja", "en": "yes"}}}}')
    assert list(read_pairs(source, tmp_path)) == [("ja", "yes")]


def write_parquet(folder: Path, rows: list[dict[str, object]]) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "a.parquet")


def test_parquet_with_flat_and_nested_columns(tmp_path: Path) -> None:
    write_parquet(tmp_path, [{"de": de, "both": {"en": en, "x": 1}, "n": 3} for de, en in PAIRS])
    source = RecordSource(kind="parquet", path="a.parquet", source="de", target="both.en")
    assert list(read_pairs(source, tmp_path)) == PAIRS


def read_columns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the table columns converted to Python objects."""
    columns: list[str] = []
    rows = sources._rows

    def watched(tables: Iterable[Any], name: str) -> Iterator[tuple[str, object]]:
        tables = list(tables)
        columns.extend(tables[0].schema.names)
        return rows(tables, name)

    monkeypatch.setattr(sources, "_rows", watched)
    return columns


def test_columns_without_text_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parquet(tmp_path, [{"de": de, "both": {"en": en}, "image": b"x" * 100} for de, en in PAIRS])
    columns = read_columns(monkeypatch)
    source = RecordSource(kind="parquet", path="a.parquet", source="de", target="both.en")
    assert list(read_pairs(source, tmp_path)) == PAIRS
    assert columns == ["both", "de"]


def test_a_missing_parquet_column_is_named_with_the_existing_ones(tmp_path: Path) -> None:
    write_parquet(tmp_path, [{"de": "ja", "en": "yes"}])
    source = RecordSource(kind="parquet", path="a.parquet", source="de", target="fr")
    assert "row 1: there is no 'fr': at 'fr' it holds de, en" in problem(source, tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_column_may_have_a_dot_in_its_name(tmp_path: Path, kind: Literal["parquet", "jsonl"]) -> None:
    """As pandas.json_normalize names them; beside it, a nested column of the same path is none."""
    rows = [{"text.de": de, "text.en": en, "text": {"de": "x", "fr": en}} for de, en in PAIRS]
    write_parquet(tmp_path, rows)
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for target in ("text.en", "text.fr"):
        source = RecordSource(kind=kind, path=f"a.{kind}", source="text.de", target=target)
        assert list(read_pairs(source, tmp_path)) == PAIRS


def test_parquet_with_two_columns_of_one_name_is_refused(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    columns, names = [pyarrow.array([text]) for text in ("ja", "yes", "oui")], ["de", "en", "de"]
    nested = pyarrow.StructArray.from_arrays(columns, names=names)
    for name, table in (("flat", pyarrow.table(columns, names)), ("nested", pyarrow.table({"both": nested}))):
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
    flat = RecordSource(kind="parquet", path="flat.parquet", source="de", target="en")
    assert problem(flat, tmp_path) == f"{tmp_path}/flat.parquet: two columns are called 'de'; rename one"
    both = RecordSource(kind="parquet", path="nested.parquet", source="both.de", target="both.en")
    assert "nested.parquet: not a Parquet file, or damaged" in problem(both, tmp_path)


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 or so")
    source = RecordSource(kind="parquet", path="a.parquet", source="de", target="en")
    assert "a.parquet: not a Parquet file" in problem(source, tmp_path)


@pytest.fixture
def hub_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with a data-set folder "set" of 7 rows; `datasets` works offline, with a temporary cache."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "set"
    folder.mkdir()
    rows = [json.dumps({"translation": {"de": f"Satz {n}", "en": f"sentence {n}"}}) + "\n" for n in range(7)]
    (folder / "train.jsonl").write_text("".join(rows), encoding="utf-8")
    return tmp_path


def hub(source: str = "translation.de", split: str = "train", id: str = "set", config: str | None = None) -> HubSource:
    return HubSource(kind="hub", id=id, split=split, source=source, target="translation.en", config=config)


def test_a_data_set_folder_is_loaded_by_datasets(hub_folder: Path) -> None:
    assert list(read_pairs(hub(), hub_folder)) == [(f"Satz {n}", f"sentence {n}") for n in range(7)]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (hub(source="german"), "train.jsonl, line 1: there is no 'german': at 'german' it holds translation"),
        (hub(source="translation.fr"), "train.jsonl, line 1: there is no 'translation.fr'"),
        (hub(split="tests"), 'Unknown split "tests"'),
        (hub(config="cased"), "'cased' not found"),
        (hub(id="someone/absent"), "someone/absent train: `datasets` cannot load it"),
        (hub(id="./absent"), "./absent train: "),
    ],
    ids=["column", "nested column", "split", "config", "offline", "folder"],
)
def test_a_missing_part_of_a_data_set_gives_a_one_sentence_error(
    hub_folder: Path, source: HubSource, words: str
) -> None:
    assert words in problem(source, hub_folder)


def simulate_hub(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[tuple[object, ...]]:
    """Let `datasets` find a folder in place of the data set "someone/set" of the hub; return the calls."""
    import datasets

    calls: list[tuple[object, ...]] = []
    load = datasets.load_dataset_builder

    def load_dataset_builder(id: str, config: str | None, revision: str | None, cache_dir: Path) -> Any:
        calls.append((id, config, revision))
        return load(str(folder), cache_dir=cache_dir)

    monkeypatch.setattr(datasets, "load_dataset_builder", load_dataset_builder)
    return calls


def test_a_hub_id_is_loaded_with_its_config_split_and_revision(
    hub_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(hub_folder / "set", [{"id": n, "both": {"de": de, "en": en}} for n, (de, en) in enumerate(PAIRS)])
    (hub_folder / "set" / "train.jsonl").unlink()
    calls = simulate_hub(monkeypatch, hub_folder / "set")
    columns = read_columns(monkeypatch)
    source = HubSource(
        kind="hub", id="someone/set", split="train[:2]", source="both.de", target="both.en", config="x", revision="abc"
    )
    assert list(read_pairs(source, hub_folder)) == PAIRS[:2]
    assert columns == ["both"]
    assert {*calls} == {("someone/set", "x", "abc")}
    assert list(identity(source, hub_folder)) == ["hub:someone/set x train[:2] abc"]


def test_a_data_set_of_the_hub_is_the_same_without_a_connection(
    hub_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus that was prepared on a computer with a connection is up to date on one without."""
    source = hub(id="someone/set", split="train[2:5]")
    with monkeypatch.context() as connected:
        simulate_hub(connected, hub_folder / "set")
        pairs, name = list(read_pairs(source, hub_folder)), identity(source, hub_folder)
    (copy,) = (hub_folder / "cache").glob("*/set")
    copy.rename(copy.with_name("someone___set"))
    assert pairs == [(f"Satz {n}", f"sentence {n}") for n in (2, 3, 4)]
    assert list(read_pairs(source, hub_folder)) == pairs
    assert identity(source, hub_folder) == name


def test_a_copy_with_guessed_types_is_refused(hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as `datasets` makes itself; there is no other without a connection."""
    import datasets

    builder = datasets.load_dataset_builder(str(hub_folder / "set"), cache_dir=hub_folder / "cache")
    builder.download_and_prepare()
    (hub_folder / "cache" / "set").rename(hub_folder / "cache" / "someone___set")
    assert "guessed types" in problem(hub(id="someone/set"), hub_folder)


def records(folder: Path, text: str, name: str = "train.jsonl", **settings: str) -> list[Pair]:
    """Return the pairs of the data-set folder "set" with one file."""
    (folder / "set" / "train.jsonl").unlink(missing_ok=True)
    (folder / "set" / name).write_bytes(text.encode())
    source = {"kind": "hub", "id": "set", "split": "train", "source": "de", "target": "en", **settings}
    return list(read_pairs(HubSource.model_validate(source), folder))


ALIKE = [
    "2031-05-17",
    "2031-05-17T10:11:12",
    "2031-05-17 10:11:12.5",
    "12:30",
    "5",
    "1e5",
    "true",
    "null",
    "nan",
    "{}",
    "[1]",
]


@given(
    texts=st.lists(st.sampled_from(ALIKE) | line_text.filter(lambda text: "\x00" not in text), min_size=1, max_size=4)
)
def test_text_that_looks_like_another_type_is_text(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("text")
    (folder / "set").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        import datasets

        patch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
        rows = "".join(json.dumps({"de": text, "en": "x"}) + "\n" for text in texts)
        assert records(folder, rows) == [(text, "x") for text in texts]


@pytest.mark.parametrize(
    ("value", "shown"),
    [("5", "5"), ("true", "true"), ("1.5", "1.5"), ('["a"]', '["a"]'), ('{"a": "b"}', '{"a": "b"}')],
    ids=["integer", "boolean", "float", "list", "object"],
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_value_of_another_type_is_refused_with_its_line(
    hub_folder: Path, value: str, shown: str, nested: bool
) -> None:
    """`datasets` would store the whole column as JSON, so that every text gets quotation marks and escapes."""
    rows = ['{"de": "Tür", "en": "door"}', f'{{"de": {value}, "en": "five"}}']
    rows = [f'{{"translation": {row}}}' for row in rows] if nested else rows
    prefix = "translation." if nested else ""
    with pytest.raises(UserError, match=r"set train: train\.jsonl, line 2: ") as caught:
        records(hub_folder, "\n".join(rows), source=f"{prefix}de", target=f"{prefix}en")
    assert f"'{prefix}de' is {shown}, not text" in str(caught.value)


@pytest.mark.parametrize("is_list", [False, True])
def test_a_key_that_a_record_has_twice_is_refused(hub_folder: Path, is_list: bool) -> None:
    """JSON readers keep the last value and drop the others without a word."""
    rows = ['{"de": "ja", "en": "yes"}', '{"de": "nein", "en": "no", "de": "doch"}']
    with pytest.raises(UserError, match="has the key 'de' twice"):
        records(hub_folder, f"[{', '.join(rows)}]" if is_list else "\n".join(rows))


def test_a_row_without_a_key_is_named_and_the_columns_are_not_blamed(hub_folder: Path) -> None:
    rows = ['{"translation": {"de": "ja", "en": "yes"}}'] * 2 + ['{"translation": {"de": "nein"}}'] + ["{}"]
    columns = {"source": "translation.de", "target": "translation.en"}
    with pytest.raises(UserError, match=r"train\.jsonl, line 3: there is no 'translation\.en'") as caught:
        records(hub_folder, "\n".join(rows), **columns)
    assert "correct `source`" not in str(caught.value)


def test_a_null_or_a_blank_line_of_a_data_set_is_left_to_cleaning(hub_folder: Path) -> None:
    rows = '{"de": "ja", "en": "yes"}\n\n{"de": null, "en": "x"}\n  \n'
    assert records(hub_folder, rows) == [("ja", "yes"), ("", ""), ("", "x"), ("", "")]


def test_a_file_with_one_list_of_objects_is_read(hub_folder: Path) -> None:
    text = json.dumps([{"de": "2031-05-17", "en": "x"}, {"de": "nein", "en": "no"}], indent=1)
    assert records(hub_folder, "\ufeff" + text, "train.json") == [("2031-05-17", "x"), ("nein", "no")]


def test_a_folder_that_changed_under_the_same_time_stamp_is_read_again(hub_folder: Path) -> None:
    import os

    file = hub_folder / "set" / "train.jsonl"
    before, times = identity(hub(), hub_folder), file.stat()
    assert list(read_pairs(hub(), hub_folder))[0] == ("Satz 0", "sentence 0")
    file.write_bytes(file.read_bytes().replace(b"Satz", b"SATZ"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert list(read_pairs(hub(), hub_folder))[0] == ("SATZ 0", "sentence 0")
    assert identity(hub(), hub_folder) != before


@pytest.mark.parametrize("name", ["train.parquet", "train.jsonl"])
def test_a_folder_that_changes_while_it_is_copied_is_refused_and_not_kept(
    hub_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Or the old digest would name a copy of the new text."""
    import datasets

    (hub_folder / "set" / "train.jsonl").unlink()
    source = HubSource(kind="hub", id="set", split="train", source="de", target="en")

    def write(text: str) -> None:
        rows: list[dict[str, object]] = [{"de": text, "en": "x"}]
        write_parquet(hub_folder / "set", rows)
        (hub_folder / "set" / "a.parquet").rename(hub_folder / "set" / "train.parquet")
        if name == "train.jsonl":
            (hub_folder / "set" / "train.parquet").unlink()
            (hub_folder / "set" / name).write_text(json.dumps(rows[0]), encoding="utf-8")

    write("alt")
    prepared = datasets.DatasetBuilder.download_and_prepare

    def slowly(builder: Any) -> None:
        write("neu")
        prepared(builder)

    with monkeypatch.context() as changing:
        changing.setattr(datasets.DatasetBuilder, "download_and_prepare", slowly)
        with pytest.raises(UserError, match="set train: its files changed while they were read"):
            list(read_pairs(source, hub_folder))
    write("alt")
    assert list(read_pairs(source, hub_folder)) == [("alt", "x")]


@pytest.mark.parametrize(
    "cell", ["None", "NA", "N/A", "null", "nan", "NULL", "-inf", "<NA>", "#N/A", "5", "2031-05-17"]
)
def test_a_cell_of_csv_is_the_text_that_it_has(hub_folder: Path, cell: str) -> None:
    assert records(hub_folder, f"de,en\n{cell},x\ny,{cell}\n", "train.csv") == [(cell, "x"), ("y", cell)]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ('de,en\n"a, b","c"\n', [("a, b", "c")]),
        ('de,en\n"a\nb",c\nd,e\n', [("a\nb", "c"), ("d", "e")]),
        ('de,en\n"say ""yes""",c\n', [('say "yes"', "c")]),
        ("\ufeffde,en\na,b\n", [("a", "b")]),
        ("de,en\r\na,b\r\n", [("a", "b")]),
        ("n,de,en,more\n1,a,b\n2,c,d,e\n", [("a", "b"), ("c", "d")]),
        ("de,en\na\n\nb,c\n", [("a", ""), ("", ""), ("b", "c")]),
    ],
    ids=["comma", "line break", "quote", "byte order mark", "Windows", "short row", "missing and blank"],
)
def test_csv_is_read_as_its_standard_says(hub_folder: Path, text: str, pairs: list[Pair]) -> None:
    assert records(hub_folder, text, "train.csv") == pairs


@given(pairs=st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=1, max_size=4))
def test_csv_reads_back_what_python_writes(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> None:
    import csv

    folder = tmp_path_factory.mktemp("csv")
    (folder / "set").mkdir()
    with (folder / "set" / "train.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("de", "en"), *pairs])
    with pytest.MonkeyPatch.context() as patch:
        import datasets

        patch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
        source = HubSource(kind="hub", id="set", split="train", source="de", target="en")
        assert list(read_pairs(source, folder)) == pairs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("de,en\na,b\nc,d,e\n", "train.csv, line 3: has 3 cells, but there are 2 columns"),
        ("de,en\na,b,c\nd,e,f\n", "train.csv, line 2: has 3 cells"),
        ('de,en\n"a\nb",c\nd,e,f\n', "train.csv, line 4: has 3 cells"),
        ("de,de,en\na,b,c\n", "train.csv, line 1: two columns are called 'de'"),
        ('de,en\n"a" b,c\n', "train.csv, line 2: not CSV"),
        ('de,en\na,"b\n', "train.csv, line 2: not CSV"),
    ],
    ids=[
        "extra cell",
        "extra cells everywhere",
        "after a line break",
        "two columns",
        "text after a quote",
        "open quote",
    ],
)
def test_csv_whose_columns_are_unclear_is_refused(hub_folder: Path, text: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        records(hub_folder, text, "train.csv")
    assert words in str(caught.value)


def test_a_tsv_file_of_a_data_set_has_tabs(hub_folder: Path) -> None:
    assert records(hub_folder, "de\ten\nNA\ta, b\n", "train.tsv") == [("NA", "a, b")]


def test_options_of_a_card_are_followed_or_refused(hub_folder: Path) -> None:
    card = "---\nconfigs:\n- config_name: default\n  data_files: train.csv\n  {}\n---\n"
    (hub_folder / "set" / "README.md").write_text(card.format('sep: ";"'), encoding="utf-8")
    assert records(hub_folder, "de;en\nNA;a, b\n", "train.csv") == [("NA", "a, b")]
    (hub_folder / "set" / "README.md").write_text(card.format("skiprows: 1"), encoding="utf-8")
    with pytest.raises(UserError, match="its card sets skiprows for CSV files"):
        records(hub_folder, "x\nde,en\na,b\n", "train.csv")


def test_an_empty_data_set_folder_gives_a_one_sentence_error(hub_folder: Path) -> None:
    (hub_folder / "set" / "train.jsonl").unlink()
    assert "set train: `datasets` cannot load it" in problem(hub(), hub_folder)


def test_grammar_pairs_follow_the_direction_of_the_languages() -> None:
    source = GrammarSource(kind="grammar", split="train", pairs=5, seed=3)
    german_english = list(read_pairs(source, Path()))
    assert len(german_english) == 5
    assert list(read_pairs(source, Path(), "en-de")) == [(english, german) for german, english in german_english]


def test_the_grammar_refuses_other_languages() -> None:
    source = GrammarSource(kind="grammar", split="train", pairs=5)
    assert "German and English" in problem(source, Path(), "de-fr")


@pytest.fixture
def sacrebleu_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary cache folder in which sacreBLEU looks for wmt14/full; every download fails."""
    from sacrebleu.dataset import DATASETS

    def fail(*_: object, **__: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(DATASETS["wmt14/full"], "_outdir", str(tmp_path))
    monkeypatch.setattr(DATASETS["wmt14/full"], "_rawdir", str(tmp_path / "raw"))
    monkeypatch.setattr("sacrebleu.dataset.base.download_file", fail)
    return tmp_path


def test_a_sacrebleu_test_set_is_read_from_its_cache(sacrebleu_cache: Path) -> None:
    from sacrebleu.dataset import DATASETS

    texts = {"src": "Satz\u2028eins\nSatz zwei\n", "ref": "one\ntwo\n"}
    for field in DATASETS["wmt14/full"].fieldnames("de-en"):
        path = sacrebleu_cache / f"wmt14_full.de-en.{field}"
        path.write_text(texts.get(field, "a\na\n"), encoding="utf-8")
    source = SacrebleuSource(kind="sacrebleu", name="wmt14/full")
    assert list(read_pairs(source, Path())) == [("Satz\u2028eins", "one"), ("Satz zwei", "two")]


def test_a_test_set_with_several_references_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores with the first reference alone are not those of the test set."""
    from sacrebleu.dataset import DATASETS

    monkeypatch.setattr(DATASETS["wmt20/tworefs"], "get_files", lambda langpair: ["a.src", "a.ref0", "a.ref1"])
    monkeypatch.setattr(DATASETS["wmt20/tworefs"], "fieldnames", lambda langpair: ["src", "ref:0", "ref:1"])
    said = problem(SacrebleuSource(kind="sacrebleu", name="wmt20/tworefs"), Path())
    assert "has 2 references" in said
    assert "sacrebleu -t wmt20/tworefs -l de-en" in said


@pytest.mark.usefixtures("sacrebleu_cache")
def test_a_failed_download_of_a_sacrebleu_test_set_gives_a_one_sentence_error() -> None:
    source = SacrebleuSource(kind="sacrebleu", name="wmt14/full")
    assert "wmt14/full: cannot be downloaded" in problem(source, Path())


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (tarfile.ReadError("unexpected end of data"), "remove ~/.sacrebleu/wmt14/full and try again: unexpected"),
        (EOFError("Compressed file ended before the end-of-stream marker"), "try again: Compressed file ended"),
        (LockException("locked"), "try again: locked"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_damaged_or_locked_sacrebleu_cache_gives_a_one_sentence_error(
    error: Exception, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sacrebleu.dataset import DATASETS

    def fail(langpair: str) -> str:
        raise error

    monkeypatch.setattr(DATASETS["wmt14/full"], "get_source_file", fail)
    assert words in problem(SacrebleuSource(kind="sacrebleu", name="wmt14/full"), Path())


def test_an_unknown_home_folder_gives_a_one_sentence_error() -> None:
    source = TextSource(source="~no-such-user/a.de", target="a.en")
    assert "~no-such-user/a.de: no home folder of that user" in problem(source, Path())


def test_the_position_of_an_invalid_byte_is_correct_after_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfab\xe9cde\n")
    with pytest.raises(UserError, match=r"x, line 1: not UTF-8 text \(byte 0xe9 at 2\)"):
        list(read_lines(tmp_path / "x"))


@pytest.mark.parametrize(
    ("name", "langpair", "words"),
    [
        ("wmt14/ful", "de-en", "not a test set of sacreBLEU"),
        ("wmt14/full", "de-xx", "has no de-xx; it has cs-en, de-en"),
    ],
)
def test_an_unknown_sacrebleu_name_or_language_pair_gives_a_one_sentence_error(
    name: str, langpair: str, words: str
) -> None:
    assert words in problem(SacrebleuSource(kind="sacrebleu", name=name), Path(), langpair)


def test_identity_is_the_sha256_of_each_file_whatever_the_root(tmp_path: Path, hub_folder: Path) -> None:
    source = write_text(tmp_path, PAIRS)
    digests = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("a.de", "a.en")}
    assert identity(source, tmp_path) == digests
    assert list(identity(hub(), hub_folder)) == ["set/train.jsonl"]
    with pytest.raises(UserError, match=r"a\.de: no such file; correct the path, or data.root"):
        identity(source, tmp_path / "elsewhere")


def test_every_kind_of_source_has_a_short_name() -> None:
    assert describe(TEXT) == "a.de + a.en"
    assert describe(TsvSource(kind="tsv", path="x.tsv")) == "x.tsv"
    assert describe(hub(config="de-en")) == "set de-en train"
    assert describe(GrammarSource(kind="grammar", split="valid", pairs=3)) == "grammar valid"
    assert describe(SacrebleuSource(kind="sacrebleu", name="wmt14")) == "sacrebleu wmt14"


@given(pairs=st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_pairs_are_written_as_json_writes_them(pairs: list[Pair]) -> None:
    assert pair_lines(pairs) == "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs).encode()
