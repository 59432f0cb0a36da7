"""A column of a table translated, for libraries that map a function over batches of rows.

Ray Data (`Dataset.map_batches`) and Hugging Face `datasets` (`Dataset.map` with `batched=True`) call it alike.
"""

from collections.abc import Iterable, Mapping
from math import isnan
from pathlib import Path
from typing import Any

from translate.errors import UserError
from translate.inference.engine import Precision
from translate.inference.translator import Translator


class ColumnTranslator:
    """Adds a column of translations to batches of rows; every row comes back.

    Args:
        model: the name of an installed model, a model folder or a run.
        column: the texts, of any number of lines each; None stays None, and so does the NaN that pandas makes of it.
        into: the new column.
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
        precision: Precision = "fp32",
    ) -> None:
        self.translator = Translator.load(model, beam_size=beam_size, device=device, precision=precision)
        self.column = column
        self.into = into

    def __call__(self, batch: Mapping[str, Iterable[Any]]) -> dict[str, Iterable[Any]]:
        """The batch, columns by name, with the new column.

        UserError if the column is missing or holds something else than text, if the new one exists already, and for a
        row in place of a batch.
        """
        if self.column not in batch:
            raise UserError(f'no column "{self.column}" among {", ".join(batch)}; name one of them')
        if self.into in batch:
            raise UserError(f'a column "{self.into}" exists already and would be lost; choose another name')
        if isinstance(batch[self.column], str):
            raise UserError("rows come one at a time; map over batches of them, in datasets with batched=True")
        texts = [None if isinstance(text, float) and isnan(text) else text for text in batch[self.column]]
        for text in texts:
            if text is not None and not isinstance(text, str):
                raise UserError(f'column "{self.column}" holds {text!r}, which is not text; name a column of texts')
        translations = iter(self.translator([text for text in texts if text is not None]))
        return {**batch, self.into: [None if text is None else next(translations) for text in texts]}
