"""`translate experiment`: run a grid of experiments, and print its table."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import typer

from translate.commands.messages import say
from translate.commands.prepare import complete
from translate.config.load import setting
from translate.errors import UserError
from translate.experiments.grid import load_grid
from translate.files import locked, write_json, write_text
from translate.options.researching import EXIT_FAILED, Experiment
from translate.tables import rendered

FOLDER = Path("experiments")


def run(options: Experiment) -> None:
    """Run what is missing of a grid, then print its table and write it as table.md and table.json.

    With parameters for Slurm, the runs are submitted as an array and there is no table yet. Raises UserError for
    mistakes in the grid, the data or the folder; typer.Exit if a run fails.
    """
    parameters = dict(map(_parameter, options.slurm or []))
    grid, folder = load_grid(options.grid, options.overrides or []), options.out or FOLDER / options.grid.stem
    from translate.experiments import runner
    from translate.experiments.plan import open_folder, plan
    from translate.experiments.table import Table
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
                return
            runner.run_here(missing, folder, side_by_side=options.side_by_side, say=say)
            table = Table.build(grid, jobs, options.paired)
    except BlockingIOError as error:
        raise UserError(f"{folder}: another process runs this grid; wait for it, or name another --out") from error
    print("\n\n".join([rendered(table.rows(), "simple"), "\n".join(table.notes())]))
    page = [f"# {grid.name}", rendered(table.rows(), "github"), "\n".join(f"- {note}" for note in table.notes())]
    write_text(folder / "table.md", "\n\n".join(page) + "\n")
    write_json(folder / "table.json", table.as_dict())
    say(f"wrote {folder / 'table.md'} and {folder / 'table.json'}")
    if not options.table and any(line.failed for line in table.lines):
        raise typer.Exit(EXIT_FAILED)


def _parameter(text: str) -> tuple[str, Any]:
    """Return a parameter of submitit; UserError if it is not `key=value`."""
    if "=" not in text:
        raise UserError(f"--slurm {text}: write key=value, for example --slurm slurm_partition=gpu")
    return setting(text)
