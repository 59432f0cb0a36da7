"""The run directory and its files.

config.json         the resolved experiment; `translate train` accepts it as an experiment file
manifest.json       data hashes, seed, size, parent; command, commit, versions and machine of every start
metrics.jsonl       one JSON object a line: training, validation, checkpoints
checkpoints/        see `checkpoints`
model/              the final model
scores.json         written by `translate evaluate`
card.md             all of this on one page, see `card`
tensorboard/        event files, with training.tensorboard
parent/             with training.parent_share: a copy of the model that the run began with
reproduction.json   only in a run that repeats another one: the comparison of the two
"""

import contextlib
import datetime
import importlib.metadata
import json
import math
import os
import platform
import sys
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from translate import files
from translate.config.load import Stored, parse, validated
from translate.config.schema import DecodingSection, ExperimentConfig
from translate.corpus.prepare import differing
from translate.corpus.sources import without_place
from translate.errors import UserError, reason
from translate.machine import git

# Settings that may change when a run is resumed: they do not change the result of any update, except that the cooldown
# depends on the last step; see `rate_warning`. The corpus is compared by its content, not by its place.
FREE_ON_RESUME = {
    "data.root",
    *(f"decoding.{key}" for key in DecodingSection.model_fields),
    *("training.max_steps", "training.max_epochs", "training.patience", "training.log_every", "training.tensorboard"),
    "training.parent_share",
    *("training.checkpoint_activations", "training.parallel", "training.save_minutes", "training.keep_last"),
}

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "datasets", "numpy", "safetensors", "transformer-translate")

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

Record = dict[str, Any]


class _Machine(Stored):
    processor: str
    device: str
    cores: int | None
    threads: int
    processes: int


class _StartRecord(Stored):
    command: list[str]
    commit: str | None
    uncommitted_changes: bool | None
    versions: dict[str, str]
    machine: _Machine


class _Data(Stored):
    fingerprint: str
    tokenizer: str
    inputs: dict[str, str]
    counts: dict[str, Any]
    files: dict[str, str]


class _ParentRecord(Stored):
    path: str
    weights_sha256: str
    tokenizer_sha256: str


class _RunManifest(Stored):
    """The part of a manifest that its readers need."""

    seed: int
    parameters: int
    dtype: str
    prepared: str
    data: _Data
    parent: _ParentRecord | None = None
    starts: list[_StartRecord] = Field(min_length=1)


