"""The cost of an experiment before it is run: tables 1 and 2 of Vaswani et al. (2017) for any configuration.

Operations are counted as in `transformer.cost`. The paper counts differently: time * GPUs * operations that a GPU
sustains. The quotient of both for the paper's base run is its utilisation, which serves as the default for other
hardware.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from transformer import cost
from transformer.config import ModelConfig, model_config
from translate.errors import UserError

KERNEL, NEIGHBOURHOOD = 3, 16  # k and r of table 1, for which the paper has no values
HERE = "here"

TYPICAL_LENGTH = 30  # tokens of a sentence, end included
_VOCABULARY = 37_000  # of the paper's English-German runs (5.1)
_SIZES = ("d_model", "d_ff", "n_heads", "d_key", "d_value", "n_encoder_layers", "n_decoder_layers")
_DAY = 86_400

Columns = dict[str, str]


@dataclass(frozen=True)
class Device:
    """A kind of hardware.

    Attributes:
        flops: operations a second.
        watts: power; None is unknown.
        source: origin of the numbers.
    """

    name: str
    flops: float
    watts: float | None
    source: str


@dataclass(frozen=True)
class CostedTraining:
    """A training to be costed.

    Attributes:
        tokens: target tokens to train on, and as many source tokens.
        length: tokens of a sentence on each side, end included.
        passes: times that each batch is computed, 2 with R-Drop.
    """

    model: ModelConfig
    tokens: float
    length: int
    passes: int = 1

    @property
    def forward_flops(self) -> float:
        """Operations of a forward pass per target token, those of the encoder included."""
        return cost.flops_per_token(self.model, self.length, self.length)

    @property
    def neighbourhood(self) -> int:
        """Positions that restricted self-attention sees, r of table 1: `window` on each side, and the position."""
        return NEIGHBOURHOOD if self.model.window is None else 2 * self.model.window + 1

    @property
    def training_flops(self) -> float:
        """Operations of the whole training."""
        return 3 * self.forward_flops * self.tokens * self.passes

    @property
    def paper_flops(self) -> float:
        """The estimate that table 2 would print; see `published`."""
        if (run := self.published) is None:
            return self.training_flops / base_utilisation()
        tokens: int = run["steps"] * run["batch_tokens"]
        return self.passes * self.tokens / tokens * _counted(run)

    @property
    def published(self) -> Mapping[str, Any] | None:
        """The run of the paper with these sizes, whose time is known; None if its utilisation must be assumed."""
        for run in _paper()["runs"]:
            model = model_config(run["preset"], vocab_size=_VOCABULARY)
            if all(getattr(self.model, size) == getattr(model, size) for size in _SIZES):
                return run  # type: ignore[no-any-return]
        return None


def base_utilisation() -> float:
    """Return the share of the sustained operations that the paper's base run used, at the typical length."""
    run = _paper()["runs"][0]
    model = model_config(run["preset"], vocab_size=_VOCABULARY)
    return CostedTraining(model, run["steps"] * run["batch_tokens"], TYPICAL_LENGTH).training_flops / _counted(run)


def devices() -> dict[str, Device]:
    """Return the known hardware by name."""
    table = tomllib.loads(Path(__file__).with_name("hardware.toml").read_text(encoding="utf-8"))
    return {name: Device(name, values["flops"], values["watts"], values["source"]) for name, values in table.items()}


def this_machine() -> Device:
    """Return this machine, with its measured rate of matrix products; takes about a second."""
    from translate.machine import choose_device, choose_dtype, product_rate

    device = choose_device()
    dtype = choose_dtype("auto", device)
    rate = product_rate(dtype, device)
    return Device(HERE, rate, None, f"measured now, {str(dtype).removeprefix('torch.')} products on {device.type}")


