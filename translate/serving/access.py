"""Access to the server: API keys and limits of requests.

Keys are stored in an SQLite file as SHA-256; `translate keys` manages them. A key has 160 random bits, so a plain hash
is as safe as a slow one. Requests per minute are counted in another SQLite file, which worker processes share.
"""

import hashlib
import ipaddress
import math
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from translate.errors import UserError

if TYPE_CHECKING:
    from starlette.requests import Request

    from translate.serving.settings import ServeOptions

_SCHEMA = """CREATE TABLE IF NOT EXISTS keys (
    name TEXT PRIMARY KEY, digest TEXT UNIQUE NOT NULL, created TEXT NOT NULL, revoked TEXT,
    requests_per_minute INTEGER, max_characters INTEGER, characters_per_minute INTEGER)"""
_MINUTE = 60

# Where the file may be one of keys, and the operating system or another process refuses it; by the code of SQLite.
_REMEDIES = {
    sqlite3.SQLITE_FULL: "free space on the disk",
    sqlite3.SQLITE_IOERR: "free space on the disk, or name another file",
    sqlite3.SQLITE_BUSY: "another process writes it, so try again",
    sqlite3.SQLITE_READONLY: "change the permissions, or name another file",
    sqlite3.SQLITE_CANTOPEN: "change the permissions, or name another file",
}


@dataclass(frozen=True)
class Key:
    """An API key, without its secret.

    Attributes:
        created, revoked: times in ISO 8601; `revoked` of None is a valid key.
        requests_per_minute, max_characters, characters_per_minute: limits of this key; None takes the server's.
    """

    name: str
    created: str
    revoked: str | None
    requests_per_minute: int | None
    max_characters: int | None
    characters_per_minute: int | None


class KeyStore:
    """The keys in one file; every call opens it, so changes by other processes count at once.

    Args:
        path: the file. UserError if it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(
        self,
        name: str,
        requests_per_minute: int | None = None,
        max_characters: int | None = None,
        characters_per_minute: int | None = None,
    ) -> str:
        """Create a key and return it; it cannot be shown again. UserError if the name is taken."""
        secret = secrets.token_urlsafe(20)
        row = (name, _digest(secret), _now(), requests_per_minute, max_characters, characters_per_minute)
        try:
            with self._opened(create=True) as database:
                database.execute(
                    "INSERT INTO keys (name, digest, created, requests_per_minute, max_characters, "
                    "characters_per_minute) VALUES (?, ?, ?, ?, ?, ?)",
                    row,
                )
        except sqlite3.IntegrityError as error:
            raise UserError(f"{name}: there is a key with this name already; choose another name") from error
        return secret

    def all(self) -> list[Key]:
        """Return all keys, in order of creation."""
        with self._opened() as database:
            return [_key(row) for row in database.execute("SELECT * FROM keys ORDER BY created, name")]

    def revoke(self, name: str) -> None:
        """Make a key invalid; UserError if there is no valid key with this name."""
        with self._opened() as database:
            done = database.execute("UPDATE keys SET revoked = ? WHERE name = ? AND revoked IS NULL", (_now(), name))
            if not done.rowcount:
                raise UserError(f"{name}: there is no valid key with this name; translate keys list shows the names")

    def find(self, secret: str) -> Key | None:
        """Return the valid key with this secret, or None."""
        with self._opened() as database:
            query = "SELECT * FROM keys WHERE digest = ? AND revoked IS NULL"
            row = database.execute(query, (_digest(secret),)).fetchone()
        return _key(row) if row else None

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the database in a transaction."""
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=0o600)
        elif not self.path.exists():
            raise UserError(
                f"{self.path}: there are no keys yet; make one with translate keys add NAME --file {self.path}"
            )
        try:
            with closing(sqlite3.connect(self.path, timeout=10)) as database, database:
                database.row_factory = sqlite3.Row
                if create and not self.path.stat().st_size:  # not in a database of another program
                    database.execute(_SCHEMA)
                yield database
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, IndexError) as error:  # IndexError: a column is missing
            raise UserError(f"{self.path}: {_problem(error)}") from error


