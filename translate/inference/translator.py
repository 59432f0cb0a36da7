"""Text in, text out; every line comes back.

`stream` translates a line as one sentence and adds nothing to the paper's search: output line n is the translation of
input line n, with the same white space around it, and contains no "\\n". `passages` translates a line as several
sentences, keeps placeholders and applies the guards; calling the translator does so with whole texts.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from transformer.search.hypothesis import LengthRule
from translate.config.decoding import DecodingConfig
from translate.errors import Say, UserError
from translate.inference.engine import Engine, Scorer, TorchEngine
from translate.inference.opening import AnyPrecision, EngineName, open_engine, open_scorer
from translate.inference.sentence_search import SentenceSearch
from translate.inference.two_way import ranked, require_opposite
from translate.models.folder import ModelFolder
from translate.models.registry import locate
from translate.text.passages import Passages
from translate.text.placeholders import PLACEHOLDER
from translate.text.translation import Translation

if TYPE_CHECKING:
    import torch

WINDOW = 1024  # lines read ahead: enough to find sentences of equal lengths

_WINDOW_CHARACTERS = 2**18  # of a window, unless one text alone is longer
# With the indentation of the next line. White space is tried from its beginning only, as it may be long.
_BREAK = re.compile(r"(?:(?<![ \t])[ \t]+)?\r?\n[ \t]*")


class Translator:
    """A model that translates text.

    Args:
        model: an open model folder, or another engine.
        beam_size, alpha: of the search (section 6.1); None takes the folder's. UserError if out of range.
        length_penalty: "gnmt" as in section 6.1, the only one with an alpha; "average" divides by the length, "none" by
            1; None takes the folder's.
        two_way: an open folder with a model of the opposite direction, or its engine, for the probability of each
            source given its translation; of the hypotheses in the beam, the one with the highest `Translation.trust` is
            the best. UserError if it is for other languages.

    Attributes:
        limit: tokens of the longest sentence that is translated as a whole.
    """

    def __init__(
        self,
        model: ModelFolder | Engine,
        *,
        beam_size: int | None = None,
        alpha: float | None = None,
        length_penalty: LengthRule | None = None,
        two_way: ModelFolder | Scorer | None = None,
    ) -> None:
        self.engine: Engine = TorchEngine(model) if isinstance(model, ModelFolder) else model
        self.decoding = _decoding(model.spec.decoding, beam_size, alpha, length_penalty)
        self.sentences = SentenceSearch(self.engine, self.decoding)
        self.limit = self.sentences.limit
        self.two_way: Scorer | None = TorchEngine(two_way) if isinstance(two_way, ModelFolder) else two_way
        if self.two_way is not None:
            require_opposite(self.two_way, self.engine.spec)

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        beam_size: int | None = None,
        alpha: float | None = None,
        length_penalty: LengthRule | None = None,
        device: "torch.device | str | None" = None,
        precision: AnyPrecision | None = None,
        engine: EngineName = "auto",
        threads: int | None = None,
        two_way: Path | str | None = None,
        say: Say | None = None,
    ) -> "Translator":
        """Open an installed model, a model folder or the model of a run directory.

        Args:
            path: the name or the folder.
            beam_size, alpha, length_penalty: as for the class.
            device: where to compute; None chooses CUDA if available.
            precision: "fp32" is exact; "int8" needs CTranslate2, "bf16" PyTorch; "auto" is the fastest of the engine;
                None is int8 in CTranslate2 if the weights are stored in it, or else fp32.
            engine: "ctranslate2" (on a CPU), "torch", or "auto", which takes CTranslate2 on a CPU if possible.
            threads: number of batches that CTranslate2 translates at a time; None is one for each core.
            two_way: name or folder of a model of the opposite direction, as for the class.
            say: receives a note on which model of a run is used; None writes it to stderr.

        Raises UserError or CheckpointError, one sentence, if the folder cannot be used.
        """
        say = say or (lambda message: print(message, file=sys.stderr))
        path = locate(Path(path), say, exported=True)
        opened = open_engine(path, engine, device=device, precision=precision, threads=threads)
        back = None
        if two_way is not None:
            back = open_scorer(locate(Path(two_way), say), engine, device=device, precision=precision, threads=threads)
        return cls(opened, beam_size=beam_size, alpha=alpha, length_penalty=length_penalty, two_way=back)

    @overload
    def __call__(self, text: str) -> str: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, text: list[str] | tuple[str, ...]) -> list[str]: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, text: Iterable[str]) -> Iterator[str]: ...

    def __call__(self, text: str | Iterable[str]) -> str | list[str] | Iterator[str]:
        """Translate a text of any number of lines, each text of a list, or lazily each text of an iterable.

        As `passages`; line n of a text is line n of its translation. TypeError for anything else.
        """
        if isinstance(text, bytes) or not isinstance(text, Iterable):  # now, not at the first use of the iterator
            raise TypeError(f"expected a text or an iterable of texts, not {type(text).__name__}")
        if isinstance(text, str):
            return next(self._texts([text]))
        return list(self._texts(text)) if isinstance(text, list | tuple) else self._texts(text)

    def _texts(self, texts: Iterable[str]) -> Iterator[str]:
        for window in _windows(texts):
            split_texts = [text.split("\n") for text in window]
            translations = self.passages([line for lines in split_texts for line in lines])
            for lines in split_texts:
                yield "\n".join(next(translations).text for _ in lines)

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """Translate each line as one sentence; a "\\n" within a line counts as a space."""
        return list(self.stream(lines))

    def stream(self, lines: Iterable[str]) -> Iterator[Translation]:
        """Translate each line as one sentence, reading at most WINDOW lines ahead.

        The lines may end with "\\n". UserError for text that is not Unicode.
        """
        return (best[0] for best in self.n_best(lines, 1))

    def n_best(self, lines: Iterable[str], n: int) -> Iterator[list[Translation]]:
        """Yield up to n translations of each line as one sentence, best first, from a beam of at least n.

        A line that is translated in parts joins the second best translations of its parts in its second, and so on.
        """
        for window in _windows(_clean(lines)):
            found = self._found(window, self.limit, self.sentences.max_length, n_best=n)
            for line in window:
                yield [self.sentences.scored(translation) for translation in found[line][:n]]

    def _found(
        self, lines: Sequence[str], limit: int, max_length: Callable[[int], int], *, n_best: int = 1, no_repeat: int = 0
    ) -> dict[str, list[Translation]]:
        """Return at least the n best translations of each line; with the two-way check, the best of the whole beam."""
        if self.two_way is None:
            return self.sentences.translate(lines, limit, max_length, n_best=n_best, no_repeat=no_repeat)
        n = max(n_best, self.decoding.beam_size)
        return ranked(self.two_way, self.sentences.translate(lines, limit, max_length, n_best=n, no_repeat=no_repeat))

    def passages(
        self, texts: Iterable[str], *, guarded: bool = True, splits: bool = True, markup: re.Pattern[str] = PLACEHOLDER
    ) -> Iterator[Translation]:
        """Translate each text as a passage of sentences, in which placeholders stay unchanged.

        Reads at most WINDOW texts ahead. A "\\n" within a text counts as a space. UserError for text that is not
        Unicode.

        Args:
            texts: the passages.
            guarded: copy text that needs no translation, search again if a translation has a mistake, and flag it; see
                `translate.text.translation`.
            splits: whether a text may contain several sentences.
            markup: matches placeholders.
        """
        sentences, spec = self.sentences, self.engine.spec
        max_length = sentences.guarded_length if guarded else sentences.max_length

        def search(lines: Sequence[str], no_repeat: int) -> dict[str, Translation]:
            found = self._found(lines, sentences.best_limit, max_length, no_repeat=no_repeat)
            return {line: translations[0] for line, translations in found.items()}

        n_symbols = self.engine.tokenizer.n_placeholders
        passages = Passages(search, spec.source, spec.target, n_symbols, guarded, splits, markup)
        for window in _windows(_clean(texts)):
            for found in passages.translate(window):
                yield sentences.scored(found.doubted() if guarded else found)


def _decoding(
    default: DecodingConfig, beam_size: int | None, alpha: float | None, length_penalty: LengthRule | None
) -> DecodingConfig:
    """Return the settings with those that are not None replaced; UserError if they are invalid."""
    chosen = {"beam_size": beam_size, "alpha": alpha, "length_penalty": length_penalty}
    changes: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    try:
        decoding = replace(default, **changes)
    except ValueError as error:
        raise UserError(str(error)) from error
    if alpha is not None and decoding.length_penalty != "gnmt":
        raise UserError(
            f"alpha = {alpha}: belongs to the length penalty gnmt, and here it is {decoding.length_penalty}; "
            "leave one of them out"
        )
    return decoding


def _clean(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines without line breaks; UserError for text that is not Unicode, TypeError for one text."""
    if isinstance(lines, str):
        raise TypeError("a list of texts is expected; one text is translated by calling the translator itself")
    for n, line in enumerate(lines, start=1):
        try:
            line.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UserError(f"line {n}: not UTF-8 text (at character {error.start + 1}); save it as UTF-8") from error
        yield _BREAK.sub(" ", line.removesuffix("\n"))


def _windows(texts: Iterable[str]) -> Iterator[list[str]]:
    """Divide texts into windows of at most WINDOW texts and about _WINDOW_CHARACTERS characters."""
    texts = iter(texts)
    while window := list(islice(texts, 1)):
        n_characters = len(window[0])
        for text in islice(texts, WINDOW - 1):
            window.append(text)
            n_characters += len(text)
            if n_characters >= _WINDOW_CHARACTERS:
                break
        yield window
