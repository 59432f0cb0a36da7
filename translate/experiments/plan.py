"""The plan of a grid: its trainings, and the scores that each of them gives.

Two cells that differ in `[decoding]` or in `training.average_last` alone share a training. Names of folders contain a
digest of all inputs, so a change of settings or data leads to another folder and keeps the old results.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from transformer.config import ModelConfig
from translate.config.schema import DataConfig, ExperimentConfig
from translate.corpus.prepare import plan_corpus
from translate.errors import UserError
from translate.experiments.grid import Cell, Grid, slug
from translate.files import json_sha256, read_json, write_json
from translate.training.parent import Parent
from translate.training.run import Run

MARK = "grid.json"
_LENGTH = 10  # hexadecimal digits of a digest in a name

# Settings of [training] that do not change its result: fewer than those that may change when a run is resumed.
# `keep_last` is none of them: a row that averages more checkpoints cannot use a run that has deleted them.
_WITHOUT_EFFECT = {"log_every", "tensorboard", "checkpoint_activations", "parallel", "save_minutes"}


@dataclass(frozen=True)
class Task:
    """One cell to score.

    Attributes:
        row, seed: its place in the grid.
        inputs: digest of everything that determines its scores.
        average_last: checkpoints in its model; None takes the final model of the run.
    """

    row: tuple[str, ...]
    seed: int
    inputs: str
    record: str
    decoding: dict[str, Any]
    average_last: int | None
    score_on: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """One training and the cells that use it.

    Attributes:
        config: the experiment that is trained, as plain data.
        parent: folder and digests of the model to fine-tune, or None.
    """

    name: str
    grid: str
    config: dict[str, Any]
    run: str
    prepared: str
    corpus: str
    tasks: tuple[Task, ...]
    parent: dict[str, Any] | None = None

    @property
    def digest(self) -> str:
        """First digits of the digest of everything that determines the training; the end of `name`."""
        return self.name.rpartition("-")[2]

    def save(self, path: Path) -> None:
        """Write the job to a file."""
        write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Job":
        """Read a file that `save` wrote."""
        return TypeAdapter(cls).validate_json(path.read_bytes())


def open_folder(grid: Grid, folder: Path, *, create: bool) -> None:
    """Make the folder of a grid, or check that it is one.

    UserError if it belongs to something else, or if it is missing and is not to be created.
    """
    mark = folder / MARK
    if mark.exists():
        try:
            name = read_json(mark).get("grid")
        except ValueError as error:
            raise UserError(f"{mark}: damaged; restore it, or name another --out") from error
        if name != grid.name:
            raise UserError(f"{folder}: holds the grid {name!r}, not {grid.name!r}; name another folder with --out")
    elif folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: exists and is not the folder of a grid; name another folder with --out")
    elif not create:
        raise UserError(f"{folder}: there is no such folder yet; run the grid without --table, or name it with --out")
    if create:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(mark, {"grid": grid.name})


def plan(
    grid: Grid,
    folder: Path,
    complete: Callable[[ExperimentConfig], ExperimentConfig],
    parent: Parent | None = None,
    trainings: Path | None = None,
) -> list[Job]:
    """Return the trainings of a grid in the order of its cells.

    Args:
        complete: returns an experiment with the text that models write for its sources.
        trainings: folder of runs and corpora, which grids may share; None is `folder`.

    Raises UserError if a corpus cannot be read, if a run directory holds another experiment, or if the experiment does
    not fit the parent.
    """
    keep = max(cell.config.training.average_last for cell in grid.cells)
    start = parent.record if parent else None
    corpora = _Corpora(complete, start["tokenizer_sha256"] if start else None)
    trainings = trainings or folder
    jobs: dict[str, Job] = {}
    tasks: dict[str, list[Task]] = {}
    for cell in grid.cells:
        config = corpora.complete(cell.config)
        if parent:
            config = parent.settings(config, lambda unused_keys: None)  # the log of each run tells them
        trained, fingerprint = _trained(config, grid, keep, parent), corpora.fingerprint(config)
        inputs = _inputs(trained, fingerprint, parent)
        if inputs not in jobs:
            varied = tuple(label for axis, label in zip(grid.axes, cell.row, strict=True) if axis.retrains)
            name = f"{slug(varied, cell.seed)}-{inputs[:_LENGTH]}"
            run = run_folder(trainings / "runs", name)
            prepared = trainings / "prepared" / fingerprint[:_LENGTH]
            Run(run).check_settings(trained, resume=True)
            jobs[inputs] = Job(
                name, grid.name, trained.model_dump(mode="json"), str(run), str(prepared), fingerprint, (), start
            )
        tasks.setdefault(inputs, []).append(_task(cell, config, trained, inputs, grid, folder))
    return [replace(job, tasks=tuple(tasks[inputs])) for inputs, job in jobs.items()]


def run_folder(runs: Path, name: str) -> Path:
    """Return the folder of the run of this name; another grid may have named it after its own rows.

    Args:
        name: ends with the digest of the inputs, like the names of other grids.
    """
    return min(runs.glob(f"*-{name.rpartition('-')[2]}"), default=runs / name)


def _trained(config: ExperimentConfig, grid: Grid, keep: int, parent: Parent | None) -> ExperimentConfig:
    """Return the experiment without what is decided after training, and with checkpoints for every average."""
    common = grid.base.training
    training = config.training.model_copy(
        update={"average_last": common.average_last, "keep_last": max(config.training.keep_last, keep)}
    )
    decoding = parent.decoding(grid.base) if parent else grid.base.decoding
    return config.model_copy(update={"training": training, "decoding": decoding})


def _inputs(config: ExperimentConfig, fingerprint: str, parent: Parent | None) -> str:
    """Return the digest of everything that determines a training.

    Values that are the default are skipped, so that a new key in a later version does not repeat old trainings.
    """
    training = config.training.model_dump(mode="json", exclude=_WITHOUT_EFFECT, exclude_defaults=True)
    weights = [source.weight for source in config.data.training_sources]  # no part of the corpus
    model = config.model.architecture(config.tokenizer.vocab_size)
    plain = asdict(ModelConfig(vocab_size=model.vocab_size))
    return json_sha256(
        {
            "corpus": fingerprint,
            "replay": None if config.data.replay is None else config.data.replay.share,
            "vocab_size": model.vocab_size,
            "model": {key: value for key, value in asdict(model).items() if value != plain[key]},
            "training": training,
            **({"weights": weights} if any(weight != 1 for weight in weights) else {}),
            **({"from": parent.record["weights_sha256"]} if parent else {}),
        }
    )


def _task(
    cell: Cell, config: ExperimentConfig, trained: ExperimentConfig, training: str, grid: Grid, folder: Path
) -> Task:
    decoding = config.decoding.model_dump(mode="json")
    average = config.training.average_last
    is_final = average == trained.training.average_last or config.training.final == "best" or bool(config.training.ema)
    average_last = None if is_final else average
    inputs = json_sha256([training, decoding, average_last, list(grid.score_on)])
    record = folder / "records" / f"{slug(cell.row, cell.seed)}-{inputs[:_LENGTH]}"
    return Task(cell.row, cell.seed, inputs, str(record), decoding, average_last, grid.score_on)


class _Corpora:
    """Sections `data` with synthetic text, and fingerprints of corpora; each is found once, as that reads all files."""

    def __init__(self, complete: Callable[[ExperimentConfig], ExperimentConfig], tokenizer_sha256: str | None) -> None:
        self._complete = complete
        self._tokenizer_sha256 = tokenizer_sha256
        self._data: dict[str, DataConfig] = {}
        self._fingerprints: dict[str, str] = {}

    def complete(self, config: ExperimentConfig) -> ExperimentConfig:
        """Return the experiment with the text that models write for its sources."""
        # Pairs that overlap with a test keep their targets, as cleaning drops them.
        key = config.model_dump_json(include={"data": True, "cleaning": {"test_overlap"}})
        if key not in self._data:
            self._data[key] = self._complete(config).data
        return config.model_copy(update={"data": self._data[key]})

    def fingerprint(self, config: ExperimentConfig) -> str:
        """Return the fingerprint of the corpus of an experiment."""
        key = config.model_dump_json(include={"data", "cleaning", "tokenizer", "augmentation"})
        if key not in self._fingerprints:
            self._fingerprints[key] = plan_corpus(config, self._tokenizer_sha256)["fingerprint"]
        return self._fingerprints[key]
