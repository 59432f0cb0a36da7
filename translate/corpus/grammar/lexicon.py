"""The words of the grammar, read from lexicon.toml, which describes its columns; and clauses made of them.

Declension, conjugation, agreement and word order of both languages, from the same parts.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

Pair = tuple[str, str]


class Noun(NamedTuple):
    """A noun with its gender ("m", "f", "n") and tags; `oblique` is its accusative and dative singular."""

    german: str
    oblique: str
    plural: str
    gender: str
    english: str
    english_plural: str
    tags: frozenset[str]


class Verb(NamedTuple):
    """A verb of both languages; `tags` choose its subject (intransitive) or its object."""

    prefix: str
    infinitive: str
    third: str
    participle: str
    auxiliary: str
    base: str
    base_third: str
    past: str
    ing: str
    particle: str
    preposition: str
    tags: str


class Modal(NamedTuple):
    """A modal verb: its English auxiliary ("do" if it has none) and the words before the English infinitive."""

    german: str
    auxiliary: str
    before: str
    before_third: str


Tense = str | Modal  # "present", "past" or a modal verb in the present


class Time(NamedTuple):
    """An adverbial of time; the letters in `fits` are those of the table `times`."""

    german: str
    english: str
    fits: str


class Determiner(NamedTuple):
    """The first word of a noun phrase; the declension is "der", "ein", "strong", or "bare" (no ending)."""

    german: str
    declension: str
    singular: str
    plural: str
    kind: str = "indefinite"  # of the phrase


class Phrase(NamedTuple):
    """A noun phrase or pronoun in every case; `person` indexes conjugations, `stand_in` is its pronoun or ""."""

    nom: str
    acc: str
    dat: str
    english: str
    english_object: str
    person: int = 2
    kind: str = "pronoun"  # or "definite", "indefinite", "negative"
    stand_in: str = ""


class Frame(NamedTuple):
    """A table of verbs with the parts of a clause that they need, and how often it is drawn."""

    name: str
    weight: int
    parts: list[str]
    complement: str


class Conjunction(NamedTuple):
    """A conjunction with what its clause is drawn from; see the table `conjunctions`."""

    kind: str
    frames: str
    tenses: str
    words: Pair = ("", "")
    same_subject: float = 0.0
    negated: float = 0.15
    times: str = ""


class Pattern(NamedTuple):
    """A kind of sentence; see the table `patterns`."""

    form: str
    weight: float
    frames: str = ""
    opener: Pair = ("", "")
    subjects: str = ""
    tenses: str = "any"
    negated: float = 0.0
    times: str = ""
    conjunctions: str = ""


def _rows(table: str) -> list[Any]:
    return [tuple(cell.strip("-") for cell in re.split(" {2,}", line)) for line in table.strip().split("\n")]


_FILE = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8"))
_NOUNS, _ADJECTIVES, _VERBS, _WORDS = (
    {name: _rows(table) for name, table in _FILE[section].items()}
    for section in ("nouns", "adjectives", "verbs", "words")
)

NOUNS = [Noun._make((*row, frozenset(tags.split()))) for tags, table in _NOUNS.items() for row in table]
ADJECTIVES: dict[str, list[Pair]] = _ADJECTIVES
VERBS = {name: [Verb(*row) for row in table] for name, table in _VERBS.items()}
MODALS = {row[0]: Modal(*row) for row in _WORDS["modals"]}
PRESENT: dict[str, list[str]] = {verb: forms for verb, *forms in _WORDS["present"]}
PRETERITE: dict[str, list[str]] = {verb: forms for verb, *forms in _WORDS["preterite"]}
DECLENSION = {(case, gender): endings for case, gender, *endings in _WORDS["declension"]}
STEMS: dict[str, str] = dict(_WORDS["stems"])
CONTRACTIONS: dict[str, str] = dict(_WORDS["contractions"])
COMPARATIVES = {german: (more, english) for german, more, english in _WORDS["comparatives"]}
UNITS = {kind: (german, english) for kind, german, english in _WORDS["units"]}
_PAIRS: dict[str, list[Pair]] = _WORDS
MOODS, MATTERS, DEGREES = _PAIRS["moods"], _PAIRS["matters"], _PAIRS["degrees"]
SPOTS, GREETINGS, NUMBERS = _PAIRS["spots"], _PAIRS["greetings"], _PAIRS["numbers"]
TIMES = [Time(*row) for row in _WORDS["times"]]

FRAMES = [Frame(name, int(n), parts.split(), complement) for name, n, parts, complement in _WORDS["frames"]]
TENSES = [tense for tense, n in _WORDS["tenses"] for _ in range(int(n))]
CONJUNCTIONS = {name: Conjunction(**row) for name, row in _FILE["conjunctions"].items()}
PATTERNS = [Pattern(**row) for row in _FILE["sentences"]["patterns"]]

_DETERMINERS = [(Determiner(*row), int(singular), int(plural)) for *row, singular, plural in _WORDS["determiners"]]
THE, THIS, A, EVERY, BARE, MANY, ALL, NO, NOT_A, NOT_ANY, WHICH, HOW_MANY = (word for word, *_ in _DETERMINERS)
COUNTED = tuple(Determiner(german, "bare", "", english) for german, english in NUMBERS)
POSSESSIVES = tuple(Determiner(*row) for row in _WORDS["possessives"])
DEFINITE = {THE, THIS, *POSSESSIVES}
SINGULAR = tuple(word for word, n, _ in _DETERMINERS for _ in range(n))
PLURAL = (*(word for word, _, n in _DETERMINERS for _ in range(n)), *COUNTED)

PRONOUNS = [Phrase._make((*forms, int(person), "pronoun", forms[0])) for *forms, person in _WORDS["pronouns"]]
ICH, _, _, SIE, _, _, FORMAL = PRONOUNS
IT, WHO = Phrase("es", "es", "ihm", "it", "it"), Phrase("wer", "wen", "wem", "who", "who")
SUBJECTS = {phrase.nom: phrase for phrase in (*PRONOUNS, WHO)}
NAMED = [Phrase._make((*[name] * 5, 2, "definite", pronoun)) for name, pronoun in _WORDS["names"]]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause before word order: subject, verb and everything else. `opener` is before it, `extra` after it."""

    subject: Phrase
    verb: Verb
    tense: Tense = "present"
    habitual: bool = False
    negated: bool = False
    indirect: Phrase | None = None
    object: Phrase | None = None
    time: Time | None = None
    complement: Pair = ("", "")
    opener: Pair = ("", "")
    extra: Pair = ("", "")

    @property
    def often(self) -> str:
        """English adverb of frequency, which precedes the main verb; "" if there is none."""
        return self.time.english if self.time and "f" in self.time.fits else ""


