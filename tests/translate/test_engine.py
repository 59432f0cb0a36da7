"""The text around an engine needs no torch, and knows the engine by its protocol alone."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from transformer.hypothesis import Hypothesis
from translate.corpus.tokenizer import Tokenizer
from translate.engine import Engine, TorchEngine
from translate.errors import UserError
from translate.model_folder import ModelFolder, Task
from translate.translator import LIMIT, Translator


@dataclass(frozen=True)
class Parrot:
    """Says every source again."""

    tokenizer: Tokenizer
    folder: Path = Path("parrot")
    task: Task = Task("de", "en")
    max_positions: int | None = None

    def search(
        self,
        sources: Sequence[Sequence[int]],
        *,
        beam_size: int,
        alpha: float,
        n_best: int,
        max_lengths: Sequence[int],
        no_repeat: int,
    ) -> list[list[Hypothesis]]:
        return [[Hypothesis(list(ids), -1.0, -1.0)] for ids in sources]


def test_any_engine_translates(tokenizer: Tokenizer) -> None:
    engine: Engine = Parrot(tokenizer)
    assert Translator(engine)(["der Hund.  Die Katze?", "", "{x} das Kind"]) == [
        "der Hund.  Die Katze?",
        "",
        "{x} das Kind",
    ]


def test_an_engine_with_few_positions_reads_less_at_once(tokenizer: Tokenizer) -> None:
    assert Translator(Parrot(tokenizer)).limit == LIMIT - 1
    assert Translator(Parrot(tokenizer, max_positions=40)).limit == 20
    with pytest.raises(UserError, match="too short"):
        Translator(Parrot(tokenizer, max_positions=15))


def test_the_own_engine_is_the_model_folder(parts: ModelFolder) -> None:
    engine = TorchEngine(parts)
    assert (engine.folder, engine.tokenizer, engine.task) == (parts.folder, parts.tokenizer, parts.task)
    assert engine.max_positions == parts.model.config.max_length


def test_the_text_pipeline_imports_no_torch() -> None:
    program = "import sys, translate.translator, translate.commands.text; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=100).returncode == 0
