"""`translate evaluate`: translate test sets, or read saved outputs, and score them."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from translate.commands import score_files, systems
from translate.commands.systems import METRICS, Comparing, System, TestSets, find_sets
from translate.corpus.sources import Pair
from translate.errors import UserError, optional_package, say
from translate.evaluation import report
from translate.evaluation.other_metrics import comet, paper_bleu, program
from translate.evaluation.report import Result
from translate.evaluation.scores import metrics, paired_scores, score
from translate.options import OUTPUT, SYSTEM_HELP, WITHOUT_MODEL, argument, flag, option
from translate.tables import Form, rendered

FORMS: dict[str, Form] = {"text": "simple", "markdown": "github", "latex": "latex_booktabs"}

Hypotheses = list[list[str]]  # of each system on one test set


@dataclass(frozen=True, kw_only=True)
class Evaluate(Comparing):
    """Compute BLEU, chrF++ and TER, by default on the run's test sets.

    A system is a model, a run, or a file with its output. With several, the first is the baseline.
    """

    systems: Annotated[list[Path] | None, argument("SYSTEM", f"{SYSTEM_HELP} {WITHOUT_MODEL}")] = None
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


def run(options: Evaluate) -> None:
    """Print BLEU, chrF++ and TER with their signatures; write scores.json and hypotheses/NAME.txt for models.

    Without `out` they are written to the run, and not at all for a model outside a run. Raises UserError for wrong
    input.
    """
    found = systems.find_systems(options.systems or [])
    source, target = systems.languages(options, found)
    model = next((system.folder for system in found if system.folder), None)
    sets = find_sets(options, model, source, target)
    _check(options, found, sets, target)
    places = [_place(options, system, several=len(found) > 1) for system in found]
    for place, several in Counter(filter(None, places)).items():
        if several > 1:
            raise UserError(f"{several} systems would write their results to {place}; give their folders other names")
        score_files.begin(place, sets)
    by_system = [
        _evaluated(options, system, sets, target or "", place) for system, place in zip(found, places, strict=True)
    ]
    results = []
    for (_, pairs), scored in zip(sets.items(), zip(*by_system, strict=True), strict=True):
        of_set, outputs = zip(*scored, strict=True)
        results += _completed(options, of_set, pairs, list(outputs), target or "")
    _print(options, results)


def _check(options: Evaluate, found: Sequence[System], sets: TestSets, target: str | None) -> None:
    """Raise UserError for what would otherwise fail after the translation."""
    metrics(target or "")
    systems.check_search(options, found)
    for system in found:
        if system.folder is None:
            systems.check_saved(system, sets, ignore_case=options.ignore_case)
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


def _place(options: Evaluate, system: System, *, several: bool) -> Path | None:
    """The folder for the results of a model, or None."""
    if system.folder is None:
        return None
    if options.out:
        return options.out / re.sub(r"[^\w.-]+", "-", system.name).strip("-") if several else options.out
    return score_files.default_place(system.named, system.folder)


def _evaluated(
    options: Evaluate, system: System, sets: TestSets, target: str, out: Path | None
) -> list[tuple[Result, list[str]]]:
    """Translate all sets by a system, or read its output; score them, and write both to `out`."""
    opened = systems.open_system(system, options)
    found = []
    for name, pairs in sets.items():
        output, references = opened.output(name, pairs), [reference for _, reference in pairs]
        if out is not None:
            score_files.write_hypotheses(out, name, output.hypotheses)
        systems.warn(system, output, pairs, ignore_case=options.ignore_case)
        scores = score(
            output.hypotheses,
            references,
            target=target,
            confidence=options.confidence,
            ignore_case=options.ignore_case,
        )
        result = Result(name, system.name, scores, {}, output.seconds)
        if out is not None:
            score_files.write_record(out, result, opened.origin, pairs, output.hypotheses)
        found.append((result, output.hypotheses))
    if out is not None:
        say(f"wrote {out / 'scores.json'} and {out / 'hypotheses'}")
        score_files.refresh_card(out)
    return found


def _completed(
    options: Evaluate, results: Sequence[Result], pairs: Sequence[Pair], outputs: Hypotheses, target: str
) -> list[Result]:
    """Return the results of one test set with p-values and the other metrics that the user asks for."""
    sources, references = ([pair[side] for pair in pairs] for side in (0, 1))
    scores = [result.scores for result in results]
    if options.paired:
        scores = paired_scores(
            outputs,
            references,
            options.paired,
            target=target,
            confidence=options.confidence,
            ignore_case=options.ignore_case,
        )
    completed = []
    for result, own, hypotheses in zip(results, scores, outputs, strict=True):
        others = {}
        if options.paper:
            others["BLEU of the paper"] = paper_bleu(hypotheses, references, target)
        if options.comet is not None:
            others["COMET"] = comet(options.comet, sources, hypotheses, references)
        completed.append(replace(result, scores=own, others=others))
    return completed


def _print(options: Evaluate, results: Sequence[Result]) -> None:
    """Print the report in the format that the user asks for."""
    notes = report.notes(results, options.paired)
    if options.format == "json":
        values = {"results": [result.as_dict() for result in results], "notes": notes}
        print(json.dumps(values, indent=2, ensure_ascii=False))
        return
    print(rendered(report.rows(results), FORMS[options.format]))
    begin = {"text": "", "markdown": "- ", "latex": "% "}[options.format]
    print("\n" * (options.format == "markdown") + "\n".join(begin + note for note in notes))
