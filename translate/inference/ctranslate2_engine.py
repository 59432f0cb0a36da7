"""CTranslate2 as an engine, which needs no PyTorch.

A model folder is converted at its first use; the converted files are kept in $XDG_CACHE_HOME/translate (by default
~/.cache/translate). An entry of this cache is a folder that is complete from the moment it has its name. Everything
there may be deleted at any time. A cache that cannot be written is no error: nothing is kept then.
"""

import ctypes
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

from transformer.config import Attention, Hypotheses, Hypothesis, Request, SearchConfig, TokenIds, load_config
from translate import files
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError, optional_package, reason
from translate.inference.search import LIMIT, answers, batches, side_by_side
from translate.machine import n_cores
from translate.models.folder import (
    CTRANSLATE2_FILE,
    TranslationSpec,
    check_vocabulary,
    ctranslate2_header,
    load_tokenizer,
    not_finite,
)

R = TypeVar("R")
ComputeType = Literal["float32", "int8", "default"]  # of CTranslate2

CACHE_BYTES = 4 * 2**30  # of all entries; those that were not used for the longest time are removed first

_UNFINISHED = ".partial-"  # of an entry that is being written or removed
_ABANDONED_AFTER = 3600  # seconds
_CONVERSION = 2  # changes with the contents of converted files
_UNLOADABLE = (RuntimeError, ValueError, IndexError)  # of CTranslate2, for files that are damaged or absent
_SHORT, _TYPICAL = 8, 20  # tokens: below the first, the slope of the length penalty changes most
_SCORED_TOKENS = 512  # in one batch
_NO_PENALTY = 1e-9  # of CTranslate2, which with 0 would stop at another time

_REOPENING = Lock()  # by several threads of a process that was forked

