"""`translate evaluate`: translate test sets, or read saved outputs, and score them.

It leaves hypotheses/NAME.txt and scores.json in the run, or in the folder of --out.
"""

import hashlib
import itertools
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from translate.commands import systems
from translate.commands.systems import METRICS, ComparisonOptions, System, TestSets, file_name, run_of
from translate.corpus.sources import Pair
from translate.errors import UserError, optional_package, say
from translate.evaluation.other_metrics import comet, paper_bleu, program
from translate.evaluation.scores import TESTS, Score, Scores, Test, metrics, paired_scores, score
from translate.files import locked, read_json, write_json, write_text
from translate.models import registry
from translate.options import OUTPUT, SYSTEM_HELP, WITHOUT_MODEL, flag, model_argument, option
from translate.tables import Form, rendered

FORMS: dict[str, Form] = {"text": "simple", "markdown": "github", "latex": "latex_booktabs"}

SAMPLE = 3  # lines of each set that scores.json shows


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(ComparisonOptions):
    """Compute BLEU, chrF++ and TER, by default on the run's test sets.

    A system is a model, a run, or a file with its output. With several, the first is the baseline.
    """

    systems: Annotated[list[Path] | None, model_argument("SYSTEM", f"{SYSTEM_HELP} {WITHOUT_MODEL}")] = None
    paired: Annotated[
        Literal["bootstrap", "ar"] | None,
        option(METRICS, "TEST", "Test differences to the first system: bootstrap, or ar (approximate randomization)."),
    ] = None
    confidence: Annotated[bool, flag(METRICS, "--confidence", "Add 95 % intervals (bootstrap).")] = False
    paper: Annotated[
        bool, flag(METRICS, "--paper", "Add the paper's tokenised BLEU, which is not comparable with sacreBLEU.")
    ] = False
    comet: Annotated[
        str | None,
        option(METRICS, "COMMAND", "Add COMET, computed by this program, such as /opt/comet/bin/comet-score."),
    ] = None
    format: Annotated[
        Literal["text", "json", "markdown", "latex"], option(OUTPUT, "FORMAT", "text, json, markdown or latex.")
    ] = "text"
    out: Annotated[Path | None, option(OUTPUT, "FOLDER", "Folder for the results [default: the run].")] = None


@dataclass(frozen=True)
class Result:
    """One system on one test set.

    Attributes:
        scores: by sacreBLEU.
        others: scores by other metrics, by their names.
        seconds: time of the search; None for saved output.
        hypotheses: the translations.
        origin: the model and its search; empty for saved output.
        out: the folder that the result is written to; None for none.
    """

    test_set: str
    system: str
    scores: Scores
    others: dict[str, Score]
    seconds: float | None
    hypotheses: list[str]
    origin: Mapping[str, object]
    out: Path | None

    def by_name(self) -> dict[str, Score]:
        """Return all scores by the names of their metrics."""
        return self.scores.by_name() | self.others

    def metrics(self) -> dict[str, object]:
        """Return all scores and the number of lines as plain data for JSON."""
        return self.scores.as_dict() | {name.lower(): score.as_dict() for name, score in self.others.items()}

    def as_dict(self) -> dict[str, object]:
        """Return plain data for JSON."""
        names = {"set": self.test_set, "system": self.system}
        seconds = {} if self.seconds is None else {"seconds": round(self.seconds, 2)}
        return names | self.metrics() | seconds


def run(options: EvaluateOptions) -> None:
    """Print BLEU, chrF++ and TER with their signatures; write scores.json and hypotheses/NAME.txt for models.

    Without `out` they are written to the run, and not at all for a model outside a run. Raises UserError for wrong
    input.
    """
    found, sets, target = systems.find(options, options.systems or [])
    _check(options, found, sets, target)
    places = [_place(options, system, several=len(found) > 1) for system in found]
    _keep_inputs(options, found, sets, places)
    for place, several in Counter(filter(None, places)).items():
        if several > 1:
            raise UserError(f"{several} systems would write their results to {place}; give their folders other names")
        _begin(place, sets)
    by_system = [
        _evaluated(options, system, sets, target or "", place) for system, place in zip(found, places, strict=True)
    ]
    results = []
    for pairs, of_set in zip(sets.values(), zip(*by_system, strict=True), strict=True):
        results += _completed(options, of_set, pairs, target or "")
    _print(options, results)


