"""A corpus has the same bytes whatever the number of workers and the parts in which it is read."""

import shutil
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.corpus.test_cluster import PAIRS, TEST, everything, experiment
from translate.corpus import stages
from translate.corpus.prepare import prepare
from translate.corpus.sources import Pair, describe
from translate.corpus.stages import Recipe
from translate.corpus.tokenizer import TextSize, Tokenizer
from translate.errors import UserError


@given(
    sources=st.lists(st.lists(st.sampled_from(PAIRS), max_size=23), min_size=1, max_size=3),
    chunk=st.integers(1, 9),
    duplicates=st.booleans(),
)
def test_parts_of_any_size_give_the_pairs_of_whole_sources(
    tmp_path_factory: pytest.TempPathFactory, sources: list[list[Pair]], chunk: int, duplicates: bool
) -> None:
    root = tmp_path_factory.mktemp("corpus")
    recipe = Recipe.of(experiment(root, sources, duplicates=duplicates), TEST, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "CHUNK", chunk)
        found = stages.clean(recipe, root)
    cleaner, augmenter = recipe.cleaner(), recipe.augmenter()
    pairs = [
        [*augmenter(cleaner.clean(recipe.read(source), describe(source), keep_identical=source.keep_identical))]
        for source in recipe.sources
    ]
    assert found.report.as_dict() == cleaner.report.as_dict()
    assert found.counts == [*map(len, pairs)]
    assert (found.added, found.refused) == (augmenter.added, augmenter.refused)
    assert [*found.sample(10**6)] == [*chain.from_iterable(chain.from_iterable(pairs))]
    assert found.size == TextSize.of((root / "train.jsonl").read_bytes())


def many(n: int) -> list[Pair]:
    """Different pairs, with names, numbers and whole sentences among them, and some twice."""
    return [(f"{de} {i % (n - 2)}", f"{en} {i % (n - 2)}") if i % 3 else (de, en) for i in range(n) for de, en in PAIRS]


@pytest.fixture
def two_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sequence[Sequence[Pair]]:
    monkeypatch.setattr(stages, "CHUNK", 8)
    return many(5), many(3)


def test_any_number_of_workers_gives_the_same_corpus(
    two_sources: Sequence[Sequence[Pair]], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    recipe = Recipe.of(experiment(tmp_path, two_sources), TEST, 3)
    alone, shared = (everything(stages.clean(recipe, tmp_path, n_workers=n), tokenizer) for n in (0, 2))
    assert shared == alone


@pytest.fixture
def workers_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make workers start for a corpus of any size."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(stages, "SMALL", 1)


def test_a_broken_line_is_named_as_in_one_process(
    two_sources: Sequence[Sequence[Pair]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its part is read while workers are busy with those before."""
    config = experiment(tmp_path, two_sources)
    with (tmp_path / "train1.en").open("ab") as file:
        file.write(b"\xff\n")
    sentences = []
    for n in range(2):
        if n:
            request.getfixturevalue("workers_pay")
        with pytest.raises(UserError) as caught:
            prepare(config, tmp_path / "out", lambda _: None)
        sentences.append(str(caught.value))
        assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert sentences[0] == sentences[1]
    assert "train1.en, line 28" in sentences[0]


@pytest.mark.usefixtures("workers_pay")
def test_a_lost_worker_leaves_no_corpus(
    two_sources: Sequence[Sequence[Pair]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))  # which ends at once
    with pytest.raises(UserError, match="a worker process was lost"):
        prepare(experiment(tmp_path, two_sources), tmp_path / "out", lambda _: None)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
