"""Options are read as the types of a dataclass say, and described in groups with their defaults."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from translate.commands.main import main
from translate.errors import OptionError, UserError
from translate.options import (
    argument,
    bounded,
    file_option,
    flag,
    help_text,
    names_of,
    nested,
    option,
    parse,
    spelled,
    validate,
)
from translate.text.languages import lookup


@dataclass(frozen=True, kw_only=True)
class Bake:
    """Bake bread.

    It takes
    an hour.
    """

    flour: Annotated[Path, argument("FLOUR", "What it is made of.")]
    seeds: Annotated[list[str] | None, argument("SEED", "What is added.")] = None
    heat: Annotated[int, option("Oven", "DEGREES", "Its heat.", "--heat", "-d", min=0, max=300)] = 220
    rise: Annotated[float | None, option("Oven", "X", "Growth [default: what it likes].", min=1)] = None
    kind: Annotated[Literal["rye", "wheat"], option("Oven", "KIND", "rye or wheat.")] = "rye"
    spices: Annotated[list[str] | None, option("Taste", "NAME", "A spice; repeatable.", "--spice")] = None
    order: Annotated[tuple[str, str] | None, option("Taste", "A B", "First A, then B.")] = None
    crust: Annotated[bool, flag("Taste", "--crust", "With a crust.")] = True
    as_toast: Annotated[bool, flag("Taste", "--toast", "Toast it.")] = False
    output: Annotated[Path | None, file_option("--output", "Where it goes.")] = None
    who: Annotated[str, option("Taste", "NAME", "Who eats it.")]


def bake(*arguments: str) -> Bake:
    return parse(Bake, "bake", arguments)


def test_values_have_the_types_of_their_fields() -> None:
    assert bake("a", "--who", "me") == Bake(flour=Path("a"), who="me")
    assert bake(
        "--spice", "salt", "a", "--heat=3", "s", "--rise", "1.5", "--kind", "wheat", "--spice=caraway", "--order", "x",
        "y", "--no-crust", "--toast", "--output", "o", "t", "--who", "-",
    ) == Bake(
        flour=Path("a"), seeds=["s", "t"], heat=3, rise=1.5, kind="wheat", spices=["salt", "caraway"], order=("x", "y"),
        crust=False, as_toast=True, output=Path("o"), who="-",
    )  # fmt: skip
    assert bake("a", "-d=7", "--who=me").heat == 7
    assert bake("a", "-d", "7", "--crust", "--output", "-", "--who", "me") == Bake(flour=Path("a"), heat=7, who="me")


@given(st.lists(st.text(min_size=1).filter(lambda text: "\0" not in text)))
def test_everything_after_two_hyphens_is_an_argument(words: list[str]) -> None:
    assert bake("--who", "me", "a", "--", *words).seeds == (words or None)


@given(st.text().filter(lambda text: "\0" not in text and not text.startswith("-")))
@example("=7")
def test_text_with_a_space_is_not_taken_for_an_option(rest: str) -> None:
    for text in (f"-d{rest} und mehr", f"-{rest} und mehr"):
        assert bake("--who", text, "a", text, "--heat", "7") == Bake(flour=Path("a"), seeds=[text], heat=7, who=text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--who me", "FLOUR is missing"),
        ("a", "--who is missing"),
        ("a --who", "--who: expected one argument"),
        ("a --who me --heat x", "--heat: 'x' is not a whole number"),
        ("a --who me --heat 301", "--heat: 301 is out of range; it must be at least 0 and at most 300"),
        ("a --who me --rise 0.5", "--rise: 0.5 is out of range; it must be at least 1"),
        ("a --who me --rise nan", "--rise: nan is out of range"),
        ("a --who me --rise inf", "--rise: 'inf' is not a finite number"),
        ("a --who me --rise 1e999", "--rise: '1e999' is not a finite number"),
        ("a --who me --kind oat", "--kind: 'oat' is not one of rye, wheat"),
        ("a --who me --order x", "--order: expected 2 arguments"),
        ("a --who me --hate 3", "no option --hate; did you mean --heat?"),
        ("a --who me --hea 3", "no option --hea; did you mean --heat?"),
        ("a --who me --rice", "no option --rice; did you mean --rise or --spice?"),
        ("a --who me -k rye", "no option -k; did you mean --kind?"),
        ("a --who me -o x", "no option -o; did you mean --order or --output?"),
        ("a --who me -x", 'no option -x; if it is text, write "--" before it'),
        ("a --who me -dunkel", 'no option -dunkel; if it is text, write "--" before it'),
        ("a --who me -d7", "no option -d7; did you mean -d?"),
        ("a --who me --output x --output y", "--output: given twice; name it once"),
        ("a --who me --heat 7 -d 7", "--heat: given twice; name it once"),
        ("a --who me --order x y --order y x", "--order: given twice; name it once"),
        ("a --who me --toast=yes", "--toast: ignored explicit argument 'yes'"),
    ],
)
def test_a_mistake_is_one_sentence_that_points_to_the_help(arguments: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        bake(*arguments.split())
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith("(see translate bake --help)")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["a", "--who", "Gr\udcfce"], "--who"),
        (["a", "--who=me", "--spice", "\udcfc"], "--spice"),
        (["a", "--who=me", "--order", "x", "\udcfc"], "--order"),
        (["a", "--who=me", "s", "\udcfc"], "SEED"),
    ],
)
def test_text_that_is_not_utf_8_is_refused_and_named(arguments: list[str], named: str) -> None:
    """Python reads such a byte of an argument as a lone surrogate."""
    with pytest.raises(UserError, match=rf"^{named}: '.*\\udcfc.*' is not UTF-8 text; set the terminal to UTF-8"):
        bake(*arguments)


def test_the_name_of_a_file_may_hold_any_bytes() -> None:
    assert bake("\udcfc", "--who=me", "--output", "\udcfc") == Bake(
        flour=Path("\udcfc"), who="me", output=Path("\udcfc")
    )


@dataclass(frozen=True, kw_only=True)
class Oven:
    """Values that several commands have."""

    heat: Annotated[int | None, option("Oven", "DEGREES", "Its heat.", "--heat", "-d", min=0, max=300)] = None
    fan: Annotated[bool, flag("Oven", "--fan", "With a fan.")] = True
    shelf: int = 2

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, kw_only=True)
class Clean:
    """Clean the oven, which takes no argument."""

    oven: Annotated[Oven, nested("fan")] = Oven()


def test_a_command_without_arguments_does_not_ask_whether_an_option_is_text() -> None:
    with pytest.raises(UserError, match=r"^no option --soap \(see translate clean --help\)$"):
        parse(Clean, "clean", ["--soap"])
    with pytest.raises(UserError, match="did you mean --fan?"):
        parse(Clean, "clean", ["--fun"])


@dataclass(frozen=True, kw_only=True)
class Roast:
    """Roast beans."""

    oven: Annotated[Oven, nested("fan", "heat")] = Oven(heat=200, shelf=3)
    beans: Annotated[list[str] | None, argument("BEAN", "What is roasted.")] = None


def test_options_of_a_nested_value_replace_its_fields_and_keep_the_others() -> None:
    assert parse(Roast, "roast", []) == Roast()
    assert parse(Roast, "roast", ["-d", "7", "a", "--no-fan"]) == Roast(
        oven=Oven(heat=7, fan=False, shelf=3), beans=["a"]
    )
    assert [*names_of(Roast)] == ["--fan", "--no-fan", "--heat", "-d"]
    assert "Its heat [default: 200]." in help_text(Roast, "roast")
    with pytest.raises(UserError, match="no option --shelf"):
        parse(Roast, "roast", ["--shelf", "1"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"heat": 301}, "heat = 301: should be an integer, at least 0 and at most 300 or none"),
        ({"heat": True}, "heat = True: should be an integer"),
        ({"heat": "7"}, "heat = '7': should be an integer"),
        ({"fan": 1}, "fan = 1: should be a bool"),
        ({"shelf": 1.0}, "shelf = 1.0: should be an integer"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_where_it_is_made(values: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        Oven(**values)
    assert str(caught.value).startswith(message)


HELP = """Usage: translate bake [OPTIONS] FLOUR [SEED...]

  Bake bread.

  It takes an hour.