def statement(clause: Clause, conjunction: Pair = ("", "")) -> Pair:
    """Return a statement; the German verb is second, after the opener or else the subject."""
    first, inner = (clause.opener[0], clause.subject.nom) if clause.opener[0] else (clause.subject.nom, "")
    german, english = _german_main(clause, first, inner), _english_statement(clause, clause.opener[1])
    return join(conjunction[0], german), join(conjunction[1], english)


def question(clause: Clause) -> Pair:
    """Return a question: the German verb or English auxiliary is before the subject; the clause must not be negated."""
    auxiliary, main, _ = _verb_group(clause)
    english = join(clause.opener[1], auxiliary, clause.subject.english, clause.often, main, _english_rest(clause))
    return _german_main(clause, clause.opener[0], clause.subject.nom), english + clause.extra[1]


def subordinate(clause: Clause, conjunction: Pair) -> Pair:
    """Return a subordinate clause; the German verb is last, and a separable one in the present is one word."""
    finite, end = _brackets(clause)
    verb = end + finite if clause.tense == "present" else join(end, finite)
    german = join(conjunction[0], _middle_field(clause, clause.subject.nom), verb)
    return german, _english_statement(clause, conjunction[1])


def infinitive(clause: Clause, conjunction: Pair) -> Pair:
    """Return the clause without its subject, in German with `zu`, which goes inside a separable verb."""
    zu = "zu" if clause.verb.prefix else "zu "
    german = join(conjunction[0], _middle_field(clause), clause.verb.prefix + zu + clause.verb.infinitive)
    return german, join(conjunction[1], clause.verb.base, _english_rest(clause))


def join(*words: str) -> str:
    """Return the words that are not empty with a space between them."""
    return " ".join(filter(None, words))


def noun_phrase(noun: Noun, determiner: Determiner, adjective: Pair = ("", ""), plural: bool = False) -> Phrase:
    """Return the phrase in all cases and in English.

    Args:
        noun: its noun.
        determiner: its first word; BARE gives none.
        adjective: German and English; ("", "") gives none.
        plural: whether it is plural; "person" nouns in the singular get a pronoun in `stand_in`.
    """
    nom, acc, dat = (_declined(noun, determiner, adjective[0], plural, case) for case in ("nom", "acc", "dat"))
    words = join(adjective[1], noun.english_plural if plural else noun.english)
    english = with_article(determiner.plural if plural else determiner.singular, words)
    stand_in = {"m": "er", "f": "sie"}.get(noun.gender, "") if "person" in noun.tags and not plural else ""
    return Phrase(nom, acc, dat, english, english, 5 if plural else 2, determiner.kind, stand_in)


def with_article(article: str, rest: str) -> str:
    """Return the phrase with its article, "an" before a vowel; of these words only "university" needs an exception."""
    has_vowel = rest[0] in "aeiouAEIOU" and not rest.startswith("uni")
    return join("an" if article == "a" and has_vowel else article, rest)


# German: declension, conjugation, word order.


