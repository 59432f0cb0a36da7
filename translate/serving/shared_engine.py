"""An engine and a scorer whose batches are shared among requests."""

from collections.abc import Sequence

from transformer.search.hypothesis import SearchConfig
from translate.inference.engines import Batch, Engine, Found, Scorer, Search, Sources, side_by_side
from translate.serving.scheduler import Scheduler, Ticket


class SharedEngine:
    """A `translate.inference.engines.Engine` that leaves the searches of one request to the scheduler.

    Args:
        engine: the engine that searches.
        scheduler: makes the batches.
        ticket: the request.
    """

    def __init__(self, engine: Engine, scheduler: Scheduler, ticket: Ticket) -> None:
        self.folder, self.tokenizer, self.spec = engine.folder, engine.tokenizer, engine.spec
        self.max_positions = engine.max_positions
        self._engine, self._scheduler, self._ticket = engine, scheduler, ticket

    @property
    def n_workers(self) -> int:
        """Number of batches that the scheduler searches at a time."""
        return self._scheduler.n_workers

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """Return `search(batch)` for each batch; as many wait in the scheduler as it can search at a time."""
        if len(batches) <= 1 or self.n_workers == 1:
            return [search(batch) for batch in batches]
        return side_by_side(search, batches, self.n_workers)

    def search(self, sources: Sources, max_lengths: Sequence[int], config: SearchConfig) -> Found:
        """Return the n best hypotheses of each source, best first; they are searched with those of other requests."""
        return self._scheduler.search(self._ticket, self._engine, sources, max_lengths, config)


class SharedScorer:
    """A `translate.inference.engines.Scorer` that leaves the scores of one request to the scheduler.

    Args:
        scorer: the model that scores.
        scheduler: makes the batches.
        ticket: the request.
    """

    def __init__(self, scorer: Scorer, scheduler: Scheduler, ticket: Ticket) -> None:
        self.folder, self.tokenizer, self.spec = scorer.folder, scorer.tokenizer, scorer.spec
        self.max_positions = scorer.max_positions
        self._scorer, self._scheduler, self._ticket = scorer, scheduler, ticket

    def score(self, sources: Sources, targets: Sources) -> list[float]:
        """Return the natural log-probability of each target; they are computed with those of other requests."""
        return self._scheduler.score(self._ticket, self._scorer, sources, targets)
