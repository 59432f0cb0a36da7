"""Practical sentences: letters, health, travel, work, shop, bank, household, school, news.

    python scripts/bench.py practical de-en --out scripts/results/practical-de-en.json   # an installed model
    python scripts/bench.py practical runs/mine --phrases

A line of the list is a topic, a sentence and its reference, separated by tabs. The sentences were written for this
project. `translate text` translates them with its settings, and the record has every translation. With --phrases, they
are those that the phrase book leaves out, in either direction.

The models train on the phrase book, so sentences with a near copy there are left out: those of which a side shares with
a phrase at least half of the words that either has (a Jaccard index of 0.5).
"""

import argparse
import functools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from harness import Case
from records import Record, linked
from sacrebleu import corpus_chrf

from translate.commands.text import TextOptions, open_translator
from translate.corpus.sources import PHRASES_FILE
from translate.text.translation import Opening

DATA = Path(__file__).resolve().parents[1] / "data"
NEAR = 0.5  # Jaccard index of the words of a sentence and of its near copy


@dataclass(frozen=True)
class Answer:
    """A sentence with its reference and its translation."""

    topic: str
    source: str
    reference: str
    translation: str


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="name of an installed model, or a folder")
    parser.add_argument("--phrases", action="store_true", help="sentences that the phrase book leaves out")


def run(args: argparse.Namespace) -> Record:
    """Translate the list."""
    found = answers(args.model, phrases=args.phrases)
    return {
        "model": args.model,
        "list": "phrases" if args.phrases else "practical",
        "sentences": len(found),
        "chrf": chrf(found),
        "topics": by_topic(found),
        "translations": {one.source: one.translation for one in found},
    }


def sentences(langpair: str) -> Path:
    """Return the place of the list of a direction such as "de-en"; other languages have none."""
    return DATA / f"practical.{langpair}.tsv"


def all_rows(langpair: str, phrases: bool = False) -> list[list[str]]:
    """Return topic, source and reference of each practical sentence, or of each that the phrase book leaves out."""
    file = DATA / "phrases.tsv" if phrases else sentences(langpair)
    found = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    return [[topic, english, german] for topic, german, english in found] if phrases and langpair == "en-de" else found


def held_out(langpair: str, phrases: bool = False) -> list[list[str]]:
    """Return the rows without a near copy in the phrase book, on either side."""
    languages = langpair.split("-")
    return [
        row
        for row in all_rows(langpair, phrases)
        if not any(has_near_copy(text, language) for language, text in zip(languages, row[1:], strict=True))
    ]


def has_near_copy(text: str, language: str) -> bool:
    """Return whether the words of a text and of a phrase in its language have a Jaccard index of NEAR or more."""
    phrases_of, sizes = book()[language]
    mine = words(text)
    shared = Counter(chain.from_iterable(phrases_of.get(word, ()) for word in mine))
    return any(n >= NEAR * (len(mine) + sizes[phrase] - n) for phrase, n in shared.items())


@functools.cache
def book() -> dict[str, tuple[dict[str, list[int]], list[int]]]:
    """Return, for each language of the phrase book, the phrases of each word and the number of words of each phrase."""
    found = {}
    pairs = (line.split("\t") for line in PHRASES_FILE.read_text(encoding="utf-8").splitlines())
    for language, sides in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
        phrases_of = defaultdict[str, list[int]](list)
        for number, side in enumerate(sides):
            for word in words(side):
                phrases_of[word].append(number)
        found[language] = dict(phrases_of), [len(words(side)) for side in sides]
    return found


def words(text: str) -> frozenset[str]:
    """Return the distinct words of a text in lower case."""
    return frozenset(re.findall(r"\w+", text.casefold()))


def answers(model: Path | str, phrases: bool = False) -> list[Answer]:
    """Return the held-out sentences of the model's languages, translated as `translate text` does."""
    translator = open_translator(TextOptions(opening=Opening(model=model)))
    spec = translator.engine.spec
    topics, sources, references = zip(*held_out(f"{spec.source}-{spec.target}", phrases), strict=True)
    translations = (translation.text for translation in translator.passages(sources))
    return list(map(Answer, topics, sources, references, translations))


def chrf(found: Sequence[Answer]) -> float:
    """Return the chrF of the translations, from 0 to 100."""
    score = corpus_chrf([one.translation for one in found], [[one.reference for one in found]])
    return round(score.score, 1)


def by_topic(found: Sequence[Answer]) -> dict[str, float]:
    """Return the chrF of each topic."""
    topics = defaultdict(list)
    for one in found:
        topics[one.topic].append(one)
    return {topic: chrf(chosen) for topic, chosen in topics.items()}


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield the row of a record."""
    topics = record["topics"]
    yield {
        "model": linked(f"{record['model']} of commit {record['commit'][:9]}", record),
        "list": record["list"],
        "sentences": str(record["sentences"]),
        "chrF": f"{record['chrf']:.1f}",
        "lowest and highest topic": ", ".join(
            f"{topic} {topics[topic]:.1f}" for topic in (choose(topics, key=topics.get) for choose in (min, max))
        ),
    }


CASE = Case("Practical sentences and phrases", options, run, rows)
