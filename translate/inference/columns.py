"""A column of translations in batches of rows, for Ray Data and Hugging Face `datasets`."""

import sys
from math import isnan
from numbers import Real
from pathlib import Path
from typing import Any

from translate.errors import UserError
from translate.inference.translator import Translator
from translate.text.translation import Opening, Search


class ColumnTranslator:
    """A function on batches of rows that adds a column of translations and keeps every row.

    Ray Data (`Dataset.map_batches`) and Hugging Face `datasets` (`Dataset.map` with `batched=True`) call it the same
    way.

    Args:
        model: name of an installed model, a model folder or a run.
        column: name of the column of texts, which may have several lines each; missing values (None, NaN, pandas.NA,
            null) become None.
        search, opening: as for `Translator.load`.
    """

    def __init__(
        self,
        model: Path | str,
        column: str,
        into: str,
        *,
        search: Search | None = None,
        opening: Opening | None = None,
    ) -> None:
        self.translator = Translator.load(model, search, opening=opening)
        self.column, self.into = column, into

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the new column, in its own form: a mapping of columns, or a table of pandas or Arrow.

        The new column is text even if all its values are missing, as a library would otherwise guess another type.

        UserError if the column is missing or holds other values than text, if the new column exists already, or if
        the argument is one row instead of a batch.
        """
        names = getattr(batch, "column_names", None) or list(batch)
        if self.column not in names:
            raise UserError(f'no column "{self.column}" among {", ".join(names)}; name one of them')
        if self.into in names:
            raise UserError(f'a column "{self.into}" exists already and would be lost; choose another name')
        if isinstance(batch[self.column], str):
            raise UserError("one row was given instead of a batch; map over batches, in datasets with batched=True")
        texts = _Texts(None if _is_missing(cell) else _plain(cell) for cell in batch[self.column])
        for text in texts:
            if text is not None and not isinstance(text, str):
                raise UserError(f'column "{self.column}" holds {text!r}, which is not text; name a column of texts')
        translations = iter(self.translator([text for text in texts if text is not None]))
        column = _Texts(None if text is None else next(translations) for text in texts)
        if hasattr(batch, "append_column"):  # Arrow
            return batch.append_column(self.into, column.__arrow_array__())
        if hasattr(batch, "iloc"):  # pandas
            return batch.assign(**{self.into: column.series(batch.index)})
        if hasattr(batch[self.column], "dtype") and all(text is None for text in texts):
            # Ray gives a block without a text as NaN, and guesses types of what it gets back: both columns are text.
            return {**batch, self.column: texts.__arrow_array__(), self.into: column.__arrow_array__()}
        return {**batch, self.into: column}


class _Texts(list[str | None]):
    """Texts that Arrow takes for text, where it would take a list of None for a column without a type."""

    def __arrow_array__(self, type: Any = None) -> Any:
        import pyarrow

        return pyarrow.array(list(self), type or pyarrow.string())

    def series(self, index: Any) -> Any:
        """Return the texts as a column of pandas."""
        import pyarrow

        pandas = sys.modules["pandas"]  # the table comes from it
        return pandas.Series(list(self), index, pandas.ArrowDtype(pyarrow.string()))


def _plain(cell: Any) -> Any:
    """Return the Python value of a cell of Arrow, and other cells unchanged."""
    return cell.as_py() if hasattr(cell, "as_py") else cell


def _is_missing(cell: object) -> bool:
    """Return whether a cell of a table marks a missing value: None, NaN of any width, pandas.NA or NaT, or null."""
    value, pandas = _plain(cell), sys.modules.get("pandas")  # a table with its missing values has imported it
    if value is None or (pandas is not None and (value is pandas.NA or value is pandas.NaT)):
        return True
    if getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):  # a time of NumPy: NaT is unequal to itself
        return bool(value != value)
    return isinstance(value, Real) and isnan(value)
