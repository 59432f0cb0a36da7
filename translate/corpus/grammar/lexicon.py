"""The words of the grammar, read from lexicon.toml, which describes its columns."""

import re
import tomllib
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
