"""Translators without a search, for tests of the code around them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from transformer.search.hypothesis import Hypothesis
from translate.inference.formatting import Alignment
from translate.inference.search import Ids, SentenceSearch
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import DEFAULT_OPTIONS, Translation, TranslationOptions


class EchoSearch(SentenceSearch):
    """Translates every sentence into its capitals; each token has the probability exp(-1/2)."""

    def hypotheses(self, sources: Iterable[Ids], n_best: int, no_repeat: int) -> dict[Ids, list[Hypothesis]]:
        tokenizer = self.engine.tokenizer
        said = {ids: tokenizer.encode(tokenizer.decode(ids).upper()) for ids in sources}
        return {ids: [Hypothesis(own, -0.5 * (len(own) + 1), -0.5)] * n_best for ids, own in said.items()}

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Alignment | None]:
        """Align characters in order."""
        spans = [[[(i, i + 1) for i in range(len(side))] for side in pair] for pair in pairs]
        return [Alignment(a, b, [[float(s == t) for s, _ in a] for t, _ in b]) for a, b in spans]

    def max_length(self, n_source: int) -> int:
        return 10**9

    def translate(
        self, lines: Sequence[str], *, n_best: int = 1, no_repeat: int = 0, divides: bool = False
    ) -> dict[str, list[Translation]]:
        found = super().translate(lines, n_best=n_best, no_repeat=no_repeat, divides=divides)
        # Capitals are unknown to the tokenizer, so they take many tokens and would seem too long.
        return {line: [replace(one, n_source_tokens=0) for one in several] for line, several in found.items()}


class Echo(Translator):
    """Translates text into its capitals; stops after some windows if told to."""

    def __init__(self, folder: ModelFolder, options: TranslationOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(folder, options)
        self.sentences = EchoSearch(self.engine, self.decoding)
        self.stop_after: int | None = None
        self.n_windows = 0

    def passages(self, texts: Iterable[str]) -> Iterator[Translation]:
        self.n_windows += 1
        if self.n_windows == self.stop_after:
            raise KeyboardInterrupt
        return super().passages(texts)
