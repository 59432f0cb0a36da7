"""`translate experiment`: run a grid of experiments, and print its table."""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from translate.commands.prepare import complete
from translate.errors import UserError, say
from translate.files import locked, write_json, write_text
from translate.options import COMPUTING, FILES, OUTPUT, Overrides, argument, flag, option
from translate.tables import rendered

FOLDER = Path("experiments")
RUNS = "Runs"
EXIT_FAILED = 1  # of a grid with a run that fails


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    """Run a grid of experiments and print its table.

    Run the same command again to continue after an interruption; finished runs are kept. The exit code is 1 if a run
    fails.
    """

    grid: Annotated[Path, argument("GRID", "Grid file (TOML).")]
    out: Annotated[Path | None, option(FILES, "FOLDER", "Results [default: experiments/NAME].")] = None
    runs: Annotated[
        Path | None, option(FILES, "FOLDER", "Runs; grids with the same folder share them [default: in --out].")
    ] = None
    overrides: Overrides = None
    side_by_side: Annotated[int, option(COMPUTING, "N", "Number of runs at a time.", "--jobs", "-j", min=1)] = 1
    slurm: Annotated[
        list[str] | None,
        option(COMPUTING, "KEY=VALUE", "Submit a Slurm array with this parameter of submitit; repeatable."),
    ] = None
    table: Annotated[bool, flag(RUNS, "--table", "Run nothing, and print the table of the finished runs.")] = False
    retry: Annotated[bool, flag(RUNS, "--retry", "Run again the runs that failed.")] = False
    paired: Annotated[
        Literal["bootstrap", "ar"], option(OUTPUT, "TEST", "Test against the baseline: bootstrap or ar.")
    ] = "bootstrap"


def run(options: ExperimentOptions) -> int:
    """Run what is missing of a grid, print its table, write it as table.md and table.json, and return the exit code.

    With parameters for Slurm, the runs are submitted as an array and there is no table yet. Raises UserError for
    mistakes in the grid, the data or the folder.
    """
    from translate.experiments.grid import load_grid

    given = [_parameter(text) for text in options.slurm or []]
    parameters = dict(given)
    if twice := next((key for key in parameters if [name for name, _ in given].count(key) > 1), None):
        raise UserError(f"--slurm {twice} is given twice; leave one out")
    grid, folder = load_grid(options.grid, options.overrides or []), options.out or FOLDER / options.grid.stem
    from translate.experiments import runner
    from translate.experiments.plan import open_folder, plan
    from translate.experiments.table import ResultTable
    from translate.training.parent import Parent

    parent = Parent.open(Path(grid.from_model), say) if grid.from_model else None
    open_folder(grid, folder, create=not options.table)
    try:
        # A table reads only records that are complete, so it may be made while the runs go on.
        with nullcontext() if options.table else locked(folder / ".lock"):
            jobs = plan(grid, folder, partial(complete, make=not options.table), parent, options.runs)
            missing = [] if options.table else runner.pending(jobs, retry=options.retry)
            if missing:
                say(f"{len(missing)} of {len(jobs)} runs to do, for {len(grid.cells)} cells; logs in {folder / 'logs'}")
            if missing and parameters:
                submitted = runner.submit(missing, folder, parameters)
                say(f"submitted {len(submitted)} jobs, {submitted[0].job_id} first; see the table with --table")
                return 0
            runner.run_here(missing, folder, side_by_side=options.side_by_side, say=say)
            table = ResultTable.build(grid, jobs, options.paired)
    except BlockingIOError as error:
        raise UserError(f"{folder}: another process runs this grid; wait for it, or name another --out") from error
    print("\n\n".join([rendered(table.rows(), "simple"), "\n".join(table.notes())]))
    page = [f"# {grid.name}", rendered(table.rows(), "github"), "\n".join(f"- {note}" for note in table.notes())]
    write_text(folder / "table.md", "\n\n".join(page) + "\n")
    write_json(folder / "table.json", table.as_dict())
    say(f"wrote {folder / 'table.md'} and {folder / 'table.json'}")
    return EXIT_FAILED if not options.table and any(line.failed for line in table.lines) else 0


def _parameter(text: str) -> tuple[str, Any]:
    """Return a parameter of submitit; UserError if it is not `key=value`."""
    from translate.config.load import setting

    if "=" not in text:
        raise UserError(f"--slurm {text}: write key=value, for example --slurm slurm_partition=gpu")
    return setting(text)
