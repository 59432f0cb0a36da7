"""Metrics of the server, in the format of Prometheus."""

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client keeps counters of worker processes in this folder

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters and histograms of one process; `exposition` adds those of the other worker processes."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        names = ("route", "status")
        self.requests = Counter("translate_requests_total", "Requests that were answered.", names, registry=registry)
        self.seconds = Histogram(
            "translate_request_seconds",
            "Seconds until a request was answered.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.characters = Counter("translate_characters_total", "Characters to translate.", registry=registry)
        self.batch_sentences = Histogram(
            "translate_batch_sentences", "Sentences of a batch.", buckets=_SIZES, registry=registry
        )
        self.batch_tokens = Counter("translate_batch_tokens_total", "Padded tokens of all batches.", registry=registry)
        self.waiting = self._gauge("translate_waiting_sentences", "Sentences that wait for a batch.", registry)
        self.active = self._gauge("translate_active_requests", "Requests in progress.", registry)
        self.models = self._gauge("translate_loaded_models", "Models in memory.", registry)
        self._registry = registry

    def observe_batch(self, n_sentences: int, n_tokens: int) -> None:
        """Count a batch."""
        self.batch_sentences.observe(n_sentences)
        self.batch_tokens.inc(n_tokens)

    def exposition(self) -> bytes:
        """Return all metrics as text."""
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        folder = Path(os.environ[SHARED])
        _forget_dead(folder)
        registry = CollectorRegistry()
        if folder.is_dir():
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    @staticmethod
    def _gauge(name: str, text: str, registry: CollectorRegistry) -> Gauge:
        return Gauge(name, text, registry=registry, multiprocess_mode="livesum")


def _forget_dead(folder: Path) -> None:
    """Remove the gauges of processes that were killed."""
    for path in folder.glob("gauge_live*.db"):
        try:
            os.kill(int(path.stem.rpartition("_")[2]), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, OSError):
            continue