class Run:
    """The paths of one run directory, and all of its files but the checkpoints and models.

    Attributes:
        folder: the run directory; the other attributes are the paths listed at the top of this module.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.json"
        self.manifest = folder / "manifest.json"
        self.metrics = folder / "metrics.jsonl"
        self.checkpoints = folder / "checkpoints"
        self.model = folder / "model"
        self.scores = folder / "scores.json"
        self.card = folder / "card.md"
        self.tensorboard = folder / "tensorboard"
        self.parent = folder / "parent"
        self.reproduction = folder / "reproduction.json"

    @property
    def has_begun(self) -> bool:
        """True once training has begun; a start that failed before that may be repeated with other settings."""
        return self.metrics.exists() or self.checkpoints.exists()

    def check_settings(self, config: ExperimentConfig, *, resume: bool) -> None:
        """Raise UserError if the folder cannot hold this experiment; the message names the settings that differ."""
        if files.as_unicode(str(self.folder)) != str(self.folder):
            raise UserError(f"{self.folder}: safetensors needs a path in UTF-8; name another --run")
        if self.has_begun:
            before = parse(load_json(self.config), str(self.config))
            if changed := _changed(before, config):
                same = f"continue with those in {self.config}, --set included, or " if resume else ""
                raise UserError(
                    f"{self.folder}: its run has other settings ({', '.join(changed)}); {same}name another --run"
                )
            if changed := _changed(before, config, made=True):
                raise UserError(
                    f"{self.folder}: models would write other text for it than its run began with "
                    f"({', '.join(changed)}): a text, a model or the weight of a source has changed; restore it, or "
                    "name another --run"
                )
            if not resume:
                raise UserError(f"{self.folder}: already contains a run; continue with --resume, or name another --run")
        elif self.folder.exists():
            known = {".lock", self.config.name, self.manifest.name, self.tensorboard.name, self.parent.name}
            # Left by a killed process.
            known |= {path.name for file in (self.config, self.manifest) for path in files.leftovers(file)}
            known |= {f".{self.parent.name}.partial", f".{self.parent.name}.old"}
            if not self.folder.is_dir() or {path.name for path in self.folder.iterdir()} - known:
                raise UserError(f"{self.folder}: exists and is not a run; name another folder with --run")

    def begin(self, config: ExperimentConfig, facts: Record, peak: float) -> None:
        """Write config.json and manifest.json, or add a start to the manifest; call `check_settings` first.

        Args:
            facts: model, data and parent, for the manifest.
            peak: the measured rate of matrix products, FLOP/s.

        Raises UserError if the folder cannot be written.
        """
        starts = read_run_manifest(self.manifest)["starts"] if self.has_begun else []
        with writing(self.folder, "the run"):
            self.folder.mkdir(parents=True, exist_ok=True)
            files.write_json(
                self.manifest, {"seed": config.training.seed, **facts, "starts": [*starts, _start_record(peak)]}
            )
            files.write_json(self.config, config.model_dump(mode="json"))

    def check_inputs(self, inputs: Record) -> None:
        """Raise UserError if the run began with other text.

        Call this before the corpus is prepared: from other text, `prepare` would replace the corpus of the run.

        Args:
            inputs: digest of each text, from `corpus.prepare.input_hashes`.
        """
        if changed := sorted(differing(read_run_manifest(self.manifest)["data"]["inputs"], inputs)):
            raise UserError(
                f"{', '.join(changed)}: not what {self.folder} was trained on; restore the data, or begin another run"
            )

    def check_data(self, now: Record, corpus: Path, *, otherwise: str) -> None:
        """Raise UserError, which ends with `otherwise`, if the run began with another corpus.

        Args:
            now: the record of the `corpus`, see `plan.data_record`; its inputs are those that the run began with.
        """
        before = read_run_manifest(self.manifest)["data"]
        for key in ("fingerprint", "tokenizer"):
            if before[key] != now[key]:
                raise UserError(f"{self.folder}: its run began with other data ({key}); restore it, or {otherwise}")
        for name, digest in before["files"].items():
            if (found := now["files"].get(name, "gone")) != digest:
                raise UserError(
                    f"{corpus / name}: changed since {self.folder} began (SHA-256 {digest[:16]} then, "
                    f"{found[:16]} now); restore it, or {otherwise}"
                )

    def recorded_dtype(self) -> torch.dtype | None:
        """Return the type of matrix products that the run began with, or None before it began."""
        return DTYPES.get(read_run_manifest(self.manifest)["dtype"]) if self.has_begun else None

    def recorded_parent(self) -> Record | None:
        """Return the manifest's record of the model that the run began with, or None."""
        return read_run_manifest(self.manifest).get("parent") if self.manifest.exists() else None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training in this folder; UserError if one is."""
        with contextlib.ExitStack() as held:
            with writing(self.folder, "the run"):
                self.folder.mkdir(parents=True, exist_ok=True)
                try:
                    held.enter_context(files.locked(self.folder / ".lock"))
                except BlockingIOError as error:
                    message = f"{self.folder}: another process trains there; wait for it, or name another --run"
                    raise UserError(message) from error
            yield

    def records(self) -> list[Record]:
        """Return the complete lines of the metrics, in order."""
        if not self.metrics.exists():
            return []
        lines = self.metrics.read_text(encoding="utf-8", errors="replace").split("\n")
        return [record for record in map(_record, lines) if record]

    def log(self, record: dict[str, object], *, durable: bool = False) -> None:
        """Append one line to the metrics.

        Args:
            record: the values; a number that is not finite becomes null, as JSON has none.
            durable: return only when this line and all before it are on the disk.

        Raises UserError if the file cannot be written; `forget_after` removes a line that was written in part.
        """
        plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}
        with writing(self.metrics, "the metrics"), self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain) + "\n")
            if durable:
                file.flush()
                os.fsync(file.fileno())

    def forget_after(self, step: int, *, warned: Collection[str] = (), end: bool = False) -> None:
        """Remove the metrics after `step`, which a resumed run writes again, and the warnings that it gives again.

        Args:
            step: the step of the checkpoint that the run is resumed from.
            warned: subjects of the warnings that it does not give again.
            end: whether the run ends at that step; then the line of the final model is removed too.
        """

        def stays(record: Record) -> bool:
            kind, at = record.get("kind"), record.get("step", 0)
            is_repeated = (kind == "warning" and record.get("about") not in warned) or (end and kind == "final")
            return at < step or (at == step and not is_repeated)

        if self.metrics.exists():
            stay = [record for record in self.records() if stays(record)]
            with writing(self.metrics, "the metrics"):
                files.write_text(self.metrics, "".join(json.dumps(record) + "\n" for record in stay))


def _changed(before: ExperimentConfig, now: ExperimentConfig, *, made: bool = False) -> list[str]:
    """Return the settings that differ and may not change when a run is resumed; see `_resolved`."""
    return sorted(differing(_resolved(before, made=made), _resolved(now, made=made)).keys() - FREE_ON_RESUME)


def _resolved(config: ExperimentConfig, *, made: bool) -> Record:
    """Return the settings, with all fields of the architecture in place of a preset and the fields that differ.

    Args:
        made: whether files of text that models write are included, whose names depend on texts and models.
    """
    architecture = asdict(config.model.architecture(config.tokenizer.vocab_size))
    del architecture["vocab_size"]  # tokenizer.vocab_size
    settings = config.model_dump()
    for source in (*settings["data"]["train"], *(settings["data"]["replay"] or {}).get("sources", ())):
        if source.get("synthetic") and (name := without_place(source["synthetic"])) != source["synthetic"]:
            source["synthetic"] = name if made else None
    return settings | {"model": architecture}


@contextlib.contextmanager
def writing(path: Path, what: str) -> Iterator[None]:
    """Turn an OSError into a UserError: `what`, such as "the metrics", cannot be written to `path`."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path}: cannot write {what}: {reason(error)}; when that is mended, continue with --resume, or name "
            "another --run"
        ) from error


