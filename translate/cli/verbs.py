"""The verbs, in the groups in which `translate --help` lists them."""

from collections.abc import Callable
from typing import Annotated

import typer

from translate.cli import comparing, managing, training, translating
from translate.cli.help import GroupedCommand, GroupedVerbs
from translate.cli.options import flag

GROUPS: dict[str, dict[str, Callable[..., None]]] = {
    "Translate": {"text": translating.text, "decode": translating.decode},
    "Train": {"prepare": training.prepare, "train": training.train, "average": training.average},
    "Compare": {"evaluate": comparing.evaluate, "score": comparing.score},
    "Understand": {"doctor": managing.doctor},
    "Models": {
        "models": managing.models,
        "compress": managing.compress,
        "export": managing.export,
        "import": managing.import_model,
    },
}
VERBS = [name for verbs in GROUPS.values() for name in verbs]

app = typer.Typer(
    name="translate",
    cls=GroupedVerbs,
    add_completion=False,
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


for group, verbs in GROUPS.items():
    for name, verb in verbs.items():
        app.command(name, cls=GroupedCommand, rich_help_panel=group)(verb)