def _check(options: EvaluateOptions, found: Sequence[System], sets: TestSets, target: str | None) -> None:
    """Raise UserError for what would otherwise fail after the translation."""
    metrics(target or "")
    systems.require_usable(options, found, sets)
    if options.out and not any(system.folder for system in found):
        raise UserError("--out is for the translations of models and their scores; leave it out for saved outputs")
    if options.paired and len(found) < 2:
        raise UserError("--paired tests differences between systems; name at least two")
    if options.paper:
        if target is None:
            raise UserError("--paper needs the language of the references, whose words it tokenises; name it with --to")
        optional_package("sacremoses", "paper")
    if options.comet is not None and any(not any(source for source, _ in pairs) for pairs in sets.values()):
        raise UserError("--comet needs the source sentences; name them with --source")
    if options.comet is not None:
        program(options.comet)


def _place(options: EvaluateOptions, system: System, *, several: bool) -> Path | None:
    """The folder for the results of a model, or None."""
    if system.folder is None:
        return None
    if options.out:
        name = re.sub(r"[^\w.-]+", "-", system.name).strip("-.") or "system"  # not ".."
        return options.out / name if several else options.out
    return _default_place(system.named, system.folder)


def _keep_inputs(
    options: EvaluateOptions, found: Sequence[System], sets: TestSets, places: Sequence[Path | None]
) -> None:
    """Raise UserError if a file that is read is one of those that translations will be written to."""
    read = [*(system.named for system in found if system.folder is None), options.source, options.reference]
    for out, name in itertools.product(filter(None, places), sets):
        written = out / "hypotheses" / file_name(name)
        for file in filter(None, read):
            if written.exists() and written.samefile(file):
                raise UserError(f"{file}: would be overwritten by new translations; name another folder with --out")


def _evaluated(options: EvaluateOptions, system: System, sets: TestSets, target: str, out: Path | None) -> list[Result]:
    """Translate all sets by a system, or read its output; return the results, which are written to `out`."""
    opened = systems.open_system(system, options)
    found = []
    for name, pairs in sets.items():
        output, references = opened.output(name, pairs), [reference for _, reference in pairs]
        if out is not None:
            with _writing(out):
                write_text(out / "hypotheses" / file_name(name), "".join(f"{text}\n" for text in output.hypotheses))
        systems.warn(system, output, pairs, ignore_case=options.ignore_case)
        scores = score(
            output.hypotheses,
            references,
            target=target,
            confidence=options.confidence,
            ignore_case=options.ignore_case,
        )
        result = Result(name, system.name, scores, {}, output.seconds, output.hypotheses, opened.origin, out)
        if out is not None:
            write_record(out, result, pairs)
        found.append(result)
    if out is not None:
        say(f"wrote {out / 'scores.json'} and {out / 'hypotheses'}")
        _refresh_card(out)
    return found


def _completed(options: EvaluateOptions, results: Sequence[Result], pairs: Sequence[Pair], target: str) -> list[Result]:
    """Return the results of one test set with p-values and the other metrics that the user asks for.

    The other metrics are written too; COMET runs after all translations, when the models have left the memory.
    """
    sources, references = ([pair[side] for pair in pairs] for side in (0, 1))
    scores = [result.scores for result in results]
    if options.paired:
        scores = paired_scores(
            [result.hypotheses for result in results],
            references,
            options.paired,
            target=target,
            confidence=options.confidence,
            ignore_case=options.ignore_case,
        )
    completed = []
    for result, own in zip(results, scores, strict=True):
        others = {}
        if options.paper:
            others["BLEU of the paper"] = paper_bleu(result.hypotheses, references, target)
        if options.comet is not None:
            others["COMET"] = comet(options.comet, sources, result.hypotheses, references)
        if others and result.out is not None:
            write_record(result.out, replace(result, others=others), pairs)
        completed.append(replace(result, scores=own, others=others))
    return completed


def _print(options: EvaluateOptions, results: Sequence[Result]) -> None:
    """Print the report in the format that the user asks for."""
    notes = _notes(results, options.paired)
    if options.format == "json":
        values = {"results": [result.as_dict() for result in results], "notes": notes}
        print(json.dumps(values, indent=2))
        return
    print(rendered(_rows(results), FORMS[options.format]))
    begin = {"text": "", "markdown": "- ", "latex": "% "}[options.format]
    print("\n" * (options.format == "markdown") + "\n".join(begin + note for note in notes))


def _rows(results: Sequence[Result]) -> list[dict[str, str]]:
    """Return a row for each result, with the same columns in each; cells without a value are empty."""
    several = len({result.system for result in results}) > 1
    table = []
    for result in results:
        row = {
            "set": result.test_set,
            "system": result.system if several else "",
            "lines": f"{result.scores.n_lines:,}",
        }
        for name, found in result.by_name().items():
            row[name] = _cell(name, found)
            row[f"p {name}"] = "" if found.p_value is None else f"{found.p_value:.4f}"
        table.append(row | {"seconds": "" if result.seconds is None else f"{result.seconds:.1f}"})
    return table


