"""The test sets that a verb should use: those that the user names, or else those of a run."""

import itertools
from pathlib import Path

from translate.config.data import SacrebleuSource, Source, TextSource
from translate.corpus.lines import OPENERS, read_lines
from translate.corpus.sources import Pair, read_pairs
from translate.errors import UserError
from translate.files import read_json
from translate.options.comparing import Comparing

TestSets = dict[str, list[Pair]]


def find_sets(options: Comparing, model: Path | None, source: str | None, target: str | None) -> TestSets:
    """Return the test sets by name.

    Args:
        options: of the verb.
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


def _named_files(options: Comparing, *, needs_source: bool) -> list[tuple[str, list[Pair]]]:
    """The test set of --source and --reference, or nothing."""
    source, reference = options.source, options.reference
    if source is None and reference is None:
        return []
    if reference is None or (source is None and needs_source):
        raise UserError("--source and --reference belong together; give both")
    name = _stem(source or reference)
    if source is None:
        return [(name, [("", line) for line in read_lines(reference)])]
    pair: Source = TextSource(source=str(source), target=str(reference))
    return [(name, list(read_pairs(pair, Path())))]


def _stem(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix.lower() in OPENERS else path
    return plain.stem


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
        place, fingerprint = Path(manifest["prepared"]), manifest["data"]["fingerprint"]
    except ValueError as error:
        raise UserError(f"{path}: damaged: {error}; remove or restore it") from error
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: names no prepared corpus; restore it, or name files with --source") from error
    prepared = Prepared.open(place)
    if prepared.manifest["fingerprint"] != fingerprint:
        raise UserError(
            f"{prepared.folder}: was prepared again with other data since {run} was trained; restore it, or name files "
            "with --source and --reference"
        )
    if valid:
        return {"valid": prepared.valid}
    if not prepared.test:
        raise UserError(
            f"{prepared.folder}: has no test sets; name some under [data.test], or files with --source and --reference"
        )
    return prepared.test
