"""Systems to compare: models, which translate the test sets, and files with saved output."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from translate.commands.messages import say
from translate.commands.opening import set_up_torch
from translate.commands.test_sets import TestSets
from translate.config.decoding import TranslationOptions
from translate.corpus.lines import read_lines
from translate.corpus.sources import Pair
from translate.errors import UserError
from translate.evaluation.plausibility import check_hypotheses
from translate.files import sha256
from translate.models import registry
from translate.models.folder import TranslationSpec
from translate.options.comparing import Comparing


@dataclass(frozen=True)
class System:
    """A model or a file.

    Attributes:
        name: shown in reports, different from those of the others.
        named: as the user wrote it; None is the default model.
        folder: of the model; None for a file.
    """

    name: str
    named: Path | None
    folder: Path | None

    @property
    def spec(self) -> TranslationSpec | None:
        """The languages of a model; None for a file."""
        return None if self.folder is None else TranslationSpec.load(self.folder / "translation.json")


@dataclass(frozen=True)
class Output:
    """Translations of one test set.

    Attributes:
        hypotheses: one for each line.
        seconds: time of the search; None for saved output.
    """

    hypotheses: list[str]
    seconds: float | None = None


def find_systems(names: Sequence[Path]) -> list[System]:
    """Return the systems of paths or names of models, or the default model if there are none.

    Raises UserError if a model does not exist or if a system is named twice.
    """
    if not names:
        folder = registry.find_model(None, say).resolve()
        return [System(folder.parent.name if folder.name == "model" else folder.name, None, folder)]
    folders = [None if path.is_file() else registry.find_model(path, say) for path in names]
    short = [path.stem if folder is None else path.resolve().name for path, folder in zip(names, folders, strict=True)]
    labels = short if len(set(short)) == len(short) else [str(path) for path in names]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise UserError(f"{twice}: named twice; name different systems")
    return [System(*system) for system in zip(labels, names, folders, strict=True)]


def languages(options: Comparing, systems: Sequence[System]) -> tuple[str | None, str | None]:
    """Return source and target: those that the user names, or else those of the models; None if unknown.

    Raises UserError if the models translate between different languages, or not between those that the user names.
    """
    for system in systems:
        if system.folder:
            registry.require_languages(system.folder, options.from_language, options.to_language)
    specs = {system.name: spec for system in systems if (spec := system.spec)}
    pairs = {(spec.source, spec.target): name for name, spec in specs.items()}
    if len(pairs) > 1:
        (one, first), (other, second) = list(pairs.items())[:2]
        raise UserError(
            f"{first} translates {one[0]} to {one[1]}, but {second} translates {other[0]} to {other[1]}; compare "
            "models for the same languages"
        )
    source, target = next(iter(pairs), (None, None))
    return options.from_language or source, options.to_language or target


def check_search(options: Comparing, systems: Sequence[System]) -> None:
    """Raise UserError for settings of the search without a model, or that no model can follow."""
    for_translation(options)
    if options.rerank:
        registry.locate(Path(options.rerank), lambda _: None, exported=True)
    if not any(system.folder for system in systems):
        for name in ("beam", "alpha", "length_penalty", "rerank", "engine", "precision", "threads"):
            if getattr(options, name) != getattr(Comparing, name):
                raise UserError(f"--{name.replace('_', '-')} is for models; leave it out for saved outputs")


def for_translation(options: Comparing) -> TranslationOptions:
    """Return the options of the translation; UserError if they are impossible."""
    return TranslationOptions(
        beam_size=options.beam,
        alpha=options.alpha,
        length_penalty=options.length_penalty,
        rerank=options.rerank,
        engine=options.engine,
        precision=options.precision,
        threads=options.threads,
    )


def check_saved(system: System, sets: TestSets, *, ignore_case: bool) -> None:
    """Raise UserError if a saved output cannot be scored on these test sets.

    Args:
        system: a file.
        sets: there must be one, with as many lines.
        ignore_case: allow output without capitals.
    """
    if len(sets) > 1:
        raise UserError(f"{system.named}: is the output for one test set, but there are {len(sets)}: {', '.join(sets)}")
    ((name, pairs),) = sets.items()
    lines = SavedOutput(system.named or Path()).output(name, pairs).hypotheses
    check_hypotheses(str(system.named), lines, [reference for _, reference in pairs], ignore_case=ignore_case)


def warn(system: System, output: Output, pairs: Sequence[Pair], *, ignore_case: bool) -> None:
    """Report translations of a model that would be refused in a file.

    Args:
        system: a file has been checked before.
        output: its translations.
        pairs: sources and references.
        ignore_case: allow output without capitals.
    """
    if system.folder is None:
        return
    try:
        check_hypotheses(system.name, output.hypotheses, [r for _, r in pairs], ignore_case=ignore_case)
    except UserError as error:
        say(f"warning: {error}")


def open_system(system: System, options: Comparing) -> "SavedOutput | LoadedModel":
    """Return the system ready to use; UserError if the model cannot be loaded."""
    return LoadedModel(system.folder, options) if system.folder else SavedOutput(system.named or Path())


class SavedOutput:
    """A file with the translations of one test set.

    Attributes:
        origin: nothing, because the file does not say where it comes from.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.origin: dict[str, object] = {}

    def output(self, name: str, pairs: Sequence[Pair]) -> Output:
        """Return the lines of the file; UserError if they cannot be read."""
        return Output(list(read_lines(self._path)))


class LoadedModel:
    """A model with search options.

    Attributes:
        origin: the settings of the search, the engine, its precision if it is not fp32, the folder, and the digests of
            its weights and of those of the reranker.
    """

    def __init__(self, folder: Path, options: Comparing) -> None:
        from translate.inference.engines import CTranslate2Engine, TorchEngine
        from translate.inference.translator import Translator

        self._translator = Translator.open(folder, for_translation(options), say)
        engine = self._translator.engine
        is_torch = isinstance(engine, TorchEngine)
        if is_torch:
            set_up_torch(options.threads)
        self.origin: dict[str, object] = {
            "decoding": asdict(self._translator.decoding),
            "engine": "torch" if is_torch else "ctranslate2",
            "model": str(folder),
            "model_sha256": sha256(folder / "model.safetensors"),
        }
        if isinstance(engine, TorchEngine | CTranslate2Engine) and engine.precision != "fp32":
            self.origin["precision"] = engine.precision
        if self._translator.reranker is not None:
            self.origin["reranker_sha256"] = sha256(self._translator.reranker.folder / "model.safetensors")

    def output(self, name: str, pairs: Sequence[Pair]) -> Output:
        """Translate a test set, with a progress bar of this name."""
        from tqdm import tqdm

        start = time.perf_counter()
        stream = self._translator.translate_lines(source for source, _ in pairs)
        hypotheses = [line.text for line in tqdm(stream, name, len(pairs), disable=None, leave=False)]
        return Output(hypotheses, time.perf_counter() - start)
