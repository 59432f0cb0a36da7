"""Requests per minute, counted in an SQLite file that worker processes share."""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

_MINUTE = 60


class Rates:
    """Counts the requests of each client in the current minute of the clock.

    Args:
        path: of the file; it is made if it is missing.
        clock: returns seconds.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def count(self, client: str) -> int:
        """Count a request of a client, and return the number of its requests in this minute."""
        with self._lock:
            try:
                return self._count(client)
            except sqlite3.Error:  # the file was deleted
                self.close()
                return self._count(client)

    def seconds_left(self) -> int:
        """Return the seconds until the next minute begins, at least 1."""
        return max(1, round(_MINUTE - self._clock() % _MINUTE))

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _count(self, client: str) -> int:
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self._path, timeout=10, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA synchronous = OFF")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS requests (client TEXT PRIMARY KEY, minute INTEGER, n INTEGER)"
            )
        minute = int(self._clock() // _MINUTE)
        row = self._database.execute(
            "INSERT INTO requests VALUES (?, ?, 1) ON CONFLICT (client) DO UPDATE SET "
            "n = CASE minute WHEN excluded.minute THEN n + 1 ELSE 1 END, minute = excluded.minute RETURNING n",
            (client, minute),
        ).fetchone()
        if row[0] == 1:
            self._database.execute("DELETE FROM requests WHERE minute < ?", (minute,))
        return int(row[0])
