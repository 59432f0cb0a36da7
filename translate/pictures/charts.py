"""Charts of training: learning rates (5.3), learning curves of runs, and the results of a grid with their spread."""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transformer.schedule import noam_lr
from translate.pictures.plotting import COLOURS, QUIET, new_axes, new_figure
from translate.pictures.terminal import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = Mapping[str, Any]

_COLUMNS = 64
_LETTER = 0.08  # inches
# Tell runs of the same colour apart; the first runs, one of each colour, need no marker.
_MARKERS = ("", "s", "^", "D", "v")
# d_model and warm-up steps: base and big of table 3, and base with twice the warm-up.
SCHEDULES = ((512, 4_000), (1_024, 4_000), (512, 8_000))
LAST_STEP = 20_000
_LARGEST = 1e30  # of a measurement; matplotlib cannot divide an axis up to the largest number


@dataclass(frozen=True)
class SchedulePicture:
    """Learning rates over the steps of a training, for `SCHEDULES`."""

    title: str = "learning rate, equation 3"

    def curves(self, steps: Sequence[int]) -> list[tuple[str, list[float]]]:
        """Return the name and the learning rates of each curve."""
        return [
            (f"d_model {d}, warm-up {w}", [noam_lr(step, d_model=d, warmup_steps=w) for step in steps])
            for d, w in SCHEDULES
        ]

    def text(self) -> str:
        """Return the curves as letters."""
        curves = self.curves(range(LAST_STEP // _COLUMNS, LAST_STEP + 1, LAST_STEP // _COLUMNS))
        highest = max(max(rates) for _, rates in curves)
        drawn = plot(curves, height=16, top=f"{highest:.2e}", left="0", right=f"{LAST_STEP:,} steps")
        return f"{self.title}\n\n{drawn}"

    def figure(self) -> "Figure":
        """Return the curves."""
        figure = new_figure(5.5, 3)
        (axes,) = new_axes(figure)
        steps = range(20, LAST_STEP + 1, 20)
        for (name, rates), colour in zip(self.curves(steps), COLOURS, strict=False):
            axes.plot(steps, rates, color=colour, label=name)
        axes.set(title=self.title, xlabel="step", ylabel="learning rate")
        axes.legend(frameon=False)
        return figure


def learning_curves(runs: Mapping[str, Sequence[Record]]) -> "Figure":
    """Return loss and, where it was measured, BLEU by update.

    Args:
        runs: the lines of the metrics by name of the run.
    """
    has_bleu = any(record.get("bleu") is not None for records in runs.values() for record in records)
    figure = new_figure(9.0 if has_bleu else 5.0, 3.5)
    loss, *others = new_axes(figure, 1, 2 if has_bleu else 1)
    looks = itertools.cycle(itertools.product(_MARKERS, COLOURS))
    for (name, records), (marker, colour) in zip(runs.items(), looks, strict=False):
        look = {"color": colour, "markersize": 3}
        for kind, style in (("train", ":"), ("valid", "-")):
            steps, values = _series(records, kind, "nll")
            if steps:
                loss.plot(steps, values, style, marker=marker, markevery=0.1, label=f"{name}, {kind}", **look)
        for axes in others:
            axes.plot(*_series(records, "valid", "bleu"), marker=marker or "o", label=name, **look)
    _label(loss, "update", "nats per token")
    for axes in others:
        _label(axes, "update", "BLEU (validation, greedy)")
    return figure


def grid_chart(table: Record) -> "Figure":
    """Return the BLEU of every row on each set, with its standard deviation over seeds, and the baseline as a line.

    Args:
        table: the table.json of a grid.
    """
    sets, rows = table["score_on"], table["rows"]
    names = [", ".join(row["row"]) for row in rows]
    figure = new_figure(_LETTER * max(map(len, names)) + 3.5 * len(sets), 1.2 + 0.25 * len(rows))
    for i, (axes, name) in enumerate(zip(new_axes(figure, 1, len(sets)), sets, strict=True)):
        for place, row in enumerate(rows):
            values = [seed["scores"][name]["bleu"]["score"] for seed in row["seeds"].values()]
            if not values:
                axes.text(0.02, place, "no result", transform=axes.get_yaxis_transform(), va="center", color=QUIET)
                continue
            mean, spread = statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
            is_baseline = row["row"] == table["baseline"]
            axes.errorbar(mean, place, xerr=spread, fmt="o", color=COLOURS[1 if is_baseline else 0], capsize=3)
            axes.plot(values, [place] * len(values), "|", color=QUIET)
            if is_baseline:
                axes.axvline(mean, color=COLOURS[1], linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(rows)), names if i == 0 else [""] * len(rows))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(f"BLEU, {name}")
    return figure


def _series(records: Sequence[Record], kind: str, key: str) -> tuple[list[int], list[float]]:
    """Return updates and values of a kind of line; values that are missing, or no plausible number, are skipped."""
    points = [(line["step"], line[key]) for line in records if line["kind"] == kind and _is_measured(line.get(key))]
    return [step for step, _ in points], [value for _, value in points]


def _is_measured(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def _label(axes: "Axes", x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if axes.lines:  # named one by one, as matplotlib skips labels that begin with "_"
        axes.legend(axes.lines, [str(line.get_label()) for line in axes.lines], frameon=False)
