"""Every option of `decode`, alone and with every other: both take effect, or one sentence gives the conflict.

Each option has a check of the output records that must hold alone and in combination. Sentences are short, because a
term, a prefix and an alternative must all fit.
"""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from translate.commands.main import main
from translate.models.folder import ModelFolder

Record = dict[str, Any]
LINES = ["der Hund singt im Haus.", "am See", "der Hund läuft."]
PREFIXES = ["the dog", "", "a"]


def begins(records: list[Record], prefixes: list[str]) -> bool:
    return all(r["text"].startswith(prefix) for r, prefix in zip(records, prefixes, strict=True))


def has_terms(records: list[Record]) -> bool:
    texts = [[r["text"], *(t["text"] for t in r.get("alternatives", []))] for r in records]
    return all("dog" in text for r, own in zip(records, texts, strict=True) if "Hund" in r["source"] for text in own)


def repeats_nothing(records: list[Record]) -> bool:
    pairs = [list(itertools.pairwise(r["tokens"])) for r in records]
    return all(len(set(own)) == len(own) for own in pairs)


def is_listed(records: list[Record]) -> bool:
    """At most 3 alternatives, the first of which is the translation."""
    return all(r["alternatives"][0]["text"] == r["text"] and len(r["alternatives"]) <= 3 for r in records)


def is_aligned(records: list[Record]) -> bool:
    words = [(len(r["source"].split()), len(r["text"].split())) for r in records]
    return all(s < n and t < m for r, (n, m) in zip(records, words, strict=True) for s, t in r["alignment"])


def has_other_tokens(records: list[Record]) -> bool:
    places = [list(zip([*r["tokens"], None], r["token_alternatives"], strict=True)) for r in records]
    return all(len(o) <= 2 and token not in [x["token"] for x in o] for own in places for token, o in own)


def goes_on(records: list[Record]) -> bool:
    """Each branch has its own text, and so its own probability."""
    texts = [[t["log_prob"] for t in r["alternatives"]] for r in records]
    return has_other_tokens(records) and all(1 <= len(own) <= 3 and len(set(own)) == len(own) for own in texts)


def averages(records: list[Record]) -> bool:
    """A coverage penalty is never above 0, so it cannot raise the score."""
    return all(r["score"] <= r["log_prob"] / (len(r["tokens"]) + 1) + 1e-9 for r in records)


def sums(records: list[Record]) -> bool:
    return all(r["score"] <= r["log_prob"] + 1e-9 for r in records)


def anything(records: list[Record]) -> bool:
    return True


OPTIONS: dict[str, Callable[[list[Record]], bool]] = {
    "--sample --seed 3": anything,
    "--sample --temperature 0.5 --top-k 9 --top-p 0.9": anything,
    "--mbr 3": anything,
    "--prefix the": lambda records: begins(records, ["the"] * 3),
    "--prefixes prefixes": lambda records: begins(records, PREFIXES),
    "--prefix-column": lambda records: begins(records, PREFIXES),
    "--ensemble model": anything,
    "--constrain terms": has_terms,
    "--no-repeat 2": repeats_nothing,
    "--coverage 0.3": lambda records: all(r["score"] < 0 for r in records),
    "--length-penalty average": averages,
    "--length-penalty none": sums,
    "--alpha 1": anything,
    "--beam 3": anything,
    "--paper": anything,
    "--precision bf16": anything,
    "--n-best 2": is_listed,
    "--align": is_aligned,
    "--alternatives 2": has_other_tokens,
    "--alternatives 2 --alternatives-at 1": goes_on,
}
REFUSED = {
    frozenset(pair)
    for pair in [
        *itertools.product(["--prefix the"], ["--prefixes prefixes", "--prefix-column"]),
        ("--prefixes prefixes", "--prefix-column"),
        *itertools.product(["--alpha 1"], ["--length-penalty average", "--length-penalty none"]),
        *itertools.product(["--paper"], ["--alpha 1", "--length-penalty average", "--length-penalty none", "--beam 3"]),
        *itertools.product(
            ["--sample --seed 3", "--sample --temperature 0.5 --top-k 9 --top-p 0.9", "--mbr 3"],
            ["--constrain terms", "--coverage 0.3", "--beam 3", "--paper", "--alternatives 2 --alternatives-at 1"],
        ),
        *itertools.product(
            ["--mbr 3"],
            ["--sample --seed 3", "--sample --temperature 0.5 --top-k 9 --top-p 0.9", "--n-best 2"],
        ),
        ("--n-best 2", "--alternatives 2 --alternatives-at 1"),
    ]
}
# If an option is given twice, the last one counts, as usual on a command line.
ALIKE = {frozenset(pair) for pair in itertools.combinations(OPTIONS, 2) if pair[0].split()[0] == pair[1].split()[0]}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSLATE_MODEL", str(parts.folder))
    Path("model").symlink_to(parts.folder)
    Path("prefixes").write_text("\n".join(PREFIXES) + "\n", encoding="utf-8")
    columns = [f"{line}\t{prefix}\n" for line, prefix in zip(LINES, PREFIXES, strict=True)]
    Path("columns").write_text("".join(columns), encoding="utf-8")
    Path("terms").write_text("Hund\tdog\n", encoding="utf-8")


@pytest.mark.parametrize(
    "options",
    [
        *((option,) for option in OPTIONS),
        *(pair for pair in itertools.combinations(OPTIONS, 2) if frozenset(pair) not in ALIKE),
    ],
    ids=" with ".join,
)
def test_pairs_of_options_take_effect_together_or_give_a_one_sentence_error(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = " ".join(options).split()
    source = ["--input", "columns"] if "--prefix-column" in options else LINES
    code = main(["decode", "--json", *arguments, *source])
    out, error = capsys.readouterr()
    if frozenset(options) in REFUSED:
        assert (code, out, error.count("\n")) == (2, "", 1)
        return
    assert code == 0, error
    records = [json.loads(line) for line in out.splitlines()]
    assert [r["source"] for r in records] == LINES
    for option in options:
        assert OPTIONS[option](records), option
