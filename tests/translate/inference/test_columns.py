"""A column is translated by any library that maps a function over batches, and no row or column is lost."""

from pathlib import Path

import pytest
from datasets import Dataset

from translate import ColumnTranslator, Translator, UserError
from translate.models.folder import ModelFolder
from translate.text.translation import Search

TEXTS = ["der Hund läuft.", "", "die Katze\nschläft im Haus.", None, "ein Vogel singt. das Kind läuft.", "der Hund."]


@pytest.fixture
def column(parts: ModelFolder) -> ColumnTranslator:
    return ColumnTranslator(parts.folder, "text", "translation", search=Search(beam_size=2))


@pytest.fixture
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


@pytest.mark.slow
def test_rays_workers_give_the_same_rows(parts, expected, tmp_path):
    ray = pytest.importorskip("ray")
    pytest.importorskip("pandas")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
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
