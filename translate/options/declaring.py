"""Declaration of options, and the options that several verbs share."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

MODEL, FILES, SEARCH, COMPUTING, OUTPUT = "Model", "Files", "Search", "Computing", "Output"

# One text for every verb that takes a model; `translate.models.registry` documents the rules in full.
MODEL_HELP = "A path, a run in runs/, or an installed model"
WITHOUT_MODEL = "[default: $TRANSLATE_MODEL, de-en]."
DEFAULT_MODEL = f"{MODEL_HELP} {WITHOUT_MODEL}"
SYSTEM_HELP = "A path, a run in runs/, an installed model, or a file with translations"


def flag(group: str | None, name: str, help: str) -> Any:
    """An option without a value.

    Args:
        group: heading of the group in the help text; None is the last group.
        name: the option, such as "--json".
        help: one sentence.
    """
    return typer.Option(name, help=help, rich_help_panel=group)


def value(
    group: str | None, metavar: str, help: str, *names: str, min: float | None = None, max: float | None = None
) -> Any:
    """An option with a value.

    Args:
        group: heading of the group in the help text; None is the last group.
        metavar: name of the value in the help text.
        help: one sentence; the default value is added to it.
        names: of the option; by default that of the parameter.
        min, max: bounds of a number.
    """
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=group, min=min, max=max)


def file(name: str, help: str) -> Any:
    """An option for a file, in which a hyphen (but not ./-) stands for stdin or stdout and becomes None."""

    def path(text: str) -> Path | None:
        return None if text == "-" else Path(text)

    return typer.Option(name, metavar="FILE", help=help, rich_help_panel=FILES, parser=path)


def argument(metavar: str, help: str) -> Any:
    """Return the declaration of a positional argument."""
    return typer.Argument(metavar=metavar, help=help)


Model = Annotated[Path | None, value(MODEL, "MODEL", DEFAULT_MODEL, "--model", "-m")]
NamedModel = Annotated[Path, argument("MODEL", f"{MODEL_HELP}.")]
Out = Annotated[Path, value(FILES, "FOLDER", "The new model folder.")]
Json = Annotated[bool, flag(OUTPUT, "--json", "Write JSON.")]
JsonLines = Annotated[bool, flag(OUTPUT, "--json", "Write a JSON object per line, with scores.")]
# The bounds are those of DecodingConfig, whose import would take longer than printing the help.
Beam = Annotated[int | None, value(SEARCH, "N", "Hypotheses kept per step [default: the model's].", min=1, max=256)]
Alpha = Annotated[float | None, value(SEARCH, "X", "Length penalty exponent [default: the model's].", min=0, max=10)]
LengthPenalty = Annotated[
    Literal["gnmt", "average", "none"] | None,
    value(SEARCH, "RULE", "gnmt (the paper's), average (divide by the length) or none [default: the model's]."),
]
Rerank = Annotated[str | None, value(SEARCH, "MODEL", "Rerank with this model of the opposite direction.")]
Engine = Annotated[
    Literal["auto", "ctranslate2", "torch"], value(COMPUTING, "NAME", "ctranslate2, torch, or auto: chooses.")
]
Precision = Annotated[
    Literal["fp32", "bf16", "int8", "auto"] | None,
    value(COMPUTING, "TYPE", "fp32, bf16, int8 or auto (fastest) [default: as stored]."),
]
Threads = Annotated[int | None, value(COMPUTING, "N", "CPU threads [default: one per core].", min=1, max=1024)]
Overrides = Annotated[
    list[str] | None,
    value("Settings", "KEY=VALUE", "Replace a setting, such as training.lr=0.001; repeatable.", "--set"),
]
CheckedOn = Annotated[
    Path | None, value(FILES, "FILE", "Sentences to check on [default: 100 of the embedded grammar].")
]
