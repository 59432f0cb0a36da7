"""Position encodings (3.5) and learning rates (5.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from transformer.schedule import noam_lr
from translate.models.folder import ModelFolder
from translate.pictures.plotting import COLOURS, heat_map, new_axes, new_figure
from translate.pictures.terminal import plot, shade

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POSITIONS, _LINES, _COLUMNS = 100, 24, 64
# Base and big of table 3, and base with twice the warm-up.
SCHEDULES = ((512, 4_000), (1_024, 4_000), (512, 8_000))
LAST_STEP = 20_000


@dataclass(frozen=True)
class PositionsPicture:
    """The position encodings of a model.

    Attributes:
        title: one line.
        encodings: by position and channel.
    """

    title: str
    encodings: Tensor

    def text(self) -> str:
        """Return the first positions as lines of shaded cells, for some of the channels."""
        n_channels = self.encodings.size(1)
        stride = max(1, n_channels // _COLUMNS)
        stride += stride % 2 and stride > 1  # an even stride meets sines only, if they alternate with cosines
        rows = self.encodings[:_LINES, ::stride].tolist()
        extent = self.encodings.abs().max().item()
        lines = [f"{t:3} " + "".join(shade(x, -extent, extent) for x in row) for t, row in enumerate(rows)]
        return "\n".join([f"{self.title}; lines are positions, a column is {stride} channels", "", *lines])

    def figure(self) -> "Figure":
        """Return a heat map of positions and channels."""
        figure = new_figure(7, 3)
        (axes,) = new_axes(figure)
        extent = self.encodings.abs().max().item()
        image = heat_map(axes, self.encodings.tolist(), low=-extent, high=extent, colours="RdBu")
        axes.set(title=self.title, xlabel="channel", ylabel="position")
        figure.colorbar(image)
        return figure


@torch.inference_mode()
def positions_picture(model_folder: ModelFolder) -> PositionsPicture:
    """Return the encodings of the first positions of the source."""
    config = model_folder.model.config
    n = min(_POSITIONS, config.max_length) if config.positions == "learned" else _POSITIONS
    encodings = model_folder.model.src_positions(0, n).float().cpu()
    return PositionsPicture(f"{config.positions} positions, d_model = {config.d_model}", encodings)


@dataclass(frozen=True)
class SchedulePicture:
    """Learning rates over the steps of a training.

    Attributes:
        title: one line.
        schedules: d_model and warm-up steps of each curve.
    """

    title: str = "learning rate, equation 3"
    schedules: Sequence[tuple[int, int]] = SCHEDULES

    def curves(self, steps: Sequence[int]) -> list[tuple[str, list[float]]]:
        """Return the name and the learning rates of each curve."""
        return [
            (f"d_model {d}, warm-up {w}", [noam_lr(step, d_model=d, warmup_steps=w) for step in steps])
            for d, w in self.schedules
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