_Output = tuple[list[str], float]  # tokens with the end token, if the output has ended, and their log-probability


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
        replaces_unknown: whether a token that the target vocabulary lacks is written as the source token that it
            attends to most, as those who made a foreign model expect.
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
    replaces_unknown: bool = False
    is_forked: bool = field(default=False, init=False)
    mixes_lengths: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if hasattr(os, "register_at_fork"):
            engine = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _after_fork(engine()))

    @classmethod
    def open(
        cls, folder: Path, threads: int | None = None, device: str = "auto", target: str | None = None
    ) -> "CTranslate2Engine":
        """Load a CTranslate2 folder of `translate export`; UserError if it is damaged or foreign.

        Args:
            threads: number of batches at a time; None is one for each core.
            device: "cpu", "cuda", "cuda:1" and so on, or "auto", which is CUDA if available.
            target: the language to translate into, for a model of several; None is that of the folder.
        """
        if device.partition(":")[0] not in ("auto", "cpu", "cuda"):
            raise UserError(f"CTranslate2 computes on the CPU or with CUDA, not on {device}; leave the device out")
        spec, tokenizer = _parts(folder, target)
        try:
            config = files.read_json(folder / "config.json")
            is_ours = "max_positions" in config
            max_positions = config["max_positions"] if is_ours else _n_positions(folder)
            if max_positions is not None and type(max_positions) is not int:
                raise ValueError("max_positions is no number")
        except (OSError, ValueError) as error:
            raise UserError(f"{folder}: its config.json is missing or damaged; export it again") from error
        check_vocabulary(folder, tokenizer, is_ours=is_ours)
        n_workers = threads or n_cores()
        try:
            translator = _load(folder, n_workers, "default", device)
        except _UNLOADABLE as error:
            other = "" if device in ("auto", "cpu") else ", or choose another device"
            raise UserError(f"{folder}: CTranslate2 cannot load it ({error}); export it again{other}") from error
        return cls(
            folder, tokenizer, spec, max_positions, translator, n_workers, device=device, replaces_unknown=not is_ours
        )

    @classmethod
    def convert(
        cls,
        folder: Path,
        threads: int | None = None,
        compute_type: ComputeType = "float32",
        target: str | None = None,
    ) -> "CTranslate2Engine":
        """Load a model folder, converted now or by an earlier use; `threads` and `target` are as for `open`.

        Raises UserError if `ctranslate2` is missing or broken or has no such architecture, UserError or CheckpointError
        if the folder is damaged.
        """
        engine = package()
        spec, tokenizer = _parts(folder, target)
        n_positions = LIMIT + spec.decoding.max_extra
        int8 = compute_type.startswith("int8")  # stored in int8, so that loading need not quantise
        precision = "int8" if int8 else "float32"
        others = [*map(str, (_CONVERSION, engine.__version__, n_positions, precision, spec.alignment_layer))]
        n_workers = threads or n_cores()
        config = load_config(folder)
        try:
            translator = cached(
                lambda: _digest(folder, others),
                lambda entry: _convert(folder, entry, n_positions, int8=int8),
                lambda entry: _load(entry, n_workers, compute_type),
            )
        except OSError as error:
            raise UserError(
                f"{folder}: its form for CTranslate2 cannot be written: {reason(error)}; use --engine torch"
            ) from error
        except _UNLOADABLE as error:
            raise UserError(f"{folder}: CTranslate2 cannot load it ({error}); use --engine torch") from error
        return cls(folder, tokenizer, spec, config.max_positions, translator, n_workers, is_converted=True)

    @property
    def can_align(self) -> bool:
        """Whether the files have an alignment layer, which those of an earlier `translate export` have not."""
        return self.is_converted or self.spec.alignment_layer is not None

    @property
    def precision(self) -> str:
        """Type of the matrix products: int8, bf16, fp16 or fp32."""
        kind = self.translator.compute_type.partition("_")[0]  # such as int8_float32
        return {"int8": "int8", "bfloat16": "bf16", "float16": "fp16"}.get(kind, "fp32")

    def __reduce__(self) -> tuple[Callable[..., "CTranslate2Engine"], tuple[object, ...]]:
        """Pickle the way to open the engine again, as `datasets` and Ray Data ask for."""
        if self.is_converted:
            kind = self.translator.compute_type
            return CTranslate2Engine.convert, (self.folder, self.n_workers, kind, self.spec.target)
        return CTranslate2Engine.open, (self.folder, self.n_workers, self.device, self.spec.target)

    def _loaded(self) -> Any:
        """The `ctranslate2.Translator` of this process, loaded again after a fork."""
        if self.is_forked:
            with _REOPENING:
                if self.is_forked:
                    open_again, arguments = self.__reduce__()
                    self.translator = open_again(*arguments).translator
                    self.is_forked = False
        return self.translator

    def search(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the n best hypotheses of each request; `n_workers` batches run at the same time.

        One batch has a thread, too: the main thread does not hear of Ctrl-C while CTranslate2 computes.
        """
        divided = batches(requests, config, self.n_workers, mixes_lengths=False)
        search = partial(self.search_batch, config=config)
        found = side_by_side(search, divided, lambda request: len(request.ids), self.n_workers)
        return answers(requests, divided, found)

    def search_batch(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the n best hypotheses of each request of one batch; see `Engine.search_batch`."""
        if config.sampling or config.coverage or any(request.prefix or request.phrases for request in requests):
            raise UserError(
                "the engine ctranslate2 has no sampling, coverage penalty, prefixes or required terms; use the engine "
                "torch"
            )
        (eos,) = self.tokenizer.tokens([config.eos])
        found: dict[int, list[Hypothesis]] = {}
        for (_, max_length), group in _grouped((len(request.ids), request.max_length) for request in requests):
            several = self._outputs([requests[i].ids for i in group], max_length, config)
            found |= {
                i: self._best(requests[i].ids, outputs, max_length, config, eos)
                for i, outputs in zip(group, several, strict=True)
            }
        return [found[i] for i in range(len(requests))]

    def _outputs(self, sources: TokenIds, max_length: int, config: SearchConfig) -> list[list[_Output]]:
        """Return CTranslate2's outputs for each source: at most max_length - 1 tokens, and eos if they have ended.

        The sources have the same length.
        """
        power = _power(config, len(sources[0]) + 1)
        results = self._loaded().translate_batch(
            [self.tokenizer.tokens(ids) for ids in sources],
            beam_size=config.beam_size,
            num_hypotheses=config.beam_size,
            length_penalty=power,
            no_repeat_ngram_size=config.no_repeat,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(1, max_length - 1),
            return_scores=True,
            replace_unknowns=self.replaces_unknown,
            return_end_token=True,  # so that no hypothesis has the length 0, by which the score is divided
        )
        scored = [zip(result.hypotheses, result.scores, strict=True) for result in results]
        # Log-probabilities again: CTranslate2 divided them by the power of the length.
        return [[(tokens, score * len(tokens) ** power) for tokens, score in several] for several in scored]

    def _best(
        self, source: Sequence[int], outputs: Sequence[_Output], max_length: int, config: SearchConfig, eos: str
    ) -> list[Hypothesis]:
        """Return the n_best hypotheses of a source, best first; fewer if a probability is not finite."""
        finite = [(tokens, log_prob) for tokens, log_prob in outputs if math.isfinite(log_prob)]
        targets = [tokens[:-1] if tokens[-1] == eos else tokens[: max_length - 1] for tokens, _ in finite]
        if finite and (config.no_repeat or any(tokens[-1] != eos for tokens, _ in finite)):
            log_probs = self._log_probs(source, targets)
        else:
            log_probs = [log_prob for _, log_prob in finite]
        ranked = sorted(
            zip(log_probs, targets, strict=True), key=lambda pair: -pair[0] / config.penalty(len(pair[1]) + 1)
        )
        return [config.hypothesis(self.tokenizer.ids(target), p) for p, target in ranked[: config.n_best]]

    def _log_probs(self, source: Sequence[int], targets: Sequence[Sequence[str]]) -> list[float]:
        """Return the log-probability of each target of a source, eos included."""
        tokens = self.tokenizer.tokens(source)
        scored = self._loaded().score_batch([tokens] * len(targets), targets, max_input_length=0)
        return [math.fsum(target.log_probs) for target in scored]

    def score(self, sources: TokenIds, targets: TokenIds) -> list[float]:
        """Return the log-probabilities of `TorchEngine.score`; UserError if one is not finite."""

        def log_probs(sources: list[list[str]], targets: list[list[str]]) -> list[float]:
            scored = self._loaded().score_batch(
                sources, targets, max_batch_size=_SCORED_TOKENS, batch_type="tokens", max_input_length=0
            )
            return [math.fsum(target.log_probs) for target in scored]

        found = self._in_groups(log_probs, sources, targets)
        if not all(map(math.isfinite, found)):
            raise not_finite(self.folder)
        return found

    def align(self, sources: TokenIds, targets: TokenIds) -> list[Attention]:
        """Return the attention of the alignment layer, the mean of its heads; see `Engine.align`.

        CTranslate2 returns it while it is forced to give the targets. UserError for a folder of an earlier
        `translate export`, which has no such layer.
        """
        if not self.can_align:
            raise UserError(f"{self.folder}: was exported without a layer for alignments; export it again")

        def attention(sources: list[list[str]], targets: list[list[str]]) -> list[Attention]:
            found = self._loaded().translate_batch(
                sources,
                target_prefix=targets,
                beam_size=1,
                max_input_length=0,
                max_decoding_length=max(1, len(targets[0])),
                return_attention=True,
            )
            n_target, n_source = len(targets[0]), len(sources[0])  # eos follows, and a token after an empty target
            return [[row[:n_source] for row in result.attention[0][:n_target]] for result in found]

        return self._in_groups(attention, sources, targets)

    def _in_groups(
        self, compute: Callable[[list[list[str]], list[list[str]]], list[R]], sources: TokenIds, targets: TokenIds
    ) -> list[R]:
        """Return the results of `compute` for pairs of tokens, which all have the same lengths in one call."""
        tokens = [[self.tokenizer.tokens(ids) for ids in side] for side in (sources, targets)]
        groups = [group for _, group in _grouped(zip(*(map(len, side) for side in tokens), strict=True))]
        results = side_by_side(
            lambda group: compute(*([side[i] for i in group] for side in tokens)),
            groups,
            lambda i: len(tokens[0][i]) + len(tokens[1][i]),
            self.n_workers,
        )
        found = dict(zip(chain(*groups), chain(*results), strict=True))
        return [found[i] for i in range(len(sources))]


def _after_fork(engine: CTranslate2Engine | None) -> None:
    """Note in a new process that the translator's threads do not exist in it.

    The translator would wait for them where it is used and where it is destroyed, so it is never destroyed.
    """
    if engine is not None:
        engine.is_forked = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine.translator))


