"""The cost of a training: time, tokens and floating-point operations, with and without those of its parents."""

from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from translate.training.checkpoint import step_of
from translate.training.run import Record, Run, load_json

_SO = "the cost of its training is unknown"


@dataclass(frozen=True)
class Cost:
    """Time, tokens and operations of one or more trainings; None is unknown.

    Attributes:
        seconds: time of training and validation.
        tokens: source and target tokens trained on, padding not counted.
        flops: floating-point operations of all updates, as `speed.update_flops` counts them.
    """

    seconds: float | None = None
    tokens: int | None = None
    flops: float | None = None

    def __add__(self, other: "Cost") -> "Cost":
        """Add both costs; a sum with an unknown number is unknown."""

        def add(a: Any, b: Any) -> Any:
            return None if a is None or b is None else a + b

        return Cost(*map(add, astuple(self), astuple(other)))


def cost_of(run: Run, last_step: int | None = None) -> tuple[Cost, Cost]:
    """Return the cost of a run, and its cost including the parents that it was fine-tuned from.

    Args:
        run: the run directory.
        last_step: count no later steps; None counts the whole run.

    Raises UserError if its manifest is damaged.
    """
    latest: Record = {}
    for record in run.records():
        if last_step is None or record["step"] <= last_step:
            latest |= {key: record[key] for key in ("seconds", "tokens", "flops") if key in record}
    cost = Cost(**latest)
    parent = load_json(run.manifest, so=_SO).get("parent")
    return cost, cost if parent is None else cost + Cost(**parent.get("cost", {}))


def cost_of_model(folder: Path) -> Cost:
    """Return the cost of the training behind a model folder, its parents included; unknown outside a run directory."""
    is_checkpoint = folder.parent.name == "checkpoints"
    run = Run(folder.parent.parent if is_checkpoint else folder.parent)
    if not (is_checkpoint or folder.name == run.model.name) or not run.manifest.exists():
        return Cost()
    return cost_of(run, step_of(folder) if is_checkpoint else None)[1]
