"""Pictures of the embedding (3.4), with the neighbours of words, and of the position encodings (3.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from translate.errors import UserError
from translate.models.folder import ModelFolder, not_finite
from translate.pictures.plotting import COLOURS, colour_bar, heat_map, new_axes, new_figure
from translate.pictures.terminal import bar, shade
from translate.tables import columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_WORDS = 8
_BAR = 20
_POSITIONS, _LINES, _COLUMNS = 100, 24, 64


@dataclass(frozen=True)
class WordsPicture:
    """Words with their cosine similarities, the largest first.

    Attributes:
        title: one line.
        words: word and similarity.
    """

    title: str
    words: Sequence[tuple[str, float]]

    def text(self) -> str:
        """Return one line per word."""
        rows = [(word, f"{similarity:.2f}", bar(max(0.0, similarity), _BAR)) for word, similarity in self.words]
        return f"{self.title}\n\n{columns(rows, '<><')}"

    def figure(self) -> "Figure":
        """Return a bar per word."""
        figure = new_figure(4.5, 0.6 + 0.25 * len(self.words))
        (axes,) = new_axes(figure)
        names = [word for word, _ in self.words]
        axes.barh(names, [similarity for _, similarity in self.words], color=COLOURS[0])
        axes.invert_yaxis()
        axes.set(title=self.title, xlabel="cosine similarity")
        return figure


class WordSpace:
    """The rows of a model's target embedding that are whole words, with their mean subtracted.

    All embeddings share a direction that depends on the frequency of a word, not on its meaning; the mean removes it.
    """

    def __init__(self, model_folder: ModelFolder) -> None:
        self.tokenizer = model_folder.tokenizer
        self.tokens = self.tokenizer.tokens(range(self.tokenizer.vocab_size))
        self.is_word = torch.tensor(
            [len(token) > 2 and token[0] == "\u2581" and token[1:].isalpha() for token in self.tokens]
        )
        weight_VD = _finite(model_folder.model.tgt_embedding.weight_VD.detach(), model_folder)
        self.vector_VD = F.normalize(weight_VD - weight_VD[self.is_word].mean(dim=0), dim=1)

    def id(self, word: str) -> int:
        """Return the token of a word; UserError if it is not one token."""
        ids = self.tokenizer.encode(word.strip())
        if len(ids) != 1:
            tokens = " ".join(self.tokenizer.tokens(ids)) or "nothing"
            raise UserError(
                f"{word!r}: is not one token of the model's vocabulary ({tokens}), so it has no vector; choose a more "
                "frequent word"
            )
        return ids[0]

    def nearest(self, vector_D: Tensor, without: Sequence[int], n: int = N_WORDS) -> list[tuple[str, float]]:
        """Return the words whose vectors have the largest cosine with a vector; UserError if there is no word.

        Args:
            vector_D: the vector.
            without: tokens to leave out.
            n: number of words.
        """
        cosine_V = (self.vector_VD @ F.normalize(vector_D, dim=0)).masked_fill(~self.is_word, float("-inf"))
        cosine_V[list(without)] = float("-inf")
        best = cosine_V.topk(min(n, int(cosine_V.isfinite().sum())))
        if not len(best.values):
            raise UserError("the model's vocabulary has no other whole word; name a model with a larger one")
        return [
            (self.tokens[i][1:], cosine) for cosine, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]


def _finite(parameter: Tensor, model_folder: ModelFolder) -> Tensor:
    """Return a parameter in float32 on the CPU; UserError if the training diverged."""
    if not parameter.isfinite().all():
        raise not_finite(model_folder.folder)
    return parameter.float().cpu()


def neighbours_picture(model_folder: ModelFolder, word: str) -> WordsPicture:
    """Return the words nearest to a word; UserError if it is not one token."""
    space = WordSpace(model_folder)
    i = space.id(word)
    return WordsPicture(f"nearest to {word.strip()}", space.nearest(space.vector_VD[i], [i]))


def analogy_picture(model_folder: ModelFolder, words: tuple[str, str, str]) -> WordsPicture:
    """Return the words nearest to b - a + c for words (a, b, c); UserError if one of them is not one token."""
    space = WordSpace(model_folder)
    a, b, c = ids = [space.id(word) for word in words]
    vector_D = space.vector_VD[b] - space.vector_VD[a] + space.vector_VD[c]
    title = "{} is to {} as {} is to".format(*(word.strip() for word in words))
    return WordsPicture(title, space.nearest(vector_D, ids))


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
        image = heat_map(axes, self.encodings.tolist(), low=-extent, high=extent)
        axes.set(title=self.title, xlabel="channel", ylabel="position")
        colour_bar(figure, image)
        return figure


@torch.inference_mode()
def positions_picture(model_folder: ModelFolder) -> PositionsPicture:
    """Return the encodings of the first positions of the source; UserError if they are not finite."""
    config = model_folder.model.config
    n = min(_POSITIONS, config.max_positions or _POSITIONS)
    encodings = _finite(model_folder.model.src_positions(0, n), model_folder)
    return PositionsPicture(f"{config.positions} positions, d_model = {config.d_model}", encodings)
