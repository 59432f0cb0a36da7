"""The interface of a search engine, and which engine translates with a model.

A translator handles the text and knows models only through `Engine`. Each engine is imported when it is chosen: one
needs PyTorch, the other CTranslate2.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from transformer.search.hypothesis import Attention, Hypotheses, Request, SearchConfig, TokenIds
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.machine import bf16_pays, choose_device
from translate.models.folder import CTRANSLATE2_FILE, ModelFolder, TranslationSpec, Weights
from translate.text.translation import Opening, Precision

if TYPE_CHECKING:
    import torch

    from translate.inference.ctranslate2_engine import ComputeType, CTranslate2Engine
    from translate.inference.torch_engine import TorchEngine, TorchPrecision


class Engine(Protocol):
    """A model folder and a search.

    Attributes:
        folder: path of the model folder.
        tokenizer: text to ids and back.
        spec: languages and decoding.
        max_positions: maximum number of tokens of a source or a translation, ends included; None if there is no limit.
        mixes_lengths: whether sources of unequal lengths are searched together; if not, a batch has one length.
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int | None
    mixes_lengths: bool

    @property
    def can_align(self) -> bool:
        """Whether `align` works: not with a CTranslate2 folder that was exported without a layer for it."""

    @property
    def precision(self) -> str:
        """Type of the matrix products: int8, bf16, fp16 or fp32."""

    def search(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the n best hypotheses of each request, best first; none if probabilities are not finite.

        The requests are divided into batches, several of which are searched at a time where that is faster.

        Args:
            requests: in any order; equal ones are searched once.
            config: the settings of the search; bos and eos are those of the model.
        """

    def search_batch(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the result of `search` for requests of one batch, in this thread."""

    def align(self, sources: TokenIds, targets: TokenIds) -> list[Attention]:
        """Return the cross-attention of each target token to each source token, for each pair.

        The weight of the source's eos is left out, so rows sum to less than 1.

        Args:
            sources, targets: token ids of each pair, without eos, at most `max_positions` - 1.

        Raises UserError if the model cannot align.
        """

    def score(self, sources: TokenIds, targets: TokenIds) -> list[float]:
        """Return the natural log-probability of each target and of eos, given its source; the ids are without eos."""


def open_engine(folder: Path, opening: Opening | None = None) -> "CTranslate2Engine | TorchEngine":
    """Load a model folder, or a CTranslate2 folder of `translate export`, which is found already.

    CTranslate2 on CPUs; PyTorch on GPUs, for bf16, and for models that CTranslate2 cannot load.

    Raises UserError or CheckpointError if the folder cannot be used, or if the engine has no such precision or device.
    """
    from translate.inference.ctranslate2_engine import CTranslate2Engine, package

    opening = opening or Opening()
    name, precision, device, threads = opening.engine, opening.precision, opening.device, opening.threads
    if (folder / CTRANSLATE2_FILE).is_file():
        engine = None if name == "torch" else CTranslate2Engine.open(folder, threads, device or "auto", opening.target)
        if engine is None or (precision not in (None, "auto") and precision != engine.precision):
            raise UserError(f"{folder}: a CTranslate2 folder has an engine and a precision of its own; leave them out")
        return engine
    if name == "ctranslate2" and device not in (None, "cpu"):
        raise UserError(f"the engine ctranslate2 computes on the CPU, not on {device}; leave one of them out")
    if name == "ctranslate2" or (name == "auto" and precision != "bf16" and _on_cpu(device)):
        try:
            chosen = precision or ("int8" if Weights.read(folder).precision == "int8" else "fp32")
            kind: ComputeType = "float32" if chosen == "fp32" else "int8"
            return CTranslate2Engine.convert(folder, threads, kind, opening.target)
        except UserError:  # PyTorch says better what is wrong with a folder
            if name == "ctranslate2" or precision == "int8":
                raise
    if precision == "int8":
        package()  # names the package if it is missing
        raise UserError("int8 needs CTranslate2, which computes on the CPU; leave the device out, or use bf16")
    return open_members([folder], opening)


def towards(engine: Engine, target: str) -> Engine:
    """Return an engine of the same loaded model for one of its target languages; UserError if it lacks the language."""
    from translate.inference.ctranslate2_engine import CTranslate2Engine

    spec = engine.spec.towards(target)
    if spec is engine.spec:
        return engine
    if isinstance(engine, CTranslate2Engine):
        return replace(engine, spec=spec)
    other = copy(engine)
    other.spec = spec
    return other


def open_members(folders: Sequence[Path], opening: Opening) -> "TorchEngine":
    """Load the model folders of an ensemble in PyTorch, which also draws, forces words and lists other tokens."""
    from translate.inference.torch_engine import TorchEngine

    device = choose_device(opening.device)
    first, *others = (ModelFolder.open(folder, device, opening.target) for folder in folders)
    return TorchEngine(first, _torch_precision(opening.precision, device), others)


def _torch_precision(precision: Precision | None, device: "torch.device") -> "TorchPrecision":
    return "bf16" if precision == "bf16" or (precision == "auto" and bf16_pays(device)) else "fp32"


def open_scorer(folder: Path, opening: Opening, target: str | None = None) -> "CTranslate2Engine | TorchEngine":
    """Load a model that scores given translations, into the language `target`, as `open_engine`.

    Scores are never in bf16, whose rounding would change which sentences are flagged; so "auto", which may be bf16, is
    the precision of the stored weights.
    """
    target = target if TranslationSpec.load(folder).speaks(None, target) else None
    exact: dict[Precision | None, Precision | None] = {"bf16": "fp32", "auto": None}
    precision = exact.get(opening.precision, opening.precision)
    return open_engine(folder, replace(opening, precision=precision, target=target))


def _on_cpu(device: str | None) -> bool:
    """Return whether the device is a CPU; torch is imported only if there is a GPU that it might use."""
    if device is not None:
        return device == "cpu"
    from translate.inference.ctranslate2_engine import package

    try:
        has_gpu = package().get_cuda_device_count() > 0
    except (UserError, RuntimeError):  # CTranslate2 is missing or broken, so PyTorch is used anyway
        return False
    return not has_gpu or choose_device().type == "cpu"
