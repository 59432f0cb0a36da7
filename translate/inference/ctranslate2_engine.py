"""CTranslate2 as the engine of a translator; needs no torch.

Beam search stops as in this project: when as many hypotheses have finished as the beam is wide. CTranslate2 returns
them with their log-probabilities, and the length penalty of the paper (6.1) is applied here. Two things differ, so
the model scores such hypotheses again:

- A hypothesis that reaches its maximum length lacks the log-probability of eos.
- Where tokens are forbidden, the probabilities of the others are scaled up to a sum of 1. PyTorch's search does not
  scale them and may find another hypothesis.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from transformer.config import FORMAT, ConfigError, ModelConfig
from transformer.search.hypothesis import Hypothesis, SearchConfig
from translate import files
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.engine import Batch, Found, Search, Sources, TorchEngine, side_by_side
from translate.inference.sentence_search import LIMIT
from translate.machine import n_cores
from translate.models import cache
from translate.models.folder import ModelFolder, TranslationSpec, check_tokenizer, not_finite
from translate.optional import optional_package

ComputeType = Literal["float32", "int8", "default"]

_CONVERSION = 1  # changes with the contents of converted files
_UNLOADABLE = (RuntimeError, ValueError, IndexError)  # of CTranslate2, for files that are damaged or absent
_SHORT, _TYPICAL = 8, 20  # tokens: below the first, the slope of the length penalty changes most
_SCORED_TOKENS = 512  # in one batch
_NO_PENALTY = 1e-9  # of CTranslate2, which with 0 would stop at another time

_Output = tuple[list[str], float]  # pieces with the end token, if the output has ended, and their log-probability


def package() -> Any:
    """Import the package `ctranslate2`; UserError if it is missing or broken."""
    found = optional_package("ctranslate2", "ctranslate2")
    if not hasattr(found, "Translator"):  # without its compiled extension it can still be imported
        raise UserError("the package ctranslate2 is broken; install it again, or leave --engine ctranslate2 out")
    return found


@dataclass
class CTranslate2Engine:
    """A model loaded by CTranslate2; a `translate.inference.engine.Engine`.

    Attributes:
        folder: path of the model folder or of the CTranslate2 folder.
        tokenizer: text to ids and back.
        spec: languages and decoding.
        max_positions: maximum number of tokens of either side, eos included; None if there is no limit.
        translator: `ctranslate2.Translator`.
        n_workers: number of batches that are translated at the same time.
        twin: the same model in PyTorch; None if there is none.
        device: where CTranslate2 computes, as in PyTorch, or "auto".
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int | None
    translator: Any
    n_workers: int
    twin: "TorchTwin | None" = None
    device: str = "cpu"

    @classmethod
    def open(cls, folder: Path, threads: int | None = None, device: str = "auto") -> "CTranslate2Engine":
        """Load a CTranslate2 folder of `translate export`; UserError if it is damaged or foreign.

        Args:
            folder: the path.
            threads: number of batches at a time; None is one for each core.
            device: "cpu", "cuda", "cuda:1" and so on, or "auto", which is CUDA if available.
        """
        if device.partition(":")[0] not in ("auto", "cpu", "cuda"):
            raise UserError(f"CTranslate2 computes on the CPU or with CUDA, not on {device}; leave the device out")
        spec, tokenizer = _parts(folder)
        try:
            max_positions = json.loads((folder / "config.json").read_text(encoding="utf-8"))["max_positions"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{folder}: its config.json is damaged or was written by another program; export it again"
            ) from error
        n_workers = threads or n_cores()
        try:
            translator = _load(folder, n_workers, "default", device=device)
        except _UNLOADABLE as error:
            other = "" if device in ("auto", "cpu") else ", or choose another device"
            raise UserError(f"{folder}: CTranslate2 cannot load it ({error}); export it again{other}") from error
        return cls(folder, tokenizer, spec, max_positions, translator, n_workers, device=device)

    @classmethod
    def convert(
        cls, folder: Path, threads: int | None = None, compute_type: ComputeType = "float32"
    ) -> "CTranslate2Engine":
        """Load a model folder, converted now or by an earlier use.

        Args:
            folder: the path.
            threads: number of batches at a time; None is one for each core.
            compute_type: of the matrix products.

        Raises UserError if `ctranslate2` is missing or broken, if the folder is damaged, or if CTranslate2 has no such
        architecture.
        """
        engine = package()
        spec, tokenizer = _parts(folder)
        n_positions = LIMIT + spec.decoding.max_extra
        int8 = compute_type.startswith("int8")  # matrices are kept as they are loaded, which is faster than to quantise
        others = [str(_CONVERSION), engine.__version__, str(n_positions), "int8" if int8 else "float32"]
        key = _key(folder, others)
        n_workers = threads or n_cores()
        config, translator = _config(folder), None
        if (entry := cache.find(key)) is not None:
            try:
                translator = _load(entry, n_workers, compute_type)
            except _UNLOADABLE:  # damaged, or removed meanwhile
                cache.remove(key)
        if translator is None:
            converted = _converted(folder, config, tokenizer, n_positions, int8=int8)
            if key == _key(folder, others):  # the folder was not replaced meanwhile
                cache.store(key, converted)
            try:
                translator = _load(folder, n_workers, compute_type, converted)
            except _UNLOADABLE as error:
                raise UserError(f"{folder}: CTranslate2 cannot load it ({error}); use --engine torch") from error
        limit = config.max_length if config.positions == "learned" else None
        return cls(folder, tokenizer, spec, limit, translator, n_workers, TorchTwin(folder))

    @property
    def precision(self) -> str:
        """Type of the matrix products: int8, bf16, fp16 or fp32."""
        kind = self.translator.compute_type.partition("_")[0]  # such as int8_float32
        return {"int8": "int8", "bfloat16": "bf16", "float16": "fp16"}.get(kind, "fp32")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the way to open the engine again, as `datasets` and Ray Data ask for."""
        if self.twin is None:
            return CTranslate2Engine.open, (self.folder, self.n_workers, self.device)
        return CTranslate2Engine.convert, (self.folder, self.n_workers, self.translator.compute_type)

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """Return the results of a search for each batch; `n_workers` batches run at the same time."""
        if len(batches) == 1:
            return [search(batches[0])]
        return side_by_side(search, batches, self.n_workers)

    def search(self, sources: Sources, max_lengths: Sequence[int], config: SearchConfig) -> Found:
        """Return the n_best hypotheses of each source, best first; none if its probabilities are not finite.

        Args:
            sources: token ids without eos.
            max_lengths: maximum number of tokens of each output, eos included.
            config: the settings of the search.
        """
        found = []
        (eos,) = self.tokenizer.pieces([config.eos])
        limit = max(max_lengths)
        for ids, most, result in zip(sources, max_lengths, self._results(sources, limit, config), strict=True):
            # CTranslate2 has one limit for a batch, and a search that comes near its own limit depends on it.
            is_near = any(len(output) >= most or output[-1] != eos for output, _ in result)
            own = self._results([ids], most, config)[0] if is_near and most < limit else result
            found.append(self._best(ids, own, most, config, eos))
        return found

    def score(self, sources: Sources, targets: Sources) -> list[float]:
        """Return the natural log-probability of each target; see `Scorer.score`. UserError if one is not finite."""
        pieces = [[self.tokenizer.pieces(ids) for ids in side] for side in (sources, targets)]
        scored = self.translator.score_batch(
            *pieces, max_batch_size=_SCORED_TOKENS, batch_type="tokens", max_input_length=0
        )
        found = [math.fsum(target.log_probs) for target in scored]
        if not all(map(math.isfinite, found)):
            raise not_finite(self.folder)
        return found

    def _results(self, sources: Sources, limit: int, config: SearchConfig) -> list[list[_Output]]:
        """Return CTranslate2's outputs of at most limit - 1 tokens, and eos if they have ended."""
        found: dict[int, list[_Output]] = {}
        powers = [_power(config, len(ids) + 1) for ids in sources]
        for power in set(powers):
            chosen = [i for i, other in enumerate(powers) if other == power]
            results = self.translator.translate_batch(
                [self.tokenizer.pieces(sources[i]) for i in chosen],
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
            for i, result in zip(chosen, results, strict=True):
                outputs = zip(result.hypotheses, result.scores, strict=True)
                found[i] = [(output, score * len(output) ** power) for output, score in outputs]
        return [found[i] for i in range(len(sources))]

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
        scored = self.translator.score_batch([pieces] * len(targets), targets, max_input_length=0)
        return [math.fsum(target.log_probs) for target in scored]


class TorchTwin:
    """The engine of PyTorch for a model folder, which is loaded when it is needed first."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._loading = folder, Lock()
        self._engine: TorchEngine | None = None

    @property
    def engine(self) -> TorchEngine:
        """The engine; UserError or CheckpointError if the folder was damaged meanwhile."""
        with self._loading:
            if self._engine is None:
                self._engine = TorchEngine(ModelFolder.open(self._folder))
            return self._engine


def _power(config: SearchConfig, n_source: int) -> float:
    """Return CTranslate2's length penalty, length^power, for a source of `n_source` tokens, eos included.

    It only decides which hypotheses are kept if more have finished than the beam is wide. The power is the slope of the
    paper's penalty on logarithmic axes: an output of typical length that is the best by that penalty is the best by
    this. There are two typical lengths, as a batch has one power, and the other sentences of a batch must not matter.
    """
    length = _SHORT / 2 if n_source < _SHORT else _TYPICAL
    slope = config.alpha * length / (5 + length)
    return {"gnmt": slope, "average": 1.0, "none": 0.0}[config.length_rule] or _NO_PENALTY


def _parts(folder: Path) -> tuple[TranslationSpec, Tokenizer]:
    """Return translation.json and the tokenizer; UserError if they do not belong together."""
    package()  # first, as the user's mistake is rather a missing package than a wrong folder
    spec = TranslationSpec.load(folder / "translation.json")
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    check_tokenizer(folder, tokenizer, spec)
    return spec, tokenizer


def _load(
    folder: Path,
    n_workers: int,
    compute_type: ComputeType,
    contents: dict[str, bytes] | None = None,
    device: str = "cpu",
) -> Any:
    """Return a `ctranslate2.Translator` of a folder or of the contents of its files.

    One batch for each thread is two to six times as fast on two cores as one batch for both.
    """
    kind, _, index = device.partition(":")
    settings = {"compute_type": compute_type, "inter_threads": n_workers, "intra_threads": 1}
    return package().Translator(str(folder), device=kind, device_index=int(index or 0), files=contents, **settings)


def _config(folder: Path) -> ModelConfig:
    """Return the architecture of a model folder; UserError if its config.json is damaged."""
    try:
        description = files.read_json(folder / "config.json")
        if description["format"] != FORMAT:
            raise ConfigError(f"format {description['format']} is unknown; this version reads {FORMAT}")
        return ModelConfig.from_dict(description["model"])
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        reason = error if isinstance(error, ConfigError) else "it is damaged or belongs to another program"
        raise UserError(f"{folder / 'config.json'}: not a config of this toolkit: {reason}") from error


def _key(folder: Path, others: Sequence[str]) -> str:
    """Return the digest of everything that the converted files depend on."""
    try:
        digests = [files.sha256(folder / name) for name in ("model.safetensors", "config.json", "tokenizer.model")]
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from error
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
        raise UserError(f"{path}: the file is damaged or truncated ({error})") from error
