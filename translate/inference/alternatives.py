"""What else a translation could have said: other tokens at each place, and the translations that go on from them.

Positions count tokens, from 0; the place after the last token is the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transformer.search.alternatives import Alternatives
from translate.errors import UserError
from translate.inference.research import Ids, SearchEngine, translate_from
from translate.inference.translator import Translation, Translator

_BATCH = 32  # translations that are looked at together


@dataclass(frozen=True)
class Other:
    """A token that could have stood in a translation: its piece and its log-probability; None is the end."""

    token: str | None
    log_prob: float


def alternatives(
    engine: SearchEngine,
    lines: Sequence[str],
    translations: Sequence[Translation],
    prefixes: Sequence[Ids],
    n: int,
) -> list[list[list[Other]]]:
    """For each line, at each token of its translation and at its end, the n likeliest other tokens.

    Likeliest first, given what precedes; none for a blank line. `prefixes` are what the translations had to begin with.
    UserError for a line that was translated in parts.
    """
    return [
        [[Other(_piece(engine, token), log_prob) for token, log_prob in place] for place in own]
        for own in _others(engine, lines, translations, prefixes, n)
    ]


def branches(
    engine: SearchEngine,
    lines: Sequence[str],
    translations: Sequence[Translation],
    prefixes: Sequence[Ids],
    n: int,
    position: int,
    opened: Callable[[SearchEngine], Translator] = Translator,
) -> list[list[Translation]]:
    """For each line, up to n translations that begin as the given one and differ from it at the token `position`.

    The first goes on from the likeliest other token there (see `alternatives`), the next from the second, and so on,
    each the best that `opened` finds from there; what would only end there is left out. A translation of fewer tokens
    has none, nor has one at its end that was as long as it may be. UserError as for `alternatives`.
    """
    eos = engine.members[0].model.config.eos
    starts: list[list[Ids]] = []
    for translation, own in zip(translations, _others(engine, lines, translations, prefixes, n + 1), strict=True):
        full = position == len(translation.tokens) and "length" in translation.flags
        others = [token for token, _ in own[position] if token != eos] if position < len(own) and not full else []
        starts.append([(*engine.tokenizer.ids(translation.tokens[:position]), token) for token in others[:n]])
    found: list[list[Translation]] = [[] for _ in lines]
    for rank in range(n):
        now = [i for i, own in enumerate(starts) if rank < len(own)]
        begun = [starts[i][rank] for i in now]
        best = translate_from(engine, [lines[i] for i in now], begun, opened=opened)
        for i, (translation, *_) in zip(now, best, strict=True):
            found[i].append(translation)
    return found


def _others(
    engine: SearchEngine, lines: Sequence[str], translations: Sequence[Translation], prefixes: Sequence[Ids], n: int
) -> list[list[Alternatives]]:
    """The others of each line, as `SearchEngine.others`; none for a blank line."""
    for line, translation in zip(lines, translations, strict=True):
        if translation.split:
            raise UserError(f"{line.strip()[:30]!r}...: is longer than the model reads at once; alternatives need all")
    found: list[list[Alternatives]] = [[] for _ in lines]
    asked = [i for i, line in enumerate(lines) if line.strip()]
    for start in range(0, len(asked), _BATCH):
        batch = asked[start : start + _BATCH]
        sources = engine.tokenizer.encode_batch([lines[i].strip() for i in batch])
        outputs = [engine.tokenizer.ids(translations[i].tokens) for i in batch]
        others = engine.others(sources, outputs, [prefixes[i] for i in batch], n)
        for i, own in zip(batch, others, strict=True):
            found[i] = own
    return found


def _piece(engine: SearchEngine, token: int) -> str | None:
    return None if token == engine.members[0].model.config.eos else engine.tokenizer.pieces([token])[0]
