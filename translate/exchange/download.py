"""Downloads: files of a repository of the Hugging Face hub, and a file at an address.

The hub's client keeps the files that have arrived in its cache, and an interrupted one is downloaded anew; it reads
HF_TOKEN, HF_ENDPOINT, HF_HOME and HF_HUB_OFFLINE. A file at an address goes on where it was interrupted, if the
server says that it has not changed; what cannot go on is not kept.
"""

import errno
import hashlib
import http.client
import logging
import os
import re
import ssl
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit, urlunsplit

from translate.errors import UserError, reason
from translate.files import locked, naming, read_json, sha256, write_json

_CHUNK = 2**20
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)
_ATTEMPTS = 5  # without a new byte
_TIMEOUT = 30.0  # seconds without an answer

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PRINTABLE = "!$%&'()*+,/:;=?@[]|~"  # characters of paths and queries that are sent as they are
_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_FILE = re.compile(r"[0-9a-f]{16}(\.json)?")  # names in the folder of downloads

Choose = Callable[[Collection[str]], list[str]]


class GoneError(UserError):
    """There is nothing at a source, or nothing that the user may read."""


@dataclass(frozen=True)
class Snapshot:
    """Files of a commit of a repository.

    Attributes:
        folder: where they are, perhaps among others.
        names: of the files that were chosen.
        commit: of the repository.
    """

    folder: Path
    names: list[str]
    commit: str


def snapshot(repository: str, revision: str | None, choose: Choose) -> Snapshot:
    """Download files of a repository of the hub and compare them with the hub's digests.

    Args:
        repository: such as "Helsinki-NLP/opus-mt-de-en".
        revision: a commit, tag or branch; None is the newest.
        choose: returns the names of the wanted files, given all; raises UserError if there is no model.

    With HF_HUB_OFFLINE the files are those of the cache. Raises UserError if they cannot be had.
    """
    import huggingface_hub

    if is_offline():
        folder = _cached(repository, revision)
        names = choose([path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()])
        return Snapshot(folder, names, folder.name)
    with _asking(repository, revision):
        info = huggingface_hub.HfApi().model_info(repository, revision=revision, files_metadata=True)
    if not info.sha:
        raise UserError(f"{repository}: the hub names no commit of it; name one with --revision")
    files = {file.rfilename: file for file in info.siblings or []}
    names = choose(files)
    _clean_cache(repository)
    with _asking(repository, revision):  # by the name of the revision, which the cache then knows offline
        huggingface_hub.hf_hub_download(repository, names[0], revision=revision)
    folder = Path()
    for name in names:
        with _asking(repository, revision):
            path = Path(huggingface_hub.hf_hub_download(repository, name, revision=info.sha))
        _verify(repository, path, files[name])
        folder = path.parents[name.count("/")]
    return Snapshot(folder, names, info.sha)


def _clean_cache(repository: str) -> None:
    """Remove what killed downloads of a repository left in the cache of the hub's client, which never uses it again.

    A file that another process downloads is passed over, by the lock that the client holds for it.
    """
    from huggingface_hub import constants

    cache, folder = Path(constants.HF_HUB_CACHE), f"models--{repository.replace('/', '--')}"
    for path in (cache / folder / "blobs").glob("*.incomplete"):
        lock = cache / ".locks" / folder / f"{path.name.partition('.')[0]}.lock"
        with suppress(OSError):
            lock.parent.mkdir(parents=True, exist_ok=True)
            with locked(lock, certain=True):
                path.unlink()


def endpoint() -> str:
    """Return the address of the hub; UserError if HF_ENDPOINT is none."""
    given = os.environ.get("HF_ENDPOINT")
    if given is not None:  # before the import, which may fail
        try:
            parts = urlsplit(given)
            # `port` raises for one that is no number.
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            is_address &= given == given.strip()
        except ValueError:
            is_address = False
        if not is_address:
            raise UserError(
                f"HF_ENDPOINT={given}: is no address of a hub, such as https://huggingface.co; correct or unset it"
            )
    from huggingface_hub.constants import ENDPOINT

    return ENDPOINT


def is_offline() -> bool:
    """Return whether the user allows the cache alone, with HF_HUB_OFFLINE."""
    endpoint()
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def _cached(repository: str, revision: str | None) -> Path:
    """Return the folder of a repository in the cache; UserError if there is none."""
    import huggingface_hub

    with _asking(repository, revision):  # each model has a config.json
        return Path(huggingface_hub.hf_hub_download(repository, "config.json", revision=revision)).parent


def newest_commit(repository: str, revision: str | None) -> str:
    """Return the commit of a revision of a repository, without a download; UserError if the hub does not say.

    With HF_HUB_OFFLINE it is the newest one of the cache.
    """
    import huggingface_hub

    if is_offline():
        return _cached(repository, revision).name
    with _asking(repository, revision):
        return str(huggingface_hub.HfApi().model_info(repository, revision=revision).sha)


