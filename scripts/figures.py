#!/usr/bin/env python3
"""Draw the figures of the guide that `translate explain` does not draw, as SVG files in docs/guide/figures.

    python scripts/figures.py [NAME ...]

Without names, all of them. The numbers are computed here, with fixed seeds.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from translate.files import write_bytes
from translate.pictures.plotting import COLOURS, new_axes, new_figure, rendered

FOLDER = Path(__file__).parents[1] / "docs" / "guide" / "figures"
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def scores(d_k: int) -> torch.Tensor:
    """Return dot products of random queries with ten random keys each, (4000, 10)."""
    torch.manual_seed(0)
    return (torch.randn(4_000, 1, d_k) * torch.randn(4_000, 10, d_k)).sum(dim=-1)


def gradient_norm(scores_NS: torch.Tensor) -> float:
    """Return the median norm of the gradient that scores receive through the softmax from a random loss."""
    scores_NS.requires_grad_()
    direction = torch.randn(scores_NS.shape, generator=torch.Generator().manual_seed(1))
    (gradient_NS,) = torch.autograd.grad((scores_NS.softmax(dim=-1) * direction).sum(), scores_NS)
    return float(gradient_NS.norm(dim=-1).median())


def curves_over_d_k(label: str, measured: Callable[[torch.Tensor], float]) -> Any:
    """Return a figure of a measurement on raw and on scaled scores, over d_k."""
    figure = new_figure(5.5, 3)
    (axes,) = new_axes(figure)
    for name, power, colour in (("Q K^T", 0.0, COLOURS[1]), ("Q K^T / sqrt(d_k)", 0.5, COLOURS[0])):
        values = [measured(scores(d_k) / d_k**power) for d_k in WIDTHS]
        axes.loglog(WIDTHS, values, "o-", base=2, color=colour, label=name, markersize=3)
    axes.set(xlabel="d_k", ylabel=label)
    axes.legend(frameon=False)
    return figure


def variance() -> Any:
    """Return the variance of scores over d_k."""
    return curves_over_d_k("variance", lambda scores_NS: float(scores_NS.var()))


def gradient() -> Any:
    """Return the gradient of scores over d_k."""
    return curves_over_d_k("norm of the gradient (median)", gradient_norm)


FIGURES: dict[str, Callable[[], Any]] = {"variance": variance, "gradient": gradient}


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="figures to draw", metavar="NAME")
    for name in parser.parse_args(argv).names or FIGURES:
        place = FOLDER / f"{name}.svg"
        write_bytes(place, rendered(FIGURES[name](), "svg"))
        print(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
