"""The embedded corpus is deterministic, split without overlap, one translation per sentence, and grammatical.

Expected forms are written here by hand; nothing is read from the tables of the grammar.
"""

import hashlib
import re
import shutil
from itertools import islice
from pathlib import Path

import pytest

from translate.corpus import grammar
from translate.corpus.grammar import MAX_PAIRS, MISSION, Split, digest, generate
from translate.corpus.grammar.lexicon import POSSESSIVES, THE, A, Determiner, Noun, conjugate, noun_phrase
from translate.errors import UserError

Pairs = list[tuple[str, str]]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


def words(sentence: str) -> list[str]:
    return re.findall(r"[\w'-]+", sentence)


@pytest.fixture(scope="module")
def corpus() -> Pairs:
    return list(generate("train", 25_000, seed=0))


@pytest.fixture(scope="module")
def german(corpus: Pairs) -> list[str]:
    return [german for german, _ in corpus]


@pytest.fixture(scope="module")
def english(corpus: Pairs) -> list[str]:
    return [english for _, english in corpus]


@pytest.mark.parametrize("split", SPLITS)
def test_same_seed_gives_same_pairs_and_a_smaller_number_is_a_prefix(split: Split) -> None:
    pairs = list(generate(split, 70, seed=5))
    assert list(generate(split, 70, seed=5)) == pairs
    assert list(generate(split, 30, seed=5)) == pairs[:30]
    assert list(generate(split, 70, seed=7)) != pairs


def test_gives_exactly_as_many_distinct_pairs_as_asked(corpus: Pairs) -> None:
    assert len(corpus) == len(set(corpus)) == 25_000
    assert len(list(generate("valid", 7, seed=3))) == 7
    assert list(generate("test", 0, seed=3)) == []


