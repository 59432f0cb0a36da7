"""The probabilities of the next token at several temperatures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from transformer.search.model_step import ModelStep, source_batch
from translate.errors import UserError
from translate.inference.research import forced_ids
from translate.models.folder import ModelFolder, not_finite
from translate.pictures.plotting import COLOURS, new_axes, new_figure
from translate.pictures.sentence import END, encoded, label, max_length
from translate.pictures.terminal import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 10.0)
N_TOKENS = 8
OTHERS = "all others"


@dataclass(frozen=True)
class TemperaturePicture:
    """Probabilities of tokens at several temperatures.

    Attributes:
        title: one line.
        tokens: the most probable ones; the last entry stands for all others together.
        rows: by token and temperature.
    """

    title: str
    tokens: Sequence[str]
    rows: Sequence[Sequence[float]]

    def text(self) -> str:
        """Return one line per token and one column per temperature."""
        head = ["", *(f"T = {t:g}" for t in TEMPERATURES)]
        body = [[token, *(f"{p:.4f}" for p in row)] for token, row in zip(self.tokens, self.rows, strict=True)]
        return f"{self.title}\n\n{table([head, *body], '<' + '>' * len(TEMPERATURES))}"

    def figure(self) -> "Figure":
        """Return bars for each temperature."""
        figure = new_figure(8, 2.6)
        panels = new_axes(figure, 1, len(TEMPERATURES))
        for i, (axes, temperature) in enumerate(zip(panels, TEMPERATURES, strict=True)):
            axes.barh(range(len(self.tokens)), [row[i] for row in self.rows], color=COLOURS[0])
            axes.set_yticks(range(len(self.tokens)), self.tokens if i == 0 else [""] * len(self.tokens))
            axes.set(xlim=(0, 1), title=f"T = {temperature:g}")
            axes.invert_yaxis()
        figure.suptitle(self.title, fontsize=9)
        return figure


def with_temperature(log_prob_V: Tensor, temperature: float) -> Tensor:
    """Return softmax(log_prob / temperature), (V)."""
    return (log_prob_V.double() / temperature).softmax(dim=-1)


@torch.inference_mode()
def temperature_picture(model_folder: ModelFolder, sentence: str, prefix: str = "") -> TemperaturePicture:
    """Return the probabilities of the token that follows a prefix of the translation of a sentence.

    Args:
        model_folder: the model.
        sentence: the source; UserError if it is empty or too long to draw.
        prefix: beginning of the translation; UserError if it is too long for one of the sentence.
    """
    model, tokenizer = model_folder.model, model_folder.tokenizer
    src, start = encoded(model_folder, sentence), forced_ids(tokenizer, prefix)
    if len(start) >= (limit := max_length(model_folder, src)):
        raise UserError(f"--prefix: has {len(start)} tokens, and a translation of this sentence may have {limit - 1}")
    step = ModelStep(model, source_batch(model, [src]))
    for token in (model.config.bos, *start):
        log_prob_1V = step(torch.tensor([token], device=model.device))
    if log_prob_1V.isnan().any():
        raise not_finite(model_folder.folder)
    best = log_prob_1V[0].topk(min(N_TOKENS, log_prob_1V.size(1) - 2)).indices
    columns = [with_temperature(log_prob_1V[0], t)[best].tolist() for t in TEMPERATURES]
    names = [END if i == model.config.eos else label(*tokenizer.pieces([i])) for i in best.tolist()]
    rows = [*zip(*columns, strict=True), [max(0.0, 1 - sum(column)) for column in columns]]
    title = f"{sentence.strip()} \u2192 {prefix.strip()} ..." if prefix.strip() else f"{sentence.strip()} \u2192 ..."
    return TemperaturePicture(title, [*names, OTHERS], [list(row) for row in rows])
