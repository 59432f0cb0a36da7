"""The verbs, in the groups in which `translate --help` lists them."""

from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from translate.cli.help import GroupedCommand, GroupedVerbs
from translate.options import comparing, explaining, managing, researching, serving, training, translating
from translate.options.declaring import flag

GROUPS: dict[str, dict[str, type]] = {
    "Translate": {"text": translating.Text, "decode": translating.Decode},
    "Train": {"prepare": training.Prepare, "train": training.Train, "average": training.Average},
    "Serve": {"serve": serving.Serve, "keys": serving.Keys},
    "Compare": {
        "evaluate": comparing.Evaluate,
        "compare": comparing.Compare,
        "score": comparing.Score,
        "experiment": researching.Experiment,
    },
    "Understand": {
        "explain": explaining.Explain,
        "data": researching.Data,
        "cost": researching.Cost,
        "plot": researching.Plot,
        "doctor": managing.Doctor,
    },
    "Models": {
        "models": managing.Models,
        "compress": managing.Compress,
        "export": managing.Export,
        "import": managing.Import,
    },
}
VERBS = {name: options for verbs in GROUPS.values() for name, options in verbs.items()}

_MODULES = {"import": "import_model"}  # "import" is a keyword

app = typer.Typer(
    name="translate",
    cls=GroupedVerbs,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    version: Annotated[bool, flag(None, "--version", "Show the version and exit.")] = False,
    debug: Annotated[bool, flag(None, "--debug", "Show tracebacks, like TRANSLATE_DEBUG=1.")] = False,
) -> None:
    """Train a Transformer on your own text and translate with it.

    translate "Guten Morgen" is short for translate text "Guten Morgen".
    """


def command_of(verb: str) -> Callable[[Any], None]:
    """Return the function that runs a verb with its options; its module is imported only now."""
    command: Callable[[Any], None] = import_module(f"translate.commands.{_MODULES.get(verb, verb)}").run
    return command


# The function that typer calls is the dataclass, so invoking a verb returns its options.
for group, verbs in GROUPS.items():
    for name, verb in verbs.items():
        app.command(name, cls=GroupedCommand, rich_help_panel=group)(verb)
