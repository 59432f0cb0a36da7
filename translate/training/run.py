"""The run directory, which explains itself.

config.json       the resolved experiment; `translate train` accepts it as it stands
manifest.json     what made the run: data hashes, seed, size; every start with command, commit, versions, machine
metrics.jsonl     one JSON object a line: training, validation, checkpoints
checkpoints/      see `checkpoint`
model/            the final model
card.md           all of this on one page, see `card`
tensorboard/      with training.tensorboard: the numbers of the metrics
reproduction.json   of a run that repeats another one: whether it ended with the same bits
"""

import contextlib
import datetime
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from transformer.model import Transformer
from translate.config.load import parse
from translate.config.schema import ExperimentConfig
from translate.corpus.prepare import Prepared
from translate.errors import UserError
from translate.training import data_files

# Settings that may change when a run goes on: they decide when it ends, what it tells and where its numbers lie in
# memory, not where it goes.
FREE = {
    *("training.max_steps", "training.max_epochs", "training.patience", "training.log_every", "training.tensorboard"),
    *("training.checkpoint_activations", "training.parallel"),
}

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "datasets", "numpy", "safetensors", "transformer-translate")


@dataclass(frozen=True)
class Run:
    """Paths of one run, and what is written there beside checkpoints."""

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

    @property
    def scores(self) -> Path:
        """What `translate evaluate` found."""
        return self.folder / "scores.json"

    @property
    def card(self) -> Path:
        """The page that tells of the run."""
        return self.folder / "card.md"

    @property
    def tensorboard(self) -> Path:
        """The folder of event files."""
        return self.folder / "tensorboard"

    @property
    def reproduction(self) -> Path:
        """How the run compares with the one that it repeats."""
        return self.folder / "reproduction.json"

    @property
    def has_begun(self) -> bool:
        """Whether anything was trained here; a first start that failed before that binds nobody."""
        return self.metrics.exists() or self.checkpoints.exists()

    def check(self, config: ExperimentConfig, *, resume: bool) -> None:
        """UserError if the folder cannot hold this experiment; says how the two differ."""
        if self.has_begun:
            old = parse(read_json(self.config), str(self.config))
            changed = sorted(differing_keys(old.model_dump(), config.model_dump()) - FREE)
            if changed:
                raise UserError(
                    f"{self.folder}: its run has other settings ({', '.join(changed)}); name another --run, or "
                    "remove it"
                )
            if not resume:
                raise UserError(f"{self.folder}: holds a run already; go on with --resume, or name another --run")
        elif self.folder.exists():
            own = {".lock", self.config.name, self.manifest.name, self.tensorboard.name}
            own |= {_partial(path).name for path in (self.config, self.manifest)}  # what a kill has left
            if {path.name for path in self.folder.iterdir()} - own:
                raise UserError(f"{self.folder}: exists and is no run; name another folder with --run")

    def begin(
        self,
        config: ExperimentConfig,
        prepared: Prepared,
        model: Transformer,
        dtype: torch.dtype,
        peak: float,
        parent: dict[str, str] | None = None,
    ) -> None:
        """Write what the run is, after `check`; UserError that names the file if it began with other data.

        `peak` is the measured rate of matrix products in FLOP/s; `parent` is the record of the model that the run
        starts from, if it is fine-tuning.
        """
        data, starts = _data(prepared), []
        if self.has_begun:
            before = read_json(self.manifest)
            starts = before["starts"]
            self._check_data(before["data"], data, prepared.folder, "name another --run")
        manifest = {
            "seed": config.training.seed,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "dtype": str(dtype).removeprefix("torch."),
            "prepared": str(prepared.folder.resolve()),
            "data": data,
            "parent": parent,
            "starts": [*starts, _start(peak)],
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.manifest, manifest)
            write_json(self.config, config.model_dump(mode="json"))
        except OSError as error:
            raise UserError(f"{self.folder}: cannot write the run: {error.strerror}") from error

    def check_data(self, prepared: Prepared, *, otherwise: str) -> None:
        """UserError, which ends with the other way out, if the run began with other data than these."""
        self._check_data(read_json(self.manifest)["data"], _data(prepared), prepared.folder, otherwise)

    def _check_data(self, before: dict[str, Any], now: dict[str, Any], folder: Path, otherwise: str) -> None:
        for key in ("fingerprint", "tokenizer"):
            if before[key] != now[key]:
                inputs = sorted(differing_keys(before["inputs"], now["inputs"]))
                what = ", ".join(inputs) if key == "fingerprint" and inputs else key
                raise UserError(f"{self.folder}: its run began with other data ({what}); restore it, or {otherwise}")
        data_files.check(folder, self.folder, before.get("files", {}), now["files"], otherwise)

    def recorded_dtype(self) -> torch.dtype | None:
        """The type of products that this run began with: measuring it anew might end differently."""
        return DTYPES.get(read_json(self.manifest)["dtype"]) if self.has_begun else None

    def recorded_parent(self) -> dict[str, str] | None:
        """What the manifest keeps of the model that this run was to start from; None if there was none."""
        return read_json(self.manifest).get("parent") if self.manifest.exists() else None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training in this folder; UserError if one does. No effect without such locks."""
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / ".lock").open("w")
        except OSError as error:
            raise UserError(f"{self.folder}: cannot write the run: {error.strerror}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(
                    f"{self.folder}: another process trains there; wait for it, or name another --run"
                ) from error
            yield

    def records(self) -> list[dict[str, Any]]:
        """The lines of the metrics that are whole, in order."""
        if not self.metrics.exists():
            return []
        lines = self.metrics.read_text(encoding="utf-8", errors="replace").split("\n")
        return [record for record in map(_record, lines) if record]

    def log(self, record: dict[str, object], *, durable: bool = False) -> None:
        """Append one line to the metrics; a number that is not finite becomes null, as JSON has none.

        With `durable` this line and all before it survive a power cut. UserError if the disk refuses; half a line that
        it may leave is dropped by `forget_after`.
        """
        plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}
        try:
            with self.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps(plain) + "\n")
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise UserError(
                f"{self.metrics}: cannot write the metrics: {error.strerror}; make room and go on with --resume"
            ) from error

    def forget_after(self, step: int, *, end: bool = False) -> None:
        """Drop metrics beyond `step`: the run goes back there, and what follows will be written again.

        With `end` the run ends at that step, and its final scores will be written again as well.
        """
        if not self.metrics.exists():
            return

        def holds(line: str) -> bool:
            record = _record(line)
            is_final = end and record.get("kind") == "final" and record.get("step") == step
            return bool(record) and record.get("step", 0) <= step and not is_final

        lines = self.metrics.read_text(encoding="utf-8", errors="replace").split("\n")
        partial = self.metrics.with_name(".metrics.partial")
        try:
            partial.write_text("".join(f"{line}\n" for line in lines if holds(line)), encoding="utf-8")
            partial.replace(self.metrics)
        except OSError as error:
            raise UserError(f"{self.metrics}: cannot write the metrics: {error.strerror}; make room there") from error


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
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = _partial(path)
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(path)


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")


def processor_name() -> str:
    """The processor as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def read_json(path: Path, *, so: str = "the run cannot go on; name another --run") -> dict[str, Any]:
    """The object in a file of a run; UserError that says what follows if it is missing or damaged."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{path}: missing or damaged, so {so}") from error


def _data(prepared: Prepared) -> dict[str, Any]:
    """What the manifest keeps of the data."""
    return {
        **{key: prepared.manifest[key] for key in ("fingerprint", "inputs", "counts")},
        "tokenizer": prepared.manifest["tokenizer"]["sha256"],
        "files": data_files.digests(prepared.folder, prepared.manifest["files"]),
    }


def _record(line: str) -> dict[str, Any]:
    """The values of one line of the metrics; none of one that a kill or a full disk cut off."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _start(peak: float) -> dict[str, Any]:
    """When, how, where and from which commit this process began; `peak` is the measured FLOP/s of its device."""
    time = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    here = circumstances()
    here["machine"]["peak_flops"] = float(f"{peak:.4g}")
    return {"time": time, "command": sys.argv, **here}


def circumstances() -> dict[str, Any]:
    """What may change the bits of a result beside settings and data: commit, versions and machine of this process."""
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "commit": commit(),
        "uncommitted_changes": None if changes is None else bool(changes),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": {
            "processor": processor_name(),
            "cores": os.cpu_count(),
            "processes": int(os.environ.get("WORLD_SIZE", "1")),
            "threads": torch.get_num_threads(),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        },
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def commit() -> str | None:
    """The commit of the project's checkout, or None where the project was installed without one."""
    return _git("rev-parse", "HEAD")


def _git(*arguments: str) -> str | None:
    """Output of git in the project's checkout, or None where the project was installed without one."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
