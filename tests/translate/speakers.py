"""Translators without a search, for tests of the code around them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from transformer.config import Hypothesis, Ids, Request
from translate.inference.formatting import Alignment
from translate.inference.search import SentenceSearch
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Document, Translation


class EchoSearch(SentenceSearch):
    """Translates every sentence into its capitals; each token has the probability exp(-1/2)."""

    def hypotheses(self, requests: Iterable[Request], n_best: int, no_repeat: int) -> dict[Request, list[Hypothesis]]:
        tokenizer = self.engine.tokenizer
        said = {request: tokenizer.encode(tokenizer.decode(request.ids).upper()) for request in requests}
        return {request: [Hypothesis(own, -0.5 * (len(own) + 1), -0.5)] * n_best for request, own in said.items()}

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Alignment | None]:
        """Align characters in order."""
        spans = [[[(i, i + 1) for i in range(len(side))] for side in pair] for pair in pairs]
        return [Alignment(a, b, [[float(s == t) for s, _ in a] for t, _ in b]) for a, b in spans]

    def max_length(self, n_source: int) -> int:
        return 10**9

    def translate(
        self,
        lines: Sequence[str],
        *,
        n_best: int = 1,
        no_repeat: int = 0,
        divides: bool = False,
        prefixes: Sequence[Ids] | None = None,
    ) -> list[list[Translation]]:
        found = super().translate(lines, n_best=n_best, no_repeat=no_repeat, divides=divides, prefixes=prefixes)
        # Capitals are unknown to the tokenizer, so they take many tokens and would seem too long.
        return [[replace(one, n_source_tokens=0) for one in several] for several in found]


class Echo(Translator):
    """Translates text into its capitals; stops after some windows if told to."""

    def __init__(self, folder: ModelFolder, document: Document | None = None) -> None:
        super().__init__(folder, document=document)
        self.sentence_search = EchoSearch(self.engine, self.sentence_search.config)
        self.stop_after: int | None = None
        self.windows: list[list[str]] = []  # a list, which copies for other formats share

    def passages(self, texts: Iterable[str]) -> Iterator[Translation]:
        return super().passages(self.heard(texts))

    def heard(self, texts: Iterable[str]) -> list[str]:
        """Return the texts of a window; KeyboardInterrupt if it is the last one."""
        self.windows.append(list(texts))
        if len(self.windows) == self.stop_after:
            raise KeyboardInterrupt
        return self.windows[-1]


class Stubbed(Echo):
    """Leaves each text to a function, with its tags and without any stage."""

    def __init__(self, folder: ModelFolder, stub: Callable[[str], str]) -> None:
        super().__init__(folder)
        self.stub = stub

    def passages(self, texts: Iterable[str]) -> Iterator[Translation]:
        """Return what the function makes of each text; stops after some windows if told to."""
        return iter([Translation(self.stub(text)) for text in self.heard(texts)])
