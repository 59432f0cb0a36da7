"""`translate evaluate`: translate test sets and score the result."""

import hashlib
import itertools
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translate.commands.messages import say
from translate.commands.opening import set_up_torch
from translate.config.data import SacrebleuSource, Source, TextSource
from translate.corpus.sources import OPENERS, Pair, read_pairs
from translate.errors import UserError
from translate.evaluation.scores import metrics
from translate.files import read_json, sha256, write_json, write_text
from translate.models import folder as model_folder
from translate.models import registry
from translate.options.comparing import Evaluate

if TYPE_CHECKING:
    from translate.evaluation.scores import Scores
    from translate.inference.translator import Translator

TestSets = dict[str, list[Pair]]

SAMPLE = 3  # lines of each set that scores.json shows


def run(options: Evaluate) -> None:
    """Print BLEU, chrF and TER with their signatures; write scores.json and hypotheses/NAME.txt.

    Without `out` they are written to the run, and not at all for a model outside a run. Raises UserError for wrong
    input.
    """
    folder = registry.find_model(options.model, say)
    spec = model_folder.TranslationSpec.load(folder / "translation.json")
    sets = _test_sets(options, folder, f"{spec.source}-{spec.target}")
    out = options.out or _default_out(options.model, folder)
    metrics(spec.target)  # reports a missing package before anything is translated
    if out is not None:
        _begin(out, sets)
    set_up_torch(options.threads)
    from translate.evaluation.scores import score
    from translate.inference.translator import Translator

    translator = Translator.load(
        folder, beam_size=options.beam, alpha=options.alpha, length_penalty=options.length_penalty
    )
    origin = {
        "decoding": translator.decoding.model_dump(),
        "model": str(folder),
        "model_sha256": sha256(folder / "model.safetensors"),
    }
    print(f"{'set':24}{'lines':>8}{'BLEU':>8}{'chrF':>8}{'TER':>8}{'seconds':>9}")
    for name, pairs in sets.items():
        hypotheses, seconds = _translated(translator, name, pairs)
        scores = score(hypotheses, [r for _, r in pairs], target=spec.target, confidence=options.confidence)
        print(_row(name, scores, seconds), flush=True)
        if out is not None:
            record = scores.as_dict() | {"seconds": round(seconds, 2), "text_sha256": _text_sha256(pairs)}
            _write(out, name, hypotheses, record | origin | {"sample": _sample(pairs, hypotheses)})
    print(_signatures(scores))
    if out is not None:
        say(f"wrote {out / 'scores.json'} and {out / 'hypotheses'}")
        _refresh_card(out)


def _translated(translator: "Translator", name: str, pairs: Sequence[Pair]) -> tuple[list[str], float]:
    """Return the translations and the seconds that they took."""
    from tqdm import tqdm

    start = time.perf_counter()
    stream = tqdm(translator.stream(source for source, _ in pairs), name, len(pairs), disable=None, leave=False)
    hypotheses = [translation.text for translation in stream]
    return hypotheses, time.perf_counter() - start


def _test_sets(options: Evaluate, folder: Path, langpair: str) -> TestSets:
    """The test sets that the user names, or else those of the run; UserError if two have one name."""
    source, reference = options.source, options.reference
    if (source is None) != (reference is None):
        raise UserError("--source and --reference belong together; give both")
    named: list[tuple[str, Source]] = []
    if source is not None:
        plain = source.with_suffix("") if source.suffix.lower() in OPENERS else source
        named.append((plain.stem, TextSource(source=str(source), target=str(reference))))
    named += [(name, SacrebleuSource(kind="sacrebleu", name=name)) for name in options.test_set or ()]
    sets = [(name, list(read_pairs(corpus, Path(), langpair))) for name, corpus in named]
    if options.valid or not sets:
        sets += _sets_of_run(folder, valid=options.valid).items()
    for (name, _), (other, _) in itertools.combinations(sets, 2):
        if _file_name(name) == _file_name(other):
            raise UserError(f"two sets are called {name!r}; score them one at a time, each with a different --out")
    return dict(sets)


