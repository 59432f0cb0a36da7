"""Signs of diverging training: messages for the user, and the end of a run before good checkpoints are lost."""

import math
from pathlib import Path

import torch

MAX_SKIPPED = 20  # updates in a row without a finite loss, after which a run does not recover

_ADVICE = "lower training.lr, lengthen training.warmup_steps, or set training.clip_norm"


def skip_warning(step: int) -> str:
    """Return a message about the first update that was left out because loss or gradient was not finite."""
    return (
        f"loss or gradient was not finite at step {step:,}, so its update is left out; 'skipped' in metrics.jsonl "
        f"counts such steps, and {MAX_SKIPPED} in a row end the run"
    )


def failure(n_skipped: int) -> str | None:
    """Return a message if the run will not recover after `n_skipped` updates in a row were left out, or None."""
    if n_skipped < MAX_SKIPPED:
        return None
    return f"loss or gradient was not finite in {n_skipped} updates in a row; state is saved; {_ADVICE}"


def guessing_warning(step: int, nll: float, vocab_size: int) -> str | None:
    """Return a message if the validation loss is no better than random guessing, or None.

    Args:
        step: the current step.
        nll: the loss in nats a token; it may be NaN.
        vocab_size: its logarithm is the loss of random guessing.
    """
    guessing = math.log(vocab_size)
    if nll < guessing:
        return None
    return (
        f"at step {step:,} the validation loss of {nll:.4g} is no better than random guessing ({guessing:.3g}), so "
        f"training diverges; {_ADVICE}"
    )


def broken_message(run: Path, step: int, saved_step: int) -> str:
    """Return the error about parameters that are no longer finite.

    Args:
        run: the run directory.
        step: the current step.
        saved_step: the step of the newest checkpoint.
    """
    return (
        f"{run}: parameters are no longer finite at step {step:,}, so nothing is saved beyond step {saved_step:,}; "
        f"{_ADVICE}"
    )


def has_finite_parameters(model: torch.nn.Module) -> bool:
    """Return whether all parameters are finite; otherwise every later loss is NaN."""
    return all(bool(parameter.detach().isfinite().all()) for parameter in model.parameters())
