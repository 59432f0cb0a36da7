"""Verbs that compare: evaluate, compare, score."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.options import declaring
from translate.options.declaring import FILES, OUTPUT, SYSTEM_HELP, WITHOUT_MODEL, argument, flag, value

TEST_SETS, METRICS = "Test sets", "Metrics"


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """The options that evaluate and compare have: the test sets, the case, and the search."""

    source: Annotated[Path | None, value(TEST_SETS, "FILE", "Source sentences, one per line.")] = None
    reference: Annotated[Path | None, value(TEST_SETS, "FILE", "Their translations; enough for saved outputs.")] = None
    test_set: Annotated[list[str] | None, value(TEST_SETS, "NAME", "A test set of sacreBLEU; repeatable.")] = None
    valid: Annotated[bool, flag(TEST_SETS, "--valid", "The validation set of the run.")] = False
    from_language: Annotated[
        str | None, value(TEST_SETS, "LANGUAGE", "Source language [default: the models'].", "--from")
    ] = None
    to_language: Annotated[
        str | None, value(TEST_SETS, "LANGUAGE", "Target language [default: the models'].", "--to")
    ] = None
    ignore_case: Annotated[bool, flag(METRICS, "--ignore-case", "Compare in lower case.")] = False
    beam: declaring.Beam = None
    alpha: declaring.Alpha = None
    length_penalty: declaring.LengthPenalty = None
    rerank: declaring.Rerank = None
    engine: declaring.Engine = "torch"
    precision: declaring.Precision = None
    threads: declaring.Threads = None


@dataclass(frozen=True, kw_only=True)
class Evaluate(Comparing):
    """Compute BLEU, chrF++ and TER, by default on the run's test sets.

    A system is a model, a run, or a file with its output. With several, the first is the baseline.
    """

    systems: Annotated[list[Path] | None, argument("SYSTEM", f"{SYSTEM_HELP} {WITHOUT_MODEL}")] = None
    paired: Annotated[
        Literal["bootstrap", "ar"] | None,
        value(METRICS, "TEST", "Test differences to the first system: bootstrap, or ar (approximate randomization)."),
    ] = None
    confidence: Annotated[bool, flag(METRICS, "--confidence", "Add 95 % intervals (bootstrap).")] = False
    paper: Annotated[
        bool, flag(METRICS, "--paper", "Add the paper's tokenised BLEU, which is not comparable with sacreBLEU.")
    ] = False
    comet: Annotated[
        str | None, value(METRICS, "COMMAND", "Add COMET by this program, such as /opt/comet/bin/comet-score.")
    ] = None
    format: Annotated[
        Literal["text", "json", "markdown", "latex"], value(OUTPUT, "FORMAT", "text, json, markdown or latex.")
    ] = "text"
    out: Annotated[Path | None, value(OUTPUT, "FOLDER", "Folder for the results [default: the run].")] = None


@dataclass(frozen=True, kw_only=True)
class Compare(Comparing):
    """Write a page that shows where two systems differ.

    A system is a model, a run, or a file with its output. The page is one HTML file that needs no network.
    """

    baseline: Annotated[Path, argument("BASELINE", f"{SYSTEM_HELP}.")]
    system: Annotated[Path, argument("SYSTEM", "The other one.")]
    train: Annotated[
        Path | None, value(TEST_SETS, "FILE", "Target side of the training text, to count words [default: references].")
    ] = None
    paired: Annotated[
        Literal["bootstrap", "ar"], value(METRICS, "TEST", "bootstrap, or ar (approximate randomization).")
    ] = "bootstrap"
    sentences: Annotated[int, value(OUTPUT, "N", "Sentences with the largest gains and losses.", min=1)] = 15
    out: Annotated[Path, value(FILES, "FILE", "The page.")] = Path("comparison.html")
    force: Annotated[bool, flag(FILES, "--force", "Overwrite the page.")] = False


@dataclass(frozen=True, kw_only=True)
class Score:
    """Compute the probability of given translations.

    Each line of output is the log-probability, the number of tokens, and the log-probability per token.
    """

    source: Annotated[Path, argument("SOURCE", "Source sentences, one per line.")]
    reference: Annotated[Path, argument("REFERENCE", "Their translations.")]
    model: declaring.Model = None
    as_json: declaring.JsonLines = False
    threads: declaring.Threads = None
