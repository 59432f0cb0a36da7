"""The text pipeline imports no torch and depends only on the engine's protocol."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from transformer.search.hypothesis import Hypothesis, SearchConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.engine import Attention, Batch, Engine, Found, Search, Sources, side_by_side
from translate.inference.search import LIMIT
from translate.inference.translator import Translator
from translate.models.folder import TranslationSpec


@dataclass
class Parrot:
    """An engine that returns every source unchanged."""

    tokenizer: Tokenizer
    folder: Path = Path("parrot")
    spec: TranslationSpec = TranslationSpec("de", "en")
    max_positions: int | None = None
    n_workers: int = 1
    mixes_lengths: bool = True
    can_align: bool = False
    precision: str = "fp32"

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        return list(map(search, batches))

    def search(
        self, sources: Sequence[Sequence[int]], max_lengths: Sequence[int], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        return [[Hypothesis(list(ids), -1.0, -1.0)] for ids in sources]

    def align(self, sources: Sources, targets: Sources) -> list[Attention]:
        return [
            [[float(s == t) for s in range(len(source))] for t in range(len(target))]
            for source, target in zip(sources, targets, strict=True)
        ]


def test_any_engine_translates(tokenizer: Tokenizer) -> None:
    engine: Engine = Parrot(tokenizer)
    assert Translator(engine)(["der Hund.  Die Katze?", "", "{x} das Kind"]) == [
        "der Hund.  Die Katze?",
        "",
        "{x} das Kind",
    ]


def test_an_engine_with_few_positions_lowers_the_length_limit(tokenizer: Tokenizer) -> None:
    assert Translator(Parrot(tokenizer)).limit == LIMIT - 1
    assert Translator(Parrot(tokenizer, max_positions=40)).limit == 20
    with pytest.raises(UserError, match="too short"):
        Translator(Parrot(tokenizer, max_positions=15))


def test_the_batches_with_the_most_tokens_start_first() -> None:
    batches = [[(5,)] * 7, [(5, 6)] * 5, [(5, 6, 7)] * 2]
    started = []

    def search(batch: Batch) -> Found:
        started.append(batch)
        return [[Hypothesis([len(ids)], 0.0, 0.0)] for ids in batch]

    found = side_by_side(search, batches, len, n_workers=1)
    assert started == [batches[1], batches[0], batches[2]]
    assert [[h.tokens for hypotheses in results for h in hypotheses] for results in found] == [
        [[1]] * 7,
        [[2]] * 5,
        [[3]] * 2,
    ]


def test_the_text_pipeline_imports_no_torch() -> None:
    program = "import sys, translate.inference.translator, translate.commands.text; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=100).returncode == 0
