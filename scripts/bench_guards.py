#!/usr/bin/env python3
"""BLEU and chrF++ of `translate text` with its checks and without, on line-aligned test sets.

    python scripts/bench_guards.py de-en data/tatoeba/test data/test/newstest2014 data/test/ted-tst2012

A test set is a path without ".LANGUAGE.gz". The last line is a JSON record.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from contenders import layers
from tqdm import tqdm

from translate.evaluation.scores import score
from translate.files import read_lines
from translate.inference.translator import Translator
from translate.text.translation import Document, Translation
from translate.training.run import commit


def main(argv: Sequence[str] | None = None) -> int:
    """Translate the test sets twice and print the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name of a model, or a folder")
    parser.add_argument("sets", nargs="+", type=Path, help="test sets")
    args = parser.parse_args(argv)
    translators = [
        Translator.load(args.model, document=Document(format="lines", checks=checks)) for checks in (True, False)
    ]
    sets = {f"{path.parent.name}/{path.name}": compare(translators, path) for path in tqdm(args.sets, unit=" sets")}
    model = {"model": args.model, "layers": layers(Path(args.model))}
    print(json.dumps({"kind": "bench_guards", "commit": commit(), **model, "sets": sets}))
    return 0


def compare(translators: Sequence[Translator], path: Path) -> dict[str, object]:
    """Return the scores of a test set with and without checks, and how often each flag occurs."""
    spec = translators[0].engine.spec
    sources, references = (list(read_lines(Path(f"{path}.{side}.gz"))) for side in (spec.source, spec.target))
    record: dict[str, object] = {"lines": len(sources)}
    found: list[list[Translation]] = []
    for translator, name in zip(translators, ("checks", "no_checks"), strict=True):
        found.append(list(translator.passages(sources)))
        scores = score([translation.text for translation in found[-1]], references, target=spec.target)
        record[name] = {"bleu": round(scores.bleu.value, 2), "chrf++": round(scores.chrf.value, 2)}
    record["different"] = sum(a.text != b.text for a, b in zip(*found, strict=True))
    record["flags"] = dict(Counter(flag for translation in found[0] for flag in translation.flags))
    return record


if __name__ == "__main__":
    sys.exit(main())
