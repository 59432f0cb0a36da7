"""Search engines: they translate token ids, with PyTorch or with CTranslate2 behind the same interface.

A translator handles the text and knows models only through `Engine`. PyTorch is imported for `TorchEngine` alone, and
CTranslate2 for `CTranslate2Engine` alone; `open_engine` chooses between them.
"""

import ctypes
import math
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any, Literal, Protocol, TypeVar

from transformer.config import ModelConfig, load_config
from transformer.search.hypothesis import Hypothesis, SearchConfig
from translate import files
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError, optional_package, reason
from translate.machine import bf16_pays, choose_device, n_cores
from translate.models import cache
from translate.models.folder import (
    CTRANSLATE2_FILE,
    ModelFolder,
    TranslationSpec,
    Weights,
    check_tokenizer,
    check_vocabulary,
    not_finite,
)
from translate.text.translation import DEFAULT_OPTIONS, Precision, TranslationOptions

LIMIT = 1024  # tokens of a source sentence, eos included, if the model has no lower limit

T = TypeVar("T")
R = TypeVar("R")
TorchPrecision = Literal["fp32", "bf16"]
ComputeType = Literal["float32", "int8", "default"]  # of CTranslate2
Sources = Sequence[Sequence[int]]  # token ids of each source, without eos
Batch = list[tuple[int, ...]]  # sources that are searched together
Found = list[list[Hypothesis]]  # of each source, best first
Search = Callable[[Batch], Found]

_MAX_WORKERS = 4  # more would wait for each other in Python
_FEW_TOKENS = 128  # below this, one thread may be faster than all
_TRIALS = 3  # products per measurement
_MAX_AGE_S = 1.0  # a measurement is repeated after this time
_SCORED_TARGETS = 1024  # padded target tokens in a batch of scores of PyTorch; each has one for the whole vocabulary

_CONVERSION = 1  # changes with the contents of converted files
_UNLOADABLE = (RuntimeError, ValueError, IndexError)  # of CTranslate2, for files that are damaged or absent
_SHORT, _TYPICAL = 8, 20  # tokens: below the first, the slope of the length penalty changes most
_SCORED_TOKENS = 512  # in one batch
_NO_PENALTY = 1e-9  # of CTranslate2, which with 0 would stop at another time

_REOPENING = Lock()  # by several threads of a process that was forked

_Output = tuple[list[str], float]  # pieces with the end token, if the output has ended, and their log-probability


