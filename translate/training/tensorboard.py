"""The numbers of metrics.jsonl as curves for TensorBoard, by the extra `tensorboard`.

The metrics are the record and the event file is made from it: a start of the run writes the file anew from the lines
that are there, so that what a resumed run has taken back is no point of any curve.
"""

import importlib.util
import math
import time
from collections.abc import Mapping

from translate.errors import UserError
from translate.training.run import Run

_AXES = {"step", "epoch", "seconds"}  # what curves are drawn over


def require() -> None:
    """UserError if the package is missing."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UserError(
            "training.tensorboard = true needs the package tensorboard; install it with "
            "`pip install 'transformer-translate[tensorboard]'`, or set it to false"
        )


class TensorBoard:
    """An event file in RUN/tensorboard that holds the metrics of the run and takes new ones.

    A curve is named after the kind of line and the key, such as valid/nll, and drawn over updates. The UserError of
    `require`.
    """

    def __init__(self, run: Run) -> None:
        require()
        from torch.utils.tensorboard.writer import SummaryWriter

        records = run.records()
        # As if the run had never paused, so that time on its curves is time of training.
        self._began = time.time() - max((record.get("seconds", 0.0) for record in records), default=0.0)
        for old in run.tensorboard.glob("events.out.tfevents.*"):
            old.unlink()
        # A TensorBoard that is open takes back the points of the old file when another one begins with step 0.
        self._writer = SummaryWriter(str(run.tensorboard), purge_step=0)
        for record in records:
            self._draw(record)
        self._writer.flush()

    def add(self, record: Mapping[str, object]) -> None:
        """Add a point for each finite number of a line of the metrics; in the file when this returns."""
        self._draw(record)
        self._writer.flush()

    def _draw(self, record: Mapping[str, object]) -> None:
        numbers = {key: value for key, value in record.items() if isinstance(value, int | float)}
        step, seconds = numbers["step"], numbers.get("seconds", 0.0)
        for key in numbers.keys() - _AXES:
            if math.isfinite(numbers[key]):
                self._writer.add_scalar(f"{record['kind']}/{key}", numbers[key], step, self._began + seconds)
