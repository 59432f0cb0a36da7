#!/usr/bin/env python3
"""Draw the figures of numbers that `translate explain` does not draw, as SVG files.

    python scripts/figures.py [NAME ...]

Without names, all of them. The numbers are computed here, with fixed seeds, or come from records in scripts/results.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from cases.curve import is_default

from transformer.attention import causal_mask, padding_mask, window_mask
from transformer.loss import smoothed_nll
from translate.files import read_json, write_bytes
from translate.pictures.plotting import COLOURS, heat_map, new_axes, new_figure, rendered

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "guide" / "figures"
RECORDS = Path(__file__).parent / "results"
CURVE = RECORDS / "bench-curve.json"  # its figure is drawn once it has been measured
RATES = (100, 200, 500, 1000)  # lines/s that the axis of `curve` names
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


def masks() -> Any:
    """Return the three masks of the model for a sentence of six tokens."""
    padding_11TT = padding_mask(torch.tensor([[5, 6, 7, 8, 0, 0]]), pad=0).expand(1, 1, 6, 6)
    figure = new_figure(6, 2.3)
    shown = {"causal": causal_mask(6), "padding (two at the end)": padding_11TT, "window of 1": window_mask(6, 1)}
    for axes, (name, allowed_11TT) in zip(new_axes(figure, 1, 3), shown.items(), strict=True):
        heat_map(axes, allowed_11TT[0, 0].tolist(), high=1.4)
        axes.set(title=name, xlabel="key", ylabel="query", aspect="equal", xticks=range(6), yticks=range(6))
    return figure


def smoothing() -> Any:
    """Return the smoothed target of one token, and the loss over the probability of the right one."""
    figure = new_figure(6.5, 2.6)
    bars, curves = new_axes(figure, 1, 2)
    n_tokens = 10
    bars.bar(range(n_tokens), [0.9 if i == 3 else 0.1 / (n_tokens - 1) for i in range(n_tokens)], color=COLOURS[0])
    bars.set(title="target, epsilon 0.1, 10 tokens", xlabel="token", ylabel="probability", xticks=range(n_tokens))
    right = torch.linspace(0.5, 0.999, 200)
    rest = ((1 - right) / (n_tokens - 1))[:, None].expand(-1, n_tokens - 1)
    logits_NV = torch.cat((right[:, None], rest), dim=1).log()
    for epsilon, colour in ((0.0, COLOURS[1]), (0.1, COLOURS[0])):
        losses = [float(smoothed_nll(row[None], torch.tensor([0]), epsilon)) for row in logits_NV]
        curves.plot(right.tolist(), losses, color=colour, label=f"epsilon {epsilon:g}")
    curves.set(title="loss", xlabel="probability of the right token", ylabel="nats")
    curves.legend(frameon=False)
    return figure


def initial() -> Any:
    """Return loss and first gradients of the record of `scripts/bench.py initial`."""
    runs = read_json(RECORDS / "initial.json")["runs"]
    figure = new_figure(7.5, 2.9)
    losses, gradients = new_axes(figure, 1, 2)
    for (name, run), colour in zip(runs.items(), (COLOURS[1], COLOURS[0], COLOURS[2]), strict=True):
        means = [sum(run["loss"][i : i + 10]) / 10 for i in range(0, len(run["loss"]), 10)]
        losses.plot(range(10, len(run["loss"]) + 1, 10), means, color=colour, label=name)
        gradients.plot(range(1, len(run["gradient"]) + 1), run["gradient"], "o-", color=colour, markersize=3)
    losses.set(xlabel="step", ylabel="training loss (nats per token)")
    losses.legend(frameon=False)
    gradients.set(xlabel="layer (1 to 6 encoder, 7 to 12 decoder)", ylabel="norm of the first gradient", yscale="log")
    return figure


HIGHEST_LOSS = 3.2  # in nats; the first updates, from 9, would hide the rest

# Names of the first runs, which have no number, in the order of their training.
STAGES = {"de-en-finish": "first", "de-en-last": "second", "en-de": "second"}


def rounds() -> Any:
    """Return BLEU of the models that were trained one after the other up to round 9, for both directions."""
    scores: dict[str, dict[str, Any]] = {}  # by direction and name of the run without it
    found = map(read_json, sorted(RECORDS.glob("*.json")))
    for run in sorted((run for run in found if run["kind"] == "training"), key=lambda run: run["date"]):
        is_stage = run["name"][6:].isdecimal()  # stages have the figure `learning`
        if run["name"][:5] in ("de-en", "en-de") and not is_stage:
            stage = STAGES.get(run["name"], run["name"][6:])
            scores.setdefault(run["name"][:5], {})[stage] = run["scores"]
    stages = list(dict.fromkeys(["first", "second", "wider", *(stage for runs in scores.values() for stage in runs)]))
    figure = new_figure(7.5, 3)
    for axes, test_set in zip(new_axes(figure, 1, 2), ("tatoeba", "newstest2014"), strict=True):
        for (direction, runs), colour in zip(scores.items(), COLOURS, strict=False):
            points = sorted((stages.index(stage), of[test_set]["bleu"]["score"]) for stage, of in runs.items())
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=direction, markersize=3)
        axes.set(title=test_set, ylabel="BLEU")
        axes.set_xticks(range(len(stages)), stages, rotation=60)
        axes.legend(frameon=False)
    return figure


def learning() -> Any:
    """Return the validation loss of the stages of the shipped models, over the tokens read in all stages so far."""
    figure = new_figure(7.5, 3)
    for axes, direction in zip(new_axes(figure, 1, 2), ("de-en", "en-de"), strict=True):
        start = 0.0
        for record, colour in zip(sorted(RECORDS.glob(f"stage-{direction}-?.json")), COLOURS, strict=False):
            ((name, run),) = read_json(record)["runs"].items()
            share = run["tokens"] / 1e6 / run["max_steps"]  # millions of tokens in an update
            points = [(start + int(step) * share, nll) for step, nll in run["nll"].items() if nll < HIGHEST_LOSS]
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=f"stage {name[-1]}", markersize=3)
            start += run["tokens"] / 1e6
        axes.set(title=f"{direction}, newstest2013", xlabel="million tokens of both sides", ylabel="nats a token")
        axes.legend(frameon=False)
    return figure


def curve() -> Any:
    """Return BLEU over lines/s of the record of `scripts/bench.py curve`, the default's point named."""
    record = read_json(CURVE)
    figure = new_figure(7.5, 3.4)
    for axes, (test_set, points) in zip(new_axes(figure, 1, len(record["sets"])), record["sets"].items(), strict=True):
        for i, name in enumerate(dict.fromkeys(of["contender"] for of in points)):
            own = [of for of in points if of["contender"] == name]
            rates, scores = [of["lines_per_s"] for of in own], [of["bleu"] for of in own]
            axes.plot(rates, scores, "o-", color=COLOURS[i % len(COLOURS)], label=Path(name).name, markersize=3)
            for of in own:
                text = f"{of['beam']} (default)" if is_default(of, record) else str(of["beam"])
                axes.annotate(text, (of["lines_per_s"], of["bleu"]), (2, 3), textcoords="offset points")
        axes.set(title=test_set, xlabel="lines/s; the numbers are beam sizes", ylabel="BLEU", xscale="log")
        axes.set_xticks(RATES, [str(rate) for rate in RATES])
        axes.minorticks_off()
        axes.legend(frameon=False)
    return figure


