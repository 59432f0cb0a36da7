"""Strings of YAML and TOML in one line: what they say, and another text in the same quotes."""

import json
import re
import tomllib
from typing import Literal

import yaml

Syntax = Literal["yaml", "toml"]
STRING = "tag:yaml.org,2002:str"  # the tag of a string of YAML


def text_of(scalar: str, syntax: Syntax, *, in_flow: bool = False) -> str | None:
    """Return what a reader makes of a scalar that is a value; None if it is no string, such as a number.

    Args:
        in_flow: whether it is within brackets or braces of YAML.
    """
    if syntax == "toml":
        try:
            values = tomllib.loads(f"a = {scalar}")
        except tomllib.TOMLDecodeError:
            return None
        return text if len(values) == 1 and isinstance(text := values["a"], str) else None
    try:
        root = yaml.compose(f"[{scalar}]" if in_flow else f"a: {scalar}", yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    value = root.value[0] if in_flow else root.value[0][1]
    return str(value.value) if len(root.value) == 1 and value.tag == STRING else None


def scalar_of(text: str, like: str, syntax: Syntax, *, in_flow: bool = False) -> str | None:
    """Return a text as a scalar in one line: plain or in the quotes of another one, if these can hold it.

    Args:
        like: the scalar that it replaces.

    Returns None if the text has a character that the syntax does not have.
    """
    escaped = json.dumps(text, ensure_ascii=False)
    if like.isascii() and re.search(r"\\[xuU][0-9A-Fa-f]", like):
        escaped = "".join(map(_escaped, escaped))
    single = "'" + (text.replace("'", "''") if syntax == "yaml" else text) + "'"
    forms = {'"': [escaped], "'": [single, escaped]}.get(like[:1], [text, single, escaped])
    return next((form for form in forms if text_of(form, syntax, in_flow=in_flow) == text), None)


def _escaped(character: str) -> str:
    code = ord(character)
    return character if character.isascii() else f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
