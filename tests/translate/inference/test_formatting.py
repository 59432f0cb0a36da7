"""Formatting returns around the right words, and changes none of them."""

import itertools
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from translate.inference import pipeline
from translate.inference.documents import keeps_tags
from translate.inference.formatting import Alignment
from translate.inference.pipeline import Rules
from translate.inference.translator import Translator
from translate.models import registry
from translate.text.markup import markdown
from translate.text.placeholders import PLACEHOLDER, symbol, tagged
from translate.text.translation import Document, Format, Translation

MARKDOWN = markdown()

SETS = Path(__file__).parents[2] / "formatting"
# Tags on the right words of each development set: 299 of 325 and 306 of 319, less a margin for other processors.
LEAST = {"de-en": 0.9, "en-de": 0.935}

TAG = re.compile(r"<(/?)([a-z]+)[^<>]*>")
TAGS = ["<b>", "</b>", "<i>", "</i>", '<a href="x.html">', "</a>", "<u>", "</u>"]
WORDS = [
    "Haus",
    "Hund",
    "und",
    "läuft",
    "{name}",
    "3,5",
    "Haus-Tür",
    "offen.",
    "Ja!",
    "„Gut“",
    "<br>",
    "😀",
    "`x`",
    symbol(0),
]


EMPTY = re.compile(r"<([a-z]+)\b[^<>]*>\s*</\1>")  # an object without words, such as an icon


def stripped(text: str) -> str:
    """Return a text without formatting."""
    return re.sub(f"{EMPTY.pattern}|{TAG.pattern}", lambda tag: tag[0] if tag[1] or tag[3] == "br" else "", text)


def words(text: str) -> list[str]:
    return TAG.sub(lambda tag: tag[0] if tag[2] == "br" else "", text).split()


def tags(text: str) -> list[str]:
    return sorted(tag[0] for tag in TAG.finditer(text))


def is_nested(text: str) -> bool:
    """Return whether each end tag closes the last open element."""
    open_: list[str] = []
    for tag in TAG.finditer(text):
        if tag[2] == "br":
            continue
        if not tag[1]:
            open_.append(tag[2])
        elif not open_ or open_.pop() != tag[2]:
            return False
    return not open_


def reversed_words(text: str) -> str:
    return " ".join(reversed(text.split()))


def search_by(speak: Callable[[str], str]) -> pipeline.Model:
    def search(texts: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
        return {text: Translation(speak(text), log_prob=-1.0, tokens=("a",), n_segments=1) for text in texts}

    return search


def spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\s*\S+", text)]


class Aligner:
    """Aligns words by a function of numbers of target and source words."""

    def __init__(self, weight: Callable[[int, int, int], float]) -> None:
        self.weight = weight
        self.asked: list[list[tuple[str, str]]] = []

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Alignment | None]:
        self.asked.append(list(pairs))
        return [self.of(spans(source), spans(target)) for source, target in pairs]

    def of(self, source: list[tuple[int, int]], target: list[tuple[int, int]]) -> Alignment | None:
        weights = [[self.weight(t, s, len(source)) for s in range(len(source))] for t in range(len(target))]
        return Alignment(source, target, weights)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [-float(target.index(symbol(0)) % 7) if symbol(0) in target else 0.0 for _, target in pairs]


def at_random(seed: int) -> Aligner:
    draw = random.Random(seed)
    return Aligner(lambda t, s, n: draw.random() ** 5)


STRAIGHT = Aligner(lambda t, s, n: float(s == t))
MIRRORED = Aligner(lambda t, s, n: float(s == n - 1 - t))  # for reversed words


def translated(
    text: str,
    aligner: Aligner | None,
    speak: Callable[[str], str] = reversed_words,
    markup: re.Pattern[str] = PLACEHOLDER,
) -> str:
    rules = Rules(source="de", target="en", n_symbols=16, checks=False, markup=markup, aligner=aligner)
    (found,) = pipeline.translate([text], search_by(speak), rules)
    return found.text


PARTS = st.lists(st.sampled_from(TAGS) | st.sampled_from(WORDS) | st.sampled_from([" ", " "]), max_size=13)


