"""The run directory, which explains itself.

config.json       the resolved experiment; `translate train` accepts it as it stands
manifest.json     what made the run: versions, data hashes, seed, machine, every start with command and commit
metrics.jsonl     one JSON object a line: training, validation, checkpoints
checkpoints/      see `checkpoint`
model/            the final model
"""

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from transformer.model import Transformer
from translate.config import ExperimentConfig, parse
from translate.corpus.store import Prepared
from translate.errors import UserError

# Settings that may change when a run goes on, because they decide when it ends and not where it is.
ENDS = {"training.max_steps", "training.max_epochs", "training.patience", "training.log_every"}

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "datasets", "numpy", "safetensors", "transformer-translate")


@dataclass(frozen=True)
class Run:
    """Paths of one run."""

    folder: Path

    @property
    def config(self) -> Path:
        """The resolved experiment."""
        return self.folder / "config.json"

    @property
    def manifest(self) -> Path:
        """What made the run."""
        return self.folder / "manifest.json"

    @property
    def metrics(self) -> Path:
        """The log, one JSON object a line."""
        return self.folder / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.folder / "checkpoints"

    @property
    def model(self) -> Path:
        """The final model."""
        return self.folder / "model"

    def recorded_dtype(self) -> torch.dtype | None:
        """The type of products that this run began with: resuming measures nothing anew, or it would not be exact."""
        if not self.manifest.exists():
            return None
        return DTYPES.get(json.loads(self.manifest.read_text(encoding="utf-8"))["products"])

    def begin(
        self, config: ExperimentConfig, prepared: Prepared, model: Transformer, dtype: torch.dtype, *, resume: bool
    ) -> None:
        """Create the folder, or check that it holds this experiment; UserError says how the two differ."""
        if self.config.exists():
            self._check_same(config, prepared)
            if not resume and (self.metrics.exists() or self.checkpoints.exists()):
                raise UserError(f"{self.folder}: holds a run already; go on with --resume, or name another --run")
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise UserError(f"{self.folder}: exists and is no run; name another folder with --run")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.config, config.model_dump(mode="json"))
            write_json(self.manifest, self._described(config, prepared, model, dtype))
        except OSError as error:
            raise UserError(f"{self.folder}: cannot write the run: {error.strerror}") from error

    def _check_same(self, config: ExperimentConfig, prepared: Prepared) -> None:
        old = parse(json.loads(self.config.read_text(encoding="utf-8")), str(self.config))
        changed = sorted(differing_keys(old.model_dump(), config.model_dump()) - ENDS)
        if changed:
            raise UserError(f"{self.folder}: its run has other settings ({', '.join(changed)}); name another --run")
        before = json.loads(self.manifest.read_text(encoding="utf-8"))["data"]["fingerprint"]
        if before != prepared.manifest["fingerprint"]:
            raise UserError(f"{self.folder}: its run began with other data; restore the data, or name another --run")

    def _described(
        self, config: ExperimentConfig, prepared: Prepared, model: Transformer, dtype: torch.dtype
    ) -> dict[str, object]:
        earlier = json.loads(self.manifest.read_text(encoding="utf-8"))["starts"] if self.manifest.exists() else []
        return {
            "seed": config.training.seed,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "products": str(dtype).removeprefix("torch."),
            "prepared": str(prepared.folder),
            "data": {key: prepared.manifest[key] for key in ("fingerprint", "inputs", "counts")},
            "versions": {"python": platform.python_version(), **_versions()},
            "machine": {
                "processor": processor_name(),
                "cores": os.cpu_count(),
                "threads": torch.get_num_threads(),
                "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            },
            "starts": [*earlier, _start()],
        }

    def log(self, record: dict[str, object]) -> None:
        """Append one line to the metrics."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def forget_after(self, step: int) -> None:
        """Drop metrics beyond `step`: the run goes back there, and what follows will be written again."""
        if not self.metrics.exists():
            return
        lines = self.metrics.read_text(encoding="utf-8").split("\n")
        kept = [line for line in lines if line.endswith("}") and json.loads(line).get("step", 0) <= step]
        partial = self.metrics.with_name(".metrics.partial")
        partial.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        partial.replace(self.metrics)


def differing_keys(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> set[str]:
    """Dotted names of the values in which two nested tables differ."""
    keys: set[str] = set()
    for key in old.keys() | new.keys():
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            keys |= differing_keys(a, b, f"{prefix}{key}.")
        elif a != b:
            keys.add(prefix + key)
    return keys


def write_json(path: Path, value: object) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)


def processor_name() -> str:
    """The processor as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _start() -> dict[str, object]:
    """When, how and from which commit this process began."""
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
    }


def _git(*arguments: str) -> str | None:
    """Output of git in the project's folder, or None where there is no repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
