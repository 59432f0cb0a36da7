"""Plain help texts in which options and verbs stand in named groups."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from translate.cli.values import without_pydantic

Rows = dict[str, list[tuple[str, str]]]

# Any: typer has no public name for the types of a help formatter and of a parameter.


class GroupedCommand(TyperCommand):
    """A verb whose options are grouped by their `rich_help_panel`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, as far as possible without pydantic."""
        for param in self.get_params(ctx):
            without_pydantic(param)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and each group of options."""
        _write(_options(self, ctx), formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The parts of the usage line, without the braces round required arguments."""
        return [piece.translate({ord("{"): None, ord("}"): None}) for piece in super().collect_usage_pieces(ctx)]


class GroupedVerbs(TyperGroup):
    """The command itself, whose verbs are grouped by their `rich_help_panel`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments before the verb, as far as possible without pydantic."""
        for param in self.get_params(ctx):
            without_pydantic(param)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write each group of verbs, then the options."""
        rows: Rows = {}
        for name, verb in self.commands.items():
            summary = (verb.help or "").partition("\n\n")[0]
            rows.setdefault(str(getattr(verb, "rich_help_panel", "")), []).append((name, summary))
        _write(rows, formatter)
        _write(_options(self, ctx), formatter)


def _options(command: Any, ctx: typer.Context) -> Rows:
    """Arguments and options with their help, by group."""
    rows: Rows = {"Arguments": []}
    rest: list[tuple[str, str]] = []
    for param in command.get_params(ctx):
        help = _help(param)
        if param.param_type_name == "argument":
            rows.setdefault("Arguments", []).append((param.metavar + ("..." if param.nargs == -1 else ""), help))
        elif group := getattr(param, "rich_help_panel", None):
            rows.setdefault(group, []).append((param.get_help_record(ctx)[0], help))
        else:
            rest.append((param.get_help_record(ctx)[0], help))
    rows = {group: lines for group, lines in rows.items() if lines}
    return rows | {"Other" if rows.keys() - {"Arguments"} else "Options": rest}


def _help(param: Any) -> str:
    """The help text, with the default value unless that is "off" or already in the text."""
    text = str(param.help).removesuffix(".")
    if param.required and param.param_type_name == "option":
        return f"{text} [required]."
    shown = param.default and not isinstance(param.default, bool) and "[default" not in text
    return f"{text} [default: {param.default}]." if shown else f"{text}."


def _write(rows: Rows, formatter: Any) -> None:
    """Write one section per group, all with the same width of the first column."""
    width = max(len(name) for group in rows.values() for name, _ in group)
    for title, group in rows.items():
        with formatter.section(title):
            formatter.write_dl([(name.ljust(width), text) for name, text in group])
