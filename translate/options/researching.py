"""Verbs for research: experiment."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.options import declaring
from translate.options.declaring import COMPUTING, FILES, OUTPUT, argument, flag, value

RUNS = "Runs"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Run a grid of experiments and print its table.

    Run the same command again to continue after an interruption; finished runs are kept.
    """

    grid: Annotated[Path, argument("GRID", "Grid file (TOML).")]
    out: Annotated[Path | None, value(FILES, "FOLDER", "Runs and results [default: experiments/NAME].")] = None
    overrides: declaring.Overrides = None
    side_by_side: Annotated[int, value(COMPUTING, "N", "Runs at a time.", "--jobs", "-j", min=1)] = 1
    slurm: Annotated[
        list[str] | None,
        value(COMPUTING, "KEY=VALUE", "Submit a Slurm array with this parameter of submitit; repeatable."),
    ] = None
    table: Annotated[bool, flag(RUNS, "--table", "Run nothing; print the table of what there is.")] = False
    retry: Annotated[bool, flag(RUNS, "--retry", "Run again what failed.")] = False
    paired: Annotated[
        Literal["bootstrap", "ar"], value(OUTPUT, "TEST", "Test against the baseline: bootstrap or ar.")
    ] = "bootstrap"
