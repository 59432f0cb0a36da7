"""Choose a model, load it, and set up this machine for it."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from translate.commands.messages import say
from translate.errors import UserError
from translate.models import registry
from translate.models.folder import TranslationSpec
from translate.text import identification


@dataclass(frozen=True)
class ModelChoice:
    """The model that the user asks for.

    Attributes:
        name: path or name of a model; None chooses one, see `translate.models.registry.find_model`.
        source, target: language codes that the model must have; None accepts any, and the source "auto" is guessed.
    """

    name: Path | None = None
    source: str | None = None
    target: str | None = None

    def find(self, sentences: Sequence[str] = (), path: Path | None = None) -> Path:
        """Return the model folder for a text given as `sentences`, the file `path`, or stdin.

        The text is read only to guess its language. Raises UserError if there is no such model.
        """
        source = self._guess(sentences, path) if self.source == "auto" else self.source
        return registry.find_model(self.name, say, source=source, target=self.target)

    def _guess(self, sentences: Sequence[str], path: Path | None) -> str:
        specs = [TranslationSpec.load(folder / "translation.json") for _, folder in registry.named_models()]
        known = sorted({spec.source for spec in specs if self.target in (None, spec.target)})
        guessed = identification.language_of(_sample(sentences, path), known)
        if guessed is None:
            raise UserError(
                f"--from auto: cannot guess the language of the text; name one of {', '.join(known) or 'none'}"
            )
        say(f"guessed the source language: {guessed}")
        return guessed


def _sample(sentences: Sequence[str], path: Path | None) -> list[str]:
    """The beginning of the text to translate; peeks at stdin without consuming it."""
    if sentences:
        return list(sentences)
    if path is not None:
        with path.open("rb") as file:
            return [file.read(2**16).decode("utf-8", errors="replace")]
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError("--from auto: there is no text yet to guess from; name the language")
    return [sys.stdin.buffer.peek().decode("utf-8", errors="replace")]  # type: ignore[union-attr]


def set_up_torch(threads: int | None) -> None:
    """Set the number of CPU threads, None for the default, and keep freed memory for the next tensors."""
    import torch

    from translate.machine import tune_malloc

    if threads is not None:
        torch.set_num_threads(threads)
    tune_malloc()
