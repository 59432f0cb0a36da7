"""Fine-tuning: the model whose weights and tokenizer a run starts from."""

import json
import re
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from transformer.checkpoint_io import load_tensors, load_weights
from transformer.config import ModelConfig, load_config
from transformer.model import Transformer
from translate.config.schema import DecodingSection, ExperimentConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import Say, UserError
from translate.files import new_folder, sha256
from translate.models import folder as model_folder
from translate.models import registry
from translate.models.folder import ModelFolder, TranslationSpec
from translate.training import checkpoints
from translate.training.run import Record, Run, writing

_FILES = {"weights_sha256": "model.safetensors", "tokenizer_sha256": "tokenizer.model"}

# Keys that may differ: trained weights fit any dropout rate and do not depend on how weights are initialised.
_FREE_FOR_WEIGHTS = {"dropout", "attention_dropout", "ffn_dropout", "init_gain"}


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
            path: path or name of a model, see `translate.models.registry.find_folder`. After "@" it may have the first
                digits of the SHA-256 of the weights, which must then match.
            say: receives a message if the model is a checkpoint of an unfinished run.

        Raises UserError if the digest is another one, UserError or CheckpointError if a file is damaged.
        """
        name, digest = _split(path)
        folder = registry.locate(name, say)
        ModelFolder.open(folder)
        digests = {key: sha256(folder / name) for key, name in _FILES.items()}
        if not digests["weights_sha256"].startswith(digest):
            raise UserError(
                f"{name}: the SHA-256 of its weights begins with {digests['weights_sha256'][:16]}, not with {digest}; "
                "name the model that has it, or the digest of this one"
            )
        return cls(folder, {"path": str(folder.resolve()), **digests})

    @property
    def spec(self) -> TranslationSpec:
        """Languages, decoding and limits of this model."""
        return TranslationSpec.load(self.folder)

    def load_tokenizer(self) -> Tokenizer:
        """Return the tokenizer that the corpus must be prepared with."""
        return Tokenizer.load(self.folder / "tokenizer.model")

    def load_into(self, model: Transformer) -> None:
        """Copy the weights into a model of the same architecture."""
        path = self.folder / "model.safetensors"
        load_weights(model, load_tensors(path), path)

    def kept_in(self, run: Run) -> "Parent":
        """Return a copy of this model in the run directory, made if needed, for the end of the run.

        UserError if this is another model than the run began with, or if the copy cannot be written.
        """
        if not _is_recorded(run.parent, self.record):
            self._require_recorded()
            with writing(run.parent, "the copy of the parent"), new_folder(run.parent, replace=True) as partial:
                for name in model_folder.FILES:
                    shutil.copyfile(self.folder / name, partial / name)
        return replace(self, folder=run.parent)

    def mix_into(self, model: Transformer, share: float) -> None:
        """Interpolate between a model trained from this one and this one: (1 - share) * trained + share * parent.

        UserError if this is another model than the run began with.
        """
        self._require_recorded()
        trained = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.load_into(model)
        for name, tensor in model.state_dict().items():  # the tensors are the model's own
            tensor.lerp_(trained[name], 1 - share)

    def _require_recorded(self) -> None:
        if not _is_recorded(self.folder, self.record):
            raise UserError(
                f"{self.record['path']}: the model that the run began from is gone or has changed; restore it, or set "
                "training.parent_share to 0"
            )

    def settings(self, config: ExperimentConfig, say: Say) -> ExperimentConfig:
        """Return the experiment with the vocabulary size of this model, and with its decoding; see `decoding`.

        Args:
            config: the experiment. Its tokenizer.vocab_size, if set, must equal the model's. Other keys of [tokenizer]
                have no effect, so that one experiment file serves a run and its fine-tuning.
            say: receives a message about keys without effect, and about those of [decoding] that are taken over.

        Raises UserError if languages, vocabulary or architecture do not fit this model.
        """
        if self.spec.target_sha256 or self.spec.tags:
            raise UserError(
                f"{self.folder}: an imported model with a tokenizer for each language, or with several target "
                "languages, cannot be fine-tuned; choose another model"
            )
        self._check_languages(config, say)
        section, size = config.tokenizer, load_config(self.folder).vocab_size
        if "vocab_size" in section.model_fields_set and section.vocab_size != size:
            raise UserError(
                f"tokenizer.vocab_size = {section.vocab_size} in the experiment and {size} in {self.folder}: a model "
                "keeps its vocabulary; take the key out"
            )
        if unused := sorted(section.model_fields_set - {"vocab_size"}):
            say(f"[tokenizer] {', '.join(unused)}: without effect, as the tokenizer is that of {self.folder}")
        decoding = self.decoding(config)
        own = config.decoding.model_dump()
        if taken := [f"{key} = {json.dumps(value)}" for key, value in decoding if value != own[key]]:
            say(f"[decoding] {', '.join(taken)}: as in {self.folder}")
        section = section.model_copy(update={"vocab_size": size})
        config = config.model_copy(update={"tokenizer": section, "decoding": decoding})
        self._check_architecture(config)
        return config

    def decoding(self, config: ExperimentConfig) -> DecodingSection:
        """Return the section [decoding], where a key that the experiment does not set has the value of this model.

        A model of the other direction has no say: its values suit the lengths of that direction.
        """
        section = config.decoding
        if self._is_turned(config.data.source, config.data.target):
            return section
        return DecodingSection(**self.spec.decoding.decoding() | section.model_dump(include=section.model_fields_set))

    def spec_after(self, spec: TranslationSpec) -> TranslationSpec:
        """Return the spec of a model that is trained from this one, with what still holds of this one's.

        The longest source is that of both trainings. `best_source_tokens` and `reverse_weight` direct the search, like
        [decoding], and those of a model of the same direction are a better start than none. `low_confidence` and
        `low_rerank_score` are not taken over: training changes probabilities, so a limit that was measured before
        would flag good translations or miss bad ones.
        """
        before, longest = self.spec, spec.max_source_tokens
        if longest is not None:
            longest = None if before.max_source_tokens is None else max(longest, before.max_source_tokens)
        spec = replace(spec, max_source_tokens=longest)
        if self._is_turned(spec.source, spec.target):
            return spec
        return replace(spec, best_source_tokens=before.best_source_tokens, reverse_weight=before.reverse_weight)

    def _is_turned(self, source: str, target: str) -> bool:
        """Return whether this model translates in another direction than from `source` to `target`."""
        return (source, target) != (self.spec.source, self.spec.target)

    def _check_languages(self, config: ExperimentConfig, say: Say) -> None:
        spec = self.spec
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

    def _check_architecture(self, config: ExperimentConfig) -> None:
        wanted = _architecture(config.model.architecture(config.tokenizer.vocab_size))
        stored = _architecture(load_config(self.folder))
        # A model without learned positions has no max_length; then `positions` differs, which is named first.
        for key in sorted(stored, key="positions".__ne__):
            if key in wanted and wanted[key] != stored[key]:
                mine, theirs = ("none" if value is None else json.dumps(value) for value in (wanted[key], stored[key]))
                mend = "take the key out" if stored[key] is None else f"set the key to {theirs}"
                raise UserError(
                    f"model.{key} = {mine} in the experiment and {theirs} in {self.folder}: {mend}, or start from "
                    "another model"
                )


def parent_of(run: Run, path: Path | None, say: Say, *, resume: bool) -> Parent | None:
    """Return the model that a run starts from, or None if it starts from random weights.

    Args:
        path: run directory or model folder to start from; None is the model that a resumed run began with.

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
    """Return the parent that `began` names, or None.

    If it is gone or has changed, its copy in a run directory or a checkpoint of `run` replaces it. Raises UserError if
    neither exists.
    """
    if (record := began.recorded_parent()) is None:
        return None
    for folder in (Path(record["path"]), run.parent, began.parent):
        if _is_recorded(folder, record):
            return Parent(folder, record)
    for folder in reversed(checkpoints.folders(run.checkpoints)):
        if _is_recorded(folder, record, "tokenizer_sha256"):
            return Parent(folder, record)
    raise UserError(f"{record['path']}: the model that {began.folder} began from is gone or has changed; restore it")


def _split(path: Path) -> tuple[Path, str]:
    """Return the path or name and the digest after its "@"; "" if it has none or names a folder as a whole."""
    name, at, digest = path.name.rpartition("@")
    if not at or registry.existing(path):
        return path, ""
    digest = digest.lower().removeprefix("sha256:")
    if not name or not re.fullmatch("[0-9a-f]{8,64}", digest):
        raise UserError(
            f"{path}: after @ come the first digits of the SHA-256 of the model's weights, at least 8, as in "
            "--from de-en@0123abcd"
        )
    return path.with_name(name), digest


def _is_recorded(folder: Path, record: Record, *keys: str) -> bool:
    """Return whether a folder holds the model of a record; with `keys`, whether these of its digests are equal."""
    return model_folder.is_complete(folder) and all(
        sha256(folder / _FILES[key]) == record[key] for key in keys or _FILES
    )


def _architecture(config: ModelConfig) -> dict[str, object]:
    """Return the values that must be equal for two models to share weights."""
    values = {key: value for key, value in asdict(config).items() if key not in _FREE_FOR_WEIGHTS}
    if config.positions != "learned":
        del values["max_length"]  # it bounds learned positions alone
    return {**values, "d_k": config.d_key, "d_v": config.d_value}