def _sets_of_run(folder: Path, *, valid: bool) -> TestSets:
    """The validation set or the test sets of the run around a model."""
    from translate.corpus.prepare import Prepared

    run = _run_of(folder)
    if run is None:
        raise UserError(
            f"{folder}: is not part of a run, so it has no test sets; name one with --source and --reference, or with "
            "--test-set"
        )
    manifest = _read_object(run / "manifest.json")
    try:
        place, fingerprint = Path(manifest["prepared"]), manifest["data"]["fingerprint"]
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{run / 'manifest.json'}: names no prepared corpus; restore it, or name files with --source"
        ) from error
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


def _run_of(folder: Path) -> Path | None:
    """The run directory around a model folder or checkpoint, as an absolute path."""
    parents = folder.resolve().parents[:2]
    return next((path for path in parents if (path / "manifest.json").is_file()), None)


def _default_out(model: Path | None, folder: Path) -> Path | None:
    """The run whose model is evaluated; None for a model outside a run, or if a checkpoint is named."""
    run, named = _run_of(folder), folder if model is None else registry.find_folder(model, lambda _: None)
    return run if run in (folder.resolve().parent, named.resolve()) else None


def _row(name: str, scores: "Scores", seconds: float) -> str:
    values = (scores.bleu, scores.chrf, scores.ter)
    row = f"{name:24}{scores.n_lines:>8,}" + "".join(f"{s.value:>8.2f}" for s in values) + f"{seconds:>9.1f}"
    if scores.bleu.interval is None:
        return row
    intervals = ", ".join(f"{s.mean:.2f} +- {s.interval:.2f}" for s in values)
    return f"{row}\n  95 % of resamples: {intervals}"


def _signatures(scores: "Scores") -> str:
    """The signatures of the metrics, which are the same for all test sets of one language."""
    values = {"BLEU": scores.bleu, "chrF": scores.chrf, "TER": scores.ter}
    return "\n".join(f"{name:5} {score.signature}" for name, score in values.items())


def _file_name(name: str) -> str:
    return f"{name.replace('/', '-')}.txt"


def _begin(out: Path, sets: TestSets) -> None:
    """Make the output folder, and warn if scores of another text will be replaced.

    Raises UserError if the folder cannot be written to.
    """
    try:
        (out / "hypotheses").mkdir(parents=True, exist_ok=True)
        for place in (out, out / "hypotheses"):
            tempfile.TemporaryFile(dir=place).close()
        present = _read_scores(out)
    except OSError as error:
        raise _unwritable(out, error) from error
    for name, pairs in sets.items():
        digest, record = _text_sha256(pairs), present.get(name)
        if isinstance(record, dict) and record.get("text_sha256", digest) != digest:
            say(f"warning: {out / 'scores.json'} has scores of another text called {name!r}, which will be replaced")


def _read_scores(out: Path) -> dict[str, Any]:
    path = out / "scores.json"
    return _read_object(path) if path.exists() else {}


def _unwritable(out: Path, error: OSError) -> UserError:
    return UserError(f"{error.filename or out}: cannot be written: {error.strerror}; name a folder with --out")


def _write(out: Path, name: str, hypotheses: Sequence[str], record: dict[str, object]) -> None:
    """Write the hypotheses and scores of one set; those of other sets stay."""
    try:
        write_text(out / "hypotheses" / _file_name(name), "".join(f"{text}\n" for text in hypotheses))
        write_json(out / "scores.json", _read_scores(out) | {name: record})
    except OSError as error:
        raise _unwritable(out, error) from error


def _refresh_card(out: Path) -> None:
    """Add the scores to the card of the run, if `out` is a run; warn if that fails."""
    from translate.training import card
    from translate.training.run import Run

    if not Run(out).metrics.exists():
        return
    try:
        card.write(Run(out))
    except UserError as error:
        say(f"warning: {error}")


def _sample(pairs: Sequence[Pair], hypotheses: Sequence[str]) -> list[dict[str, object]]:
    """SAMPLE evenly spaced lines, so that they are not hand-picked."""
    n = len(pairs)
    lines = sorted({(2 * i + 1) * n // (2 * SAMPLE) for i in range(SAMPLE)})
    return [
        {"line": i + 1, "source": pairs[i][0], "reference": pairs[i][1], "translation": hypotheses[i]} for i in lines
    ]


def _read_object(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except ValueError as error:
        raise UserError(f"{path}: damaged: {error}; remove or restore it") from error


def _text_sha256(pairs: Sequence[Pair]) -> str:
    """Digest of a set, which distinguishes it from others of the same name."""
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
