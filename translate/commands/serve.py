"""`translate serve`: a server with LibreTranslate's API."""

import contextlib
import ipaddress
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from translate.errors import UserError, optional_package, say
from translate.files import locked
from translate.models import registry
from translate.models.folder import TranslationSpec
from translate.serving.settings import ServeOptions

# As browsers write it: capital letters, other alphabets and the usual port would match no request.
_ORIGIN = re.compile(r"\*|null|(?!http://.*:80$|https://.*:443$)[a-z][a-z0-9+.-]*://[a-z0-9.:_\[\]-]+")
_PREFIX_OF_URLS = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_PREFIX = "translate-serve-"  # of temporary folders
_PACKAGES = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")


def run(options: ServeOptions) -> None:
    """Serve until SIGTERM, SIGHUP or Ctrl-C; UserError if a model or the address cannot be used."""
    for package in _PACKAGES:
        optional_package(package, "serve")
    from translate.serving import limits, server
    from translate.serving.access import KeyStore

    folders = [registry.locate(name, say, exported=True).resolve() for name in options.model or ()] or _installed()
    pairs = ", ".join(_pairs(folders))
    if options.keys is not None:
        KeyStore(options.keys).all()  # a wrong path is found now and not by the first client
    elif options.require_key:
        raise UserError("--require-key needs the file of the keys; name it with --keys")
    _check_origins(options.cors or ())
    _check_proxies((options.proxy or "*").split(","))
    if not _PREFIX_OF_URLS.fullmatch(options.url_prefix):
        raise UserError(f"--url-prefix {options.url_prefix}: is not such a path; write one like /translator")
    if options.suggestions is not None:
        _check_appendable(options.suggestions)
    with (
        server.listen(options.host, options.port) as listener,
        tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder,
        locked(Path(folder)),
    ):
        _remove_abandoned()
        url, most, limit = server.address(listener), limits.most_connections(), limits.open_files()
        options = replace(options, model=folders)
        fits = "" if limit is None else f" (ulimit -n {limit})"
        started = f"serving {pairs} on {url}; at most {most} connections{fits}; Ctrl-C stops"
        server.serve(options, Path(folder), listener, lambda: say(started))


def _remove_abandoned() -> None:
    """Remove the folders of servers that were killed: they hold translated files of users."""
    if sys.platform == "win32":  # without locks, the folder of a running server would be removed as well
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if folder.is_symlink() or not folder.is_dir():  # made by somebody else
            continue
        with contextlib.suppress(OSError), locked(folder):  # of another user, or of a running server
            shutil.rmtree(folder)


def _check_origins(origins: Sequence[str]) -> None:
    """Raise UserError for an origin that no browser sends."""
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise UserError(
                f"--cors {origin}: is not an origin as browsers send it; write *, or scheme and host in small letters, "
                "and the port unless it is the usual one, without a path, such as https://example.org"
            )


def _check_proxies(addresses: Sequence[str]) -> None:
    """Raise UserError for a proxy that no address of a client equals."""
    for address in addresses:
        if address.strip() == "*":
            continue
        try:
            ipaddress.ip_network(address.strip())
        except ValueError as error:
            raise UserError(
                f"--proxy {address}: is not an address or network; write numbers, such as 127.0.0.1 or 10.0.0.0/8, or *"
            ) from error


def _check_appendable(path: Path) -> None:
    """Raise UserError if nothing can be appended to a file; creates it, private to the user."""
    from translate.serving.api import append_only

    try:
        os.close(append_only(path))
    except OSError as error:
        raise UserError(f"--suggestions {path}: {error.strerror}; name a file that can be written") from error


def _installed() -> list[Path]:
    found = [folder for _, folder in registry.installed()]
    if not found:
        raise UserError("no model is installed; name one with --model")
    return found


def _pairs(folders: Sequence[Path]) -> list[str]:
    """Return the language pairs.

    Says which folders are not used, since another one has the same languages, and what languages have no rules for.
    """
    used, notes = dict[str, Path](), dict[str, None]()
    for folder in folders:
        spec = TranslationSpec.load(folder)
        for target in spec.targets:
            pair = f"{spec.source}-{target}"
            if (first := used.setdefault(pair, folder)) != folder:
                say(f"{folder}: is not served for {pair}, since {first} translates {pair} too")
            notes |= dict.fromkeys(registry.lacking_rules(spec.towards(target)))
    for note in notes:
        say(note)
    return sorted(used)
