"""Search engines: they translate token ids, with PyTorch or with another engine behind the same interface.

`translator` handles the text and knows models only through `Engine`, so it does not import torch itself.
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
from typing import Literal, Protocol

from transformer.search.hypothesis import Hypothesis, SearchConfig
from translate.corpus.tokenizer import Tokenizer
from translate.models.folder import ModelFolder, TranslationSpec

Precision = Literal["fp32", "bf16"]
Sources = Sequence[Sequence[int]]  # token ids of each source, without eos
Batch = list[tuple[int, ...]]  # sources that are searched together
Found = list[list[Hypothesis]]  # of each source, best first
Search = Callable[[Batch], Found]

_MAX_WORKERS = 4  # more would wait for each other in Python
_FEW_TOKENS = 128  # below this, one thread may be faster than all
_TRIALS = 3  # products per measurement
_MAX_AGE_S = 1.0  # a measurement is repeated after this time


class Engine(Protocol):
    """A model folder and a search.

    Attributes:
        folder: path of the model folder.
        tokenizer: text to ids and back.
        spec: languages and decoding.
        max_positions: maximum number of tokens of a source or a translation, ends included; None if there is no limit.
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int | None

    @property
    def n_workers(self) -> int:
        """Number of batches that are searched at a time."""

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """Return `search(batch)` for each batch, several at a time where that is faster."""

    def search(self, sources: Sources, max_lengths: Sequence[int], config: SearchConfig) -> Found:
        """Return the n best hypotheses of each source of one batch, best first; none if probabilities are not finite.

        Args:
            sources: token ids of each source, without eos.
            max_lengths: maximum number of tokens of each translation, eos included.
            config: the settings of the search; bos and eos are those of the model.
        """


class Scorer(Protocol):
    """A model folder that scores given translations.

    Attributes:
        folder, tokenizer, spec, max_positions: as of an engine.
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int | None

    def score(self, sources: Sources, targets: Sources) -> list[float]:
        """Return the natural log-probability of each target given its source, eos included.

        Args:
            sources, targets: token ids of each pair, without eos.
        """


def side_by_side(
    search: Search, batches: Sequence[Batch], n_workers: int, initializer: Callable[[], None] | None = None
) -> list[Found]:
    """Return `search(batch)` for each batch, computed in `n_workers` threads.

    Args:
        search: called once per batch.
        batches: token ids. The batches with the most tokens start first, so that all threads end at about the same
            time.
        n_workers: number of threads.
        initializer: called first in each thread.
    """
    order = sorted(range(len(batches)), key=lambda i: -sum(map(len, batches[i])))
    with ThreadPoolExecutor(n_workers, initializer=initializer) as pool:
        found = dict(zip(order, pool.map(search, [batches[i] for i in order]), strict=True))
    return [found[i] for i in range(len(batches))]


class _Searches:
    """Number of searches in progress in this process, and its number of torch threads before the first of them."""

    lock = Lock()
    n_running = 0
    n_threads = 0


@contextmanager
def _restored_threads() -> Iterator[int]:
    """Yield the process's number of torch threads; the last search to end restores it.

    `torch.set_num_threads` is partly global: overlapping searches must not restore each other's setting.
    """
    import torch

    with _Searches.lock:
        if not _Searches.n_running:
            _Searches.n_threads = torch.get_num_threads()
        _Searches.n_running += 1
    try:
        yield _Searches.n_threads
    finally:
        with _Searches.lock:
            _Searches.n_running -= 1
            if not _Searches.n_running:
                torch.set_num_threads(_Searches.n_threads)


def max_positions(model_folder: ModelFolder) -> int | None:
    """Return the number of learned positions of a model (table 3, row E); None for sinusoids."""
    config = model_folder.model.config
    return config.max_length if config.positions == "learned" else None


class TorchEngine:
    """The search of this project, in PyTorch.

    Args:
        model_folder: the open model folder.
        precision: "fp32", or "bf16" for a copy of the model in bf16; softmax and scores stay in float32.
    """

    def __init__(self, model_folder: ModelFolder, precision: Precision = "fp32") -> None:
        if precision == "bf16" and not model_folder.model.is_packed:
            model = deepcopy(model_folder.model).bfloat16()
            model.pack()
            model_folder = replace(model_folder, model=model)
        self.model_folder = model_folder
        self.folder, self.tokenizer, self.spec = model_folder.folder, model_folder.tokenizer, model_folder.spec
        self.max_positions = max_positions(model_folder)
        self.precision: Precision = precision
        self._on_cpu = model_folder.model.device.type == "cpu"
        self._fastest = (float("-inf"), 0, 0)  # time of the measurement, threads available, threads chosen

    @property
    def n_workers(self) -> int:
        """On a CPU one batch per thread: a decoding step is too small to be divided among threads."""
        import torch

        return min(_MAX_WORKERS, torch.get_num_threads()) if self._on_cpu else 1

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """Return `search(batch)` for each batch."""
        import torch

        if not self._on_cpu:
            return [search(batch) for batch in batches]
        with _restored_threads() as n_threads:
            n_workers = max(1, min(_MAX_WORKERS, n_threads, len(batches)))
            n_tokens = sum(len(ids) for batch in batches for ids in batch)
            is_small = n_workers == 1 and n_tokens <= _FEW_TOKENS
            n_each = self._faster(n_threads) if is_small else n_threads // n_workers
            if n_workers > 1:
                return side_by_side(search, batches, n_workers, partial(torch.set_num_threads, n_each))
            torch.set_num_threads(n_each)
            return [search(batch) for batch in batches]

    def _faster(self, n_threads: int) -> int:
        """Return `n_threads` or 1, whichever is faster now; it is measured on products with the output matrix.

        Threads wait for each other in every product. With a core for each thread, a sentence takes two thirds of the
        time; with one of the cores busy with another process, it took 15 times as long.
        """
        if n_threads == 1:
            return 1
        measured, available, fastest = self._fastest
        if available != n_threads or perf_counter() - measured > _MAX_AGE_S:
            fastest = min((n_threads, 1), key=self._seconds)
            self._fastest = (perf_counter(), n_threads, fastest)
        return fastest

    def _seconds(self, n_threads: int) -> float:
        """Return the seconds for `_TRIALS` matrix products on `n_threads` threads."""
        import torch

        torch.set_num_threads(n_threads)
        model = self.model_folder.model
        with torch.inference_mode():
            model.logits(model.output_weight[:1])  # starts the threads
            begin = perf_counter()
            for _ in range(_TRIALS):
                model.logits(model.output_weight[:1])
        return perf_counter() - begin

    def search(self, sources: Sources, max_lengths: Sequence[int], config: SearchConfig) -> Found:
        """Return the n best hypotheses of each source, best first.

        Args:
            sources, max_lengths, config: as for `Engine.search`.
        """
        from transformer.search.model_step import translate_ids

        return translate_ids(self.model_folder.model, sources, config, max_lengths=max_lengths)

    def score(self, sources: Sources, targets: Sources) -> list[float]:
        """Return the natural log-probability of each target; see `Scorer.score`."""
        from translate.inference.scoring import token_log_probs

        return list(map(sum, token_log_probs(self.model_folder, sources, targets)))
