"""What `translate decode` says about a search besides its translations: consensus of samples, alternatives, branches.

Each line is one sentence, and no check follows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from transformer.config import Ids
from translate.corpus.tokenizer import EOS
from translate.errors import UserError
from translate.inference.search import SentenceSearch
from translate.inference.torch_engine import TorchEngine
from translate.text.translation import Translation

if TYPE_CHECKING:
    from transformer.search.alternatives import Alternatives

_ALTERNATIVES_BATCH = 32  # translations per batch


def consensus(samples: Sequence[Translation]) -> Translation:
    """Return the sample with the highest mean chrF against all samples (Eikema and Aziz, 2020); the first on a tie.

    Samples represent the model's distribution, so equal samples count several times. ValueError without samples.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    texts = Counter(sample.text for sample in samples)

    def agreement(text: str) -> float:
        return float(sum(n * chrf.sentence_score(text, [other]).score for other, n in texts.items()))

    best = max(texts, key=agreement)
    return next(sample for sample in samples if sample.text == best)


@dataclass(frozen=True)
class Alternative:
    """A token that could have been at a position of a translation.

    Attributes:
        token: its text; None is eos.
        log_prob: natural log-probability, given the tokens before it.
    """

    token: str | None
    log_prob: float


def alternatives(
    search: SentenceSearch, lines: Sequence[str], translations: Sequence[Translation], prefixes: Sequence[Ids], n: int
) -> list[list[list[Alternative]]]:
    """Return the n most probable other tokens at each position of each line's translation, most probable first.

    Args:
        search: with a `TorchEngine`.
        lines: the sources; a blank line has no positions. UserError for a line that was translated in parts.
        prefixes: token ids that each translation was forced to start with.
    """
    tokens = search.engine.tokenizer.tokens
    return [
        [[Alternative(None if i == EOS else tokens([i])[0], log_prob) for i, log_prob in position] for position in line]
        for line in _alternative_ids(search, lines, translations, prefixes, n)
    ]


def branches(
    search: SentenceSearch,
    lines: Sequence[str],
    translations: Sequence[Translation],
    prefixes: Sequence[Ids],
    n: int,
    position: int,
) -> list[list[Translation]]:
    """Return up to n translations of each line that equal the given one up to the token `position` and differ there.

    The first continues from the most probable other token, the next from the second, and so on. There are none for a
    translation with fewer tokens, or at the end of one that has its maximum length. An alternative that ends the
    translation is left out.

    Args:
        search, lines, translations, prefixes: as for `alternatives`.
        position: index of the token.
    """
    starts: list[tuple[int, Ids]] = []  # index of the line, and the tokens that its translation starts with
    found_ids = _alternative_ids(search, lines, translations, prefixes, n + 1)
    for i, (translation, others) in enumerate(zip(translations, found_ids, strict=True)):
        is_full = position == len(translation.tokens) and "length" in translation.flags
        others_here = others[position] if position < len(others) and not is_full else ()
        tokens = [token for token, _ in others_here if token != EOS]
        same = search.engine.tokenizer.ids(translation.tokens[:position])
        starts += [(i, (*same, token)) for token in tokens[:n]]
    best = search.translate([lines[i] for i, _ in starts], prefixes=[start for _, start in starts])
    found: list[list[Translation]] = [[] for _ in lines]
    for (i, _), (translation, *_) in zip(starts, best, strict=True):
        found[i].append(search.scored(translation))
    return found


def _alternative_ids(
    search: SentenceSearch, lines: Sequence[str], translations: Sequence[Translation], prefixes: Sequence[Ids], n: int
) -> "list[list[Alternatives]]":
    """Return `TorchEngine.alternatives` of each line; no positions for a blank line."""
    for line, translation in zip(lines, translations, strict=True):
        if translation.split:
            raise UserError(
                f"{line.strip()[:30]!r}...: is longer than the model's limit, so it has no alternatives; shorten it"
            )
    engine = cast(TorchEngine, search.engine)
    found: list[list[Alternatives]] = [[] for _ in lines]
    requests = search.requests(lines, prefixes)
    filled = [i for i, own in enumerate(requests) if own]
    for start in range(0, len(filled), _ALTERNATIVES_BATCH):
        batch = filled[start : start + _ALTERNATIVES_BATCH]
        outputs = [engine.tokenizer.ids(translations[i].tokens) for i in batch]
        results = engine.alternatives([requests[i][0] for i in batch], outputs, n, search.config)
        for i, result in zip(batch, results, strict=True):
            found[i] = result
    return found