@st.composite
def nested(draw: st.DrawFn, depth: int = 3) -> str:
    """Text with well nested elements."""
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            name = draw(st.sampled_from("biau"))
            parts.append(f"<{name}>{draw(nested(depth=depth - 1))}</{name}>")
        else:
            parts.append(draw(st.sampled_from(WORDS)))
        parts.append(draw(st.sampled_from(["", " "])))
    return "".join(parts)


@given(text=nested(), seed=st.integers(0, 7))
@example(text="<b>Haus </b><i>Hund </i>und", seed=0)
@example(text="Hund <b>{name}</b>und", seed=0)
@example(text="Hund<br><b>und Haus</b>", seed=0)
@example(text="<b><b>Haus Hund <b>Haus Haus Haus </b> </b> Haus </b> Haus<b>offen.</b>", seed=1)
def test_words_stay_and_elements_stay_nested(text: str, seed: int) -> None:
    expected = translated(stripped(text), None)
    found = translated(text, at_random(seed))
    assert words(found) == words(expected)
    assert tags(found) == tags(text)
    assert is_nested(found)


@given(parts=PARTS, seed=st.integers(0, 7))
def test_no_tag_is_lost_or_doubled_in_damaged_markup(parts: list[str], seed: int) -> None:
    text = "".join(parts)
    expected = translated(stripped(text), None)
    found = translated(text, at_random(seed))
    assert words(found) == words(expected)
    assert tags(found) == tags(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der <b>rote</b> Hund", "Hund <b>rote</b> Der"),
        ("Der <b>rote <i>Hund</i></b> läuft", "läuft <b><i>Hund</i> rote</b> Der"),
        ("<b>Der <i>rote</i> Hund</b>", "<b>Hund <i>rote</i> Der</b>"),
        # Crossing: the one that opens first holds the other.
        ("Der <b>rote <i>Hund</b> läuft</i> weg", "weg <b><i>läuft Hund</i> rote</b> Der"),
        # Over sentences, each of which is reversed.
        ("Der <b>Hund läuft. Die Katze</b> schläft.", "<b>läuft. Hund</b> Der schläft. <b>Katze Die</b>"),
        # No partner at all; a variable is none.
        ("Der </i>rote Hund", "Hund rote Der</i>"),
        # White space on both sides of such a mark stays there.
        ("Der </i> rote Hund", "Hund rote Der </i>"),
        ("Der rote Hund </s>", "Hund rote Der </s>"),
        ("Der <b> rote Hund", "<b> Hund rote Der"),
        ("Der <name> läuft <b>gern</b>", "<b>gern</b> läuft <name> Der"),
        ("Der <b> rote </b> Hund", "Hund <b>rote</b> Der"),
        ("Das <b>{name}</b> da", "da <b>{name}</b> Das"),
        ("<b>\U0001f642 Ja</b> gut", "<b>\U0001f642 gut Ja</b>"),
        # Times of WebVTT are no part of a word, and stay in order.
        ("Der <00:20.000>rote <00:21.000>Hund", "<00:20.000>Hund <00:21.000>rote Der"),
        (
            "Der<01:00:20.000><c> rote</c><01:00:21.000><c> Hund</c>",
            "<01:00:20.000><c>Hund</c> <01:00:21.000><c>rote</c> Der",
        ),
    ],
)
def test_elements_follow_their_words(text: str, expected: str) -> None:
    found = translated(text, MIRRORED)
    if "Katze" in text:  # an element over two sentences has one mark in each
        assert re.sub(r"</?b>", "", found) == re.sub(r"</?b>", "", expected)
        assert is_nested(found)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("Da (samt *MwSt.*)", "There (with VAT)", "There (with *VAT*)"),
        ("Da (samt *MwSt.*)", "There (with VAT.)", "There (with *VAT.*)"),
        ("Da samt *(MwSt.)*", "There with (VAT)", "There with *(VAT)*"),
        ("Da *samt MwSt.*, ja", "There with VAT, yes", "There *with VAT*, yes"),
    ],
)
def test_marks_around_an_element_stay_around_it(text: str, said: str, expected: str) -> None:
    """The full stop of an abbreviation is none in the translation, and no other mark takes its place."""
    assert translated(text, STRAIGHT, lambda text: said, markup=MARKDOWN) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der **rote** Hund", "Hund **rote** Der"),
        ("Der ** rote Hund", "Hund rote ** Der"),  # no emphasis
        ("Der _rote_ [*Hund*](x.md) ~~da~~", "~~da~~ [*Hund*](x.md) _rote_ Der"),
        ("Der ==rote== ==**Hund** da==", "==da **Hund**== ==rote== Der"),
        ("Wenn a==b", "a==b Wenn"),  # no marks
        ("Der {++rote ==Hund==++} {--war--} da", "da {--war--} {++==Hund== rote++} Der"),  # of CriticMarkup
        ("Das {~~war~>ist ja~~} {==rot==}{>>Wie?<<} da", "da {==rot==}{>>Wie?<<} {~~war~>ja ist~~} Das"),
        ("{++Der Hund++} {++da++}", "{++da++} {++Hund Der++}"),
        ("Das [alte Haus]{.underline} da", "da [Haus alte]{.underline} Das"),  # of pandoc
        ("Das [[Haus]{.a}]{lang=de} [x] da", "da [x] [[Haus]{.a}]{lang=de} Das"),
        ("Der [rote][1] Hund", "Hund [rote][1] Der"),
        ("Der *`rote`* Hund", "Hund *`rote`* Der"),
        ("Siehe [![das Bild](x.png)](y) da", "da [![Bild das](x.png)](y) Siehe"),
        ("[Erste Schritte](x){ .md-button a=b }", "[Schritte Erste](x){ .md-button a=b }"),
        ('Der {{< b c="d/" >}}rote{{< /b >}} Hund', 'Hund {{< b c="d/" >}}rote{{< /b >}} Der'),
        ("{{% b %}}Der *rote* Hund{{% /b %}}", "{{% b %}}Hund *rote* Der{{% /b %}}"),
        ("Der {{< b >}} rote {{<c/>}} Hund", "Hund {{<c/>}} rote {{< b >}} Der"),  # without a partner
        ("Der <[Hund][x]> <?*da*>", "<?*da*> <[Hund][x]> Der"),  # no tag
        ("Der **Hund**[1][^2], [er[^3] da](x) schläft", "schläft [da er[^3]](x) **Hund**[1][^2], Der"),
        ("Der Hund<sup>[1]</sup> da", "da Hund<sup>[1]</sup> Der"),
        ("Der Hund<sup><a>[1]</a></sup>,<i>[2]</i> da", "da Hund<sup><a>[1]</a></sup>,<i>[2]</i> Der"),
        ("Er sah <b>[1] da</b> und", "und <b>da [1]</b> sah Er"),
        ('Er sah "[1]" und ([2]) da', 'da ([2]) und "[1]" sah Er'),
        ("Wert a[0].b und x[1] = 2", "2 = x[1] und a[0].b Wert"),
        ("Der Hund<sup>[1],[2]</sup> da", "da Hund<sup>[1],[2]</sup> Der"),
        ("Laut&nbsp;[1] und", "und [1] Laut"),
        ("Er sah [1],[2] und", "und [1],[2] sah Er"),
        ("Siehe [das Bild][x]{a=b} da", "da [Bild das][x]{a=b} Siehe"),
    ],
)
def test_emphasis_and_links_follow_their_words(text: str, expected: str) -> None:
    assert translated(text, MIRRORED, markup=MARKDOWN) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der *rote Hund* und _er_ da", "da _er_ und *Hund rote* Der"),
        ("Der (*rote*) Hund, *nein*!", "*nein*! Hund, (*rote*) Der"),
        ("Der Preis* gilt hier", "hier gilt Preis* Der"),
    ],
)
def test_emphasis_in_plain_text_follows_its_words(text: str, expected: str) -> None:
    assert translated(text, MIRRORED) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der Hund<g1></g1> schläft", "schläft Hund<g1></g1> Der"),
        ("Der Hund<g1></g1><gx2></gx2> da", "da Hund<g1></g1><gx2></gx2> Der"),
        ("Der <g1></g1>Hund schläft", "schläft <g1></g1>Hund Der"),
        ("Der <g1>Hund<g2></g2></g1> da", "da <g1>Hund<g2></g2></g1> Der"),
        ("Der Hund <g3/> schläft<g2></g2>", "schläft <g3/> Hund Der<g2></g2>"),
        ("Der <g1><g2></g2></g1>Hund", "<g1><g2></g2></g1>Hund Der"),
        ("Der Hund<g1><g2></g2></g1> da", "da Hund<g1><g2></g2></g1> Der"),
        ("Der Hund,<g1></g1> er schläft", "schläft er Hund,<g1></g1> Der"),
        ("Der Hund<g1></g1>, er schläft", "schläft er Hund<g1></g1>, Der"),
        ("Der (Hund),<g1></g1><g2></g2> der", "der (Hund),<g1></g1><g2></g2> Der"),
        ("Der <g1></g1>(Hund) schläft", "schläft <g1></g1>(Hund) Der"),
        ("Der (<g1></g1>Hund) schläft", "schläft (<g1></g1>Hund) Der"),
        ("Der Hund[^1] schläft[2], laut [3] er", "er [3] laut schläft[2], Hund[^1] Der"),
    ],
)
def test_what_has_no_width_in_a_document_follows_the_word_beside_it(text: str, expected: str) -> None:
    """The reference to a note, a bookmark: no word of the sentence changes for them."""
    assert translated(text, MIRRORED, markup=tagged()) == expected


