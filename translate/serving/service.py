"""The services of the server, without HTTP: languages, detection, translation."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from translate.config.decoding import Format, TranslationOptions
from translate.errors import UserError
from translate.inference.engines import Engine, TorchEngine, torch_engine
from translate.inference.translator import TranslatedPiece, Translator, joined
from translate.serving.errors import ApiError, invalid
from translate.serving.language_names import name_of
from translate.serving.model_pool import ModelPool, ModelUnavailableError
from translate.serving.scheduler import Scheduler, Ticket
from translate.serving.shared_engine import SharedEngine
from translate.text import formats, languages
from translate.text.translation import Translation

if TYPE_CHECKING:
    from translate.inference.alignment import WordAttention

Detection = dict[str, object]  # the language and the confidence in percent, as LibreTranslate writes them

Sentence = dict[str, object]  # source, translation, and flags of the guards

_LEAST_CONFIDENCE = 1.0  # percent; less probable languages are not listed


@dataclass(frozen=True)
class Translated:
    """Translations of texts.

    Attributes:
        texts: one for each text.
        alternatives: other translations of each text.
        detected: the source language; None without detection.
        sentences: sentences of each text; empty for HTML.
    """

    texts: list[str]
    alternatives: list[list[str]]
    detected: Detection | None
    sentences: list[list[Sentence]]


class Service:
    """Translates with the models of a pool.

    Args:
        pool: the models.
        scheduler: searches for the sentences of all requests.
        beam_size: hypotheses kept per step; None takes each model's default.
    """

    def __init__(self, pool: ModelPool, scheduler: Scheduler, beam_size: int | None = None) -> None:
        self.pool, self.scheduler, self._beam_size = pool, scheduler, beam_size

    @property
    def codes(self) -> list[str]:
        """The codes of all languages, in alphabetical order."""
        return sorted({code for pair in self.pool.pairs for code in pair})

    def languages(self) -> list[dict[str, object]]:
        """Return the languages with their targets, as LibreTranslate lists them."""
        return [
            {"code": code, "name": name_of(code), "targets": [t for s, t in self.pool.pairs if s == code]}
            for code in self.codes
        ]

    def detect(self, texts: Iterable[str], candidates: Collection[str] | None = None) -> list[Detection]:
        """Return the languages that texts may be in, most probable first.

        Args:
            texts: in one language.
            candidates: codes of the expected languages; None expects all languages of the server.
        """
        ranked = languages.ranking(texts, self.codes if candidates is None else candidates)
        found = [(code, round(100 * probability, 1)) for code, probability in ranked]
        return [
            {"confidence": confidence, "language": code}
            for n, (code, confidence) in enumerate(found)
            if not n or confidence >= _LEAST_CONFIDENCE
        ]

    def check(self, source: str, target: str) -> None:
        """Raise ApiError unless there is a model for a pair of languages, or both are the same."""
        known = self.codes
        for code in (source, target) if source != "auto" else (target,):
            if code not in known:
                raise invalid(f"{code} is not supported")
        if source not in ("auto", target) and (source, target) not in self.pool.pairs:
            raise invalid(
                f"{name_of(target)} ({target}) is not available as a target language from {name_of(source)} ({source})"
            )

    def translate(
        self, ticket: Ticket, texts: Sequence[str], source: str, target: str, layout: str, n_alternatives: int = 0
    ) -> Translated:
        """Translate texts; blocks until all are done.

        Args:
            ticket: the request.
            texts: whole texts.
            source: language code; "auto" detects one language for all texts.
            target: language code; texts in this language are returned unchanged.
            layout: one of `translate.text.formats.FORMATS`.
            n_alternatives: number of other translations of each text; HTML has none.

        Raises ApiError if there is no such model or it cannot be loaded, and CancelledError.
        """
        detected = None
        if source == "auto":
            candidates = {s for s, t in self.pool.pairs if t == target} | {target}
            found = self.detect(formats.prose(texts, layout), candidates)
            detected = found[0] if found else {"confidence": 0.0, "language": target}
            source = str(detected["language"])
        self.check(source, target)
        if source == target:
            same = [[_sentence(text, Translation(text))] if layout != "html" else [] for text in texts]
            return Translated(list(texts), [[] for _ in texts], detected, same)
        try:
            with self._translator(ticket, source, target, layout) as translator:
                documents = translator.documents(texts, ticket.check)
                n_others = n_alternatives if layout != "html" else 0
                others = [_alternatives(translator, text, n_others, ticket.check) for text in texts]
        except ModelUnavailableError as error:
            raise _unavailable(error) from error
        sentences = [_sentences(pieces) if layout != "html" else [] for pieces in documents]
        return Translated([joined(pieces) for pieces in documents], others, detected, sentences)

    @contextmanager
    def _translator(self, ticket: Ticket, source: str, target: str, layout: str) -> Iterator[Translator]:
        """Yield a translator for a request."""
        with self.pool.engine((source, target)) as engine:
            options = TranslationOptions(beam_size=self._beam_size, format=cast(Format, layout))
            yield Translator(SharedEngine(engine, self.scheduler, ticket), options)

    def attention(self, text: str, translation: str, source: str, target: str) -> "WordAttention":
        """Return how much each word of a translation attends to each word of its source.

        Args:
            text: the source, one sentence.
            translation: of the sentence.
            source, target: language codes.

        Raises ApiError if there is no such model, if it cannot be loaded, or if a sentence is too long.
        """
        if (source, target) not in self.pool.pairs:
            raise invalid(f"There is no model from {source} to {target}")
        try:
            with self.pool.engine((source, target)) as engine:
                from translate.inference.alignment import word_attention  # imports torch

                if (with_attention := _with_attention(engine)) is None:
                    raise invalid("This model is in CTranslate2's format, which has no attention")
                return word_attention(with_attention.model_folder, text, translation)
        except ModelUnavailableError as error:
            raise _unavailable(error) from error
        except UserError as error:
            raise invalid(str(error)) from error


def _with_attention(engine: Engine) -> TorchEngine | None:
    """Return the engine of PyTorch for the same model; ModelUnavailableError if its files were damaged meanwhile."""
    try:
        return torch_engine(engine)
    except (UserError, ValueError) as error:  # CheckpointError is a ValueError
        raise ModelUnavailableError("This model cannot be loaded by PyTorch, which computes attention") from error


def _unavailable(error: ModelUnavailableError) -> ApiError:
    return ApiError(503, str(error), {"Retry-After": "30"})


def _sentences(pieces: Sequence[TranslatedPiece]) -> list[Sentence]:
    """Return the sentences of a text and the text between them, in order."""
    pairs = (
        pair
        for piece, translation in pieces
        for pair in (translation.sentences if translation else [(piece.text, Translation(piece.text))])
    )
    return [_sentence(source, found) for source, found in pairs]


def _sentence(source: str, found: Translation) -> Sentence:
    return {"source": source, "text": found.text, "suspicious": found.suspicious, "flags": list(found.flags)}


def _alternatives(translator: Translator, text: str, n: int, check: Callable[[], None]) -> list[str]:
    """Return other translations of a text; those of each line are joined in order of their ranks.

    Args:
        translator: the model.
        text: any number of lines.
        n: number of other translations.
        check: called for each line; may raise an exception to give up.
    """
    if not n:
        return []
    lines = text.split("\n")

    def others(line: str) -> list[str]:
        check()
        return translator.alternatives(line, n)

    def alone(line: str) -> list[str]:
        check()
        return [translator(line)]

    ranked = [others(line) for line in lines]
    n_ranks = max(map(len, ranked))
    columns = [found or alone(line) for line, found in zip(lines, ranked, strict=True)] if n_ranks else []
    wholes = ["\n".join(column[min(rank, len(column) - 1)] for column in columns) for rank in range(n_ranks)]
    return list(dict.fromkeys(wholes))
