"""The checks before the first update: what would end a run in hours ends it now, in one sentence.

Settings and data that contradict each other are refused still earlier, before the corpus is prepared.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from translate.errors import UserError
from translate.training.loop import Trainer
from translate.training.optimizer import Muon


def preflight(trainer: Trainer) -> None:
    """Check the parent, the disk and the memory; all ranks call this before the first update.

    Keeps a copy of the parent in the run directory if the end of the run needs it. Raises UserError if the run could
    not end.
    """
    ranks, run = trainer.ranks, trainer.run
    if trainer.config.parent_share and (parent := trainer.parent):
        trainer.parent = ranks.on_rank_0(lambda: parent.kept_in(run))
    if trainer.schedule.has_ended(trainer.state):
        return
    ranks.on_rank_0(lambda: check_disk(trainer))
    check_memory(trainer)


def check_disk(trainer: Trainer) -> None:
    """Raise UserError if the disk has no room for the checkpoints that the run keeps."""
    folder, config = trainer.run.folder, trainer.config
    size, weights = checkpoint_size(trainer), _size_of_weights(trainer)
    n_scheduled = -(-trainer.schedule.last_step // trainer.schedule.save_every)
    # Besides the last ones of the schedule: the best or the newest one, and the one that is being written.
    n_kept = min(max(config.keep_last, config.average_last), n_scheduled) + 2
    needed = n_kept * size + weights
    there = sum(path.stat().st_size for path in _files(trainer.run.checkpoints, trainer.run.model))
    free = shutil.disk_usage(folder).free
    if needed > there + free:
        raise UserError(
            f"{folder}: checkpoints will take about {_megabytes(needed - there)} more ({n_kept} of {_megabytes(size)} "
            f"and the final model), and {_megabytes(free)} are free; make room, lower training.keep_last and "
            "training.average_last, or name another --run"
        )


def check_memory(trainer: Trainer) -> None:
    """Compute the largest training batch and the largest validation batch, and discard the results.

    A lack of memory shows now and not hours later; claiming the largest blocks first also leaves fewer gaps. Raises
    UserError if a single pair does not fit.
    """
    trainer.updater.warm_up(trainer.feed.largest(trainer.state.position.epoch))
    with trainer.replica.evaluating() as model:
        trainer.validator.warm_up(model)


def checkpoint_size(trainer: Trainer) -> int:
    """Return the bytes of one checkpoint: weights, moments, moving average and tokenizer; the rest is small."""
    optimizer, weights = trainer.optimizer, _size_of_weights(trainer)
    moments = 0
    for i, group in enumerate(optimizer.param_groups):
        n_moments = 1 if i == 0 and isinstance(optimizer, Muon) else 2
        moments += n_moments * sum(p.numel() * p.element_size() for p in group["params"])
    average = weights if trainer.ema else 0
    return weights + moments + average + len(trainer.prepared.tokenizer.serialized)


def _size_of_weights(trainer: Trainer) -> int:
    return sum(p.numel() * p.element_size() for p in trainer.model.parameters())


def _files(*folders: Path) -> Iterator[Path]:
    return (path for folder in folders for path in folder.rglob("*") if path.is_file())


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{max(n_bytes, 1e5) / 1e6:,.1f} MB"
