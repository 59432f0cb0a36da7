"""Clauses of either language from the same parts: declension, conjugation, agreement and word order."""

from dataclasses import dataclass
from typing import Literal

from translate.corpus.grammar import lexicon as lex
from translate.corpus.grammar.lexicon import Determiner, Modal, Noun, Pair, Phrase, Time, Verb, stem_of, with_s, with_t

Tense = Literal["present", "past"] | Modal


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause before word order: subject, verb and everything else. `extra` follows the rest, comma included."""

    subject: Phrase
    verb: Verb
    tense: Tense = "present"
    habitual: bool = False
    negated: bool = False
    indirect: Phrase | None = None
    object: Phrase | None = None
    time: Time | None = None
    complement: Pair = ("", "")
    extra: Pair = ("", "")


# German: declension, conjugation, word order.

STRONG = {
    "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
EIN_HAS_NO_ENDING = {("nom", "m"), ("nom", "n"), ("acc", "n")}
WEAK_IN_E = {("nom", "m"), ("nom", "f"), ("nom", "n"), ("acc", "f"), ("acc", "n")}


def noun_phrase(noun: Noun, determiner: Determiner, adjective: Pair = ("", ""), plural: bool = False) -> Phrase:
    """Return the phrase in all cases and in English.

    Args:
        noun: its noun.
        determiner: its first word; BARE gives none.
        adjective: German and English; ("", "") gives none.
        plural: whether it is plural; "person" nouns in the singular get a pronoun in `stand_in`.
    """
    nom, acc, dat = (_declined(noun, determiner, adjective[0], plural, case) for case in STRONG)
    words = join(adjective[1], noun.english_plural if plural else noun.english)
    english = with_article(determiner.plural if plural else determiner.singular, words)
    indefinite = determiner in (lex.A, lex.BARE, lex.MANY) or determiner in lex.COUNTED
    kind = "negative" if determiner.german == "kein" else "indefinite" if indefinite else "definite"
    one_person = "person" in noun.tags and not plural
    stand_in = {"m": "er", "f": "sie"}.get(noun.gender, "") if one_person else ""
    return Phrase(nom, acc, dat, english, english, 5 if plural else 2, kind, stand_in)


def _declined(noun: Noun, determiner: Determiner, adjective: str, plural: bool, case: str) -> str:
    """Return one case; the adjective takes the strong ending if the determiner does not show it."""
    gender = "p" if plural else noun.gender
    ending, declension = STRONG[case][gender], determiner.declension
    is_shown = declension != "bare" and not (declension == "ein" and (case, gender) in EIN_HAS_NO_ENDING)
    article = determiner.german
    if article == "d":
        article = {"e": "die", "es": "das"}.get(ending, article + ending)
    elif is_shown:
        article = ("eur" if article == "euer" else article) + ending
    if adjective:
        weak = "e" if (case, gender) in WEAK_IN_E else "en"
        adjective = lex.ADJECTIVE_STEMS.get(adjective, adjective)
        adjective += weak if is_shown and declension != "strong" else ending
    if plural:
        word = noun.plural + ("n" if case == "dat" and noun.plural[-1] not in "ns" else "")
    else:
        word = noun.german if case == "nom" else noun.oblique
    return join(article, adjective, word)


def conjugate(infinitive: str, third: str, person: int) -> str:
    """Return the present tense of a verb without its separable prefix.

    Args:
        infinitive: without the prefix.
        third: third person singular; ignored for the verbs in IRREGULAR_PRESENT.
        person: 0 to 5, for ich, du, er, wir, ihr, Sie.
    """
    if infinitive in lex.IRREGULAR_PRESENT:
        return lex.IRREGULAR_PRESENT[infinitive][person]
    stem, du = stem_of(infinitive), third[:-1]
    du += "t" if du[-1] in "szxß" else "st"
    return (stem + "e", du, third, infinitive, with_t(stem), infinitive)[person]


def _brackets(clause: Clause) -> tuple[str, str]:
    """Return the finite verb and the end of the clause: a prefix, a participle or an infinitive."""
    verb, person = clause.verb, clause.subject.person
    if isinstance(clause.tense, Modal):
        return conjugate(clause.tense.german, "", person), verb.prefix + verb.infinitive
    if clause.tense == "present":
        return conjugate(verb.infinitive, verb.third, person), verb.prefix
    if verb.infinitive in lex.PRETERITE:
        return lex.PRETERITE[verb.infinitive][person], ""
    return conjugate(verb.auxiliary, "", person), verb.participle


def _middle_field(clause: Clause, subject: str = "") -> str:
    """Return the words between the brackets: subject if given, known objects, time, `nicht`, new objects."""
    known, new = clause.indirect.dat if clause.indirect else "", ""
    nicht = "nicht" if clause.negated else ""
    if clause.object and clause.object.kind in ("pronoun", "definite"):
        known = join(known, clause.object.acc)
    elif clause.object:
        new, nicht = clause.object.acc, "" if clause.object.kind == "negative" else nicht
    # A pronoun precedes a noun, except `sie` and `ihr`, which would be read as the subject there.
    first = clause.indirect or clause.object
    if clause.subject.kind != "pronoun" and first and first.kind == "pronoun" and first is not lex.SIE:
        pronoun, _, known = known.partition(" ")
        subject = join(pronoun, subject)
    rest = (clause.complement[0], new, nicht) if new else (nicht, clause.complement[0])
    return join(subject, known, clause.time.german if clause.time else "", *rest)


def german_main(clause: Clause, opener: str | None = None) -> str:
    """Return a main clause, verb second: None opens with the subject, an empty opener with the verb."""
    finite, end = _brackets(clause)
    subject = clause.subject.nom
    if opener is None:
        return join(subject, finite, _middle_field(clause), end) + clause.extra[0]
    return join(opener, finite, _middle_field(clause, subject), end) + clause.extra[0]


def german_subordinate(clause: Clause, conjunction: str) -> str:
    """Return a subordinate clause, verb last; a separable verb in the present is one word."""
    finite, end = _brackets(clause)
    verb = end + finite if clause.tense == "present" else join(end, finite)
    return join(conjunction, _middle_field(clause, clause.subject.nom), verb) + clause.extra[0]


def german_infinitive(clause: Clause) -> str:
    """Return the clause without its subject, with `zu`, which goes inside a separable verb."""
    zu = "zu" if clause.verb.prefix else "zu "
    return join(_middle_field(clause), clause.verb.prefix + zu + clause.verb.infinitive)


# English: agreement, do-support, word order.

STAYS_BEFORE_OBJECT = {"for", "at", "to", "of", "about", "with"}
FOLLOWS_OBJECT = {"aloud", "along", "back"}


def english_statement(clause: Clause, opener: str = "") -> str:
    """Return a statement: the subject precedes the verb, `do` occurs only in a negation."""
    auxiliary, main, alone = _verb_group(clause)
    often, time = _english_time(clause)
    if clause.negated:
        verb = join("cannot" if auxiliary == "can" else f"{auxiliary} not", often, main)
    else:
        verb = join(often, alone) if alone else join(auxiliary, often, main)
    return join(opener, clause.subject.english, verb, _english_rest(clause), time) + clause.extra[1]


def english_question(clause: Clause, opener: str = "") -> str:
    """Return a question, with the auxiliary before the subject; the clause must not be negated."""
    auxiliary, main, _ = _verb_group(clause)
    often, time = _english_time(clause)
    head = join(opener, auxiliary, clause.subject.english, often, main)
    return join(head, _english_rest(clause), time) + clause.extra[1]


def english_infinitive(clause: Clause) -> str:
    """Return the clause without its subject, for use after "help me", "to" or "please"."""
    return join(clause.verb.base, _english_rest(clause), _english_time(clause)[1])


def _verb_group(clause: Clause) -> tuple[str, str, str]:
    """Return (auxiliary, main verb after it, main verb alone); the last is "" if the auxiliary is required."""
    verb, tense, person = clause.verb, clause.tense, clause.subject.person
    be = ("am", "are", "is", "are", "are", "are")[person]
    auxiliary, base = "do", verb.base
    if isinstance(tense, Modal):
        auxiliary, base = tense.auxiliary, join(tense.before, verb.base)
    elif verb.base == "be":
        return be if tense == "present" else "was" if person in (0, 2) else "were", "", ""
    elif tense == "past":
        return "did", base, verb.past
    elif verb.ing and not (clause.habitual or (clause.time and "h" in clause.time.fits)):
        return be, verb.ing, ""
    if auxiliary != "do":
        return be if auxiliary == "be" else auxiliary, base, ""
    head, _, tail = base.partition(" ")
    third = join("has" if head == "have" else with_s(head), tail)
    return ("does", base, third) if person == 2 else ("do", base, base)


def _english_rest(clause: Clause) -> str:
    """Return particle, objects and place: "pick him up", but "pick up the child", "look for him", "read it aloud"."""
    particle, objects = clause.verb.particle, [phrase for phrase in (clause.indirect, clause.object) if phrase]
    after_pronoun = bool(objects) and objects[0].kind == "pronoun" and particle not in STAYS_BEFORE_OBJECT
    words = [phrase.english_object for phrase in objects]
    words.insert(len(words) if after_pronoun or particle in FOLLOWS_OBJECT else 0, particle)
    return join(*words, clause.complement[1])


def _english_time(clause: Clause) -> Pair:
    """Return (words before the main verb, words at the end)."""
    if clause.time is None:
        return "", ""
    return (clause.time.english, "") if "f" in clause.time.fits else ("", clause.time.english)


def with_article(article: str, rest: str) -> str:
    """Return the phrase with its article, "an" before a vowel; of these words only "university" needs an exception."""
    has_vowel = rest[0] in "aeiouAEIOU" and not rest.startswith("uni")
    return join("an" if article == "a" and has_vowel else article, rest)


def join(*words: str) -> str:
    """Return the words that are not empty with a space between them."""
    return " ".join(filter(None, words))


def finished(german: str, english: str, mark: str) -> Pair:
    """Return both sides with a capital and a mark at the end."""
    return german[0].upper() + german[1:] + mark, english[0].upper() + english[1:] + mark
