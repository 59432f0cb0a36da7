"""The table of a grid, built from its records alone: mean and standard deviation over seeds, and paired tests."""

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from translate.evaluation.scores import TESTS, Test, metrics, paired_test
from translate.experiments import records
from translate.experiments.grid import Grid, Row, row_name
from translate.experiments.plan import Job, Task
from translate.experiments.records import DONE, Record

Columns = dict[str, str]

MISSING = ""
SIGNS_DIFFER = "signs differ"  # one seed is better than the baseline, another worse


@dataclass
class Line:
    """One row of the table.

    Attributes:
        done: records of the seeds with a result, by seed.
        failed: reasons of the others, by seed; "not run yet" for those without a record.
        p_values: of the difference to the baseline in BLEU, by set and seed.
    """

    row: Row
    done: dict[int, tuple[Path, Record]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    p_values: dict[str, dict[int, float]] = field(default_factory=dict)

    def bleu(self, name: str, seed: int) -> float:
        """BLEU of a seed on a set."""
        score: float = self.done[seed][1]["scores"][name]["bleu"]["score"]
        return score

    def bleus(self, name: str) -> list[float]:
        """BLEU of each seed on a set."""
        return [self.bleu(name, seed) for seed in self.done]

    def perplexity(self) -> list[float]:
        """Validation perplexity of each seed."""
        return [record["perplexity"] for _, record in self.done.values()]


@dataclass(frozen=True)
class ResultTable:
    """The results of a grid."""

    grid: Grid
    lines: tuple[Line, ...]
    paired: Test

    @classmethod
    def build(cls, grid: Grid, jobs: Sequence[Job], paired: Test) -> "ResultTable":
        """Read all records; UserError if one was changed by hand."""
        lines = {row: Line(row) for row in grid.rows}
        for task in sorted((task for job in jobs for task in job.tasks), key=lambda task: task.seed):
            _add(lines[task.row], task)
        baseline = lines[grid.baseline]
        target = next(cell.config.data.target for cell in grid.cells if cell.row == grid.baseline)
        for line in lines.values():
            if line is not baseline:
                line.p_values = {name: dict(_p_values(baseline, line, name, paired, target)) for name in grid.score_on}
        return cls(grid, tuple(lines.values()), paired)

    def rows(self) -> list[Columns]:
        """Return the cells of the table as text, with the same columns in each row."""
        return [self._columns(line) for line in self.lines]

    def _columns(self, line: Line) -> Columns:
        columns = {"seeds": f"{len(line.done)}", "perplexity": spread(line.perplexity())}
        published = self.grid.published
        if published and published.perplexity:
            columns["published perplexity"] = str(published.perplexity.get(row_name(line.row), MISSING))
        for name in self.grid.score_on:
            columns[f"BLEU {name}"] = spread(line.bleus(name))
            columns[f"p {name}"] = self._p(line, name)
        if published and published.bleu:
            columns["published BLEU"] = str(published.bleu.get(row_name(line.row), MISSING))
        columns["remarks"] = self._remarks(line)
        names = (f"axis {axis.name}" if axis.name in columns else axis.name for axis in self.grid.axes)
        return dict(zip(names, line.row, strict=True)) | columns

    def _p(self, line: Line, name: str) -> str:
        """Return the largest p-value over seeds, which is evidence only if all seeds differ in the same direction."""
        p_values = line.p_values.get(name)
        if not p_values:
            return MISSING
        baseline = next(other for other in self.lines if other.row == self.grid.baseline)
        differences = [line.bleu(name, seed) - baseline.bleu(name, seed) for seed in p_values]
        if min(differences) < 0 < max(differences):
            return SIGNS_DIFFER
        return f"{max(p_values.values()):.3f}"

    def _remarks(self, line: Line) -> str:
        remarks = ["baseline"] if line.row == self.grid.baseline else []
        reasons: dict[str, list[str]] = {}
        for seed, reason in line.failed.items():
            reasons.setdefault(reason, []).append(str(seed))
        return "; ".join([*remarks, *(f"seed {', '.join(seeds)}: {reason}" for reason, seeds in reasons.items())])

    def notes(self) -> list[str]:
        """Return sentences on how to read the table."""
        notes = [
            "Mean ± standard deviation over seeds. Perplexity is that of the validation set, per token.",
            f"p: sacreBLEU's {TESTS[self.paired]} against the baseline row with the same seed, the largest over seeds; "
            f'"{SIGNS_DIFFER}" if some seeds are better and others worse. It covers the choice of test sentences, not '
            "that of training runs, and is not corrected for the number of rows.",
        ]
        if len({cell.config.tokenizer for cell in self.grid.cells}) > 1:
            notes.append("Perplexities of rows with different tokenizers cannot be compared.")
        return [*notes, *self._signatures(), *self._correlations()]

    def _signatures(self) -> Iterable[str]:
        """Yield each signature of BLEU; several, as for several target languages, with their rows."""
        rows: dict[str, list[str]] = {}
        for line in self.lines:
            scores = (record["scores"][name] for _, record in line.done.values() for name in self.grid.score_on)
            for signature in dict.fromkeys(score["bleu"]["signature"] for score in scores):
                rows.setdefault(signature, []).append(row_name(line.row))
        for signature, names in rows.items():
            of = f" of {'; '.join(names)}" if len(rows) > 1 else ""
            yield f"BLEU signature{of}: {signature}"

    def _correlations(self) -> Iterable[str]:
        """Yield the rank correlations with published scores."""
        published = self.grid.published
        if published is None:
            return
        ours = {
            "perplexity": (published.perplexity, Line.perplexity),
            "BLEU": (published.bleu, lambda line: line.bleus(self.grid.score_on[0])),
        }
        for name, (theirs, values) in ours.items():
            pairs = [
                (statistics.fmean(values(line)), theirs[row_name(line.row)])
                for line in self.lines
                if line.done and row_name(line.row) in theirs
            ]
            if len(pairs) > 2:
                rho = rank_correlation(*zip(*pairs, strict=True))
                yield f"Rank correlation (Spearman) of {name} with {published.source}: {rho:.2f}, {len(pairs)} rows."

    def as_dict(self) -> Record:
        """Return the table as plain data, without sentences of the corpora."""
        return {
            "kind": "grid",
            "name": self.grid.name,
            "axes": [axis.name for axis in self.grid.axes],
            "baseline": list(self.grid.baseline),
            "score_on": list(self.grid.score_on),
            "paired": self.paired,
            "published": None if self.grid.published is None else self.grid.published.model_dump(),
            "rows": [
                {
                    "row": list(line.row),
                    "seeds": {str(seed): _kept(record) for seed, (_, record) in line.done.items()},
                    "failed": {str(seed): reason for seed, reason in line.failed.items()},
                    "p_values": {
                        name: {str(seed): p for seed, p in values.items()} for name, values in line.p_values.items()
                    },
                }
                for line in self.lines
            ],
            "table": self.rows(),
            "notes": self.notes(),
        }


def spread(values: Sequence[float]) -> str:
    """Return mean and standard deviation of a sample; the mean alone for one value, nothing for none."""
    if not values:
        return MISSING
    mean = statistics.fmean(values)
    form = ".2f" if abs(mean) < 1e6 else ".2e"  # the perplexity of a diverged model has hundreds of digits
    deviation = f" ± {statistics.stdev(values):{form}}" if len(values) > 1 and math.isfinite(mean) else ""
    return f"{mean:{form}}{deviation}"


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Spearman's rank correlation; ties share their mean rank. NaN if one side is constant."""
    if len(set(a)) == 1 or len(set(b)) == 1:
        return math.nan
    return statistics.correlation(_ranks(a), _ranks(b))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) - 1) / 2 for value in values]


