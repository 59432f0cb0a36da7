"""Alternatives to a translation: other tokens at each position, and translations that continue from them.

Positions count tokens from 0; the position after the last token is that of eos.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transformer.search.alternatives import Alternatives
from translate.errors import UserError
from translate.inference.research import Ids, SearchEngine, translate_from
from translate.inference.translator import Translator
from translate.text.translation import Translation

_BATCH = 32  # translations per batch


@dataclass(frozen=True)
class Alternative:
    """A token that could have been at a position of a translation.

    Attributes:
        token: its piece; None is eos.
        log_prob: natural log-probability, given the tokens before it.
    """

    token: str | None
    log_prob: float


def alternatives(
    engine: SearchEngine, lines: Sequence[str], translations: Sequence[Translation], prefixes: Sequence[Ids], n: int
) -> list[list[list[Alternative]]]:
    """Return the n most probable other tokens at each position of each line's translation, most probable first.

    Args:
        engine: the engine that made the translations.
        lines: the sources; a blank line has no positions. UserError for a line that was translated in parts.
        translations: one for each line.
        prefixes: token ids that each translation was forced to start with.
        n: number of alternatives per position.
    """
    eos, pieces = engine.model_folder.model.config.eos, engine.tokenizer.pieces
    return [
        [[Alternative(None if i == eos else pieces([i])[0], log_prob) for i, log_prob in position] for position in line]
        for line in _alternative_ids(engine, lines, translations, prefixes, n)
    ]


def branches(
    engine: SearchEngine,
    lines: Sequence[str],
    translations: Sequence[Translation],
    prefixes: Sequence[Ids],
    n: int,
    position: int,
    new_translator: Callable[[SearchEngine], Translator] = Translator,
) -> list[list[Translation]]:
    """Return up to n translations of each line that equal the given one up to the token `position` and differ there.

    The first continues from the most probable other token, the next from the second, and so on. There are none for a
    translation with fewer tokens, or at the end of one that has its maximum length. An alternative that ends the
    translation is left out.

    Args:
        engine, lines, translations, prefixes: as for `alternatives`.
        n: number of translations of each line.
        position: index of the token.
        new_translator: makes a translator of an engine; it finds the best continuations.
    """
    eos = engine.model_folder.model.config.eos
    starts: list[tuple[int, Ids]] = []  # index of the line, and the tokens that its translation starts with
    found_ids = _alternative_ids(engine, lines, translations, prefixes, n + 1)
    for i, (translation, others) in enumerate(zip(translations, found_ids, strict=True)):
        is_full = position == len(translation.tokens) and "length" in translation.flags
        others_here = others[position] if position < len(others) and not is_full else ()
        tokens = [token for token, _ in others_here if token != eos]
        same = engine.tokenizer.ids(translation.tokens[:position])
        starts += [(i, (*same, token)) for token in tokens[:n]]
    now, starts_now = [lines[i] for i, _ in starts], [start for _, start in starts]
    best = translate_from(engine, now, starts_now, new_translator=new_translator)
    found: list[list[Translation]] = [[] for _ in lines]
    for (i, _), (translation, *_) in zip(starts, best, strict=True):
        found[i].append(translation)
    return found


def _alternative_ids(
    engine: SearchEngine, lines: Sequence[str], translations: Sequence[Translation], prefixes: Sequence[Ids], n: int
) -> list[list[Alternatives]]:
    """Return `SearchEngine.alternatives` of each line; no positions for a blank line."""
    for line, translation in zip(lines, translations, strict=True):
        if translation.split:
            raise UserError(
                f"{line.strip()[:30]!r}...: is longer than the model's limit, so it has no alternatives; shorten it"
            )
    found: list[list[Alternatives]] = [[] for _ in lines]
    filled = [i for i, line in enumerate(lines) if line.strip()]
    for start in range(0, len(filled), _BATCH):
        batch = filled[start : start + _BATCH]
        sources = engine.tokenizer.encode_batch([lines[i].strip() for i in batch])
        outputs = [engine.tokenizer.ids(translations[i].tokens) for i in batch]
        results = engine.alternatives(sources, outputs, [prefixes[i] for i in batch], n)
        for i, result in zip(batch, results, strict=True):
            found[i] = result
    return found