def test_the_digest_changes_with_the_code_and_with_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "grammar"
    shutil.copytree(Path(grammar.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = digest()
    monkeypatch.setattr(grammar, "__file__", str(copy / "__init__.py"))
    assert digest() == before
    digests = {before}
    for name in ("lexicon.toml", "clauses.py"):
        with (copy / name).open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        digests.add(digest())
    assert len(digests) == 3


def test_the_sentences_of_a_seed_stay_the_same() -> None:
    """The published result of the demonstration depends on them."""
    text = "".join(f"{german}\t{english}\n" for split in SPLITS for german, english in generate(split, 500, seed=0))
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "5f540e7094db099df3312b6bb09018cfcce3760fb4d52198131932acfc6298ae"
    )


@pytest.fixture(scope="module")
def held_out() -> dict[Split, Pairs]:
    """Pairs of two seeds. Each of these splits takes only one of ten sentences that are drawn."""
    seeds: dict[Split, tuple[int, int]] = {"valid": (0, 5), "test": (1, 7)}
    return {split: [pair for seed in both for pair in generate(split, 700, seed)] for split, both in seeds.items()}


@pytest.mark.parametrize("side", [0, 1])
def test_splits_share_no_sentence_on_either_side_for_any_seeds(
    corpus: Pairs, held_out: dict[Split, Pairs], side: int
) -> None:
    """Compared without letter case, as in the overlap rule of cleaning."""
    train = {pair[side].casefold() for pair in corpus}
    train |= {pair[side].casefold() for pair in generate("train", 3_000, seed=11)}
    valid, test = ({pair[side].casefold() for pair in held_out[split]} for split in ("valid", "test"))
    assert train.isdisjoint(valid | test)
    assert valid.isdisjoint(test)


def test_a_german_sentence_has_one_english_sentence(corpus: Pairs, held_out: dict[Split, Pairs]) -> None:
    """Also true for sentences that differ only in letter case, which a model could hardly distinguish."""
    translations: dict[str, str] = {}
    for source, target in (*corpus, *generate("train", 9_000, seed=1), *held_out["valid"], *held_out["test"]):
        assert translations.setdefault(source.casefold(), target) == target, source


@pytest.mark.parametrize("seed", [0, 1, 123])
def test_the_question_of_the_demonstration_is_always_in_training(seed: int) -> None:
    assert next(generate("train", 1, seed)) == MISSION
    assert MISSION == ("Kannst du mir helfen, diesen Satz zu übersetzen?", "Can you help me translate this sentence?")


def test_the_family_of_the_question_is_in_training(german: list[str]) -> None:
    family = [s for s in german if re.match(r"(Kannst du|Könntest du|Können Sie|Könnten Sie) .*helfen, .*\?$", s)]
    assert len(family) > 1_000
    for word in ("mir", "uns", "ihm", "ihr", "bitte", "Satz", "Text", "Brief", "Wort", "übersetzen", "erklären"):
        assert any(word in words(sentence) for sentence in family), word


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("surplus", [1, 10**15])
def test_more_pairs_than_the_grammar_gives_are_refused_at_once(split: Split, surplus: int) -> None:
    with pytest.raises(UserError, match=f"grammar {split}: pairs = .*{MAX_PAIRS[split]}"):
        generate(split, MAX_PAIRS[split] + surplus, seed=0)
    assert len(list(islice(generate(split, MAX_PAIRS[split], seed=0), 3))) == 3


def test_vocabulary_is_several_hundred_words(german: list[str], english: list[str]) -> None:
    assert len({word.lower() for sentence in german for word in words(sentence)}) >= 1_000
    assert len({word.lower() for sentence in english for word in words(sentence)}) >= 600


def test_capitals_marks_and_spaces_are_right_on_both_sides(corpus: Pairs) -> None:
    for pair in corpus:
        assert pair[0][-1] == pair[1][-1]
        for sentence in pair:
            assert re.fullmatch(r"[A-ZÄÖÜ][\w'-]*(,? [\w'-]+)*[.?!]", sentence), sentence


PHENOMENA = {
    "present": r"^Die Lehrerin \w+t ",
    "perfect with haben": r"^\w+ (hat|haben) .*ge\w+t\.$",
    "perfect with sein": r"^\w+ (ist|sind) .*(gegangen|gelaufen)\.$",
    "modal verb": r"^Er (kann|muss|will|soll|darf|möchte) .*en\.$",
    "separable verb apart": r"^\w+ (rufe|rufst|ruft|rufen) .*an\.$",
    "separable verb in one word": r"\b(weil|dass|wenn) [^,]*\b(an|ab|auf|aus|ein)(ruf|hol|mach|schreib)\w+[.,?]",
    "separable verb with zu": r"\bab(zu)holen\b",
    "yes-no question": r"^(Liest|Hat|Ist|Kann) .*\?$",
    "question word": r"^(Was|Wer|Wen|Wem|Wo|Wohin|Wann|Warum|Wie viele|Welche\w*) .*\?$",
    "imperative": r"^Bitte \w+en Sie .*!$",
    "negation by nicht": r"\bnicht\b",
    "negation by kein": r"\bkeine[nm]? ",
    "because": r", weil ",
    "that": r", dass ",
    "when, first": r"^Wenn .*, ",
    "when, last": r", wenn ",
    "number": r"\b(zwei|drei|zwölf) ",
    "comparison": r"er als ",
    "purpose": r", um .* zu ",
}


@pytest.mark.parametrize("pattern", PHENOMENA.values(), ids=PHENOMENA.keys())
def test_phenomenon_occurs(german: list[str], pattern: str) -> None:
    assert sum(bool(re.search(pattern, sentence)) for sentence in german) >= 5


# German: gender, number and case.

FORMS = {  # form of a noun -> its possible genders (p: plural)
    **dict.fromkeys(["Satz", "Brief", "Hund", "Arzt", "Tisch", "Apfel"], "m"),
    **dict.fromkeys(["Frau", "Geschichte", "Katze", "Tasche", "Stadt", "E-Mail", "Tür"], "f"),
    **dict.fromkeys(["Buch", "Wort", "Kind", "Gedicht", "Auto", "Haus", "Pferd"], "n"),
    **dict.fromkeys(["Sätze", "Briefe", "Hunde", "Ärzte", "Frauen", "Bücher", "Wörter", "Kinder", "Autos"], "p"),
    **dict.fromkeys(["Sätzen", "Briefen", "Hunden", "Ärzten", "Büchern", "Wörtern", "Kindern"], "p"),
    **dict.fromkeys(["Lehrer", "Artikel", "Löffel", "Teller", "Studenten", "Bären"], "mp"),
    **dict.fromkeys(["Mädchen", "Fenster", "Zimmer", "Messer"], "np"),
}
ENDINGS: dict[str, dict[str, str]] = {  # gender -> article -> ending of an adjective after it
    "m": {"der": "e", "den": "en", "dem": "en", "dieser": "e", "diesen": "en", "diesem": "en"}
    | {"ein": "er", "einen": "en", "einem": "en", "mein": "er", "meinen": "en", "meinem": "en"},
    "f": {"die": "e", "der": "en", "diese": "e", "dieser": "en"}
    | {"eine": "e", "einer": "en", "meine": "e", "meiner": "en"},
    "n": {"das": "e", "dem": "en", "dieses": "e", "diesem": "en"}
    | {"ein": "es", "einem": "en", "mein": "es", "meinem": "en"},
    "p": {"die": "en", "den": "en", "diese": "en", "diesen": "en", "meine": "en", "meinen": "en"},
}
ARTICLES = {article for table in ENDINGS.values() for article in table}
MASCULINE = "(?:Satz|Text|Brief|Bericht|Roman|Hund|Arzt|Mann|Koch|Chef|Sohn|Vater|Bruder|Freund|Tisch|Stuhl|Ball|Hut)"


def test_articles_and_adjectives_agree_with_the_gender_and_number_of_the_noun(german: list[str]) -> None:
    pattern = re.compile(rf"\b({'|'.join(ARTICLES)})(?: ([a-zäöüß]+))? ({'|'.join(FORMS)})\b")
    checked = 0
    for sentence in german:
        # kein, dein and sein take the endings of mein.
        for article, adjective, noun in pattern.findall(
            re.sub(r"\b[kds]ein", "mein", sentence[0].lower() + sentence[1:])
        ):
            endings = {ENDINGS[gender][article] for gender in FORMS[noun] if article in ENDINGS[gender]}
            assert endings, sentence
            assert not adjective or any(re.search(f"[^e]{ending}$", adjective) for ending in endings), sentence
            checked += 1
    assert checked > 3_000


PRONOUN = "(?:^|, )(?:[Ii]ch|[Dd]u|[Ee]r|[Ww]ir|[Ss]ie|Ihr|Wer|Anna|Paul|Max|Lena|Emma)"
ARTICLE = r"(das|de[mnrs]|die|diese\w|[mdsk]?ein\w{0,2}|unser\w*|eu[er]\w+)"
NOMINATIVE = "der|dieser|[mdsk]?ein|unser|euer"


@pytest.mark.parametrize(
    ("governor", "article"),
    [
        ("^", NOMINATIVE),
        (r"\b(?:weil|dass|ob|wenn) ", NOMINATIVE),
        (r"\b(?:mit|von|neben|unter|hinter|vor) ", r"\w+em"),
        (rf"{PRONOUN} (?:helf|hilf|dank|antwort|vertrau|folg)\w* ", r"\w+em"),
        (r"\b(?:für|über) ", r"\w+en"),
        (rf"{PRONOUN} (?:seh|sieh|kenn|les|lies|schreib|kauf|besuch|brauch|verkauf)\w* ", r"\w+en"),
    ],
)
def test_position_preposition_and_verb_govern_the_case(german: list[str], governor: str, article: str) -> None:
    """Tested on masculine nouns, whose articles differ in every case."""
    pattern = re.compile(rf"{governor}{ARTICLE} (?:[a-zäöüß]+ )?{MASCULINE}\b", re.IGNORECASE)
    found = [match for sentence in german for match in pattern.finditer(sentence)]
    assert len(found) >= 5
    for match in found:
        assert re.fullmatch(article, match[1].lower()), match.string


JUNGE = Noun("Junge", "Jungen", "Jungen", "m", "boy", "boys", frozenset())
HEFT = Noun("Heft", "Heft", "Hefte", "n", "exercise book", "exercise books", frozenset())
UHR = Noun("Uhr", "Uhr", "Uhren", "f", "clock", "clocks", frozenset())
THREE, MANY = Determiner("drei", "bare", "", "three"), Determiner("viel", "strong", "", "many")
ALT, TEUER, MÜDE = ("alt", "old"), ("teuer", "expensive"), ("müde", "tired")


@pytest.mark.parametrize(
    ("noun", "determiner", "adjective", "plural", "expected"),
    [
        (JUNGE, THE, MÜDE, False, "der müde Junge, den müden Jungen, dem müden Jungen, the tired boy"),
        (JUNGE, A, ALT, False, "ein alter Junge, einen alten Jungen, einem alten Jungen, an old boy"),
        (HEFT, A, TEUER, False, "ein teures Heft, ein teures Heft, einem teuren Heft, an expensive exercise book"),
        (HEFT, THE, ("", ""), True, "die Hefte, die Hefte, den Heften, the exercise books"),
        (HEFT, THREE, ALT, True, "drei alte Hefte, drei alte Hefte, drei alten Heften, three old exercise books"),
        (UHR, POSSESSIVES[5], ALT, False, "eure alte Uhr, eure alte Uhr, eurer alten Uhr, your old clock"),
        (UHR, MANY, ALT, True, "viele alte Uhren, viele alte Uhren, vielen alten Uhren, many old clocks"),
        (HEFT, A, ("", ""), False, "ein Heft, ein Heft, einem Heft, an exercise book"),
    ],
)
def test_declension_by_hand(
    noun: Noun, determiner: Determiner, adjective: tuple[str, str], plural: bool, expected: str
) -> None:
    phrase = noun_phrase(noun, determiner, adjective, plural)
    assert ", ".join((phrase.nom, phrase.acc, phrase.dat, phrase.english)) == expected


@pytest.mark.parametrize(
    ("infinitive", "third", "forms"),
    [
        ("lesen", "liest", "lese liest liest lesen lest lesen"),
        ("arbeiten", "arbeitet", "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten"),
        ("tanzen", "tanzt", "tanze tanzt tanzt tanzen tanzt tanzen"),
        ("fahren", "fährt", "fahre fährst fährt fahren fahrt fahren"),
        ("laden", "lädt", "lade lädst lädt laden ladet laden"),
        ("schließen", "schließt", "schließe schließt schließt schließen schließt schließen"),
        ("füttern", "füttert", "füttere fütterst füttert füttern füttert füttern"),
        ("zeichnen", "zeichnet", "zeichne zeichnest zeichnet zeichnen zeichnet zeichnen"),
        ("sein", "ist", "bin bist ist sind seid sind"),
    ],
)
def test_conjugation_by_hand(infinitive: str, third: str, forms: str) -> None:
    assert [conjugate(infinitive, third, person) for person in range(6)] == forms.split()


# German: agreement and position of the verb.

MODAL_SINGULAR = "kann|könnte|muss|will|soll|darf|möchte|mag|weiß"
FINITE = {  # German and English pronoun -> finite verb; the English tells the meanings of "ihr" and "sie" apart
    ("ich", "I"): rf"\w+e|bin|war|{MODAL_SINGULAR}",
    ("du", "you"): r"\w+(st|ßt|zt)",
    ("er", "he"): rf"\w+t|hatte|war|{MODAL_SINGULAR}",
    ("sie", "she"): rf"\w+t|hatte|war|{MODAL_SINGULAR}",
    ("wir", "we"): r"\w+en|sind|verbessern|füttern",
    ("ihr", "you"): r"\w+t|seid",
    ("Sie", "you"): r"\w+en|sind|verbessern|füttern",
}


@pytest.mark.parametrize(("pronouns", "finite"), FINITE.items(), ids=map("-".join, FINITE))
def test_finite_verb_is_second_and_agrees_with_its_subject(
    corpus: Pairs, pronouns: tuple[str, str], finite: str
) -> None:
    pronoun, meaning = pronouns
    second = [
        match[1]
        for german, english in corpus
        if (match := re.match(rf"{pronoun.capitalize()} (\w+)", german)) and re.match(rf"{meaning} ", english, re.I)
    ]
    opened = r"^(?:Heute|Gestern|Morgen|Jetzt|Am \w+|Um \w+ Uhr|Jeden \w+)"
    translated = r"^(?:Today|Yesterday|Tomorrow|Now|On \w+|At \w+ o'clock|Every \w+)"
    inverted = [
        match[1]
        for german, english in corpus
        if (match := re.match(rf"{opened} (\w+) {pronoun} ", german)) and re.match(f"{translated} {meaning} ", english)
    ]
    assert len(second) > 100
    assert inverted
    for verb in second + inverted:
        assert re.fullmatch(finite, verb), verb


@pytest.mark.parametrize(("pronouns", "finite"), FINITE.items(), ids=map("-".join, FINITE))
def test_finite_verb_is_last_in_a_subordinate_clause(corpus: Pairs, pronouns: tuple[str, str], finite: str) -> None:
    pronoun, meaning = pronouns
    last = [
        match[1]
        for german, english in corpus
        if (match := re.search(rf"\b(?:weil|dass|ob) {pronoun} [^,]*?(\w+)[.?]$", german))
        and re.search(rf"\b(?:because|that|whether) {meaning} ", english)
    ]
    assert len(last) > 20
    for verb in last:
        assert re.fullmatch(finite, verb), verb


def test_a_clause_is_set_off_by_a_comma(german: list[str]) -> None:
    infinitive = r"(zu (?!zufried)\w+|(an|ab|auf|aus|ein|mit|vor|weg|zurück)zu\w+)en"
    for sentence in german:
        assert not re.search(r"[^,] (weil|dass|wenn|ob|obwohl) ", sentence), sentence
        assert not re.search(rf"^[^,]* {infinitive}[.?]$", sentence), sentence


@pytest.mark.parametrize(("stem", "prefix"), [("ruf", "an"), ("hol", "ab"), ("räum", "auf"), ("pack", "ein")])
def test_separated_prefix_closes_the_clause(german: list[str], stem: str, prefix: str) -> None:
    found = [s for s in german if re.match(rf"[A-ZÄÖÜ]\w+ {stem}(e|st|t|en) [^,]*\.$", s)]
    assert found
    assert all(sentence.endswith(f" {prefix}.") for sentence in found)


def test_pronoun_object_stands_before_a_noun_subject(german: list[str]) -> None:
    """After a verb or a conjunction. `sie` and `ihr` could be read as the subject there, so they may follow."""
    name, pronoun = "(?:Anna|Paul|Max|Lena|Emma|der \\w+|die \\w+en)", "(?:mir|mich|dir|dich|ihm|ihn|uns|euch|Ihnen)"
    opened = r"^(?:(?:Warum|Wann|Was) )?(?:Hat|hat|Haben|haben|Kann|kann)|\b(?:weil|dass|ob|wenn)"
    assert any(re.search(rf"(?:{opened}) {pronoun} {name}\b", sentence) for sentence in german)
    for sentence in german:
        assert not re.search(rf"(?:{opened}) {name} {pronoun}\b", sentence), sentence


def test_place_stands_before_an_indefinite_object(german: list[str]) -> None:
    place, bare = r"(?:im|am|auf dem) [A-ZÄÖÜ]\w+", r"(?:zwei|drei|vier|viele|einen|eine|ein) [A-ZÄÖÜ]\w+"
    assert any(re.search(rf"^(?:Er|Ich|Wir) \w+ {place} {bare}\.", sentence) for sentence in german)
    for sentence in german:
        assert not re.search(rf"^(?:Er|Ich|Wir) \w+ {bare} {place}\.", sentence), sentence


# Meaning.


def test_a_sentence_does_not_mix_formal_and_informal_address(corpus: Pairs) -> None:
    """`Sie` and `Ihnen` never occur with a form of `du` or `euer`; an initial `Sie` is formal if it means "you"."""
    informal = {"du", "dich", "dir", "euch", "euer"} | {
        stem + ending for stem in ("dein", "eur") for ending in ("", "e", "em", "en", "er", "es")
    }
    formal = [
        german
        for german, english in corpus
        if {"Sie", "Ihnen"} & set(words(german)[1:]) or (german.startswith("Sie ") and english.startswith("You "))
    ]
    assert len(formal) > 2_000
    for sentence in formal:
        assert informal.isdisjoint(words(sentence.lower())), sentence


def test_unknown_facts_are_expressed_as_questions(corpus: Pairs) -> None:
    not_known = [pair for pair in corpus if re.match(r"[^,]* (weiß|weißt|wissen|wisst) [^,]*\bnicht, ", pair[0])]
    assert len(not_known) > 50
    for german, english in not_known:
        assert re.search(r" nicht, (ob|warum|wann) ", german), german
        assert re.search(r" not know (whether|why|when) ", english), english


def test_girl_never_becomes_he(corpus: Pairs) -> None:
    assert any("Mädchen" in german for german, _ in corpus)
    for german, english in corpus:
        assert not ("Mädchen" in german and "his" in words(english.lower())), german


# English grammar.


def test_an_stands_before_a_vowel_sound_and_a_before_others(english: list[str]) -> None:
    articles = [m for s in english for m in re.findall(r"\b([Aa]n?) ([\w'-]+)", s)]
    assert len(articles) > 3_000
    for article, word in articles:
        has_vowel_sound = word[0] in "aeiouEI" and word != "university"
        assert (article.lower() == "an") == has_vowel_sound, (article, word)


def test_english_verb_agrees_with_its_subject(english: list[str]) -> None:
    for sentence in english:
        for clause in re.split(r", |\b(?:because|although|that|whether|when|why)\b", sentence):
            start = words(clause)[:2]
            if len(start) < 2:
                continue
            subject, verb = start[0].lower(), start[1]
            if subject in ("he", "she"):
                assert verb not in ("am", "are", "were", "do", "have"), sentence
            if subject == "i":
                assert verb not in ("is", "are", "were", "does", "has"), sentence
            if subject in ("you", "we"):
                assert verb not in ("am", "is", "was", "does", "has"), sentence


def test_an_auxiliary_is_followed_by_the_base_form(english: list[str]) -> None:
    auxiliary = r"^(?:He|She|You|I) (?:cannot|can|should|do not|does not|did not)"
    verbs = {match[1] for sentence in english if (match := re.match(rf"{auxiliary} (\w+)", sentence))}
    assert len(verbs) > 30
    inflected = {verb for verb in verbs if re.search(r"([^s]s|ed|ing)$", verb)}
    assert inflected <= {"need", "feed", "sing", "bring"}


def test_numbers_and_plurals_agree(corpus: Pairs) -> None:
    numbers = {"zwei": "two", "drei": "three", "elf": "eleven", "zwölf": "twelve", "zwanzig": "twenty"}
    for german, english in corpus:
        for word, number in numbers.items():
            assert (word in words(german.lower())) == (number in words(english.lower())), german
        assert not re.search(r"\b(two|three|eleven|twelve|many) (\w+ )?(man|woman|child|knife|mouse|book)\b", english)


def test_negation_is_kept(corpus: Pairs) -> None:
    for german, english in corpus:
        is_negated = bool(re.search(r"\b(nicht|kein\w*|Kein\w*|nie)\b", german))
        assert is_negated == bool(re.search(r"\b(not|cannot|never|no)\b", english)), (german, english)