Arguments:
  FLOUR                What it is made of.
  SEED...              What is added.

Oven:
  -d, --heat DEGREES   Its heat [default: 220].
  --rise X             Growth [default: what it
                       likes].
  --kind KIND          rye or wheat [default:
                       rye].

Taste:
  --spice NAME         A spice; repeatable.
  --order A B          First A, then B.
  --crust, --no-crust  With a crust.
  --toast              Toast it.
  --who NAME           Who eats it [required].

Files:
  --output FILE        Where it goes.

Other:
  -h, --help           Show this message and exit.
"""


def test_the_help_has_groups_and_defaults_and_fits_its_width() -> None:
    assert help_text(Bake, "bake", 50) == HELP


def test_the_help_names_every_option() -> None:
    text = help_text(Bake, "bake")
    assert {*names_of(Bake)} >= {"--heat", "-d", "--spice", "--no-crust"}
    assert all(name in text for name in names_of(Bake))


@pytest.mark.parametrize(("columns", "widest"), [("80", 80), ("7", 60), ("900", 100)])
def test_the_width_is_that_of_the_terminal_within_bounds(
    columns: str, widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    long = type("Long", (Bake,), {"__doc__": "word " * 99})
    assert widest - 5 < max(map(len, help_text(long, "long").splitlines())) <= widest


@dataclass
class Sizes:
    rule: ClassVar[object] = None
    width: Annotated[int, bounded(2, 5)] = 3
    share: float = 0.5
    kind: Literal["a", "b"] = "a"
    limit: Annotated[int | None, bounded(1)] = None


@pytest.mark.parametrize("values", [{}, {"width": 2}, {"width": 5, "share": 1}, {"kind": "b", "limit": 10**9}])
def test_values_that_fit_their_annotations_are_accepted(values: dict[str, object]) -> None:
    validate(Sizes(**values))


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("width", 1, "an integer, at least 2 and at most 5"),
        ("width", 6, "at most 5"),
        ("width", True, "an integer"),
        ("width", 3.0, "an integer"),
        ("share", float("nan"), "a number"),
        ("share", "0.5", "a number"),
        ("kind", "c", "'a' or 'b'"),
        ("limit", 0, "an integer, at least 1 or none"),
    ],
)
def test_the_first_value_that_does_not_fit_is_named(name: str, value: object, wanted: str) -> None:
    with pytest.raises(ValueError, match=f"{name} = .*: should be .*{wanted}"):
        validate(Sizes(**{name: value}))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("DE", "de"),
        ("pt-br", "pt-BR"),
        ("ZH_hANT_tw", "zh_Hant_TW"),
        ("AUTO", "auto"),
        ("gmq", "gmq"),
        ("es-419", "es-419"),
    ],
)
def test_language_codes_are_spelled_in_one_way(code: str, expected: str) -> None:
    assert spelled(code) == expected
    assert lookup(code, ["fr", other := expected.replace("_", "-")]) == other


@pytest.mark.parametrize(
    "arguments", [["--model", ""], ["--input", ""], ["--terms", ""], ["--from", ""], ["--to", "d e"]]
)
def test_a_value_that_names_nothing_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An empty path would be the working directory, and an empty language any one."""
    assert main([*arguments, "Hallo"]) == 2
    assert re.match(
        rf"translate: {arguments[0]}: '[^']*' (names nothing|is no language code); ", capsys.readouterr().err
    )
