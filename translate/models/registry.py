"""Models that are found by name: those that ship with the program, the user's own, and the runs at hand."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from translate.errors import UserError
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec

CARDS = ("README.md", "card.md")
DEFAULT = "de-en"  # the installed model that translates where nothing else is asked for


def places() -> list[Path]:
    """Where models have names, first come first served.

    The models that ship with the program, those of the user in $TRANSLATE_HOME or ~/.local/share/translate, and the
    runs of the working directory.
    """
    home = os.environ.get("TRANSLATE_HOME")
    user = Path(home) if home else Path.home() / ".local" / "share" / "translate"
    return [Path(__file__).parent, user / "models", Path("runs")]


def installed() -> list[Path]:
    """The models that can be named, in the order of `places()`, then by name: model folders, or runs that hold one."""
    found = [folder for place in places() if place.is_dir() for folder in sorted(place.iterdir())]
    return [folder for folder in found if model_in(folder)]


def model_in(folder: Path) -> Path | None:
    """The complete model folder that this is or, as a run, holds."""
    return next((path for path in (folder, folder / "model") if model_folder.is_complete(path)), None)


def locate(path: Path, say: Callable[[str], None]) -> Path:
    """The model folder that a path, or the name of an installed model, means; UserError if there is none.

    A path that exists comes before a name. What is ambiguous is said.
    """
    is_name = path.name == str(path)
    named = [place / path for place in places() if is_name and model_in(place / path)]
    if path.exists() or not named:
        if named:
            say(f"using the folder {path} here, not the installed model {named[0]}")
        elif is_name and not path.exists():
            raise UserError(
                f"{path}: no such folder, and no model of this name is installed (see translate models); name a run "
                "directory, a model folder or an installed model"
            )
        return model_folder.resolve(path, say)
    if len(named) > 1:
        say(f"using {named[0]}, the first of {len(named)} models called {path}")
    return model_folder.resolve(named[0], say)


def find(path: Path | None, say: Callable[[str], None]) -> Path:
    """The model folder to use: `path` if given, else $TRANSLATE_MODEL, else the newest final model in runs/.

    What is ambiguous is said; UserError if there is no model.
    """
    chosen = path or os.environ.get("TRANSLATE_MODEL")
    if chosen:
        return locate(Path(chosen), say)
    models = _runs()
    if not models:
        raise UserError(
            "there is no model: name one with --model or $TRANSLATE_MODEL, or make one with `make demo` or "
            "`translate train CONFIG`"
        )
    if len(models) > 1:
        say(f"using {models[0]}, the newest of {len(models)} models in runs/")
    return models[0]


def choose(
    path: Path | None, say: Callable[[str], None], *, source: str | None = None, target: str | None = None
) -> Path:
    """The model folder to translate with; as `find`, but an installed model comes before the runs.

    Args:
        path: a path or a name; None takes $TRANSLATE_MODEL, else the first installed model of the wanted languages,
            which is DEFAULT where none are wanted, else the newest run.
        say: takes notes on what is ambiguous.
        source, target: languages that the model must have; None is any.

    Raises UserError if there is no such model.
    """
    chosen = path or os.environ.get("TRANSLATE_MODEL")
    if not chosen and (source or target):
        return _by_languages(source, target, say)
    default = next((folder for place in places()[:2] if (folder := model_in(place / DEFAULT))), None)
    if chosen or default is None:
        folder = find(path, say)
        require_languages(folder, source, target)
        return folder
    if runs := _runs():
        say(f"using the installed model {DEFAULT}; for the newest run add --model {runs[0].parent}")
    return default


def _runs() -> list[Path]:
    """The final models in runs/, newest first."""
    models = [folder for folder in Path("runs").glob("*/model") if model_folder.is_complete(folder)]
    return sorted(models, key=lambda folder: -(folder / "model.safetensors").stat().st_mtime)


def _by_languages(source: str | None, target: str | None, say: Callable[[str], None]) -> Path:
    """The first installed model between two languages; UserError if there is none, or none for one target alone."""
    fitting = [folder for path in installed() if (folder := model_in(path)) and _speaks(folder, source, target)]
    pairs = {(spec.source, spec.target) for spec in map(_spec, fitting)}
    if not fitting:
        raise UserError(
            f"no installed model translates {_wanted(source, target)} (see translate models); name one with --model"
        )
    if len(pairs) > 1:
        known = ", ".join(f"{one} to {other}" for one, other in sorted(pairs))
        raise UserError(f"several models translate {_wanted(source, target)}: {known}; name both with --from and --to")
    if len(fitting) > 1:
        say(f"using {fitting[0]}, the first of {len(fitting)} models {_wanted(source, target)}")
    return fitting[0]


def require_languages(folder: Path, source: str | None, target: str | None) -> None:
    """UserError if the model in `folder` has other languages; None is any."""
    if not _speaks(folder, source, target):
        spec = _spec(folder)
        raise UserError(
            f"{folder}: translates from {spec.source} to {spec.target}, not {_wanted(source, target)}; name another "
            "model, or leave --from and --to out"
        )


def _speaks(folder: Path, source: str | None, target: str | None) -> bool:
    spec = _spec(folder)
    return source in (None, spec.source) and target in (None, spec.target)


def _wanted(source: str | None, target: str | None) -> str:
    return " ".join(f"{word} {language}" for word, language in (("from", source), ("to", target)) if language)


def _spec(folder: Path) -> TranslationSpec:
    return TranslationSpec.load(folder / "translation.json")


def card(folder: Path) -> str | None:
    """The text of a model's card; None where there is none."""
    path = next((folder / name for name in CARDS if (folder / name).is_file()), None)
    return None if path is None else path.read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class Weights:
    """What a file of weights holds, read from its header alone.

    Attributes:
        n_parameters: numbers of the network, scales of compact weights not counted.
        precision: of its largest tensors: "fp32", "bf16" or "int8", or another type as safetensors calls it.
        n_bytes: size of the file.
    """

    n_parameters: int
    precision: str
    n_bytes: int

    @classmethod
    def read(cls, path: Path) -> "Weights":
        """UserError if `path` is no safetensors file."""
        try:
            with path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(min(size, path.stat().st_size)))
            sizes: dict[str, int] = {}
            for name, tensor in header.items():
                if name == "__metadata__" or name.removesuffix(".scale") in header.keys() - {name}:
                    continue
                sizes[tensor["dtype"]] = sizes.get(tensor["dtype"], 0) + math.prod(tensor["shape"])
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}; copy the model folder again") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: the file is damaged or truncated; copy the model folder again") from error
        dtype = max(sizes, key=lambda name: sizes[name], default="")
        precision = {"F32": "fp32", "BF16": "bf16", "I8": "int8"}.get(dtype, dtype)
        return cls(sum(sizes.values()), precision, path.stat().st_size)