class Engine(Protocol):
    """A model folder and a search.

    Attributes:
        folder: path of the model folder.
        tokenizer: text to ids and back.
        spec: languages and decoding.
        max_positions: maximum number of tokens of a source or a translation, ends included; None if there is no limit.
        mixes_lengths: whether sources of unequal lengths are searched together; if not, a batch should have one length.
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int | None
    mixes_lengths: bool

    @property
    def precision(self) -> str:
        """Type of the matrix products: int8, bf16, fp16 or fp32."""

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


def side_by_side(
    compute: Callable[[list[T]], R],
    batches: Sequence[list[T]],
    n_tokens: Callable[[T], int],
    n_workers: int,
    initializer: Callable[[], None] | None = None,
) -> list[R]:
    """Return `compute(batch)` for each batch, computed in `n_workers` threads; each first calls `initializer`.

    The batches with the most tokens start first, so that all threads end at about the same time.

    Args:
        n_tokens: returns the number of tokens of an item of a batch.
    """
    order = sorted(range(len(batches)), key=lambda i: -sum(map(n_tokens, batches[i])))
    pool = ThreadPoolExecutor(n_workers, initializer=initializer)
    try:
        found = dict(zip(order, pool.map(compute, [batches[i] for i in order]), strict=True))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, do not wait for the batches in progress
    return [found[i] for i in range(len(batches))]


def divided(
    items: Iterable[T], length: Callable[[T], int], padded: int, *, most: float = math.inf, share: float = math.inf
) -> list[list[T]]:
    """Divide items, shortest first, into batches.

    Args:
        items: in ascending order of length.
        length: number of tokens of an item, eos excluded.
        padded: maximum number of tokens of a batch, padding included, unless one item alone has more.
        most: maximum number of items of a batch.
        share: a batch with this many tokens is complete.
    """
    batches: list[list[T]] = []
    n_tokens = 0
    for item in items:
        width = length(item) + 1
        full = batches and (len(batches[-1]) == most or (len(batches[-1]) + 1) * width > padded)
        if not batches or full or n_tokens >= share:
            batches.append([])
            n_tokens = 0
        batches[-1].append(item)
        n_tokens += width
    return batches


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


class TorchEngine:
    """The search of this project, in PyTorch.

    Args:
        model_folder: the open model folder.
        precision: "fp32", or "bf16" for a copy of the model in bf16; softmax and scores stay in float32.
    """

    def __init__(self, model_folder: ModelFolder, precision: TorchPrecision = "fp32") -> None:
        if precision == "bf16" and not model_folder.model.is_packed:
            model = deepcopy(model_folder.model).bfloat16()
            model.pack()
            model_folder = replace(model_folder, model=model)
        self.model_folder = model_folder
        self.folder, self.tokenizer, self.spec = model_folder.folder, model_folder.tokenizer, model_folder.spec
        self.max_positions = model_folder.model.config.max_positions
        self.mixes_lengths = True
        self.precision: TorchPrecision = precision
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
                return side_by_side(search, batches, len, n_workers, partial(torch.set_num_threads, n_each))
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
        """Return the n best hypotheses of each source, best first; see `Engine.search`."""
        from transformer.search.model_step import translate_ids

        return translate_ids(self.model_folder.model, sources, config, max_lengths=max_lengths)

    def score(self, sources: Sources, targets: Sources) -> list[float]:
        """Return the natural log-probability of each target and of eos, given its source; the ids are without eos."""
        return list(map(sum, token_log_probs(self.model_folder, sources, targets)))


def token_log_probs(model_folder: ModelFolder, sources: Sources, references: Sources) -> list[list[float]]:
    """Return the log-probability of each token of each reference and of eos; none for a pair of blank lines.

    The ids are without eos. UserError if a probability is not finite.
    """
    from transformer.search.scoring import score_ids

    lengths = [max(map(len, pair)) for pair in zip(sources, references, strict=True)]
    filled = sorted((i for i, length in enumerate(lengths) if length), key=lengths.__getitem__)
    log_probs: list[list[float]] = [[] for _ in lengths]
    for batch in divided(filled, lengths.__getitem__, _SCORED_TARGETS):
        found = score_ids(model_folder.model, [sources[i] for i in batch], [references[i] for i in batch])
        for i, values in zip(batch, found, strict=True):
            if not all(map(math.isfinite, values)):
                raise not_finite(model_folder.folder)
            log_probs[i] = values
    return log_probs


def package() -> Any:
    """Import the package `ctranslate2`; UserError if it is missing or broken."""
    found = optional_package("ctranslate2", "ctranslate2")
    if not hasattr(found, "Translator"):  # without its compiled extension it can still be imported
        raise UserError("the package ctranslate2 is broken; install it again, or leave --engine ctranslate2 out")
    return found


@dataclass
class CTranslate2Engine:
    """A model loaded by CTranslate2, which needs no torch.

    Beam search stops as in this project: when as many hypotheses have finished as the beam is wide. CTranslate2 returns
    them with their log-probabilities, and the length penalty of the paper (6.1) is applied here. Two things differ, so
    the model scores such hypotheses again:

    - A hypothesis that reaches its maximum length lacks the log-probability of eos.
    - Where tokens are forbidden, the probabilities of the others are scaled up to a sum of 1. PyTorch's search does not
      scale them and may find another hypothesis.

    Attributes:
        folder: path of the model folder or of the CTranslate2 folder.
        tokenizer, spec, max_positions: as in `Engine`.
        translator: `ctranslate2.Translator`.
        n_workers: number of batches that are translated at the same time.
        is_converted: whether it was made of a model folder, and not of a CTranslate2 folder.
        device: where CTranslate2 computes, as in PyTorch, or "auto".
        is_forked: whether this process was forked from that which loaded `translator`.
        mixes_lengths: False: padding would change the rounding of attention, and int8 makes that visible.
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int | None
    translator: Any
    n_workers: int
    is_converted: bool = False
    device: str = "cpu"
    is_forked: bool = field(default=False, init=False)
    mixes_lengths: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if hasattr(os, "register_at_fork"):
            engine = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _after_fork(engine()))

    @classmethod
    def open(cls, folder: Path, threads: int | None = None, device: str = "auto") -> "CTranslate2Engine":
        """Load a CTranslate2 folder of `translate export`; UserError if it is damaged or foreign.

        Args:
            threads: number of batches at a time; None is one for each core.
            device: "cpu", "cuda", "cuda:1" and so on, or "auto", which is CUDA if available.
        """
        if device.partition(":")[0] not in ("auto", "cpu", "cuda"):
            raise UserError(f"CTranslate2 computes on the CPU or with CUDA, not on {device}; leave the device out")
        spec, tokenizer = _parts(folder)
        try:
            max_positions = files.read_json(folder / "config.json")["max_positions"]
            if max_positions is not None and type(max_positions) is not int:
                raise ValueError("max_positions is no number")
        except (OSError, ValueError, KeyError) as error:
            raise UserError(
                f"{folder}: its config.json is damaged or was written by another program; export it again"
            ) from error
        check_vocabulary(folder, tokenizer)
        n_workers = threads or n_cores()
        try:
            translator = load_translator(folder, n_workers, "default", device=device)
        except _UNLOADABLE as error:
            other = "" if device in ("auto", "cpu") else ", or choose another device"
            raise UserError(f"{folder}: CTranslate2 cannot load it ({error}); export it again{other}") from error
        return cls(folder, tokenizer, spec, max_positions, translator, n_workers, device=device)

    @classmethod
    def convert(
        cls, folder: Path, threads: int | None = None, compute_type: ComputeType = "float32"
    ) -> "CTranslate2Engine":
        """Load a model folder, converted now or by an earlier use; `threads` is as for `open`.

        Raises UserError if `ctranslate2` is missing or broken or has no such architecture, UserError or CheckpointError
        if the folder is damaged.
        """
        engine = package()
        spec, tokenizer = _parts(folder)
        n_positions = LIMIT + spec.decoding.max_extra
        int8 = compute_type.startswith("int8")  # stored in int8, so that loading need not quantise
        others = [str(_CONVERSION), engine.__version__, str(n_positions), "int8" if int8 else "float32"]
        key = _key(folder, others)
        n_workers = threads or n_cores()
        config, translator = load_config(folder), None
        if (entry := cache.find(key)) is not None:
            try:
                translator = load_translator(entry, n_workers, compute_type)
            except _UNLOADABLE:  # damaged, or removed meanwhile
                cache.remove(key)
        if translator is None:
            converted = _converted(folder, config, tokenizer, n_positions, int8=int8)
            if key == _key(folder, others):  # the folder was not replaced meanwhile
                cache.store(key, converted)
            try:
                translator = load_translator(folder, n_workers, compute_type, converted)
            except _UNLOADABLE as error:
                raise UserError(f"{folder}: CTranslate2 cannot load it ({error}); use --engine torch") from error
        return cls(folder, tokenizer, spec, config.max_positions, translator, n_workers, is_converted=True)

    @property
    def precision(self) -> str:
        """Type of the matrix products: int8, bf16, fp16 or fp32."""
        kind = self.translator.compute_type.partition("_")[0]  # such as int8_float32
        return {"int8": "int8", "bfloat16": "bf16", "float16": "fp16"}.get(kind, "fp32")

    def __reduce__(self) -> tuple[Callable[..., "CTranslate2Engine"], tuple[object, ...]]:
        """Pickle the way to open the engine again, as `datasets` and Ray Data ask for."""
        if self.is_converted:
            return CTranslate2Engine.convert, (self.folder, self.n_workers, self.translator.compute_type)
        return CTranslate2Engine.open, (self.folder, self.n_workers, self.device)

    def _loaded(self) -> Any:
        """The `ctranslate2.Translator` of this process, loaded again after a fork."""
        if self.is_forked:
            with _REOPENING:
                if self.is_forked:
                    open_again, arguments = self.__reduce__()
                    self.translator = open_again(*arguments).translator
                    self.is_forked = False
        return self.translator

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """Return the results of a search for each batch; `n_workers` batches run at the same time.

        One batch has a thread, too: the main thread does not hear of Ctrl-C while CTranslate2 computes.
        """
        return side_by_side(search, batches, len, self.n_workers)

    def search(self, sources: Sources, max_lengths: Sequence[int], config: SearchConfig) -> Found:
        """Return the n best hypotheses of each source, best first; see `Engine.search`."""
        (eos,) = self.tokenizer.pieces([config.eos])
        found: dict[int, list[Hypothesis]] = {}
        for (_, most), group in _equal(zip(map(len, sources), max_lengths, strict=True)):
            results = self._results([sources[i] for i in group], most, config)
            found |= {i: self._best(sources[i], own, most, config, eos) for i, own in zip(group, results, strict=True)}
        return [found[i] for i in range(len(sources))]

    def score(self, sources: Sources, targets: Sources) -> list[float]:
        """Return the log-probabilities of `TorchEngine.score`; UserError if one is not finite."""
        pieces = [[self.tokenizer.pieces(ids) for ids in side] for side in (sources, targets)]
        groups = [group for _, group in _equal(zip(*(map(len, side) for side in pieces), strict=True))]

        def log_probs(group: list[int]) -> list[float]:
            scored = self._loaded().score_batch(
                *([side[i] for i in group] for side in pieces),
                max_batch_size=_SCORED_TOKENS,
                batch_type="tokens",
                max_input_length=0,
            )
            return [math.fsum(target.log_probs) for target in scored]

        results = side_by_side(log_probs, groups, lambda i: len(pieces[0][i]) + len(pieces[1][i]), self.n_workers)
        found = dict(zip(chain(*groups), chain(*results), strict=True))
        if not all(map(math.isfinite, found.values())):
            raise not_finite(self.folder)
        return [found[i] for i in range(len(sources))]

    def _results(self, sources: Sources, limit: int, config: SearchConfig) -> list[list[_Output]]:
        """Return CTranslate2's outputs of at most limit - 1 tokens, and eos if they have ended.

        The sources have the same length.
        """
        power = _power(config, len(sources[0]) + 1)
        results = self._loaded().translate_batch(
            [self.tokenizer.pieces(ids) for ids in sources],
            beam_size=config.beam_size,
            num_hypotheses=config.beam_size,
            length_penalty=power,
            no_repeat_ngram_size=config.no_repeat,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(1, limit - 1),
            return_scores=True,
            return_end_token=True,  # so that no hypothesis has the length 0, by which the score is divided
        )
        outputs = [zip(result.hypotheses, result.scores, strict=True) for result in results]
        return [[(output, score * len(output) ** power) for output, score in several] for several in outputs]

    def _best(
        self, source: Sequence[int], result: Sequence[_Output], most: int, config: SearchConfig, eos: str
    ) -> list[Hypothesis]:
        """Return the n_best hypotheses of a result, best first; fewer if a probability is not finite."""
        finite = [pair for pair in result if math.isfinite(pair[1])]
        outputs = [output[: most - 1] if output[-1] != eos else output[:-1] for output, _ in finite]
        if finite and (config.no_repeat or any(output[-1] != eos for output, _ in finite)):
            log_probs = self._log_probs(source, outputs)
        else:
            log_probs = [log_prob for _, log_prob in finite]
        ranked = sorted(
            zip(log_probs, outputs, strict=True), key=lambda pair: -pair[0] / config.penalty(len(pair[1]) + 1)
        )
        return [config.hypothesis(self.tokenizer.ids(output), p) for p, output in ranked[: config.n_best]]

    def _log_probs(self, source: Sequence[int], targets: Sequence[Sequence[str]]) -> list[float]:
        """Return the log-probability of each target of a source, eos included."""
        pieces = self.tokenizer.pieces(source)
        scored = self._loaded().score_batch([pieces] * len(targets), targets, max_input_length=0)
        return [math.fsum(target.log_probs) for target in scored]


