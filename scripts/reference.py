#!/usr/bin/env python3
"""Write the reference, docs/reference/*.md, from the code.

    python scripts/reference.py

Settings come from the sections of the experiment file, commands from their help, the Python API from signatures and
docstrings, which are read without importing the modules.
"""

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

from pydantic import TypeAdapter

from transformer.config import ModelConfig
from translate.commands.main import GROUPS, options_of, program_help
from translate.config import schema
from translate.files import write_text
from translate.options import help_text

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
WIDTH = 100  # characters of a line of help

# Modules of `translate` for use in programs; the others serve the commands. Those of `transformer` are all documented.
APPLICATION = (
    "translate.inference.translator",
    "translate.inference.columns",
    "translate.text.translation",
    "translate.inference.research",
    "translate.models.folder",
    "translate.models.registry",
    "translate.pictures.embeddings",
    "translate.corpus.tokenizer",
    "translate.corpus.grammar",
    "translate.config.load",
    "translate.errors",
)
SOURCES = (
    schema.TextSource,
    schema.TsvSource,
    schema.TmxSource,
    schema.RecordSource,
    schema.HubSource,
    schema.SacrebleuSource,
    schema.MonoSource,
    schema.WordsSource,
    schema.PhrasesSource,
    schema.GrammarSource,
)

EXIT_CODES = """## Exit codes

| code | meaning |
| --- | --- |
| 0 | success |
| 1 | `train --reproduce` found a difference, or a run of a grid failed |
| 2 | an error in the input, with a message on stderr |
| 129 | the terminal of `train` was closed (SIGHUP) |
| 130 | Ctrl-C |
| 141 | the reader of the output closed it |
| 143 | SIGTERM |"""
VARIABLES = """## Environment variables

| variable | meaning |
| --- | --- |
| `TRANSLATE_MODEL` | the default model |
| `TRANSLATE_HOME` | folder of your models and API keys, by default `~/.local/share/translate` |
| `TRANSLATE_DEBUG` | 1 shows tracebacks |
| `XDG_CACHE_HOME` | converted models are in `translate` there, by default in `~/.cache` |
| `XDG_STATE_HOME` | the history of the prompt is in `translate` there, by default in `~/.local/state` |
| `OMP_NUM_THREADS` | CPU threads; with 1, `prepare` starts no other processes |
| `CUDA_VISIBLE_DEVICES` | GPUs that may be used |"""

_SECTION = re.compile(r"^(Args|Attributes):\n((?:    .*(?:\n|\Z)|\n(?=    ))+)", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w[\w, *]*): (.*(?:\n {5,}.*)*)", re.MULTILINE)
_PAPER = re.compile(r"\((?:section )?([3-6](?:\.\d){1,2}|table \d)(?=[):,])")
_BARE = re.compile(rf" {_PAPER.pattern.removesuffix('(?=[):,])')}\)")  # the last column shows it
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
_HUGE = 2**63
_TYPES = {"integer": "integer", "number": "number", "boolean": "true, false", "string": "text", "array": "list"}


def main() -> int:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        write_text(FOLDER / name, text)
    return 0


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    return {
        "settings.md": settings(),
        "commands.md": commands(),
        "transformer.md": api("transformer", "The model library: Transformer, search, costs.", library()),
        "translate.md": api("translate", "The application in Python: text in, text out.", APPLICATION),
    }


def page(title: str, *parts: str) -> str:
    """Return a page of Markdown."""
    made = "<!-- made by scripts/reference.py -->"
    return "\n\n".join((f"# {title}", made, *filter(None, parts))) + "\n"


@dataclass(frozen=True)
class Docstring:
    """A docstring in parts.

    Attributes:
        text: everything outside the sections.
        sections: the entries of Args and Attributes; the names of an entry may be several, separated by commas.
    """

    text: str
    sections: dict[str, list[tuple[str, str]]]

    @classmethod
    def of(cls, text: str | None) -> "Docstring":
        """Parse a docstring; None is an empty one."""
        text = inspect.cleandoc(text or "")
        sections = {
            section[1]: [(entry[1], " ".join(entry[2].split())) for entry in _ENTRY.finditer(section[2])]
            for section in _SECTION.finditer(text)
        }
        return cls(re.sub(r"\n{3,}", "\n\n", _SECTION.sub("", text)).strip(), sections)

    def descriptions(self) -> dict[str, str]:
        """Return the description of each single name."""
        rows = (row for section in self.sections.values() for row in section)
        return {name: description for names, description in rows for name in names.split(", ")}

    def markdown(self) -> str:
        """Return the docstring as Markdown, with sections as lists."""
        parts = [escaped(self.text)]
        for title, entries in self.sections.items():
            rows = "\n".join(f"- `{names}`: {escaped(description)}" for names, description in entries)
            parts.append(f"{title}:\n\n{rows}")
        return "\n\n".join(filter(None, parts))


