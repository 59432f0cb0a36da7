"""`translate compare`: one HTML page that shows where two systems differ."""

from pathlib import Path

from translate.commands import systems
from translate.commands.messages import say
from translate.commands.paths import check_page
from translate.commands.test_sets import find_sets
from translate.corpus.lines import read_lines
from translate.errors import UserError
from translate.evaluation.comparison import Comparison, compare
from translate.evaluation.scores import metrics
from translate.files import write_text
from translate.options.comparing import Compare
from translate.pictures.picture import comparison_page


def run(options: Compare) -> None:
    """Write the page and print its verdict; UserError for wrong input."""
    check_page(options.out, force=options.force)
    if options.train:
        _check_text(options.train)
    found = systems.find_systems([options.baseline, options.system])
    source, target = systems.languages(options, found)
    sets = find_sets(options, next((system.folder for system in found if system.folder), None), source, target)
    if len(sets) > 1:
        raise UserError(f"a page shows one test set, but there are {len(sets)}: {', '.join(sets)}; name one")
    metrics(target or "")  # reports a missing package before anything is translated
    systems.check_search(options, found)
    ((name, pairs),) = sets.items()
    for system in found:
        if system.folder is None:
            systems.check_saved(system, sets, ignore_case=options.ignore_case)
    outputs = []
    for system in found:
        output = systems.open_system(system, options).output(name, pairs)
        systems.warn(system, output, pairs, ignore_case=options.ignore_case)
        outputs.append(output.hypotheses)
    comparison = compare(
        name,
        [system.name for system in found],
        outputs,
        pairs,
        test=options.paired,
        target=target or "",
        ignore_case=options.ignore_case,
        training_text=read_lines(options.train) if options.train else None,
        n_sentences=options.sentences,
    )
    _write(options, comparison)
    print(comparison.verdict)
    say(f"wrote {options.out}")


def _check_text(path: Path) -> None:
    """Raise UserError before anything is translated if a file cannot be read or has no words."""
    if not any(line.strip() for line in read_lines(path)):
        raise UserError(f"{path}: has no words to count; name the training text, or leave --train out")


def _write(options: Compare, comparison: Comparison) -> None:
    try:
        write_text(options.out, comparison_page(comparison))
    except OSError as error:
        raise UserError(f"{options.out}: cannot be written: {error.strerror}") from error
