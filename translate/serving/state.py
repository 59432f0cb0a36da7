"""Everything that the routes of one application share."""

import sys
from dataclasses import dataclass
from pathlib import Path

from translate.machine import n_cores
from translate.serving.access import Access
from translate.serving.file_store import FileStore
from translate.serving.keys import KeyStore
from translate.serving.metrics import Metrics
from translate.serving.model_pool import ModelPool
from translate.serving.rates import Rates
from translate.serving.scheduler import Scheduler
from translate.serving.service import Service
from translate.serving.settings import Serve
from translate.serving.work import Work

_MAX_WORKERS = 4  # searches of PyTorch at a time; more would wait for each other in Python


@dataclass(frozen=True)
class State:
    """The parts of a running server.

    Attributes:
        options: of the command.
        service: languages, detection, translation.
        work: the requests in progress.
        access: keys and limits.
        files: translated files.
        metrics: counters.
        rates: requests per minute.
    """

    options: Serve
    service: Service
    work: Work
    access: Access
    files: FileStore
    metrics: Metrics
    rates: Rates

    @classmethod
    def open(cls, options: Serve, folder: Path) -> "State":
        """Make the parts and start the search threads; see `translate.serving.app.create_app`."""
        pool, metrics = ModelPool(options.model or [], options.unload), Metrics()
        n_workers, n_threads = _threads(options)
        scheduler = Scheduler(n_workers, options.batch_tokens, lambda: _use_threads(n_threads), metrics.observe_batch)
        rates = Rates(folder / "rates.sqlite")
        return cls(
            options,
            Service(pool, scheduler, options.beam),
            Work(scheduler, options.queue, options.timeout),
            Access(options, KeyStore(options.keys) if options.keys else None, rates),
            FileStore(folder / "files"),
            metrics,
            rates,
        )

    def tidy(self) -> None:
        """Unload idle models and remove old files."""
        self.service.pool.unload_idle()
        self.files.sweep()

    def set_gauges(self) -> None:
        """Set the metrics that are states rather than counts."""
        self.metrics.waiting.set(self.service.scheduler.n_waiting)
        self.metrics.active.set(self.work.n_active)
        self.metrics.models.set(self.service.pool.n_loaded)

    def close(self) -> None:
        """Finish the requests in progress and end all threads."""
        self.work.close()
        self.service.scheduler.close()
        self.rates.close()


def _threads(options: Serve) -> tuple[int, int]:
    """Return the number of searches at a time and the number of CPU threads of each."""
    n_available = options.threads or max(1, n_cores() // options.workers)
    n_workers = min(_MAX_WORKERS, n_available)
    return n_workers, n_available // n_workers


def _use_threads(n_threads: int) -> None:
    """Set the number of PyTorch's threads for this thread, if a model of PyTorch is loaded."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(n_threads)
