"""`translate evaluate`: translate test sets and score the result."""

import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translate.commands.messages import say
from translate.commands.opening import set_up_torch
from translate.config.data import SacrebleuSource, TextSource
from translate.corpus.sources import OPENERS, Pair, read_pairs
from translate.errors import UserError
from translate.evaluation.scores import metrics
from translate.files import read_json, sha256, write_json, write_text
from translate.models import folder as model_folder
from translate.models import registry

if TYPE_CHECKING:
    from transformer.search.hypothesis import LengthRule
    from translate.evaluation.scores import Scores
    from translate.inference.translator import Translator

SAMPLE = 3  # lines of each set that scores.json shows


def evaluate(
    model: Path | None,
    *,
    source: Path | None,
    reference: Path | None,
    test_sets: Sequence[str],
    valid: bool,
    out: Path | None,
    beam_size: int | None,
    alpha: float | None,
    length_penalty: "LengthRule | None" = None,
    threads: int | None,
    confidence: bool,
) -> None:
    """Print BLEU, chrF and TER with their signatures; write scores.json and hypotheses/NAME.txt.

    Args:
        model: path or name of a model; None chooses one, see `registry.find_model`.
        source, reference: a test set as two files.
        test_sets: names of sacreBLEU test sets.
        valid: score on the run's validation set. If no test set is named at all, the run's test sets are used.
        out: folder for the results; None is the run, or no folder for a model outside a run.
        beam_size, alpha, length_penalty: of the search; None takes the model's default.
        threads: CPU threads; None takes torch's default.
        confidence: add 95 % intervals by bootstrap resampling.

    Raises UserError for wrong input.
    """
    folder = registry.find_model(model, say)
    spec = model_folder.TranslationSpec.load(folder / "translation.json")
    run = _run_of(folder)
    sets = list(_named_sets(source, reference, test_sets, f"{spec.source}-{spec.target}"))
    if valid or not sets:
        sets += _sets_of_run(run, folder, valid).items()
    _check_names([name for name, _ in sets])
    named = folder if model is None else registry.find_folder(model, lambda _: None)
    if out is None and run in (folder.resolve().parent, named.resolve()):
        out = run
    metrics(spec.target)  # reports a missing package before anything is translated
    _begin(out, sets)
    set_up_torch(threads)
    from translate.inference.translator import Translator

    translator = Translator.load(folder, beam_size=beam_size, alpha=alpha, length_penalty=length_penalty)
    origin = {
        "decoding": translator.decoding.model_dump(),
        "model": str(folder),
        "model_sha256": sha256(folder / "model.safetensors"),
    }
    print(f"{'set':24}{'lines':>8}{'BLEU':>8}{'chrF':>8}{'TER':>8}{'seconds':>9}")
    for name, pairs in sets:
        hypotheses, scores, seconds = _evaluated(translator, name, pairs, spec.target, confidence)
        print(_row(name, scores, seconds), flush=True)
        if out is not None:
            record = scores.as_dict() | {"seconds": round(seconds, 2), "text_sha256": _text_sha256(pairs)}
            _write(out, name, hypotheses, record | origin | {"sample": _sample(pairs, hypotheses)})
    print(_signatures(scores))
    if out is not None:
        say(f"wrote {out / 'scores.json'} and {out / 'hypotheses'}")
        _refresh_card(out)


def _evaluated(
    translator: "Translator", name: str, pairs: Sequence[Pair], target: str, confidence: bool
) -> tuple[list[str], "Scores", float]:
    """Return the translations, their scores, and the seconds of translation."""
    from tqdm import tqdm

    from translate.evaluation.scores import score

    start = time.perf_counter()
    stream = tqdm(translator.stream(source for source, _ in pairs), name, len(pairs), disable=None, leave=False)
    hypotheses = [translation.text for translation in stream]
    seconds = time.perf_counter() - start
    return hypotheses, score(hypotheses, [r for _, r in pairs], target=target, confidence=confidence), seconds


def _named_sets(
    source: Path | None, reference: Path | None, test_sets: Sequence[str], langpair: str
) -> Iterator[tuple[str, list[Pair]]]:
    """The test sets that the user names, as (name, pairs)."""
    if (source is None) != (reference is None):
        raise UserError("--source and --reference belong together; give both")
    if source is not None and reference is not None:
        files = TextSource(source=str(source), target=str(reference))
        plain = source.with_suffix("") if source.suffix.lower() in OPENERS else source
        yield plain.stem, list(read_pairs(files, Path(), langpair))
    for name in test_sets:
        yield name, list(read_pairs(SacrebleuSource(kind="sacrebleu", name=name), Path(), langpair))


def _sets_of_run(run: Path | None, folder: Path, valid: bool) -> dict[str, list[Pair]]:
    """The validation set or the test sets of a run."""
    from translate.corpus.prepare import Prepared

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


def _check_names(names: Sequence[str]) -> None:
    """Raise UserError if two sets would be written to the same file."""
    files = [_file_name(name) for name in names]
    for name, file in zip(names, files, strict=True):
        if files.count(file) > 1:
            raise UserError(f"two sets are called {name!r}; score them one at a time, each with a different --out")


def _file_name(name: str) -> str:
    return f"{name.replace('/', '-')}.txt"


def _begin(out: Path | None, sets: Sequence[tuple[str, list[Pair]]]) -> None:
    """Make the output folder, and warn if scores of another text will be replaced; None means no folder.

    Raises UserError if the folder cannot be written to.
    """
    if out is None:
        return
    try:
        (out / "hypotheses").mkdir(parents=True, exist_ok=True)
        for place in (out, out / "hypotheses"):
            tempfile.TemporaryFile(dir=place).close()
        present = _read_scores(out)
    except OSError as error:
        raise _unwritable(out, error) from error
    for name, pairs in sets:
        record = present.get(name)
        digest = _text_sha256(pairs)
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
