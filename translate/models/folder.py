"""A translation model as a folder: everything that text-to-text translation needs.

    config.json, model.safetensors   the network (transformer.checkpoint_io)
    tokenizer.model                  SentencePiece
    target.model                     SentencePiece of the target language, in an imported model that has two
    translation.json                 the languages and the default decoding
    README.md                        its card, if there is one: training data and scores

A checkpoint is such a folder with additional files; a run directory holds one under `model/`.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from dataclasses import replace as with_changes
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from transformer.config import CheckpointError, SearchConfig, load_config, tensor_header
from translate.corpus.tokenizer import Tokenizer
from translate.errors import OptionError, Say, UserError, reason
from translate.files import new_folder, read_json, sha256, write_json
from translate.options import bounded, is_language_code, shown, validate
from translate.text import languages
from translate.text.translation import decoding

if TYPE_CHECKING:
    import torch

    from transformer.checkpoint_io import Storage
    from transformer.model import Transformer

FORMAT = 1
ORIGIN_FILE = "source.json"  # of a model that `translate models add` got
CTRANSLATE2_FILE = "model.bin"  # its presence identifies a CTranslate2 folder
_SPEC, _WEIGHTS, _TARGET = "translation.json", "model.safetensors", "target.model"
FILES = ("config.json", _WEIGHTS, "tokenizer.model", _SPEC)
EXPORTED_FILES = ("config.json", CTRANSLATE2_FILE, "tokenizer.model", _SPEC)


class LanguageError(UserError):
    """A model does not translate between the languages that were asked for."""


class NoLanguagesError(UserError):
    """Neither the model nor the user names the languages."""


class WritingError(UserError):
    """The folder of a model cannot be written."""


@dataclass(frozen=True)
class TranslationSpec:
    """Languages, default decoding and length limits of a model.

    Attributes:
        source, target: language codes such as "de" and "en". `target` is that of a group, such as "gmq", if the model
            translates into several languages and none is chosen; see `towards`.
        decoding: how the model decodes by default (6.1).
        tokenizer_sha256: digest of the model's tokenizer; "" until the model folder is written.
        target_sha256: digest of the tokenizer of the target language; "" if it is the same one.
        tags: for a model that translates into several languages, the token that its sources begin with, by language.
        max_source_tokens: length of the longest source in training, without eos; None if unknown.
        best_source_tokens: longer sources are translated better in parts; None if not measured.
        low_confidence: least mean log-probability of a token of a translation that is not flagged; None flags none.
        low_rerank_score: the same for the score of reranking.
        reverse_weight: of the reverse direction in that score; None if not tuned.
        alignment_layer: index of the decoder layer whose cross-attention aligns words; None if not measured.
    """

    source: str
    target: str
    decoding: SearchConfig = SearchConfig()
    tokenizer_sha256: str = ""
    max_source_tokens: Annotated[int | None, bounded(min=1)] = None
    best_source_tokens: Annotated[int | None, bounded(min=1)] = None
    low_confidence: float | None = None
    low_rerank_score: float | None = None
    reverse_weight: Annotated[float | None, bounded(min=0)] = None
    alignment_layer: Annotated[int | None, bounded(min=0)] = None
    target_sha256: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        validate(self)
        if not all(is_language_code(code) and isinstance(piece, str) for code, piece in self.tags.items()):
            raise OptionError("tags", shown(self.tags), "should map language codes to pieces")
        for name in ("source", "target"):
            if not is_language_code(code := getattr(self, name)):
                raise OptionError(name, shown(code), 'should be a language code, such as "de" or "zh-Hans"')

    @property
    def targets(self) -> list[str]:
        """The languages that the model translates into; the one that was chosen, if any, comes first."""
        return [*self.tags] if self.needs_choice else [*dict.fromkeys([self.target, *self.tags])]

    def speaks(self, source: str | None, target: str | None) -> bool:
        """Return whether the model translates between these languages, as `closeness` finds them; None is any."""
        return self.closeness(source, target) is not None

    def closeness(self, source: str | None, target: str | None) -> tuple[int, int] | None:
        """Return how many characters the codes of target and source share with the model's; None if it lacks one.

        A code with a region also finds its language, as "de-AT" finds "de"; see `languages.lookup`.

        Args:
            source, target: language codes; None is any language, and shares no characters.
        """
        own_target = "" if target is None else languages.lookup(target, (self.target, *self.tags))
        own_source = "" if source is None else languages.lookup(source, (self.source,))
        return None if own_target is None or own_source is None else (len(own_target), len(own_source))

    def towards(self, target: str | None) -> "TranslationSpec":
        """Return the spec with this target language, or itself for None; UserError if the model lacks the language."""
        own = self.target if target is None else languages.lookup(target, (self.target, *self.tags))
        if own == self.target:
            return self
        if own is None:
            raise LanguageError(
                f"the model translates into {', '.join(self.targets)}, not {target}; choose one of these"
            )
        return with_changes(self, target=own)

    @property
    def needs_choice(self) -> bool:
        """Whether the model translates into several languages, and none is chosen."""
        return bool(self.tags) and self.target not in self.tags

    @property
    def tag(self) -> str:
        """The token that each source begins with, "" for none; UserError if the target language must be chosen."""
        if self.needs_choice:
            raise UserError(f"the model translates into several languages; name one with --to: {', '.join(self.tags)}")
        return self.tags.get(self.target, "")

    def save(self, folder: Path) -> None:
        """Write translation.json into a folder."""
        optional = {name for name in ("target_sha256", "tags") if not getattr(self, name)}
        known = {name: value for name, value in self.record().items() if value is not None and name not in optional}
        write_json(folder / _SPEC, {"format": FORMAT} | known)

    def record(self) -> dict[str, object]:
        """Return all values as plain data."""
        return vars(self) | {"decoding": self.decoding.decoding()}

    def with_alignment_layer(self, model: "Transformer") -> "TranslationSpec":
        """Return the spec with the alignment layer, which is measured if there is none; the model is in eval mode."""
        if self.alignment_layer is not None:
            return self
        from transformer.search.alignment import sharpest_layer

        return with_changes(self, alignment_layer=sharpest_layer(model))

    @classmethod
    def load(cls, folder: Path) -> "TranslationSpec":
        """Read the translation.json of a model folder; UserError if it is missing, damaged or of another format."""
        path = folder / _SPEC
        try:
            values = read_json(path)
            known = values.pop("format")
            if known != FORMAT:  # checked first: the other fields may differ in another format
                raise UserError(
                    f"{path}: has format {known}, and this version reads {FORMAT}; use the version that wrote it"
                )
            spec = cls(**values | {"decoding": decoding(values.get("decoding", {}))})
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}; name a folder that holds a model") from error
        except (ValueError, KeyError, TypeError) as error:
            cause = (
                "" if isinstance(error, KeyError) else f" ({str(error).removeprefix(f'{path}: ').rpartition('() ')[2]})"
            )
            raise UserError(
                f"{path}: damaged, or not written by this program{cause}; copy the model folder again"
            ) from error
        with suppress(CheckpointError):  # which is reported when the network is read
            n_layers = load_config(folder).n_decoder_layers
            if spec.alignment_layer is not None and spec.alignment_layer >= n_layers:
                raise UserError(
                    f"{path}: the words are aligned by decoder layer {spec.alignment_layer}, counted from 0, of "
                    f"{n_layers}; copy the model folder again"
                )
        return spec


@dataclass(frozen=True)
class ModelFolder:
    """An open model folder.

    Attributes:
        model: the network in eval mode.
    """

    folder: Path
    model: "Transformer"
    tokenizer: Tokenizer
    spec: TranslationSpec

    @classmethod
    def open(cls, folder: Path, device: "torch.device | str" = "cpu", target: str | None = None) -> "ModelFolder":
        """Load all files of a model folder.

        Args:
            target: the language to translate into, for a model of several; None is that of the folder.

        Raises UserError if a file is missing or the files do not belong together, CheckpointError if the network's
        files are damaged or in another format.
        """
        from transformer.checkpoint_io import load_model

        spec = TranslationSpec.load(folder).towards(target)
        tokenizer = load_tokenizer(folder, spec)
        vocab_size = load_config(folder).vocab_size
        if tokenizer.vocab_size != vocab_size:
            raise UserError(
                f"{folder}: the tokenizer has {tokenizer.vocab_size} pieces and the model {vocab_size}; they do not "
                "belong together, so restore the tokenizer.model that the model was trained with"
            )
        return cls(folder, load_model(folder, device), tokenizer, spec)


def load_tokenizer(folder: Path, spec: TranslationSpec) -> Tokenizer:
    """Return the tokenizer of a folder; UserError unless it is the one that the model was trained with."""
    tokenizer = _checked(folder, "tokenizer.model", spec.tokenizer_sha256)
    if spec.target_sha256:
        tokenizer.target = _checked(folder, _TARGET, spec.target_sha256)
    if tokenizer.unk in tokenizer.ids([*spec.tags.values()]):
        raise UserError(
            f"{folder / _SPEC}: its tags of languages are no pieces of the tokenizer; copy the model folder again"
        )
    return tokenizer


def _checked(folder: Path, name: str, expected: str) -> Tokenizer:
    tokenizer = _kind(folder / name).load(folder / name)
    if tokenizer.sha256 != expected:
        raise UserError(
            f"{folder}: the tokenizer is not the one that the model was trained with; they do not belong together, "
            f"so restore {name}"
        )
    return tokenizer


def _kind(path: Path) -> type[Tokenizer]:
    """Return the class of a stored tokenizer, by its first byte."""
    with suppress(OSError), path.open("rb") as file:
        if file.read(1) == b"{":
            from translate.corpus.moses_bpe import MosesBpe

            return MosesBpe
    return Tokenizer


def has_forms_of_address(tokenizer: Tokenizer, spec: TranslationSpec) -> bool:
    """Return whether a model translates into German and was trained with tags for the form of address."""
    from translate.text.formality import LANGUAGE, TAGS

    return spec.target == LANGUAGE and tokenizer.unk not in tokenizer.ids([*TAGS.values()])


def check_vocabulary(folder: Path, tokenizer: Tokenizer, *, is_ours: bool) -> None:
    """Raise UserError unless the vocabulary of a CTranslate2 folder is that of its tokenizer.

    CTranslate2 loads any vocabulary, and fails at the first token that it lacks.

    Args:
        is_ours: whether `translate export` wrote it; the vocabularies of others may lack tokens of the tokenizer.
    """
    tokens = tokenizer.tokens(range(tokenizer.vocab_size))
    for stored in read_vocabularies(folder):
        if stored != tokens if is_ours else not {*stored} <= {*tokens, "<blank>"}:
            raise UserError(f"{folder}: its vocabulary is not that of its tokenizer; export it again")


def read_vocabularies(folder: Path) -> tuple[list[str], list[str]]:
    """Return the source and the target tokens of a CTranslate2 folder, which may be the same; UserError if damaged."""
    found: list[list[str]] = []
    for side in ("source", "target"):
        names = [f"{stem}_vocabulary{suffix}" for stem in (side, "shared") for suffix in (".json", ".txt")]
        path = next((folder / name for name in names if (folder / name).is_file()), folder / names[0])
        try:
            text = path.read_text(encoding="utf-8")
            tokens = json.loads(text) if path.suffix == ".json" else text.removesuffix("\n").split("\n")
            if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
                raise ValueError("no list of tokens")
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{folder}: its vocabulary is missing or damaged; export it again") from error
        found.append(tokens)
    return found[0], found[1]


def write_model(
    model: "Transformer", tokenizer: Tokenizer, spec: TranslationSpec, folder: Path, dtype: "Storage" = "fp32"
) -> None:
    """Write the files of a model folder into an existing folder; its other files stay.

    Raises OSError, or SafetensorError if the disk is full.
    """
    from transformer.checkpoint_io import save_model

    save_model(model, folder, dtype)
    write_text_parts(tokenizer, spec, folder)


def write_text_parts(tokenizer: Tokenizer, spec: TranslationSpec, folder: Path) -> None:
    """Write the tokenizer and translation.json, with its digests, into an existing folder; OSError if that fails."""
    tokenizer.save(folder / "tokenizer.model")
    target_sha256 = ""
    if tokenizer.target is not tokenizer:
        tokenizer.target.save(folder / _TARGET)
        target_sha256 = tokenizer.target.sha256
    with_changes(spec, tokenizer_sha256=tokenizer.sha256, target_sha256=target_sha256).save(folder)


def save(
    model: "Transformer",
    tokenizer: Tokenizer,
    spec: TranslationSpec,
    folder: Path,
    *,
    replace: bool = False,
    dtype: "Storage" = "fp32",
) -> None:
    """Write a model folder atomically: it appears when it is complete.

    Args:
        replace: whether to replace an existing folder, which stays unchanged if writing fails.

    Raises UserError if `folder` exists and `replace` is off, or if it cannot be written.
    """
    with writing(folder, replace=replace), new_folder(folder, replace=replace) as partial:
        write_model(model, tokenizer, spec, partial, dtype)


@contextmanager
def writing(to: Path, *, replace: bool = False) -> Iterator[None]:
    """Raise UserError if `to` exists and `replace` is off, or if it cannot be written in this block."""
    from safetensors import SafetensorError

    try:
        refuse_existing(to, replace=replace)
        yield
    except (OSError, SafetensorError) as error:  # safetensors has its own error for a full disk
        refuse_existing(to, replace=replace)
        raise WritingError(f"{to}: cannot write the model: {reason(error)}; nothing was changed there") from error


def refuse_existing(to: Path, *, replace: bool = False) -> None:
    """Raise UserError if `to` exists and `replace` is off."""
    if to.exists() and not replace:
        raise UserError(f"{to}: exists already; name another one, or remove it")


def not_finite(folder: Path) -> UserError:
    """Return the error for a model whose probabilities are not finite."""
    return UserError(
        f"{folder}: the model's probabilities are not finite because its training diverged; use an earlier checkpoint"
    )


def is_complete(folder: Path) -> bool:
    """True if all files of a model folder are there; False if the user may not look into it."""
    return all(os.path.isfile(folder / name) for name in FILES)  # unlike Path.is_file, never raises PermissionError


@contextmanager
def mended_by_update(folder: Path) -> Iterator[None]:
    """Add to errors about the files of an added model that `translate models update` gets them again."""
    try:
        yield
    except (UserError, CheckpointError) as error:
        said, remedy = str(error), f"get it again with translate models update {folder.name}"
        if not said.startswith(str(folder)) or remedy in said or not (folder / ORIGIN_FILE).is_file():
            raise
        raise UserError(f"{said}, or {remedy}") from error


def digests(folder: Path) -> list[str]:
    """Return the SHA-256 of the files of a model that its translations depend on."""
    files = [folder / name for name in (_WEIGHTS, CTRANSLATE2_FILE, "tokenizer.model")]
    return [sha256(file) for file in files if file.is_file()]


def model_in(folder: Path, *, exported: bool = False) -> Path | None:
    """Return the complete model folder at `folder` or, for a run, in its `model/`; None if there is none.

    Args:
        exported: whether a CTranslate2 folder with a tokenizer counts.
    """
    if exported and all(os.path.isfile(folder / name) for name in EXPORTED_FILES):
        return folder
    return next((path for path in (folder, folder / "model") if is_complete(path)), None)


def resolve(path: Path, say: Say, *, exported: bool = False) -> Path:
    """Return the model folder at `path`: the folder itself, or a run's `model/`, or the run's newest checkpoint.

    Args:
        say: receives a note if a checkpoint is used.
        exported: whether a CTranslate2 folder is accepted.

    Raises UserError if there is none.
    """
    is_exported = (path / CTRANSLATE2_FILE).is_file()
    if is_exported and exported:
        return path
    if final := model_in(path):
        return final
    # Names such as step-00000123 sort by step.
    steps = sorted(folder for folder in path.glob("checkpoints/step-*") if is_complete(folder))
    if steps:
        say(f"{path} has no final model yet; using its checkpoint {steps[-1].name}")
        return steps[-1]
    if not path.exists():
        raise UserError(f"{path}: no such folder; name a run directory or a model folder")
    if is_exported:
        raise UserError(
            f"{path}: is a CTranslate2 folder, which only --model of translate text and translate serve accepts; name "
            "the model it was made of"
        )
    missing = [name for name in FILES if not (path / name).is_file()]
    if len(missing) < len(FILES) - 1:  # a run directory has a config.json too
        raise UserError(
            f"{path}: not a complete model folder: it has no {' and no '.join(missing)}; copy it again, or, if another "
            "toolkit wrote it, import it with translate import"
        )
    raise UserError(
        f"{path}: neither a model folder nor a run directory that holds a model or a checkpoint; name one of these"
    )


@dataclass(frozen=True)
class Weights:
    """Size and precision of the weights of a model folder, read from their header alone.

    Attributes:
        n_parameters: number of parameters, without the scales of int8 weights.
        precision: of the largest tensors: "fp32", "bf16" or "int8", or else the name that safetensors uses.
    """

    n_parameters: int
    precision: str
    n_bytes: int

    @classmethod
    def read(cls, folder: Path) -> "Weights":
        """Read the header of the weights in a model folder or a CTranslate2 folder; UserError if it is damaged."""
        path, sizes = folder / _WEIGHTS, Counter[str]()
        if (folder / CTRANSLATE2_FILE).is_file():
            path = folder / CTRANSLATE2_FILE
            for name, variable in ctranslate2_header(path).items():
                if not name.endswith(("_scale", "/encodings")):
                    sizes[variable.dtype] += math.prod(variable.shape)
            ((precision, _),) = sizes.most_common(1) or [("", 0)]
            return cls(sizes.total(), precision, path.stat().st_size)
        try:
            tensors = tensor_header(path)
            for name, tensor in tensors.items():
                if name.removesuffix(".scale") not in tensors.keys() - {name}:
                    sizes[tensor["dtype"]] += math.prod(tensor["shape"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(f"{path}: damaged, truncated or unreadable; copy the model folder again") from error
        ((dtype, _),) = sizes.most_common(1) or [("", 0)]
        precision = {"F32": "fp32", "BF16": "bf16", "I8": "int8"}.get(dtype, dtype)
        return cls(sizes.total(), precision, path.stat().st_size)


class Variable(NamedTuple):
    """A variable of CTranslate2: its type is named as in `Weights`; of a number, its bytes too."""

    shape: tuple[int, ...]
    dtype: str
    value: bytes


_VARIABLE_TYPES = {0: "fp32", 1: "int8", 2: "int16", 3: "int32", 4: "fp16", 5: "bf16"}
_FIRST_WITH_TYPES = 4  # version of the format


def ctranslate2_header(path: Path) -> dict[str, Variable]:
    """Return the variables of a model.bin by name, without reading their arrays; UserError if it is damaged.

    Source: ctranslate2/specs/model_spec.py.
    """
    try:
        with path.open("rb") as file:

            def number(size: int) -> int:
                data = file.read(size)
                if len(data) < size:
                    raise EOFError
                return int.from_bytes(data, "little")

            def text() -> str:
                return file.read(number(2)).rstrip(b"\0").decode("utf-8")

            if number(4) < _FIRST_WITH_TYPES:
                raise UserError(f"{path}: has an old format of CTranslate2, which is not read here; convert it again")
            text(), number(4)  # the specification and its revision
            found: dict[str, Variable] = {}
            for _ in range(number(4)):
                name, rank = text(), number(1)
                shape = tuple(number(4) for _ in range(rank))
                dtype, n_bytes = _VARIABLE_TYPES[number(1)], number(4)
                found[name] = Variable(shape, dtype, b"" if rank else file.read(n_bytes))
                if rank:
                    file.seek(n_bytes, os.SEEK_CUR)
        return found
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise UserError(f"{path}: damaged or truncated; install or export it again") from error
