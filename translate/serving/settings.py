"""Settings of a server, which are the options of `translate serve`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from translate.options import COMPUTING, MODEL, MODEL_HELP, flag, model_option, nested, option
from translate.text.translation import Opening, Search

ADDRESS, ACCESS, LIMITS = "Address", "Access", "Limits"


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Serve translations with the API of LibreTranslate.

    It listens on this machine only unless --host says otherwise. The address /docs describes the API.
    """

    model: Annotated[
        list[Path] | None,
        model_option(MODEL, f"Serve this model. {MODEL_HELP}; repeatable [default: all installed].", "--model", "-m"),
    ] = None
    host: Annotated[str, option(ADDRESS, "HOST", "Address to listen on; 0.0.0.0 is all.")] = "127.0.0.1"
    port: Annotated[int, option(ADDRESS, "PORT", "Port to listen on; 0 takes a free one.", min=0, max=65535)] = 5000
    proxy: Annotated[
        str | None,
        option(ADDRESS, "ADDRESSES", "Trust X-Forwarded headers of these reverse proxies, comma-separated; * is all."),
    ] = None
    url_prefix: Annotated[
        str,
        option(ADDRESS, "PATH", "Path of the server at a reverse proxy that removes it, such as /translator."),
    ] = ""
    keys: Annotated[Path | None, option(ACCESS, "FILE", "Accept the API keys in this file; see translate keys.")] = None
    require_key: Annotated[bool, flag(ACCESS, "--require-key", "Refuse requests without a key.")] = False
    cors: Annotated[list[str] | None, option(ACCESS, "ORIGIN", "Allow pages of this origin, or *; repeatable.")] = None
    suggestions: Annotated[
        Path | None, option(ACCESS, "FILE", "Store suggested translations in this JSON lines file [default: off].")
    ] = None
    requests: Annotated[
        int, option(LIMITS, "N", "Requests per minute of a key or an address [default: no limit].", min=0)
    ] = 0
    minute_characters: Annotated[
        int, option(LIMITS, "N", "Characters per minute of a key or an address [default: no limit].", min=0)
    ] = 0
    characters: Annotated[int, option(LIMITS, "N", "Maximum characters in a request.", min=1)] = 1_000_000
    file_size: Annotated[
        int, option(LIMITS, "BYTES", "Largest file; its text counts towards --characters; 0 turns files off.", min=0)
    ] = 10_000_000
    alternatives: Annotated[int, option(LIMITS, "N", "Maximum alternatives in a request.", min=0, max=255)] = 10
    queue: Annotated[
        int,
        option(
            LIMITS, "N", "Translations, alignments, detections and files in progress; more get 503.", min=1, max=1000
        ),
    ] = 64
    timeout: Annotated[float, option(LIMITS, "SECONDS", "Time for the translation of a request.", min=0.001)] = 300
    grace: Annotated[int, option(LIMITS, "SECONDS", "Time to finish requests when the server stops.", min=1)] = 30
    workers: Annotated[int, option(COMPUTING, "N", "Processes, each with its own models.", min=1, max=64)] = 1
    opening: Annotated[Opening, nested("threads")] = Opening()
    search: Annotated[Search, nested("beam_size")] = Search()
    alignment: Annotated[
        bool,
        flag(COMPUTING, "--alignment", "Align words for /alignment and the page."),
    ] = True
    batch_tokens: Annotated[int, option(COMPUTING, "N", "Tokens that are translated together.", min=1)] = 512
    unload: Annotated[
        float, option(COMPUTING, "SECONDS", "Unload a model that was not used for this time.", min=0.001)
    ] = 900
