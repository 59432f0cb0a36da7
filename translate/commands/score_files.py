"""The files that `translate evaluate` leaves: hypotheses/NAME.txt and scores.json."""

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from translate.commands.systems import TestSets, file_name, run_of
from translate.corpus.sources import Pair
from translate.errors import UserError, say
from translate.evaluation.report import Result
from translate.files import locked, read_json, write_json, write_text
from translate.models import registry

SAMPLE = 3  # lines of each set that scores.json shows


def default_place(model: Path | None, folder: Path) -> Path | None:
    """Return the run whose model is evaluated; None for a model outside a run, or if a checkpoint is named."""
    run, named = run_of(folder), folder if model is None else registry.find_folder(model, lambda _: None)
    return run if run in (folder.resolve().parent, named.resolve()) else None


def begin(out: Path, sets: TestSets) -> None:
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


def write_hypotheses(out: Path, name: str, hypotheses: Sequence[str]) -> None:
    """Write the translations of a set; UserError if the folder cannot be written to."""
    try:
        write_text(out / "hypotheses" / file_name(name), "".join(f"{text}\n" for text in hypotheses))
    except OSError as error:
        raise _unwritable(out, error) from error


def write_record(
    out: Path, result: Result, origin: Mapping[str, object], pairs: Sequence[Pair], hypotheses: Sequence[str]
) -> None:
    """Add the scores of a set to scores.json; those of other sets stay.

    Args:
        origin: the model and its search.
        pairs: sources and references of the set; their digest and a sample are kept.

    Raises UserError if the file cannot be written or is damaged.
    """
    values = {
        **result.scores.as_dict(),
        "seconds": round(result.seconds or 0, 2),
        "text_sha256": _text_sha256(pairs),
        **origin,
        "sample": _sample(pairs, hypotheses),
    }
    try:
        # Another evaluation may write at the same time. The folder `out` itself is locked while its run trains.
        with locked(out / "hypotheses", lambda: None):
            present = _read_scores(out)
            write_json(out / "scores.json", present | {result.test_set: values})
    except OSError as error:
        raise _unwritable(out, error) from error
    before = present.get(result.test_set)
    if isinstance(before, dict) and (other := _differences(before, values)):
        what = " and ".join(other)
        say(f"warning: {out / 'scores.json'} had scores of {what} on {result.test_set!r}, which were replaced")


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what earlier scores of a set were made with that the new ones were not."""
    origins = {"model_sha256": "other weights", "decoding": "another search", "engine": "another engine"}
    found = [what for key, what in origins.items() if before.get(key, now[key]) != now[key]]
    if before.get("precision") != now.get("precision"):
        found.append("another precision")
    if before.get("reranker_sha256") != now.get("reranker_sha256"):
        found.append("another reranker")
    if any(_metric(before.get(name)) not in ("", _metric(part)) for name, part in now.items()):
        found.append("other metrics")
    return found


def _metric(part: object) -> str:
    """Return the signature of a score without what resampling adds to it; "" for anything else."""
    signature = str(part.get("signature", "")) if isinstance(part, dict) else ""
    return "|".join(field for field in signature.split("|") if not field.startswith(("bs:", "seed:")))


def refresh_card(out: Path) -> None:
    """Add the scores to the card of the run, if `out` is a run; warn if that fails."""
    from translate.training import card
    from translate.training.run import Run

    if not Run(out).metrics.exists():
        return
    try:
        card.write(Run(out))
    except UserError as error:
        say(f"warning: {error}")


def _read_scores(out: Path) -> dict[str, Any]:
    path = out / "scores.json"
    try:
        return read_json(path) if path.exists() else {}
    except ValueError as error:
        raise UserError(f"{path}: damaged: {error}; remove or restore it") from error


def _unwritable(out: Path, error: OSError) -> UserError:
    return UserError(f"{error.filename or out}: cannot be written: {error.strerror}; name a folder with --out")


def _sample(pairs: Sequence[Pair], hypotheses: Sequence[str]) -> list[dict[str, object]]:
    """SAMPLE evenly spaced lines, so that they are not hand-picked."""
    n = len(pairs)
    lines = sorted({(2 * i + 1) * n // (2 * SAMPLE) for i in range(SAMPLE)})
    return [
        {"line": i + 1, "source": pairs[i][0], "reference": pairs[i][1], "translation": hypotheses[i]} for i in lines
    ]


def _text_sha256(pairs: Sequence[Pair]) -> str:
    """Digest of a set, which distinguishes it from others of the same name."""
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
