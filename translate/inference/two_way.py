"""The two-way check: the probability of a source given its translation, from a model of the opposite direction.

A translation that lost or changed the meaning makes its source unlikely, also where the model that wrote it was sure.
So it predicts errors better than the model's own probability does; scripts/bench_confidence.py measures by how much.
"""

from collections.abc import Mapping
from dataclasses import replace

from translate.errors import UserError
from translate.inference.engine import max_positions
from translate.inference.sentence_search import LIMIT
from translate.models.folder import ModelFolder, TranslationSpec
from translate.text.translation import Translation


def require_opposite(model: ModelFolder, spec: TranslationSpec) -> None:
    """Raise UserError if `model` does not translate in the direction opposite to `spec`."""
    back = model.spec
    if (back.source, back.target) != (spec.target, spec.source):
        raise UserError(
            f"{model.folder}: translates {back.source}-{back.target}, but the two-way check of "
            f"{spec.source}-{spec.target} needs a model for {spec.target}-{spec.source}; name one"
        )


def checked(model: ModelFolder, found: Mapping[str, Translation]) -> dict[str, Translation]:
    """Return the translation of each source with `back`: the mean log-probability of a token of the source, given it.

    Pairs with a blank side and pairs longer than the model reads stay without.

    Args:
        model: translates in the opposite direction.
        found: each source, one sentence, and its translation.
    """
    from translate.inference.scoring import score  # imports torch

    limit = min(LIMIT, max_positions(model) or LIMIT)
    pairs = [(translation.text.strip(), source.strip()) for source, translation in found.items()]
    lengths = zip(*(map(len, model.tokenizer.encode_batch(side)) for side in zip(*pairs, strict=True)), strict=True)
    fits = [min(pair) > 0 and max(pair) < limit for pair in lengths]
    scored = score(model, [pair for pair, fit in zip(pairs, fits, strict=True) if fit])
    return {
        source: replace(translation, back=next(scored).normalised) if fit else translation
        for (source, translation), fit in zip(found.items(), fits, strict=True)
    }
