"""`translate plot`: learning curves of runs, and charts of grids, as SVG and PNG."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from translate.errors import UserError, say
from translate.files import as_unicode, read_json, write_bytes
from translate.options import FILES, argument, option
from translate.pictures import charts
from translate.pictures.plotting import glyphs_checked, rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES = (Path(), Path("runs"), Path("experiments"))


@dataclass(frozen=True, kw_only=True)
class PlotOptions:
    """Draw learning curves of runs, or the chart of a grid.

    Each drawing is written as SVG and PNG.
    """

    places: Annotated[list[Path], argument("RUN|GRID", "Run directories, or the folder or file of a grid.")]
    out: Annotated[Path | None, option(FILES, "FOLDER", "Where to write [default: the first run or the grid].")] = None


def run(options: PlotOptions) -> None:
    """Draw the runs in one figure, or the grid; UserError if there is nothing to draw or no matplotlib."""
    folders = [_find(place) for place in options.places]
    grids = [folder for folder in folders if (folder / "table.json").exists()]
    if grids and len(folders) > 1:
        raise UserError("one grid, or several runs, can be drawn at a time; name either")
    out = options.out or folders[0]
    if out.suffix in (".svg", ".png", ".html", ".pdf") and not out.is_dir():
        raise UserError(f"--out {out}: is a folder for two files, .svg and .png; name one without {out.suffix}")
    if grids:
        _write(_chart(grids[0]), out, "chart")
    else:
        _write(_curves(folders), out, "curves")


def _find(place: Path) -> Path:
    """Return the folder of a run or grid; UserError if there is none."""
    name = place.with_suffix("") if place.suffix == ".toml" else place
    candidates = [folder / (name.name if place.suffix == ".toml" else name) for folder in PLACES]
    for folder in candidates:
        if (folder / "metrics.jsonl").exists() or (folder / "table.json").exists():
            return folder
    if grid := next((folder for folder in candidates if (folder / "grid.json").exists()), None):
        raise UserError(f"{grid}: a grid without a table yet; make it with translate experiment GRID.toml --table")
    raise UserError(f"{place}: no run with metrics and no grid with a table; name a run, or run the grid first")


def _curves(folders: Sequence[Path]) -> "Figure":
    from translate.training.run import Run

    names = [folder.resolve().name for folder in folders]
    labels = (name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True))
    drawn = map(as_unicode, labels)
    runs = {label: Run(folder).records() for label, folder in zip(drawn, folders, strict=True)}
    for label, records in runs.items():
        if not any(record["kind"] in ("train", "valid") for record in records):
            raise UserError(f"{label}: the run has no measurements yet; plot it after its first updates")
    return charts.learning_curves(runs)


def _chart(folder: Path) -> "Figure":
    try:
        return charts.grid_chart(read_json(folder / "table.json"))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder / 'table.json'}: damaged; make it again with `translate experiment`") from error


def _write(figure: "Figure", folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with glyphs_checked(folder / name):
        for form in ("svg", "png"):
            write_bytes(folder / f"{name}.{form}", rendered(figure, form))
    say(f"wrote {folder / name}.svg and .png")
