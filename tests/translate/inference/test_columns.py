"""A column is translated by any library that maps a function over batches, and no row or column is lost."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from translate import ColumnTranslator, Translator, UserError
from translate.models.folder import ModelFolder
from translate.text.translation import Search

TEXTS = ["der Hund läuft.", "", "die Katze\nschläft im Haus.", None, "ein Vogel singt. das Kind läuft.", "der Hund."]


@pytest.fixture
def column(parts: ModelFolder) -> ColumnTranslator:
    return ColumnTranslator(parts.folder, "text", "translation", search=Search(beam_size=2))


@pytest.fixture(scope="module")
def expected(parts: ModelFolder) -> list[str | None]:
    translator = Translator(parts, Search(beam_size=2))
    return [None if text is None else translator(text) for text in TEXTS]


def test_rows_of_a_data_set_gain_a_column(column, expected):
    rows = Dataset.from_dict({"id": [5, 3, 7, 2, 9, 4], "text": TEXTS})
    translated = rows.map(column, batched=True, batch_size=4)
    assert translated["id"] == rows["id"]
    assert translated["text"] == TEXTS
    assert translated["translation"] == expected


def test_nan_from_pandas_is_treated_as_none(column, expected):
    translated = column({"text": [float("nan") if text is None else text for text in TEXTS]})
    assert translated["translation"] == expected


NONE = [
    None,
    float("nan"),
    np.float32("nan"),
    np.float16("nan"),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    pa.scalar(None),
    pa.scalar(None, pa.string()),
]


@pytest.mark.parametrize("missing", NONE, ids=lambda value: f"{type(value).__name__} {value}")
def test_every_mark_of_a_missing_value_becomes_none(column, expected, missing):
    assert column({"text": [missing if text is None else text for text in TEXTS]})["translation"] == expected
    assert column({"text": [missing, missing]})["translation"] == [None, None]


BLOCKS = {
    "lists": lambda texts: {"id": list(range(len(texts))), "text": texts},
    "numpy": lambda texts: {"id": np.arange(len(texts)), "text": np.array(texts, dtype=object)},
    "pandas": lambda texts: pd.DataFrame({"id": range(len(texts)), "text": texts}, index=range(7, 7 + len(texts))),
    "pandas and arrow": lambda texts: pd.DataFrame({"id": range(len(texts)), "text": pd.Series(texts, dtype="string")}),
    "arrow": lambda texts: pa.table({"id": list(range(len(texts))), "text": pa.array(texts, pa.string())}),
}


def as_arrow(block) -> pa.Table:
    """As libraries write a block."""
    if isinstance(block, pd.DataFrame):
        return pa.Table.from_pandas(block, preserve_index=False)
    return block if isinstance(block, pa.Table) else pa.table(dict(block))


@pytest.mark.parametrize("form", BLOCKS)
@pytest.mark.parametrize(
    "texts", [TEXTS, [None, None, None], [], ["der Hund läuft."]], ids=["some", "none", "empty", "all"]
)
def test_a_block_of_any_form_keeps_its_rows_and_gains_a_column_of_text(column, expected, form, texts):
    translated = column(BLOCKS[form](texts))
    assert type(translated) is type(BLOCKS[form](texts))
    table = as_arrow(translated)
    known = dict(zip(TEXTS, expected, strict=True))
    assert table["id"].to_pylist() == list(range(len(texts)))
    assert table["translation"].to_pylist() == [known[text] for text in texts]
    assert table["translation"].type == pa.string()
    if texts:
        assert [text if isinstance(text, str) else None for text in table["text"].to_pylist()] == texts


def test_a_block_without_a_text_comes_as_numbers_from_ray(column):
    """And both columns go on as text, like those of other blocks."""
    for numbers in (np.array([np.nan], dtype="float32"), np.array([np.nan, np.nan])):
        translated = column({"id": np.arange(len(numbers)), "text": numbers})
        table = as_arrow(translated)
        assert table.schema.field("text").type == table.schema.field("translation").type == pa.string()
        assert table["text"].null_count == len(numbers)


def test_a_first_batch_without_a_text_decides_no_type(column, expected):
    rows = Dataset.from_dict({"text": [None, None, *TEXTS]})
    translated = rows.map(column, batched=True, batch_size=2)
    assert translated["translation"] == [None, None, *expected]
    assert rows.select([0, 1]).map(column, batched=True).features["translation"].dtype == "string"


@pytest.mark.slow
@pytest.mark.parametrize("batch_format", ["numpy", "pandas", "pyarrow"])
def test_blocks_of_ray_without_a_text_are_written_as_text(parts, tmp_path, batch_format):
    ray = pytest.importorskip("ray")
    ray.init("local", num_cpus=1, include_dashboard=False, logging_level="ERROR")
    try:
        rows = ray.data.from_items([{"text": text} for text in ("der Hund", None, None, None)], override_num_blocks=4)
        column = ColumnTranslator(parts.folder.resolve(), "text", "translation", beam_size=2)
        rows.map_batches(column.__call__, batch_size=1, batch_format=batch_format).write_parquet(str(tmp_path))
    finally:
        ray.shutdown()
    types = {pq.read_schema(file).field("translation").type for file in tmp_path.glob("*.parquet")}
    assert types == {pa.string()}


@pytest.mark.slow
def test_rays_workers_give_the_same_rows(parts, expected, tmp_path):
    ray = pytest.importorskip("ray")
    pytest.importorskip("pandas")
    ray.init("local", num_cpus=2, include_dashboard=False, logging_level="ERROR")
    try:
        rows = ray.data.from_items([{"id": i, "text": text} for i, text in enumerate(TEXTS)], override_num_blocks=3)
        options = {"model": str(parts.folder.resolve()), "column": "text", "into": "translation", "beam_size": 2}
        two = ray.data.ActorPoolStrategy(size=2)
        translated = rows.map_batches(ColumnTranslator, fn_constructor_kwargs=options, compute=two, batch_size=2)
        found = sorted(translated.take_all(), key=lambda row: row["id"])
    finally:
        ray.shutdown()
    assert [row["text"] for row in found] == TEXTS
    assert [row["translation"] for row in found] == expected


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ({"id": [5], "texts": ["der Hund"]}, 'no column "text" among id, texts'),
        ({"text": ["der Hund"], "translation": ["the dog"]}, '"translation" exists already'),
        ({"text": ["der Hund", 3.5]}, r'"text" holds 3\.5, which is not text'),
        ({"id": 5, "text": "der Hund"}, "batched=True"),
    ],
)
def test_values_that_are_not_a_column_of_texts_are_refused(column, batch, words):
    with pytest.raises(UserError, match=words):
        column(batch)


def test_a_missing_model_is_reported_at_once():
    with pytest.raises(UserError, match="no-model"):
        ColumnTranslator(Path("no-model"), "text", "translation")
