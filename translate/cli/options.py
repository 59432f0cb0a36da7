"""Options that several verbs share, and the names of the groups that they stand in."""

from pathlib import Path
from typing import Annotated, Literal

import typer

MODEL, FILES, SEARCH, COMPUTING, OUTPUT = "Model", "Files", "Search", "Computing", "Output"

# One text for every verb that takes a model; `translate.models.registry` documents the rules in full.
MODEL_HELP = "A path, a run in runs/, or an installed model"
DEFAULT_MODEL = f"{MODEL_HELP} [default: $TRANSLATE_MODEL, the newest run, de-en]."


def not_hyphen(name: str) -> Path | None:
    """The path, or None for a hyphen, which stands for stdin or stdout; ./- is a file."""
    return None if name == "-" else Path(name)


Sentences = Annotated[
    list[str] | None,
    typer.Argument(metavar="SENTENCE", help="Text to translate [default: standard input]."),
]
Model = Annotated[
    Path | None,
    typer.Option("--model", "-m", metavar="MODEL", help=DEFAULT_MODEL, rich_help_panel=MODEL),
]
NamedModel = Annotated[Path, typer.Argument(metavar="MODEL", help=f"{MODEL_HELP}.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="LANGUAGE", help="Language of the text; auto guesses it.", rich_help_panel=MODEL),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="LANGUAGE", help="Language to translate into.", rich_help_panel=MODEL),
]
Input = Annotated[
    Path | None,
    typer.Option("--input", metavar="FILE", parser=not_hyphen, help="Read this file.", rich_help_panel=FILES),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", parser=not_hyphen, help="Write this file.", rich_help_panel=FILES),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file.", rich_help_panel=FILES)]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.", rich_help_panel=OUTPUT)]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Write a JSON object per line, with scores.", rich_help_panel=OUTPUT)
]
# The bounds are those of DecodingConfig, whose import would take longer than printing the help.
Beam = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=256,
        metavar="N",
        help="Hypotheses kept per step [default: the model's].",
        rich_help_panel=SEARCH,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=10.0,
        metavar="X",
        help="Length penalty exponent [default: the model's].",
        rich_help_panel=SEARCH,
    ),
]
LengthPenalty = Annotated[
    Literal["gnmt", "average", "none"] | None,
    typer.Option(
        metavar="RULE",
        help="gnmt (the paper's), average (divide by the length) or none [default: the model's].",
        rich_help_panel=SEARCH,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="CPU threads [default: one per core].", rich_help_panel=COMPUTING),
]
Precision = Annotated[
    Literal["fp32", "bf16"],
    typer.Option(metavar="TYPE", help="fp32, or bf16, which is faster on some CPUs.", rich_help_panel=COMPUTING),
]
Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="Experiment file (TOML).")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a setting, such as training.lr=0.001; repeatable.",
        rich_help_panel="Settings",
    ),
]
CheckedOn = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Sentences to check on [default: 100 of the embedded grammar]."),
]
