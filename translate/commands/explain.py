"""`translate explain`: draw what a model does."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from translate.commands.lines import check_page
from translate.errors import UserError, say
from translate.models import registry
from translate.models.folder import ModelFolder
from translate.options import FILES, Model, flag, option

if TYPE_CHECKING:
    from translate.pictures.picture import Picture

_PICTURES = ("attention", "steps", "temperature", "neighbours", "analogy", "positions", "schedule")
_BELONGS = {name: "attention" for name in ("part", "layer", "head", "every_head")}
_BELONGS |= {"beam": "steps", "prefix": "temperature"}

PICTURE, DETAILS = "Picture", "Details"


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """Draw attention, search, embeddings, positions or learning rates."""

    attention: Annotated[
        str | None, option(PICTURE, "SENTENCE", "Draw which word attends to which in a translation.")
    ] = None
    steps: Annotated[str | None, option(PICTURE, "SENTENCE", "Draw the beam search as a tree.")] = None
    temperature: Annotated[
        str | None, option(PICTURE, "SENTENCE", "Draw the probabilities of the next token at several temperatures.")
    ] = None
    neighbours: Annotated[str | None, option(PICTURE, "WORD", "List the nearest words in the embedding.")] = None
    analogy: Annotated[
        tuple[str, str, str] | None, option(PICTURE, "A B C", "List the words that are to C as B is to A.")
    ] = None
    positions: Annotated[bool, flag(PICTURE, "--positions", "Draw the position encodings of the model.")] = False
    schedule: Annotated[bool, flag(PICTURE, "--schedule", "Draw the learning rate of the paper.")] = False
    part: Annotated[
        Literal["cross", "encoder", "decoder"] | None,
        option(DETAILS, "PART", "Attention: cross, or self-attention of the encoder or decoder [default: cross]."),
    ] = None
    layer: Annotated[int | None, option(DETAILS, "N", "Attention: layer, from 1 [default: the sharpest].", min=1)] = (
        None
    )
    head: Annotated[int | None, option(DETAILS, "N", "Attention: head, from 1 [default: their mean].", min=1)] = None
    every_head: Annotated[bool, flag(DETAILS, "--every-head", "Attention: all heads of all layers.")] = False
    beam: Annotated[
        int | None, option(DETAILS, "N", "Steps: hypotheses kept [default: the model's].", min=1, max=16)
    ] = None
    prefix: Annotated[str | None, option(DETAILS, "TEXT", "Temperature: beginning of the translation.")] = None
    model: Model = None
    out: Annotated[Path | None, option(FILES, "FILE", "Write an .svg, .png or .html file instead of text.")] = None
    force: Annotated[bool, flag(FILES, "--force", "Overwrite the output file.")] = False


def run(options: ExplainOptions) -> None:
    """Print a picture, or write it to a file. Raises UserError for wrong input."""
    kind = _checked(options)
    from translate.pictures.charts import SchedulePicture
    from translate.pictures.picture import check_format, save
    from translate.pictures.plotting import glyphs_checked

    if options.out is not None:
        check_format(options.out)
        check_page(options.out, force=options.force)
    if kind == "schedule":
        picture: Picture = SchedulePicture()
    else:
        picture = _drawn(kind, options, ModelFolder.open(registry.find_model(options.model, say)))
    if options.out is None:
        print(picture.text())
    else:
        with glyphs_checked(options.out):
            save(picture, options.out)


def _checked(options: ExplainOptions) -> str:
    """Return the name of the picture; UserError unless there is one, and for settings of another one."""
    chosen = [name for name in _PICTURES if getattr(options, name) not in (None, False)]
    if len(chosen) != 1:
        named = " and ".join(f"--{name}" for name in chosen) or "nothing"
        raise UserError(f"{named} to draw: choose one of {', '.join(f'--{name}' for name in _PICTURES)}")
    for name, owner in _BELONGS.items():
        if getattr(options, name) not in (None, False) and owner != chosen[0]:
            raise UserError(f"--{name.replace('_', '-')} belongs to --{owner}; leave it out")
    if chosen[0] == "schedule" and options.model is not None:
        raise UserError("--schedule is that of the paper and draws no model; leave out --model")
    if options.every_head and (options.layer or options.head):
        raise UserError("--every-head draws all layers and heads; leave out --layer and --head")
    return chosen[0]


def _drawn(kind: str, options: ExplainOptions, model_folder: ModelFolder) -> "Picture":
    """Return the picture of the options."""
    from translate.pictures.attention import View, attention_picture
    from translate.pictures.embeddings import analogy_picture, neighbours_picture, positions_picture
    from translate.pictures.search import beam_picture, temperature_picture

    width = shutil.get_terminal_size().columns if options.out is None and sys.stdout.isatty() else None
    view = View(options.part or "cross", options.layer, options.head, options.every_head)
    pictures: dict[str, Callable[[], Picture]] = {
        "attention": lambda: attention_picture(model_folder, options.attention or "", view, width),
        "steps": lambda: beam_picture(model_folder, options.steps or "", options.beam),
        "temperature": lambda: temperature_picture(model_folder, options.temperature or "", options.prefix or ""),
        "neighbours": lambda: neighbours_picture(model_folder, options.neighbours or ""),
        "analogy": lambda: analogy_picture(model_folder, options.analogy or ("", "", "")),
        "positions": lambda: positions_picture(model_folder),
    }
    return pictures[kind]()