def _problem(error: Exception) -> str:
    """Return why a file of keys cannot be used, and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of an extended code says more than is needed
    if code in _REMEDIES:
        return f"cannot be read or written ({error}); {_REMEDIES[code]}"
    return f"is no file of API keys ({error}); name another one"


def _key(row: sqlite3.Row) -> Key:
    return Key(**{field.name: row[field.name] for field in fields(Key)})


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", errors="surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Rates:
    """Counts the requests of each client in the current minute of the clock.

    They are counted in memory, by each process alone, while the file cannot be written, as on a full disk.

    Args:
        path: of the file; it is made if it is missing.
        clock: returns seconds.
        report: called with the problem when that begins.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.time,
        report: Callable[[Exception], None] = lambda problem: None,
    ) -> None:
        self._path, self._clock, self._report = path, clock, report
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._in_memory_until = 0  # minute in which the file is tried again; 0 while the counts are there

    def count(self, client: str, n: int = 1) -> int:
        """Count n requests of a client, or of anything else with a name; return their number in this minute."""
        with self._lock:
            if self._in_memory_until and self.minute >= self._in_memory_until:
                self.close()
            try:
                return self._count(client, n)
            except (sqlite3.Error, OSError):  # the file was deleted
                self.close()
            try:
                return self._count(client, n)
            except (sqlite3.Error, OSError) as error:
                self.close()
                self._report(error)
                self._in_memory_until = self.minute + 1
                return self._count(client, n)

    @property
    def minute(self) -> int:
        """The number of the current minute."""
        return int(self._clock() // _MINUTE)

    def refund(self, client: str, n: int, minute: int) -> None:
        """Take back n of the requests of a client in a minute; those of an earlier one count no longer."""
        sql = "UPDATE requests SET n = max(0, n - ?) WHERE client = ? AND minute = ?"
        with self._lock, suppress(sqlite3.Error):  # a file that was deleted has no counts
            if self._database is not None:
                self._database.execute(sql, (n, client, minute))

    def seconds_left(self) -> int:
        """Return the whole seconds after which the next minute has begun."""
        return math.ceil(_MINUTE - self._clock() % _MINUTE)

    def close(self) -> None:
        """Close the file."""
        self._in_memory_until = 0
        if self._database is not None:
            self._database.close()
            self._database = None

    def _count(self, client: str, n: int) -> int:
        if self._database is None:
            place = ":memory:" if self._in_memory_until else str(self._path)
            if not self._in_memory_until:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(place, timeout=10, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA synchronous = OFF")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS requests (client TEXT PRIMARY KEY, minute INTEGER, n INTEGER)"
            )
        minute = self.minute
        row = self._database.execute(
            "INSERT INTO requests VALUES (?, ?, ?) ON CONFLICT (client) DO UPDATE SET "
            "n = excluded.n + CASE minute WHEN excluded.minute THEN n ELSE 0 END, minute = excluded.minute RETURNING n",
            (client, minute, n),
        ).fetchone()
        if row[0] == n:  # the first of this minute
            self._database.execute("DELETE FROM requests WHERE minute < ?", (minute,))
        return int(row[0])


@dataclass(frozen=True)
class Client:
    """The sender of a request.

    Attributes:
        name: "key NAME" or "address ADDRESS"; of IPv6, "address NETWORK", as a client has all addresses of its /64.
        max_characters: of one request.
        characters_per_minute: 0 is no limit.
    """

    name: str
    max_characters: int
    characters_per_minute: int


def _network(host: str) -> str:
    """Return what the limits of an address count: an IPv4 address, the /64 of an IPv6 address, or any other name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return host
    return str(address.ipv4_mapped or ipaddress.IPv6Network((int(address), 64), strict=False))


def _address(request: "Request") -> str:
    """Return the name of a client without a key."""
    return f"address {_network(request.client.host) if request.client else 'unknown'}"


class RefusedError(Exception):
    """A request that is refused.

    Args:
        status: HTTP status.
        message: for the client.
        retry_after: seconds after which to try again; None if that is of no use.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


class Access:
    """Checks keys and counts requests.

    Args:
        options: the limits.
        store: the keys; None accepts every request and ignores its key.
        rates: counts the requests.
    """

    def __init__(self, options: "ServeOptions", store: KeyStore | None, rates: Rates) -> None:
        self._options, self._store, self._rates = options, store, rates

    @property
    def most_characters(self) -> int:
        """Characters of the longest request that a client may send: the limit of the server or of a key."""
        limits = [key.max_characters or 0 for key in self._store.all()] if self._store else []
        return max([self._options.characters, *limits])

    def admit_early(self, request: "Request", secret: str, *, is_small: bool) -> Client | None:
        """Return the client of a request whose body has not been read; None if its body may hold the key.

        Args:
            secret: the key outside of the body; "" is none.
            is_small: whether the body is, so that it may be read to look for a key even if its address has used up its
                limit.

        Raises RefusedError as `admit`.
        """
        if secret or self._store is None:
            return self.admit(request, secret)
        limit, name = self._options.requests, _address(request)
        if limit and not is_small and self._rates.count(name, 0) >= limit:
            request.state.client = name
            raise self._too_many(limit)
        return None

    def admit(self, request: "Request", secret: str) -> Client:
        """Return the client of a request; RefusedError if its key is wrong or missing, or its rate too high.

        A wrong key counts for the address, so that keys cannot be guessed faster than the limit allows; "" is no key.
        """
        address = _address(request)
        secret = secret if self._store else ""
        try:
            key = self._store.find(secret) if self._store and secret else None
        except UserError as error:
            raise RefusedError(500, "The API keys cannot be read") from error
        limit = self._options.requests
        client = Client(address, self._options.characters, self._options.minute_characters)
        if key is not None:
            limit = limit if key.requests_per_minute is None else key.requests_per_minute
            most = client.max_characters if key.max_characters is None else key.max_characters
            minute = client.characters_per_minute if key.characters_per_minute is None else key.characters_per_minute
            client = Client(f"key {key.name}", most, minute)
        request.state.client = client.name  # for the log, which names refused clients too
        if limit and self._rates.count(client.name) > limit:
            raise self._too_many(limit)
        if secret and key is None:
            raise RefusedError(403, "Invalid API key")
        if key is None and self._options.require_key:
            raise RefusedError(400, "Please contact the server operator to get an API key")
        return client

    def _too_many(self, limit: int) -> RefusedError:
        return RefusedError(429, f"Slowdown: {limit} per 1 minute", self._rates.seconds_left())

    def charge(self, client: Client, n_characters: int) -> Callable[[], None]:
        """Count the characters of a request; RefusedError if they are too many at a time or in this minute.

        Returns a function that takes them back.
        """
        limit = client.characters_per_minute
        most = min(client.max_characters, limit or client.max_characters)
        if n_characters > most:
            raise RefusedError(400, f"Invalid request: request ({n_characters}) exceeds text limit ({most})")
        if not limit:
            return lambda: None
        name, minute = f"characters of {client.name}", self._rates.minute

        def refund() -> None:
            self._rates.refund(name, n_characters, minute)

        if self._rates.count(name, n_characters) > limit:
            refund()
            raise RefusedError(429, f"Slowdown: {limit} characters per 1 minute", self._rates.seconds_left())
        return refund
