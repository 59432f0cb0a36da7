"""Sentences of the patterns in lexicon.toml."""

import re
from dataclasses import replace

from translate.corpus.grammar import lexicon as lex
from translate.corpus.grammar.choices import Chooser, nouns_with
from translate.corpus.grammar.clauses import Clause, infinitive, noun_phrase, question, statement, subordinate
from translate.corpus.grammar.lexicon import Conjunction, Pair, Pattern

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
