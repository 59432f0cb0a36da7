#!/usr/bin/env python3
"""Measure how well scores of translations predict bad ones, on line-aligned development sets.

    python scripts/bench_confidence.py de-en --rerank en-de data/tatoeba/dev data/test/newstest2013

A set is a path without ".LANGUAGE" and the suffix. For each score: Spearman's rank correlation with the sentence chrF.
For the checks of `translate text`: how many sentences they call suspicious, and the share of those whose chrF is below
the median of the set. BLEU and chrF of the whole set. Each is measured without reranking ("alone") and with it
("reranked"), which also chooses other translations. The last line is a JSON record.

    mean       mean log-probability of a token: `Translation.confidence`
    sum        log-probability of the translation
    gnmt       the same with the length penalty of the search
    reverse    mean log-probability of a token of the source given the translation: `Translation.reverse_log_prob`
    reranked   `Translation.rerank_score`
"""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import sacrebleu
from tqdm import tqdm

from translate.experiments.table import rank_correlation
from translate.files import read_lines
from translate.inference.translator import Translator
from translate.text.translation import Translation
from translate.training.run import commit


def main(argv: Sequence[str] | None = None) -> int:
    """Translate the sets and print the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name of a model, or a folder")
    parser.add_argument("sets", nargs="+", type=Path, help="development sets")
    parser.add_argument("--rerank", help="model of the opposite direction")
    parser.add_argument("--suffix", default=".gz", help="end of the file names (default: .gz)")
    parser.add_argument("--lines", type=int, help="use only the first lines of each set")
    args = parser.parse_args(argv)
    translators = {"alone": Translator.load(args.model, format="lines")}
    if args.rerank:
        translators["reranked"] = Translator.load(args.model, rerank=args.rerank, format="lines")
    sets = {
        f"{path.parent.name}/{path.name}": measure(translators, path, args.suffix, args.lines)
        for path in tqdm(args.sets, unit=" sets")
    }
    record = {
        "kind": "bench_confidence",
        "commit": commit(),
        "model": args.model,
        "rerank": args.rerank,
        "precision": getattr(translators["alone"].engine, "precision", None),
        "sets": sets,
    }
    print(json.dumps(record))
    return 0


def measure(
    translators: Mapping[str, Translator], path: Path, suffix: str, n_lines: int | None
) -> dict[str, dict[str, object]]:
    """Return the measurements of one set with each translator.

    Args:
        translators: without and with reranking.
        path, suffix: the names of both files without the language.
        n_lines: number of lines to use, from the first; None uses all.
    """
    spec = translators["alone"].engine.spec
    sources, references = (
        list(read_lines(Path(f"{path}.{side}{suffix}")))[:n_lines] for side in (spec.source, spec.target)
    )
    return {name: measured(list(translator.passages(sources)), references) for name, translator in translators.items()}


def measured(found: Sequence[Translation], references: Sequence[str]) -> dict[str, object]:
    """Return the scores of the translations, the counts and the correlations."""
    texts, metric = [one.text for one in found], sacrebleu.CHRF()
    chrf = [metric.sentence_score(text, [reference]).score for text, reference in zip(texts, references, strict=True)]
    median = statistics.median(chrf)
    return {
        "lines": len(found),
        "bleu": round(sacrebleu.corpus_bleu(texts, [references]).score, 2),
        "chrf": round(metric.corpus_score(texts, [references]).score, 2),
        "median_chrf": round(median, 1),
        "suspicious": suspicious(found, [score < median for score in chrf]),
        "spearman": {name: round(rank_correlation(values, chrf), 3) for name, values in scores_of(found).items()},
    }


def suspicious(found: Sequence[Translation], below: Sequence[bool]) -> dict[str, float]:
    """Return the number of suspicious sentences, and the share of them below the median.

    Args:
        found: the translations, with the flags of the checks.
        below: whether the chrF of each is below the median.
    """
    chosen = [is_below for one, is_below in zip(found, below, strict=True) if one.suspicious]
    return {"sentences": len(chosen), "below_median": round(sum(chosen) / max(1, len(chosen)), 3)}


def scores_of(found: Sequence[Translation]) -> dict[str, list[float]]:
    """Return the values of each score for all translations."""
    scores = {
        "mean": [one.confidence for one in found],
        "sum": [one.log_prob for one in found],
        "gnmt": [one.score for one in found],
    }
    if any(one.rerank_score is not None for one in found):
        scores["reverse"] = [one.reverse_log_prob or 0.0 for one in found]
        scores["reranked"] = [one.confidence if one.rerank_score is None else one.rerank_score for one in found]
    return scores


if __name__ == "__main__":
    sys.exit(main())