# The six words of pages 1, 2 and 5, and the matrices of page 2.
NAMES = ("Your", "journey", "starts", "with", "one", "step")
X_TD = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)


def scores_of_page_2() -> torch.Tensor:
    """Return the scaled scores of the six words with the matrices of seed 123."""
    torch.manual_seed(123)
    w_q_DK, w_k_DK = torch.rand(3, 2), torch.rand(3, 2)
    return (X_TD @ w_q_DK) @ (X_TD @ w_k_DK).T / 2**0.5


def maps(shown: dict[str, torch.Tensor], names: Sequence[str], high: float = 1.0) -> Any:
    """Return square matrices side by side, each with a title, and with these names of rows and columns."""
    figure = new_figure(2.7 * len(shown), 2.7)
    for i, (axes, (title, weights_TT)) in enumerate(zip(new_axes(figure, 1, len(shown)), shown.items(), strict=True)):
        heat_map(axes, weights_TT.tolist(), high=high)
        axes.set(title=title, aspect="equal", xlabel="read")
        axes.set_xticks(range(len(names)), names, rotation=90)
        axes.set_yticks(range(len(names)), names if i == 0 else [""] * len(names))
    return figure


def six_words() -> Any:
    """Return the weights of page 1 for all six words."""
    return maps({"weights": (X_TD @ X_TD.T).softmax(dim=-1)}, NAMES, high=0.3)


