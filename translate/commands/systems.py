"""The code that `evaluate` and `compare` share: their options, the test sets, and the systems.

A system is a model, which translates the test sets, or a file with saved output.
"""

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from translate.config.schema import SacrebleuSource, Source, TextSource
from translate.corpus.sources import Pair, read_pairs
from translate.errors import UserError, option_name, say
from translate.evaluation.scores import check_hypotheses
from translate.files import OPENERS, as_unicode, read_json, read_lines, sha256
from translate.machine import set_up_torch
from translate.models import registry
from translate.models.folder import TranslationSpec
from translate.options import flag, language_option, nested, option
from translate.text.translation import Opening, Search

TEST_SETS, METRICS = "Test sets", "Metrics"

TestSets = dict[str, list[Pair]]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """The options that evaluate and compare have: the test sets, the case, and the search."""

    source: Annotated[Path | None, option(TEST_SETS, "FILE", "Source sentences, one per line.")] = None
    reference: Annotated[Path | None, option(TEST_SETS, "FILE", "Their translations; enough for saved outputs.")] = None
    test_set: Annotated[list[str] | None, option(TEST_SETS, "NAME", "Use this test set of sacreBLEU; repeatable.")] = (
        None
    )
    valid: Annotated[bool, flag(TEST_SETS, "--valid", "Use the validation set of the run.")] = False
    from_language: Annotated[
        str | None, language_option(TEST_SETS, "Source language [default: the models'].", "--from")
    ] = None
    to_language: Annotated[
        str | None, language_option(TEST_SETS, "Target language [default: the models'].", "--to")
    ] = None
    ignore_case: Annotated[bool, flag(METRICS, "--ignore-case", "Compare in lower case.")] = False
    search: Annotated[Search, nested("beam_size", "alpha", "length_penalty", "rerank", "formality")] = Search()
    opening: Annotated[Opening, nested("engine", "precision", "threads")] = Opening(engine="torch")


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
        return None if self.folder is None else TranslationSpec.load(self.folder)


@dataclass(frozen=True)
class SystemOutput:
    """Translations of one test set.

    Attributes:
        seconds: time of the search; None for saved output.
    """

    hypotheses: list[str]
    seconds: float | None = None


def find(options: ComparisonOptions, names: Sequence[Path]) -> tuple[list[System], TestSets, str | None]:
    """Return the systems, the test sets and the target language, None if it is unknown; UserError for wrong input."""
    systems = _find_systems(names)
    source, target = _languages(options, systems)
    model = next((system.folder for system in systems if system.folder), None)
    return systems, _find_sets(options, model, source, target), target


def _find_systems(names: Sequence[Path]) -> list[System]:
    """Return the systems of paths or names of models, or the default model if there are none.

    Raises UserError if a model does not exist or if a system is named twice.
    """
    if not names:
        folder = registry.find_model(None, say).resolve()
        return [System(folder.parent.name if folder.name == "model" else folder.name, None, folder)]
    if settings := next((path for path in names if path.suffix == ".toml" and path.is_file()), None):
        raise UserError(f"{settings}: has settings, not translations; name its run, such as runs/{settings.stem}")
    folders = [None if path.is_file() else registry.find_model(path, say) for path in names]
    short = [path.stem if folder is None else path.resolve().name for path, folder in zip(names, folders, strict=True)]
    labels = short if len(set(short)) == len(short) else [str(path) for path in names]
    places = [(folder or path).resolve() for path, folder in zip(names, folders, strict=True)]
    for label, place in zip(labels, places, strict=True):
        if places.count(place) > 1:  # also under two names, such as that of a run and of its model
            raise UserError(f"{label}: named twice; name different systems")
    return [System(*system) for system in zip(labels, names, folders, strict=True)]


def _languages(options: ComparisonOptions, systems: Sequence[System]) -> tuple[str | None, str | None]:
    """Return source and target: those that the user names, or else those of the models; None if unknown.

    Raises UserError if the models translate between different languages, or not between those that the user names.
    """
    for system in systems:
        if system.folder:
            registry.require_languages(system.folder, options.from_language, options.to_language)
    specs = {system.name: spec for system in systems if (spec := system.spec)}
    pairs = {(spec.source, spec.target): name for name, spec in specs.items()}
    if len(pairs) > 1:
        (pair, first), (other, second) = list(pairs.items())[:2]
        raise UserError(
            f"{first} translates {pair[0]} to {pair[1]}, but {second} translates {other[0]} to {other[1]}; compare "
            "models for the same languages"
        )
    source, target = next(iter(pairs), (None, None))
    return source or options.from_language, target or options.to_language


