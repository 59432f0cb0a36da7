"""Verbs that compare: evaluate, score."""

from pathlib import Path
from typing import Annotated

from translate.cli import options
from translate.cli.options import DEFAULT_MODEL, OUTPUT, argument, flag, value

TEST_SETS = "Test sets"


def evaluate(
    model: Annotated[Path | None, argument("MODEL", DEFAULT_MODEL)] = None,
    source: Annotated[Path | None, value(TEST_SETS, "FILE", "Source sentences, one per line.")] = None,
    reference: Annotated[Path | None, value(TEST_SETS, "FILE", "Their translations.")] = None,
    test_set: Annotated[list[str] | None, value(TEST_SETS, "NAME", "A test set of sacreBLEU; repeatable.")] = None,
    valid: Annotated[bool, flag(TEST_SETS, "--valid", "The validation set of the run.")] = False,
    out: Annotated[Path | None, value(OUTPUT, "FOLDER", "Folder for the results [default: the run].")] = None,
    confidence: Annotated[bool, flag(OUTPUT, "--confidence", "Add 95 % intervals (bootstrap).")] = False,
    beam: options.Beam = None,
    alpha: options.Alpha = None,
    length_penalty: options.LengthPenalty = None,
    threads: options.Threads = None,
) -> None:
    """Compute BLEU, chrF and TER, by default on the run's test sets."""
    from translate.commands.evaluate import evaluate as run

    run(
        model,
        source=source,
        reference=reference,
        test_sets=test_set or [],
        valid=valid,
        out=out,
        beam_size=beam,
        alpha=alpha,
        length_penalty=length_penalty,
        threads=threads,
        confidence=confidence,
    )


def score(
    source: Annotated[Path, argument("SOURCE", "Source sentences, one per line.")],
    reference: Annotated[Path, argument("REFERENCE", "Their translations.")],
    model: options.Model = None,
    as_json: options.JsonLines = False,
    threads: options.Threads = None,
) -> None:
    """Compute the probability of given translations.

    Each line of output is the log-probability, the number of tokens, and the log-probability per token.
    """
    from translate.commands.score import score as run

    run(source, reference, model=model, as_json=as_json, threads=threads)
