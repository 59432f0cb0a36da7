"""The embedded corpus: a small German-English grammar, written for this project. Every sentence is synthetic.

A first training run on it needs no download and ends in minutes. It knows a few hundred words and the core of the
grammar: gender, number and case; verb second, verb first and verb last; separable and modal verbs; the perfect;
questions, negation and numbers. A high BLEU here shows that a model has learned these rules. It says nothing about the
German that people write, and the sentences often make odd claims.

The translation is a function: a German sentence has one English sentence. Where German is ambiguous, a fixed rule
decides: the perfect becomes the simple past, the present becomes the progressive unless the verb is a state or the
time is a habit, `wenn` is "when", `sein` and `ihr` are "his" and "her", and the plural pronoun `sie` ("they") is left
out. A hash of the English side assigns a sentence to its split, so the splits share no sentence on either side for any
seeds and sizes; `MISSION`, the question of the demonstration, is always in training.

lexicon.toml holds the words, the inflections and the patterns of sentences; `lexicon` reads them and puts words in
order, `sentences` draws phrases, clauses and sentences at random.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from translate.corpus.grammar.lexicon import Pair
from translate.corpus.grammar.sentences import Chooser, sentence
from translate.errors import UserError
from translate.files import sha256

Split = Literal["train", "valid", "test"]

MISSION: Pair = ("Kannst du mir helfen, diesen Satz zu übersetzen?", "Can you help me translate this sentence?")
MAX_PAIRS: dict[Split, int] = {"train": 400_000, "valid": 50_000, "test": 50_000}


def generate(split: Split, pairs: int, seed: int) -> Iterator[Pair]:
    """Return `pairs` distinct (German, English) pairs, always the same for the same split and seed.

    Args:
        split: the split; "train" begins with `MISSION`.
        pairs: number of pairs, at most `MAX_PAIRS[split]`; beyond that, new sentences become rare. A smaller number
            gives a prefix of a larger one.
        seed: of the random choices.

    Raises UserError, before the first pair, if `pairs` is negative or too large.
    """
    if not 0 <= pairs <= MAX_PAIRS[split]:
        raise UserError(f"grammar {split}: pairs = {pairs} is not in 0 to {MAX_PAIRS[split]}; ask for a number in it")
    return _distinct(split, pairs, Chooser(f"{split} {seed}"))


def split_of(english: str) -> Split:
    """Return the split of an English sentence: one in ten is for validation, one in ten for the test."""
    if english == MISSION[1]:
        return "train"
    bucket = hashlib.blake2b(english.casefold().encode("utf-8"), digest_size=8).digest()[0] * 10 // 256
    return "test" if bucket == 0 else "valid" if bucket == 1 else "train"


def digest() -> str:
    """Return the SHA-256 of the grammar: its code and its words."""
    files = sorted(path for path in Path(__file__).parent.iterdir() if path.is_file())
    return hashlib.sha256("".join(sha256(path) for path in files).encode()).hexdigest()


def _distinct(split: Split, pairs: int, draw: Chooser) -> Iterator[Pair]:
    seen: set[str] = set()
    pair = MISSION if split == "train" else sentence(draw)
    while len(seen) < pairs:
        german, english = pair
        if german not in seen and split_of(english) == split:
            seen.add(german)
            yield pair
        pair = sentence(draw)