def escaped(text: str) -> str:
    """Return text in which Markdown finds no markup but code: between backticks, or indented by four spaces."""
    return re.sub(r"`[^`]*`|^    .*$|[<*]|(?<![^\W_])_|_(?![^\W_])", _escape, text, flags=re.MULTILINE)


def _escape(match: re.Match[str]) -> str:
    if match[0].startswith(("`", "    ")):
        return match[0]
    return "&lt;" if match[0] == "<" else f"\\{match[0]}"  # not every Markdown knows a backslash before "<"


def settings() -> str:
    """Return the page on the experiment file."""
    parts = [
        "The keys of an [experiment file](../training.md) (TOML). None in a description means that the key is left "
        "out. The last column is the section or table of the paper (Vaswani et al., 2017)."
    ]
    for name, field in schema.ExperimentConfig.model_fields.items():
        section = field.annotation
        assert isinstance(section, type)
        parts += [f"## [{name}]", *section_parts(section)]
        if section is schema.DataConfig:
            parts += ["### [data.replay]", *section_parts(schema.ReplayData), "### Sources"]
            parts += ["A source is a table; `kind` says how it is read. Every source can have these keys:"]
            shared = schema.BaseSource.model_fields
            parts += [table(schema.BaseSource, {})]
            parts += ["Those of two files, tables, translation memories, records and the hub can have these, too:"]
            parts += [table(schema.PairSource, {}, (*shared,))]
            for source in SOURCES:
                kinds = source.model_fields["kind"].annotation.__args__  # type: ignore[union-attr]
                names, is_pairs = " or ".join(f'"{kind}"' for kind in kinds), issubclass(source, schema.PairSource)
                parts += [
                    f"#### kind = {names}",
                    *section_parts(source, ("kind", *shared, *(schema.PairSource.model_fields if is_pairs else ()))),
                ]
    return page("Settings", *parts)


def section_parts(section: type[schema.Section], leave_out: tuple[str, ...] = ()) -> list[str]:
    """Return the text of a section and its table.

    Args:
        section: a class of the experiment file.
        leave_out: keys that are described elsewhere.
    """
    text = escaped(Docstring.of(section.__doc__).text)
    if section is not schema.ModelSection:
        return [text, table(section, {}, leave_out)]
    note = (
        "The defaults in this table are those of `paper-base`; [Training](../training.md#settings) lists the presets. "
        "The size of the vocabulary and the ids of special tokens are those of the tokenizer."
    )
    return [text, note, table(section, TypeAdapter(ModelConfig).json_schema()["properties"])]


def table(section: type[schema.Section], fields: Mapping[str, Any], leave_out: tuple[str, ...] = ()) -> str:
    """Return one row for each key of a section, or "" without keys.

    Args:
        section: a class of the experiment file.
        fields: JSON schemas that replace those of the class.
        leave_out: keys without a row.
    """
    described = Docstring.of(ModelConfig.__doc__).descriptions() if fields else {}
    described |= {name: text for base in reversed(section.__mro__) for name, text in _described_by(base).items()}
    described_keys = section.model_json_schema()
    keys, required = described_keys["properties"], described_keys.get("required", [])
    rows = []
    for key in sorted(keys.keys() - {*leave_out}, key=lambda key: (key != "preset", [*keys].index(key))):
        meant = fields.get(key, keys[key])
        default = "required" if key in required else meant.get("default")
        shown = default if key in required or default is None else f"`{json.dumps(default)}`"
        cells = (f"`{key}`", values(meant), shown or "")
        paper = ", ".join(dict.fromkeys(_PAPER.findall(described[key])))
        rows.append((*cells, escaped(_BARE.sub("", described[key])), paper))
    head: tuple[str, ...] = ("key", "values", "default", "meaning", "paper")
    n = len(head) if any(row[-1] for row in rows) else len(head) - 1
    lines = (" | ".join(cell.replace("|", "\\|") for cell in row[:n]) for row in (head, ("---",) * n, *rows))
    return "\n".join(f"| {line} |" for line in lines) if rows else ""