def test_the_words_of_a_sentence_do_not_depend_on_references_to_notes_after_them() -> None:
    """A symbol beside a word took its first letters: "Katze[^3]" became "Kat[^3]"."""
    said = list[str]()

    def speak(text: str) -> str:
        said.append(text)
        return text

    text = "Der Hund[^1] und **Anna**,[2] laut [3], singen^[Oft] da[^b]."
    assert translated(text, STRAIGHT, speak, markup=MARKDOWN) == text
    assert said == [f"Der Hund und Anna, laut {symbol(0)}, singen da.", "Oft"]


@pytest.mark.parametrize(
    ("text", "read", "expected"),
    [
        ("Hund &amp; Anna", "Hund & Anna", "Anna &amp; Hund"),
        (
            "Die <b>R&amp;D</b> &amp; &lt; &auml;",
            f"Die R&D & {symbol(0)} \u00e4",
            "\u00e4 &lt; &amp; <b>R&amp;D</b> Die",
        ),
        ("http://a.de?b&amp;c=d &amp; ja", f"{symbol(0)} & ja", "ja &amp; http://a.de?b&amp;c=d"),
        ("Hund &#038; Anna", "Hund & Anna", "Anna &#038; Hund"),  # of WordPress
        ("Hund&nbsp;&amp;&nbsp;Anna", "Hund & Anna", "Anna &amp; Hund"),
        ("<code>a &amp; b</code> &amp; A&amp;B", f"{symbol(0)} & A&B", "A&amp;B &amp; <code>a &amp; b</code>"),
        ("Die F&amp;E; und", "Die F&E; und", "und F&amp;E; Die"),
        ("Wo? http://a.de/?A=B&amp;C=D", f"Wo? {symbol(0)}", "http://a.de/?A=B&amp;C=D Wo?"),
        (
            '<a href="?A&amp;B">Er</a> und A&amp;LT;',
            f"Er und A{symbol(0)}LT;",
            'A&amp;LT; und <a href="?A&amp;B">Er</a>',
        ),
        ("Hund & a &amp; b", f"Hund & a {symbol(0)} b", "b &amp; a & Hund"),  # the file has both
        ("Hund<br/>und<BR><br>so", f"Hund {symbol(0)} und {symbol(1)}{symbol(2)} so", "so<BR><br>und<br/>Hund"),
        ("Hund <br> so &amp; da<br>so", f"Hund {symbol(0)} so & da{symbol(1)}so", "da<br>so &amp; so <br> Hund"),
    ],
)
def test_models_read_an_ampersand_for_its_entity_and_spaces_at_breaks(text: str, read: str, expected: str) -> None:
    """Words beside a symbol were lost: "Terms &amp; conditions" became one of "conditions for &amp;"."""
    said = list[str]()

    def speak(text: str) -> str:
        said.append(text)
        return reversed_words(text)

    assert translated(text, MIRRORED, speak) == expected
    assert said == [read]


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(text=st.deferred(lambda: DOCUMENTS), seed=st.integers(0, 7))
def test_tags_of_documents_change_no_word_and_stay_nested(text: str, seed: int) -> None:
    found = translated(text, at_random(seed), markup=tagged())
    expected = translated(re.sub(r"</?g\d+>", "", text), None, markup=tagged())
    assert re.sub(r"</?g\d+>", "", found).split() == expected.split()
    assert keeps_tags(text, found)


