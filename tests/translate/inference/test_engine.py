"""The text pipeline imports no torch and depends only on the engine's protocol."""

import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import translate.inference.search
from transformer.config import Attention, Hypotheses, Hypothesis, Request, SearchConfig, TokenIds
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.search import LIMIT, Engine, answers, batches, side_by_side
from translate.inference.translator import Translator
from translate.models.folder import TranslationSpec


@dataclass
class Parrot:
    """An engine that returns every source unchanged."""

    tokenizer: Tokenizer
    folder: Path = Path("parrot")
    spec: TranslationSpec = TranslationSpec("de", "en")
    max_positions: int | None = None
    mixes_lengths: bool = True
    can_align: bool = False
    precision: str = "fp32"

    def search(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        return [[Hypothesis(list(request.ids), -1.0, -1.0)] for request in requests]

    search_batch = search

    def align(self, sources: TokenIds, targets: TokenIds) -> list[Attention]:
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
    own, started = [[(5,)] * 7, [(5, 6)] * 5, [(5, 6, 7)] * 2], []

    def search(batch: list[tuple[int, ...]]) -> list[int]:
        started.append(batch)
        return [len(ids) for ids in batch]

    found = side_by_side(search, own, len, n_workers=1)
    assert started == [own[1], own[0], own[2]]
    assert found == [[1] * 7, [2] * 5, [3] * 2]


IDS = st.lists(st.integers(4, 9), max_size=5).map(tuple)
REQUESTS = st.lists(st.builds(Request, IDS, st.integers(9, 11), IDS, st.lists(IDS, max_size=2).map(tuple)), max_size=30)


@given(REQUESTS, st.integers(1, 7), st.integers(1, 3), st.booleans())
def test_batches_hold_every_request_once_within_the_bounds(
    asked: list[Request], beam_size: int, n_workers: int, mixes_lengths: bool
) -> None:
    config = SearchConfig(beam_size=beam_size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate.inference.search, "BATCH_HYPOTHESES", 15)
        found = batches(asked, config, n_workers, mixes_lengths=mixes_lengths)
        again = batches(asked[::-1], config, n_workers, mixes_lengths=mixes_lengths)
    assert found == again
    assert sorted(request for batch in found for request in batch) == sorted(set(asked))
    for batch in found:
        (n_phrase_tokens,) = {request.n_phrase_tokens for request in batch}
        assert len(batch) == 1 or len(batch) * beam_size * (n_phrase_tokens + 1) <= 15
        assert mixes_lengths or len({len(request.ids) for request in batch}) == 1


@st.composite
def requests_of_any_length(draw: st.DrawFn, longest: int) -> list[Request]:
    """Up to 700 requests, shortest first; lists of hypothesis would nearly always be short."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    n, limit = draw(st.integers(0, 700)), draw(st.integers(1, longest))
    lengths = sorted(rng.choices(range(1, limit + 1), k=n))
    return [Request((5,) * length, 9 + i) for i, length in enumerate(lengths)]


@given(requests_of_any_length(60), st.integers(1, 9), st.integers(1, 4))
def test_every_worker_has_its_share_of_the_batches(asked: list[Request], beam_size: int, n_workers: int) -> None:
    found = batches(asked, SearchConfig(beam_size=beam_size), n_workers)
    assert [request for batch in found for request in batch] == asked
    sizes = [sum(len(request.ids) + 1 for request in batch) for batch in found]
    for batch in found:
        assert len(batch) <= 512 // beam_size
        assert len(batch) == 1 or len(batch) * (len(batch[-1].ids) + 1) <= 8192
    share = max(256, sum(sizes) / n_workers)
    assert max(sizes, default=0) <= share + 60 + 1


@given(requests_of_any_length(20), st.integers(1, 9))
def test_an_engine_that_does_not_mix_lengths_gets_batches_of_one_length(asked: list[Request], beam_size: int) -> None:
    found = batches(asked, SearchConfig(beam_size=beam_size), 2, mixes_lengths=False)
    assert [request for batch in found for request in batch] == asked
    assert all(len({len(request.ids) for request in batch}) == 1 for batch in found)
    assert (
        len(found)
        <= len({request.ids for request in asked})
        + 2
        + sum(len(request.ids) + 1 for request in asked) // 256
        + beam_size * len(asked) // 256
    )


@given(REQUESTS, st.integers(0, 9))
def test_answers_are_in_the_order_of_the_requests(asked: list[Request], seed: int) -> None:
    own = batches(asked, SearchConfig(), 2)
    random.Random(seed).shuffle(own)
    said = [[[Hypothesis(list(request.ids), -1.0, -1.0)] for request in batch] for batch in own]
    assert [h.tokens for (h,) in answers(asked, own, said)] == [list(request.ids) for request in asked]


def test_the_text_pipeline_imports_no_torch() -> None:
    program = "import sys, translate.inference.translator, translate.commands.text; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=100).returncode == 0
