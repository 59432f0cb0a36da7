"""The embedded corpus: a small German-English grammar, written for this project. Every sentence is synthetic.

It exists so that a first training run needs no download and ends in minutes. It knows a few hundred words and the core
of the grammar: gender, number and case; verb second, verb first and verb last; separable and modal verbs; the perfect;
questions, negation and numbers. A high BLEU here says that a model has learned these rules. It says nothing about the
German that people write, and what the sentences claim is often odd.

The translation is a function: a German sentence has one English sentence. Where German leaves open what English must
say, a fixed rule decides: the perfect becomes the simple past, the present becomes the progressive unless the verb is a
state or the time is a habit, `wenn` is "when", `sein` and `ihr` are "his" and "her", and the plural pronoun `sie`
("they") is left out. A hash of the English side gives a sentence its split, so that the splits share no sentence on
either side, whatever the seeds and sizes; `MISSION`, the question of the demonstration, is always in training.

How it reads: words (tables) -> `Phrase` (a noun phrase in all cases) -> `Clause` (who does what to whom, in no order
yet) -> the word order of either language -> sentence patterns.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from typing import Literal, NamedTuple

from translate.errors import UserError

Pair = tuple[str, str]
Split = Literal["train", "valid", "test"]

MISSION: Pair = ("Kannst du mir helfen, diesen Satz zu übersetzen?", "Can you help me translate this sentence?")
MAX_PAIRS: dict[Split, int] = {"train": 400_000, "valid": 50_000, "test": 50_000}


def generate(split: Split, pairs: int, seed: int) -> Iterator[Pair]:
    """Exactly `pairs` distinct (German, English) pairs of the split, the same ones for the same split and seed.

    A smaller number gives a prefix of a larger one, and "train" begins with `MISSION`. UserError, at once, if `pairs`
    is negative or beyond `MAX_PAIRS`, up to which the grammar gives without slowing down.
    """
    if not 0 <= pairs <= MAX_PAIRS[split]:
        raise UserError(f"grammar {split}: pairs = {pairs} is not in 0 to {MAX_PAIRS[split]}; ask for as many as that")
    return _distinct(split, pairs, random.Random(f"{split} {seed}"))


def split_of(english: str) -> Split:
    """The split that an English sentence belongs to: one in ten is for validation, one in ten for the test."""
    if english == MISSION[1]:
        return "train"
    bucket = blake2b(english.casefold().encode("utf-8"), digest_size=8).digest()[0] * 10 // 256
    return "test" if bucket == 0 else "valid" if bucket == 1 else "train"


def _distinct(split: Split, pairs: int, rng: random.Random) -> Iterator[Pair]:
    seen: set[str] = set()
    pair = MISSION if split == "train" else _sentence(rng)
    while len(seen) < pairs:
        german, english = pair
        if german not in seen and split_of(english) == split:
            seen.add(german)
            yield pair
        pair = _sentence(rng)


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
    """A modal verb: its English auxiliary ("do": none of its own) and what stands before the infinitive."""

    german: str
    auxiliary: str
    before: str = ""


class Time(NamedTuple):
    """A time in both languages and the letters (see `TIMES`) that say where it fits."""

    german: str
    english: str
    fits: str


class Determiner(NamedTuple):
    """What opens a noun phrase; the declension is "der", "ein", "strong", or "bare" (no ending)."""

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


Tense = Literal["present", "past"] | Modal


@dataclass(frozen=True, slots=True)
class Clause:
    """Who does what to whom, before word order. `extra` follows everything, as written, comma included."""

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


# Words.

# Article, singular, after "/" the form of the other cases where it differs, plural ("-": none), English, after "/" its
# plural where irregular. The first tag is the class that adjectives go by; verbs choose their objects by any tag. "own"
# may be possessed, "kin" is always, "an" and "auf" are prepositions of place, "mass" has no plural, "bare" no article.
NOUN_TABLE = {
    "person": """der Mann Männer man/men; die Frau Frauen woman/women; der Junge/Jungen Jungen boy;
        das Mädchen Mädchen girl; der Bauer/Bauern Bauern farmer; der Maler Maler painter; der Fahrer Fahrer driver;
        der Tourist/Touristen Touristen tourist; der Polizist/Polizisten Polizisten police_officer""",
    "person job": """der Koch Köche cook; die Köchin Köchinnen cook; der Sänger Sänger singer;
        die Sängerin Sängerinnen singer; der Künstler Künstler artist; die Künstlerin Künstlerinnen artist;
        der Ingenieur Ingenieure engineer; der Gärtner Gärtner gardener; der Bäcker Bäcker baker""",
    "person job own": """der Lehrer Lehrer teacher; die Lehrerin Lehrerinnen teacher; der Arzt Ärzte doctor;
        die Ärztin Ärztinnen doctor; der Student/Studenten Studenten student; die Studentin Studentinnen student""",
    "person own": """das Kind Kinder child/children; der Nachbar/Nachbarn Nachbarn neighbor; der Gast Gäste guest;
        die Nachbarin Nachbarinnen neighbor; der Chef Chefs boss; der Kollege/Kollegen Kollegen colleague;
        die Kollegin Kolleginnen colleague""",
    "person kin": """der Vater - father; die Mutter - mother; der Bruder Brüder brother;
        die Schwester Schwestern sister; der Sohn Söhne son; die Tochter Töchter daughter;
        der Freund Freunde friend; der Onkel Onkel uncle; die Tante Tanten aunt; die Großmutter - grandmother;
        der Großvater - grandfather""",
    "animal": """der Bär/Bären Bären bear; der Elefant/Elefanten Elefanten elephant; der Affe/Affen Affen monkey;
        die Maus Mäuse mouse/mice; die Ente Enten duck""",
    "animal own": """der Hund Hunde dog; die Katze Katzen cat; das Pferd Pferde horse; der Vogel Vögel bird;
        die Kuh Kühe cow; das Schaf Schafe sheep/sheep; der Esel Esel donkey; das Kaninchen Kaninchen rabbit""",
    "text own": """der Satz Sätze sentence; der Text Texte text; das Gedicht Gedichte poem;
        der Artikel Artikel article; der Bericht Berichte report; das Rezept Rezepte recipe;
        die Übung Übungen exercise; der Absatz Absätze paragraph; der Titel Titel title""",
    "text own word": "das Wort Wörter word",
    "text own question": "die Frage Fragen question",
    "text own answer": "die Antwort Antworten answer",
    "text own story": "die Geschichte Geschichten story; das Märchen Märchen fairy_tale",
    "text own song": "das Lied Lieder song",
    "text own mail": "der Brief Briefe letter; die Nachricht Nachrichten message; die E-Mail E-Mails email",
    "text own book goods": "das Buch Bücher book; der Roman Romane novel; die Zeitung Zeitungen newspaper",
    "text own form": "das Formular Formulare form",
    "food own": "der Apfel Äpfel apple; die Birne Birnen pear; die Banane Bananen banana; die Orange Orangen orange",
    "food own cook": "die Suppe Suppen soup; die Kartoffel Kartoffeln potato/potatoes; das Ei Eier egg",
    "food own bake": "der Kuchen Kuchen cake; die Pizza Pizzen pizza",
    "food own cut": "die Tomate Tomaten tomato/tomatoes; die Zwiebel Zwiebeln onion",
    "food mass": "der Käse - cheese",
    "food mass cook": "der Reis - rice; das Fleisch - meat",
    "food mass bake": "das Brot - bread",
    "drink mass": """der Kaffee - coffee; der Tee - tea; die Milch - milk; das Wasser - water; der Saft - juice;
        das Bier - beer; der Wein - wine""",
    "thing own goods spot": "der Tisch Tische table; der Stuhl Stühle chair; das Bett Betten bed",
    "thing own goods": """der Spiegel Spiegel mirror; das Bild Bilder picture; das Boot Boote boat;
        die Gitarre Gitarren guitar""",
    "thing own goods machine": "das Fahrrad Fahrräder bicycle; die Uhr Uhren clock; das Auto Autos car",
    "thing own goods machine device": """die Lampe Lampen lamp; der Computer Computer computer;
        das Radio Radios radio; der Fernseher Fernseher television; die Kamera Kameras camera""",
    "thing own goods portable": """der Stift Stifte pen; das Heft Hefte notebook; der Ball Bälle ball;
        der Regenschirm Regenschirme umbrella; der Ring Ringe ring; die Puppe Puppen doll; die Blume Blumen flower""",
    "thing own goods portable dish": """das Messer Messer knife/knives; der Löffel Löffel spoon;
        die Gabel Gabeln fork; der Teller Teller plate; das Glas Gläser glass; die Tasse Tassen cup""",
    "thing own goods portable open": "die Flasche Flaschen bottle; das Geschenk Geschenke gift",
    "thing own goods portable open lid": "der Koffer Koffer suitcase; die Tasche Taschen bag; die Kiste Kisten box",
    "thing own portable": "der Schlüssel Schlüssel key",
    "thing own open lid": "die Tür Türen door; das Fenster Fenster window",
    "clothes own goods": """das Hemd Hemden shirt; das Kleid Kleider dress; der Mantel Mäntel coat; der Hut Hüte hat;
        die Jacke Jacken jacket; der Schuh Schuhe shoe; der Rock Röcke skirt; der Pullover Pullover sweater;
        der Handschuh Handschuhe glove""",
    "vehicle": "der Zug Züge train; der Bus Busse bus; das Taxi Taxis taxi; das Schiff Schiffe ship",
    "place": """der Park Parks park; die Stadt Städte city; das Dorf Dörfer village; die Kirche Kirchen church;
        die Bibliothek Bibliotheken library; das Museum Museen museum; das Krankenhaus Krankenhäuser hospital;
        das Restaurant Restaurants restaurant; der Wald Wälder forest; das Hotel Hotels hotel;
        der Supermarkt Supermärkte supermarket; das Theater Theater theater; die Bäckerei Bäckereien bakery""",
    "place own": "die Schule Schulen school; der Garten Gärten garden",
    "place own home": "das Haus Häuser house",
    "place own room": """die Küche Küchen kitchen; das Zimmer Zimmer room; das Büro Büros office;
        der Keller Keller basement""",
    "place own home room": "die Wohnung Wohnungen apartment",
    "place an": """der Bahnhof Bahnhöfe station; der Flughafen Flughäfen airport; der Strand Strände beach;
        die Universität Universitäten university""",
    "place auf": "der Markt Märkte market",
    "need mass bare": "die Zeit - time; das Geld - money",
    "language mass bare": """das Deutsch - German; das Englisch - English; das Spanisch - Spanish;
        das Italienisch - Italian""",
}
ADJECTIVE_TABLE = {
    "person": """alt old; jung young; nett nice; freundlich friendly; klug smart; lustig funny; berühmt famous;
        reich rich; arm poor; stark strong; müde tired; krank sick; glücklich happy; traurig sad;
        fleißig hard-working""",
    "animal": """alt old; jung young; groß big; klein small; schön beautiful; schwarz black; weiß white; braun brown;
        grau gray; müde tired; krank sick; hungrig hungry; stark strong""",
    "text": """alt old; neu new; kurz short; lang long; schwierig difficult; einfach simple; wichtig important;
        interessant interesting; langweilig boring; lustig funny; traurig sad; schön beautiful; deutsch German;
        englisch English; gut good; schlecht bad""",
    "food": "frisch fresh; warm warm; kalt cold; gut good; teuer expensive; billig cheap",
    "drink": "warm warm; kalt cold; gut good; teuer expensive; billig cheap",
    "thing": """alt old; neu new; groß big; klein small; schön beautiful; teuer expensive; billig cheap; rot red;
        blau blue; grün green; schwarz black; weiß white; gelb yellow; braun brown; grau gray; modern modern;
        schwer heavy""",
    "clothes": """alt old; neu new; schön beautiful; teuer expensive; billig cheap; rot red; blau blue; grün green;
        schwarz black; weiß white; gelb yellow; grau gray; warm warm; sauber clean; schmutzig dirty;
        bequem comfortable""",
    "vehicle": "alt old; neu new; groß big; klein small; modern modern; schnell fast; langsam slow; rot red; blau blue",
    "place": """alt old; neu new; groß big; klein small; schön beautiful; modern modern; ruhig quiet;
        interessant interesting; sauber clean; hell bright; leer empty""",
}
COMPARATIVE_TABLE = """
    alt älter older; jung jünger younger; groß größer bigger; klein kleiner smaller; schön schöner more_beautiful;
    teuer teurer more_expensive; billig billiger cheaper; kurz kürzer shorter; lang länger longer;
    stark stärker stronger; wichtig wichtiger more_important; interessant interessanter more_interesting;
    klug klüger smarter; reich reicher richer; schnell schneller faster; langsam langsamer slower;
    modern moderner more_modern; ruhig ruhiger quieter; schwierig schwieriger more_difficult;
    schwer schwerer heavier; warm wärmer warmer; nett netter nicer