def numbered(parts: Sequence[str]) -> str:
    """Return parts, of which pairs of brackets are pairs of tags, and bars are objects."""
    numbers, opened = itertools.count(1), list[int]()

    def tag(sign: re.Match[str]) -> str:
        if sign[0] == "]":
            return f"</g{opened.pop()}>"
        n = next(numbers)
        opened.extend([n] if sign[0] == "[" else [])
        return f"<g{n}>" if sign[0] == "[" else f"<g{n}/>"

    return re.sub(r"[\[\]|]", tag, "".join(parts))


_INNER = st.lists(st.sampled_from(["Haus", "läuft.", "und", " ", " ", " | ", "3,5"]), max_size=5).map("".join)
DOCUMENTS = st.lists(
    st.recursive(_INNER, lambda inner: st.lists(st.one_of(_INNER, inner.map(lambda text: f"[{text}]"))).map("".join)),
    max_size=3,
).map(numbered)


def test_a_part_of_a_word_has_its_format_in_the_same_part() -> None:
    """A raised number in a unit, lowered ones in a formula, and a part that the translation does not have."""
    for text, expected in (
        ("Das sind 3 m<sup>2</sup> hier", "hier m<sup>2</sup> 3 sind Das"),
        ("H<sub>2</sub>SO<sub>4</sub> ist da", "da ist H<sub>2</sub>SO<sub>4</sub>"),
        ("Ein <b>A<i>b</i>c</b>d da", "da <b>A<i>b</i>c</b>d Ein"),
    ):
        assert translated(text, MIRRORED) == expected
    assert translated("<b>Haus</b>tür und", STRAIGHT, str.swapcase) == "<b>hAUSTÜR</b> UND"


