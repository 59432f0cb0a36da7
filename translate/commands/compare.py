"""`translate compare`: one HTML page that shows where two systems differ."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.commands import systems
from translate.commands.lines import check_page
from translate.commands.systems import METRICS, TEST_SETS, ComparisonOptions
from translate.errors import UserError, reason, say
from translate.evaluation.comparison import compare
from translate.evaluation.scores import metrics
from translate.files import as_unicode, read_lines, write_text
from translate.options import FILES, OUTPUT, SYSTEM_HELP, flag, model_argument, option
from translate.pictures.picture import comparison_page


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ComparisonOptions):
    """Write a page that shows where two systems differ.

    A system is a model, a run, or a file with its output. The page is one HTML file that needs no network.
    """

    baseline: Annotated[Path, model_argument("BASELINE", f"{SYSTEM_HELP}.")]
    system: Annotated[Path, model_argument("SYSTEM", "The system that is compared with it, named in the same way.")]
    train: Annotated[
        Path | None,
        option(TEST_SETS, "FILE", "Target side of the training text, to count words [default: references]."),
    ] = None
    paired: Annotated[
        Literal["bootstrap", "ar"], option(METRICS, "TEST", "bootstrap, or ar (approximate randomization).")
    ] = "bootstrap"
    sentences: Annotated[int, option(OUTPUT, "N", "Sentences with the largest gains and losses.", min=1)] = 15
    out: Annotated[Path, option(FILES, "FILE", "File of the page.")] = Path("comparison.html")
    force: Annotated[bool, flag(FILES, "--force", "Overwrite the page.")] = False


def run(options: CompareOptions) -> None:
    """Write the page and print its verdict; UserError for wrong input."""
    check_page(options.out, force=options.force)
    if options.train and not any(line.strip() for line in read_lines(options.train)):
        raise UserError(f"{options.train}: has no words to count; name the training text, or leave --train out")
    found, sets, target = systems.find(options, [options.baseline, options.system])
    if len(sets) > 1:
        raise UserError(f"a page shows one test set, but there are {len(sets)}: {', '.join(sets)}; name one")
    metrics(target or "")  # reports a missing package before anything is translated
    systems.require_usable(options, found, sets)
    ((name, pairs),) = sets.items()
    outputs = []
    for system in found:
        output = systems.open_system(system, options).output(name, pairs)
        systems.warn(system, output, pairs, ignore_case=options.ignore_case)
        outputs.append(output.hypotheses)
    comparison = compare(
        name,
        [as_unicode(system.name) for system in found],
        outputs,
        pairs,
        test=options.paired,
        target=target or "",
        ignore_case=options.ignore_case,
        training_text=read_lines(options.train) if options.train else None,
        n_sentences=options.sentences,
    )
    try:
        write_text(options.out, comparison_page(comparison))
    except OSError as error:
        raise UserError(f"{options.out}: cannot be written: {reason(error)}") from error
    print(comparison.verdict)
    for note in comparison.notes:
        print(f"{note[0].upper()}{note[1:]}.")
    say(f"wrote {options.out}")
