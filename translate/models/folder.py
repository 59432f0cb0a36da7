"""A translation model as a folder: everything that turns text into text, and nothing else.

    config.json, model.safetensors   the network (transformer.checkpoint_io)
    tokenizer.model                  SentencePiece
    translation.json                 the languages, and how to decode unless told otherwise
    README.md                        its card, where there is one: what it was trained on, how well it does

A checkpoint is such a folder with more files in it; a run directory holds one under `model/`.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace as with_changes
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from translate.config.schema import DecodingConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError

if TYPE_CHECKING:
    import torch

    from transformer.checkpoint_io import Storage
    from transformer.model import Transformer

FORMAT = 1
FILES = ("config.json", "model.safetensors", "tokenizer.model", "translation.json")


_LENGTHS = ("max_source_tokens", "best_source_tokens")


@dataclass(frozen=True)
class TranslationSpec:
    """What a model is for.

    Attributes:
        source, target: language codes such as "de" and "en".
        decoding: how it decodes by default (6.1).
        tokenizer_sha256: of the tokenizer.model that it belongs to; "" in folders from before there was such a field.
        max_source_tokens: the longest source that it was trained on, without eos; None where that is not known.
        best_source_tokens: longer sources are translated better in parts; None where nobody has looked.
    """

    source: str
    target: str
    decoding: DecodingConfig = DecodingConfig()
    tokenizer_sha256: str = ""
    max_source_tokens: int | None = None
    best_source_tokens: int | None = None

    def save(self, path: Path) -> None:
        """Write translation.json."""
        values: dict[str, object] = {"format": FORMAT, "source": self.source, "target": self.target}
        values["tokenizer_sha256"] = self.tokenizer_sha256
        for name in _LENGTHS:
            if getattr(self, name) is not None:
                values[name] = getattr(self, name)
        values["decoding"] = self.decoding.model_dump()
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: Path) -> "TranslationSpec":
        """Read translation.json; UserError if it is missing or of another kind."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if (known := values["format"]) != FORMAT:  # first: what else a later format holds is not known here
                raise UserError(
                    f"{path}: has format {known}, and this version reads {FORMAT}; use the version that wrote it"
                )
            decoding, digest = DecodingConfig(**values["decoding"]), str(values.get("tokenizer_sha256", ""))
            lengths = {name: values[name] for name in _LENGTHS if values.get(name) is not None}
            if any(type(length) is not int or length < 1 for length in lengths.values()):
                raise ValueError(lengths)
            return cls(str(values["source"]), str(values["target"]), decoding, digest, **lengths)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}; name a folder that holds a model") from error
        except (ValidationError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: damaged, or not written by this program; copy the model folder again") from error


@dataclass(frozen=True)
class ModelFolder:
    """A model folder, open.

    Attributes:
        folder: where it is.
        model: the network in eval mode.
        tokenizer: text to ids and back.
        spec: languages and decoding.
    """

    folder: Path
    model: "Transformer"
    tokenizer: Tokenizer
    spec: TranslationSpec

    @classmethod
    def open(cls, folder: Path, device: "torch.device | str" = "cpu") -> "ModelFolder":
        """Load all of a model folder.

        Raises UserError if a file is missing or the parts do not belong together, CheckpointError if the network's
        files are damaged or foreign.
        """
        from transformer.checkpoint_io import load_config, load_model

        spec = TranslationSpec.load(folder / "translation.json")
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
        vocab_size = load_config(folder).vocab_size
        if tokenizer.vocab_size != vocab_size:
            raise UserError(
                f"{folder}: the tokenizer has {tokenizer.vocab_size} pieces and the model {vocab_size}; they do not "
                "belong together, so restore the tokenizer.model that the model was trained with"
            )
        require_own_tokenizer(folder, tokenizer, spec)
        return cls(folder, load_model(folder, device), tokenizer, spec)


def require_own_tokenizer(folder: Path, tokenizer: Tokenizer, spec: TranslationSpec) -> None:
    """UserError if the tokenizer is not the one that the specification belongs to."""
    if spec.tokenizer_sha256 not in ("", _digest(tokenizer)):
        raise UserError(
            f"{folder}: the tokenizer is not the one that the model was trained with; they do not belong together, "
            "so restore tokenizer.model"
        )


def write_model(
    model: "Transformer", tokenizer: Tokenizer, spec: TranslationSpec, folder: Path, dtype: "Storage" = "fp32"
) -> None:
    """Write the files of a model folder into an existing folder, whatever else it holds."""
    from transformer.checkpoint_io import save_model

    save_model(model, folder, dtype)
    tokenizer.save(folder / "tokenizer.model")
    with_changes(spec, tokenizer_sha256=_digest(tokenizer)).save(folder / "translation.json")


def save(
    model: "Transformer",
    tokenizer: Tokenizer,
    spec: TranslationSpec,
    folder: Path,
    *,
    replace: bool = False,
    dtype: "Storage" = "fp32",
) -> None:
    """Make a model folder, whole or not at all; UserError if something is there or the disk refuses.

    With `replace` it takes the place of what is there, which stays as it was if the disk refuses. `dtype` is the
    precision of the stored weights.
    """
    from safetensors import SafetensorError

    partial, old = (folder.with_name(f".{folder.name}.{suffix}") for suffix in ("partial", "old"))
    try:
        _restore(old, folder)
        if folder.exists() and not replace:
            raise UserError(f"{folder}: exists already; name another folder, or remove it")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        write_model(model, tokenizer, spec, partial, dtype)
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
    except (OSError, SafetensorError) as error:  # safetensors has its own error for a full disk
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(f"{folder}: cannot write the model: {reason}; nothing was changed there") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        _restore(old, folder)


def _restore(old: Path, folder: Path) -> None:
    """Put the old folder back if nothing took its place, or else remove it."""
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _digest(tokenizer: Tokenizer) -> str:
    return hashlib.sha256(tokenizer.serialized).hexdigest()


def is_complete(folder: Path) -> bool:
    """Whether all files of a model folder are there."""
    return all((folder / name).is_file() for name in FILES)


def resolve(path: Path, say: Callable[[str], None]) -> Path:
    """The model folder that `path` means: itself, a run's `model/`, or else the run's newest checkpoint, which is said.

    UserError if there is none.
    """
    if is_complete(path):
        return path
    if is_complete(path / "model"):
        return path / "model"
    # Names are step-00000123, so that their order is that of the steps.
    steps = sorted(folder for folder in path.glob("checkpoints/step-*") if is_complete(folder))
    if steps:
        say(f"{path} has no final model yet; using its checkpoint {steps[-1].name}")
        return steps[-1]
    if not path.exists():
        raise UserError(f"{path}: no such folder; name a run directory or a model folder")
    if (path / "model.bin").is_file():
        raise UserError(f"{path}: is a CTranslate2 folder; add --engine ctranslate2, or name the model it was made of")
    missing = [name for name in FILES if not (path / name).is_file()]
    if len(missing) < len(FILES) - 1:  # a run directory has a config.json of its own
        raise UserError(f"{path}: not a complete model folder: {', '.join(missing)} is missing; copy it again")
    raise UserError(f"{path}: neither a model folder nor a run directory that holds a model or a checkpoint")
