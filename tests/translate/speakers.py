"""Translators without a search, for tests of all that stands round one."""

import re
from collections.abc import Callable, Iterable, Iterator

from transformer.search.hypothesis import Hypothesis
from translate.inference.translator import Ids, Translation, Translator
from translate.models.folder import ModelFolder
from translate.text.placeholders import PLACEHOLDER


class Echo(Translator):
    """Says what it hears in capitals, each token as likely as exp(-1/2); stops after some windows if told to."""

    def __init__(self, parts: ModelFolder) -> None:
        super().__init__(parts)
        self.stop_after: int | None = None
        self.n_windows = 0

    def passages(
        self,
        texts: Iterable[str],
        *,
        guarded: bool = True,
        splits: bool = True,
        markup: re.Pattern[str] = PLACEHOLDER,
    ) -> Iterator[Translation]:
        self.n_windows += 1
        if self.n_windows == self.stop_after:
            raise KeyboardInterrupt
        return super().passages(texts, guarded=guarded, splits=splits, markup=markup)

    def _search(
        self, sources: Iterable[Ids], n_best: int, max_length: Callable[[int], int], no_repeat: int
    ) -> dict[Ids, list[Hypothesis]]:
        tokenizer = self.parts.tokenizer
        said = {ids: tokenizer.encode(tokenizer.decode(ids).upper()) for ids in sources}
        return {ids: [Hypothesis(own, -0.5 * (len(own) + 1), -0.5)] * n_best for ids, own in said.items()}

    def _guarded_length(self, n_source: int) -> int:
        return 10**9  # capitals are unknown to the tokenizer, and so have many tokens
