"""The scores of several systems on several test sets, as rows of a table and as plain data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from translate.evaluation.scores import TESTS, Score, Scores, Test


@dataclass(frozen=True)
class Result:
    """One system on one test set.

    Attributes:
        test_set, system: their names.
        scores: by sacreBLEU.
        others: scores by other metrics, by their names.
        seconds: time of the search; None for saved output.
    """

    test_set: str
    system: str
    scores: Scores
    others: dict[str, Score]
    seconds: float | None

    def by_name(self) -> dict[str, Score]:
        """Return all scores by the names of their metrics."""
        return self.scores.by_name() | self.others

    def as_dict(self) -> dict[str, object]:
        """Return plain data for JSON."""
        names = {"set": self.test_set, "system": self.system}
        others = {name.lower(): score.as_dict() for name, score in self.others.items()}
        seconds = {} if self.seconds is None else {"seconds": round(self.seconds, 2)}
        return names | self.scores.as_dict() | others | seconds


def rows(results: Sequence[Result]) -> list[dict[str, str]]:
    """Return a row for each result, with the same columns in each; cells without a value are empty."""
    several = len({result.system for result in results}) > 1
    table = []
    for result in results:
        row = {
            "set": result.test_set,
            "system": result.system if several else "",
            "lines": f"{result.scores.n_lines:,}",
        }
        for name, score in result.by_name().items():
            row[name] = _cell(name, score)
            row[f"p {name}"] = "" if score.p_value is None else f"{score.p_value:.4f}"
        table.append(row | {"seconds": "" if result.seconds is None else f"{result.seconds:.1f}"})
    return table


def notes(results: Sequence[Result], test: Test | None) -> list[str]:
    """Return sentences on how to read the table, and the signature of each metric once."""
    said = []
    if any(score.interval is not None for result in results for score in result.by_name().values()):
        said.append("(mean ± interval): mean of the bootstrap resamples, half the width of the 95 % interval.")
    if test:
        said.append(f"p: {TESTS[test]} against {results[0].system}; equal scores have p = 1.")
    return [*said, *dict.fromkeys(_signatures(results))]


def _cell(name: str, score: Score) -> str:
    value = f"{score.value:.4f}" if name == "COMET" else f"{score.value:.2f}"
    return value if score.interval is None else f"{value} ({score.mean:.2f} ± {score.interval:.2f})"


def _signatures(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        for name, score in result.by_name().items():
            yield f"{name}  {score.signature}"
