"""Training speed: tokens and floating-point operations per second of updates, and the share of the peak."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from transformer.config import ModelConfig
from transformer.cost import forward_flops
from translate.corpus.batches import Batch

# Keys of metrics.jsonl that differ between any two runs.
TIMED = {"seconds", "tokens_per_s", "flops_per_s", "mfu"}


@dataclass
class Speed:
    """The speed of updates without validation and saving; recent updates have more weight.

    Attributes:
        peak: measured FLOP/s of this process's device in matrix products.
        tokens, flops, seconds: weighted sums over the updates so far.
    """

    peak: float
    tokens: float = 0.0
    flops: float = 0.0
    seconds: float = 0.0

    def add(self, tokens: int, flops: int, seconds: float) -> None:
        """Count one update; after 50 more it has lost nearly two thirds of its weight.

        Args:
            tokens: source and target tokens of all processes.
            flops: floating-point operations of this process.
            seconds: time of the update.
        """
        self.tokens, self.flops = 0.98 * self.tokens + tokens, 0.98 * self.flops + flops
        self.seconds = 0.98 * self.seconds + seconds

    @property
    def recent(self) -> float:
        """Tokens per second."""
        return self.tokens / self.seconds if self.seconds else 0.0

    def record(self) -> dict[str, object]:
        """Return tokens per second of all processes, FLOP/s of this one, and the share `mfu` of its peak."""
        flops_per_s = self.flops / self.seconds if self.seconds else 0.0
        share = round(flops_per_s / self.peak, 4)
        return {"tokens_per_s": round(self.recent), "flops_per_s": float(f"{flops_per_s:.4g}"), "mfu": share}


def update_flops(config: ModelConfig, batches: Iterable[Batch]) -> int:
    """Return the operations of an update on these batches: three times `cost.forward_flops` of every sentence pair.

    Lengths include eos or bos. Padding, dropout, softmax, norms, the optimizer and the recomputation of activation
    checkpointing are not counted.
    """
    total = 0
    for batch in batches:
        src_B, tgt_B = (side.ne(config.pad).sum(dim=1) for side in (batch.src, batch.tgt_out))
        # A polynomial of the lengths, so a tensor of lengths gives a tensor of counts.
        flops_B = forward_flops(config, cast(int, src_B), cast(int, tgt_B))
        total += 3 * int(flops_B.sum())  # type: ignore[attr-defined]
    return total
