"""Fine-tuning: the model whose weights and tokenizer a run begins with."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from transformer.checkpoint_io import load_config, load_tensors, load_weights
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.presets import resolve
from translate.config.schema import ExperimentConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec
from translate.training import checkpoint
from translate.training.run import Run

Say = Callable[[str], None]

# A rate is a choice of training: no weight depends on it.
_FREE = {"dropout", "attention_dropout", "ffn_dropout"}


@dataclass(frozen=True)
class Parent:
    """A model to start from.

    Attributes:
        folder: the model folder; while a run goes on, one of the run's checkpoints may stand in for it.
        path: where the model was when the run began.
        weights, tokenizer: SHA-256 of its model.safetensors and tokenizer.model.
    """

    folder: Path
    path: str
    weights: str
    tokenizer: str

    @classmethod
    def open(cls, path: Path, say: Say) -> "Parent":
        """The model that `path`, a run directory or a model folder, means.

        UserError or CheckpointError unless all of it is sound: training is long, and preparing a corpus too.
        """
        folder = model_folder.resolve(path, say)
        ModelFolder.open(folder)
        return cls(
            folder,
            str(folder.resolve()),
            _digest(folder / "model.safetensors"),
            _digest(folder / "tokenizer.model"),
        )

    @property
    def record(self) -> dict[str, str]:
        """What the manifest of the run keeps."""
        return {"path": self.path, "weights_sha256": self.weights, "tokenizer_sha256": self.tokenizer}

    def load_tokenizer(self) -> Tokenizer:
        """The tokenizer that the corpus is prepared with: weights mean nothing under another one."""
        return Tokenizer.load(self.folder / "tokenizer.model")

    def give_weights(self, model: Transformer) -> None:
        """Copy the weights into a model of the same architecture."""
        path = self.folder / "model.safetensors"
        load_weights(model, load_tensors(path), path)

    def settings(self, config: ExperimentConfig, say: Say) -> ExperimentConfig:
        """The experiment with the size of the stored vocabulary; UserError if it is not one for this model.

        A tokenizer.vocab_size in the file is a size of the model and has to agree. What else [tokenizer] sets tells
        how to train a tokenizer, and none is trained, so that one file serves a run and its fine-tuning: that is said.
        """
        self._check_languages(config, say)
        section, size = config.tokenizer, load_config(self.folder).vocab_size
        if "vocab_size" in section.model_fields_set and section.vocab_size != size:
            raise UserError(
                f"tokenizer.vocab_size = {section.vocab_size} in the experiment and {size} in {self.folder}: a model "
                "keeps its vocabulary; take the key out"
            )
        if unused := sorted(section.model_fields_set - {"vocab_size"}):
            say(f"[tokenizer] {', '.join(unused)}: without effect, as the tokenizer is that of {self.folder}")
        config = config.model_copy(update={"tokenizer": section.model_copy(update={"vocab_size": size})})
        self._check_architecture(config)
        return config

    def _check_languages(self, config: ExperimentConfig, say: Say) -> None:
        spec = TranslationSpec.load(self.folder / "translation.json")
        own, stored = (config.data.source, config.data.target), (spec.source, spec.target)
        if own == stored:
            return
        if own == stored[::-1]:
            say(f"{self.folder} translates {spec.source} to {spec.target}: its weights begin the other direction")
        else:
            key, i = ("source", 0) if own[0] != stored[0] else ("target", 1)
            raise UserError(
                f'data.{key} = "{own[i]}" in the experiment and "{stored[i]}" in {self.folder}: start from a model of '
                "the same two languages"
            )

    def _check_architecture(self, config: ExperimentConfig) -> None:
        overrides = config.model.model_dump(exclude={"preset"})
        wanted = _architecture(resolve(config.model.preset, overrides, config.tokenizer.vocab_size))
        stored = _architecture(load_config(self.folder))
        for key, value in stored.items():
            if wanted[key] != value:
                raise UserError(
                    f"model.{key} = {wanted[key]} in the experiment and {value} in {self.folder}: set the key to "
                    f"{value}, or start from another model"
                )


def parent_of(run: Run, path: Path | None, say: Say, *, resume: bool) -> Parent | None:
    """The model that `run` starts from: that of `path`, or when it goes on, the one that it began with.

    UserError if it goes on and `path` is another one.
    """
    record = run.recorded_parent() if resume else None
    if path is None:
        return None if record is None else recorded(record, run)
    parent = Parent.open(path, say)
    if not (resume and run.has_begun):
        return parent
    if record is None:
        raise UserError(f"{run.folder}: its run began without --from; leave that out, or name another --run")
    for key in ("weights_sha256", "tokenizer_sha256"):
        if parent.record[key] != record[key]:
            raise UserError(
                f"{run.folder}: its run began from {record['path']}, and {path} is another model ({key}); leave --from "
                "out, or name another --run"
            )
    return parent


def recorded(record: dict[str, str], run: Run) -> Parent:
    """The parent that a manifest's `record` names, or where it is gone and no longer needed, a checkpoint of `run`.

    UserError if neither is what it was.
    """
    path, weights, tokenizer = (record[key] for key in ("path", "weights_sha256", "tokenizer_sha256"))
    steps = checkpoint.checkpoints(run.checkpoints)
    needed = [] if steps else [("model.safetensors", weights)]
    for folder in (Path(path), *reversed(steps)):
        files = [*needed, ("tokenizer.model", tokenizer)]
        if model_folder.is_complete(folder) and all(_digest(folder / name) == digest for name, digest in files):
            return Parent(folder, path, weights, tokenizer)
    raise UserError(f"{path}: the model that {run.folder} began from is gone or has changed; restore it")


def _architecture(config: ModelConfig) -> dict[str, object]:
    """What two configs must share for the weights of one to mean the same in the other."""
    values = {key: value for key, value in asdict(config).items() if key not in _FREE}
    if config.positions != "learned":
        del values["max_length"]  # it bounds learned positions alone
    return {**values, "d_k": config.d_key, "d_v": config.d_value}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