def _after_fork(engine: CTranslate2Engine | None) -> None:
    """Note in a new process that the translator's threads do not exist in it.

    The translator would wait for them where it is used and where it is destroyed, so it is never destroyed.
    """
    if engine is not None:
        engine.is_forked = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine.translator))


def _equal(keys: Iterable[tuple[int, int]]) -> Iterable[tuple[tuple[int, int], list[int]]]:
    """Return each distinct key with its places."""
    groups: dict[tuple[int, int], list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    return groups.items()


def _power(config: SearchConfig, n_source: int) -> float:
    """Return CTranslate2's length penalty, length^power, for a source of `n_source` tokens, eos included.

    It only decides which hypotheses are kept if more have finished than the beam is wide. The power is the slope of the
    paper's penalty on logarithmic axes: an output of typical length that is the best by that penalty is the best by
    this.
    """
    length = _SHORT / 2 if n_source < _SHORT else _TYPICAL
    slope = config.alpha * length / (5 + length)
    return {"gnmt": slope, "average": 1.0, "none": 0.0}[config.length_rule] or _NO_PENALTY


def _parts(folder: Path) -> tuple[TranslationSpec, Tokenizer]:
    """Return translation.json and the tokenizer; UserError if they do not belong together."""
    package()  # first, as the user's mistake is rather a missing package than a wrong folder
    spec = TranslationSpec.load(folder)
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    check_tokenizer(folder, tokenizer, spec)
    return spec, tokenizer


def load_translator(
    folder: Path,
    n_workers: int,
    compute_type: ComputeType,
    contents: dict[str, bytes] | None = None,
    device: str = "cpu",
) -> Any:
    """Return a `ctranslate2.Translator` of a folder or of the contents of its files.

    One batch for each thread is two to six times as fast on two cores as one batch for both. A thread of its own loads
    it: CTranslate2 limits OpenMP in the calling thread to the threads of one batch, and PyTorch there would obey.
    """
    kind, _, index = device.partition(":")
    settings = {"compute_type": compute_type, "inter_threads": n_workers, "intra_threads": 1}
    load = partial(package().Translator, str(folder), device=kind, device_index=int(index or 0), files=contents)
    with ThreadPoolExecutor(1) as loader:
        return loader.submit(load, **settings).result()


def _key(folder: Path, others: Sequence[str]) -> str:
    """Return the digest of everything that the converted files depend on."""
    try:
        digests = [files.sha256(folder / name) for name in ("model.safetensors", "config.json", "tokenizer.model")]
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {reason(error)}") from error
    return sha256(" ".join([*digests, *others]).encode()).hexdigest()


def _converted(
    folder: Path, config: ModelConfig, tokenizer: Tokenizer, n_positions: int, *, int8: bool
) -> dict[str, bytes]:
    """Return a model folder as the files of CTranslate2; UserError if that is not possible."""
    from safetensors import SafetensorError

    from translate.models.ctranslate2_files import files as ctranslate2_files
    from translate.models.ctranslate2_files import read_weights

    path = folder / "model.safetensors"
    try:
        return ctranslate2_files(config, read_weights(path), tokenizer, n_positions, int8=int8)
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"{path}: the file is damaged or truncated ({error}); copy the model again") from error


