"""Verbs that compare: evaluate, score."""

from pathlib import Path
from typing import Annotated

import typer

from translate.cli.options import DEFAULT_MODEL, Alpha, Beam, JsonLines, LengthPenalty, Model, Threads

TEST_SETS = "Test sets"


def evaluate(
    model: Annotated[Path | None, typer.Argument(metavar="MODEL", help=DEFAULT_MODEL)] = None,
    source: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Source sentences, one per line.", rich_help_panel=TEST_SETS),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Their translations.", rich_help_panel=TEST_SETS)
    ] = None,
    test_set: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A test set of sacreBLEU; repeatable.", rich_help_panel=TEST_SETS),
    ] = None,
    valid: Annotated[
        bool, typer.Option("--valid", help="The validation set of the run.", rich_help_panel=TEST_SETS)
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for the results [default: the run].", rich_help_panel="Output"),
    ] = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Add 95 % intervals (bootstrap).", rich_help_panel="Output")
    ] = False,
    beam: Beam = None,
    alpha: Alpha = None,
    length_penalty: LengthPenalty = None,
    threads: Threads = None,
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
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Source sentences, one per line.")],
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="Their translations.")],
    model: Model = None,
    as_json: JsonLines = False,
    threads: Threads = None,
) -> None:
    """Compute the probability of given translations.

    Each line of output is the log-probability, the number of tokens, and the log-probability per token.
    """
    from translate.commands.score import score as run

    run(source, reference, model=model, as_json=as_json, threads=threads)
