"""The numbers of metrics.jsonl as curves for TensorBoard; needs the extra `tensorboard`.

Every start of the run writes the event file anew from the metrics, so the curves of a resumed run hold no points that
were taken back.
"""

import importlib.util
import math
import time
from collections.abc import Mapping

from translate.errors import UserError
from translate.training.run import Run

_AXES = {"step", "epoch", "seconds"}  # axes of the curves


def require() -> None:
    """Raise UserError if the package is missing."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UserError(
            "training.tensorboard = true needs the package tensorboard; install it with "
            "`pip install '.[tensorboard]'` in a clone of this project, or set it to false"
        )


class TensorBoard:
    """An event file in RUN/tensorboard with the metrics of the run.

    A curve has the name of the kind of line and of the key, such as valid/nll, and is drawn over updates. Raises the
    UserError of `require`.
    """

    def __init__(self, run: Run) -> None:
        require()
        from torch.utils.tensorboard.writer import SummaryWriter

        records = run.records()
        # The start time of a run without pauses, so that curves over time show time of training.
        self._began = time.time() - max((record.get("seconds", 0.0) for record in records), default=0.0)
        for old in run.tensorboard.glob("events.out.tfevents.*"):
            old.unlink()
        # An open TensorBoard removes the points of the old file when a new one begins with step 0.
        self._writer = SummaryWriter(str(run.tensorboard), purge_step=0)
        for record in records:
            self._draw(record)
        self._writer.flush()

    def add(self, record: Mapping[str, object]) -> None:
        """Add a point for each finite number of a line of the metrics, and flush the file."""
        self._draw(record)
        self._writer.flush()

    def _draw(self, record: Mapping[str, object]) -> None:
        numbers = {key: value for key, value in record.items() if isinstance(value, int | float)}
        step, seconds = numbers["step"], numbers.get("seconds", 0.0)
        for key in numbers.keys() - _AXES:
            if math.isfinite(numbers[key]):
                self._writer.add_scalar(f"{record['kind']}/{key}", numbers[key], step, self._began + seconds)