def _add(line: Line, task: Task) -> None:
    """Add what the record of a cell says to its line."""
    folder = Path(task.record)
    record = records.read(folder)
    if record is None:
        line.failed[task.seed] = "not run yet"
    elif record["status"] == DONE:
        line.done[task.seed] = (folder, record)
    else:
        line.failed[task.seed] = record["reason"]


def _p_values(baseline: Line, line: Line, name: str, paired: Test, target: str) -> Iterable[tuple[int, float]]:
    """Yield the p-value of each seed that both rows have; none if the references differ, as in another direction."""
    for seed in sorted(baseline.done.keys() & line.done.keys()):
        (folder, record), (other_folder, other) = baseline.done[seed], line.done[seed]
        if other["texts"][f"{name}.ref"] == record["texts"][f"{name}.ref"]:
            references = records.read_text(folder, f"{name}.ref", record)
            ours = records.read_text(folder, f"{name}.hyp", record)
            yield seed, p_value(ours, records.read_text(other_folder, f"{name}.hyp", other), references, paired, target)


def p_value(
    baseline: Sequence[str], system: Sequence[str], references: Sequence[str], paired: Test, target: str = ""
) -> float:
    """Return the p-value of the difference in BLEU, by sacreBLEU's own test with its own number of samples.

    Args:
        baseline, system: translations of the same text.
        references: one for each line.
    """
    _, score = paired_test([baseline, system], references, metrics(target)[0], paired)
    assert score.p_value is not None
    return score.p_value


def _kept(record: Record) -> Record:
    """Return what the table keeps of a record."""
    keys = ("scores", "perplexity", "parameters", "steps", "tokens", "seconds", "inputs", "decoding", "environment")
    return {key: record[key] for key in keys} | {"trained": record.get("trained", [])}  # older records have none