def test_an_initial_is_the_first_letter_of_the_translation() -> None:
    """A style makes it three lines high, so it may not be around the whole word, which it was."""
    for text, expected in (
        ("<b>D</b>ie T\u00fcr ist offen", "<b>d</b>IE t\u00dcR IST OFFEN"),
        ("\u201e<b>D</b>ie T\u00fcr\u201c", "\u201e<b>d</b>IE t\u00dcR\u201c"),
        ("<b>D</b>ie <i>T</i>\u00fcr", "<b>d</b>IE <i>t\u00dcR</i>"),
        ("<b>\u201eD</b>ie T\u00fcr\u201c", "<b>\u201ed</b>IE t\u00dcR\u201c"),
        ("<b>(D</b>ie T\u00fcr)", "<b>(d</b>IE t\u00dcR)"),
    ):
        assert translated(text, STRAIGHT, str.swapcase) == expected
    assert translated("<b>D</b>ie T\u00fcr", MIRRORED) == "T\u00fcr <b>D</b>ie"
    for text, expected in (
        ("<b>D</b>ie T\u00fcr", "<b>t</b>\u00dcR dIE"),
        ("<b>D</b>ie T\u00fcr {y}", "{y} <b>t</b>\u00dcR dIE"),
    ):
        assert translated(text, MIRRORED, lambda words: " ".join(reversed(words.swapcase().split()))) == expected


def test_punctuation_is_inside_where_it_is_in_the_source() -> None:
    for text in (
        "Er sagte <b>„Ja!“</b> zu ihr",
        "Er sagte „<b>Ja</b>!“ zu ihr",
        "Wir (<i>heute</i>), sie <i>(bald)</i>",
    ):
        assert translated(text, STRAIGHT, str.swapcase) == swapped(text)


