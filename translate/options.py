"""Settings, declared once as the fields of a frozen dataclass: their types, bounds, and options of the command line.

    @dataclass(frozen=True, kw_only=True)
    class ScoreOptions:
        \"""Compute the probability of given translations.\"""

        source: Annotated[Path, argument("SOURCE", "Source sentences, one per line.")]
        n_best: Annotated[int, option("Search", "N", "Translations of each sentence.", min=1)] = 1
        opening: Annotated[Opening, nested("engine", "threads")] = Opening()

The type says how a value is read: a `bool` takes no value (one that is on by default is turned off by --no-NAME), a
`list` may be given several times, a `Literal` is one of its values. Fields of a nested value are options like the
others. A program makes the same object with `ScoreOptions(source=path)`; `validate` refuses a value that does not fit.
"""

import argparse
import difflib
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from math import isfinite
from pathlib import Path
from reprlib import Repr
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from translate.errors import OptionError, UserError, either

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MODEL, FILES, SEARCH, COMPUTING, OUTPUT = "Model", "Files", "Search", "Computing", "Output"
WIDEST = 100  # characters of a line of help

Options = TypeVar("Options")

HELP = ("-h, --help", "Show this message and exit.")
_NARROWEST = 60
_LANGUAGE_CODE = re.compile(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*")
_LONGEST_CODE = 35  # as RFC 5646 allows programs
_SHORT = Repr()  # for values in messages
_SHORT.maxstring = _SHORT.maxother = 60


@dataclass(frozen=True)
class Declared:
    """Properties of a setting that the type of its field lacks.

    Attributes:
        names: "--beam", "-b"; empty for "--" and the name of the field.
        metavar: the value in the help; None for an option without a value.
        group: the heading in the help; None for an argument, which has no name.
        min, max: bounds of a number.
        read: turns text into the value; None to do what the type says.
        bare: the value of an option that no value follows; None for an option that needs one.
        nested: for a value of several settings, those that are options of the command.
    """

    help: str = ""
    names: tuple[str, ...] = ()
    metavar: str | None = None
    group: str | None = None
    min: float | None = None
    max: float | None = None
    read: Callable[[str], Any] | None = None
    bare: str | None = None
    nested: tuple[str, ...] | None = None

    @property
    def bounds(self) -> str:
        """The bounds of a number in words; "" for none."""
        named = (("at least", self.min), ("at most", self.max))
        return " and ".join(f"{words} {bound:g}" for words, bound in named if bound is not None)

    def allows(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)


def flag(group: str, name: str, help: str) -> Declared:
    """An option without a value."""
    return Declared(help, (name,), group=group)


def option(
    group: str, metavar: str, help: str, *names: str, min: float | None = None, max: float | None = None
) -> Declared:
    """An option with a value; a default is added to its help."""
    return Declared(help, names, metavar, group, min, max)


def open_option(group: str, metavar: str, help: str, *names: str, bare: str) -> Declared:
    """An option whose value may be left out, before another option or at the end; then it is `bare`."""
    return Declared(help, names, f"[{metavar}]", group, bare=bare)


def file_option(name: str, help: str) -> Declared:
    """An option for a file, in which a hyphen (but not ./-) stands for stdin or stdout and becomes None."""
    return Declared(help, (name,), "FILE", FILES, read=lambda text: None if text == "-" else Path(text))


def language_option(group: str, help: str, *names: str) -> Declared:
    """An option for the code of a language."""
    return Declared(help, names, "LANGUAGE", group, read=_language_code)


def argument(metavar: str, help: str) -> Declared:
    """A positional argument."""
    return Declared(help, metavar=metavar)


def model_option(group: str, help: str, *names: str) -> Declared:
    """An option for the path or name of a model."""
    return Declared(help, names, "MODEL", group, read=model_path)


def model_argument(metavar: str, help: str) -> Declared:
    """A positional argument for the path or name of a model."""
    return Declared(help, metavar=metavar, read=model_path)


def is_language_code(text: object) -> TypeGuard[str]:
    """Return whether this is a language code, such as "de", "zh-Hans" or "sr_Latn"; names of files contain it."""
    return isinstance(text, str) and len(text) <= _LONGEST_CODE and _LANGUAGE_CODE.fullmatch(text) is not None


def spelled(code: str) -> str:
    """Return a language code in the capital and small letters of BCP 47, which do not count: "de", "zh-Hans", "pt-BR".

    A "_" stays, and so does a text that is no code.
    """
    language, *others = re.split("([_-])", code.lower())
    return language + "".join({4: str.title, 2: str.upper}.get(len(part), str)(part) for part in others)


def _language_code(text: str) -> str:
    """Return a language code in its usual spelling; ArgumentTypeError if the text is not a code."""
    if not is_language_code(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no language code; write one such as de, or leave it out")
    return spelled(text)


def model_path(text: str | Path) -> Path:
    """Return the path or name of a model; "./NAME" and "NAME/" become absolute, as a `Path` would be the name alone."""
    path = Path(text)
    return path.absolute() if path.name == str(path) != str(text) else path


def bounded(min: float, max: float | None = None) -> Declared:
    """A number that is no option."""
    return Declared(min=min, max=max)


def nested(*names: str) -> Declared:
    """A value of several settings; those with these names are options."""
    return Declared(nested=names)


def validate(instance: "DataclassInstance") -> None:
    """Raise OptionError for the first field whose value does not fit its annotation.

    An annotation is a class, a Literal, or a union of these, with or without bounds. A bool is not a number; an int is
    a float; a float must be finite.
    """
    for name, hint in _hints(type(instance)).items():
        if not _fits(value := getattr(instance, name), hint):
            raise OptionError(name, shown(value), f"should be {_wanted(hint)}")


def shown(value: object) -> str:
    """Return the beginning of a value for a message."""
    return _SHORT.repr(value)


@cache
def _hints(kind: "type[DataclassInstance]") -> dict[str, Any]:
    """Return the annotation of each field, evaluated."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    match get_origin(hint):
        case origin if origin is Annotated:
            kind, declared = get_args(hint)
            return _fits(value, kind) and (value is None or declared.allows(value))
        case origin if origin is Literal:
            return value in get_args(hint)
        case origin if origin in (Union, UnionType):
            return any(_fits(value, option) for option in get_args(hint))
        case origin if origin is not None:
            return isinstance(value, origin)
    if hint is float:
        return type(value) in (int, float) and isfinite(value)
    return type(value) is hint if hint in (bool, int, str) else isinstance(value, hint)


def _wanted(hint: Any) -> str:
    """Return the values that fit a type, in words."""
    bounds = ""
    if get_origin(hint) is Annotated:
        hint, declared = get_args(hint)
        bounds = declared.bounds
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    words = " or ".join(
        " or ".join(map(repr, get_args(kind)))
        if get_origin(kind) is Literal
        else {int: "an integer", float: "a number", str: "text"}.get(kind, f"a {kind.__name__}")
        for kind in kinds
        if kind is not NoneType
    )
    return words + (f", {bounds}" if bounds else "") + (" or none" if NoneType in kinds else "")


@dataclass(frozen=True)
class _Field:
    """A field of a class of options.

    Attributes:
        kind: its type, without None.
        default: MISSING if the user must give a value.
        within: the field of the nested value that it belongs to; "" for none.
    """

    name: str
    kind: Any
    declared: Declared
    default: Any
    within: str = ""

    @property
    def is_list(self) -> bool:
        """True if it holds all the values that are given."""
        return get_origin(self.kind) is list

    @property
    def n_values(self) -> int | None:
        """The number of words that an option takes, if it is not one."""
        return len(get_args(self.kind)) if get_origin(self.kind) is tuple else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of an option; one that is on by default has one that turns it off, too."""
        names = self.declared.names or (f"--{self.name.replace('_', '-')}",)
        return (*names, f"--no-{names[0][2:]}") if self.is_on else names

    @property
    def is_on(self) -> bool:
        """True for an option without a value that is on by default."""
        return self.kind is bool and self.default is True

    def read(self, text: str) -> Any:
        """Return a value; ArgumentTypeError says what is wrong with the text."""
        kind = get_args(self.kind)[0] if self.is_list or get_origin(self.kind) is tuple else self.kind
        if kind is Path and not text:  # `Path` would be the working directory
            raise argparse.ArgumentTypeError(f"'' names nothing; write a {self.declared.metavar}")
        if self.declared.read is not None:
            return self.declared.read(text)
        if get_origin(kind) is Literal:
            if text not in get_args(kind):
                raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(get_args(kind))}")
            return text
        if kind is str:
            return _utf_8(text)
        if kind not in (int, float):
            return kind(text)
        try:
            number = kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None
        if not self.declared.allows(number):
            raise argparse.ArgumentTypeError(f"{text} is out of range; it must be {self.declared.bounds}")
        if kind is float and not isfinite(number):
            raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
        return number

    def help(self) -> str:
        """The help text, with the default value unless that is "off" or already in the text."""
        text = self.declared.help.removesuffix(".")
        if self.default is MISSING and self.declared.group:
            return f"{text} [required]."
        shown = self.default and self.default is not MISSING and not isinstance(self.default, bool)
        return f"{text} [default: {self.default}]." if shown and "[default" not in text else f"{text}."


def _utf_8(text: str) -> str:
    """The text; ArgumentTypeError if the command line held other bytes, which Python reads as lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not UTF-8 text; set the terminal to UTF-8") from None
    return text


def _fields(options: type) -> list[_Field]:
    found: list[_Field] = []
    for field in fields(options):
        kind, declared = get_args(field.type)
        if declared.nested is not None:
            inner = {own.name: get_args(own.type) for own in fields(kind)}
            found += [
                _Field(name, _kind(inner[name][0]), inner[name][1], getattr(field.default, name), field.name)
                for name in declared.nested
            ]
        else:
            found.append(_Field(field.name, _kind(kind), declared, field.default))
    return found


def _kind(hint: Any) -> Any:
    """Return a type without None."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return next(kind for kind in kinds if kind is not NoneType)


def names_of(options: type) -> Iterator[str]:
    """Yield the names of all options of a class, such as "--model" and "-m"."""
    for field in _fields(options):
        if field.declared.group is not None:
            yield from field.names


class UnknownOptionError(UserError):
    """An option that the command does not have.

    Attributes:
        name: as the user wrote it.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise UserError instead of printing the usage."""
        raise UserError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")


class _Once(argparse.Action):
    """Keeps the value of an option that may be given once: of two files, one would be ignored."""

    is_given = False  # each command line has a parser and actions of its own

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, name: str | None = None) -> None:
        if self.is_given:
            raise argparse.ArgumentError(self, "given twice; name it once")
        self.is_given = True
        setattr(namespace, self.dest, values)