def _described_by(section: type) -> dict[str, str]:
    return Docstring.of(section.__doc__).descriptions() if issubclass(section, schema.Section) else {}


def values(field: Mapping[str, Any]) -> str:
    """Return the values that a JSON schema allows, in words."""
    if "anyOf" in field:
        return ", ".join(values(option) for option in field["anyOf"] if option.get("type") != "null")
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if "type" not in field:
        return "table" if "$ref" in field else "source"
    if "source" in (values(items) for items in (field.get("items"), field.get("additionalProperties")) if items):
        return "sources" if field["type"] == "array" else "table of sources"
    bounds = [f"{sign} {field[name]:,}" for name, sign in _BOUNDS.items() if field.get(name, _HUGE) < _HUGE]
    return " ".join((_TYPES[field["type"]], " and ".join(bounds))).strip()


def commands() -> str:
    """Return the page with the help of every command."""
    parts = [f"`translate COMMAND --help` prints these texts.\n\n{help_of()}"]
    for group, commands in GROUPS.items():
        parts.append(f"## {group}")
        parts += [f"### translate {command}\n\n{help_of(command)}" for command in commands]
    return page("Commands", *parts, EXIT_CODES, VARIABLES)


def help_of(command: str | None = None) -> str:
    """Return the help of a command, or of the program, as a code block."""
    said = help_text(options_of(command), command, WIDTH) if command else program_help(WIDTH)
    return f"```text\n{said.strip()}\n```"


def library() -> list[str]:
    """Return the names of all modules of `transformer` that are not packages."""
    files = sorted((ROOT / "transformer").rglob("*.py"))
    return [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if file.stem != "__init__"]


def api(package: str, summary: str, modules: list[str] | tuple[str, ...]) -> str:
    """Return the page of a package.

    Args:
        package: its name.
        summary: one sentence.
        modules: dotted names of the documented modules.
    """
    names = ", ".join(f"`{name}`" for name in sorted(import_module(package).__all__))
    parts = [f"{summary} Import {names} from `{package}`, and all other names from their modules."]
    for module in modules:
        path = ROOT / Path(*module.split("."))
        source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
        tree = ast.parse(source)
        text = Docstring.of(ast.get_docstring(tree)).markdown()
        parts += [f"## {module}", text, *entries(tree, source.splitlines())]
    return page(package, *parts)


def entries(node: ast.Module | ast.ClassDef, lines: list[str], prefix: str = "") -> Iterator[str]:
    """Return heading, signature and docstring of each public class, function and method.

    Args:
        node: where they are defined.
        lines: the file.
        prefix: name of the class and a dot.
    """
    for child in node.body:
        if not isinstance(child, ast.ClassDef | ast.FunctionDef) or not _is_public(child):
            continue
        name = f"{prefix}{child.name}"
        yield f"{'####' if prefix else '###'} {escaped(name)}"
        yield f"```py\n{signature(child, lines)}\n```"
        yield Docstring.of(ast.get_docstring(child)).markdown()
        if isinstance(child, ast.ClassDef):
            yield from entries(child, lines, f"{name}.")


def _is_public(node: ast.ClassDef | ast.FunctionDef) -> bool:
    return (node.name == "__call__" or not node.name.startswith("_")) and "overload" not in _decorators(node)


def _decorators(node: ast.ClassDef | ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in node.decorator_list}


def signature(node: ast.ClassDef | ast.FunctionDef, lines: list[str]) -> str:
    """Return the head of a function, or that of a class with the head of __init__ or its public fields.

    Args:
        node: the definition.
        lines: its file.
    """
    head = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.body[0].lineno - 1])).rstrip()
    if isinstance(node, ast.FunctionDef):
        kept = sorted(_decorators(node) & {"property", "classmethod", "staticmethod"})
        return "\n".join((*(f"@{name}" for name in kept), head.removesuffix(":")))
    inside = [f"{signature(line, lines)}: ..." for line in node.body if _is_init(line)]
    fields = (lines[line.lineno - 1 : line.end_lineno] for line in node.body if isinstance(line, ast.AnnAssign))
    shown = (textwrap.dedent("\n".join(field)) for field in fields)
    inside = inside or [field for field in shown if not field.startswith("_")]
    return "\n".join((head, *(textwrap.indent(line, "    ") for line in inside))) if inside else head.removesuffix(":")


def _is_init(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


if __name__ == "__main__":
    sys.exit(main())
