"""Verbs for research: experiment, cost, data, plot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.options import declaring
from translate.options.declaring import COMPUTING, FILES, OUTPUT, argument, flag, value

RUNS, TRAINING = "Runs", "Training"

EXIT_FAILED = 1  # of a grid with a run that fails


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Run a grid of experiments and print its table.

    Run the same command again to continue after an interruption; finished runs are kept. The exit code is 1 if a run
    fails.
    """

    grid: Annotated[Path, argument("GRID", "Grid file (TOML).")]
    out: Annotated[Path | None, value(FILES, "FOLDER", "Results [default: experiments/NAME].")] = None
    runs: Annotated[
        Path | None, value(FILES, "FOLDER", "Runs; grids with the same folder share them [default: in --out].")
    ] = None
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


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Compute parameters, FLOPs, time and energy of an experiment.

    These are tables 1 and 2 of the paper for any configuration. Nothing is trained.
    """

    config: Annotated[Path, argument("CONFIG", "Experiment file (TOML).")]
    overrides: declaring.Overrides = None
    tokens: Annotated[
        float | None, value(TRAINING, "N", "Training tokens per side [default: from the experiment].", min=1)
    ] = None
    length: Annotated[
        int | None, value(TRAINING, "N", "Tokens in a sentence [default: of the prepared corpus, or 30].", min=1)
    ] = None
    hardware: Annotated[str | None, value(TRAINING, "NAME", "One device, such as H100, or here [default: all].")] = None
    utilisation: Annotated[
        float | None,
        value(
            TRAINING, "X", "Share of the FLOP/s that training uses [default: the paper's base run].", min=1e-6, max=1
        ),
    ] = None
    markdown: Annotated[bool, flag(OUTPUT, "--markdown", "Write Markdown.")] = False


@dataclass(frozen=True, kw_only=True)
class Data:
    """Examine the corpus of an experiment before training.

    Lengths, duplicates, wrong language, mismatched numbers and punctuation, encodings, test overlap, vocabulary sizes.
    """

    config: Annotated[Path, argument("CONFIG", "Experiment file (TOML).")]
    overrides: declaring.Overrides = None
    html: Annotated[Path | None, value(OUTPUT, "FILE", "Also write a page of HTML.")] = None
    force: Annotated[bool, flag(OUTPUT, "--force", "Overwrite the page.")] = False


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Draw learning curves of runs, or the chart of a grid.

    Each drawing is written as SVG and PNG.
    """

    places: Annotated[list[Path], argument("RUN|GRID", "Run directories, or the folder or file of a grid.")]
    out: Annotated[Path | None, value(FILES, "FOLDER", "Where to write [default: the first run or the grid].")] = None