def _grouped(keys: Iterable[tuple[int, int]]) -> Iterable[tuple[tuple[int, int], list[int]]]:
    """Return the distinct keys, each with the indices at which it occurs."""
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
    return {"gnmt": slope, "average": 1.0, "none": 0.0}[config.length_penalty] or _NO_PENALTY


def _parts(folder: Path, target: str | None) -> tuple[TranslationSpec, Tokenizer]:
    """Return translation.json and the tokenizer; UserError if they do not belong together."""
    package()  # first, as the user's mistake is rather a missing package than a wrong folder
    spec = TranslationSpec.load(folder).towards(target)
    return spec, load_tokenizer(folder, spec)


def _n_positions(folder: Path) -> int | None:
    """Return the size of the table of positions of a foreign model; None for positions of another kind."""
    table = ctranslate2_header(folder / CTRANSLATE2_FILE).get("encoder/position_encodings/encodings")
    return None if table is None else table.shape[0]


def _load(folder: Path, n_workers: int, compute_type: ComputeType, device: str = "cpu") -> Any:
    """Return a `ctranslate2.Translator` of a folder.

    One batch for each thread is two to six times as fast on two cores as one batch for both. A thread of its own loads
    it: CTranslate2 limits OpenMP in the calling thread to the threads of one batch, and PyTorch there would obey.
    """
    kind, _, index = device.partition(":")
    settings = {"compute_type": compute_type, "inter_threads": n_workers, "intra_threads": 1}
    load = partial(package().Translator, str(folder), device=kind, device_index=int(index or 0))
    with ThreadPoolExecutor(1) as loader:
        return loader.submit(load, **settings).result()