@pytest.mark.parametrize(
    "text",
    [
        "<label>Der Name <i>*</i></label>",  # must be filled in
        "<a href='x'>Mehr davon <i>\u00bb</i></a>",
        "<a href='x'><i>\u00ab</i> Davor</a>",
        "<b><i>(</i> Der Hund <u>*</u></b> da",
    ],
)
def test_a_mark_apart_from_the_words_of_its_element_stays_in_it(text: str) -> None:
    assert translated(text, STRAIGHT, str.swapcase) == swapped(text)


def swapped(text: str) -> str:
    return "".join(part if part.startswith("<") else part.swapcase() for part in re.split(r"(<[^>]*>)", text))


def test_all_sentences_are_aligned_at_once_and_none_without_need() -> None:
    aligner = Aligner(MIRRORED.weight)
    rules = Rules(source="de", target="en", n_symbols=16, checks=False, aligner=aligner)
    texts = ["Der Hund läuft", "<b>Der Hund läuft</b>", "Der <b>Hund</b>. Die <i>Katze</i>", "Ein <u>Tag</u>"]
    found = pipeline.translate(texts, search_by(reversed_words), rules)
    assert [one.text for one in found][:2] == ["läuft Hund Der", "<b>läuft Hund Der</b>"]
    assert [len(pairs) for pairs in aligner.asked] == [3]
    aligner.asked.clear()
    pipeline.translate(["Der Hund", "<b>Der Hund</b>", "{name} <br> Katze"], search_by(reversed_words), rules)
    assert aligner.asked == []


def test_a_sentence_that_cannot_be_aligned_has_symbols_for_its_marks() -> None:
    asked: list[str] = []

    def speak(text: str) -> str:
        asked.append(text)
        return text.upper()

    class Unable(Aligner):
        def of(self, source: list[tuple[int, int]], target: list[tuple[int, int]]) -> None:
            return None

    assert translated("Der <b>Hund</b>", Unable(MIRRORED.weight), speak) == "DER <b>HUND</b>"
    assert asked == ["Der Hund", f"Der {symbol(0)}Hund{symbol(1)}"]


def test_a_copied_sentence_keeps_its_bytes() -> None:
    text = "This is <b>the  dog</b> that you have <i>seen </i>."
    rules = Rules(source="de", target="en", n_symbols=16, aligner=MIRRORED)
    (found,) = pipeline.translate([text], search_by(reversed_words), rules)
    assert (found.text, found.flags) == (text, ("language",))


class Choosing(Aligner):
    """Reads the first word in the second one too, a little less; prefers one translation by some nats."""

    def __init__(self, preferred: str, lead: float = 9.0) -> None:
        super().__init__(lambda t, s, n: float(s == t) + 0.95 * (t == 1 and s == 0))
        marked = preferred.replace("<b>", f"{symbol(0)} ").replace("</b>", f" {symbol(1)}")
        self.preferred, self.lead, self.n_calls = marked, lead, 0

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.n_calls += 1
        return [self.lead * (target == self.preferred) for _, target in pairs]


@pytest.mark.parametrize("best", ["<b>AA BB</b> CC DD", "<b>AA</b> BB CC DD"])
def test_runs_that_compete_are_chosen_by_their_probability(best: str) -> None:
    aligner = Choosing(best)
    assert translated("<b>aa</b> bb cc dd", aligner, str.upper) == best
    assert aligner.n_calls == 1


def test_attention_decides_between_runs_of_about_the_same_probability() -> None:
    """The model preferred "<b>has not arrived</b>" to "has <b>not arrived</b>" by little; attention was against it."""
    aligner = Choosing("<b>AA BB</b> CC DD", lead=1.0)
    assert translated("<b>aa</b> bb cc dd", aligner, str.upper) == "<b>AA</b> BB CC DD"


@pytest.mark.parametrize(
    ("rest", "expected"),
    [(0.0, "<b><i>RUFT</i></b> ER IHN"), (0.2, "<b><i>RUFT</i></b> ER IHN"), (0.8, "<b>RUFT</b> ER <i>IHN</i>")],
)
def test_two_parts_of_a_verb_that_are_one_word_stand_around_it(rest: float, expected: str) -> None:
    """The first word reads both parts; the last one reads the second part more or less."""
    rows = [[0.55, 0.0, 0.0, 0.45], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0 - rest, rest]]
    aligner = Aligner(lambda t, s, n: rows[t][s])
    assert (
        translated("<b>ruft</b> er ihn <i>an</i>", aligner, lambda text: text.removesuffix(" an").upper()) == expected
    )


