"""A run trained again: whether it can be the same, and whether it was, to the last bit."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from transformer.checkpoint_io import load_config
from transformer.presets import resolve
from translate.config.load import parse
from translate.config.schema import ExperimentConfig
from translate.corpus.manifest import input_hashes
from translate.corpus.prepare import Prepared
from translate.errors import UserError
from translate.training import parent
from translate.training.checkpoint import sha256
from translate.training.parent import Parent
from translate.training.run import DTYPES, Run, circumstances, differing_keys, read_json, write_json
from translate.training.speed import TIMED

Say = Callable[[str], None]
Record = dict[str, Any]

_COMPARED = ("train", "valid", "final")  # where else lines stand depends on the clock and on how often a run began


@dataclass(frozen=True)
class Original:
    """A run that has ended and is to be repeated."""

    run: Run
    config: ExperimentConfig
    manifest: Record

    @classmethod
    def open(cls, folder: Path) -> "Original":
        """UserError unless the run has ended and tells what made it."""
        run, so = Run(folder), "the run cannot be repeated"
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; name a run directory")
        config = parse(read_json(run.config, so=so), str(run.config))
        manifest = read_json(run.manifest, so=so)
        if missing := sorted({"seed", "dtype", "prepared", "data", "starts"} - manifest.keys()):
            raise UserError(f"{run.manifest}: lacks {', '.join(missing)}, so {so}")
        if config.training.seed != manifest["seed"]:
            raise UserError(
                f"{run.config}: training.seed = {config.training.seed}, but the run began with {manifest['seed']}; "
                "restore the file"
            )
        if _final(run) is None or not (run.model / "model.safetensors").is_file():
            raise UserError(f"{folder}: has no final model to compare with; bring it to its end with --resume first")
        return cls(run, config, manifest)

    @property
    def dtype(self) -> torch.dtype:
        """The type of matrix products; measuring it anew might end differently."""
        return DTYPES[self.manifest["dtype"]]

    def parent(self, again: Run) -> Parent | None:
        """The model that the run began from, for the run `again`; UserError if it is gone or has changed."""
        record = self.manifest.get("parent")
        return None if record is None else parent.recorded(record, again)

    def corpus_folder(self, otherwise: Path) -> Path:
        """Where the run's prepared corpus is, or `otherwise` if it is gone or has made room for another one."""
        folder = Path(self.manifest["prepared"])
        try:
            found = read_json(folder / "manifest.json").get("fingerprint")
        except UserError:
            return otherwise
        return folder if found == self.manifest["data"]["fingerprint"] else otherwise

    def check(self, again: Run, n_ranks: int, say: Say) -> None:
        """UserError if training again would end differently for sure; what may change bits is said.

        Comes before anything is prepared; `check_corpus` follows when that is done.
        """
        if again.folder.resolve() == self.run.folder.resolve():
            raise UserError(f"{again.folder}: is the run to be repeated; name another folder with --run")
        self._check_model()
        before = self.manifest["data"]["inputs"]
        if changed := sorted(differing_keys(before, input_hashes(self.config))):
            raise UserError(f"{', '.join(changed)}: not what {self.run.folder} was trained on; restore the data")
        processes = _facts(self.manifest["starts"][-1])["processes"]
        if processes != n_ranks:
            raise UserError(
                f"{self.run.folder}: trained with {processes} processes, which make other updates than {n_ranks}; "
                f"use torchrun --nproc-per-node {processes}"
            )
        if doubts := self.doubts(circumstances()):
            say(f"warning: the result may differ from {self.run.folder}: {'; '.join(doubts)}")

    def _check_model(self) -> None:
        stored = load_config(self.run.model)
        section = self.config.model.model_dump(exclude={"preset"})
        now = resolve(self.config.model.preset, section, stored.vocab_size)
        if keys := sorted(differing_keys(asdict(stored), asdict(now))):
            raise UserError(
                f"{self.run.folder}: model.preset = {self.config.model.preset!r} had other values then "
                f"({', '.join(keys)}); repeat the run with the commit that manifest.json names"
            )

    def check_corpus(self, prepared: Prepared) -> None:
        """UserError if a prepared corpus is not the run's."""
        self.run.check_data(prepared, otherwise="have it prepared anew with another --prepared")

    def doubts(self, now: Record) -> list[str]:
        """What may change bits, a phrase each: `now`, of `circumstances`, against every start of the run."""
        starts, here = [_facts(start) for start in self.manifest["starts"]], _facts(now)
        phrases = []
        for name, value in here.items():
            before = dict.fromkeys(str(facts.get(name)) for facts in starts)
            if list(before) != [str(value)]:
                phrases.append(f"{name} {' and '.join(before)} then, {value} now")
        if here["threads"] != (threads := starts[-1]["threads"]) and here["device"] == "cpu":
            phrases.append(f"OMP_NUM_THREADS={threads} sets the threads of then")
        if any(start.get("uncommitted_changes") for start in (*self.manifest["starts"], now)):
            phrases.append("there are changes that no commit names")
        if here["device"] != "cpu":
            phrases.append("a GPU need not add in the same order twice")
        if any(record["kind"] == "memory" for record in self.run.records()):
            phrases.append("batches were halved for want of memory")
        return phrases

    def compare(self, again: Run, say: Say) -> bool:
        """Whether the final models are the same to the last bit; said, and kept in `again`."""
        then, now = (sha256(run.model / "model.safetensors") for run in (self.run, again))
        record = {
            "run": str(self.run.folder.resolve()),
            "identical": then == now,
            "model_sha256": {"then": then, "now": now},
            "first_difference": first_difference(self.run.records(), again.records()),
            "final": {"then": _final(self.run), "now": _final(again)},
        }
        try:
            write_json(again.reproduction, record)
        except OSError as error:
            raise UserError(f"{again.reproduction}: cannot be written: {error.strerror}") from error
        say(f"{again.model}: {verdict(record)}")
        return then == now


