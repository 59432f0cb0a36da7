"""Verbs of the server: serve, keys."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.options import declaring
from translate.options.declaring import COMPUTING, MODEL, MODEL_HELP, argument, flag, value

ADDRESS, ACCESS, LIMITS = "Address", "Access", "Limits"


@dataclass(frozen=True, kw_only=True)
class Serve:
    """Serve translations with the API of LibreTranslate.

    It listens on this machine only unless --host says otherwise. The address /docs describes the API.
    """

    model: Annotated[
        list[Path] | None,
        value(MODEL, "MODEL", f"Serve this model. {MODEL_HELP}; repeatable [default: all installed].", "--model", "-m"),
    ] = None
    host: Annotated[str, value(ADDRESS, "HOST", "Address to listen on; 0.0.0.0 is all.")] = "127.0.0.1"
    port: Annotated[int, value(ADDRESS, "PORT", "Port to listen on; 0 takes a free one.", min=0, max=65535)] = 5000
    proxy: Annotated[
        str | None,
        value(ADDRESS, "ADDRESSES", "Trust X-Forwarded headers of these reverse proxies, comma-separated; * is all."),
    ] = None
    keys: Annotated[Path | None, value(ACCESS, "FILE", "Accept the API keys in this file; see translate keys.")] = None
    require_key: Annotated[bool, flag(ACCESS, "--require-key", "Refuse requests without a key.")] = False
    cors: Annotated[list[str] | None, value(ACCESS, "ORIGIN", "Allow pages of this origin, or *; repeatable.")] = None
    suggestions: Annotated[
        Path | None, value(ACCESS, "FILE", "Store suggested translations in this JSON lines file [default: off].")
    ] = None
    requests: Annotated[
        int, value(LIMITS, "N", "Requests per minute of a key or an address [default: no limit].", min=0)
    ] = 0
    characters: Annotated[int, value(LIMITS, "N", "Characters of a request.", min=1)] = 1_000_000
    file_size: Annotated[
        int, value(LIMITS, "BYTES", "Size of a file, whose --characters count too; 0 turns files off.", min=0)
    ] = 10_000_000
    alternatives: Annotated[int, value(LIMITS, "N", "Alternatives of a request.", min=0, max=255)] = 10
    queue: Annotated[int, value(LIMITS, "N", "Requests in progress; more get status 503.", min=1, max=1000)] = 64
    timeout: Annotated[float, value(LIMITS, "SECONDS", "Time for the translation of a request.", min=0.001)] = 300
    grace: Annotated[int, value(LIMITS, "SECONDS", "Time to finish requests when the server stops.", min=1)] = 30
    no_alignment: Annotated[
        bool, flag(COMPUTING, "--no-alignment", "Do not show the source words of a word, which saves memory.")
    ] = False
    workers: Annotated[int, value(COMPUTING, "N", "Processes, each with its own models.", min=1, max=64)] = 1
    threads: declaring.Threads = None
    beam: declaring.Beam = None
    batch_tokens: Annotated[int, value(COMPUTING, "N", "Tokens that are translated together.", min=1)] = 512
    unload: Annotated[
        float, value(COMPUTING, "SECONDS", "Unload a model that was not used for so long.", min=0.001)
    ] = 900


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Create, list and revoke the API keys of a server.

    A new key is printed once; the file holds only its hash.
    """

    action: Annotated[Literal["add", "list", "revoke"], argument("ACTION", "add, list or revoke.")]
    name: Annotated[str | None, argument("NAME", "Name of the key, for add and revoke.")] = None
    file: Annotated[
        Path | None,
        value(declaring.FILES, "FILE", "SQLite file of the keys [default: keys.sqlite beside the user's models]."),
    ] = None
    requests: Annotated[int | None, value(LIMITS, "N", "Requests per minute of the new key; 0 is no limit.", min=0)] = (
        None
    )
    characters: Annotated[int | None, value(LIMITS, "N", "Characters of a request with the new key.", min=1)] = None
    as_json: declaring.Json = False
