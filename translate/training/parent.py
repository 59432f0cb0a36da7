"""Fine-tuning: the model whose weights and tokenizer a run starts from."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from transformer.checkpoint_io import load_config, load_tensors, load_weights
from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.config.schema import ExperimentConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import Say, UserError
from translate.files import sha256
from translate.models import folder as model_folder
from translate.models import registry
from translate.models.folder import ModelFolder, TranslationSpec
from translate.training import checkpoint
from translate.training.growth import grow, may_grow
from translate.training.run import Record, Run

_FILES = {"weights_sha256": "model.safetensors", "tokenizer_sha256": "tokenizer.model"}

# Keys that may differ: trained weights fit any dropout rate and do not depend on how weights are initialised.
_FREE = {"dropout", "attention_dropout", "ffn_dropout", "init_gain"}


@dataclass(frozen=True)
class Parent:
    """A model to start from.

    Attributes:
        folder: the model folder; for a resumed run it may be one of the run's checkpoints.
        record: the entry in the run's manifest: path of the model folder when the run began, and SHA-256 of its
            model.safetensors and tokenizer.model.
    """

    folder: Path
    record: Record

    @classmethod
    def open(cls, path: Path, say: Say) -> "Parent":
        """Return the model of a path or name.

        Args:
            path: path or name of a model, see `translate.models.registry.find_folder`.
            say: receives a message if the model is a checkpoint of an unfinished run.

        Raises UserError or CheckpointError if a file is damaged.
        """
        folder = registry.locate(path, say)
        ModelFolder.open(folder)
        digests = {key: sha256(folder / name) for key, name in _FILES.items()}
        return cls(folder, {"path": str(folder.resolve()), **digests})

    def load_tokenizer(self) -> Tokenizer:
        """Return the tokenizer that the corpus must be prepared with."""
        return Tokenizer.load(self.folder / "tokenizer.model")

    def give_weights(self, model: Transformer) -> None:
        """Copy the weights into a model of the same architecture, or grow them into a larger one."""
        path, stored = self.folder / "model.safetensors", load_config(self.folder)
        tensors = load_tensors(path)
        with torch.random.fork_rng(devices=[]):  # checking the file must not change what training draws
            load_weights(Transformer(stored), tensors, path)
        model.load_state_dict(grow(tensors, model.state_dict(), stored, model.config))

    def mix_into(self, model: Transformer, share: float) -> None:
        """Add this model's weights to those of a model trained from it: (1 - share) * trained + share * parent.

        UserError if this is another model than the run began with.
        """
        path = self.folder / "model.safetensors"
        if sha256(path) != self.record["weights_sha256"]:
            raise UserError(
                f"{self.record['path']}: the model that the run began from is gone or has changed; restore it, or set "
                "training.parent_share to 0"
            )
        trained = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.give_weights(model)
        for name, tensor in model.state_dict().items():  # the tensors are the model's own
            tensor.lerp_(trained[name], 1 - share)

    def settings(self, config: ExperimentConfig, say: Say) -> ExperimentConfig:
        """Return the experiment with the vocabulary size of this model.

        Args:
            config: the experiment. Its tokenizer.vocab_size, if set, must equal the model's. Other keys of [tokenizer]
                have no effect, so that one experiment file serves a run and its fine-tuning.
            say: receives a message about keys without effect and about growth.

        Raises UserError if languages, vocabulary or architecture do not fit this model.
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
        self._check_architecture(config, say)
        return config

    def _check_languages(self, config: ExperimentConfig, say: Say) -> None:
        spec = TranslationSpec.load(self.folder / "translation.json")
        wanted, stored = (config.data.source, config.data.target), (spec.source, spec.target)
        if wanted == stored:
            return
        if wanted == stored[::-1]:
            say(f"{self.folder} translates {spec.source} to {spec.target}: its weights begin the other direction")
        else:
            key, i = ("source", 0) if wanted[0] != stored[0] else ("target", 1)
            raise UserError(
                f'data.{key} = "{wanted[i]}" in the experiment and "{stored[i]}" in {self.folder}: start from a model '
                "of the same two languages"
            )

    def _check_architecture(self, config: ExperimentConfig, say: Say) -> None:
        large, small = config.model.architecture(config.tokenizer.vocab_size), load_config(self.folder)
        wanted, stored = _architecture(large), _architecture(small)
        # A model without learned positions has no max_length; then `positions` differs, which is named first.
        keys = sorted(stored, key="positions".__ne__)
        differ = [key for key in keys if key in wanted and wanted[key] != stored[key]]
        for key in differ:
            if not may_grow(key, small, large):
                mine, theirs = ("none" if value is None else json.dumps(value) for value in (wanted[key], stored[key]))
                mend = "take the key out" if stored[key] is None else f"set the key to {theirs}"
                raise UserError(
                    f"model.{key} = {mine} in the experiment and {theirs} in {self.folder}: {mend}, or start from "
                    "another model"
                )
        if differ:
            grown = ", ".join(f"model.{key} from {stored[key]} to {wanted[key]}" for key in differ)
            say(f"{self.folder}: grows in {grown}, and at first computes the same")


def parent_of(run: Run, path: Path | None, say: Say, *, resume: bool) -> Parent | None:
    """Return the model that a run starts from, or None if it starts from random weights.

    Args:
        run: the run directory.
        path: run directory or model folder to start from; None is the model that a resumed run began with.
        say: receives each message to the user.
        resume: whether the run is resumed.

    Raises UserError if the run began with another model.
    """
    if path is None:
        return recorded(run, run) if resume else None
    parent = Parent.open(path, say)
    if not (resume and run.has_begun):
        return parent
    if (record := run.recorded_parent()) is None:
        raise UserError(f"{run.folder}: its run began without --from; leave that out, or name another --run")
    for key in _FILES:
        if parent.record[key] != record[key]:
            raise UserError(
                f"{run.folder}: its run began from {record['path']}, and {path} is another model ({key}); leave --from "
                "out, or name another --run"
            )
    return parent


def recorded(began: Run, run: Run) -> Parent | None:
    """Return the parent that `began` names, or None; if it is gone or has changed, a checkpoint of `run` replaces it.

    Raises UserError if there is neither.
    """
    if (record := began.recorded_parent()) is None:
        return None
    steps = checkpoint.checkpoints(run.checkpoints)
    candidates = [(Path(record["path"]), [*_FILES]), *((step, ["tokenizer_sha256"]) for step in reversed(steps))]
    for folder, same in candidates:
        if model_folder.is_complete(folder) and all(sha256(folder / _FILES[key]) == record[key] for key in same):
            return Parent(folder, record)
    raise UserError(f"{record['path']}: the model that {began.folder} began from is gone or has changed; restore it")


def _architecture(config: ModelConfig) -> dict[str, object]:
    """Return the values that must be equal for two models to share weights."""
    values = {key: value for key, value in asdict(config).items() if key not in _FREE}
    if config.positions != "learned":
        del values["max_length"]  # it bounds learned positions alone
    return {**values, "d_k": config.d_key, "d_v": config.d_value}