def require_usable(options: ComparisonOptions, systems: Sequence[System], sets: TestSets) -> None:
    """Raise UserError for settings of the search without a model or that no model can follow, and for wrong files."""
    if not any(system.folder for system in systems):
        for value, default in (
            (options.search, ComparisonOptions.search),
            (options.opening, ComparisonOptions.opening),
        ):
            for name in vars(value):
                if getattr(value, name) != getattr(default, name):
                    raise UserError(f"{option_name(name)} is for models; leave it out for saved outputs")
    if options.search.rerank:
        registry.locate(options.search.rerank, lambda _: None)
    for system in systems:
        if system.folder is None:
            _check_saved(system, sets, ignore_case=options.ignore_case)


def _check_saved(system: System, sets: TestSets, *, ignore_case: bool) -> None:
    """Raise UserError unless there is one test set and a saved output has as many lines, and capitals."""
    if len(sets) > 1:
        raise UserError(f"{system.named}: is the output for one test set, but there are {len(sets)}: {', '.join(sets)}")
    ((name, pairs),) = sets.items()
    lines = SavedOutput(system.named or Path()).output(name, pairs).hypotheses
    check_hypotheses(str(system.named), lines, [reference for _, reference in pairs], ignore_case=ignore_case)


def warn(system: System, output: SystemOutput, pairs: Sequence[Pair], *, ignore_case: bool) -> None:
    """Report blank lines, and translations of a model that would be refused in a file, which was checked before.

    A line that is blank in translation and reference is no fault of either.
    """
    lines = list(zip(output.hypotheses, (reference for _, reference in pairs), strict=True))
    empty = [n for n, (line, reference) in enumerate(lines, start=1) if not line.strip() and reference.strip()]
    blank = [n for n, (line, reference) in enumerate(lines, start=1) if line.strip() and not reference.strip()]
    if empty:
        counts = f"{len(empty):,} of {len(pairs):,} translations are empty, first in line {empty[0]:,}"
        say(f"warning: {system.name}: {counts}")
    if blank:
        say(
            f"warning: {len(blank):,} of {len(pairs):,} references are blank where {system.name} has a translation, "
            f"first in line {blank[0]:,}: its words count as mistakes; add the references, or remove the lines"
        )
    if system.folder is None:
        return
    try:
        check_hypotheses(system.name, output.hypotheses, [r for _, r in pairs], ignore_case=ignore_case)
    except UserError as error:
        say(f"warning: {error}")


def open_system(system: System, options: ComparisonOptions) -> "SavedOutput | LoadedModel":
    """Return the system ready to use; UserError if the model cannot be loaded."""
    return LoadedModel(system.folder, options) if system.folder else SavedOutput(system.named or Path())