def parse(options: type[Options], command: str, arguments: Sequence[str]) -> Options:
    """Return the options that a user gave; UserError if they are not those of the command.

    A value is the next word or follows "=". Text that begins with a hyphen and has a space, such as "- Yes." or
    "-mal sehen", is not taken for an option; text after "--" is not either.
    """
    declared = _fields(options)
    parser = _parser(command, declared)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given, words = parser.parse_known_args([_long(word, declared) for word in arguments[:end]])
    if unknown := next((word for word in words if _looks_like_an_option(word)), None):
        raise _unknown(unknown.partition("=")[0], options, command)
    values = vars(given)
    words += arguments[end + 1 :]
    for field in declared:
        if field.n_values and values[field.name] is not None:
            values[field.name] = tuple(values[field.name])
        if field.declared.group is None:
            taken = len(words) if field.is_list else 1
            values[field.name], words = _read_words(parser, field, words[:taken]), words[taken:]
        if field.default is MISSING and not values[field.name]:
            wanted = field.names[0] if field.declared.group else field.declared.metavar
            parser.error(f"{wanted} is missing")
    if words:
        parser.error(f"unexpected argument {words[0]!r}")
    for outer in fields(options):  # type: ignore[arg-type]
        own = {field.name: values.pop(field.name) for field in declared if field.within == outer.name}
        if own:
            values[outer.name] = replace(outer.default, **own)  # type: ignore[type-var]
    return options(**values)


