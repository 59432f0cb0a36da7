"""A model folder of another toolkit: its files and settings, with errors that name the file and the setting."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from translate.config.decoding import DecodingConfig
from translate.errors import Say, UserError

Supported = Mapping[str, Collection[object]]


@dataclass(frozen=True)
class ForeignFolder:
    """A folder that another toolkit wrote; every method raises UserError for a file or setting that it cannot use.

    Attributes:
        path: the folder.
        toolkit: name of the toolkit, for messages.
    """

    path: Path
    toolkit: str

    def unsupported(self, what: str) -> UserError:
        """Return the error for a model with a feature that this project does not have."""
        return UserError(
            f"{self.path}: this {self.toolkit} model has {what}, which is not supported here; it cannot be imported"
        )

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        path = self.path / name
        try:
            return path.read_bytes()
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}; a {self.toolkit} folder needs it") from error

    def read_tokenizer(self, source: str, target: str, say: Say) -> bytes:
        """Return the tokenizer of the source language.

        Args:
            source, target: file names; the second file may be missing.
            say: receives a note if the target language has another tokenizer.
        """
        tokenizer = self.read(source)
        if (self.path / target).is_file() and self.read(target) != tokenizer:
            say(
                "the separate tokenizer of the target language is not kept: "
                "translate with the model, do not fine-tune it"
            )
        return tokenizer

    def read_lines(self, name: str) -> list[str]:
        """Return the lines of a UTF-8 file without their ends."""
        try:
            return [line.removesuffix("\r") for line in self.read(name).decode("utf-8").split("\n")]
        except UnicodeDecodeError as error:
            raise UserError(f"{self.path / name}: not UTF-8 text; copy it again") from error

    def read_json(self, name: str, *, optional: bool = False) -> dict[str, Any]:
        """Return the object of a JSON file, an empty one if an `optional` file is missing."""
        if optional and not (self.path / name).is_file():
            return {}
        try:
            values = json.loads(self.read(name))
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise UserError(f"{self.path / name}: damaged; copy the folder again")
        return values

    def load_checkpoint(self, names: Sequence[str], allowed: Sequence[type] = ()) -> Mapping[str, Any]:
        """Return the contents of a safetensors file or a file of `torch.save`.

        Args:
            names: file names; the first that exists is read.
            allowed: classes that may be unpickled beside tensors and plain values.
        """
        path = next((self.path / name for name in names if (self.path / name).is_file()), None)
        if path is None:
            raise UserError(f"{self.path}: has none of {', '.join(names)}; copy the checkpoint into it")
        try:
            if path.suffix == ".safetensors":
                return load_file(path)
            with torch.serialization.safe_globals(list(allowed)):
                found = torch.load(path, map_location="cpu", weights_only=True)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
        except Exception as error:  # a damaged file can make the unpickler fail in any way
            raise UserError(
                f"{path}: is damaged, or holds more than tensors and settings, which is not loaded because it could "
                "be a program; copy it again, or save it without its training state"
            ) from error
        if not isinstance(found, Mapping):
            raise UserError(f"{path}: is not a {self.toolkit} checkpoint")
        return found

    def require(self, settings: Mapping[str, Any], supported: Supported, *, where: str = "") -> None:
        """Check that every setting in `supported` has a supported value; a missing one counts as None.

        Args:
            settings: values by name.
            supported: the supported values of each setting.
            where: prefix of the names in messages, such as "model.encoder.".
        """
        for name, values in supported.items():
            if (value := settings.get(name)) not in values:
                raise self.unsupported(f"{where}{name} = {value!r}")

    def require_equal(self, settings: Mapping[str, Any], names: Sequence[str], pattern: str) -> None:
        """Check that encoder and decoder have the same settings.

        Args:
            settings: values by full name.
            names: settings that must agree.
            pattern: the full name of a setting, such as "{stack}_{name}".
        """
        for name in names:
            encoder, decoder = (pattern.format(stack=stack, name=name) for stack in ("encoder", "decoder"))
            if (one := settings.get(encoder)) != (other := settings.get(decoder)):
                raise self.unsupported(f"{encoder} = {one!r} with {decoder} = {other!r}")

    def languages(self, source: object, target: object) -> tuple[str, str]:
        """Return both languages; UserError if one is missing or is no text."""
        if not (isinstance(source, str) and isinstance(target, str) and source and target):
            raise UserError(f"{self.path}: does not name its languages; name them with --source and --target")
        return source, target

    def decoding(self, values: Mapping[str, Any], settings: str) -> DecodingConfig:
        """Return the decoding section for `values`; UserError names the toolkit's `settings` if they are invalid."""
        try:
            return DecodingConfig(**values)
        except (TypeError, ValueError) as error:
            raise self.unsupported(settings) from error