def _notes(results: Sequence[Result], test: Test | None) -> list[str]:
    """Return sentences on how to read the table, and the signature of each metric once."""
    said = []
    scores = [pair for result in results for pair in result.by_name().items()]
    several = len({result.system for result in results}) > 1
    for result in results:
        place = f"{result.test_set}, {result.system}" if several else result.test_set
        found = dict.fromkeys(note for measured in result.by_name().values() for note in measured.notes)
        said += [f"{place}: {note}." for note in found]
    if any(measured.interval is not None for _, measured in scores):
        said.append("(mean ± interval): mean of the bootstrap resamples, half the width of the 95 % interval.")
    if test:
        said.append(
            f"p: {TESTS[test]} against {results[0].system}; 1 for equal scores, at least 2 / 2^d if d lines differ."
        )
    return [*said, *dict.fromkeys(f"{name}  {measured.signature}" for name, measured in scores)]


def _cell(name: str, score: Score) -> str:
    value = f"{score.value:.4f}" if name == "COMET" else f"{score.value:.2f}"
    return value if score.interval is None else f"{value} ({score.mean:.2f} ± {score.interval:.2f})"


# Files


def _default_place(model: Path | None, folder: Path) -> Path | None:
    """Return the run whose model is evaluated; None for a model outside a run, or if a checkpoint is named."""
    run, named = run_of(folder), folder if model is None else registry.find_folder(model, lambda _: None)
    return run if run is not None and (folder.resolve() == run / "model" or named.resolve() == run) else None


def _begin(out: Path, sets: TestSets) -> None:
    """Make the output folder, and warn if scores of another text will be replaced."""
    with _writing(out):
        (out / "hypotheses").mkdir(parents=True, exist_ok=True)
        for place in (out, out / "hypotheses"):
            tempfile.TemporaryFile(dir=place).close()
        present = _read_scores(out)
    for name, pairs in sets.items():
        digest, record = _text_sha256(pairs), present.get(name)
        if isinstance(record, dict) and record.get("text_sha256", digest) != digest:
            say(f"warning: {out / 'scores.json'} has scores of another text called {name!r}, which will be replaced")


def write_record(out: Path, result: Result, pairs: Sequence[Pair]) -> None:
    """Add the scores of a set to scores.json; those of other sets stay, and other metrics of the same translations.

    Args:
        pairs: sources and references of the set; their digest and a sample are kept.

    Raises UserError if the file cannot be written or is damaged.
    """
    made = {"text_sha256": _text_sha256(pairs), **result.origin, "sample": _sample(pairs, result.hypotheses)}
    values = {**result.metrics(), "seconds": round(result.seconds or 0, 2), **made}
    # Another evaluation may write at the same time. The folder `out` itself is locked while its run trains.
    with _writing(out), locked(out / "hypotheses", lambda: None):
        present = _read_scores(out)
        before = present.get(result.test_set)
        other = _differences(before, values) if isinstance(before, dict) else []
        # The same translations keep scores by metrics that were not asked for this time.
        kept = before if isinstance(before, dict) and not other and made.items() <= before.items() else {}
        write_json(out / "scores.json", present | {result.test_set: kept | values})
    if other:
        what = " and ".join(other)
        say(f"warning: {out / 'scores.json'} had scores of {what} on {result.test_set!r}, which were replaced")


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what earlier scores of a set were made with that the new ones were not."""
    origins = {"model_sha256": "other weights", "decoding": "another search", "engine": "another engine"}
    found = [what for key, what in origins.items() if before.get(key, now[key]) != now[key]]
    chosen = {"precision": "another precision", "formality": "another form of address"}  # which may have no value
    found += [what for key, what in chosen.items() if before.get(key) != now.get(key)]
    if before.get("reranker_sha256") != now.get("reranker_sha256"):
        found.append("another reranker")
    elif before.get("reverse_weight", weight := now.get("reverse_weight")) != weight:
        found.append("another weight of the reranker")
    if any(_metric(before.get(name)) not in ("", _metric(part)) for name, part in now.items()):
        found.append("other metrics")
    return found


def _metric(part: object) -> str:
    """Return the signature of a score without what resampling adds to it; "" for anything else."""
    signature = str(part.get("signature", "")) if isinstance(part, dict) else ""
    return "|".join(field for field in signature.split("|") if not field.startswith(("bs:", "seed:")))


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


def _read_scores(out: Path) -> dict[str, Any]:
    path = out / "scores.json"
    try:
        return read_json(path) if path.exists() else {}
    except ValueError as error:
        raise UserError(f"{path}: damaged: {error}; remove or restore it") from error


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """Raise UserError if the folder cannot be written to in this block."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{error.filename or out}: cannot be written: {error.strerror}; name a folder with --out"
        ) from error


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
