"""BLEU and chrF++ of `translate text` with its checks and without, on line-aligned test sets.

python scripts/bench.py guards de-en data/tatoeba/test data/test/newstest2014 data/test/ted-tst2012
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness import Case, add_sets, model_facts, name_of, read_set
from records import Record, linked, model_name
from tqdm import tqdm

from translate.evaluation.scores import score
from translate.inference.translator import Translator
from translate.text.translation import Document


def run(args: argparse.Namespace) -> Record:
    """Translate the test sets twice."""
    translators = {
        name: Translator.load(args.model, document=Document(format="lines", checks=checks))
        for name, checks in (("checks", True), ("no_checks", False))
    }
    sets = {name_of(path): compare(translators, args, path) for path in tqdm(args.sets, unit=" sets")}
    return {**model_facts(args.model), "sets": sets}


def compare(translators: Mapping[str, Translator], args: argparse.Namespace, path: Path) -> Record:
    """Return the scores of a test set with and without checks, and how often each flag occurs."""
    spec = translators["checks"].engine.spec
    sources, references = zip(*read_set(args, path, spec), strict=True)
    record: Record = {"lines": len(sources)}
    found = {name: list(translator.passages(sources)) for name, translator in translators.items()}
    for name, translations in found.items():
        scores = score([translation.text for translation in translations], references, target=spec.target)
        record[name] = {"bleu": round(scores.bleu.value, 2), "chrf++": round(scores.chrf.value, 2)}
    record["different"] = sum(a.text != b.text for a, b in zip(*found.values(), strict=True))
    record["flags"] = dict(Counter(flag for translation in found["checks"] for flag in translation.flags))
    return record


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield one row for each set."""
    for name, found in record["sets"].items():
        yield {
            "model": linked(model_name(record), record),
            "set": name,
            "lines": f"{found['lines']:,}",
            "BLEU without": f"{found['no_checks']['bleu']:.2f}",
            "BLEU": f"{found['checks']['bleu']:.2f}",
            "chrF++ without": f"{found['no_checks']['chrf++']:.2f}",
            "chrF++": f"{found['checks']['chrf++']:.2f}",
            "different lines": str(found["different"]),
            "flags": ", ".join(f"{flag} {n}" for flag, n in found["flags"].items()),
        }


CASE = Case("Checks of `translate text`", add_sets, run, rows)
