"""Beam search (6.1) as a tree of candidates, and the probabilities of the next token at several temperatures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from transformer.config import SearchConfig
from transformer.search.beam import Step, beam_search
from transformer.search.model_step import ModelStep, source_batch
from translate.errors import UserError
from translate.inference.constraints import forced_ids
from translate.inference.search import SentenceSearch
from translate.inference.torch_engine import TorchEngine
from translate.models.folder import ModelFolder, not_finite
from translate.pictures.plotting import COLOURS, INK, LINE, QUIET, new_axes, new_figure
from translate.tables import columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_TOKENS = 60  # more are too small to read in any form
END = "</s>"
TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 10.0)
N_TOKENS = 8
OTHERS = "all others"
_FORK, _LAST, _LINE = "\u251c\u2500", "\u2514\u2500", "\u2502  "
Fate = Literal["kept", "finished", "pruned"]


def encoded(model_folder: ModelFolder, sentence: str) -> list[int]:
    """Return the token ids of a sentence, without eos; UserError if it is empty or too long to draw or to translate."""
    ids = model_folder.tokenizer.encode(sentence.strip())
    limit = min(MAX_TOKENS, _search(model_folder).limit)
    if not ids:
        raise UserError("the sentence is empty; write one in quotation marks")
    if len(ids) > limit:
        raise UserError(f"{sentence.strip()[:30]!r}...: has {len(ids)} tokens, too long to draw; the limit is {limit}")
    return ids


def search_config(model_folder: ModelFolder, beam_size: int | None = None) -> SearchConfig:
    """Return the model's own settings of the search, or those with another beam size."""
    decoding, config = model_folder.spec.decoding, model_folder.model.config
    return replace(decoding, bos=config.bos, eos=config.eos, beam_size=beam_size or decoding.beam_size)


def max_length(model_folder: ModelFolder, ids: list[int]) -> int:
    """Return the maximum number of tokens of a translation, eos included."""
    return _search(model_folder).max_length(len(ids))


def _search(model_folder: ModelFolder) -> SentenceSearch:
    """Return the search whose limits a drawn sentence has."""
    return SentenceSearch(TorchEngine(model_folder), model_folder.spec.decoding)


def label(token: str) -> str:
    """Return a token without its mark of a new word; "+" marks letters that continue a word."""
    if token.startswith("\u2581"):
        return token[1:] or "\u2581"
    return f"+{token}" if token[0].isalnum() else token


@dataclass
class SearchNode:
    """One candidate of a search.

    Attributes:
        token: the last token; the root has bos.
        probability: of this token after the others.
        log_prob: of all tokens up to this one.
        fate: "kept" hypotheses went on, "finished" ones ended with eos, "pruned" ones were not among the best.
        children: its continuations that were candidates, best first.
        score: of a finished hypothesis, with the length penalty.
        name: the token as text.
    """

    token: int
    probability: float
    log_prob: float
    fate: Fate = "pruned"
    children: list["SearchNode"] = field(default_factory=list)
    score: float | None = None
    name: str = ""


