"""A queue in which clients take turns, and the requests of one client take turns too."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R", bound=Hashable)


class FairQueue(Generic[R, T]):
    """Items of requests of clients; a request with few items never waits for all items of a request with many.

    Not safe for threads; the owner holds a lock.
    """

    def __init__(self) -> None:
        # Dicts keep the order of turns: a client that had a turn moves to the end.
        self._clients: dict[str, dict[R, deque[T]]] = {}
        self._n_items = 0

    def __len__(self) -> int:
        return self._n_items

    def __iter__(self) -> Iterator[T]:
        return (item for requests in self._clients.values() for items in requests.values() for item in items)

    def push(self, client: str, request: R, items: Iterable[T]) -> None:
        """Append items to a request of a client."""
        added = list(items)
        if added:
            self._clients.setdefault(client, {}).setdefault(request, deque()).extend(added)
            self._n_items += len(added)

    def take(self, fits: Callable[[T], bool]) -> T | None:
        """Remove and return the next item, in order of turns, that is the first of its request and fits.

        None if there is none; a request whose first item does not fit keeps its turn.
        """
        for client, requests in self._clients.items():
            for request, items in requests.items():
                if fits(items[0]):
                    item = items.popleft()
                    self._n_items -= 1
                    self._end_turn(client, request)
                    return item
        return None

    def drop(self, client: str, request: R) -> list[T]:
        """Remove and return all items of a request."""
        requests = self._clients.get(client, {})
        items = list(requests.pop(request, ()))
        if not requests:
            self._clients.pop(client, None)
        self._n_items -= len(items)
        return items

    def _end_turn(self, client: str, request: R) -> None:
        requests = self._clients.pop(client)
        if items := requests.pop(request):
            requests[request] = items
        if requests:
            self._clients[client] = requests