"""
ADJECTIVE_STEMS = {"teuer": "teur", "müde": "müd"}

# German principal parts where irregular (infinitive with "-" after a separable prefix, third person, participle), "ist"
# for the perfect with `sein`, a preposition and its case | English principal parts where irregular (base, past, -ing;
# "-": the present is simple), particle | tags of the subject (intransitive) or of the object.
VERB_TABLE = {
    "intransitive": """
        schlafen/schläft/geschlafen | sleep/slept/sleeping | person animal; arbeiten | work | person;
        lachen | laugh | person; weinen | cry | person; tanzen | dance | person;
        singen/singt/gesungen | sing/sang/singing | person; spielen | play | person animal;
        schwimmen/schwimmt/geschwommen ist | swim/swam/swimming | person animal;
        laufen/läuft/gelaufen ist | run/ran/running | person animal; warten | wait | person animal;
        kommen/kommt/gekommen ist | come/came/coming | person vehicle; reisen ist | travel | person;
        frühstücken | eat/ate/eating breakfast | person; an-kommen/kommt/angekommen ist | arrive | person vehicle;
        ab-fahren/fährt/abgefahren ist | depart | vehicle;
        auf-stehen/steht/aufgestanden ist | get/got/getting up | person;
        ein-schlafen/schläft/eingeschlafen ist | fall/fell/falling asleep | person animal;
        auf-wachen ist | wake/woke/waking up | person animal;
        zurück-kommen/kommt/zurückgekommen ist | come/came/coming back | person vehicle;
        mit-kommen/kommt/mitgekommen ist | come/came/coming along | person;
        fern-sehen/sieht/ferngesehen | watch television | person; ein-kaufen | go/went/going shopping | person;
        aus-gehen/geht/ausgegangen ist | go/went/going out | person; um-ziehen/zieht/umgezogen ist | move | person
    """,
    "text": """
        lesen/liest/gelesen | read/read/reading | text; schreiben/schreibt/geschrieben | write/wrote/writing | text;
        übersetzen | translate | text; erklären | explain | text; verbessern | improve | text;
        korrigieren | correct | text; prüfen | check | text;
        verstehen/versteht/verstanden | understand/understood/- | text;
        ab-schreiben/schreibt/abgeschrieben | copy | text;
        auf-schreiben/schreibt/aufgeschrieben | write/wrote/writing down | text;
        vor-lesen/liest/vorgelesen | read/read/reading aloud | text; aus-drucken | print | text;
        beantworten | answer | mail question; aus-füllen | fill out | form
    """,
    "transitive": """
        kaufen | buy/bought/buying | goods food drink; verkaufen | sell/sold/selling | goods home;
        suchen | look for | portable clothes book person animal;
        finden/findet/gefunden | find/found/- | portable clothes book animal;
        verlieren/verliert/verloren | lose/lost/- | portable book mail;
        vergessen/vergisst/vergessen | forget/forgot/- | portable word mail;
        verstecken | hide/hid/hiding | portable mail; reparieren | repair | machine;
        essen/isst/gegessen | eat/ate/eating | food; trinken/trinkt/getrunken | drink/drank/drinking | drink;
        kochen | cook | cook; backen/backt/gebacken | bake | bake;
        schneiden/schneidet/geschnitten | cut/cut/cutting | cut bake; bestellen | order | food drink book;
        bezahlen | pay/paid/paying for | goods food drink;
        sehen/sieht/gesehen | see/saw/- | person animal thing vehicle; hören | hear/heard/- | person animal song;
        besuchen | visit | person; fragen | ask | person; treffen/trifft/getroffen | meet/met/meeting | person;
        fotografieren | photograph | person animal place; malen | paint | animal home;
        zeichnen | draw/drew/drawing | animal home; öffnen | open | open mail;
        schließen/schließt/geschlossen | close | lid; waschen/wäscht/gewaschen | wash | clothes dish;
        tragen/trägt/getragen | wear/wore/wearing | clothes; putzen | clean | room;
        füttern | feed/fed/feeding | animal; lernen | learn | language word;
        sprechen/spricht/gesprochen | speak/spoke/- | language; an-rufen/ruft/angerufen | call | person;
        ab-holen | pick up | person; ein-laden/lädt/eingeladen | invite | person; auf-räumen | clean up | room;
        mit-bringen/bringt/mitgebracht | bring/brought/bringing along | food drink portable;
        zurück-bringen/bringt/zurückgebracht | bring/brought/bringing back | portable book;
        an-ziehen/zieht/angezogen | put/put/putting on | clothes;
        aus-ziehen/zieht/ausgezogen | take/took/taking off | clothes; an-machen | turn on | device;
        aus-machen | turn off | device; weg-werfen/wirft/weggeworfen | throw/threw/throwing away | portable mail;
        ein-packen | pack | portable clothes; ab-schicken | send/sent/sending off | mail
    """,
    "state": """
        kennen/kennt/gekannt | know/knew/- | person place; lieben | love/- | person animal song;
        mögen/mag/gemocht | like/- | person animal book clothes; brauchen | need/- | goods portable need;
        haben/hat/gehabt | have/had/- | goods animal need
    """,
    "dative": """
        helfen/hilft/geholfen | help | person; danken | thank | person; antworten | answer | person;
        folgen ist | follow | person animal; zu-hören | listen to | person; vertrauen | trust/- | person
    """,
    "ditransitive": """
        geben/gibt/gegeben | give/gave/giving | portable book food; zeigen | show | thing text home;
        schicken | send/sent/sending | mail book;
        bringen/bringt/gebracht | bring/brought/bringing | food drink portable;
        leihen/leiht/geliehen | lend/lent/lending | book machine portable; erzählen | tell/told/telling | story
    """,
    "prepositional": """
        warten auf+acc | wait for | person vehicle; sprechen/spricht/gesprochen mit+dat | talk to | person;
        sprechen/spricht/gesprochen über+acc | talk about | person text;
        spielen mit+dat | play with | person animal; tanzen mit+dat | dance with | person;
        denken/denkt/gedacht an+acc | think/thought/thinking of | person;
        träumen von+dat | dream of | person animal home; lachen über+acc | laugh at | person story;
        schreiben/schreibt/geschrieben an+acc | write/wrote/writing to | person;
        arbeiten für+acc | work for | person
    """,
    "motion": """
        gehen/geht/gegangen ist | go/went/going | place; fahren/fährt/gefahren ist | drive/drove/driving | place;
        laufen/läuft/gelaufen ist | run/ran/running | place
    """,
    "opinion": """
        wissen/weiß/gewusst | know/knew/- |; glauben | believe/- |; denken/denkt/gedacht | think/thought/- |;
        sagen | say/said/- |; hoffen | hope/- |
    """,
    "special": """
        bleiben/bleibt/geblieben ist | stay |; helfen/hilft/geholfen | help |; versuchen | try |;
        kommen/kommt/gekommen ist | come/came/coming |; vergessen/vergisst/vergessen | forget/forgot/- |;
        kosten | cost/cost/- |; regnen | rain |; schneien | snow |
    """,
}

# Six forms: ich, du, er, wir, ihr, Sie; the last one is also that of plural nouns.
PRESENT_TABLE = """
    sein bin bist ist sind seid sind; haben habe hast hat haben habt haben; wissen weiß weißt weiß wissen wisst wissen;
    mögen mag magst mag mögen mögt mögen; können kann kannst kann können könnt können;
    könnten könnte könntest könnte könnten könntet könnten; müssen muss musst muss müssen müsst müssen;
    wollen will willst will wollen wollt wollen; sollen soll sollst soll sollen sollt sollen;
    dürfen darf darfst darf dürfen dürft dürfen; möchten möchte möchtest möchte möchten möchtet möchten