class RecordedStep:
    """A step function for one sentence that keeps a tree of the candidates.

    Args:
        step: the step function of the search.
        config: its settings.
        max_length: maximum number of tokens, eos included.

    Attributes:
        root: the tree; complete when the search has returned.
    """

    def __init__(self, step: Step, config: SearchConfig, max_length: int) -> None:
        self.step, self.config, self.max_length = step, config, max_length
        self.root = SearchNode(config.bos, 1.0, 0.0, "kept")
        self._live: list[SearchNode | None] = [self.root, *[None] * (config.beam_size - 1)]
        self._parents = list(range(config.beam_size))
        self._length = 0

    def __call__(self, token_N: Tensor) -> Tensor:
        """Return the log-probabilities of the next token, (N, V)."""
        if self._length:
            tokens = token_N.tolist()
            self._live = [_child(self._live[i], token) for i, token in zip(self._parents, tokens, strict=True)]
        log_prob_NV = self.step(token_N)
        self._length += 1
        self._expand(log_prob_NV)
        return log_prob_NV

    def _expand(self, log_prob_NV: Tensor) -> None:
        """Add the 2 K best continuations of all live hypotheses, as the search chooses them."""
        n_tokens, eos = log_prob_NV.size(1), self.config.eos
        past = [float("-inf") if node is None else node.log_prob for node in self._live]
        total_NV = log_prob_NV + torch.tensor(past, device=log_prob_NV.device)[:, None]
        if self._length == self.max_length:
            total_NV[:, torch.arange(n_tokens, device=total_NV.device) != eos] = float("-inf")
        best = total_NV.flatten().topk(min(2 * self.config.beam_size, total_NV.numel()))
        for rank, (log_prob, place) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True)):
            parent, token = self._live[place // n_tokens], place % n_tokens
            if parent is None or log_prob == float("-inf"):
                continue
            node = SearchNode(token, log_prob_NV.flatten()[place].exp().item(), log_prob)
            if token == eos and rank < self.config.beam_size:
                node.fate, node.score = "finished", log_prob / self.config.penalty(self._length)
            parent.children.append(node)

    def reorder(self, index_N: Tensor) -> None:
        """Let hypothesis n continue hypothesis index_N[n]."""
        self._parents = index_N.tolist()
        self.step.reorder(index_N)

    def keep(self, index_B: Tensor) -> None:
        """Keep only these sentences."""
        self.step.keep(index_B)


def _child(node: SearchNode | None, token: int) -> SearchNode | None:
    """Return the continuation of a hypothesis that the search kept; None for a place in the beam that is empty."""
    child = None if node is None else next((child for child in node.children if child.token == token), None)
    if child is not None:
        child.fate = "kept"
    return child


@dataclass(frozen=True)
class BeamPicture:
    """The tree of one beam search.

    Attributes:
        title: one line.
        root: the tree.
    """

    title: str
    root: SearchNode

    @property
    def best(self) -> float:
        """The score of the result."""
        return max(node.score for node in _nodes(self.root) if node.score is not None)

    def text(self) -> str:
        """Return the tree, one hypothesis per line, and in one line the pruned continuations of each."""
        return "\n".join([self.title, "", *self._lines(self.root, "")])

    def _lines(self, node: SearchNode, indent: str) -> Iterator[str]:
        shown = [child for child in node.children if child.fate != "pruned"]
        pruned = [f"{child.name} {child.probability:.3f}" for child in node.children if child.fate == "pruned"]
        last = len(shown) + bool(pruned) - 1
        for i, child in enumerate(shown):
            branch, below = (_LAST, "   ") if i == last else (_FORK, _LINE)
            yield f"{indent}{branch} {child.name} {child.probability:.3f}{self._end(child)}"
            yield from self._lines(child, indent + below)
        if pruned:
            yield f"{indent}{_LAST} pruned: {', '.join(pruned)}"

    def _end(self, node: SearchNode) -> str:
        if node.score is None:
            return ""
        return f"  score {node.score:.3f}" + ("  best" if node.score == self.best else "")

    def figure(self) -> "Figure":
        """Return the tree from left to right: pruned candidates in grey, the result in bold."""
        leaves = [node for node in _nodes(self.root) if not node.children]
        figure = new_figure(1.0 + 1.3 * _depth(self.root), 0.5 + 0.24 * len(leaves))
        (axes,) = new_axes(figure)
        axes.axis("off")
        axes.set_title(self.title, loc="left")
        axes.invert_yaxis()
        rows = {id(leaf): float(i) for i, leaf in enumerate(leaves)}
        self._draw(axes, self.root, 0, rows)
        return figure

    def _draw(self, axes: "Axes", node: SearchNode, depth: int, rows: dict[int, float]) -> bool:
        """Draw a node and what follows it; return whether the result is among them."""
        is_best = node.score is not None and node.score == self.best
        drawn = [self._draw(axes, child, depth + 1, rows) for child in node.children]
        is_best = is_best or any(drawn)
        if node.children:
            rows[id(node)] = sum(rows[id(child)] for child in node.children) / len(node.children)
        y = rows[id(node)]
        for child, leads_to_best in zip(node.children, drawn, strict=True):
            colour = COLOURS[0] if leads_to_best else LINE if child.fate == "pruned" else QUIET
            axes.plot(
                (depth + 0.72, depth + 1), (y, rows[id(child)]), color=colour, linewidth=1.5 if leads_to_best else 0.7
            )
        colour = QUIET if node.fate == "pruned" else COLOURS[2] if node.fate == "finished" else INK
        said = node.name if node is self.root else f"{node.name} {node.probability:.2f}"
        axes.text(
            depth + 0.02,
            y,
            said + ("" if node.score is None else f"\n{node.score:.2f}"),
            va="center",
            color=colour,
            weight="bold" if is_best else "normal",
        )
        axes.set_xlim(0, max(axes.get_xlim()[1], depth + 1))
        return is_best


def _nodes(node: SearchNode) -> Iterator[SearchNode]:
    """Yield a node and everything below it, in the order of a text."""
    yield node
    for child in node.children:
        yield from _nodes(child)


def _depth(node: SearchNode) -> int:
    return 1 + max((_depth(child) for child in node.children), default=0)


@torch.inference_mode()
def beam_picture(model_folder: ModelFolder, sentence: str, beam_size: int | None = None) -> BeamPicture:
    """Return the tree of the search for the translation of a sentence.

    Args:
        model_folder: the model.
        sentence: the source; UserError if it is empty or too long to draw.
        beam_size: hypotheses kept per step; None takes the model's own.
    """
    model, tokenizer = model_folder.model, model_folder.tokenizer
    src = encoded(model_folder, sentence)
    config, limit = search_config(model_folder, beam_size), max_length(model_folder, src)
    step = RecordedStep(ModelStep(model, source_batch(model, [src])), config, limit)
    (found,) = beam_search(step, [limit], config, device=model.device)
    if not found:
        raise not_finite(model_folder.folder)
    for node in _nodes(step.root):
        node.name = END if node.token == config.eos else label(tokenizer.tokens([node.token])[0])
    step.root.name = "<s>"
    return BeamPicture(f"{tokenizer.decode(src)} (beam {config.beam_size})", step.root)


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
        return f"{self.title}\n\n{columns([head, *body], '<' + '>' * len(TEMPERATURES))}"

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
    names = [END if i == model.config.eos else label(*tokenizer.tokens([i])) for i in best.tolist()]
    rows = [*zip(*columns, strict=True), [max(0.0, 1 - sum(column)) for column in columns]]
    title = f"{sentence.strip()} \u2192 {prefix.strip()} ..." if prefix.strip() else f"{sentence.strip()} \u2192 ..."
    return TemperaturePicture(title, [*names, OTHERS], [list(row) for row in rows])
