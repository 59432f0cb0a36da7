"""A corpus that is prepared in parts, on any number of nodes, has the bytes of one that is prepared in one process."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.one_process import ObjectRef, OneProcess, shared
from translate.config.load import parse
from translate.config.schema import ExperimentConfig
from translate.corpus import cluster, stages
from translate.corpus.sources import Pair
from translate.corpus.stages import CleanPairs, Recipe
from translate.corpus.tokenizer import Tokenizer

# Whole sentences with names, one that has no end, numbers, a placeholder; repeated by the strategies below.
PAIRS = [
    ("Heute kommt Tom.", "Tom comes today."),
    ("Danach geht Anna mit Tom nach Hause, sagt Klaus.", "Then Anna goes home with Tom, says Klaus."),
    ("ohne Ende", "without an end"),
    ("Um 8 Uhr kommen 5 Leute.", "At 8 o'clock 5 people come."),
    ("Sieh {name} an.", "Look at {name}."),
    ("Der Hund von Maria schläft heute lange im Garten.", "The dog of Maria sleeps long in the garden today."),
    ("gleich", "gleich"),
    ("", "nothing"),
    ("kurz", "a text that is much longer than the other side of the pair"),
]
TEST = [("Sieh {name} an.", "Look at {name}."), ("Ganz andere Worte stehen hier.", "Other words stand here.")]
AUGMENTATION = {"joined": 0.9, "names": 1.0, "ending": 0.5, "case": 0.3, "symbols": 0.5, "values": 0.5}


def write(root: Path, name: str, pairs: Sequence[Pair]) -> dict[str, str]:
    for side, language in enumerate(("de", "en")):
        (root / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return {"source": f"{name}.de", "target": f"{name}.en"}


def experiment(
    root: Path, sources: Sequence[Sequence[Pair]], vocab_size: int = 380, **cleaning: bool
) -> ExperimentConfig:
    data = {
        "source": "de",
        "target": "en",
        "root": str(root),
        "train": [write(root, f"train{n}", pairs) for n, pairs in enumerate(sources)],
        "valid": write(root, "valid", TEST),
        "test": {"small": write(root, "test", TEST)},
    }
    tokenizer = {"vocab_size": vocab_size, "placeholders": 3, "max_sentences": 40}
    return parse({"data": data, "cleaning": cleaning, "tokenizer": tokenizer, "augmentation": AUGMENTATION}, "a test")


def everything(found: CleanPairs, tokenizer: Tokenizer) -> tuple[object, ...]:
    """All that a corpus is made of."""
    counts = found.report.as_dict(), found.counts, found.added, found.refused, found.size
    sampled = [list(found.sample(n)) for n in (1, 7, 10_000)]
    encoded = list(found.encoded(tokenizer))
    sides = [
        [np.concatenate([chunk[side][part] for chunk in encoded]).tolist() for part in (0, 1)] if encoded else []
        for side in (0, 1)
    ]
    return *counts, sampled, sides


@given(
    sources=st.lists(st.lists(st.sampled_from(PAIRS), max_size=23), min_size=1, max_size=3),
    chunk=st.integers(1, 9),
    duplicates=st.booleans(),
)
def test_parts_of_any_size_give_the_pairs_of_the_whole(
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    sources: list[list[Pair]],
    chunk: int,
    duplicates: bool,
) -> None:
    """Names, sentences to be joined, duplicates and examples come from earlier parts."""
    root = tmp_path_factory.mktemp("corpus")
    config = experiment(root, sources, duplicates=duplicates)
    recipe = Recipe.of(config, TEST, 3)
    with pytest.MonkeyPatch.context() as patch:
        for name, stand_in in (("Dataset", OneProcess), ("Shared", shared), ("ObjectRef", ObjectRef)):
            patch.setattr(cluster, name, stand_in)
        in_parts = everything(cluster.clean(recipe, root, chunk=chunk), tokenizer)
    assert in_parts == everything(stages.clean(recipe, root), tokenizer)
