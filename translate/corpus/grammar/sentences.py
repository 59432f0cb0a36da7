"""Sentence patterns: each returns a German sentence and its English translation."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from translate.corpus.grammar import clauses
from translate.corpus.grammar import lexicon as lex
from translate.corpus.grammar.choices import Chooser, nouns_with, times_for
from translate.corpus.grammar.clauses import Clause, Tense, finished, join, noun_phrase, with_article
from translate.corpus.grammar.lexicon import Pair


def _statement(draw: Chooser) -> Pair:
    """A statement, which sometimes opens with the time."""
    clause = draw.clause(draw.tense())
    if clause.time is None or "f" in clause.time.fits or draw.random() < 0.65:
        return _told(clause)
    german, english, fits = clause.time
    return _told(replace(clause, time=None, habitual="h" in fits), (german, english))


def _told(clause: Clause, opener: Pair = ("", ""), mark: str = ".") -> Pair:
    return finished(clauses.german_main(clause, opener[0] or None), clauses.english_statement(clause, opener[1]), mark)


def _asked(clause: Clause, opener: Pair = ("", "")) -> Pair:
    return finished(clauses.german_main(clause, opener[0]), clauses.english_question(clause, opener[1]), "?")


def _yes_no_question(draw: Chooser) -> Pair:
    return _asked(draw.clause(draw.tense(), negated=False))


def _subject_question(draw: Chooser) -> Pair:
    return _told(draw.action(draw.tense(), subject=lex.WHO), mark="?")


def _object_question(draw: Chooser) -> Pair:
    """A question about the object: what, whom, which one, how many."""
    clause = draw.action(draw.tense(), negated=False, frames=("text", "transitive", "ditransitive", "state"))
    tags, opener = clause.verb.tags, ("was", "what")
    nouns = [noun for noun in nouns_with(*tags) if noun.plural]
    if "person" in tags:
        opener = lex.WHO.acc, lex.WHO.english
    elif nouns and draw.random() < 0.6:
        noun, determiner = draw.choice(nouns), draw.choice((lex.WHICH, lex.WHICH, lex.HOW_MANY))
        plural = determiner is lex.HOW_MANY or draw.random() < 0.3
        phrase = noun_phrase(noun, determiner, draw.adjective(noun), plural)
        opener = phrase.acc, phrase.english
    return _asked(replace(clause, object=None), opener)


def _circumstance_question(draw: Chooser) -> Pair:
    """Why, when, where, to whom, how old: the clause lacks what the question asks for."""
    tense = draw.tense()
    match draw.randrange(7):
        case 0 | 1:
            return _asked(draw.action(tense, negated=False), ("warum", "why"))
        case 2:
            return _asked(draw.action(tense, negated=False), ("wann", "when"))
        case 3:
            clause = draw.action(tense, negated=False, frames=("intransitive", "text", "transitive"))
            return _asked(replace(clause, complement=("", "")), ("wo", "where"))
        case 4:
            clause = draw.action(tense, negated=False, frames=("motion",))
            return _asked(replace(clause, complement=("", "")), ("wohin", "where"))
        case 5:
            clause = draw.action(tense, negated=False, frames=("dative",))
            return _asked(replace(clause, indirect=None), (lex.WHO.dat, lex.WHO.english))
    kind = draw.choice([kind for kind, adjectives in lex.ADJECTIVES.items() if set(adjectives) & set(lex.MEASURES)])
    german, english = draw.choice([adjective for adjective in lex.ADJECTIVES[kind] if adjective in lex.MEASURES])
    return _asked(Clause(draw.definite_with(kind), lex.BE), (f"wie {german}", f"how {english}"))


def _infinitive(task: Clause, to: str = "") -> Pair:
    """Return the task as an infinitive after a main clause; English takes `to`, except after "help"."""
    return f", {clauses.german_infinitive(task)}", " " + join(to, clauses.english_infinitive(task))


def _request(draw: Chooser) -> Pair:
    """Can you help me do something? `MISSION` is one of these."""
    who = draw.choice((lex.DU, lex.DU, lex.FORMAL, lex.FORMAL, lex.IHR)) if draw.random() < 0.8 else draw.subject()
    whom = lex.ICH if who not in (lex.ICH, lex.WIR) and draw.random() < 0.4 else draw.other(who)
    please = lex.PLEASE if draw.random() < 0.25 else None
    clause = Clause(who, lex.HELP, draw.choice((lex.CAN, lex.COULD)), indirect=whom, time=please)
    clause = replace(clause, extra=_infinitive(draw.task(who)))
    if draw.random() < 0.85:
        return _asked(clause)
    name = draw.choice(lex.NAMED).nom
    german, english = (name, name) if who is lex.DU else ("Entschuldigung", "Excuse me")
    return finished(
        f"{german}, {clauses.german_main(clause, '')}", f"{english}, {clauses.english_question(clause)}", "?"
    )


def _direct_request(draw: Chooser) -> Pair:
    """Can you do something?"""
    clause = draw.task(draw.choice((lex.DU, lex.FORMAL, lex.IHR)))
    return _asked(
        replace(clause, tense=draw.choice((lex.CAN, lex.COULD)), time=lex.PLEASE if draw.random() < 0.4 else None)
    )


def _help(draw: Chooser) -> Pair:
    no = draw.random() < 0.15
    who = draw.subject(negated=no)
    tense: Tense = draw.choice(("present", "past", lex.CAN, lex.SHOULD, *lex.MODALS))
    clause = Clause(who, lex.HELP, tense, negated=no, indirect=draw.other(who), extra=_infinitive(draw.task(who)))
    return _told(clause)


def _attempt(draw: Chooser) -> Pair:
    """Someone tries, forgets, comes or has time to do something, or it is important to."""
    no = draw.random() < 0.3
    who = draw.subject(negated=no)
    tense: Tense = draw.choice(("present", "past"))
    clause = Clause(who, lex.TRY, tense, extra=_infinitive(draw.task(who), "to"))
    match draw.randrange(5):
        case 0:
            clause = replace(clause, verb=lex.FORGET, tense="past")
        case 1:
            time = noun_phrase(nouns_with("need")[0], lex.NOT_ANY if no else lex.BARE)
            clause = replace(clause, verb=lex.HAVE, negated=no, object=time)
        case 2:
            clause = replace(clause, subject=lex.IT, verb=lex.BE, negated=no, complement=draw.choice(lex.MATTERS))
        case 3:
            clause = replace(clause, verb=lex.COME, extra=(f", um{clause.extra[0][1:]}", clause.extra[1]))
    return _told(clause)


def _subordinate(clause: Clause, conjunction: Pair) -> Pair:
    """Return the clause as a subordinate clause after a main clause."""
    return (
        f", {clauses.german_subordinate(clause, conjunction[0])}",
        f" {clauses.english_statement(clause, conjunction[1])}",
    )


def _two_clauses(draw: Chooser) -> Pair:
    """Two clauses joined by and, but, because or although; a reason is mostly a state of the subject."""
    tense: Tense = draw.choice(("present", "past"))
    main = draw.action(tense)
    if draw.random() < 0.25:
        other, (german, english) = draw.clause(tense), draw.choice((("und", "and"), ("aber", "but")))
        second = f", {german} {clauses.german_main(other)}", f", {clauses.english_statement(other, english)}"
        return _told(replace(main, extra=second))
    who = next((pronoun for pronoun in lex.PRONOUNS if pronoun.stand_in == main.subject.stand_in), None)
    reason = draw.state(tense, who) if draw.random() < 0.7 else draw.clause(tense)
    conjunction = draw.choice((("weil", "because"), ("weil", "because"), ("obwohl", "although")))
    return _told(replace(main, extra=_subordinate(reason, conjunction)))


def _condition(draw: Chooser) -> Pair:
    """A habit or a duty under a condition (when), which comes first or last."""
    chance = draw.random()
    when = draw.weather("present") if chance < 0.15 else (draw.state if chance < 0.6 else draw.action)("present")
    main = draw.action("present" if chance < 0.8 else draw.choice(lex.MODALS))
    if draw.random() < 0.2:
        main = Clause(draw.subject(), lex.STAY, complement=lex.AT_HOME)
    when, main = replace(when, habitual=True), replace(main, habitual=True)
    if draw.random() < 0.5:
        return _told(
            main, (f"{clauses.german_subordinate(when, 'wenn')},", f"{clauses.english_statement(when, 'when')},")
        )
    return _told(replace(main, extra=_subordinate(when, ("wenn", "when"))))


def _opinion(draw: Chooser) -> Pair:
    """A clause after a verb of opinion: that; after "know" also why or when; after "not know" never that."""
    verb, chance = draw.choice(lex.OPINIONS), draw.random()
    no = chance < 0.25 and verb.base != "hope"
    conjunction = "dass", "that"
    if verb is lex.KNOW:
        unknown = ("ob", "whether"), ("warum", "why"), ("wann", "when")
        conjunction = draw.choice(unknown if no else (conjunction, *unknown))
    no = no or conjunction[1] == "whether"
    inner = (draw.action if conjunction[1] == "when" else draw.clause)(draw.tense(), negated=False if no else None)
    extra = _subordinate(inner, conjunction)
    if chance > 0.75:
        return _asked(Clause(draw.choice((lex.DU, lex.FORMAL, lex.IHR)), verb, extra=extra))
    return _told(Clause(draw.subject(negated=no), verb, negated=no, extra=extra))


def _imperative(draw: Chooser) -> Pair:
    frames = ("text", "transitive", "dative", "ditransitive", "motion")
    clause = draw.action("present", lex.FORMAL, frames=frames)
    if not clause.verb.ing:  # verbs such as "lose" and "see" have no imperative
        return _imperative(draw)
    if draw.random() < 0.25:
        clause = replace(clause, time=draw.choice(times_for("m", clause.negated)))
    please = "please do not" if clause.negated else "please"
    return finished(clauses.german_main(clause, "bitte"), join(please, clauses.english_infinitive(clause)), "!")


def _existence(draw: Chooser) -> Pair:
    noun = draw.choice([noun for noun in nouns_with("person", "animal", "thing") if "kin" not in noun.tags])
    plural = draw.random() < 0.6
    determiner = draw.choice((lex.NO, lex.MANY, *lex.COUNTED) if plural else (lex.A, lex.A, lex.A, lex.NO))
    phrase = noun_phrase(noun, determiner, draw.adjective(noun), plural)
    place, be = draw.place(), "are" if plural else "is"
    if phrase.kind != "negative" and draw.random() < 0.3:
        return finished(f"gibt es {phrase.acc} {place[0]}", f"{be} there {phrase.english} {place[1]}", "?")
    return finished(f"es gibt {phrase.acc} {place[0]}", f"there {be} {phrase.english} {place[1]}", ".")


def _fact(draw: Chooser) -> Pair:
    """An age, a price or a profession."""
    german, english = draw.choice(lex.NUMBERS)
    match draw.randrange(3):
        case 0:
            subject = draw.subject(("person", "animal"), negated=True)
            clause = Clause(subject, lex.BE, complement=(f"{german} Jahre alt", f"{english} years old"))
        case 1:
            subject = draw.definite_with("goods", "food")
            clause = Clause(subject, lex.COST, complement=(f"{german} Euro", f"{english} euros"))
        case _:
            noun = draw.choice(nouns_with("job"))
            fitting = ("ich", "du", "Sie", "er" if noun.gender == "m" else "sie")
            who = draw.choice([phrase for phrase in (*lex.PRONOUNS, *lex.NAMED) if phrase.stand_in in fitting])
            clause = Clause(who, lex.BE, complement=(noun.german, with_article("a", noun.english)))
    return _asked(clause) if draw.random() < 0.2 else _told(clause)


def _greeting(draw: Chooser) -> Pair:
    german, english = draw.choice(lex.GREETINGS)
    name = draw.choice(("", *(f", {phrase.nom}" for phrase in lex.NAMED)))
    return finished(german + name, english + name, draw.choice("!."))


PATTERNS: dict[Callable[[Chooser], Pair], int] = {
    _statement: 24,
    _yes_no_question: 9,
    _subject_question: 3,
    _object_question: 6,
    _circumstance_question: 6,
    _request: 12,
    _direct_request: 3,
    _help: 4,
    _attempt: 5,
    _two_clauses: 8,
    _condition: 6,
    _opinion: 8,
    _imperative: 4,
    _existence: 2,
    _fact: 3,
    _greeting: 1,
}
CUMULATIVE = tuple(accumulate(PATTERNS.values()))


INFORMAL = re.compile(r"\b(du|dich|dir|dein\w*|euch|euer|eure\w*)\b", re.IGNORECASE)
GIRL, HIS = re.compile(r"\bMädchen\b"), re.compile(r"\bsein\w*", re.IGNORECASE)


def sentence(draw: Chooser) -> Pair:
    """Return a random (German, English) sentence pair."""
    (pattern,) = draw.choices(tuple(PATTERNS), cum_weights=CUMULATIVE)
    pair = pattern(draw)
    return sentence(draw) if _is_odd(*pair) else pair


def _is_odd(german: str, english: str) -> bool:
    """Return whether formal is beside informal address ("Lesen Sie dein Buch?"), or a girl beside `sein` ("his")."""
    # At the beginning of a sentence, `Sie` may be "she".
    is_formal = "Ihnen" in german or " Sie" in german or (german.startswith("Sie ") and english.startswith("You "))
    return bool((is_formal and INFORMAL.search(german)) or (GIRL.search(german) and HIS.search(german)))
