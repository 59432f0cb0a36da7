"""API keys in an SQLite file, stored as SHA-256; `translate keys` manages them.

A key has 160 random bits, so a plain hash is as safe as a slow one.
"""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from translate.errors import UserError

_SCHEMA = """CREATE TABLE IF NOT EXISTS keys (
    name TEXT PRIMARY KEY, digest TEXT UNIQUE NOT NULL, created TEXT NOT NULL, revoked TEXT,
    requests_per_minute INTEGER, max_characters INTEGER)"""
_COLUMNS = "name, created, revoked, requests_per_minute, max_characters"


@dataclass(frozen=True)
class Key:
    """An API key, without its secret.

    Attributes:
        name: of the key.
        created, revoked: times in ISO 8601; `revoked` of None is a valid key.
        requests_per_minute, max_characters: limits of this key; None takes the server's.
    """

    name: str
    created: str
    revoked: str | None
    requests_per_minute: int | None
    max_characters: int | None


class KeyStore:
    """The keys in one file; every call opens it, so changes by other processes count at once.

    Args:
        path: the file. UserError if it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, name: str, requests_per_minute: int | None = None, max_characters: int | None = None) -> str:
        """Create a key and return it; it cannot be shown again. UserError if the name is taken."""
        secret = secrets.token_urlsafe(20)
        row = (name, _digest(secret), _now(), requests_per_minute, max_characters)
        try:
            with self._opened(create=True) as database:
                database.execute(
                    "INSERT INTO keys (name, digest, created, requests_per_minute, max_characters) "
                    "VALUES (?, ?, ?, ?, ?)",
                    row,
                )
        except sqlite3.IntegrityError as error:
            raise UserError(f"{name}: there is a key with this name already; choose another name") from error
        return secret

    def all(self) -> list[Key]:
        """Return all keys, in order of creation."""
        with self._opened() as database:
            return [Key(*row) for row in database.execute(f"SELECT {_COLUMNS} FROM keys ORDER BY created, name")]

    def revoke(self, name: str) -> None:
        """Make a key invalid; UserError if there is no valid key with this name."""
        with self._opened() as database:
            done = database.execute("UPDATE keys SET revoked = ? WHERE name = ? AND revoked IS NULL", (_now(), name))
            if not done.rowcount:
                raise UserError(f"{name}: there is no valid key with this name; translate keys list shows the names")

    def find(self, secret: str) -> Key | None:
        """Return the valid key with this secret, or None."""
        with self._opened() as database:
            query = f"SELECT {_COLUMNS} FROM keys WHERE digest = ? AND revoked IS NULL"
            row = database.execute(query, (_digest(secret),)).fetchone()
        return Key(*row) if row else None

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the database in a transaction."""
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=0o600)
        elif not self.path.is_file():
            raise UserError(
                f"{self.path}: there are no keys yet; make one with translate keys add NAME --file {self.path}"
            )
        try:
            with closing(sqlite3.connect(self.path, timeout=10)) as database, database:
                if create:
                    database.execute(_SCHEMA)
                yield database
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise UserError(f"{self.path}: is no file of API keys, or cannot be read ({error})") from error


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", errors="surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