@contextmanager
def _asking(repository: str, revision: str | None) -> Iterator[None]:
    """Raise UserError if the hub's client fails in this block; libraries below it raise exceptions of their own."""
    from huggingface_hub import constants, errors

    try:
        with _quiet():
            yield
    except errors.GatedRepoError as error:
        page = f"{constants.ENDPOINT}/{repository}"
        raise UserError(
            f"{repository}: its authors ask for consent first; give it at {page}, and set HF_TOKEN to a token of yours"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise GoneError(
            f"{repository}: has no revision {revision}; name another one, or none for the newest"
        ) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise GoneError(
            f"{repository}: {constants.ENDPOINT} has no model of this name that you may read; correct it, or set "
            "HF_TOKEN if it is private"
        ) from error
    except Exception as error:
        raise UserError(f"{repository}: {_cause(error)}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings of the hub's client, whose failures `_asking` words, unless the user has chosen what it logs."""
    from huggingface_hub.utils.logging import get_verbosity, set_verbosity

    level = get_verbosity()
    with warnings.catch_warnings():
        if "HF_HUB_VERBOSITY" not in os.environ:
            warnings.filterwarnings("ignore", module="huggingface_hub")
            set_verbosity(logging.ERROR)
        try:
            yield
        finally:
            set_verbosity(level)


def _cause(error: Exception) -> str:
    """Return why the hub's client failed, and what to do."""
    from huggingface_hub import constants

    chain: list[BaseException] = [error]
    while (below := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(below)
    answers = [answer for link in chain if (answer := getattr(link, "response", None)) is not None]
    status = next((answer.status_code for answer in answers), None)
    on_disk = next((link for link in chain if isinstance(link, OSError) and link.errno and link.filename), None)
    full = next((link for link in chain if isinstance(link, OSError) and link.strerror and link.errno in _DISK), None)
    if full or on_disk:
        found = full or on_disk
        assert found is not None
        return f"cannot be stored in the cache {constants.HF_HUB_CACHE}: {reason(found)}"
    if constants.HF_HUB_OFFLINE:
        return f"is not in the cache {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE is set; unset it to download"
    if status is not None:
        return f"{constants.ENDPOINT} answers with status {status}; try again later"
    said = " ".join(str(chain[-1]).split())[:200] or type(chain[-1]).__name__
    return (
        f"{constants.ENDPOINT} cannot be reached, or the connection broke ({said}); connect and repeat the command, or "
        "set HF_HUB_OFFLINE=1 to take it from the cache"
    )


def _verify(repository: str, path: Path, file: Any) -> None:
    """Compare a file with the digest that the hub names: SHA-256 of large files, or git's of others.

    UserError if it differs; then it is removed from the cache, which would keep it.
    """
    if file.lfs is not None:
        digest, wanted = hashlib.sha256(), file.lfs.sha256
    elif file.blob_id:
        digest, wanted = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False), file.blob_id
    else:
        return
    with path.open("rb") as content:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
    if digest.hexdigest() != wanted:
        blob = path.resolve()
        path.unlink()
        blob.unlink(missing_ok=True)
        raise UserError(
            f"{repository}: {file.rfilename} is not the file that the hub describes (its digest differs); it was "
            "removed from the cache, so repeat the command"
        )


@dataclass(frozen=True)
class Address:
    """A file on the web.

    Attributes:
        url: its address in ASCII, without a fragment; other characters are percent-encoded.
        sha256: digest that it must have, from the fragment "#sha256=..."; "" for any.
    """

    url: str
    sha256: str = ""

    @classmethod
    def read(cls, text: str) -> "Address":
        """Return an address as users write it; UserError if it is none."""
        url, _, fragment = text.strip().partition("#")
        digest = fragment.lower().removeprefix("sha256=")
        if fragment and not _DIGEST.fullmatch(digest):
            raise UserError(f"{text}: ends in no digest; write its 64 digits after #sha256=, or leave it out")
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").encode("idna").decode(), parts.port
        except ValueError as error:
            raise UserError(f"{text}: is not an address: {error}; correct it") from error
        if not host:
            raise UserError(f"{text}: names no server; write an address such as https://example.org/de_en.argosmodel")
        if "@" in parts.netloc:
            raise UserError(f"{host}: its address holds a user or password, which are not sent; leave them out")
        place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        path, query = (quote(_NO_ESCAPE.sub("%25", part), _PRINTABLE) for part in (parts.path, parts.query))
        return cls(urlunsplit((parts.scheme, place, path or "/", query, "")), digest)


@contextmanager
def fetched(address: Address, place: Path) -> Iterator[Path]:
    """Download a file, or the rest of it, and yield its path; it is removed if the block ends without an exception.

    Args:
        place: an existing folder, where an unfinished file stays if it can go on.

    Raises GoneError if there is none, and UserError if the file cannot be had or has another digest.
    """
    path = place / hashlib.sha256(address.url.encode()).hexdigest()[:16]
    try:
        with naming(path), locked(path):
            try:
                _download(address.url, path)
                if address.sha256 and address.sha256 != sha256(path):
                    _remove(path)
                    raise UserError(
                        f"{address.url}: is not the file with this SHA-256; correct the digest or the address"
                    )
                yield path
                _remove(path)
            finally:
                if not _goes_on(path):
                    _remove(path)
    except BlockingIOError as error:
        raise UserError(f"{address.url}: another process is downloading it; wait until it is done") from error


def clean(place: Path) -> None:
    """Remove what killed processes left in the folder of downloads and what cannot go on."""
    names = os.listdir(place) if os.path.isdir(place) else []
    for path in {place / name.removesuffix(".json") for name in names if _FILE.fullmatch(name)}:
        with suppress(OSError), locked(path, certain=True):
            if not _goes_on(path):
                _remove(path)


def _state(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _known(path: Path) -> dict[str, Any]:
    """Return what the server said of a file; {} if it did not say which version of the file it sends."""
    try:
        state = read_json(_state(path))
    except (OSError, ValueError):
        return {}
    return state if state.get("etag") else {}


def _goes_on(path: Path) -> bool:
    """Return whether an unfinished file can go on, or is complete."""
    return bool(path.is_file() and path.stat().st_size and _known(path))


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _state(path).unlink(missing_ok=True)


def _download(url: str, path: Path) -> None:
    """Append to the file what it lacks; UserError if no more comes."""
    failures = 0
    while failures < _ATTEMPTS:
        before = path.stat().st_size
        try:
            if _download_rest(url, path):
                return
            problem = "the connection broke"
        except urllib.error.HTTPError as error:
            if error.code == http.client.NOT_MODIFIED:
                return
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and before:
                _restart(path)
                continue
            said = f"{url}: the server answers with status {error.code} ({error.reason})"
            if error.code in (http.client.REQUEST_TIMEOUT, http.client.TOO_MANY_REQUESTS) or error.code >= 500:
                raise UserError(f"{said}; try again later") from error
            raise GoneError(f"{said}; correct the address") from error
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
            cause = getattr(error, "reason", error)
            problem = " ".join(str(cause).split()) or type(cause).__name__
        except ValueError as error:
            raise UserError(f"{url}: is not an address: {error}; correct it") from error
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {reason(error)}") from error
        failures = 0 if path.stat().st_size > before else failures + 1
        if failures < _ATTEMPTS:
            time.sleep(0.1 * 2**failures)
    after = f", which goes on after {path.stat().st_size:,} bytes" if _goes_on(path) else ""
    raise UserError(
        f"{url}: cannot be reached, or the connection broke ({problem}); connect and repeat the command{after}"
    )


def _restart(path: Path) -> None:
    os.truncate(path, 0)
    _state(path).unlink(missing_ok=True)


def _download_rest(url: str, path: Path) -> bool:
    """Append an answer to the file; return whether it is complete."""
    from tqdm import tqdm

    state = _known(path)
    start = path.stat().st_size if state else 0
    headers = {"User-Agent": "transformer-translate", "Accept-Encoding": "identity"}
    if start and start == state.get("size"):
        headers |= {"If-None-Match": state["etag"]}
        start = 0
    elif start:
        headers |= {"Range": f"bytes={start}-", "If-Range": state["etag"]}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT) as answer:
        if url.startswith("https:") and not answer.url.startswith("https:"):
            raise UserError(f"{url}: leads to {answer.url}, which is not encrypted; name that address if you trust it")
        start = start if answer.status == http.client.PARTIAL_CONTENT else 0
        if start and not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            _restart(path)
            return False
        length = answer.headers.get("Content-Length")
        size = start + int(length) if re.fullmatch(r"[0-9]{1,18}", length or "") else None
        etag = answer.headers.get("ETag", "")
        write_json(_state(path), {"url": url, "etag": "" if etag.startswith("W/") else etag, "size": size})
        with (
            path.open("r+b") as file,
            tqdm(total=size, initial=start, unit="B", unit_scale=True, disable=None, leave=False) as bar,
        ):
            file.truncate(start)
            file.seek(start)
            _copy(answer, file, bar.update)
    return size is None or path.stat().st_size == size


def _copy(answer: Any, file: IO[bytes], advance: Callable[[int], object]) -> None:
    while chunk := answer.read1(_CHUNK):
        file.write(chunk)
        advance(len(chunk))
