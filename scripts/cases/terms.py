"""What a glossary costs in time and BLEU, and whether its terms arrive.

    python scripts/bench.py terms de-en data/test/newstest2013 --out scripts/results/terms-de-en.json

The terms are the `--terms` most frequent pairs of a noun (a capitalised word of at least four letters that is not the
first of its sentence) and a word of the reference that go together: their Dice coefficient, over the sentences that
they are in, is at least `--dice`, and each is the best partner of the other one. So the glossary says what a reader of
this set would say.

Measured are BLEU with and without the glossary, over all sentences and over those that it concerns; the same where the
glossary is used only for sentences whose reference has all of their target terms; the share of the target terms in the
translations; and the time of the sentences that it concerns, in pairs of runs whose order alternates: the median of the
ratios. "invented" is the time with target terms that the model never says, so that each sentence is searched twice.
"""

import argparse
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import sacrebleu
from harness import Case, add_sets, name_of, read_set, seconds_of
from records import Record, linked

from translate.inference.translator import Translator
from translate.text.glossary import Glossary, missing_terms
from translate.text.translation import Document, Translation

_WORD = re.compile(r"[^\W\d_]{4,}")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_sets(parser)
    parser.add_argument("--terms", type=int, default=200, help="number of terms (default: 200)")
    parser.add_argument("--dice", type=float, default=0.5, help="least association of a pair (default: 0.5)")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of timed runs (default: 5)")
    parser.add_argument("--timed", type=int, default=400, help="sentences of a timed run (default: 400)")


def run(args: argparse.Namespace) -> Record:
    """Translate the set with and without its glossary."""
    plain = Translator.load(args.model)
    (path,) = args.sets
    sources, references = zip(*read_set(args, path, plain.engine.spec), strict=True)
    terms = noun_pairs(sources, references, args.terms, args.dice)
    translators = {"plain": plain, "terms": Translator.load(args.model, document=Document(terms=terms))}
    invented = {source: f"Zorp{i}" for i, source in enumerate(terms)}
    timed = {"terms": translators["terms"], "invented": Translator.load(args.model, document=Document(terms=invented))}
    chosen = [source for source in sources if Glossary.of(terms).find(source)][: args.timed]
    return {
        "model": args.model,
        "precision": getattr(plain.engine, "precision", None),
        "set": name_of(path),
        "terms": len(terms),
        **quality(translators, sources, references, Glossary.of(terms)),
        "time": {name: compared(plain, one, chosen, args.pairs) for name, one in timed.items()},
    }


def noun_pairs(sources: Sequence[str], references: Sequence[str], n: int, least: float) -> dict[str, str]:
    """Return the most frequent pairs of a noun and a word of the references that go together.

    Args:
        sources, references: the set.
        n: number of pairs.
        least: Dice coefficient of a pair.
    """
    both, left, right = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for source, reference in zip(sources, references, strict=True):
        nouns = {m[0] for m in _WORD.finditer(source) if m.start() > 1 and m[0].istitle()}
        words = {m[0] for m in _WORD.finditer(reference)}
        left.update(nouns)
        right.update(words)
        both.update((noun, word) for noun in nouns for word in words)
    dice = {pair: 2 * k / (left[pair[0]] + right[pair[1]]) for pair, k in both.items() if k > 1}
    best: dict[str, float] = {}
    for pair, value in dice.items():
        for word in (f"s {pair[0]}", f"t {pair[1]}"):
            best[word] = max(best.get(word, 0.0), value)
    chosen = [
        pair
        for pair, value in dice.items()
        if value >= least and value == best[f"s {pair[0]}"] == best[f"t {pair[1]}"] and pair[0] != pair[1]
    ]
    return dict(sorted(chosen, key=lambda pair: (-both[pair], pair))[:n])


def quality(
    translators: Mapping[str, Translator], sources: Sequence[str], references: Sequence[str], glossary: Glossary
) -> Record:
    """Return BLEU with and without the glossary, and the share of the terms in the translations."""
    targets = [[term.target for term in glossary.find(source)] for source in sources]
    concerned = [i for i, found in enumerate(targets) if found]
    agreeing = [i for i in concerned if not missing_terms(references[i], targets[i])]
    found = {name: list(translator.passages(sources)) for name, translator in translators.items()}
    folded = [[target.casefold() for target in several] for several in targets]
    plain = [one.text for one in found["plain"]]
    given = [one.text for one in found["terms"]]
    mixed = [given[i] if i in {*agreeing} else text for i, text in enumerate(plain)]

    def bleu(texts: Sequence[str], lines: Sequence[int]) -> float:
        chosen = [[side[i] for i in lines] for side in (texts, references)]
        return round(sacrebleu.corpus_bleu(chosen[0], [chosen[1]]).score, 2)

    every = range(len(sources))
    return {
        "lines": len(sources),
        "with_terms": len(concerned),
        "reference_has_them": len(agreeing),
        "bleu": {"plain": bleu(plain, every), "terms": bleu(given, every), "terms_of_reference": bleu(mixed, every)},
        "bleu_of_lines_with_terms": {"plain": bleu(plain, concerned), "terms": bleu(given, concerned)},
        "bleu_of_lines_whose_reference_has_them": {"plain": bleu(plain, agreeing), "terms": bleu(given, agreeing)},
        "lines_with_all_terms": {  # in capital or small letters, as the first word of a sentence may have a capital
            name: sum(
                not missing_terms(found[name][i].text.casefold(), folded[i], whole_words=False) for i in concerned
            )
            for name in translators
        },
        "flagged": sum("term" in found["terms"][i].flags for i in concerned),
        "in_pieces": sum(_in_pieces(found["terms"][i]) and not _in_pieces(found["plain"][i]) for i in concerned),
    }


def _in_pieces(translation: Translation) -> bool:
    return "placeholders" in translation.flags


def compared(plain: Translator, terms: Translator, sources: Sequence[str], n: int) -> Record:
    """Return the median times of runs without and with the glossary, and the median of the ratios of the pairs."""
    translators = {"plain": plain, "terms": terms}
    times: dict[str, list[float]] = {name: [] for name in translators}
    for i in range(n + 1):
        for name in sorted(translators, reverse=i % 2 == 0):
            times[name].append(seconds_of(partial(lambda one: list(one.passages(sources)), translators[name])))
    without, given = (times[name][1:] for name in ("plain", "terms"))  # the first pair warms up
    ratios = [b / a for a, b in zip(without, given, strict=True)]
    return {
        "lines": len(sources),
        "plain": round(statistics.median(without), 2),
        "terms": round(statistics.median(given), 2),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in sorted(ratios)],
    }


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield the row of a record: with a glossary and without one."""
    yield {
        "model": linked(f"{record['model']} of commit {record['commit'][:9]}", record),
        "set": record["set"],
        "terms": str(record["terms"]),
        "BLEU with and without them": f"{record['bleu']['terms']:.2f}, {record['bleu']['plain']:.2f}",
        "lines with terms": f"{record['with_terms']:,}",
        "of these with all terms": f"{record['lines_with_all_terms']['terms']:,}",
        "times the time": f"{record['time']['terms']['ratio']:.2f}",
        "note": record.get("note", ""),
    }


CASE = Case("Glossary", options, run, rows)
