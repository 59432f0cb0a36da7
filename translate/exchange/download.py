"""Downloads: files of a repository of the Hugging Face hub, and a file at an address.

The hub's client keeps what has arrived in its cache, so that an interrupted download goes on with the next file; it
reads HF_TOKEN, HF_ENDPOINT, HF_HOME and HF_HUB_OFFLINE. A file at an address goes on where it was interrupted, if the
server says that it has not changed.
"""

import errno
import hashlib
import http.client
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from translate.errors import UserError, reason
from translate.files import locked, naming, read_json, write_json

_CHUNK = 2**20
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)
_ATTEMPTS = 5  # without a new byte
_TIMEOUT = 30.0  # seconds without an answer

Choose = Callable[[Collection[str]], list[str]]


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
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        with _asking(repository, revision):  # each model has a config.json
            config = huggingface_hub.hf_hub_download(repository, "config.json", revision=revision)
        folder = Path(config).parent
        names = choose([path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()])
        return Snapshot(folder, names, folder.name)
    with _asking(repository, revision):
        info = huggingface_hub.HfApi().model_info(repository, revision=revision, files_metadata=True)
    if not info.sha:
        raise UserError(f"{repository}: the hub names no commit of it; name one with --revision")
    files = {file.rfilename: file for file in info.siblings or []}
    names = choose(files)
    with _asking(repository, revision):  # by the name of the revision, which the cache then knows offline
        huggingface_hub.hf_hub_download(repository, names[0], revision=revision)
    folder = Path()
    for name in names:
        with _asking(repository, revision):
            path = Path(huggingface_hub.hf_hub_download(repository, name, revision=info.sha))
        _verify(repository, path, files[name])
        folder = path.parents[name.count("/")]
    return Snapshot(folder, names, info.sha)


def newest_commit(repository: str, revision: str | None) -> str:
    """Return the commit of a revision of a repository, without a download; UserError if the hub does not say."""
    import huggingface_hub

    with _asking(repository, revision):
        return str(huggingface_hub.HfApi().model_info(repository, revision=revision).sha)


@contextmanager
def _asking(repository: str, revision: str | None) -> Iterator[None]:
    """Raise UserError if the hub's client fails in this block; libraries below it raise exceptions of their own."""
    from huggingface_hub import constants, errors

    try:
        yield
    except errors.GatedRepoError as error:
        page = f"{constants.ENDPOINT}/{repository}"
        raise UserError(
            f"{repository}: its authors ask for consent first; give it at {page}, and set HF_TOKEN to a token of yours"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise UserError(
            f"{repository}: has no revision {revision}; name another one, or leave --revision out"
        ) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise UserError(
            f"{repository}: {constants.ENDPOINT} has no model of this name that you may read; correct it, or set "
            "HF_TOKEN if it is private"
        ) from error
    except Exception as error:
        raise UserError(f"{repository}: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    """Return why the hub's client failed, and what to do."""
    from huggingface_hub import constants

    chain: list[BaseException] = [error]
    while (below := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(below)
    answers = [answer for one in chain if (answer := getattr(one, "response", None)) is not None]
    status = next((answer.status_code for answer in answers), None)
    on_disk = next((one for one in chain if isinstance(one, OSError) and one.errno and one.filename), None)
    full = next((one for one in chain if isinstance(one, OSError) and one.strerror and one.errno in _DISK), None)
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
        url: its address, without a fragment.
        sha256: digest that it must have, from the fragment "#sha256=..."; "" for any.
    """

    url: str
    sha256: str = ""

    @classmethod
    def read(cls, text: str) -> "Address":
        """Return an address as users write it."""
        url, _, fragment = text.partition("#")
        return cls(url, fragment.removeprefix("sha256=").lower())


@contextmanager
def fetched(address: Address, place: Path) -> Iterator[Path]:
    """Download a file, or the rest of it, and yield its path; it is removed if the block ends without an exception.

    Args:
        place: an existing folder, where an unfinished file stays.

    Raises UserError if the file cannot be had or has another digest.
    """
    path = place / hashlib.sha256(address.url.encode()).hexdigest()[:16]
    try:
        with naming(path), locked(path):
            _download(address.url, path)
            if address.sha256 and address.sha256 != _sha256(path):
                path.unlink()
                raise UserError(f"{address.url}: is not the file with this SHA-256; correct the digest or the address")
            yield path
            path.unlink()
            _state(path).unlink(missing_ok=True)
    except BlockingIOError as error:
        raise UserError(f"{address.url}: another process is downloading it; wait until it is done") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _state(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


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
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and before:
                _restart(path)
                continue
            advice = "correct the address" if 400 <= error.code < 500 else "try again later"
            raise UserError(f"{url}: the server answers with status {error.code} ({error.reason}); {advice}") from error
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
    raise UserError(
        f"{url}: cannot be reached, or the connection broke ({problem}); connect and repeat the command, which goes on "
        f"after {path.stat().st_size:,} bytes"
    )


def _restart(path: Path) -> None:
    os.truncate(path, 0)
    _state(path).unlink(missing_ok=True)


def _download_rest(url: str, path: Path) -> bool:
    """Append an answer to the file; return whether it is complete."""
    from tqdm import tqdm

    try:
        state = read_json(_state(path))
    except (OSError, ValueError):
        state = {}
    start = path.stat().st_size if state.get("etag") else 0
    if start and start == state.get("size"):
        return True
    headers = {"User-Agent": "transformer-translate", "Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": state["etag"]}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT) as answer:
        if url.startswith("https:") and not answer.url.startswith("https:"):
            raise UserError(f"{url}: leads to {answer.url}, which is not encrypted; name that address if you trust it")
        start = start if answer.status == http.client.PARTIAL_CONTENT else 0
        if start and not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            _restart(path)
            return False
        length = answer.headers.get("Content-Length")
        size = None if length is None else start + int(length)
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
