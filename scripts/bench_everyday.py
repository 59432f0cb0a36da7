#!/usr/bin/env python3
"""Score a model on 200 single words and short greetings: accepted answers, loops, answers that are too long.

    python scripts/bench_everyday.py de-en                # an installed model, a model folder or a run
    python scripts/bench_everyday.py runs/mine --list scripts/data/everyday.en-de.tsv

A line of the list is an item and its accepted answers, separated by tabs, the best one first. Case, commas, punctuation
at either end, an article before an answer and the "to" of an infinitive are ignored. An answer loops if the same
characters occur four times or the same words three times in a row. It is too long if it has more than three times the
characters of the longest accepted answer. Failures are printed; the last line is a JSON record.
"""

import argparse
import json
import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
MAX_GROWTH = 3
GOOD = {"accepted": True, "loops": False, "too_long": False}

_IGNORED = re.compile(r"^[\W_]+|[\W_]+$")
_IN_FRONT = re.compile(r"^(?:the|an?|to|der|die|das|den|dem|eine?|einen) (?=\S)")
_LOOP = re.compile(r"([^\s\d]+?)\1{3,}|\b(\w+(?:\W+\w+){0,4}?)(?:\W+\2\b){2,}")


def main(argv: Sequence[str] | None = None) -> int:
    """Translate the list, print failures and the record."""
    from translate.commands.text import Text, open_translator
    from translate.text.translation import Document, Opening

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name of an installed model, or a folder")
    parser.add_argument("--list", type=Path, help="items and answers; by default those of the model's languages")
    parser.add_argument("--no-checks", action="store_true", help="translate without the checks of `text`")
    args = parser.parse_args(argv)
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
    asked = {"model": args.model, "list": path.name, "checks": not args.no_checks}
    print(json.dumps({"kind": "bench_everyday", **asked, **totals(verdicts)}))
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
