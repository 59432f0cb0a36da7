"""`translate keys`: create, list and revoke the API keys of a server."""

import json
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.errors import UserError, say
from translate.models import registry
from translate.options import FILES, Json, argument, option
from translate.serving.access import KeyStore
from translate.tables import rendered

LIMITS = "Limits"
_MOST = 2**63 - 1  # SQLite's largest integer


@dataclass(frozen=True, kw_only=True)
class KeysOptions:
    """Create, list and revoke the API keys of a server.

    A new key is printed once; the file holds only its hash.
    """

    action: Annotated[Literal["add", "list", "revoke"], argument("ACTION", "add, list or revoke.")]
    name: Annotated[str | None, argument("NAME", "Name of the key, for add and revoke.")] = None
    file: Annotated[
        Path | None,
        option(FILES, "FILE", "SQLite file of the keys [default: keys.sqlite beside the user's models]."),
    ] = None
    requests: Annotated[
        int | None, option(LIMITS, "N", "Requests per minute of the new key; 0 is no limit.", min=0, max=_MOST)
    ] = None
    characters: Annotated[
        int | None, option(LIMITS, "N", "Maximum characters in a request with the new key.", min=1, max=_MOST)
    ] = None
    minute_characters: Annotated[
        int | None, option(LIMITS, "N", "Characters per minute of the new key; 0 is no limit.", min=0, max=_MOST)
    ] = None
    as_json: Json = False


def run(options: KeysOptions) -> None:
    """Create, list or revoke API keys; UserError if the name is missing, taken or unknown."""
    store = KeyStore(options.file or registry.home() / "keys.sqlite")
    _refuse_unused(options)
    if options.action == "list":
        _list(store, options.as_json)
    elif not options.name:
        raise UserError(f"name the key: translate keys {options.action} NAME")
    elif not options.name.isprintable():
        raise UserError(f"{options.name!r}: the name of a key is one line of printable characters; choose another name")
    elif options.action == "add":
        print(store.add(options.name, options.requests, options.characters, options.minute_characters))
        say(f"this is the only time that the key {options.name} is shown; {store.path} holds its hash")
    else:
        store.revoke(options.name)


def _refuse_unused(options: KeysOptions) -> None:
    """Raise UserError for an argument that the action would ignore."""
    if options.action == "list" and options.name is not None:
        raise UserError(f"{options.name}: translate keys list shows all keys; leave the name out")
    if options.action != "add":
        for name, given in (
            ("--requests", options.requests),
            ("--characters", options.characters),
            ("--minute-characters", options.minute_characters),
        ):
            if given is not None:
                raise UserError(f"{name}: is only for translate keys add; to change a limit, add a new key")
    if options.action != "list" and options.as_json:
        raise UserError("--json: is only for translate keys list; leave it out")


def _list(store: KeyStore, as_json: bool) -> None:
    found = store.all() if store.path.exists() else []
    if not found:
        say(f"{store.path}: there are no keys; add one with translate keys add NAME --file {store.path}")
    if as_json:
        print(json.dumps([asdict(key) for key in found], indent=2))
    elif found:
        names = ("name", "created", "revoked", "requests/min", "characters", "characters/min")
        rows = [["" if value is None else str(value) for value in astuple(key)] for key in found]
        print(rendered([dict(zip(names, row, strict=True)) for row in rows], "simple"))
