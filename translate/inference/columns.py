"""Translation of a table column, for libraries that map a function over batches of rows.

Ray Data (`Dataset.map_batches`) and Hugging Face `datasets` (`Dataset.map` with `batched=True`) call it the same way.
"""

from collections.abc import Iterable, Mapping
from math import isnan
from pathlib import Path
from typing import Any

from translate.errors import UserError
from translate.inference.opening import AnyPrecision
from translate.inference.translator import Translator


class ColumnTranslator:
    """A function on batches of rows that adds a column of translations and keeps every row.

    Args:
        model: name of an installed model, a model folder or a run.
        column: name of the column of texts, which may have several lines each; None and NaN become None.
        into: name of the new column.
        beam_size, device, precision: as for `Translator.load`.
    """

    def __init__(
        self,
        model: Path | str,
        column: str,
        into: str,
        *,
        beam_size: int | None = None,
        device: str | None = None,
        precision: AnyPrecision | None = None,
    ) -> None:
        self.translator = Translator.load(model, beam_size=beam_size, device=device, precision=precision)
        self.column, self.into = column, into

    def __call__(self, batch: Mapping[str, Iterable[Any]]) -> dict[str, Iterable[Any]]:
        """Return the columns of the batch, by name, with the new column.

        UserError if the column is missing or holds other values than text, if the new column exists already, or if
        the argument is one row instead of a batch.
        """
        if self.column not in batch:
            raise UserError(f'no column "{self.column}" among {", ".join(batch)}; name one of them')
        if self.into in batch:
            raise UserError(f'a column "{self.into}" exists already and would be lost; choose another name')
        if isinstance(batch[self.column], str):
            raise UserError("one row was given instead of a batch; map over batches, in datasets with batched=True")
        texts = [None if isinstance(text, float) and isnan(text) else text for text in batch[self.column]]
        for text in texts:
            if text is not None and not isinstance(text, str):
                raise UserError(f'column "{self.column}" holds {text!r}, which is not text; name a column of texts')
        translations = iter(self.translator([text for text in texts if text is not None]))
        return {**batch, self.into: [None if text is None else next(translations) for text in texts]}
