"""The search of this project, in PyTorch, as an engine."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from transformer.config import Attention, Hypotheses, Request, SearchConfig, TokenIds
from translate.errors import UserError
from translate.inference.search import answers, batches, into_batches, side_by_side
from translate.models.folder import ModelFolder, not_finite

if TYPE_CHECKING:
    from transformer.search.alternatives import Alternatives

TorchPrecision = Literal["fp32", "bf16"]

_MAX_WORKERS = 4  # more would wait for each other in Python
_FEW_TOKENS = 128  # below this, one thread may be faster than all
_TRIALS = 3  # products per measurement
_MAX_AGE_S = 1.0  # a measurement is repeated after this time
_PAIRED_TOKENS = 1024  # of a side, padded, in a batch of given pairs; each has a score for the whole vocabulary


class TorchEngine:
    """The search of this project, in PyTorch.

    Args:
        model_folder: the open model folder.
        precision: "fp32", or "bf16" for a copy of the model in bf16; softmax and scores stay in float32.
        others: more folders with the same vocabulary and languages, for an ensemble; decoding is that of the first.
            UserError if vocabularies or languages differ.

    Attributes:
        models: the networks.
    """

    def __init__(
        self, model_folder: ModelFolder, precision: TorchPrecision = "fp32", others: Sequence[ModelFolder] = ()
    ) -> None:
        _require_alike(model_folder, others)
        model_folder, *others = (_in_precision(folder, precision) for folder in (model_folder, *others))
        self.model_folder, self.models = model_folder, [folder.model for folder in (model_folder, *others)]
        self.folder, self.tokenizer, self.spec = model_folder.folder, model_folder.tokenizer, model_folder.spec
        self.max_positions = min(filter(None, (model.config.max_positions for model in self.models)), default=None)
        self.mixes_lengths = True
        self.precision: TorchPrecision = precision
        self._on_cpu = model_folder.model.device.type == "cpu"
        self._fastest = (float("-inf"), 0, 0)  # time of the measurement, threads available, threads chosen

    @property
    def can_align(self) -> bool:
        """True: no layer need be chosen."""
        return True

    def search(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the n best hypotheses of each request; see `Engine.search`.

        On a CPU one batch per thread: a decoding step is too small to be divided among threads.
        """
        import torch

        search = partial(self.search_batch, config=config)
        if not self._on_cpu:
            own = batches(requests, config, 1)
            return answers(requests, own, map(search, own))
        with _restored_threads() as n_threads:
            own = batches(requests, config, max(1, min(_MAX_WORKERS, n_threads)))
            n_workers = max(1, min(_MAX_WORKERS, n_threads, len(own)))
            n_tokens = sum(len(request.ids) for batch in own for request in batch)
            is_small = n_workers == 1 and n_tokens <= _FEW_TOKENS
            n_each = self._faster(n_threads) if is_small else n_threads // n_workers
            if n_workers > 1:
                set_threads = partial(torch.set_num_threads, n_each)
                found = side_by_side(search, own, lambda request: len(request.ids), n_workers, set_threads)
                return answers(requests, own, found)
            torch.set_num_threads(n_each)
            return answers(requests, own, map(search, own))

    def search_batch(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the n best hypotheses of each request of one batch; see `Engine.search_batch`."""
        from transformer.search.model_step import search

        if not config.coverage:
            return search(self.models, requests, config)
        from transformer.search.coverage import with_coverage

        # All finished hypotheses are ranked: an earlier stop would miss some that cover more.
        found = search(self.models, requests, replace(config, n_best=config.beam_size))
        ranked = with_coverage(self.models, [request.ids for request in requests], found, config.coverage)
        return [hypotheses[: config.n_best] for hypotheses in ranked]

    def alternatives(
        self, requests: Sequence[Request], outputs: TokenIds, n: int, config: SearchConfig
    ) -> "list[list[Alternatives]]":
        """Return the n most probable other tokens at each position of each output of one batch, eos included.

        Args:
            outputs: token ids without eos.
        """
        import torch

        from transformer.search.alternatives import token_alternatives
        from transformer.search.model_step import request_step

        model = self.models[0]
        with torch.inference_mode():
            step = request_step(self.models, requests, config.no_repeat)
            ends = replace(config, bos=model.config.bos, eos=model.config.eos)
            return token_alternatives(step, outputs, n, ends, device=model.device)

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

    def align(self, sources: TokenIds, targets: TokenIds) -> list[Attention]:
        """Return the attention of all layers, weighted by their sharpness; see `Engine.align`."""
        from transformer.search.alignment import cross_attention

        found: list[Attention] = [[] for _ in sources]
        for batch in _batches_of_pairs(sources, targets):
            weights = cross_attention(
                self.model_folder.model, *([side[i] for i in batch] for side in (sources, targets))
            )
            for i, weights_TS in zip(batch, weights, strict=True):
                found[i] = weights_TS.tolist()
        return found

    def score(self, sources: TokenIds, targets: TokenIds) -> list[float]:
        """Return the natural log-probability of each target and of eos, given its source; the ids are without eos."""
        return list(map(sum, token_log_probs(self.model_folder, sources, targets)))


def _in_precision(model_folder: ModelFolder, precision: TorchPrecision) -> ModelFolder:
    if precision == "fp32" or model_folder.model.is_packed:
        return model_folder
    model = deepcopy(model_folder.model).bfloat16()
    model.pack()
    return replace(model_folder, model=model)


def _require_alike(first: ModelFolder, others: Sequence[ModelFolder]) -> None:
    """Raise UserError unless the members of an ensemble have one vocabulary and the same languages."""
    for member in others:
        if member.tokenizer.serialized != first.tokenizer.serialized:
            raise UserError(
                f"{member.folder}: has another vocabulary than {first.folder}; an ensemble needs models that share a "
                "tokenizer"
            )
        one, other = ((spec.source, spec.target) for spec in (first.spec, member.spec))
        if one != other:
            raise UserError(
                f"{member.folder}: translates from {other[0]} to {other[1]}, and {first.folder} from {one[0]} to "
                f"{one[1]}; an ensemble needs models for the same languages"
            )


def token_log_probs(model_folder: ModelFolder, sources: TokenIds, references: TokenIds) -> list[list[float]]:
    """Return the log-probability of each token of each reference and of eos; none for a pair of blank lines.

    The ids are without eos. UserError if a probability is not finite.
    """
    from transformer.search.scoring import score_ids

    log_probs: list[list[float]] = [[] for _ in sources]
    for batch in _batches_of_pairs(sources, references):
        found = score_ids(model_folder.model, [sources[i] for i in batch], [references[i] for i in batch])
        for i, values in zip(batch, found, strict=True):
            if not all(map(math.isfinite, values)):
                raise not_finite(model_folder.folder)
            log_probs[i] = values
    return log_probs


def _batches_of_pairs(sources: TokenIds, targets: TokenIds) -> list[list[int]]:
    """Return batches of the indices of pairs of similar lengths, without those of which both sides are empty."""
    lengths = [max(map(len, pair)) for pair in zip(sources, targets, strict=True)]
    filled = sorted((i for i, length in enumerate(lengths) if length), key=lengths.__getitem__)
    return into_batches(filled, lengths.__getitem__, _PAIRED_TOKENS)


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
