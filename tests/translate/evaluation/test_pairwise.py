"""p-values equal those of the `sacrebleu` command; planted differences are found, identical systems are equal."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from translate.errors import UserError
from translate.evaluation.scores import Test, paired_scores

NOUNS = ("dog", "cat", "bird", "child", "cow", "house", "river")
REFERENCES = [
    f"The {NOUNS[i % 7]} number {i} sleeps in the old {NOUNS[i % 5]} of Mr {i % 3}, doesn't it?" for i in range(201)
]


def system(seed: int, share: float) -> list[str]:
    """The references with one word replaced in a share of the lines."""
    chosen = random.Random(seed)
    return [line.replace("sleeps", "walks") if chosen.random() < share else line for line in REFERENCES]


@pytest.mark.parametrize(("test", "option"), [("bootstrap", "--paired-bs"), ("ar", "--paired-ar")])
def test_the_p_values_are_those_of_the_command(test: Test, option: str, tmp_path: Path) -> None:
    """Compared with the program run on two saved outputs."""
    outputs = [system(1, 0.3), system(2, 0.35)]
    for name, lines in zip("abr", [*outputs, REFERENCES], strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "r", "-i", "a", "b", "-m", "bleu", "chrf", "ter"]
    done = subprocess.run(
        [*command, "--chrf-word-order", "2", option, "--format", "latex", "-w", "6"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    row = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["b"])
    _, *theirs = (re.findall(r"\d+\.\d+", cell) for cell in row.split(" & "))
    _, ours = paired_scores(outputs, REFERENCES, test)
    assert [f"{score.p_value:.4f}" for score in ours.by_name().values()] == [cell[-1] for cell in theirs]
    assert [f"{score.value:.6f}" for score in ours.by_name().values()] == [cell[0] for cell in theirs]
    assert 0.01 < ours.bleu.p_value < 0.99, "a value in between says more"


@pytest.mark.parametrize("test", ["bootstrap", "ar"])
def test_five_percent_of_replaced_sentences_are_found(test: Test) -> None:
    replaced = [NOUNS[i % 7] if i % 20 == 3 else line for i, line in enumerate(system(1, 0.3))]
    assert sum(a != b for a, b in zip(replaced, system(1, 0.3), strict=True)) == 10
    _, worse = paired_scores([system(1, 0.3), replaced], REFERENCES, test)
    assert all(score.p_value < 0.05 for score in worse.by_name().values())


@pytest.mark.parametrize("test", ["bootstrap", "ar"])
def test_an_identical_system_is_not_different(test: Test) -> None:
    first, same = paired_scores([system(1, 0.3), system(1, 0.3)], REFERENCES, test)
    assert [score.p_value for score in first.by_name().values()] == [None] * 3
    assert [score.p_value for score in same.by_name().values()] == [1.0] * 3


def test_every_system_is_compared_with_the_first() -> None:
    """The order of the other systems does not matter."""
    a, b, c = system(1, 0.2), system(2, 0.4), system(3, 0.3)
    _, of_b, of_c = paired_scores([a, b, c], REFERENCES, "bootstrap")
    _, again_c, again_b = paired_scores([a, c, b], REFERENCES, "bootstrap")
    assert (of_b, of_c) == (again_b, again_c)


def test_intervals_belong_to_bootstrap_and_to_ar_on_demand() -> None:
    outputs = [system(1, 0.3), system(2, 0.3)]
    bootstrap, plain, asked = (
        paired_scores(outputs, REFERENCES, test, confidence=confidence)[1].bleu
        for test, confidence in (("bootstrap", False), ("ar", False), ("ar", True))
    )
    assert plain.interval is None
    assert bootstrap.interval > 0
    assert asked.interval > 0
    assert (asked.p_value, asked.value) == (plain.p_value, bootstrap.value)


def test_unequal_counts_are_an_error() -> None:
    with pytest.raises(UserError, match="201 references"):
        paired_scores([REFERENCES, REFERENCES[1:]], REFERENCES, "ar")
