"""Pairs from text in one language, with the other side made by a model.

Back-translation (Sennrich et al., 2016): text in the target language gets a synthetic source. Distillation (Kim and
Rush, 2016): text in the source language gets a synthetic target.
"""

import random
from collections.abc import Iterable, Iterator

from translate.config.data import MonoSource

TAG = "<BT>"  # begins a synthetic source, so that the model can tell it from a natural one (Caswell et al., 2019)
_REACH = 3  # words


def synthetic_pairs(source: MonoSource, translated: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield (source, target) pairs.

    Args:
        source: the source table; says which side is natural, and adds tag and noise.
        translated: natural sentences with their translations.
    """
    draw = random.Random(source.seed)
    for natural, synthetic in translated:
        if source.side == "source":
            yield natural, synthetic
            continue
        noised = noisy(synthetic, source.noise, draw) if source.noise else synthetic
        yield (f"{TAG} {noised}" if source.tag and noised else noised), natural


def untagged(pair: tuple[str, str]) -> tuple[str, tuple[str, str]]:
    """Return the tag of a synthetic source with the space after it, or "", and the pair without it."""
    tag = f"{TAG} "
    return (tag, (pair[0][len(tag) :], pair[1])) if pair[0].startswith(tag) else ("", pair)


def noisy(text: str, rate: float, draw: random.Random) -> str:
    """Return the text with words dropped and moved (Edunov et al., 2018).

    Args:
        text: words between spaces.
        rate: chance that a word is dropped; at least one word stays. The others move by at most 3 places.
        draw: source of random numbers.
    """
    words = text.split()
    kept = [word for word in words if draw.random() >= rate] or words[:1]
    places = [i + draw.uniform(0, _REACH + 1) for i in range(len(kept))]
    return " ".join(kept[i] for i in sorted(range(len(kept)), key=places.__getitem__))