def _parser(command: str, declared: Sequence[_Field]) -> _Parser:
    """Return a parser of the options; words that are none are left to `parse`."""
    parser = _Parser(prog=f"translate {command}", add_help=False, allow_abbrev=False)
    for field in declared:
        if field.kind is bool:
            parser.add_argument(field.names[0], dest=field.name, action="store_true", default=field.default)
            if field.is_on:
                parser.add_argument(field.names[-1], dest=field.name, action="store_false")
        elif field.declared.group is not None:
            parser.add_argument(
                field.names[0],
                dest=field.name,
                action="append" if field.is_list else _Once,
                nargs="?" if field.declared.bare is not None else field.n_values,
                const=field.declared.bare,
                type=field.read,
                default=None if field.default is MISSING else field.default,
            )
    return parser


def _unknown(name: str, options: type, command: str) -> UnknownOptionError:
    """Return the error for an option that the command does not have, with the nearest one that it has."""
    may_be_one = name.startswith("--") or name.islower()  # no option has capitals, and a word of text may
    near = either(_similar(name, [*names_of(options)]) if may_be_one else [])
    takes_text = any(field.declared.group is None for field in _fields(options))
    remedy = f"; did you mean {near}?" if near else '; if it is text, write "--" before it' if takes_text else ""
    return UnknownOptionError(f"no option {name}{remedy} (see translate {command} --help)", name)


def _long(word: str, declared: Sequence[_Field]) -> str:
    """Return an option under its long name: to a short one argparse would attach text, as in "-mal"."""
    name, *value = word.split("=", 1)
    long = (field.names[0] for field in declared if name in field.names[1:] and field.kind is not bool)
    return "=".join([next(long, name), *value]) if _looks_like_an_option(word) else word


