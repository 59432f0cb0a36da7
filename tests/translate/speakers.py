"""Translators without a search, for tests of the code around them."""

import re
from collections.abc import Callable, Iterable, Iterator

from transformer.search.hypothesis import Hypothesis
from translate.inference.search import Ids, SentenceSearch
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.placeholders import PLACEHOLDER
from translate.text.translation import Translation


class EchoSearch(SentenceSearch):
    """Translates every sentence into its capitals; each token has the probability exp(-1/2)."""

    def hypotheses(
        self, sources: Iterable[Ids], max_length: Callable[[int], int], n_best: int, no_repeat: int
    ) -> dict[Ids, list[Hypothesis]]:
        tokenizer = self.engine.tokenizer
        said = {ids: tokenizer.encode(tokenizer.decode(ids).upper()) for ids in sources}
        return {ids: [Hypothesis(own, -0.5 * (len(own) + 1), -0.5)] * n_best for ids, own in said.items()}

    def guarded_length(self, n_source: int) -> int:
        return 10**9  # capitals are unknown to the tokenizer, so they take many tokens


class Echo(Translator):
    """Translates text into its capitals; stops after some windows if told to."""

    def __init__(self, folder: ModelFolder) -> None:
        super().__init__(folder)
        self.sentences = EchoSearch(self.engine, self.decoding)
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
