"""The two-way check: the probability of a source given its translation, from a model of the opposite direction.

A translation that lost or changed the meaning makes its source unlikely, also where the model that wrote it was sure.
So both probabilities together find better hypotheses in a beam than the model's own does (noisy channel reranking; Yee,
Dauphin and Auli 2019), and bad translations; scripts/bench_confidence.py measures by how much.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from translate.errors import UserError
from translate.inference.engine import Scorer
from translate.inference.sentence_search import LIMIT
from translate.models.folder import TranslationSpec
from translate.text.translation import Translation


def require_opposite(model: Scorer, spec: TranslationSpec) -> None:
    """Raise UserError if `model` does not translate in the direction opposite to `spec`."""
    back = model.spec
    if (back.source, back.target) != (spec.target, spec.source):
        raise UserError(
            f"{model.folder}: translates {back.source}-{back.target}, but the two-way check of "
            f"{spec.source}-{spec.target} needs a model for {spec.target}-{spec.source}; name one"
        )


def ranked(model: Scorer, found: Mapping[str, Sequence[Translation]]) -> dict[str, list[Translation]]:
    """Return the translations of each source with `back`, in descending order of `trust`.

    Pairs with a blank side and pairs longer than the model reads stay without `back`, after the others in their order.

    Args:
        model: translates in the opposite direction.
        found: each source, one sentence, and its translations.
    """
    pairs = dict.fromkeys((one.text.strip(), source.strip()) for source, several in found.items() for one in several)
    known = _normalised(model, list(pairs))

    def checked(source: str, one: Translation) -> Translation:
        return replace(one, back=known.get((one.text.strip(), source.strip())))

    return {
        source: sorted((checked(source, one) for one in several), key=_trust, reverse=True)
        for source, several in found.items()
    }


def _trust(translation: Translation) -> float:
    return -math.inf if translation.back is None else translation.trust


def _normalised(model: Scorer, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return the mean log-probability of a token of the second text given the first, of pairs that the model reads."""
    limit = min(LIMIT, model.max_positions or LIMIT)
    encoded = zip(*(model.tokenizer.encode_batch(side) for side in zip(*pairs, strict=True)), strict=True)
    fitting = {
        pair: ids for pair, ids in zip(pairs, encoded, strict=True) if all(0 < len(side) < limit for side in ids)
    }
    if not fitting:
        return {}
    given, scored = zip(*fitting.values(), strict=True)
    log_probs = model.score(given, scored)
    return {pair: p / (len(ids) + 1) for pair, ids, p in zip(fitting, scored, log_probs, strict=True)}
