"""Random phrases and clauses that make some sense."""

import random
from dataclasses import replace
from functools import cache

from translate.corpus.grammar import lexicon as lex
from translate.corpus.grammar.clauses import Clause, Tense, join, noun_phrase
from translate.corpus.grammar.lexicon import Determiner, Modal, Noun, Pair, Phrase, Time, Verb

NEVER_A_TASK = {"sehen", "hören", "verlieren", "vergessen", "essen", "trinken", "tragen", "fragen", "verstehen"}
SENSES = {"sehen", "hören", "finden", "verstehen", "sprechen", "verlieren", "vergessen", "vertrauen"}
SAME_SPEAKERS = ({0, 3}, {1, 4, 5})  # persons that include each other: ich and wir; du, ihr and Sie


class Chooser(random.Random):
    """A random number generator that also draws phrases and clauses.

    Where a method takes `negated`, None leaves the choice to chance.
    """

    def adjective(self, noun: Noun) -> Pair:
        """Draw an adjective that suits the noun, or more often none."""
        kind = next((kind for kind in lex.ADJECTIVES if kind in noun.tags), "")
        return self.choice(lex.ADJECTIVES[kind]) if kind and self.random() < 0.25 else ("", "")

    def phrase(self, noun: Noun) -> Phrase:
        """Draw a determiner, a number and perhaps an adjective for the noun."""
        determiner, plural = self.choice(_determiners(noun))
        return noun_phrase(noun, determiner, self.adjective(noun), plural)

    def definite(self, noun: Noun, may_be_plural: bool = True) -> Phrase:
        """Draw a phrase with "the", "this" or a possessive."""
        owned = lex.POSSESSIVES if noun.tags & {"kin", "own"} else ()
        determiner = self.choice(owned if "kin" in noun.tags else (lex.THE, lex.THE, lex.THE, lex.THIS, *owned[:2]))
        plural = may_be_plural and bool(noun.plural) and self.random() < 0.2
        return noun_phrase(noun, determiner, self.adjective(noun), plural)

    def definite_with(self, *tags: str, may_be_plural: bool = True) -> Phrase:
        """Draw a definite phrase whose noun has any of the tags."""
        return self.definite(self.choice(nouns_with(*tags)), may_be_plural)

    def subject(self, tags: tuple[str, ...] = ("person",), negated: bool = False) -> Phrase:
        """Draw a pronoun, a name or a phrase; definite in a negation, since "every cook is not ..." is wrong."""
        chance = self.random() if "person" in tags else 1.0
        if chance < 0.4:
            return self.choice(lex.PRONOUNS)
        if chance < 0.5:
            return self.choice(lex.NAMED)
        return (self.definite if negated else self.phrase)(self.choice(nouns_with(*tags)))

    def other(self, subject: Phrase, case: str = "dat") -> Phrase:
        """Draw a person on whom the subject acts, never a pronoun that includes the subject."""
        chance = self.random()
        if chance < 0.5:
            taken = next((both for both in SAME_SPEAKERS if subject.person in both and subject.kind == "pronoun"), ())
            return self.choice([p for p in lex.PRONOUNS if p.person not in taken and (case == "dat" or p.acc)])
        if chance < 0.6:
            return self.choice([name for name in lex.NAMED if name is not subject])
        return self.definite_with("person")

    def _object(self, subject: Phrase, tags: tuple[str, ...], negated: bool) -> Phrase:
        """Draw an object with one of the tags; it often carries the negation (`kein`)."""
        noun = self.choice(nouns_with(*tags))
        if "person" in noun.tags:
            return self.other(subject, "acc")
        if not negated:
            return self.phrase(noun)
        if "mass" in noun.tags:
            return noun_phrase(noun, lex.NOT_ANY)
        if self.random() < 0.6:
            return noun_phrase(noun, lex.NOT_A, self.adjective(noun), plural=self.random() < 0.3)
        return self.definite(noun)

    def _prepositional(self, subject: Phrase, verb: Verb) -> Pair:
        """Draw the object of a German preposition; the English one is the particle of the verb."""
        noun = self.choice(nouns_with(*verb.tags))
        preposition, case = verb.preposition.split("+")
        phrase = self.other(subject, case) if "person" in noun.tags else self.phrase(noun)
        return _contracted(f"{preposition} {phrase.acc if case == 'acc' else phrase.dat}"), phrase.english_object

    def place(self, towards: bool = False) -> Pair:
        """Draw a location or a destination: "im Park", "in den Park", "zum Bahnhof"."""
        noun = self.choice(nouns_with("place"))
        phrase = self.definite(noun, may_be_plural=False)
        preposition = next((word for word in ("an", "auf") if word in noun.tags), "in")
        if towards:
            german = f"in {phrase.acc}" if preposition == "in" else f"zu {phrase.dat}"
            return _contracted(german), f"to {phrase.english}"
        return _contracted(f"{preposition} {phrase.dat}"), f"{'in' if preposition == 'in' else 'at'} {phrase.english}"

    def tense(self) -> Tense:
        """Draw the present, the past or a modal verb."""
        chance = self.random()
        return "present" if chance < 0.5 else "past" if chance < 0.8 else self.choice(lex.MODALS)

    def timed(self, clause: Clause) -> Clause:
        """Add a time that fits the tense and aspect of the clause; states take none."""
        if clause.verb.is_state:
            return clause
        if clause.tense == "present":
            letter = "h" if self.random() < 0.35 and not clause.negated else "p" if clause.verb.ing else "s"
        else:
            letter = "d" if clause.tense == "past" else "m"
        return replace(clause, time=self.choice(times_for(letter, clause.negated)))

    def _sometimes(self, negated: bool | None) -> bool:
        return self.random() < 0.15 if negated is None else negated

    def action(
        self,
        tense: Tense,
        subject: Phrase | None = None,
        negated: bool | None = None,
        frames: tuple[str, ...] = tuple(lex.FRAME_WEIGHTS),
    ) -> Clause:
        """Draw a clause of one of the frames, without a time.

        Args:
            tense: its tense or modal verb; a verb of perception takes "can" in place of another modal.
            subject: its subject; None draws one.
            negated: see the class.
            frames: tables of verbs to choose from.
        """
        is_modal = isinstance(tense, Modal)
        weights = [0 if is_modal and frame == "state" else lex.FRAME_WEIGHTS[frame] for frame in frames]
        (frame,) = self.choices(frames, weights)
        verb, no = self.choice(lex.VERBS[frame]), self._sometimes(negated)
        who = subject or self.subject(verb.tags if frame == "intransitive" else ("person",), no)
        clause = Clause(who, verb, lex.CAN if is_modal and verb.infinitive in SENSES else tense, negated=no)
        if frame in ("text", "transitive", "ditransitive", "state"):
            clause = replace(clause, object=self._object(who, verb.tags, no))
        if frame in ("dative", "ditransitive"):
            clause = replace(clause, indirect=self.other(who))
        if frame == "prepositional":
            return replace(clause, complement=self._prepositional(who, verb))
        if frame == "motion":
            return replace(clause, complement=self.place(towards=True))
        chance = self.random()
        if chance < 0.12 and frame in ("intransitive", "transitive") and verb.auxiliary == "haben":
            return replace(clause, complement=self.place())
        if chance < 0.12 and frame == "text" and verb.ing:
            other = self.other(who, "acc")
            return replace(clause, complement=(f"für {other.acc}", f"for {other.english_object}"))
        return clause

    def task(self, subject: Phrase) -> Clause:
        """Draw something to help with or to try, mostly work on a text."""
        frame = "text" if self.random() < 0.65 else "transitive"
        task = self.action("present", subject, negated=False, frames=(frame,))
        return task if task.verb.infinitive not in NEVER_A_TASK else self.task(subject)

    def state(self, tense: Tense, subject: Phrase | None = None, negated: bool | None = None) -> Clause:
        """Draw a person's mood or location, or that a person has time or money; None draws a subject."""
        no = self._sometimes(negated)
        clause = Clause(subject or self.subject(negated=no), lex.BE, tense, negated=no)
        chance = self.random()
        if chance < 0.2:
            need = noun_phrase(self.choice(nouns_with("need")), lex.NOT_ANY if no else lex.BARE)
            return replace(clause, verb=lex.HAVE, object=need)
        if chance < 0.35:
            return replace(clause, complement=self.choice((lex.AT_HOME, self.place())))
        return replace(clause, complement=self._by_degree(self.choice(lex.MOODS), no))

    def _by_degree(self, adjective: Pair, negated: bool) -> Pair:
        """Draw "very", "too", "quite" or nothing for the adjective; "not quite" would mean something else."""
        degree = self.choice(lex.DEGREES[:2] if negated else lex.DEGREES) if self.random() < 0.3 else ("", "")
        return join(degree[0], adjective[0]), join(degree[1], adjective[1])

    def quality(self, tense: Tense, negated: bool | None = None) -> Clause:
        """Draw a property of a noun, a comparison with another noun, or the location of a small thing."""
        kind = self.choice(tuple(lex.ADJECTIVES))
        noun, german, english = self.choice(nouns_with(kind)), *self.choice(lex.ADJECTIVES[kind])
        clause = Clause(self.definite(noun), lex.BE, tense, negated=self._sometimes(negated))
        if "portable" in noun.tags and self.random() < 0.6:
            spot, (german, english) = self.definite_with("spot", may_be_plural=False), self.choice(lex.SPOTS)
            return replace(clause, complement=(f"{german} {spot.dat}", f"{english} {spot.english}"))
        if german not in lex.COMPARATIVES:
            return replace(clause, complement=(german, english))
        if self.random() < 0.5:
            return replace(clause, complement=self._by_degree((german, english), clause.negated))
        other, (german, english) = self.definite_with(kind), lex.COMPARATIVES[german]
        return replace(clause, complement=(f"{german} als {other.nom}", f"{english} than {other.english}"))

    def weather(self, tense: Tense, negated: bool | None = None) -> Clause:
        """Draw rain or snow."""
        return Clause(lex.IT, self.choice((lex.RAIN, lex.SNOW)), tense, negated=self._sometimes(negated))

    def clause(self, tense: Tense, negated: bool | None = None) -> Clause:
        """Draw any clause, sometimes with a time; a quality never has one."""
        chance = self.random()
        if isinstance(tense, Modal) or chance < 0.75:
            clause = self.action(tense, negated=negated)
        elif chance < 0.9:
            clause = self.state(tense, negated=negated)
        else:
            clause = (self.quality if chance < 0.97 else self.weather)(tense, negated)
        return self.timed(clause) if self.random() < 0.35 and not 0.9 <= chance < 0.97 else clause


