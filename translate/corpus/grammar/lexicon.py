"""The words of the grammar, read from lexicon.toml, which describes its columns."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Pair = tuple[str, str]

_LEXICON: dict[str, Any] = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8"))
_WORDS = _LEXICON["words"]


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
    past: str
    ing: str
    particle: str = ""
    tags: tuple[str, ...] = ()
    preposition: str = ""
    is_state: bool = False


class Modal(NamedTuple):
    """A modal verb: its English auxiliary ("do" if it has none) and the words before the English infinitive."""

    german: str
    auxiliary: str
    before: str


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


def with_s(english: str) -> str:
    """Return the regular plural of a noun or the third person of a verb."""
    if english.endswith("y") and english[-2] not in "aeiou":
        return english[:-1] + "ies"
    return english + ("es" if english.endswith(("s", "x", "ch", "sh", "go")) else "s")


def stem_of(infinitive: str) -> str:
    """Return the infinitive without its ending -en or -n."""
    return infinitive[:-1] if infinitive.endswith("ern") else infinitive[:-2]


def with_t(stem: str) -> str:
    """Return the stem with the ending of "er spielt" and "ihr spielt", which is -et after some consonants."""
    return stem + ("et" if stem.endswith(("d", "t", "ffn", "chn", "gn")) else "t")


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip("-") for cell in re.split(" {2,}", line)] for line in table.strip().split("\n")]


def _pairs(table: str) -> tuple[Pair, ...]:
    return tuple((german, english) for german, english in _rows(table))


def _nouns(tags: frozenset[str], table: str) -> Iterator[Noun]:
    for german, plural, english in _rows(table):
        article, _, forms = german.partition(" ")
        singular, _, oblique = forms.partition("/")
        one, _, many = english.partition("/")
        gender = {"der": "m", "die": "f", "das": "n"}[article]
        yield Noun(singular, oblique or singular, plural, gender, one, many or with_s(one), tags)


def _verb(german: str, english: str, tags: str = "", *, is_state: bool) -> Verb:
    words, (base_forms, *particle) = german.split(), english.split()
    forms, preposition = words[0].split("/"), next((word for word in words if "+" in word), "")
    prefix, _, infinitive = forms[0].rpartition("-")
    weak = with_t(stem_of(infinitive))
    is_inseparable = infinitive.startswith(("be", "er", "ver", "über")) or infinitive.endswith("ieren")
    third, participle = forms[1:] or (weak, prefix + ("" if is_inseparable else "ge") + weak)
    base, *parts = base_forms.split("/")
    short = base.removesuffix("e")
    past = base[:-1] + "ied" if with_s(base).endswith("ies") else short + "ed"
    past, ing = parts or (past, short + "ing")
    auxiliary = "sein" if "ist" in words else "haben"
    verb = Verb(prefix, infinitive, third, participle, auxiliary, base, past, ing, " ".join(particle))
    return verb._replace(tags=tuple(tags.split()), preposition=preposition, is_state=is_state)


NOUNS = tuple(noun for tags, table in _LEXICON["nouns"].items() for noun in _nouns(frozenset(tags.split()), table))
ADJECTIVES: dict[str, tuple[Pair, ...]] = {kind: _pairs(table) for kind, table in _LEXICON["adjectives"].items()}
ADJECTIVE_STEMS = dict(_pairs(_WORDS["adjective_stems"]))
COMPARATIVES = {german: (more, english) for german, more, english in _rows(_WORDS["comparatives"])}
MOODS, MATTERS, MEASURES, DEGREES = (_pairs(_WORDS[name]) for name in ("moods", "matters", "measures", "degrees"))
SPOTS, GREETINGS, NUMBERS = (_pairs(_WORDS[name]) for name in ("spots", "greetings", "numbers"))
CONTRACTIONS = dict(_pairs(_WORDS["contractions"]))
IRREGULAR_PRESENT = {infinitive: forms for infinitive, *forms in _rows(_WORDS["present"])}
PRETERITE = {infinitive: forms for infinitive, *forms in _rows(_WORDS["preterite"])}
TIMES = tuple(Time(german, english, fits) for german, english, fits in _rows(_WORDS["times"]))
PLEASE = Time("bitte", "please", "f")

VERBS = {
    frame: tuple(_verb(*row, is_state=frame in ("state", "opinion")) for row in _rows(table))
    for frame, table in _LEXICON["verbs"].items()
}
FRAME_WEIGHTS: dict[str, int] = _LEXICON["frame_weights"]
OPINIONS, (STAY, HELP, TRY, COME, FORGET, COST, RAIN, SNOW) = VERBS["opinion"], VERBS["special"]
KNOW, HAVE = OPINIONS[0], VERBS["state"][-1]
BE = Verb("", "sein", "ist", "gewesen", "sein", "be", "was", "")
AT_HOME: Pair = ("zu Hause", "at home")
MODALS = tuple(Modal(german, auxiliary, before) for german, auxiliary, before in _rows(_WORDS["modals"]))
CAN, SHOULD, COULD = MODALS[0], MODALS[1], Modal("könnten", "could", "")

_DETERMINERS = [
    (Determiner(*row), int(singular), int(plural)) for *row, singular, plural in _rows(_WORDS["determiners"])
]
THE, THIS, A, EVERY, BARE, MANY, ALL, NO, NOT_A, NOT_ANY, WHICH, HOW_MANY = (word for word, *_ in _DETERMINERS)
COUNTED = tuple(Determiner(german, "bare", "", english) for german, english in NUMBERS)
POSSESSIVES = tuple(Determiner(german, "ein", english, english) for german, english in _pairs(_WORDS["possessives"]))
SINGULAR = tuple(word for word, weight, _ in _DETERMINERS for _ in range(weight))
PLURAL = (*(word for word, _, weight in _DETERMINERS for _ in range(weight)), *COUNTED)

PRONOUNS = tuple(
    Phrase(nom, acc, dat, english, object_, int(person), stand_in=nom)
    for nom, acc, dat, english, object_, person in _rows(_WORDS["pronouns"])
)
ICH, DU, ER, SIE, WIR, IHR, FORMAL = PRONOUNS
IT, WHO = Phrase("es", "es", "ihm", "it", "it"), Phrase("wer", "wen", "wem", "who", "who")
NAMED = tuple(
    Phrase(name, name, name, name, name, kind="definite", stand_in=pronoun)
    for pronoun, names in _LEXICON["names"].items()
    for name in names.split()
)