def first_difference(then: Sequence[Record], now: Sequence[Record]) -> str | None:
    """The first value in which lines of the same kind and step differ, or None; times and speeds always do.

    Args:
        then, now: the metrics of two runs.
    """
    lines = {(record["kind"], record["step"]): record for record in now if record["kind"] in _COMPARED}
    for record in then:
        kind, step = record["kind"], record["step"]
        other = lines.get((kind, step), record)
        for key in sorted(record.keys() - TIMED):
            if other.get(key) != record[key]:
                return f"{key} of the {kind} line of step {step:,}, {record[key]} then and {other.get(key)} now"
    return None


def verdict(record: Record) -> str:
    """One sentence on what `Original.compare` keeps."""
    of, digests = record["run"], record["model_sha256"]
    if record["identical"]:
        return f"identical to that of {of} to the last bit (SHA-256 {digests['now'][:16]})"
    line = record["first_difference"] or "the model alone, as no line of the metrics differs"
    then, now = record["final"]["then"], record["final"]["now"]
    apart = ", ".join(
        f"{key} {then[key]:.6g} then and {now[key]:.6g} now ({now[key] - then[key]:+.2g})"
        for key in then
        if then[key] is not None and now[key] is not None
    )
    return f"not identical to that of {of}; the first difference is {line}; final {apart}"


def _final(run: Run) -> Record | None:
    """Loss and BLEU of the final model on the validation set, or None before there is one."""
    finals = [record for record in run.records() if record["kind"] == "final"]
    return {key: finals[-1][key] for key in ("nll", "bleu")} if finals else None


def _facts(start: Record) -> Record:
    """The circumstances of a start without what no bit depends on."""
    machine = start["machine"]
    return {
        "commit": start["commit"],
        **start["versions"],
        **{key: machine.get(key) for key in ("processor", "device", "threads")},
        "processes": machine.get("processes", 1),
    }