_CONSEQUENCE = "the run cannot continue; name another --run"


def read_run_manifest(path: Path, *, consequence: str = _CONSEQUENCE) -> Record:
    """Return the manifest of a run; UserError, with the `consequence`, if it is missing or damaged."""
    manifest = load_json(path, consequence=consequence)
    try:
        validated(_RunManifest, manifest, f"{path}: damaged")
    except UserError as error:
        raise UserError(f"{error}, so {consequence}") from error
    return manifest


def load_json(path: Path, *, consequence: str = _CONSEQUENCE) -> Record:
    """Return the JSON object in a file of a run; UserError, with the `consequence`, if it is missing or damaged."""
    try:
        return files.read_json(path)
    except PermissionError as error:
        raise UserError(files.cannot_read(path, error)) from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: missing or damaged, so {consequence}") from error


def environment() -> dict[str, Any]:
    """Return everything besides settings and data that may change the bits of a result.

    The keys are commit, uncommitted_changes, versions and machine; `threads` of the machine are those of each process.
    """
    changes = git("status", "--porcelain", "--untracked-files=no")
    return {
        "commit": commit(),
        "uncommitted_changes": None if changes is None else bool(changes),
        "versions": {"python": platform.python_version(), **{package: _version(package) for package in PACKAGES}},
        "machine": {
            "processor": processor_name(),
            "cores": os.cpu_count(),
            "processes": int(os.environ.get("WORLD_SIZE", "1")),
            "threads": torch.get_num_threads(),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        },
    }


def facts(start: dict[str, Any]) -> dict[str, str]:
    """Return each fact of a start, from `environment`, as text under one name."""
    names = ("processor", "device", "cores", "threads", "processes")
    values = {
        "commit": start["commit"],
        "uncommitted changes": start["uncommitted_changes"],
        **start["versions"],
        **{name: start["machine"][name] for name in names},
    }
    return {name: str(value) for name, value in values.items()}


def commit() -> str | None:
    """Return the commit of the project's checkout, or None if the project was installed without one."""
    return git("rev-parse", "HEAD")


def processor_name() -> str:
    """Return the name that the system gives its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _record(line: str) -> Record:
    """Return the values of one line of the metrics; empty if a kill or a full disk cut the line off or damaged it."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        return {}
    return record if type(step := record.get("step")) is int and step >= 0 else {}


def _start_record(peak: float) -> Record:
    """Return time, command and environment of this process, which multiplies matrices at `peak` FLOP/s."""
    time = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    here = environment()
    here["machine"]["peak_flops"] = float(f"{peak:.4g}")
    return {"time": time, "command": sys.argv, **here}
