"""How well scores of translations predict bad ones, on line-aligned development sets.

    python scripts/bench.py confidence de-en data/tatoeba/dev data/test/newstest2013 --rerank en-de
    python scripts/bench.py confidence de-en data/tatoeba/dev data/test/newstest2013 --rerank en-de --tune

For each score: Spearman's rank correlation with the sentence chrF. For the checks of `translate text`: how many
sentences they call suspicious, and the share of those whose chrF is below the median of the set. BLEU and chrF of the
whole set. Each is measured without reranking ("alone") and with it
("reranked"), which also chooses other translations.

    mean       mean log-probability of a token: `Translation.confidence`
    sum        log-probability of the translation
    gnmt       the same with the length penalty of the search
    reverse    mean log-probability of a token of the source given the translation: `Translation.reverse_log_prob`
    reranked   `Translation.rerank_score`

With --tune, the record also has the values that a model's translation.json keeps: the weight of reranking with the best
mean BLEU, and for both scores the greatest limit under which at least nine of ten sentences are below the median of
their set. `scripts/ship.py` writes them.
"""

import argparse
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sacrebleu
from harness import Case, add_sets, name_of, read_set
from records import Record, linked
from tqdm import tqdm

from translate.corpus.sources import Pair
from translate.experiments.table import rank_correlation
from translate.inference.translator import Translator
from translate.text.translation import Document, Search, Translation

WEIGHTS = (0.1, 0.25, 0.5, 1.0)  # of the reverse direction, that are tried
SURE = 0.9  # share of the sentences under a limit that must be below the median of their set
LEAST = 20  # sentences under a limit; fewer say nothing
STEP = 0.05  # between limits


@dataclass(frozen=True)
class Tuned:
    """Values of translation.json: see `TranslationSpec`."""

    low_confidence: float | None
    low_rerank_score: float | None = None
    reverse_weight: float | None = None


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_sets(parser)
    parser.add_argument("--rerank", help="model of the opposite direction")
    parser.add_argument("--tune", action="store_true", help="choose the weight of reranking and the limits")


def run(args: argparse.Namespace) -> Record:
    """Translate the sets without reranking, and with it."""
    alone = Translator.load(args.model, document=Document(format="lines"))
    translators = {"alone": alone}
    if args.rerank:
        translators["reranked"] = Translator.load(
            args.model, Search(rerank=args.rerank), document=Document(format="lines")
        )
    sets = {name_of(path): read_set(args, path, alone.engine.spec) for path in args.sets}
    record: Record = {
        "model": args.model,
        "rerank": args.rerank,
        "precision": getattr(alone.engine, "precision", None),
        "sets": {},
    }
    for name, pairs in tqdm(sets.items(), unit=" sets"):
        sources, references = zip(*pairs, strict=True)
        record["sets"][name] = {
            how: measured(list(translator.passages(sources)), references) for how, translator in translators.items()
        }
    if args.tune:
        record["tuned"] = asdict(tuned(args.model, args.rerank, sets.values()))
    return record


def tuned(model: Path | str, rerank: Path | str | None, sets: Iterable[Sequence[Pair]]) -> Tuned:
    """Return the values of a model, chosen on development sets.

    Args:
        model: name of a model, or a folder.
        rerank: model of the opposite direction; None leaves out what needs one.
        sets: sources and references.
    """
    sides = [tuple(zip(*pairs, strict=True)) for pairs in sets]
    references = [list(reference) for _, reference in sides]
    alone = Translator.load(model)
    found = [list(alone.translate_lines(source)) for source, _ in sides]
    low = limit([one.confidence for several in found for one in several], below_median(found, references))
    if rerank is None:
        return Tuned(low)
    reranking = Translator.load(model, Search(rerank=rerank))
    beam = reranking.sentence_search.config.beam_size
    lists = [list(reranking.n_best(source, beam)) for source, _ in sides]
    chosen = {weight: [[best_of(several, weight) for several in of_set] for of_set in lists] for weight in WEIGHTS}

    def bleu(weight: float) -> float:
        texts = [[one.text for one in of_set] for of_set in chosen[weight]]
        return statistics.mean(
            sacrebleu.corpus_bleu(own, [reference]).score for own, reference in zip(texts, references, strict=True)
        )

    weight = max(WEIGHTS, key=bleu)
    scores = [rerank_score(one, weight) for of_set in chosen[weight] for one in of_set]
    return Tuned(low, limit(scores, below_median(chosen[weight], references)), weight)


def rerank_score(translation: Translation, weight: float) -> float:
    """Return the score of reranking with a weight of the reverse direction; 0 for a line that was not reranked."""
    reverse = translation.reverse_log_prob
    return 0.0 if reverse is None else translation.confidence + weight * reverse


def best_of(hypotheses: Sequence[Translation], weight: float) -> Translation:
    """Return the hypothesis with the highest score of reranking; the first if there are no scores."""
    scored = [one for one in hypotheses if one.reverse_log_prob is not None]
    return max(scored, key=lambda one: rerank_score(one, weight)) if scored else hypotheses[0]


def below_median(found: Sequence[Sequence[Translation]], references: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each translation of all sets whether its chrF is below the median of its set."""
    below = []
    for translations, own in zip(found, references, strict=True):
        chrf = sentence_chrf([one.text for one in translations], own)
        median = statistics.median(chrf)
        below += [score < median for score in chrf]
    return below


def limit(scores: Sequence[float], below: Sequence[bool]) -> float | None:
    """Return the greatest limit under which the share SURE of the sentences is below the median; None if there is none.

    Args:
        scores: of each sentence, at most 0.
        below: whether the chrF of each is below the median of its set.
    """
    for step in range(1, round(-min(scores) / STEP) + 1):
        least = round(-step * STEP, 2)
        under = [is_below for score, is_below in zip(scores, below, strict=True) if score < least]
        if len(under) < LEAST:
            return None
        if sum(under) >= SURE * len(under):
            return least
    return None


def sentence_chrf(texts: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return the chrF of each sentence."""
    metric = sacrebleu.CHRF()
    return [metric.sentence_score(text, [reference]).score for text, reference in zip(texts, references, strict=True)]


def measured(found: Sequence[Translation], references: Sequence[str]) -> dict[str, object]:
    """Return the scores of the translations, the counts and the correlations."""
    texts, metric = [one.text for one in found], sacrebleu.CHRF()
    chrf = sentence_chrf(texts, references)
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


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield one row for each set, without and with reranking."""
    for name, found in record["sets"].items():
        alone, reranked = found["alone"], found["reranked"]
        suspicious = reranked["suspicious"]
        yield {
            "model": linked(record["model"], record),
            "set": name,
            "lines": f"{alone['lines']:,}",
            "BLEU alone": f"{alone['bleu']:.1f}",
            "BLEU": f"{reranked['bleu']:.1f}",
            "chrF alone": f"{alone['chrf']:.1f}",
            "chrF": f"{reranked['chrf']:.1f}",
            "suspicious": f"{suspicious['sentences']:,}",
            "of these below the median chrF": f"{suspicious['below_median']:.0%}" if suspicious["sentences"] else "",
        }


CASE = Case("Reranking by the model of the other direction", options, run, rows)
