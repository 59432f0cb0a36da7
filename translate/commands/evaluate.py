"""`translate evaluate`: translate test sets and score the result."""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translate import model_folder
from translate.commands.messages import say
from translate.commands.text import open_translator
from translate.config import SacrebleuSource, TextSource
from translate.corpus.sources import Pair, read_pairs
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.evaluation.scores import Scores
    from translate.translator import Translator


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
    threads: int | None,
    confidence: bool,
) -> None:
    """Print BLEU, chrF and TER with their signatures; write scores.json and hypotheses/NAME.txt.

    Args:
        model: run directory or model folder; None looks for one.
        source, reference: two files to score on.
        test_sets: sacreBLEU's names of test sets to score on.
        valid: score on the run's validation set. If nothing is named, the run's test sets are used.
        out: where to write; None is the run, or nowhere for a model folder outside a run.
        beam_size, alpha: of the search; None takes the model's own.
        threads: CPU threads; None leaves them to torch.
        confidence: add 95 % intervals by bootstrap resampling.

    Raises UserError for what the user can mend.
    """
    folder = model_folder.find(model, say)
    task = model_folder.Task.load(folder / "translation.json")
    run = _run_of(folder)
    sets = dict(_named_sets(source, reference, test_sets, f"{task.source}-{task.target}"))
    if valid or not sets:
        sets |= _sets_of_run(run, folder, valid)
    if out is None and (folder.name == "model" or model == run):
        out = run
    translator = open_translator(folder, beam_size=beam_size, alpha=alpha, threads=threads)
    digest = _sha256(folder / "model.safetensors")
    signatures: dict[str, str] = {}
    print(f"{'set':24}{'lines':>8}{'BLEU':>8}{'chrF':>8}{'TER':>8}{'seconds':>9}")
    for name, pairs in sets.items():
        hypotheses, scores, seconds = _evaluated(translator, name, pairs, task.target, confidence)
        print(_row(name, scores, seconds), flush=True)
        signatures |= {"BLEU": scores.bleu.signature, "chrF": scores.chrf.signature, "TER": scores.ter.signature}
        if out is not None:
            record = scores.as_dict() | {"seconds": round(seconds, 2), "decoding": translator.decoding.model_dump()}
            _write(out, name, hypotheses, record | {"model": str(folder), "model_sha256": digest})
    for metric, signature in signatures.items():
        print(f"{metric:5} {signature}")
    if out is not None:
        say(f"wrote {out / 'scores.json'} and {out / 'hypotheses'}")


def _evaluated(
    translator: "Translator", name: str, pairs: Sequence[Pair], target: str, confidence: bool
) -> tuple[list[str], "Scores", float]:
    """Translations, their scores, and the seconds that translating took."""
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
    """The sets that the user names, as (name, pairs)."""
    if (source is None) != (reference is None):
        raise UserError("--source and --reference belong together; name both files")
    if source is not None and reference is not None:
        files = TextSource(source=str(source), target=str(reference))
        yield source.name.split(".")[0] or "files", list(read_pairs(files, Path(), langpair))
    for name in test_sets:
        yield name, list(read_pairs(SacrebleuSource(kind="sacrebleu", name=name), Path(), langpair))


def _sets_of_run(run: Path | None, folder: Path, valid: bool) -> dict[str, list[Pair]]:
    """The validation set or the test sets that the run was prepared with."""
    from translate.corpus.store import Prepared

    if run is None:
        raise UserError(
            f"{folder}: stands in no run, so it has no test sets; name some with --source and --reference, or with "
            "--test-set"
        )
    manifest = _read_json(run / "manifest.json")
    try:
        place, fingerprint = Path(manifest["prepared"]), manifest["data"]["fingerprint"]
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{run / 'manifest.json'}: names no prepared corpus; restore it, or name files with --source"
        ) from error
    prepared = Prepared.open(place)
    if prepared.manifest["fingerprint"] != fingerprint:
        raise UserError(
            f"{prepared.folder}: was prepared anew with other data since {run} was trained; restore it, or name files "
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
    """The run directory around a model folder or checkpoint."""
    parents = (folder.parent, folder.parent.parent)
    return next((path for path in parents if (path / "manifest.json").is_file()), None)


def _row(name: str, scores: "Scores", seconds: float) -> str:
    values = (scores.bleu, scores.chrf, scores.ter)
    row = f"{name:24}{scores.n_lines:>8,}" + "".join(f"{s.value:>8.2f}" for s in values) + f"{seconds:>9.1f}"
    if scores.bleu.interval is None:
        return row
    intervals = ", ".join(f"{s.mean:.2f} +- {s.interval:.2f}" for s in values)
    return f"{row}\n  95 % of resamples: {intervals}"


def _write(out: Path, name: str, hypotheses: Sequence[str], record: dict[str, object]) -> None:
    """Put one set's hypotheses and scores into the folder; what it holds on other sets stays."""
    path = out / "scores.json"
    try:
        (out / "hypotheses").mkdir(parents=True, exist_ok=True)
        file = out / "hypotheses" / f"{name.replace('/', '-')}.txt"
        file.write_text("".join(f"{text}\n" for text in hypotheses), encoding="utf-8", newline="\n")
        values = (_read_json(path) if path.exists() else {}) | {name: record}
        partial = path.with_name(".scores.json.partial")
        partial.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
        partial.replace(path)
    except OSError as error:
        raise UserError(
            f"{error.filename or out}: cannot be written: {error.strerror}; name a folder with --out"
        ) from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: damaged: {error}; remove or restore it") from error
    return values


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