def find_devices(name: str | None) -> list[Device]:
    """Return one device by name in any case, or all of them and this machine; UserError for an unknown name."""
    known = devices()
    if name is None:
        return [*known.values(), this_machine()]
    if name.casefold() == HERE.casefold():
        return [this_machine()]
    if found := [device for device in known.values() if device.name.casefold() == name.casefold()]:
        return found
    raise UserError(f"--hardware {name}: not known; choose {', '.join([*known, HERE])}")


def parameter_rows(training: CostedTraining) -> list[Columns]:
    """Return the parameters of each part and their sum."""
    parts = cost.parameters_by_part(training.model)
    total = sum(parts.values())
    parts = {name: n for name, n in parts.items() if n} | {"all": total}
    return [{"part": name, "parameters": f"{n:,}", "share": f"{n / total:.1%}"} for name, n in parts.items()]


def layer_rows(training: CostedTraining) -> list[Columns]:
    """Return table 1 with numbers for the width and the sentence length of this training."""
    n, d, r = training.length, training.model.d_model, training.neighbourhood
    costs = (
        cost.self_attention_cost(n, d),
        cost.recurrent_cost(n, d),
        cost.convolutional_cost(n, d, KERNEL),
        cost.restricted_self_attention_cost(n, d, r),
    )
    return [
        {
            "layer": row["layer"],
            "complexity": f"O({row['operations']})",
            "operations": f"{found.operations:.3g}",
            "sequential": f"O({row['sequential']})",
            "steps": f"{found.sequential_operations:g}",
            "path": f"O({row['path']})",
            "length": f"{math.ceil(found.path_length)}",
        }
        for row, found in zip(_paper()["table1"], costs, strict=True)
    ]


def training_rows(training: CostedTraining) -> list[Columns]:
    """Return tokens and operations of the training, by both ways of counting."""
    way = "time x GPUs x sustained FLOP/s" if training.published else "at the utilisation of the paper's base run"
    facts = {
        "tokens, each side": f"{training.tokens:.3g}",
        "tokens in a sentence": f"{training.length}",
        "forward FLOPs per target token": f"{training.forward_flops:.3g}",
        "training FLOPs": f"{training.training_flops:.2g}",
        f"training FLOPs as table 2 counts ({way})": f"{training.paper_flops:.2g}",
    }
    return [{"quantity": name, "value": value} for name, value in facts.items()]


def hardware_rows(training: CostedTraining, found: list[Device], utilisation: float) -> list[Columns]:
    """Return time and energy of the training on one device of each kind.

    Args:
        utilisation: share of a device's operations that training uses.
    """
    rows = []
    for device in found:
        days = training.training_flops / (device.flops * utilisation) / _DAY
        energy = "unknown" if device.watts is None else f"{days * 24 * device.watts / 1e3:.3g}"
        rows.append(
            {
                "hardware": device.name,
                "FLOP/s": f"{device.flops:.3g}",
                "days on one": f"{days:.3g}",
                "kWh": energy,
                "source": device.source,
            }
        )
    return rows


def comparison_rows(training: CostedTraining) -> list[Columns]:
    """Return table 2 of the paper, and this training beside it."""

    def shown(row: Mapping[str, Any], key: str, form: str) -> str:
        return format(row[key], form) if key in row else ""

    rows = [
        {
            "model": row["model"],
            "BLEU EN-DE": shown(row, "bleu_en_de", "g"),
            "BLEU EN-FR": shown(row, "bleu_en_fr", "g"),
            "FLOPs EN-DE": shown(row, "flops_en_de", ".1e"),
            "FLOPs EN-FR": shown(row, "flops_en_fr", ".1e"),
        }
        for row in _paper()["table2"]
    ]
    ours = f"{training.paper_flops:.1e}"
    return [*rows, dict.fromkeys(rows[0], "") | {"model": "this configuration", "FLOPs EN-DE": ours}]


def _counted(run: Mapping[str, Any]) -> float:
    """Return the operations of a run of the paper as the paper counts them."""
    sustained = devices()[run["hardware"]].flops
    return cost.training_flops_from_hardware(3600 * run["hours"], run["devices"], sustained)


@cache
def _paper() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))