class SavedOutput:
    """A file with the translations of one test set, which does not say where they come from."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.origin: dict[str, object] = {}

    def output(self, name: str, pairs: Sequence[Pair]) -> SystemOutput:
        """Return the lines of the file; UserError if they cannot be read."""
        return SystemOutput(list(read_lines(self._path)))


class LoadedModel:
    """A model with search options.

    Attributes:
        origin: the settings of the search, the engine, its precision if it is not fp32, the folder, the digests of its
            weights and of those of the reranker, and the weight of the reranker.
    """

    def __init__(self, folder: Path, options: ComparisonOptions) -> None:
        from translate.inference.torch_engine import TorchEngine
        from translate.inference.translator import Translator

        self._translator = Translator.load(folder, options.search, opening=options.opening, say=say)
        engine = self._translator.engine
        is_torch = isinstance(engine, TorchEngine)
        if is_torch:
            set_up_torch(options.opening.threads)
        self.origin: dict[str, object] = {
            "decoding": self._translator.sentence_search.config.decoding(),
            "engine": "torch" if is_torch else "ctranslate2",
            "model": str(folder),
            "model_sha256": sha256(folder / "model.safetensors"),
        }
        if options.search.formality is not None:
            self.origin["formality"] = options.search.formality
        if engine.precision != "fp32":
            self.origin["precision"] = engine.precision
        if self._translator.reranker is not None:
            self.origin["reranker_sha256"] = sha256(self._translator.reranker.folder / "model.safetensors")
            self.origin["reverse_weight"] = self._translator.sentence_search.reverse_weight

    def output(self, name: str, pairs: Sequence[Pair]) -> SystemOutput:
        """Translate a test set, with a progress bar of this name."""
        from tqdm import tqdm

        start = time.perf_counter()
        stream = self._translator.translate_lines(source for source, _ in pairs)
        hypotheses = [line.text for line in tqdm(stream, name, len(pairs), disable=None, leave=False)]
        return SystemOutput(hypotheses, time.perf_counter() - start)


def _find_sets(options: ComparisonOptions, model: Path | None, source: str | None, target: str | None) -> TestSets:
    """Return the test sets by name.

    Args:
        model: the folder whose run provides the test sets if the user names none; None if no model is involved, so
            that references need no sources.
        source, target: language codes; None if unknown.

    Raises UserError if a file cannot be used, if two sets have one name, if one is empty or if there is no set.
    """
    sets = _named_files(options, needs_source=model is not None)
    for name in options.test_set or ():
        if source is None or target is None:
            raise UserError(f"--test-set {name}: the languages are unknown; name them with --from and --to")
        sacrebleu = SacrebleuSource(kind="sacrebleu", name=name)
        sets.append((name, list(read_pairs(sacrebleu, Path(), f"{source}-{target}"))))
    if options.valid or not sets:
        if model is None:
            raise UserError("saved outputs need references; name them with --reference, or with --test-set")
        sets += _sets_of_run(model, valid=options.valid).items()
    for (name, _), (other, _) in itertools.combinations(sets, 2):
        if file_name(name) == file_name(other):
            raise UserError(f"two sets are called {name!r}; score them one at a time, each with a different --out")
    for name, pairs in sets:
        if not pairs:
            raise UserError(f"the test set {name!r} has no lines to score")
        if not any(reference.strip() for _, reference in pairs):
            raise UserError(f"the references of the test set {name!r} have no words; name another file")
    return dict(sets)


def file_name(name: str) -> str:
    """Return the name of the file with the translations of a test set."""
    return f"{name.replace('/', '-')}.txt"


def run_of(folder: Path) -> Path | None:
    """Return the run directory around a model folder or checkpoint, as an absolute path."""
    parents = folder.resolve().parents[:2]
    return next((path for path in parents if (path / "manifest.json").is_file()), None)


def _named_files(options: ComparisonOptions, *, needs_source: bool) -> list[tuple[str, list[Pair]]]:
    """The test set of --source and --reference, or nothing."""
    source, reference = options.source, options.reference
    if source is None and reference is None:
        return []
    if reference is None or (source is None and needs_source):
        raise UserError("--source and --reference belong together; give both")
    file = source or reference
    name = as_unicode((file.with_suffix("") if file.suffix.lower() in OPENERS else file).stem)
    if source is None:
        return [(name, [("", line) for line in read_lines(reference)])]
    pair: Source = TextSource(source=str(source), target=str(reference))
    return [(name, list(read_pairs(pair, Path())))]


def _sets_of_run(folder: Path, *, valid: bool) -> TestSets:
    """The validation set or the test sets of the run around a model."""
    from translate.corpus.prepare import Prepared

    run = run_of(folder)
    if run is None:
        raise UserError(
            f"{folder}: is not part of a run, so it has no test sets; name one with --source and --reference, or with "
            "--test-set"
        )
    path = run / "manifest.json"
    try:
        manifest = read_json(path)
        place, began_with = Path(manifest["prepared"]), _held_out(manifest["data"]["files"])
    except ValueError as error:
        raise UserError(f"{path}: damaged: {error}; remove or restore it") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: names no prepared corpus; restore it, or name files with --source") from error
    prepared = Prepared.open(place)
    if {name: sha256(place / name) for name in _held_out(prepared.manifest["files"])} != began_with:
        raise UserError(
            f"{prepared.folder}: was prepared again with other validation or test sets since {run} was trained; "
            "restore it, or name files with --source and --reference"
        )
    if valid:
        return {"valid": prepared.valid}
    if not prepared.test:
        raise UserError(
            f"{prepared.folder}: has no test sets; name some under [data.test], or files with --source and --reference"
        )
    return prepared.test


def _held_out(files: Mapping[str, T]) -> dict[str, T]:
    """Return what there is of the validation and test sets among the files of a prepared corpus."""
    return {name: value for name, value in files.items() if name.endswith(".jsonl")}