def _digest(folder: Path, others: Sequence[str]) -> str:
    """Return the digest of everything that the converted files depend on."""
    try:
        digests = [files.sha256(folder / name) for name in ("model.safetensors", "config.json", "tokenizer.model")]
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {reason(error)}") from error
    return sha256(" ".join([*digests, *others]).encode()).hexdigest()


def _convert(folder: Path, to: Path, n_positions: int, *, int8: bool) -> None:
    """Write a model folder as the files of CTranslate2; UserError or CheckpointError if that is not possible.

    A process of its own needs no PyTorch, and this one keeps neither numpy nor the memory of the conversion. Where
    PyTorch is loaded anyway, that would only take time.
    """
    if "torch" in sys.modules:
        from translate.models.conversion import convert_folder

        convert_folder(folder, to, n_positions, int8=int8)
        return
    folder, to = folder.absolute(), to.absolute()
    done = subprocess.run(
        [sys.executable, "-m", "translate.models.conversion", folder, to, str(n_positions), "int8" if int8 else "fp32"],
        cwd=to,  # an empty folder: none of the user's files is taken for a module
        env=os.environ | {"PYTHONPATH": os.pathsep.join(place or os.getcwd() for place in sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C ends this process, which ends the other one
    )
    if done.returncode:
        problem = done.stdout.strip() or f"{folder}: cannot be converted for CTranslate2; use --engine torch"
        raise UserError(problem)


def cache_folder() -> Path:
    """Return the folder of converted models; RuntimeError if there is no home folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "translate"


def cached(key: Callable[[], str], make: Callable[[Path], None], load: Callable[[Path], R]) -> R:
    """Return what `load` makes of an entry of the cache, which `make` writes if there is none, or a damaged one.

    Several processes may make the same entry at the same time; the first one to finish gives it its name.

    Args:
        key: names the entry, after all that it is made of; called again after `make`: an entry whose sources have
            changed meanwhile is not kept.
        make, load: get the folder of the entry, and may raise any exception; nothing is kept then.
    """
    name = key()
    if (entry := _find(name)) is not None:
        try:
            return load(entry)
        except _UNLOADABLE:  # damaged, or removed meanwhile
            _remove(name)
    with _new_entry() as new:
        make(new)
        found = load(new)
        if key() == name:
            _keep(new, name)
    return found


def _find(name: str) -> Path | None:
    """Return the folder of an entry, which counts as used now; None if there is none."""
    with suppress(OSError, RuntimeError):
        entry = cache_folder() / name
        if entry.is_dir():
            with suppress(OSError):  # a read-only cache
                os.utime(entry)
            return entry
    return None


@contextmanager
def _new_entry() -> Iterator[Path]:
    """Yield an empty folder that `_keep` makes an entry; otherwise it is removed when the block ends."""
    parent: Path | None = None  # that of temporary files
    with suppress(OSError, RuntimeError):
        cache_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(cache_folder(), os.W_OK):
            parent = cache_folder()
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _keep(folder: Path, name: str) -> None:
    """Give a folder of `_new_entry` its name; without effect if the cache cannot be written or has such an entry.

    The files are on the disk before it has its name, so that a power failure leaves no entry of empty files.
    """
    if _n_bytes(folder) > CACHE_BYTES:
        return
    with suppress(OSError, RuntimeError):
        for path in (*folder.iterdir(), folder):
            files.flush(path)
        folder.rename(cache_folder() / name)
        _shrink(cache_folder())


def _remove(name: str) -> None:
    """Remove an entry if there is one; it loses its name first, so that no process finds half of it."""
    with suppress(OSError, RuntimeError):
        root = cache_folder()
        doomed = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
        with suppress(OSError):
            (root / name).rename(doomed / name)
        shutil.rmtree(doomed, ignore_errors=True)


def _shrink(root: Path) -> None:
    """Remove what killed processes left, and the oldest entries until the rest is small enough."""
    n_bytes = 0
    entries = filter(Path.is_dir, root.iterdir())  # some systems add files of their own, such as .DS_Store
    for entry in sorted(entries, key=lambda path: -path.stat().st_mtime):
        if entry.name.startswith(_UNFINISHED):
            if time.time() - entry.stat().st_mtime > _ABANDONED_AFTER:
                shutil.rmtree(entry, ignore_errors=True)
            continue
        n_bytes += _n_bytes(entry)
        if n_bytes > CACHE_BYTES:
            _remove(entry.name)


def _n_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())