def test_more_placeholders_than_there_are_symbols_stay_in_their_places() -> None:
    text = "Der <b>Hund</b> " + "{x} " * 120 + "<i>läuft</i>"
    assert translated(text, STRAIGHT, str.lower) == text.lower()


@pytest.mark.parametrize("form", ["Leser:in", "Leser*in", "Leser/-in"])
def test_forms_for_all_genders_do_not_move_marks(form: str) -> None:
    """The model reads another form, of another length."""
    text = f"Die {form} und <b>das</b> Haus"
    assert "<b>DAS</b>" in translated(text, STRAIGHT, str.upper)


def test_marks_stay_outside_of_messages() -> None:
    message = "{n, plural, one {# Haus} other {# Hunde}}"
    found = translated(f"Da <b>{message}</b> und <i>hier</i>", STRAIGHT, str.upper)
    assert re.fullmatch(r"DA <b>\{n, plural, .*\}\}</b> UND <i>HIER</i>", found)


def test_many_marks_take_linear_time() -> None:
    text = "Das <b>Haus</b> ist <i>da</i>. " * 3000
    assert tags(translated(text, MIRRORED)) == tags(text)


# The shipped models


def inside(text: str) -> list[tuple[str, int, int]]:
    """Return each element: its name, and the numbers of its first word and of the word behind it."""
    n_words, open_, found = 0, list[tuple[str, int]](), list[tuple[str, int, int]]()
    for part in re.finditer(r"<(/?)(\w+)[^<>]*>|[\w'’-]+", text):
        if part[2] is None:
            n_words += 1
        elif part[1]:
            i = max(i for i, (name, _) in enumerate(open_) if name == part[2])
            found.append((*open_.pop(i), n_words))
        else:
            open_.append((part[2], n_words))
    return found


def n_right(text: str, right: str) -> int:
    left = inside(right)
    return sum(left.remove(element) is None for element in inside(text) if element in left)


@pytest.fixture(scope="module", params=sorted(LEAST))
def shipped(request: pytest.FixtureRequest) -> tuple[str, Translator, list[list[str]]]:
    pytest.importorskip("ctranslate2")
    if request.param not in dict(registry.installed()):
        pytest.skip(f"{request.param} does not ship")
    lines = (SETS / f"{request.param}.tsv").read_text(encoding="utf-8").splitlines()
    return request.param, Translator.load(request.param), [line.split("\t") for line in lines]


def test_tags_are_on_the_right_words(shipped: tuple[str, Translator, list[list[str]]]) -> None:
    """The sets have a sentence with tags, and its translation with tags; where several are right, one a column."""
    name, translator, rows = shipped
    found = translator([source for source, *_ in rows])
    right = sum(max(n_right(text, one) for one in several) for text, (_, *several) in zip(found, rows, strict=True))
    assert right / sum(len(inside(first)) for _, first, *_ in rows) >= LEAST[name]


@pytest.mark.parametrize(("first", "layout"), [*enumerate(["text", "markdown", "html", "srt"])])
def test_words_are_those_without_formatting(
    shipped: tuple[str, Translator, list[list[str]]], first: int, layout: Format
) -> None:
    """Each format has other sentences of the sets."""
    _, translator, rows = shipped
    there = Translator(translator.engine, document=Document(format=layout))
    sources = [source for source, *_ in rows[first::14]]
    if layout == "markdown":
        marks = {"b": "**", "i": "*", "u": "~~", "/b": "**", "/i": "*", "/u": "~~", "a": "[", "/a": "](x.md)"}
        sources = [re.sub(r"<(/?\w)>", lambda tag: marks[tag[1]], source) for source in sources]
    if layout == "srt":
        sources = [f"1\n00:00:01,000 --> 00:00:02,000\n{source}\n" for source in sources]
    without = re.compile(r"</?\w>|\*+|~~|\[|\]\(x.md\)")
    assert [without.sub("", text) for text in there(sources)] == there([without.sub("", text) for text in sources])
