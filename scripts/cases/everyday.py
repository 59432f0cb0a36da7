"""200 single words and short greetings: accepted answers, loops, answers that are too long.

    python scripts/bench.py everyday de-en                # an installed model, a model folder or a run
    python scripts/bench.py everyday runs/mine --list scripts/data/everyday.en-de.tsv

A line of the list is an item and its accepted answers, separated by tabs, the best one first. Case, commas, punctuation
at either end, an article before an answer and the "to" of an infinitive are ignored. An answer loops if the same
characters occur four times or the same words three times in a row. It is too long if it has more than three times the
characters of the longest accepted answer. Failures are printed.
"""

import argparse
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness import Case
from records import Record, linked

from translate.commands.text import Text, open_translator
from translate.text.translation import Document, Opening

DATA = Path(__file__).resolve().parents[1] / "data"
MAX_GROWTH = 3
GOOD = {"accepted": True, "loops": False, "too_long": False}

_IGNORED = re.compile(r"^[\W_]+|[\W_]+$")
_IN_FRONT = re.compile(r"^(?:the|an?|to|der|die|das|den|dem|eine?|einen) (?=\S)")
_LOOP = re.compile(r"([^\s\d]+?)\1{3,}|\b(\w+(?:\W+\w+){0,4}?)(?:\W+\2\b){2,}")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="name of an installed model, or a folder")
    parser.add_argument("--list", type=Path, help="items and answers; by default those of the model's languages")
    parser.add_argument("--no-checks", action="store_true", help="translate without the checks of `text`")


def run(args: argparse.Namespace) -> Record:
    """Translate the list and print failures."""
    translator = open_translator(Text(opening=Opening(model=args.model), document=Document(checks=not args.no_checks)))
    spec = translator.engine.spec
    path = args.list or DATA / f"everyday.{spec.source}-{spec.target}.tsv"
    items = read(path)
    verdicts = []
    translations = translator.passages(list(items))
    for translation, (item, accepted) in zip(translations, items.items(), strict=True):
        verdicts.append(judge(accepted, translation.text))
        if verdicts[-1] != GOOD:
            print(f"{item} -> {translation.text}  (accepted: {accepted[0]})")
    return {"model": args.model, "list": path.name, "checks": not args.no_checks, **totals(verdicts)}


def read(path: Path) -> dict[str, list[str]]:
    """Return the accepted answers of each item of a list, the best one first."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {item: answers for item, *answers in (line.split("\t") for line in lines)}


def plain(text: str) -> str:
    """Return a text for comparison: case-folded, without commas, punctuation at the ends and an article."""
    text = " ".join(unicodedata.normalize("NFC", text).replace("\u2019", "'").replace(",", " ").casefold().split())
    return _IN_FRONT.sub("", _IGNORED.sub("", text))


def judge(accepted: Sequence[str], answer: str) -> dict[str, bool]:
    """Return whether an answer is accepted, loops, or is too long, under the keys of `GOOD`."""
    return {
        "accepted": plain(answer) in set(map(plain, accepted)),
        "loops": _LOOP.search(answer.casefold()) is not None,
        "too_long": len(answer.strip()) > MAX_GROWTH * max(map(len, accepted)),
    }


def totals(verdicts: Sequence[Mapping[str, bool]]) -> dict[str, float | int]:
    """Return the counts for the record."""
    n = len(verdicts)
    counts = {name: sum(verdict[name] for verdict in verdicts) for name in GOOD}
    return {"items": n, **counts, "accepted_percent": round(100 * counts["accepted"] / n, 1)}


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield the row of a record."""
    yield {
        "model": linked(record["model"], record),
        "list": record["list"],
        "accepted": f"{record['accepted']} of {record['items']}",
        "loops, too long": f"{record['loops']}, {record['too_long']}",
    }


CASE = Case("Words and greetings", options, run, rows)
