"""What searches for translations of token ids: PyTorch here, or another engine behind the same signature.

The text around it (`translator`) knows nothing else of the model, and so needs no torch for an engine that
needs none.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Literal, Protocol

from transformer.search.hypothesis import Hypothesis, SearchConfig
from translate.corpus.tokenizer import Tokenizer
from translate.models.folder import ModelFolder, TranslationSpec

if TYPE_CHECKING:  # which needs torch
    from transformer.model import Transformer

Precision = Literal["fp32", "bf16"]
Batch = list[tuple[int, ...]]  # token ids of sources
Found = list[list[Hypothesis]]
Search = Callable[[Batch], Found]

_MOST_WORKERS = 4  # more would wait for one another in Python
_FEW_TOKENS = 128  # their products are divided among threads only where that is faster just then
_TRIALS = 3  # products that tell
_FRESH_S = 1.0  # for so long they are believed


class Engine(Protocol):
    """A model folder that can be searched."""

    @property
    def folder(self) -> Path:
        """Where the model is."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Text to ids and back."""

    @property
    def spec(self) -> TranslationSpec:
        """Languages and decoding."""

    @property
    def max_positions(self) -> int | None:
        """Tokens, ends included, that either side may have; None where there is no limit."""

    @property
    def n_workers(self) -> int:
        """How many batches are searched at a time."""

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """The results of a search, which calls `search`, for each batch; several at a time where that is faster."""

    def search(
        self, sources: Sequence[Sequence[int]], max_lengths: Sequence[int], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """The n_best hypotheses of each source of one batch, best first; see `translate_ids`.

        A hypothesis of source i has at most max_lengths[i] tokens, eos included.
        A sentence of which the model has no finite probabilities has no hypotheses.
        """


def side_by_side(
    search: Search, batches: Sequence[Batch], n_workers: int, begin: Callable[[], None] | None = None
) -> list[Found]:
    """The results of each batch by so many threads, which call `begin` first.

    The last batches have the longest sentences; they come first, so that no thread is left with one alone.
    """
    with ThreadPoolExecutor(n_workers, initializer=begin) as pool:
        return list(pool.map(search, reversed(batches)))[::-1]


class _Borrowed:
    """How many searches are under way in this process, and the number of threads that it had before the first."""

    lock = Lock()
    n_searches = 0
    n_threads = 0


@contextmanager
def _borrowed_threads() -> Iterator[int]:
    """The number of torch's threads, which may be set meanwhile: the last search to end puts it back.

    Part of what a thread sets holds for all, so that searches that overlap must not take one another's for the usual.
    """
    import torch

    with _Borrowed.lock:
        if not _Borrowed.n_searches:
            _Borrowed.n_threads = torch.get_num_threads()
        _Borrowed.n_searches += 1
    try:
        yield _Borrowed.n_threads
    finally:
        with _Borrowed.lock:
            _Borrowed.n_searches -= 1
            if not _Borrowed.n_searches:
                torch.set_num_threads(_Borrowed.n_threads)


def _in_bf16(model: "Transformer") -> "Transformer":
    if model.is_packed:
        return model
    copy = deepcopy(model).bfloat16()
    copy.pack()
    return copy


class TorchEngine:
    """A model folder searched by this project's own code.

    Args:
        parts: the model folder, open.
        precision: "fp32", or "bf16" for all but softmax and scores, with a copy of the model.
    """

    def __init__(self, parts: ModelFolder, precision: Precision = "fp32") -> None:
        self.parts = parts if precision == "fp32" else replace(parts, model=_in_bf16(parts.model))
        self._on_cpu = parts.model.output_weight.device.type == "cpu"
        self._fastest = (float("-inf"), 0, 0)  # when it was found out, among how many threads, and how many it was

    @property
    def folder(self) -> Path:
        """Where the model is."""
        return self.parts.folder

    @property
    def tokenizer(self) -> Tokenizer:
        """Text to ids and back."""
        return self.parts.tokenizer

    @property
    def spec(self) -> TranslationSpec:
        """Languages and decoding."""
        return self.parts.spec

    @property
    def max_positions(self) -> int | None:
        """All that were learned (table 3, row E); sinusoids have no end."""
        config = self.parts.model.config
        return config.max_length if config.positions == "learned" else None

    @property
    def n_workers(self) -> int:
        """On a CPU every thread has a batch: a step is too small to be divided."""
        import torch

        return min(_MOST_WORKERS, torch.get_num_threads()) if self._on_cpu else 1

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """The results for each batch, by as many threads for each as are faster."""
        import torch

        if not self._on_cpu:
            return [search(batch) for batch in batches]
        with _borrowed_threads() as n_threads:
            n_workers = max(1, min(_MOST_WORKERS, n_threads, len(batches)))
            n_tokens = sum(len(ids) for batch in batches for ids in batch)
            little = n_workers == 1 and n_tokens <= _FEW_TOKENS
            begin = partial(torch.set_num_threads, self._faster(n_threads) if little else n_threads // n_workers)
            if n_workers > 1:
                return side_by_side(search, batches, n_workers, begin)
            begin()
            return [search(batch) for batch in batches]

    def _faster(self, n_threads: int) -> int:
        """All threads or one, whichever multiplies one state with the output matrix in less time just now.

        Threads wait for one another at every product. Where they have a core each, a sentence takes two thirds of the
        time; where another process has one of the cores, it took 15 times as long.
        """
        if n_threads == 1:
            return 1
        found, of, fastest = self._fastest
        if of != n_threads or perf_counter() - found > _FRESH_S:
            fastest = min((n_threads, 1), key=self._seconds)
            self._fastest = (perf_counter(), n_threads, fastest)
        return fastest

    def _seconds(self, n_threads: int) -> float:
        """What some products take with so many threads."""
        import torch

        torch.set_num_threads(n_threads)
        model = self.parts.model
        with torch.inference_mode():
            model.logits(model.output_weight[:1])  # the threads start
            begin = perf_counter()
            for _ in range(_TRIALS):
                model.logits(model.output_weight[:1])
        return perf_counter() - begin

    def search(
        self, sources: Sequence[Sequence[int]], max_lengths: Sequence[int], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """The n_best hypotheses of each source, best first."""
        from transformer.search.model_step import translate_ids

        return translate_ids(self.parts.model, sources, config, max_lengths=max_lengths)
