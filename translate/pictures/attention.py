"""Attention weights of a sentence and its translation (3.2.3), as a grid and as a page to point at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from transformer.search.alignment import sharpness
from transformer.search.model_step import source_batch, target_batch, translate_ids
from translate.errors import UserError
from translate.models.folder import ModelFolder, not_finite
from translate.pictures.picture import attention_page
from translate.pictures.plotting import heat_map, label_cells, new_axes, new_figure
from translate.pictures.search import END, encoded, label, max_length, search_config
from translate.pictures.terminal import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Part = Literal["cross", "encoder", "decoder"]
_CELL = 0.28  # inches


@dataclass(frozen=True)
class View:
    """Which weights to show.

    Attributes:
        part: "cross" is the decoder reading the source, the others are self-attention.
        layer: counted from 1; None is the layer whose attention is sharpest.
        head: counted from 1; None is the mean of the heads.
        every_head: show every head of every layer instead.
    """

    part: Part = "cross"
    layer: int | None = None
    head: int | None = None
    every_head: bool = False


@dataclass(frozen=True)
class AttentionPicture:
    """The attention weights between the tokens of two sentences.

    Attributes:
        title: one line.
        queries, keys: the tokens that read and those that are read.
        weights: by layer, head, query and key; the weights of a query sum to 1.
        view: which of them to show. UserError if there is no such layer or head.
        width: columns of the terminal; None is unlimited.
    """

    title: str
    queries: Sequence[str]
    keys: Sequence[str]
    weights: Tensor
    view: View
    width: int | None = None

    def __post_init__(self) -> None:
        n_layers, n_heads = self.weights.shape[:2]
        for name, number, n in (("layer", self.view.layer, n_layers), ("head", self.view.head, n_heads)):
            if number is not None and number > n:
                raise UserError(f"--{name} {number}: the model has {n} {name}{'s' * (n > 1)} there, counted from 1")

    @property
    def layer(self) -> int:
        """Index of the layer that is shown."""
        if self.view.layer is not None:
            return self.view.layer - 1
        return int(sharpness(self.weights.mean(dim=1)[:, :, :-1]).argmax())  # without the last key: eos of the source

    def panels(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the name and the weights, by query and key, of each grid that is shown."""
        n_layers, n_heads = self.weights.shape[:2]
        if self.view.every_head:
            for i in range(n_layers):
                for j in range(n_heads):
                    yield f"layer {i + 1}, head {j + 1}", self.weights[i, j]
        elif self.view.head is None:
            yield f"layer {self.layer + 1} of {n_layers}, mean of {n_heads} heads", self.weights[self.layer].mean(dim=0)
        else:
            name = f"layer {self.layer + 1} of {n_layers}, head {self.view.head} of {n_heads}"
            yield name, self.weights[self.layer, self.view.head - 1]

    def text(self) -> str:
        """Return each grid as shaded cells; rows read columns."""
        rows, columns = [label(token) for token in self.queries], [label(token) for token in self.keys]
        grids = [f"{name}\n{grid(rows, columns, w.tolist(), self.width)}" for name, w in self.panels()]
        return f"{self.title}\n\n" + "\n\n".join(grids)

    def figure(self) -> "Figure":
        """Return the grids as heat maps; tokens are written at the left and at the top of the figure."""
        panels = list(self.panels())
        n_rows, n_columns = self.weights.shape[:2] if self.view.every_head else (1, 1)
        cell = _CELL / 2 if self.view.every_head else _CELL
        rows, columns = [label(token) for token in self.queries], [label(token) for token in self.keys]
        width, height = cell * len(columns), cell * len(rows) + 0.3
        figure = new_figure(max(4.0, n_columns * width + 1.2), n_rows * height + 0.9)
        for i, (axes, (name, weights)) in enumerate(zip(new_axes(figure, n_rows, n_columns), panels, strict=True)):
            heat_map(axes, weights.tolist())
            label_cells(axes, [] if i % n_columns else rows, columns if i < n_columns else [])
            axes.set_xlabel(name)
        return figure

    def page(self) -> str:
        """Return a page on which pointing at a token lights the tokens that it reads."""
        n_layers, n_heads = self.weights.shape[:2]
        weights = torch.cat((self.weights.mean(dim=1, keepdim=True), self.weights), dim=1)
        data = {
            "source": [token.replace("\u2581", " ") for token in self.keys],
            "target": [token.replace("\u2581", " ") for token in self.queries],
            "weights": [[[[round(w, 4) for w in row] for row in rows] for rows in heads] for heads in weights.tolist()],
            "layers": [str(i + 1) for i in range(n_layers)],
            "heads": ["mean", *(str(i + 1) for i in range(n_heads))],
            "layer": self.layer,
            "head": self.view.head or 0,
        }
        return attention_page(self.title, data)


@torch.inference_mode()
def attention_picture(
    model_folder: ModelFolder, sentence: str, view: View, width: int | None = None
) -> AttentionPicture:
    """Return the attention of a model that translates a sentence by beam search.

    A query of the decoder is labelled with the token that it predicts, so the last one is the end of the sentence.

    Args:
        model_folder: the model.
        sentence: the source; UserError if it is empty or too long to draw.
        view: which weights to show.
        width: columns of the terminal; None is unlimited.
    """
    model, tokenizer = model_folder.model, model_folder.tokenizer
    src = encoded(model_folder, sentence)
    (found,) = translate_ids(model, [src], search_config(model_folder), max_lengths=[max_length(model_folder, src)])
    if not found:
        raise not_finite(model_folder.folder)
    tgt = found[0].tokens
    maps = model.attention_maps(source_batch(model, [src]), target_batch(model, [tgt]))
    source, target = [*tokenizer.tokens(src), END], [*tokenizer.tokens(tgt), END]
    queries = source if view.part == "encoder" else target
    keys = {"cross": source, "encoder": source, "decoder": ["<s>", *target[:-1]]}[view.part]
    weights = torch.cat(getattr(maps, view.part)).float().cpu()
    kind = "cross-attention" if view.part == "cross" else f"self-attention of the {view.part}"
    title = f"{tokenizer.decode(src)} \u2192 {tokenizer.decode(tgt)} ({kind})"
    return AttentionPicture(title, queries, keys, weights, view, width)