@cache
def nouns_with(*tags: str) -> tuple[Noun, ...]:
    """Return the nouns with any of the tags."""
    return tuple(noun for noun in lex.NOUNS if not noun.tags.isdisjoint(tags))


@cache
def times_for(letter: str, negated: bool) -> tuple[Time, ...]:
    """Return the times that fit; German would word a negated habit differently, so there is none."""
    return tuple(time for time in lex.TIMES if letter in time.fits and not (negated and "h" in time.fits))


@cache
def _determiners(noun: Noun) -> tuple[tuple[Determiner, bool], ...]:
    """Return (determiner, is plural) for the noun, each as often as its weight."""
    if "mass" in noun.tags:
        return ((lex.BARE, False),) if "bare" in noun.tags else ((lex.BARE, False), (lex.THE, False))
    owned = lex.POSSESSIVES * 2 if noun.tags & {"own", "kin"} else ()
    singular, plural = (owned, owned[:3]) if "kin" in noun.tags else (lex.SINGULAR + owned, lex.PLURAL)
    return tuple((word, False) for word in singular) + tuple((word, True) for word in plural if noun.plural)


def _contracted(german: str) -> str:
    full = next((full for full in lex.CONTRACTIONS if german.startswith(full + " ")), "")
    return lex.CONTRACTIONS.get(full, "") + german.removeprefix(full)
