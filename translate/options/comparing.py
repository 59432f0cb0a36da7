"""Verbs that compare: evaluate, score."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from translate.options import declaring
from translate.options.declaring import DEFAULT_MODEL, OUTPUT, argument, flag, value

TEST_SETS = "Test sets"


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Compute BLEU, chrF and TER, by default on the run's test sets."""

    model: Annotated[Path | None, argument("MODEL", DEFAULT_MODEL)] = None
    source: Annotated[Path | None, value(TEST_SETS, "FILE", "Source sentences, one per line.")] = None
    reference: Annotated[Path | None, value(TEST_SETS, "FILE", "Their translations.")] = None
    test_set: Annotated[list[str] | None, value(TEST_SETS, "NAME", "A test set of sacreBLEU; repeatable.")] = None
    valid: Annotated[bool, flag(TEST_SETS, "--valid", "The validation set of the run.")] = False
    out: Annotated[Path | None, value(OUTPUT, "FOLDER", "Folder for the results [default: the run].")] = None
    confidence: Annotated[bool, flag(OUTPUT, "--confidence", "Add 95 % intervals (bootstrap).")] = False
    beam: declaring.Beam = None
    alpha: declaring.Alpha = None
    length_penalty: declaring.LengthPenalty = None
    threads: declaring.Threads = None


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