def queries_and_keys() -> Any:
    """Return the weights of the six words by their vectors, and by queries and keys."""
    shown = {"softmax(X X^T)": X_TD @ X_TD.T, "softmax(Q K^T / sqrt(d_k))": scores_of_page_2()}
    return maps({title: scores_TT.softmax(dim=-1) for title, scores_TT in shown.items()}, NAMES, high=0.3)


def averages() -> Any:
    """Return weights of means of earlier positions: equal ones, and those of attention with the scores of page 2."""
    allowed_TT = torch.ones(6, 6).tril()
    hidden_TT = scores_of_page_2().masked_fill(allowed_TT == 0, float("-inf"))
    shown = {"equal weights": allowed_TT / allowed_TT.sum(dim=-1, keepdim=True), "attention": hidden_TT.softmax(dim=-1)}
    return maps(shown, [str(t) for t in range(6)])


def masked_weights() -> Any:
    """Return the weights of page 5: without a mask, zeroed after the softmax, and masked before it."""
    scores_TT = scores_of_page_2()
    hidden_TT = scores_TT.masked_fill(torch.ones(6, 6).tril() == 0, float("-inf"))
    free_TT = scores_TT.softmax(dim=-1)
    shown = {"no mask": free_TT, "zeroed afterwards": free_TT.tril(), "masked before": hidden_TT.softmax(dim=-1)}
    return maps(shown, NAMES, high=0.7)


def seeds() -> Any:
    """Return BLEU of each run of the grid of seeds, and the means."""
    rows = read_json(RECORDS / "grid-seeds.json")["rows"]
    figure = new_figure(5.5, 1.8)
    (axes,) = new_axes(figure)
    for i, row in enumerate(rows):
        bleu = [run["scores"]["test_2016_flickr"]["bleu"]["score"] for run in row["seeds"].values()]
        axes.plot(bleu, [i] * len(bleu), "o", color=COLOURS[i], alpha=0.7)
        axes.plot([sum(bleu) / len(bleu)], [i], "|", color=COLOURS[i], markersize=24)
    axes.set_yticks(range(len(rows)), [row["row"][0] for row in rows])
    axes.set(xlabel="BLEU on test_2016_flickr", ylim=(-0.6, len(rows) - 0.4))
    return figure


FIGURES: dict[str, Callable[[], Any]] = {
    "six-words": six_words,
    "queries-and-keys": queries_and_keys,
    "averages": averages,
    "masked-weights": masked_weights,
    "seeds": seeds,
    "variance": variance,
    "gradient": gradient,
    "masks": masks,
    "smoothing": smoothing,
    "initial": initial,
    "rounds": rounds,
    "learning": learning,
}
IMAGES = {name: DOCS / "images" for name in ("rounds", "learning")}  # figures of other pages than the guide

if CURVE.exists():
    FIGURES["curve"] = curve
    IMAGES["curve"] = DOCS / "images"


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="figures to draw", metavar="NAME")
    for name in parser.parse_args(argv).names or FIGURES:
        place = IMAGES.get(name, FOLDER) / f"{name}.svg"
        write_bytes(place, rendered(FIGURES[name](), "svg"))
        print(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