def _declined(noun: Noun, determiner: Determiner, adjective: str, plural: bool, case: str) -> str:
    """Return one case; the adjective takes the strong ending if the determiner does not show it."""
    strong, of_ein, weak, definite = DECLENSION[case, "p" if plural else noun.gender]
    article, declension = determiner.german, determiner.declension
    ending = {"ein": of_ein, "bare": ""}.get(declension, strong)
    article = definite if article == "d" else _inflected(article, ending)
    if adjective:
        adjective = _inflected(adjective, weak if ending and declension != "strong" else strong)
    if plural:
        word = noun.plural + ("n" if case == "dat" and noun.plural[-1] not in "ns" else "")
    else:
        word = noun.german if case == "nom" else noun.oblique
    return join(article, adjective, word)


def _inflected(word: str, ending: str) -> str:
    return STEMS.get(word, word) + ending if ending else word


def conjugate(infinitive: str, third: str, person: int) -> str:
    """Return the present tense of a verb without its separable prefix.

    Args:
        infinitive: without the prefix.
        third: third person singular; ignored for the verbs of the table `present`.
        person: 0 to 5, for ich, du, er, wir, ihr, Sie.
    """
    if infinitive in PRESENT:
        return PRESENT[infinitive][person]
    stem = infinitive[:-1] if infinitive.endswith("ern") else infinitive[:-2]
    du = third[:-1] + ("t" if third[-2] in "szxß" else "st")
    ihr = stem + ("et" if stem.endswith(("d", "t", "ffn", "chn", "gn")) else "t")
    return (stem + "e", du, third, infinitive, ihr, infinitive)[person]


def _brackets(clause: Clause) -> tuple[str, str]:
    """Return the finite verb and the end of the clause: a prefix, a participle or an infinitive."""
    verb, person = clause.verb, clause.subject.person
    if isinstance(clause.tense, Modal):
        return conjugate(clause.tense.german, "", person), verb.prefix + verb.infinitive
    if clause.tense == "present":
        return conjugate(verb.infinitive, verb.third, person), verb.prefix
    if verb.infinitive in PRETERITE:
        return PRETERITE[verb.infinitive][person], ""
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
    if clause.subject.kind != "pronoun" and first and first.kind == "pronoun" and first is not SIE:
        pronoun, _, known = known.partition(" ")
        subject = join(pronoun, subject)
    rest = (clause.complement[0], new, nicht) if new else (nicht, clause.complement[0])
    return join(subject, known, clause.time.german if clause.time else "", *rest)


def _german_main(clause: Clause, first: str, subject: str) -> str:
    """Return a main clause: the finite verb follows `first`, and `subject` follows the verb; either may be ""."""
    finite, end = _brackets(clause)
    return join(first, finite, _middle_field(clause, subject), end) + clause.extra[0]


# English: agreement, do-support, word order.

STAYS_BEFORE_OBJECT = {"for", "at", "to", "of", "about", "with"}
FOLLOWS_OBJECT = {"aloud", "along", "back"}


def _english_statement(clause: Clause, opener: str) -> str:
    """Return a statement: the subject precedes the verb, `do` occurs only in a negation."""
    auxiliary, main, alone = _verb_group(clause)
    if clause.negated:
        auxiliary, alone = "cannot" if auxiliary == "can" else f"{auxiliary} not", ""
    verb = (clause.often, alone) if alone else (auxiliary, clause.often, main)
    return join(opener, clause.subject.english, *verb, _english_rest(clause)) + clause.extra[1]


def _verb_group(clause: Clause) -> tuple[str, str, str]:
    """Return (auxiliary, main verb after it, main verb alone); the last is "" if the auxiliary is required."""
    verb, tense, person = clause.verb, clause.tense, clause.subject.person
    be = ("am", "are", "is", "are", "are", "are")[person]
    base, third = verb.base, verb.base_third
    if isinstance(tense, Modal):
        base, third = join(tense.before, base), join(tense.before_third, base)
        if tense.auxiliary != "do":
            return be if tense.auxiliary == "be" else tense.auxiliary, base, ""
    elif base == "be":
        return be if tense == "present" else "was" if person in (0, 2) else "were", "", ""
    elif tense == "past":
        return "did", base, verb.past
    elif verb.ing and not (clause.habitual or (clause.time and "h" in clause.time.fits)):
        return be, verb.ing, ""
    return ("does", base, third) if person == 2 else ("do", base, base)


def _english_rest(clause: Clause) -> str:
    """Return everything after the verb: "pick him up", but "pick up the child", "look for him", "read it aloud"."""
    particle, objects = clause.verb.particle, [phrase for phrase in (clause.indirect, clause.object) if phrase]
    after_pronoun = bool(objects) and objects[0].kind == "pronoun" and particle not in STAYS_BEFORE_OBJECT
    words = [phrase.english_object for phrase in objects]
    words.insert(len(words) if after_pronoun or particle in FOLLOWS_OBJECT else 0, particle)
    time = clause.time.english if clause.time and not clause.often else ""
    return join(*words, clause.complement[1], time)