Scorer = CTranslate2Engine | TorchEngine  # both also score given translations


def open_engine(folder: Path, options: TranslationOptions = DEFAULT_OPTIONS) -> Scorer:
    """Load a model folder, or a CTranslate2 folder of `translate export`.

    CTranslate2 on CPUs; PyTorch on GPUs, for bf16, and for models that CTranslate2 cannot load. Only the options
    engine, precision, device and threads are read.

    Raises UserError or CheckpointError if the folder cannot be used, or if the engine has no such precision or device.
    """
    name, precision, device, threads = options.engine, options.precision, options.device, options.threads
    if (folder / CTRANSLATE2_FILE).is_file():
        engine = None if name == "torch" else CTranslate2Engine.open(folder, threads, device or "auto")
        if engine is None or (precision not in (None, "auto") and precision != engine.precision):
            raise UserError(f"{folder}: a CTranslate2 folder has an engine and a precision of its own; leave them out")
        return engine
    if name == "ctranslate2" and device not in (None, "cpu"):
        raise UserError(f"the engine ctranslate2 computes on the CPU, not on {device}; leave one of them out")
    if name == "ctranslate2" or (name == "auto" and precision != "bf16" and _on_cpu(device)):
        try:
            chosen = precision or ("int8" if Weights.read(folder).precision == "int8" else "fp32")
            return CTranslate2Engine.convert(folder, threads, "float32" if chosen == "fp32" else "int8")
        except UserError:  # PyTorch says better what is wrong with a folder
            if name == "ctranslate2" or precision == "int8":
                raise
    if precision == "int8":
        package()  # names the package if it is missing
        raise UserError("int8 needs CTranslate2, which computes on the CPU; leave the device out, or use bf16")
    model = ModelFolder.open(folder, choose_device(device))
    is_half = precision == "bf16" or (precision == "auto" and bf16_pays(model.model.device))
    return TorchEngine(model, "bf16" if is_half else "fp32")


def open_scorer(folder: Path, options: TranslationOptions) -> Scorer:
    """Load a model that scores given translations, as `open_engine`.

    Scores are never in bf16, whose rounding would change which sentences are flagged; so "auto", which may be bf16, is
    the precision of the stored weights.
    """
    exact: dict[Precision | None, Precision | None] = {"bf16": "fp32", "auto": None}
    return open_engine(folder, replace(options, precision=exact.get(options.precision, options.precision)))


def _on_cpu(device: str | None) -> bool:
    """Return whether the device is a CPU; torch is imported only if there is a GPU that it might use."""
    if device is not None:
        return device == "cpu"
    try:
        has_gpu = package().get_cuda_device_count() > 0
    except (UserError, RuntimeError):  # CTranslate2 is missing or broken, so PyTorch is used anyway
        return False
    return not has_gpu or choose_device().type == "cpu"
