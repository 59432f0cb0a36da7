"""Access: API keys, and limits of requests."""

import logging
from dataclasses import dataclass

from starlette.requests import Request

from translate.errors import UserError
from translate.serving.bodies import Parameters
from translate.serving.errors import ApiError
from translate.serving.events import event
from translate.serving.keys import KeyStore
from translate.serving.rates import Rates
from translate.serving.settings import Serve


@dataclass(frozen=True)
class Client:
    """The sender of a request.

    Attributes:
        name: "key NAME" or "address ADDRESS".
        max_characters: of one request.
    """

    name: str
    max_characters: int


class Access:
    """Checks keys and counts requests.

    Args:
        options: the limits.
        store: the keys; None accepts every request and ignores its key.
        rates: counts the requests.
    """

    def __init__(self, options: Serve, store: KeyStore | None, rates: Rates) -> None:
        self._options, self._store, self._rates = options, store, rates

    @property
    def most_characters(self) -> int:
        """Characters of the longest request that a client may send: the limit of the server or of a key."""
        limits = [key.max_characters or 0 for key in self._store.all()] if self._store else []
        return max([self._options.characters, *limits])

    def admit(self, request: Request, parameters: Parameters) -> Client:
        """Return the client of a request; ApiError if its key is wrong or missing, or its rate too high.

        A wrong key counts for the address, so that keys cannot be guessed faster than the limit allows.
        """
        address = f"address {request.client.host if request.client else 'unknown'}"
        secret = parameters.text("api_key") if self._store else ""
        try:
            key = self._store.find(secret) if self._store and secret else None
        except UserError as error:
            event("keys not read", {"problem": str(error)}, logging.ERROR)
            raise ApiError(500, "The API keys cannot be read") from error
        limit = self._options.requests
        client = Client(address, self._options.characters)
        if key is not None:
            limit = limit if key.requests_per_minute is None else key.requests_per_minute
            most = client.max_characters if key.max_characters is None else key.max_characters
            client = Client(f"key {key.name}", most)
        request.state.client = client.name  # for the log, which names refused clients too
        self._count(client, limit)
        if secret and key is None:
            raise ApiError(403, "Invalid API key")
        if key is None and self._options.require_key:
            raise ApiError(400, "Please contact the server operator to get an API key")
        return client

    def _count(self, client: Client, limit: int) -> None:
        if limit and self._rates.count(client.name) > limit:
            headers = {"Retry-After": str(self._rates.seconds_left())}
            raise ApiError(429, f"Slowdown: {limit} per 1 minute", headers)