def _similar(name: str, names: Sequence[str]) -> list[str]:
    """Return the options that a user may have meant: for "-o" those with this initial, else the two most similar."""
    if len(name) == 2:
        return [long for long in names if long.startswith(f"--{name[1]}")]
    return difflib.get_close_matches(name, names, n=2, cutoff=0.7)


def _read_words(parser: _Parser, field: _Field, words: list[str]) -> Any:
    """The value of a positional argument; its default without words."""
    if not words:
        return None if field.default is MISSING else field.default
    try:
        read = [field.read(word) for word in words]
    except argparse.ArgumentTypeError as error:
        parser.error(f"{field.declared.metavar}: {error}")
    return read if field.is_list else read[0]


def _looks_like_an_option(word: str) -> bool:
    """True for "-x" and "--word=a b", and false for "-", "-5", "- Yes." and "-x a"."""
    name = word.partition("=")[0] if word.startswith("--") else word
    return name.startswith("-") and len(name) > 1 and " " not in name and not name[1].isdecimal()


def help_text(options: type, command: str, width: int | None = None) -> str:
    """Return the help of a command, with its options in groups.

    Args:
        width: characters of a line; None for that of the terminal.
    """
    rows: dict[str, list[tuple[str, str]]] = {"Arguments": []}
    usage = [f"Usage: translate {command} [OPTIONS]"]
    for field in _fields(options):
        if field.declared.group is None:
            name = f"{field.declared.metavar}{'...' * field.is_list}"
            usage.append(name if field.default is MISSING else f"[{name}]")
        else:
            short_first = sorted(field.names, key=len)
            name = " ".join(filter(None, [", ".join(short_first), field.declared.metavar]))
        rows.setdefault(field.declared.group or "Arguments", []).append((name, field.help()))
    groups = {title: lines for title, lines in rows.items() if lines}
    groups["Other" if groups.keys() - {"Arguments"} else "Options"] = [HELP]
    return sections(" ".join(usage), options.__doc__ or "", groups, width)


def sections(usage: str, text: str, groups: Mapping[str, Sequence[tuple[str, str]]], width: int | None = None) -> str:
    """Return a help text: the line of usage, paragraphs, and groups of names with their meaning.

    Args:
        usage: the first line.
        text: paragraphs, as in a docstring.
        groups: rows by heading.
        width: characters of a line; None for that of the terminal.
    """
    width = width or max(_NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
    paragraphs = [" ".join(lines.split()) for lines in text.strip().split("\n\n")]
    parts = [usage, *(textwrap.fill(lines, width, initial_indent="  ", subsequent_indent="  ") for lines in paragraphs)]
    column = max(len(name) for rows in groups.values() for name, _ in rows) + 4
    for title, rows in groups.items():
        lines = [
            textwrap.fill(meaning, width, initial_indent=f"  {name}".ljust(column), subsequent_indent=" " * column)
            for name, meaning in rows
        ]
        parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts) + "\n"


# One text for every command that takes a model; `translate.models.registry` documents the rules in full.
MODEL_HELP = "An installed model, a run in runs/, or a path"
WITHOUT_MODEL = "[default: $TRANSLATE_MODEL, de-en]."
MODEL_FOR_LANGUAGES = f"{MODEL_HELP} [default: $TRANSLATE_MODEL, one for --from and --to, de-en]."
DEFAULT_MODEL = f"{MODEL_HELP} {WITHOUT_MODEL}"
SYSTEM_HELP = "An installed model, a run in runs/, a path, or a file with translations"

Model = Annotated[Path | None, model_option(MODEL, DEFAULT_MODEL, "--model", "-m")]
NamedModel = Annotated[Path, model_argument("MODEL", f"{MODEL_HELP}.")]
Out = Annotated[Path, option(FILES, "FOLDER", "The new model folder.")]
Json = Annotated[bool, flag(OUTPUT, "--json", "Write JSON.")]
JsonLines = Annotated[bool, flag(OUTPUT, "--json", "Write a JSON object per line, with scores.")]
Overrides = Annotated[
    list[str] | None,
    option("Settings", "KEY=VALUE", "Replace a setting, such as training.lr=0.001; repeatable.", "--set"),
]
CheckedOn = Annotated[
    Path | None, option(FILES, "FILE", "Sentences to check on [default: 100 of the embedded grammar].")
]
RAY = open_option(COMPUTING, "ADDRESS", "Use a cluster of Ray [default: the running one].", "--ray", bare="")