"""
PRETERITE_TABLE = "sein war warst war waren wart waren; haben hatte hattest hatte hatten hattet hatten"

# German, English, when it fits: p progressive, s simple present of an event, h habit, d past, m modal or imperative,
# f frequency (stands before the English verb).
TIME_TABLE = """
    heute today psdm; jetzt now pm; morgen tomorrow pm; gestern yesterday d; gerade right_now p; heute_Abend tonight pm;
    heute_Morgen this_morning d; letzte_Woche last_week d; nächste_Woche next_week pm; am_Montag on_Monday pdm;
    am_Freitag on_Friday pdm; am_Samstag on_Saturday pdm; am_Sonntag on_Sunday pdm; um_zwei_Uhr at_two_o'clock pdm;
    um_acht_Uhr at_eight_o'clock pdm; um_elf_Uhr at_eleven_o'clock pdm; jeden_Tag every_day hm;
    jeden_Morgen every_morning hm; jeden_Abend every_evening hm; jede_Woche every_week hm;
    oft often hdf; immer always hf; manchmal sometimes hdf; nie never hdf
"""


def _rows(table: str) -> list[list[str]]:
    return [[word.replace("_", " ") for word in row.split()] for row in table.split(";")]


def _pairs(table: str) -> tuple[Pair, ...]:
    return tuple((german, english) for german, english in _rows(table))


def _nouns(tags: frozenset[str], table: str) -> Iterator[Noun]:
    for article, german, plural, english in _rows(table):
        singular, _, oblique = german.partition("/")
        one, _, many = english.partition("/")
        gender = {"der": "m", "die": "f", "das": "n"}[article]
        yield Noun(singular, oblique or singular, plural, gender, one, many or _with_s(one), tags)


def _with_s(english: str) -> str:
    """The regular plural of a noun and the third person of a verb."""
    if english.endswith("y") and english[-2] not in "aeiou":
        return english[:-1] + "ies"
    return english + ("es" if english.endswith(("s", "x", "ch", "sh", "go")) else "s")


def _verb(row: str, is_state: bool) -> Verb:
    german, english, tags = (column.split() for column in row.split("|"))
    forms, preposition = german[0].split("/"), next((word for word in german if "+" in word), "")
    prefix, _, infinitive = forms[0].rpartition("-")
    stem = _stem(infinitive)
    weak = stem + _t(stem)
    is_inseparable = infinitive.startswith(("be", "er", "ver", "über")) or infinitive.endswith("ieren")
    third, participle = forms[1:] or (weak, prefix + ("" if is_inseparable else "ge") + weak)
    base, *parts = english[0].split("/")
    short = base.removesuffix("e")
    past = base[:-1] + "ied" if _with_s(base).endswith("ies") else short + "ed"
    past, ing = parts if len(parts) == 2 else (past, *parts) if parts else (past, short + "ing")
    particle = " ".join(english[1:])
    auxiliary = "sein" if "ist" in german else "haben"
    verb = Verb(prefix, infinitive, third, participle, auxiliary, base, past, ing.strip("-"), particle)
    return verb._replace(preposition=preposition, tags=tuple(tags), is_state=is_state)


def _stem(infinitive: str) -> str:
    return infinitive[:-1] if infinitive.endswith("ern") else infinitive[:-2]


def _t(stem: str) -> str:
    """The ending of "er spielt, ihr spielt", with an e where it could not be spoken otherwise."""
    return "et" if stem.endswith(("d", "t", "ffn", "chn", "gn")) else "t"


NOUNS = tuple(noun for tags, table in NOUN_TABLE.items() for noun in _nouns(frozenset(tags.split()), table))
ADJECTIVES = {kind: _pairs(table) for kind, table in ADJECTIVE_TABLE.items()}
COMPARATIVES = {german: (more, english) for german, more, english in _rows(COMPARATIVE_TABLE)}
MOODS = _pairs(
    """müde tired; krank sick; glücklich happy; traurig sad; hungrig hungry; nervös nervous; gesund healthy;
    zufrieden satisfied; wütend angry; stolz proud"""
)
MATTERS = _pairs("wichtig important; schwierig difficult; einfach simple; interessant interesting; langweilig boring")
MEASURES = _pairs("alt old; groß big; teuer expensive; lang long; schwer heavy; schnell fast")
DEGREES = _pairs("sehr very; zu too; ziemlich quite")
SPOTS = _pairs("auf on; unter under; neben next_to; vor in_front_of; hinter behind")
GREETINGS = _pairs(
    """Guten_Morgen Good_morning; Guten_Tag Good_day; Guten_Abend Good_evening; Gute_Nacht Good_night; Hallo Hello;
    Auf_Wiedersehen Goodbye; Danke Thank_you; Vielen_Dank Thank_you_very_much; Willkommen Welcome"""
)
NUMBERS = _pairs(
    """zwei two; drei three; vier four; fünf five; sechs six; sieben seven; acht eight; neun nine; zehn ten; elf eleven;
    zwölf twelve; zwanzig twenty"""
)

VERBS = {
    frame: tuple(_verb(row, is_state=frame in ("state", "opinion")) for row in table.split(";"))
    for frame, table in VERB_TABLE.items()
}
OPINIONS, (STAY, HELP, TRY, COME, FORGET, COST, RAIN, SNOW) = VERBS["opinion"], VERBS["special"]
KNOW, HAVE = OPINIONS[0], VERBS["state"][-1]
BE = Verb("", "sein", "ist", "gewesen", "sein", "be", "was", "")
IRREGULAR_PRESENT = {infinitive: forms for infinitive, *forms in _rows(PRESENT_TABLE)}
PRETERITE = {infinitive: forms for infinitive, *forms in _rows(PRETERITE_TABLE)}
CAN, COULD, SHOULD = Modal("können", "can"), Modal("könnten", "could"), Modal("sollen", "should")
MODALS: tuple[Modal, ...] = (
    CAN,
    SHOULD,
    Modal("möchten", "would", "like to"),
    Modal("müssen", "do", "have to"),
    Modal("wollen", "do", "want to"),
    Modal("dürfen", "be", "allowed to"),
)
TIMES = tuple(Time(german, english, fits) for german, english, fits in _rows(TIME_TABLE))
PLEASE = Time("bitte", "please", "f")

THE, THIS = Determiner("d", "der", "the", "the"), Determiner("dies", "der", "this", "these")
EVERY, ALL = Determiner("jed", "der", "every", ""), Determiner("all", "der", "", "all the")
WHICH, HOW_MANY = Determiner("welch", "der", "which", "which"), Determiner("wie viel", "strong", "", "how many")
BARE, MANY = Determiner("", "bare", "", ""), Determiner("viel", "strong", "", "many")
A, NO = Determiner("ein", "ein", "a", ""), Determiner("kein", "ein", "no", "no")
NOT_A, NOT_ANY = Determiner("kein", "ein", "a", "any"), Determiner("kein", "ein", "", "")
COUNTED = tuple(Determiner(german, "bare", "", english) for german, english in NUMBERS)
POSSESSIVES = tuple(
    Determiner(german, "ein", english, english)
    for german, english in _pairs("mein my; dein your; sein his; ihr her; unser our; euer your")
)
SINGULAR = (THE,) * 20 + (THIS,) * 8 + (A,) * 16 + (EVERY,) * 3
PLURAL = (THE,) * 6 + (THIS,) * 3 + (BARE,) * 4 + (MANY,) * 2 + (ALL,) * 2 + COUNTED

ICH = Phrase("ich", "mich", "mir", "I", "me", 0, stand_in="ich")
DU = Phrase("du", "dich", "dir", "you", "you", 1, stand_in="du")
ER = Phrase("er", "ihn", "ihm", "he", "him", 2, stand_in="er")
SIE = Phrase("sie", "sie", "ihr", "she", "her", 2, stand_in="sie")
WIR = Phrase("wir", "uns", "uns", "we", "us", 3, stand_in="wir")
IHR = Phrase("ihr", "euch", "euch", "you", "you", 4, stand_in="ihr")
# Without an accusative, which would differ from "her" by its capital alone.
FORMAL = Phrase("Sie", "", "Ihnen", "you", "you", 5, stand_in="Sie")
PRONOUNS = (ICH, DU, ER, SIE, WIR, IHR, FORMAL)
SAME_SPEAKERS = ({0, 3}, {1, 4, 5})
IT, WHO = Phrase("es", "es", "ihm", "it", "it"), Phrase("wer", "wen", "wem", "who", "who")
NAMED = tuple(
    Phrase(name, name, name, name, name, kind="definite", stand_in=pronoun)
    for pronoun, names in (
        ("er", "Paul Max Peter Thomas Felix Jonas David"),
        ("sie", "Anna Maria Lena Julia Sophie Laura Emma"),
    )
    for name in names.split()
)


# German: declension, conjugation, word order.

STRONG = {
    "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
EIN_HAS_NO_ENDING = {("nom", "m"), ("nom", "n"), ("acc", "n")}
WEAK_IN_E = {("nom", "m"), ("nom", "f"), ("nom", "n"), ("acc", "f"), ("acc", "n")}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "von dem": "vom", "in das": "ins"}


def noun_phrase(noun: Noun, determiner: Determiner, adjective: Pair = ("", ""), plural: bool = False) -> Phrase:
    """The phrase in all cases and in English, with the pronoun that may stand for it later."""
    nom, acc, dat = (_declined(noun, determiner, adjective[0], plural, case) for case in STRONG)
    words = _join(adjective[1], noun.english_plural if plural else noun.english)
    english = _with_article(determiner.plural if plural else determiner.singular, words)
    indefinite = determiner in (A, BARE, MANY) or determiner in COUNTED
    kind = "negative" if determiner.german == "kein" else "indefinite" if indefinite else "definite"
    one_person = "person" in noun.tags and not plural
    stand_in = {"m": "er", "f": "sie"}.get(noun.gender, "") if one_person else ""
    return Phrase(nom, acc, dat, english, english, 5 if plural else 2, kind, stand_in)


def _declined(noun: Noun, determiner: Determiner, adjective: str, plural: bool, case: str) -> str:
    """One case: the adjective takes the strong ending where the determiner does not show it."""
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
        adjective = ADJECTIVE_STEMS.get(adjective, adjective)
        adjective += weak if is_shown and declension != "strong" else ending
    if plural:
        word = noun.plural + ("n" if case == "dat" and noun.plural[-1] not in "ns" else "")
    else:
        word = noun.german if case == "nom" else noun.oblique
    return _join(article, adjective, word)


def conjugate(infinitive: str, third: str, person: int) -> str:
    """Present tense without the separable prefix, from the infinitive and the third person singular."""
    if infinitive in IRREGULAR_PRESENT:
        return IRREGULAR_PRESENT[infinitive][person]
    stem, du = _stem(infinitive), third[:-1]
    du += "t" if du[-1] in "szxß" else "st"
    return (stem + "e", du, third, infinitive, stem + _t(stem), infinitive)[person]


def _brackets(clause: Clause) -> tuple[str, str]:
    """The finite verb, and what closes the clause: a prefix, a participle or an infinitive."""
    verb, person = clause.verb, clause.subject.person
    if isinstance(clause.tense, Modal):
        return conjugate(clause.tense.german, "", person), verb.prefix + verb.infinitive
    if clause.tense == "present":
        return conjugate(verb.infinitive, verb.third, person), verb.prefix
    if verb.infinitive in PRETERITE:
        return PRETERITE[verb.infinitive][person], ""
    return conjugate(verb.auxiliary, "", person), verb.participle


def _middle_field(clause: Clause, subject: str = "") -> str:
    """Everything between the brackets: the subject if it is there, what is known, the time, `nicht`, what is new."""
    known, new = clause.indirect.dat if clause.indirect else "", ""
    nicht = "nicht" if clause.negated else ""
    if clause.object and clause.object.kind in ("pronoun", "definite"):
        known = _join(known, clause.object.acc)
    elif clause.object:
        new, nicht = clause.object.acc, "" if clause.object.kind == "negative" else nicht
    # A pronoun goes before a noun, save `sie` and `ihr`: before a name they would read as its subject.
    first = clause.indirect or clause.object
    if clause.subject.kind != "pronoun" and first and first.kind == "pronoun" and first is not SIE:
        pronoun, _, known = known.partition(" ")
        subject = _join(pronoun, subject)
    rest = (clause.complement[0], new, nicht) if new else (nicht, clause.complement[0])
    return _join(subject, known, clause.time.german if clause.time else "", *rest)


def german_main(clause: Clause, opener: str | None = None) -> str:
    """Verb second: the subject opens if `opener` is None; an empty opener puts the verb first."""
    finite, end = _brackets(clause)
    subject = clause.subject.nom
    if opener is None:
        return _join(subject, finite, _middle_field(clause), end) + clause.extra[0]
    return _join(opener, finite, _middle_field(clause, subject), end) + clause.extra[0]


def german_subordinate(clause: Clause, conjunction: str) -> str:
    """Verb last; a separable verb in the present is one word."""
    finite, end = _brackets(clause)
    verb = end + finite if clause.tense == "present" else _join(end, finite)
    return _join(conjunction, _middle_field(clause, clause.subject.nom), verb) + clause.extra[0]


def german_infinitive(clause: Clause) -> str:
    """The clause without its subject, with `zu`, which stands inside a separable verb."""
    zu = "zu" if clause.verb.prefix else "zu "
    return _join(_middle_field(clause), clause.verb.prefix + zu + clause.verb.infinitive)


# English: agreement, do-support, word order.

STAYS_BEFORE_OBJECT = {"for", "at", "to", "of", "about", "with"}
FOLLOWS_OBJECT = {"aloud", "along", "back"}


def english_statement(clause: Clause, opener: str = "") -> str:
    """Subject before the verb; `do` only where it is negated."""
    auxiliary, main, alone = _verb_group(clause)
    often, time = _english_time(clause)
    if clause.negated:
        verb = _join("cannot" if auxiliary == "can" else f"{auxiliary} not", often, main)
    else:
        verb = _join(often, alone) if alone else _join(auxiliary, often, main)
    return _join(opener, clause.subject.english, verb, _english_rest(clause), time) + clause.extra[1]


def english_question(clause: Clause, opener: str = "") -> str:
    """The auxiliary before the subject; for clauses that are not negated."""
    auxiliary, main, _ = _verb_group(clause)
    often, time = _english_time(clause)
    head = _join(opener, auxiliary, clause.subject.english, often, main)
    return _join(head, _english_rest(clause), time) + clause.extra[1]


def english_infinitive(clause: Clause) -> str:
    """The clause without its subject, as it follows "help me", "to" or "please"."""
    return _join(clause.verb.base, _english_rest(clause), _english_time(clause)[1])


def _verb_group(clause: Clause) -> tuple[str, str, str]:
    """(auxiliary, main verb after it, main verb alone); the last is "" where the auxiliary cannot be left out."""
    verb, tense, person = clause.verb, clause.tense, clause.subject.person
    be = ("am", "are", "is", "are", "are", "are")[person]
    auxiliary, base = "do", verb.base
    if isinstance(tense, Modal):
        auxiliary, base = tense.auxiliary, _join(tense.before, verb.base)
    elif verb.base == "be":
        return be if tense == "present" else "was" if person in (0, 2) else "were", "", ""
    elif tense == "past":
        return "did", base, verb.past
    elif verb.ing and not (clause.habitual or (clause.time and "h" in clause.time.fits)):
        return be, verb.ing, ""
    if auxiliary != "do":
        return be if auxiliary == "be" else auxiliary, base, ""
    head, _, tail = base.partition(" ")
    third = _join("has" if head == "have" else _with_s(head), tail)
    return ("does", base, third) if person == 2 else ("do", base, base)


def _english_rest(clause: Clause) -> str:
    """Particle, objects and place: "pick him up", but "pick up the child", "look for him" and "read it aloud"."""
    particle, objects = clause.verb.particle, [phrase for phrase in (clause.indirect, clause.object) if phrase]
    after_pronoun = bool(objects) and objects[0].kind == "pronoun" and particle not in STAYS_BEFORE_OBJECT
    words = [phrase.english_object for phrase in objects]
    words.insert(len(words) if after_pronoun or particle in FOLLOWS_OBJECT else 0, particle)
    return _join(*words, clause.complement[1])


def _english_time(clause: Clause) -> Pair:
    """(before the main verb, at the end)"""
    if clause.time is None:
        return "", ""
    return (clause.time.english, "") if "f" in clause.time.fits else ("", clause.time.english)


def _with_article(article: str, rest: str) -> str:
    """`an` before a vowel sound; of the words here only "university" does not begin as it is spelled."""
    has_vowel = rest[0] in "aeiouAEIOU" and not rest.startswith("uni")
    return _join("an" if article == "a" and has_vowel else article, rest)


def _join(*words: str) -> str:
    return " ".join(filter(None, words))


def _finished(german: str, english: str, mark: str) -> Pair:
    return german[0].upper() + german[1:] + mark, english[0].upper() + english[1:] + mark


# Choice: phrases and clauses that make some sense.

FRAME_WEIGHTS = {
    "intransitive": 22,
    "text": 22,
    "transitive": 40,
    "state": 12,
    "dative": 8,
    "ditransitive": 10,
    "prepositional": 9,
    "motion": 9,
}
NEVER_A_TASK = {"sehen", "hören", "verlieren", "vergessen", "essen", "trinken", "tragen", "fragen", "verstehen"}
SENSES = {"sehen", "hören", "finden", "verstehen", "sprechen", "verlieren", "vergessen", "vertrauen"}


def _options(noun: Noun) -> tuple[tuple[Determiner, bool], ...]:
    """(determiner, is plural) for the noun, as often as each is to be chosen."""
    if "mass" in noun.tags:
        return ((BARE, False),) if "bare" in noun.tags else ((BARE, False), (THE, False))
    owned = POSSESSIVES * 2 if noun.tags & {"own", "kin"} else ()
    singular, plural = (owned, owned[:3]) if "kin" in noun.tags else (SINGULAR + owned, PLURAL)
    return tuple((word, False) for word in singular) + tuple((word, True) for word in plural if noun.plural != "-")


OPTIONS = {noun: _options(noun) for noun in NOUNS}


@cache
def _nouns_with(*tags: str) -> tuple[Noun, ...]:
    """The nouns with any of the tags."""
    return tuple(noun for noun in NOUNS if not noun.tags.isdisjoint(tags))


def _adjective(rng: random.Random, noun: Noun) -> Pair:
    """Now and then an adjective that suits the noun."""
    kind = next((kind for kind in ADJECTIVES if kind in noun.tags), "")
    return rng.choice(ADJECTIVES[kind]) if kind and rng.random() < 0.25 else ("", "")


def _phrase(rng: random.Random, noun: Noun) -> Phrase:
    determiner, plural = rng.choice(OPTIONS[noun])
    return noun_phrase(noun, determiner, _adjective(rng, noun), plural)


def _definite(rng: random.Random, noun: Noun, may_be_plural: bool = True) -> Phrase:
    """The one, this one, my one, or several of them."""
    owned = POSSESSIVES if noun.tags & {"kin", "own"} else ()
    determiner = rng.choice(owned if "kin" in noun.tags else (THE, THE, THE, THIS, *owned[:2]))
    plural = may_be_plural and noun.plural != "-" and rng.random() < 0.2
    return noun_phrase(noun, determiner, _adjective(rng, noun), plural)


def _subject(rng: random.Random, tags: tuple[str, ...] = ("person",), negated: bool = False) -> Phrase:
    """A pronoun, a name or a phrase; definite in a negation, for "every cook is not ..." is no English."""
    chance = rng.random() if "person" in tags else 1.0
    if chance < 0.4:
        return rng.choice(PRONOUNS)
    if chance < 0.5:
        return rng.choice(NAMED)
    return (_definite if negated else _phrase)(rng, rng.choice(_nouns_with(*tags)))


def _other(rng: random.Random, subject: Phrase, case: str = "dat") -> Phrase:
    """A known person whom the subject acts on: never a pronoun that means the subject itself."""
    chance = rng.random()
    if chance < 0.5:
        taken = next((group for group in SAME_SPEAKERS if subject.person in group and subject.kind == "pronoun"), ())
        return rng.choice([other for other in PRONOUNS if other.person not in taken and (case == "dat" or other.acc)])
    if chance < 0.6:
        return rng.choice([name for name in NAMED if name is not subject])
    return _definite(rng, rng.choice(_nouns_with("person")))


def _object(rng: random.Random, subject: Phrase, tags: tuple[str, ...], negated: bool) -> Phrase:
    """An object with one of the tags; a negation often sits in it (`kein`)."""
    noun = rng.choice(_nouns_with(*tags))
    if "person" in noun.tags:
        return _other(rng, subject, "acc")
    if not negated:
        return _phrase(rng, noun)
    if "mass" in noun.tags:
        return noun_phrase(noun, NOT_ANY)
    if rng.random() < 0.6:
        return noun_phrase(noun, NOT_A, _adjective(rng, noun), plural=rng.random() < 0.3)
    return _definite(rng, noun)


def _prepositional(rng: random.Random, subject: Phrase, verb: Verb) -> Pair:
    """The object of a German preposition; the English one is the particle of the verb."""
    noun = rng.choice(_nouns_with(*verb.tags))
    preposition, case = verb.preposition.split("+")
    phrase = _other(rng, subject, case) if "person" in noun.tags else _phrase(rng, noun)
    return _contracted(f"{preposition} {phrase.acc if case == 'acc' else phrase.dat}"), phrase.english_object


def _place(rng: random.Random, towards: bool = False) -> Pair:
    """Where something happens, or where to: "im Park", "in den Park", "zum Bahnhof"."""
    noun = rng.choice(_nouns_with("place"))
    phrase = _definite(rng, noun, may_be_plural=False)
    preposition = next((word for word in ("an", "auf") if word in noun.tags), "in")
    if towards:
        german = f"in {phrase.acc}" if preposition == "in" else f"zu {phrase.dat}"
        return _contracted(german), f"to {phrase.english}"
    return _contracted(f"{preposition} {phrase.dat}"), f"{'in' if preposition == 'in' else 'at'} {phrase.english}"


def _contracted(german: str) -> str:
    full = next((full for full in CONTRACTIONS if german.startswith(full + " ")), "")
    return CONTRACTIONS.get(full, "") + german.removeprefix(full)


@cache
def _times(letter: str, negated: bool) -> tuple[Time, ...]:
    """The times that fit; no habit beside `nicht`, for which German would choose other words."""
    return tuple(time for time in TIMES if letter in time.fits and not (negated and "h" in time.fits))


def _timed(rng: random.Random, clause: Clause) -> Clause:
    """The clause with a time that fits its tense and aspect."""
    if clause.verb.is_state:
        return clause
    if clause.tense == "present":
        letter = "h" if rng.random() < 0.35 and not clause.negated else "p" if clause.verb.ing else "s"
    else:
        letter = "d" if clause.tense == "past" else "m"
    return replace(clause, time=rng.choice(_times(letter, clause.negated)))


def _tense(rng: random.Random) -> Tense:
    chance = rng.random()
    return "present" if chance < 0.5 else "past" if chance < 0.8 else rng.choice(MODALS)


def _sometimes(rng: random.Random, negated: bool | None) -> bool:
    return rng.random() < 0.15 if negated is None else negated


def _action(
    rng: random.Random,
    tense: Tense,
    subject: Phrase | None = None,
    negated: bool | None = None,
    frames: tuple[str, ...] = tuple(FRAME_WEIGHTS),
) -> Clause:
    """A clause of one of the frames, without a time; `negated` None is now and then."""
    is_modal = isinstance(tense, Modal)
    (frame,) = rng.choices(frames, [0 if is_modal and frame == "state" else FRAME_WEIGHTS[frame] for frame in frames])
    verb, no = rng.choice(VERBS[frame]), _sometimes(rng, negated)
    who = subject or _subject(rng, verb.tags if frame == "intransitive" else ("person",), no)
    clause = Clause(who, verb, CAN if is_modal and verb.infinitive in SENSES else tense, negated=no)
    if frame in ("text", "transitive", "ditransitive", "state"):
        clause = replace(clause, object=_object(rng, who, verb.tags, no))
    if frame in ("dative", "ditransitive"):
        clause = replace(clause, indirect=_other(rng, who))
    if frame == "prepositional":
        return replace(clause, complement=_prepositional(rng, who, verb))
    if frame == "motion":
        return replace(clause, complement=_place(rng, towards=True))
    chance = rng.random()
    if chance < 0.12 and frame in ("intransitive", "transitive") and verb.auxiliary == "haben":
        return replace(clause, complement=_place(rng))
    if chance < 0.12 and frame == "text" and verb.ing:
        other = _other(rng, who, "acc")
        return replace(clause, complement=(f"für {other.acc}", f"for {other.english_object}"))
    return clause


def _task(rng: random.Random, subject: Phrase) -> Clause:
    """Something to help with or to try: mostly work on a text."""
    frame = "text" if rng.random() < 0.65 else "transitive"
    task = _action(rng, "present", subject, negated=False, frames=(frame,))
    return task if task.verb.infinitive not in NEVER_A_TASK else _task(rng, subject)


def _state(rng: random.Random, tense: Tense, subject: Phrase | None = None, negated: bool | None = None) -> Clause:
    """How and where a person is, or what a person has time or money for."""
    no = _sometimes(rng, negated)
    clause = Clause(subject or _subject(rng, negated=no), BE, tense, negated=no)
    chance = rng.random()
    if chance < 0.2:
        need = noun_phrase(rng.choice(_nouns_with("need")), NOT_ANY if no else BARE)
        return replace(clause, verb=HAVE, object=need)
    if chance < 0.35:
        return replace(clause, complement=rng.choice((("zu Hause", "at home"), _place(rng))))
    return replace(clause, complement=_by_degree(rng, rng.choice(MOODS), no))


def _quality(rng: random.Random, tense: Tense, negated: bool | None = None) -> Clause:
    """What a thing, an animal or a person is like, also compared with another; where a small thing is."""
    kind = rng.choice(tuple(ADJECTIVES))
    noun, german, english = rng.choice(_nouns_with(kind)), *rng.choice(ADJECTIVES[kind])
    clause = Clause(_definite(rng, noun), BE, tense, negated=_sometimes(rng, negated))
    if "portable" in noun.tags and rng.random() < 0.6:
        spot, (german, english) = (
            _definite(rng, rng.choice(_nouns_with("spot")), may_be_plural=False),
            rng.choice(SPOTS),
        )
        return replace(clause, complement=(f"{german} {spot.dat}", f"{english} {spot.english}"))
    if german not in COMPARATIVES:
        return replace(clause, complement=(german, english))
    if rng.random() < 0.5:
        return replace(clause, complement=_by_degree(rng, (german, english), clause.negated))
    other, (german, english) = _definite(rng, rng.choice(_nouns_with(kind))), COMPARATIVES[german]
    return replace(clause, complement=(f"{german} als {other.nom}", f"{english} than {other.english}"))


def _by_degree(rng: random.Random, adjective: Pair, negated: bool) -> Pair:
    """The adjective or very, too, quite the adjective; "not quite" would mean something else."""
    degree = rng.choice(DEGREES[:2] if negated else DEGREES) if rng.random() < 0.3 else ("", "")
    return _join(degree[0], adjective[0]), _join(degree[1], adjective[1])


def _weather(rng: random.Random, tense: Tense, negated: bool | None = None) -> Clause:
    return Clause(IT, rng.choice((RAIN, SNOW)), tense, negated=_sometimes(rng, negated))


def _clause(rng: random.Random, tense: Tense, negated: bool | None = None) -> Clause:
    """Anything that can be said, with a time now and then."""
    chance = rng.random()
    if isinstance(tense, Modal) or chance < 0.75:
        clause = _action(rng, tense, negated=negated)
    elif chance < 0.9:
        clause = _state(rng, tense, negated=negated)
    else:
        clause = (_quality if chance < 0.97 else _weather)(rng, tense, negated)
    # A quality is not for a time: it needs none.
    return _timed(rng, clause) if rng.random() < 0.35 and not 0.9 <= chance < 0.97 else clause


# Sentence patterns: each returns a German sentence and its English one.


def _statement(rng: random.Random) -> Pair:
    """The time opens now and then; the verb stays second."""
    clause = _clause(rng, _tense(rng))
    if clause.time is None or "f" in clause.time.fits or rng.random() < 0.65:
        return _told(clause)
    german, english, fits = clause.time
    return _told(replace(clause, time=None, habitual="h" in fits), (german, english))


def _told(clause: Clause, opener: Pair = ("", ""), mark: str = ".") -> Pair:
    return _finished(german_main(clause, opener[0] or None), english_statement(clause, opener[1]), mark)


def _asked(clause: Clause, opener: Pair = ("", "")) -> Pair:
    return _finished(german_main(clause, opener[0]), english_question(clause, opener[1]), "?")


def _yes_no_question(rng: random.Random) -> Pair:
    return _asked(_clause(rng, _tense(rng), negated=False))


def _subject_question(rng: random.Random) -> Pair:
    return _told(_action(rng, _tense(rng), subject=WHO), mark="?")


def _object_question(rng: random.Random) -> Pair:
    """What, whom, which one, how many: the object goes to the front."""
    clause = _action(rng, _tense(rng), negated=False, frames=("text", "transitive", "ditransitive", "state"))
    tags, opener = clause.verb.tags, ("was", "what")
    nouns = [noun for noun in _nouns_with(*tags) if noun.plural != "-"]
    if "person" in tags:
        opener = WHO.acc, WHO.english
    elif nouns and rng.random() < 0.6:
        noun, determiner = rng.choice(nouns), rng.choice((WHICH, WHICH, HOW_MANY))
        plural = determiner is HOW_MANY or rng.random() < 0.3
        phrase = noun_phrase(noun, determiner, _adjective(rng, noun), plural)
        opener = phrase.acc, phrase.english
    return _asked(replace(clause, object=None), opener)


def _circumstance_question(rng: random.Random) -> Pair:
    """Why, when, where, to whom, how old: what is asked for is missing from the clause."""
    tense = _tense(rng)
    match rng.randrange(7):
        case 0 | 1:
            return _asked(_action(rng, tense, negated=False), ("warum", "why"))
        case 2:
            return _asked(_action(rng, tense, negated=False), ("wann", "when"))
        case 3:
            clause = _action(rng, tense, negated=False, frames=("intransitive", "text", "transitive"))
            return _asked(replace(clause, complement=("", "")), ("wo", "where"))
        case 4:
            clause = _action(rng, tense, negated=False, frames=("motion",))
            return _asked(replace(clause, complement=("", "")), ("wohin", "where"))
        case 5:
            clause = _action(rng, tense, negated=False, frames=("dative",))
            return _asked(replace(clause, indirect=None), (WHO.dat, WHO.english))
    kind = rng.choice([kind for kind, adjectives in ADJECTIVES.items() if set(adjectives) & set(MEASURES)])
    german, english = rng.choice([adjective for adjective in ADJECTIVES[kind] if adjective in MEASURES])
    return _asked(Clause(_definite(rng, rng.choice(_nouns_with(kind))), BE), (f"wie {german}", f"how {english}"))


def _infinitive(task: Clause, to: str = "") -> Pair:
    """The task as what follows a main clause: bare in English after "help", with "to" after other verbs."""
    return f", {german_infinitive(task)}", " " + _join(to, english_infinitive(task))


def _request(rng: random.Random) -> Pair:
    """The family of `MISSION`: can you help me do something?"""
    who = rng.choice((DU, DU, FORMAL, FORMAL, IHR)) if rng.random() < 0.8 else _subject(rng)
    whom = ICH if who not in (ICH, WIR) and rng.random() < 0.4 else _other(rng, who)
    please = PLEASE if rng.random() < 0.25 else None
    clause = Clause(who, HELP, rng.choice((CAN, COULD)), indirect=whom, time=please)
    clause = replace(clause, extra=_infinitive(_task(rng, who)))
    if rng.random() < 0.85:
        return _asked(clause)
    name = rng.choice(NAMED).nom
    german, english = (name, name) if who is DU else ("Entschuldigung", "Excuse me")
    return _finished(f"{german}, {german_main(clause, '')}", f"{english}, {english_question(clause)}", "?")


def _direct_request(rng: random.Random) -> Pair:
    """The same without help: can you do something (for me)?"""
    clause = _task(rng, rng.choice((DU, FORMAL, IHR)))
    return _asked(replace(clause, tense=rng.choice((CAN, COULD)), time=PLEASE if rng.random() < 0.4 else None))


def _help(rng: random.Random) -> Pair:
    no = rng.random() < 0.15
    who = _subject(rng, negated=no)
    tense: Tense = rng.choice(("present", "past", CAN, SHOULD, *MODALS))
    clause = Clause(who, HELP, tense, negated=no, indirect=_other(rng, who), extra=_infinitive(_task(rng, who)))
    return _told(clause)


def _attempt(rng: random.Random) -> Pair:
    """What someone tries, forgets, comes for, has time for; what matters."""
    no = rng.random() < 0.3
    who = _subject(rng, negated=no)
    tense: Tense = rng.choice(("present", "past"))
    clause = Clause(who, TRY, tense, extra=_infinitive(_task(rng, who), "to"))
    match rng.randrange(5):
        case 0:
            clause = replace(clause, verb=FORGET, tense="past")
        case 1:
            time = noun_phrase(_nouns_with("need")[0], NOT_ANY if no else BARE)
            clause = replace(clause, verb=HAVE, negated=no, object=time)
        case 2:
            clause = replace(clause, subject=IT, verb=BE, negated=no, complement=rng.choice(MATTERS))
        case 3:
            clause = replace(clause, verb=COME, extra=(f", um{clause.extra[0][1:]}", clause.extra[1]))
    return _told(clause)


def _subordinate(clause: Clause, conjunction: Pair) -> Pair:
    """The clause as what follows a main clause."""
    return f", {german_subordinate(clause, conjunction[0])}", f" {english_statement(clause, conjunction[1])}"


def _two_clauses(rng: random.Random) -> Pair:
    """And, but; because, although, with a reason that is mostly a state of the one who acts."""
    tense: Tense = rng.choice(("present", "past"))
    main = _action(rng, tense)
    if rng.random() < 0.25:
        other, (german, english) = _clause(rng, tense), rng.choice((("und", "and"), ("aber", "but")))
        second = f", {german} {german_main(other)}", f", {english_statement(other, english)}"
        return _told(replace(main, extra=second))
    who = next((pronoun for pronoun in PRONOUNS if pronoun.stand_in == main.subject.stand_in), None)
    reason = _state(rng, tense, who) if rng.random() < 0.7 else _clause(rng, tense)
    conjunction = rng.choice((("weil", "because"), ("weil", "because"), ("obwohl", "although")))
    return _told(replace(main, extra=_subordinate(reason, conjunction)))


def _condition(rng: random.Random) -> Pair:
    """When: a habit or a duty, the condition first or last."""
    chance = rng.random()
    when = _weather(rng, "present") if chance < 0.15 else (_state if chance < 0.6 else _action)(rng, "present")
    main = _action(rng, "present" if chance < 0.8 else rng.choice(MODALS))
    if rng.random() < 0.2:
        main = Clause(_subject(rng), STAY, complement=("zu Hause", "at home"))
    when, main = replace(when, habitual=True), replace(main, habitual=True)
    if rng.random() < 0.5:
        return _told(main, (f"{german_subordinate(when, 'wenn')},", f"{english_statement(when, 'when')},"))
    return _told(replace(main, extra=_subordinate(when, ("wenn", "when"))))


def _opinion(rng: random.Random) -> Pair:
    """A clause inside a clause: that; of what one knows also why, when; of what one does not know never that."""
    verb, chance = rng.choice(OPINIONS), rng.random()
    no = chance < 0.25 and verb.base != "hope"
    conjunction = "dass", "that"
    if verb is KNOW:
        unknown = ("ob", "whether"), ("warum", "why"), ("wann", "when")
        conjunction = rng.choice(unknown if no else (conjunction, *unknown))
    no = no or conjunction[1] == "whether"
    inner = (_action if conjunction[1] == "when" else _clause)(rng, _tense(rng), negated=False if no else None)
    extra = _subordinate(inner, conjunction)
    if chance > 0.75:
        return _asked(Clause(rng.choice((DU, FORMAL, IHR)), verb, extra=extra))
    return _told(Clause(_subject(rng, negated=no), verb, negated=no, extra=extra))


def _imperative(rng: random.Random) -> Pair:
    frames = ("text", "transitive", "dative", "ditransitive", "motion")
    clause = _action(rng, "present", FORMAL, frames=frames)
    if not clause.verb.ing:  # nobody is told to lose or to see something
        return _imperative(rng)
    if rng.random() < 0.25:
        clause = replace(clause, time=rng.choice(_times("m", clause.negated)))
    please = "please do not" if clause.negated else "please"
    return _finished(german_main(clause, "bitte"), _join(please, english_infinitive(clause)), "!")


def _existence(rng: random.Random) -> Pair:
    noun = rng.choice([noun for noun in _nouns_with("person", "animal", "thing") if "kin" not in noun.tags])
    plural = rng.random() < 0.6
    determiner = rng.choice((NO, MANY, *COUNTED) if plural else (A, A, A, NO))
    phrase = noun_phrase(noun, determiner, _adjective(rng, noun), plural)
    place, be = _place(rng), "are" if plural else "is"
    if phrase.kind != "negative" and rng.random() < 0.3:
        return _finished(f"gibt es {phrase.acc} {place[0]}", f"{be} there {phrase.english} {place[1]}", "?")
    return _finished(f"es gibt {phrase.acc} {place[0]}", f"there {be} {phrase.english} {place[1]}", ".")


def _fact(rng: random.Random) -> Pair:
    """Ages, prices and professions."""
    german, english = rng.choice(NUMBERS)
    match rng.randrange(3):
        case 0:
            subject = _subject(rng, ("person", "animal"), negated=True)
            clause = Clause(subject, BE, complement=(f"{german} Jahre alt", f"{english} years old"))
        case 1:
            subject = _definite(rng, rng.choice(_nouns_with("goods", "food")))
            clause = Clause(subject, COST, complement=(f"{german} Euro", f"{english} euros"))
        case _:
            noun = rng.choice(_nouns_with("job"))
            fitting = ("ich", "du", "Sie", "er" if noun.gender == "m" else "sie")
            who = rng.choice([phrase for phrase in (*PRONOUNS, *NAMED) if phrase.stand_in in fitting])
            clause = Clause(who, BE, complement=(noun.german, _with_article("a", noun.english)))
    return _asked(clause) if rng.random() < 0.2 else _told(clause)


def _greeting(rng: random.Random) -> Pair:
    german, english = rng.choice(GREETINGS)
    name = rng.choice(("", *(f", {phrase.nom}" for phrase in NAMED)))
    return _finished(german + name, english + name, rng.choice("!."))


PATTERNS: dict[Callable[[random.Random], Pair], int] = {
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


def _sentence(rng: random.Random) -> Pair:
    (pattern,) = rng.choices(tuple(PATTERNS), cum_weights=CUMULATIVE)
    pair = pattern(rng)
    return _sentence(rng) if _is_odd(*pair) else pair


def _is_odd(german: str, english: str) -> bool:
    """Formal beside informal address, as in "Lesen Sie dein Buch?", or a girl beside `sein`, which is always "his"."""
    # `Sie` as the first word may be "she".
    is_formal = "Ihnen" in german or " Sie" in german or (german.startswith("Sie ") and english.startswith("You "))
    return bool((is_formal and INFORMAL.search(german)) or (GIRL.search(german) and HIS.search(german)))
