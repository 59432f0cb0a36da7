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
order; this file draws phrases, clauses and sentences at random, and makes the corpus.
"""

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from translate.corpus.grammar import lexicon as lex
from translate.corpus.grammar.lexicon import (
    Clause,
    Conjunction,
    Determiner,
    Frame,
    Modal,
    Noun,
    Pair,
    Pattern,
    Phrase,
    Tense,
    Time,
    Verb,
    infinitive,
    join,
    noun_phrase,
    question,
    statement,
    subordinate,
    with_article,
)
from translate.errors import UserError
from translate.files import sha256

SAME_SPEAKERS = ({0, 3}, {1, 4, 5})  # persons that include each other: ich and wir; du, ihr and Sie


class Chooser(random.Random):
    """A random number generator that also draws phrases and clauses."""

    def adjective(self, noun: Noun) -> Pair:
        """Draw an adjective that suits the noun, or more often none."""
        kind = next((kind for kind in lex.ADJECTIVES if kind in noun.tags), "")
        return self.choice(lex.ADJECTIVES[kind]) if kind and self.random() < 0.25 else ("", "")

    def phrase(self, noun: Noun, definite: bool = False, singular: bool = False) -> Phrase:
        """Draw a determiner, a number and perhaps an adjective for the noun.

        Args:
            noun: the noun.
            definite: take "the", "this" or a possessive.
            singular: take the singular.
        """
        determiner, plural = self.choice(_determiners(noun, definite, singular))
        return noun_phrase(noun, determiner, self.adjective(noun), plural)

    def subject(self, tags: str, definite: bool) -> Phrase:
        """Draw a pronoun, a name or a phrase; definite in a negation, since "every cook is not ..." is wrong."""
        chance = self.random() if "person" in tags.split() else 1.0
        if chance < 0.4:
            return self.choice(lex.PRONOUNS)
        if chance < 0.5:
            return self.choice(lex.NAMED)
        return self.phrase(self.choice(nouns_with(tags)), definite)

    def other(self, subject: Phrase, case: str = "dat") -> Phrase:
        """Draw a person on whom the subject acts, never a pronoun that includes the subject; on me, if it is you."""
        chance = self.random()
        if chance < 0.5:
            taken = next((both for both in SAME_SPEAKERS if subject.person in both and subject.kind == "pronoun"), ())
            if 1 in taken and chance < 0.3:
                return lex.ICH
            return self.choice([p for p in lex.PRONOUNS if p.person not in taken and (case == "dat" or p.acc)])
        if chance < 0.6:
            return self.choice([name for name in lex.NAMED if name is not subject])
        return self.phrase(self.choice(nouns_with("person")), definite=True)

    def _object(self, subject: Phrase, tags: str, negated: bool) -> Phrase:
        """Draw an object with one of the tags; it often carries the negation (`kein`)."""
        noun = self.choice(nouns_with(tags))
        if "person" in noun.tags:
            return self.other(subject, "acc")
        if not negated:
            return self.phrase(noun)
        if "mass" in noun.tags:
            return noun_phrase(noun, lex.NOT_ANY)
        if self.random() < 0.6:
            return noun_phrase(noun, lex.NOT_A, self.adjective(noun), plural=self.random() < 0.3)
        return self.phrase(noun, definite=True)

    def place(self, towards: bool = False) -> Pair:
        """Draw a location or a destination: "im Park", "in den Park", "zum Bahnhof"."""
        noun = self.choice(nouns_with("place"))
        phrase = self.phrase(noun, definite=True, singular=True)
        preposition = next((word for word in ("an", "auf") if word in noun.tags), "in")
        if towards:
            german = f"in {phrase.acc}" if preposition == "in" else f"zu {phrase.dat}"
            return _contracted(german), f"to {phrase.english}"
        return _contracted(f"{preposition} {phrase.dat}"), f"{'in' if preposition == 'in' else 'at'} {phrase.english}"

    def clause(self, frames: str, tenses: str, subject: Phrase | None, negated: float, times: str) -> Clause:
        """Draw a clause.

        Args:
            frames: names and groups of frames, of which one is drawn.
            tenses: names of tenses and modal verbs, of which one is drawn, or "any"; the frame may not have them all.
            subject: its subject; None draws one.
            negated: chance of a negation.
            times: letter of the times to draw from, or "any" for those of the tense; "" draws none.
        """
        candidates = _frames(self.choice(frames.split()))
        (frame,) = self.choices(candidates, [frame.weight for frame in candidates])
        verb, no = self.choice(lex.VERBS[frame.name]), self.random() < negated
        word = self.choice(lex.TENSES) if tenses == "any" else self.choice(tenses.split())
        tense: Tense = lex.MODALS.get(word, word)
        if isinstance(tense, Modal) and not (verb.ing and "modal" in frame.parts):
            tense = lex.MODALS["können"] if "modal" in frame.parts else "present"
        if subject is None:
            tags = verb.tags if "subject" in frame.parts else "person"
            subject = lex.IT if "es" in frame.parts else self.subject(tags, no or "definite" in frame.parts)
        return Clause(
            subject,
            verb,
            tense,
            negated=no,
            object=self._object(subject, verb.tags, no) if "object" in frame.parts else None,
            indirect=self.other(subject) if "indirect" in frame.parts else None,
            complement=self._complement(frame.complement, subject, verb, no),
            time=self._time(times, tense, verb, no)
            if times and "time" in frame.parts and self.random() < 0.3
            else None,
        )

    def _time(self, letter: str, tense: Tense, verb: Verb, negated: bool) -> Time:
        """Draw a time; of any letter, one that fits the tense and the aspect of the verb."""
        if letter == "any" and tense == "present":
            letter = "h" if self.random() < 0.35 and not negated else "p" if verb.ing else "s"
        elif letter == "any":
            letter = "d" if tense == "past" else "m"
        return self.choice(_times(letter, negated))

    def _complement(self, kind: str, subject: Phrase, verb: Verb, negated: bool) -> Pair:
        """Draw the complement that a frame names, or none."""
        match kind:
            case "preposition":
                return self._prepositional(subject, verb)
            case "destination":
                return self.place(towards=True)
            case "location":
                return self.choice((("zu Hause", "at home"), self.place()))
            case "spot":
                german, english = self.choice(lex.SPOTS)
                spot = self.phrase(self.choice(nouns_with("spot")), definite=True, singular=True)
                return f"{german} {spot.dat}", f"{english} {spot.english}"
            case "mood":
                return self._by_degree(self.choice(lex.MOODS), negated)
            case "quality":
                return self._quality(verb.tags, negated)
            case "matter":
                return self.choice(lex.MATTERS)
            case "age" | "price":
                (german, english), (unit, english_unit) = self.choice(lex.NUMBERS), lex.UNITS[kind]
                return f"{german} {unit}", f"{english} {english_unit}"
            case "job":
                return self._job(subject)
            case "place" if verb.auxiliary == "haben" and self.random() < 0.12:
                return self.place()
            case "beneficiary" if self.random() < 0.12:
                other = self.other(subject, "acc")
                return f"für {other.acc}", f"for {other.english_object}"
        return "", ""

    def _prepositional(self, subject: Phrase, verb: Verb) -> Pair:
        """Draw the object of a German preposition; the English one is the particle of the verb."""
        noun = self.choice(nouns_with(verb.tags))
        preposition, case = verb.preposition.split()
        phrase = self.other(subject, case) if "person" in noun.tags else self.phrase(noun)
        return _contracted(f"{preposition} {phrase.acc if case == 'acc' else phrase.dat}"), phrase.english_object

    def _by_degree(self, adjective: Pair, negated: bool) -> Pair:
        """Draw "very", "too", "quite" or nothing for the adjective; "not quite" would mean something else."""
        degree = self.choice(lex.DEGREES[:2] if negated else lex.DEGREES) if self.random() < 0.3 else ("", "")
        return join(degree[0], adjective[0]), join(degree[1], adjective[1])

    def _quality(self, kind: str, negated: bool) -> Pair:
        """Draw an adjective, or a comparison with another noun of the kind."""
        german, english = self.choice(lex.ADJECTIVES[kind])
        if german not in lex.COMPARATIVES or self.random() < 0.5:
            return self._by_degree((german, english), negated)
        german, english = lex.COMPARATIVES[german]
        other = self.phrase(self.choice(nouns_with(kind)), definite=True)
        return f"{german} als {other.nom}", f"{english} than {other.english}"

    def _job(self, subject: Phrase) -> Pair:
        """Draw a profession of the gender and number of the subject."""
        gender = {"er": "m", "sie": "f", "": "m"}.get(subject.stand_in, "mf")
        noun = self.choice([noun for noun in nouns_with("job") if noun.gender in gender])
        if subject.person in (3, 4, 5) and subject is not lex.FORMAL:
            return noun.plural, noun.english_plural
        return noun.german, with_article("a", noun.english)


@cache
def nouns_with(tags: str) -> list[Noun]:
    """Return the nouns with any of the tags, which are words between spaces."""
    return [noun for noun in lex.NOUNS if not noun.tags.isdisjoint(tags.split())]


@cache
def _frames(name: str) -> list[Frame]:
    """Return the frame with this name, or the frames of this group."""
    return [frame for frame in lex.FRAMES if name == frame.name or name in frame.parts]


@cache
def _times(letter: str, negated: bool) -> list[Time]:
    """Return the times that fit; German would word a negated habit differently, so there is none."""
    return [time for time in lex.TIMES if letter in time.fits and not (negated and "h" in time.fits)]


@cache
def _determiners(noun: Noun, definite: bool, singular: bool) -> list[tuple[Determiner, bool]]:
    """Return (determiner, is plural) for the noun, each as often as its weight."""
    owned = lex.POSSESSIVES * 2 if noun.tags & {"own", "kin"} else ()
    ones, many = (owned, owned[:3]) if "kin" in noun.tags else (lex.SINGULAR + owned, lex.PLURAL)
    if "mass" in noun.tags:
        ones = (lex.BARE,) if "bare" in noun.tags else (lex.BARE, lex.THE)
    drawn = [(word, False) for word in ones]
    drawn += [(word, True) for word in many if noun.plural and not singular]
    return [(word, plural) for word, plural in drawn if not definite or word in lex.DEFINITE]


def _contracted(german: str) -> str:
    full = next((full for full in lex.CONTRACTIONS if german.startswith(full + " ")), "")
    return lex.CONTRACTIONS.get(full, "") + german.removeprefix(full)


INFORMAL = re.compile(r"\b(du|dich|dir|dein\w*|euch|euer|eure\w*)\b", re.IGNORECASE)
GIRL, HIS = re.compile(r"\bMädchen\b"), re.compile(r"\bsein\w*", re.IGNORECASE)
CLAUSES = {"coordinate": statement, "subordinate": subordinate, "infinitive": infinitive}


def sentence(draw: Chooser) -> Pair:
    """Return a random (German, English) sentence pair."""
    (pattern,) = draw.choices(lex.PATTERNS, [pattern.weight for pattern in lex.PATTERNS])
    match pattern.form:
        case "greeting":
            pair = _greeting(draw)
        case "existence":
            pair = _existence(draw)
        case _:
            pair = _of_clauses(draw, pattern)
    return sentence(draw) if _is_odd(*pair) else pair


def _of_clauses(draw: Chooser, pattern: Pattern) -> Pair:
    """Return a sentence of one or two clauses."""
    subject = lex.SUBJECTS[draw.choice(pattern.subjects.split())] if pattern.subjects else None
    tense, name = draw.choice(pattern.tenses.split()), draw.choice(lex.NAMED).nom
    clause = draw.clause(pattern.frames, tense, subject, pattern.negated, pattern.times)
    clause = replace(clause, opener=(pattern.opener[0].format(name=name), pattern.opener[1].format(name=name)))
    if pattern.conjunctions:
        clause = _with_second(draw, clause, tense, lex.CONJUNCTIONS[draw.choice(pattern.conjunctions.split())])
    match pattern.form:
        case "statement" | "who":
            if clause.time and "f" not in clause.time.fits and draw.random() < 0.35:
                german, english, fits = clause.time
                clause = replace(clause, opener=(german, english), time=None, habitual="h" in fits)
            return _finished(statement(clause), "." if pattern.form == "statement" else "?")
        case "imperative":
            please = ("", "please do not" if clause.negated else "please")
            return _finished((statement(clause)[0], infinitive(clause, please)[1]), "!")
        case "object":
            clause = replace(clause, object=None, opener=_asked_object(draw, clause))
        case "gap":
            clause = replace(clause, indirect=None, complement=("", ""))
    return _finished(question(clause), "?")


def _with_second(draw: Chooser, clause: Clause, tense: str, conjunction: Conjunction) -> Clause:
    """Return the clause with a second clause, which follows it; a condition may precede it."""
    same = next((pronoun for pronoun in lex.PRONOUNS if pronoun.stand_in == clause.subject.stand_in), None)
    subject = same if draw.random() < conjunction.same_subject else None
    tenses = tense if conjunction.tenses == "same" else conjunction.tenses
    negated = 0 if clause.negated else conjunction.negated
    second = draw.clause(conjunction.frames, tenses, subject, negated, conjunction.times)
    is_condition = conjunction.words[0] == "wenn"
    second = replace(second, habitual=is_condition)
    german, english = CLAUSES[conjunction.kind](second, conjunction.words)
    if is_condition and draw.random() < 0.5:
        return replace(clause, habitual=True, opener=(f"{german},", f"{english},"))
    comma = "," if conjunction.kind == "coordinate" else ""
    return replace(clause, habitual=is_condition, extra=(f", {german}", f"{comma} {english}"))


def _asked_object(draw: Chooser, clause: Clause) -> Pair:
    """Return the words that ask for the object: what, whom, which one, how many."""
    nouns = [noun for noun in nouns_with(clause.verb.tags) if noun.plural]
    if "person" in clause.verb.tags.split():
        return lex.WHO.acc, lex.WHO.english
    if not nouns or draw.random() < 0.4:
        return "was", "what"
    noun, determiner = draw.choice(nouns), draw.choice((lex.WHICH, lex.WHICH, lex.HOW_MANY))
    plural = determiner is lex.HOW_MANY or draw.random() < 0.3
    phrase = noun_phrase(noun, determiner, draw.adjective(noun), plural)
    return phrase.acc, phrase.english


def _existence(draw: Chooser) -> Pair:
    noun = draw.choice([noun for noun in nouns_with("person animal thing") if "kin" not in noun.tags])
    plural = draw.random() < 0.6
    determiner = draw.choice((lex.NO, lex.MANY, *lex.COUNTED) if plural else (lex.A, lex.A, lex.A, lex.NO))
    phrase = noun_phrase(noun, determiner, draw.adjective(noun), plural)
    place, be = draw.place(), "are" if plural else "is"
    if phrase.kind != "negative" and draw.random() < 0.3:
        return _finished((f"gibt es {phrase.acc} {place[0]}", f"{be} there {phrase.english} {place[1]}"), "?")
    return _finished((f"es gibt {phrase.acc} {place[0]}", f"there {be} {phrase.english} {place[1]}"), ".")


def _greeting(draw: Chooser) -> Pair:
    german, english = draw.choice(lex.GREETINGS)
    name = draw.choice(("", *(f", {phrase.nom}" for phrase in lex.NAMED)))
    return _finished((german + name, english + name), draw.choice("!."))


def _finished(pair: Pair, mark: str) -> Pair:
    """Return both sides with a capital and a mark at the end."""
    german, english = (side[0].upper() + side[1:] + mark for side in pair)
    return german, english


def _is_odd(german: str, english: str) -> bool:
    """Return whether formal is beside informal address ("Lesen Sie dein Buch?"), or a girl beside `sein` ("his")."""
    # At the beginning of a sentence, `Sie` may be "she".
    is_formal = "Ihnen" in german or " Sie" in german or (german.startswith("Sie ") and english.startswith("You "))
    return bool((is_formal and INFORMAL.search(german)) or (GIRL.search(german) and HIS.search(german)))


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
