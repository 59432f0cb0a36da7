"""The verb that draws: explain."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.options import declaring
from translate.options.declaring import FILES, flag, value

PICTURE, DETAILS = "Picture", "Details"


@dataclass(frozen=True, kw_only=True)
class Explain:
    """Draw attention, search, embeddings, positions or learning rates."""

    attention: Annotated[str | None, value(PICTURE, "SENTENCE", "Which word reads which in a translation.")] = None
    steps: Annotated[str | None, value(PICTURE, "SENTENCE", "The beam search as a tree.")] = None
    temperature: Annotated[
        str | None, value(PICTURE, "SENTENCE", "Probabilities of the next token at several temperatures.")
    ] = None
    neighbours: Annotated[str | None, value(PICTURE, "WORD", "Nearest words in the embedding.")] = None
    analogy: Annotated[tuple[str, str, str] | None, value(PICTURE, "A B C", "Words that are to C as B is to A.")] = None
    positions: Annotated[bool, flag(PICTURE, "--positions", "The position encodings of the model.")] = False
    schedule: Annotated[bool, flag(PICTURE, "--schedule", "The learning rate of the paper.")] = False
    part: Annotated[
        Literal["cross", "encoder", "decoder"] | None,
        value(DETAILS, "PART", "Attention: cross, or self-attention of the encoder or decoder [default: cross]."),
    ] = None
    layer: Annotated[int | None, value(DETAILS, "N", "Attention: layer, from 1 [default: the sharpest].", min=1)] = None
    head: Annotated[int | None, value(DETAILS, "N", "Attention: head, from 1 [default: their mean].", min=1)] = None
    every_head: Annotated[bool, flag(DETAILS, "--every-head", "Attention: all heads of all layers.")] = False
    beam: Annotated[
        int | None, value(DETAILS, "N", "Steps: hypotheses kept [default: the model's].", min=1, max=16)
    ] = None
    prefix: Annotated[str | None, value(DETAILS, "TEXT", "Temperature: beginning of the translation.")] = None
    model: declaring.Model = None
    out: Annotated[Path | None, value(FILES, "FILE", "Write an .svg, .png or .html file instead of text.")] = None
    force: Annotated[bool, flag(FILES, "--force", "Overwrite the output file.")] = False
