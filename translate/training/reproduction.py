"""Repeating a run: checks that it can be identical, and a comparison of the two final models."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from translate.config.load import parse
from translate.config.schema import ExperimentConfig
from translate.errors import Say, UserError
from translate.files import read_json, sha256, write_json
from translate.training.reporting import COOLDOWN_MOVED, TIMED
from translate.training.run import Record, Run, environment, facts, load_json, read_run_manifest, writing

_COMPARED = ("train", "valid", "final")  # other lines depend on the clock and on the number of starts


@dataclass(frozen=True)
class Original:
    """A finished run that another run repeats."""

    run: Run
    config: ExperimentConfig
    manifest: Record

    @classmethod
    def open(cls, folder: Path) -> "Original":
        """Open a run directory; UserError if it is none, if the run has not ended, or if a file is damaged."""
        run, consequence = Run(folder), "the run cannot be repeated"
        if not run.has_begun:
            raise UserError(f"{folder}: is not a run that has begun; name a run directory, such as runs/my")
        manifest = read_run_manifest(run.manifest, consequence=consequence)
        config = parse(load_json(run.config, consequence=consequence), str(run.config))
        if _final(run) is None or not (run.model / "model.safetensors").is_file():
            raise UserError(f"{folder}: has no final model to compare with; finish it with --resume first")
        return cls(run, config, manifest)

    def corpus_folder(self, otherwise: Path) -> Path:
        """Return the folder of the run's prepared corpus, or `otherwise` if it is gone or holds another corpus."""
        folder = Path(self.manifest["prepared"])
        try:
            found = read_json(folder / "manifest.json").get("fingerprint")
        except (OSError, ValueError):
            return otherwise
        return folder if found == self.manifest["data"]["fingerprint"] else otherwise

    def check(self, again: Run, n_ranks: int, say: Say) -> None:
        """Raise UserError if the repetition cannot be identical; warn of everything that may change bits.

        Call this before the corpus is prepared, and `Run.check_inputs` and `Run.check_data` when it is.

        Args:
            n_ranks: processes that train together now.
        """
        if again.folder.resolve() == self.run.folder.resolve():
            raise UserError(f"{again.folder}: is the original run; name another folder with --run")
        processes = self.manifest["starts"][-1]["machine"]["processes"]
        if processes != n_ranks:
            raise UserError(
                f"{self.run.folder}: trained with {processes} processes, which make other updates than {n_ranks}; "
                f"use torchrun --nproc-per-node {processes}"
            )
        if doubts := self.doubts(environment()):
            say(f"warning: the result may differ from {self.run.folder}: {'; '.join(doubts)}")

    def doubts(self, now: Record) -> list[str]:
        """Return a phrase on each difference between `now`, from `environment`, and the starts of the run."""
        starts, here = [facts(start) for start in self.manifest["starts"]], facts(now)
        phrases = []
        for name, value in here.items():
            before = dict.fromkeys(start.get(name, "unknown") for start in starts)
            if list(before) != [value] and name != "uncommitted changes":
                phrases.append(f"{name} {' and '.join(before)} then, {value} now")
        if here["threads"] != (threads := starts[-1]["threads"]) and here["device"] == "cpu":
            phrases.append(f"OMP_NUM_THREADS={threads} sets as many threads as then")
        if any(start["uncommitted_changes"] for start in (*self.manifest["starts"], now)):
            phrases.append("there are uncommitted changes")
        if here["device"] != "cpu":
            phrases.append("a GPU may add in another order each time")
        records = self.run.records()
        if any(record["kind"] == "memory" for record in records):
            phrases.append("batches were halved for want of memory")
        for step in dict.fromkeys(record["step"] for record in records if record.get("about") == COOLDOWN_MOVED):
            phrases.append(f"its cooldown was moved at step {step:,}, as it was resumed with another last step")
        return phrases

    def compare(self, again: Run, say: Say) -> bool:
        """Return whether the final models are identical; report it, and write reproduction.json in `again`."""
        then, now = (sha256(run.model / "model.safetensors") for run in (self.run, again))
        record = {
            "run": str(self.run.folder.resolve()),
            "identical": then == now,
            "model_sha256": {"then": then, "now": now},
            "first_difference": first_difference(self.run.records(), again.records()),
            "final": {"then": _final(self.run), "now": _final(again)},
        }
        with writing(again.reproduction, "the comparison"):
            write_json(again.reproduction, record)
        say(f"{again.model}: {verdict(record)}")
        return then == now


def first_difference(then: Sequence[Record], now: Sequence[Record]) -> str | None:
    """Return a phrase on the first value in which the metrics `then` and `now` differ, or None; times are ignored."""
    lines = {(record["kind"], record["step"]): record for record in now if record["kind"] in _COMPARED}
    for record in then:
        kind, step = record["kind"], record["step"]
        other = lines.get((kind, step), record)
        for key in sorted(record.keys() - TIMED):
            if other.get(key) != record[key]:
                return f"{key} of the {kind} line of step {step:,}, {record[key]} then and {other.get(key)} now"
    return None


def verdict(record: Record) -> str:
    """Return one sentence on the result of `Original.compare`."""
    of, digests = record["run"], record["model_sha256"]
    if record["identical"]:
        return f"identical to that of {of} to the last bit (SHA-256 {digests['now'][:16]})"
    line = record["first_difference"] or "the model alone, as no line of the metrics differs"
    then, now = record["final"]["then"], record["final"]["now"]
    both = [key for key in then if None not in (then[key], now[key])]
    apart = ", ".join(f"{key} {then[key]:.6g} then and {now[key]:.6g} now" for key in both)
    return f"not identical to that of {of}; the first difference is {line}; final {apart}"


def _final(run: Run) -> Record | None:
    """Return loss and BLEU of the final model on the validation set, or None before there is one."""
    finals = [record for record in run.records() if record["kind"] == "final"]
    return {key: finals[-1][key] for key in ("nll", "bleu")} if finals else None
