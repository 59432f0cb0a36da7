"""Placeholders appear unchanged exactly once in the translation, or the failure is detected."""

import random
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.growth import grows_linearly
from translate.text.markup import markdown, mdx
from translate.text.placeholders import (
    KINDS,
    PLACEHOLDER,
    branch_text,
    branches,
    in_language,
    is_emptied,
    mask,
    may_match,
    messages,
    placeholder_spans,
    protect,
    restore,
    symbol,
    tagged,
    unframed,
    with_branches,
    without_space_in_marks,
)
from translate.text.sentences import between, readable

MARKDOWN = markdown()

HARD = st.text(alphabet="a1 <>/{}%s$&;`.:@-_\\⟦⟧\n~ü", max_size=40)
MESSAGE = "{a, select, x {{n, plural, =0 {nichts} one {{b} hat # Hund} other {{b}}}} other {{b} {c}}}"  # of ICU
LONG = "aHR0" * 900  # characters of a long address
FACES = r">.< ¯\_(ツ)_/¯ :-) ;-) :D ;P :'( >:( =) xD <3 ^^ ^_^ -_- >_< o_O O.o T_T \o/ (^_^) (╯°□°)╯︵ ʕ•ᴥ•ʔ (◕‿◕)"
WORDS_OF_PROSE = "der Hund, die Katze und das Pferd " * 30

FOUND = [
    ('ein<a href="x y">Wort</a>', ['<a href="x y">', "</a>"]),
    ('Ein <i class="x"></i><b>&nbsp;</b> <b> a</b>', ['<i class="x"></i>', "<b>&nbsp;</b>", "<b>", "</b>"]),
    ("Bitte *nicht*, der _alte_ Preis* (*1,50 €*) gilt", ["*", "*", "_", "_", "*", "*", "*"]),
    ("Das <input disabled> hier<br />da", ["<input disabled>", "<br />"]),
    ("Hallo {name}, du hast %d neue Nachrichten.", ["{name}", "%d"]),
    ("Noch %(n)s von %1$s oder %-5.2f und %1 und {0:.2f}.", ["%(n)s", "%1$s", "%-5.2f", "%1", "{0:.2f}"]),
    ("Klicke <b>hier</b> &amp; warte.<br/>", ["<b>", "</b>", "&amp;", "<br/>"]),
    ("Das Bild img/haus.v2/dach.png und/oder a/b", ["img/haus.v2/dach.png"]),
    ("Siehe https://example.org/a?b=c&d=e.", ["https://example.org/a?b=c&d=e"]),
    ("(siehe http://example.org/x)", ["http://example.org/x"]),
    ("x.de/?a[b][c]=1 https://x.de/?a[$b][]=1", ["x.de/?a[b][c]=1", "https://x.de/?a[$b][]=1"]),
    ("[url]https://x.de/a[/url] [url]x.de/a[/url]", ["[url]", "https://x.de/a", "[/url]", "[url]", "x.de/a", "[/url]"]),
    ("Mit https://x.de/?f[a][b]=1&g[][c] hier", ["https://x.de/?f[a][b]=1&g[][c"]),
    ("Schreib an max.muster+x@mail.example.de!", ["max.muster+x@mail.example.de"]),
    ("Öffne `rm -rf` oder ``a`b``.", ["`rm -rf`", "``a`b``"]),
    ("Öffne /etc/passwd, ~/x.txt und C:\\Windows\\win.ini.", ["/etc/passwd", "~/x.txt", "C:\\Windows\\win.ini"]),
    ("Mit --all-files und $HOME und ${x y} und {{ z }}.", ["--all-files", "$HOME", "${x y}", "{{ z }}"]),
    ("Das Zeichen ⟦3⟧ steht im Text.", ["⟦3⟧"]),
    ("Nutze <code>x = 1. Y</code> oder <b>z</b>.", ["<code>x = 1. Y</code>", "<b>", "</b>"]),
    ('Das <i id=x translate="no">Haus</i> steht.', ['<i id=x translate="no">Haus</i>']),
    ("Das <i translate=no>Haus <b>x</b></i> steht.", ["<i translate=no>Haus <b>x</b></i>"]),
    ("Das <i class='a notranslate'>Haus <b>x</b></i> steht.", ["<i class='a notranslate'>Haus <b>x</b></i>"]),
    (
        "Das <i translate=no>Haus <i translate=yes>x</i></i>",
        ["<i translate=no>", "<i translate=yes>", "</i>", "</i>"],
    ),
    ("Das <i translate=no>Haus <p>x</p></i> da", ["<i translate=no>", "<p>", "</p>", "</i>"]),
    (
        'Rufe <code class="a"><span class="b">f</span>(<var>x</var>)</code> und',
        ['<code class="a"><span class="b">f</span>(<var>x</var>)</code>'],
    ),
    ("Mit <kbd><kbd>Strg</kbd>+<kbd>C</kbd></kbd> und <code>da", ["<kbd><kbd>Strg</kbd>+<kbd>C</kbd></kbd>", "<code>"]),
    ("Das <i translate=no>Haus</i> steht.", ["<i translate=no>Haus</i>"]),
    ('Das <i translate="no-op">Haus</i> steht.', ['<i translate="no-op">', "</i>"]),
    ("Das <ruby>X<rt>tou</rt></ruby> und", ["<ruby>X<rt>tou</rt></ruby>"]),
    ("<ruby.a>東<rp>(</rp><rt>tō</rt>京<rt>kyō</rt></ruby>", ["<ruby.a>東<rp>(</rp><rt>tō</rt>京<rt>kyō</rt></ruby>"]),
    (
        'Sei <span class="math inline"><em>a</em> + x<sup>2</sup></span> und <span class="math">eine</span>',
        ['<span class="math inline"><em>a</em> + x<sup>2</sup></span>', '<span class="math">', "</span>"],
    ),
    ("Seite www.example.com/a_(b). Oder müller.de/x?", ["www.example.com/a_(b)", "müller.de/x"]),
    ("Siehe main.py und Bild 3.final.jpeg!", ["main.py", "3.final.jpeg"]),
    ("IBAN DE02120300000000202051, Code X7K9-22BF-0091.", ["DE02120300000000202051", "X7K9-22BF-0091"]),
    ("IBAN DE89 3704 0044 0532 0130 00, sonst nichts", ["DE89 3704 0044 0532 0130 00"]),
    ("An GB29 NWBK 6016 1331 9268 19 BANK", ["GB29 NWBK 6016 1331 9268 19"]),
    ("NO93 8601 1117 947 (BIC: GIBAATWWXXX), SWIFT DEUTDEFF.", ["NO93 8601 1117 947", "GIBAATWWXXX", "DEUTDEFF"]),
    ("AT61 1904 3002 3457 3201 IST ES, NICHT VW12 AUTO 2024 ODER BIC FEHLT", ["AT61 1904 3002 3457 3201"]),
    ("BIC: GIBAATWWXXX", ["GIBAATWWXXX"]),
    ("Stand 634d4446987d von 2.10.3-beta1.", ["634d4446987d", "2.10.3-beta1"]),
    ("Nach § 823 BGB auf 20 m² für ½ Liter", ["§", "m²", "½"]),
    ("Marke® 👨‍👩‍👧 und 1️⃣ → 5 ✓", ["®", "👨‍👩‍👧", "1️⃣", "→", "✓"]),
    ("Am 192.168.100.200, 10.0.0.1:8080 und 10.0.0.0/8.", ["192.168.100.200", "10.0.0.1:8080", "10.0.0.0/8"]),
    ("Abschnitt 1.2.3.4.5, danach", ["1.2.3.4.5"]),
    ("Das **ist** 2 * 3.", ["**", "**"]),
    ("Es steht dort.[1][23] Und hier[^x]. [2024] [a]", ["[1]", "[23]", "[^x]"]),
    (
        "{% if x y z == 1 %} {!! $x !!} {# a #} <% b %> {$a} {@b} {a|b}",
        ["{% if x y z == 1 %}", "{!! $x !!}", "{# a #}", "<% b %>", "{$a}", "{@b}", "{a|b}"],
    ),
    (
        "{% if x > {'a': 1} %} {# {{ x }} #} { $name } {-brand} { -brand }",
        ["{% if x > {'a': 1} %}", "{# {{ x }} #}", "{ $name }", "{-brand}", "{ -brand }"],
    ),
    (
        "[b][i]Sehr[/i] gut[/b], siehe [url=https://x.de/a]hier[/url].",
        ["[b]", "[i]", "[/i]", "[/b]", "[url=https://x.de/a]", "[/url]"],
    ),
    (
        "+++INS a.b+++ und +++= $p.x + 1+++, +++ END-FOR p +++ +++a.b[0]+++ +++ Eilmeldung +++ Zwei Tote +++ C+++",
        ["+++INS a.b+++", "+++= $p.x + 1+++", "+++ END-FOR p +++", "+++a.b[0]+++"],
    ),
    (
        "+++FOR p IN a.b+++ +++IF p.x === 1+++ +++INS await f(p)+++ +++LINK p+++ +++$p.x+++ +++ ALIAS a INS b +++",
        ["+++FOR p IN a.b+++", "+++IF p.x === 1+++", "+++INS await f(p)+++", "+++LINK p+++", "+++$p.x+++"]
        + ["+++ ALIAS a INS b +++"],
    ),
    *(
        (f"+++ {news} +++", [])
        for news in ("sturm", "FOR SALE", "INS WASSER GEFALLEN", "LINK zum Film", "$5 verloren", "= gut", "Wind")
    ),
    ("Hallo __NAME__ und [FIRST_NAME], [MUSIK]", ["__NAME__", "[FIRST_NAME]"]),
    ("Name|Preis || Menge", ["|", "||"]),
    ("Ort: ______ Name:__ Seite....... 3 -----", ["______", "__", ".......", "-----"]),
    ("Am #Meer mit @anna", ["#Meer", "@anna"]),
    ("<!-- a > b --> Text <a href='x'>y</a>", ["<!-- a > b -->", "<a href='x'>", "</a>"]),
    ('Ein<b title="<i>x</i> > y">Wort</b>', ['<b title="<i>x</i> > y">', "</b>"]),
    ("Ein <b title=Hund's>Wort</b>", ["<b title=Hund's>", "</b>"]),
    (f'Ein <img src="data:a/b;base64,{LONG}"> hier', [f'<img src="data:a/b;base64,{LONG}">']),
    (f"Ein data:image/png;base64,{LONG}== hier", [f"data:image/png;base64,{LONG}=="]),
    (f"Siehe https://x.de/{LONG}, dann", [f"https://x.de/{LONG}"]),
    ("In s3://a/der/hund und git+ssh://git@x.de/y.", ["s3://a/der/hund", "git+ssh://git@x.de/y"]),
    ("An 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa, bitte", ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"]),
    ("Der <0>Hund</0> und <1/>", ["<0>", "</0>", "<1/>"]),
    ("%n und %L1 am %Y-%m-%d in %HOME%", ["%n", "%L1", "%Y", "%m", "%d", "%HOME%"]),
    ("%{name} #{name} {{{x}}} {:?} {a=b} {/if}", ["%{name}", "#{name}", "{{{x}}}", "{:?}", "{a=b}", "{/if}"]),
    ("Mit dGhpcyBpcyBhIDY0/GNoYXJh+Y3Rlcg== öffnen", ["dGhpcyBpcyBhIDY0/GNoYXJh+Y3Rlcg=="]),
    *(
        (f"Der {template} ist da", [template])
        for words in ("Hund", WORDS_OF_PROSE)
        for template in (
            f'{{{{< bild titel="{words}" >}}}}',
            f'{{{{Verweis("{words}", {{a: {{b: 1}}}})}}}}',
            f"{{% bild '{words}' %}}",
            f'<%= link_to "{words}", path(a: 5) if x > 3 %>',
            f'<?php echo $kunde->name("{words}"); ?>',
            f"${{x {{{words}}}}}",
            f'[quote="{words}"]',
        )
    ),
    *(
        (f"Hallo {field}, schön.", [field])
        for field in ("[[Vorname]]", "<<Nach Name>>", "&lt;&lt;Ort&gt;&gt;", "«Anrede»", "«kunden_Nr»", "@@Name@@")
    ),
    ("Es sind ##Anzahl## von %%x%% in *|ORT|*.", ["##Anzahl##", "%%x%%", "*|ORT|*"]),
    ("Am #Tag# für $Name$ und $$Betrag$$", ["#Tag#", "$Name$", "$$Betrag$$"]),
    (
        "[poll type=regular öffentlich] [poll type=regular public='a b'] [*] x [/list]",
        ["[poll type=regular public='a b']", "[*]", "[/list]"],
    ),
    (
        'Am <a class="x">#<span>katzen</span></a>-Tag mit @<b>koch</b>',
        ['<a class="x">', "#<span>katzen</span>", "</a>", "@<b>koch</b>"],
    ),
    (
        'In <a href="y"><span class="a">https://www.</span><span>zeitung.de/lan</span><span>ger-titel</span></a>',
        [
            '<a href="y">',
            '<span class="a">https://www.</span><span>zeitung.de/lan</span><span>ger-titel</span>',
            "</a>",
        ],
    ),
    *((f"Gut {face} Bitte, danke! {face}", [face, face]) for face in FACES.split()),
    ("Gut ( ͡° ͜ʖ ͡°), so &lt;3 &gt;.&lt;", ["( ͡° ͜ʖ ͡°)", "&lt;3", "&gt;.&lt;"]),
]
NOT_FOUND = [
    "a<b und c>d",
    "Wenn x<y oder y>z gilt",
    "Es sind 50 % der Leute, 50% davon.",
    "Er und/oder sie.",
    "100 km/h",
    "Bei +5 °C am 01.02.2024 um 08:30, 0,5 bis 0.75 und 2+3 4",
    "a & b; c",
    "5 $",
    "Ja -- nein",
    "Na ja.... __init a[x] [...] [1](x) {% a {# b %]",
    "[b](x) [/b](y) [kursiv] und [fett]",
    "Tom@Home ist kein Ort",
    "Er sagte: `Ich komme.' Dann ging er. `Gut', sagte sie.",
    "Um 5` kam er. Er war da. Um 6` ging er.",
    "Um 12:30 Uhr, 3/4 davon",
    "Ich gehe.Dann kommst du, z.B. am 3.5.2024 um 5.30 Uhr.",
    "COVID-19 und 20-jährige im G20-Gipfel der 1990er mit A380 und C#",
    "Bei −5 °C kostet es 5–7 € – oder „mehr“ …",
    "Es kostet 5 € oder $5, £5, ¥ 5 bei 30° und 50 %",
    "Facade, decade, deadbeef und effaced",
    "Nach Absatz 5a, Tel. +49 (0)221 / 123 45-67 oder 0221-123, 800.123.456, 1.234.567 und 5'7\".",
    "Gut; -) Bitte * nicht * öffnen! *Name 2*3 a*b _x 5 < 7 -> x == y { ein Satz } AN DEUTDEFF Ja [ ] Nein [x]",
    "Ich sehe François, 20 μ Gold und Москва.",
    "Ein %-Wert, 50 %-ige, 50%ige und 5 % Fett",
    "Er sagte «Ja», «Gute Nacht» und «Komm her!», (siehe 8) 1:3, a) =b, :x3, T-Shirt, 9-0",
    "Ein X-Bein [[Anm. der neuen Redaktion: x]]",
    "Leser·innen und jede·r, 5 $-10 $, ## Titel ##",
    "Ein 3D-Druckerhersteller, B2B-Vertriebsmitarbeiter und Weltmeisterschaftsfinale2006",
]


@pytest.mark.parametrize(("sentence", "originals"), FOUND)
def test_each_kind_is_found_completely(sentence, originals):
    assert list(protect(sentence).originals) == originals


@pytest.mark.parametrize(
    ("sentence", "originals"),
    [
        ("Tippe ``git `log` `` ein.", ["``git `log` ``"]),
        ("Mehrere `Promise`s und `x `oder` y`.", ["`Promise`", "`x `", "` y`"]),
        (f"Das ist `{LONG}`x \\`kein` Code.", [f"`{LONG}`", "\\`"]),
        ("Es gilt $x_1 = 5$ und $$y$$ für 5 $ und $6.", ["$x_1 = 5$", "$$y$$"]),
        ("Es gilt \\(x_1 = 5\\) und \\[y^2\\], \\(n\\).", ["\\(x_1 = 5\\)", "\\[y^2\\]", "\\(n\\)"]),
        ("Hund\\[1\\], Text \\(siehe dort\\)", ["\\[1\\]", "\\(", "\\)"]),
        (
            "Siehe \\ref{a:b}, \\cite[S. 5]{x} und \\@ref(a).\\newpage",
            ["\\ref{a:b}", "\\cite[S. 5]{x}", "\\@", "\\newpage"],
        ),
        ("Ein $$ x = y $$ da und\\oder \\textbf{sehr viel Text in Fett}", ["$$ x = y $$", "\\textbf"]),
        ("Siehe [Mein Link][] und [dies](a_(b).html 'x').", ["[Mein Link][]", "[", "](a_(b).html 'x')"]),
        (f"Ein ![Bild](data:a/b;base64,{LONG}) hier", [f"![Bild](data:a/b;base64,{LONG})"]),
        ("Das ist __fett__ und __NAME__.", ["__", "__", "__NAME__"]),
        ('_"Ja."_ **_Gut!_** und (_so._)', ["_", "_", "**", "_", "_", "**", "_", "_"]),
        ("_[Hier](x)_ ist __(es)__, _siehe [da](y)._", ["_", "[", "](x)", "_", "__", "__", "_", "[", "](y)", "_"]),
        ('_`.txt`_ oder _"/"_, _""_ und _[Titel][]_', ["_", "`.txt`", *"______", "[Titel][]", "_"]),
        ('_(siehe a_b)_, _("Text")_', ["_"] * 4),
        ('Mit "_", \'_\', (_), x[_], /_/ und f(_, "_b")', ["_"]),
        ('Mit _("Text") und _(x), lodash _(y).map(), _._', []),
        (
            "Um 8:30 ![Bild](x){width=9% a='b'} :smile: {: .x y='z'} a:b:c",
            ["![Bild](x){width=9% a='b'}", ":smile:", "{: .x y='z'}"],
        ),
        ("Siehe [https://x.de](https://x.de).", ["[", "https://x.de", "](https://x.de)"]),
        ("Siehe [https://x.de/a/][1], [x.de/a][b c].", ["[", "https://x.de/a/", "][1]", "[", "x.de/a", "][b c]"]),
        ("Auf ![](a.png){width=1} und [](#ziel) oder [](){ #b }.", ["![](a.png){width=1}", "[](#ziel)", "[](){ #b }"]),
        ("Auf [![](x)](y), ![][z]; [](#a)Wort.", ["[", "![](x)", "](y)", "![][z]", "[", "](#a)"]),
        (
            "Ein {++a++} {==b==} {~~c~>d~~} {--e--} {>>f<<} {++ g",
            ["{++", "++}", "{==", "==}", "{~~c~>", "~~}", "{--e--}", "{>>f<<}"],
        ),
        ("Ein [Haus]{#a}, [ja]{x} und []{#b .anchor}.", ["[", "]{#a}", "{x}", "[]{#b .anchor}"]),
        ("Ein [![Bild](x)](y) und [Hund [1]](z)", ["[", "![Bild](x)", "](y)", "[", "[1]", "](z)"]),
    ],
)
def test_markdown_has_additional_placeholders(sentence, originals):
    assert list(protect(sentence, MARKDOWN).originals) == originals


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[[Seite#Teil|der Text]]", ["der Text"]),
        ("[[Seite|ein Text mit sehr vielen Worten]]", ["ein Text mit sehr vielen Worten"]),
        ("![[bild.png|200]]", []),
        ("[[Andere Seite]]", []),
    ],
)
def test_the_text_of_a_link_of_a_wiki_is_translated_and_its_target_is_not(link: str, shown: list[str]) -> None:
    text = f"Siehe {link} dazu"
    assert [text[slice(*span)] for span in placeholder_spans(text, MARKDOWN)] == [link]
    assert [link[slice(*span)] for span in branches(link)] == shown
    assert messages(text, MARKDOWN) == ([link] if shown else [])
    assert with_branches(link, [word.upper() for word in shown]) == link.replace("".join(shown), "".join(shown).upper())


@pytest.mark.parametrize("note", ["Eine Notiz.", "Siehe [das *Haus*](a.md) und `x`. Und [2]."])
def test_the_text_of_a_note_or_remark_in_its_sentence_is_translated(note: str) -> None:
    for code, changed in ((f"^[{note}]", f"^[{note.upper()}]"), (f"{{>>{note}<<}}", f"{{>>{note.upper()}<<}}")):
        assert messages(f"Das Haus{code} ist rot", MARKDOWN) == [code]
        assert with_branches(code, [note.upper()]) == changed
    assert messages("x^[a](b) und 2^[n", MARKDOWN) == []


def test_the_title_of_a_picture_without_text_is_translated() -> None:
    picture = '![](a.png "Ein Haus")'
    assert messages(f"Hier {picture} und", MARKDOWN) == [picture]
    assert [picture[start:stop] for start, stop in branches(picture)] == ["Ein Haus"]
    assert with_branches(picture, ['Ein "X"']) == '![](a.png "Ein \\"X\\"")'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mit ++ctrl+alt+del++ oder ++f5++ neu", ["++ctrl+alt+del++", "++f5++"]),
        ('Mit ++"Eigene Taste"+arrow-up++ neu', ['++"Eigene Taste"+arrow-up++']),
        ("Das ++ist++ C++ und c+++d++", []),
        (":a-b:{ .lg .middle } Haus", [":a-b:", "{ .lg .middle }"]),
    ],
)
def test_keys_and_attributes_of_mkdocs_stay(text: str, expected: list[str]) -> None:
    assert [text[slice(*span)] for span in placeholder_spans(text, MARKDOWN)] == expected


def test_keys_of_citations_and_references_are_whole_in_markdown() -> None:
    text = "Wie @miller:2020, @fig-haus-1, @sec:ein.leitung. Und @{ein key} zeigt, an max@example.com; @Anna."
    found = [text[slice(*span)] for span in placeholder_spans(text, MARKDOWN)]
    keys = ["@miller:2020", "@fig-haus-1", "@sec:ein.leitung", "@{ein key}", "max@example.com", "@Anna"]
    assert found == keys


@pytest.mark.parametrize(
    "pattern", [PLACEHOLDER, tagged(), markdown(), mdx()], ids=["text", "document", "Markdown", "MDX"]
)
@given(
    st.lists(st.sampled_from([*"*_~=:$`[](){}<>@#%/\\.-|!^+ \n", "a", "B", "ok", "1", "ü", "www", "BIC"]), max_size=12)
)
@example([":", "ok", ":"])
@example(["=", "=", "a", "=", "="])
def test_text_that_is_not_searched_has_no_placeholder(pattern: re.Pattern[str], parts: list[str]) -> None:
    text = "".join(parts)
    assert may_match(text, pattern) or not pattern.search(text)
    assert not may_match("Das Haus, sagte er, ist alt: so alt wie der Baum.", pattern)


@pytest.mark.parametrize("sign", ["*", r"\*", r"\_"])
@pytest.mark.parametrize("text", ["Leser{}innen und jede{}r Student{}in", "Ein{}e, der{}die, er{}sie, BÜRGER{}INNEN"])
def test_the_sign_of_a_form_for_all_genders_is_no_emphasis(sign: str, text: str) -> None:
    form = text.replace("{}", sign)
    assert protect(form, MARKDOWN).originals == ()
    assert protect(f"**{form}**", MARKDOWN).originals == ("**", "**")


@pytest.mark.parametrize("text", ["*gute*r Hund", "ein *Leser*innen", "**gute**r", "*jede*n Tag", "a*b*c"])
def test_emphasis_within_a_word_is_markup(text: str) -> None:
    assert len(protect(text, MARKDOWN).originals) == 2


@pytest.mark.parametrize("code", ["[-@sec-a]", "[@a; -@b]", "[@a, S. 5; @b, Kap. 2-4]", "[@doi:10.1/x-y]"])
def test_a_citation_of_pandoc_is_one_placeholder(code: str) -> None:
    """A bracket of it was lost."""
    assert protect(f"Siehe {code} hier.", MARKDOWN).originals == (code,)
    assert protect("Das [@anna sagt es] so.", MARKDOWN).originals == ("@anna",)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("{term}`Haus`", ["Haus"]),
        ("{term}`das Haus <Haus>`", ["das Haus", "Haus"]),
        ("{ref}`dem Anhang <sec-a>`", ["dem Anhang"]),
        ("{py:func}`der Funktion <f>`", ["der Funktion"]),
        ("{ref}`sec-a`", []),
        ("{math}`a < b`", []),
    ],
)
def test_the_texts_of_a_role_of_myst_are_translated_and_its_target_stays(role: str, expected: list[str]) -> None:
    """The name of a term changes in references as in the glossary."""
    assert [role[start:stop] for start, stop in branches(role)] == expected
    assert messages(f"Siehe {role} hier", markdown()) == ([role] if expected else [])


def test_the_branches_of_a_message_are_its_texts() -> None:
    assert [MESSAGE[start:stop] for start, stop in branches(MESSAGE)] == [
        "{n, plural, =0 {nichts} one {{b} hat # Hund} other {{b}}}",
        "{b} {c}",
    ]
    assert branches("{name}") == branches("x") == []
    assert messages(f"Ein {{name}} {MESSAGE} und {MESSAGE}") == [MESSAGE]
    assert with_branches("{a, select, x {ja} other {}}", ["b", "c"]) == "{a, select, x {b} other {c}}"


@pytest.mark.parametrize("gap", ["\n", "\r\n  ", "   "])
def test_a_message_may_have_several_lines(gap: str) -> None:
    """As programmers write them; such a message was a code without texts."""
    message = gap.join(("{", "n", ", plural", ",", "one {ein Hund}", "other {{s, select,", "a {zwei}}}", "}"))
    assert [message[start:stop] for start, stop in branches(message)] == ["ein Hund", f"{{s, select,{gap}a {{zwei}}}}"]
    assert messages(f"Es ist {message} hier") == [message]


@pytest.mark.parametrize(
    ("code", "forms"),
    [
        ("{{PLURAL:$1|Ein Haus|$1 Häuser|0=kein Haus}}", ["Ein Haus", "$1 Häuser", "kein Haus"]),
        ("{{GENDER:$2| er | sie }}", ["er", "sie"]),
        ("{{PLURAL:$1}}", []),
        ("{{int:haus|hof}}", []),
    ],
)
def test_the_forms_of_a_wiki_are_texts(code: str, forms: list[str]) -> None:
    """Of MediaWiki, as translatewiki has them; the model lost the links beside them, too."""
    text = f"Da sind {code} von [[User:$1|$1]] und [[$2]]"
    assert [code[start:stop] for start, stop in branches(code)] == forms
    assert messages(text) == ([code] if forms else [])
    assert protect(text, tagged()).originals == (code, "[[User:$1|$1]]", "[[$2]]")
    assert with_branches(code, forms) == code


def test_a_variable_in_the_forms_of_a_wiki_is_no_amount() -> None:
    code = "{{PLURAL:$3|$3 file|$3 files of $1}}"
    texts = [branch_text(code, *span) for span in branches(code)]
    assert [protect(text).originals for text in texts] == [("${3}",), ("${3}", "${1}")]
    assert with_branches(code, [text.upper() for text in texts]) == "{{PLURAL:$3|$3 FILE|$3 FILES OF $1}}"


def test_spaces_in_the_forms_of_a_wiki_take_linear_time() -> None:
    assert grows_linearly(lambda n: branches("{{PLURAL:$1|a" + " " * n + "b}}"), 2**11, 2**13)


@pytest.mark.parametrize(
    ("choice", "forms"),
    [
        ("{0,choice,0#nichts|1#ein Haus|1<{0} Häuser}", ["nichts", "ein Haus", "{0} Häuser"]),
        ("{n, choice, -1.5#wenig|\u221e\u2264{0,choice,0#a|1#b} viel}", ["wenig", "{0,choice,0#a|1#b} viel"]),
        *((choice, []) for choice in ("{0,choice,0#nichts|viel}", "{0,choice,0#''n Haus|1#Häuser}", "{0,choice,}")),
    ],
)
def test_the_forms_of_a_choice_are_texts(choice: str, forms: list[str]) -> None:
    """They were copied, as the whole choice was a code; an apostrophe may quote what looks like a sign."""
    assert [choice[start:stop] for start, stop in branches(choice)] == forms
    assert messages(f"Es ist {choice} hier") == ([choice] if forms else [])
    if forms:
        assert with_branches(choice, forms) == choice
        others = [f"it's {form}" for form in forms]
        written = with_branches(choice, others)
        assert [written[a:b] for a, b in branches(written)] == [text.replace("'", "\u2019") for text in others]


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("{0} Keine|{1} Eins|[2,*] Viele", ["Keine", "Eins", "Viele"]),
        ("Bilder (*.png)|*.png; *.jpg|Alle Dateien|*.*", ["Bilder (*.png)", "Alle Dateien"]),  # kinds of files in .NET
        ("Bilder (*.png *.jpg);;Alle Dateien (*)", ["Bilder", "Alle Dateien"]),  # and of Qt
        ("Bau (M.md *.bau);; Text (*.[ch], *.t?t)", ["Bau", "Text"]),
        ("{0} Keine Äpfel | {1} Ein Apfel| ]1,Inf[ %count% Äpfel", ["Keine Äpfel", "Ein Apfel", "%count% Äpfel"]),
        ("Ein Apfel|{{ count }} Äpfel", ["Ein Apfel", "{{ count }} Äpfel"]),
        ("<b>Ein Apfel</b>|viele <i>Äpfel</i>, <g2/>", ["<b>Ein Apfel</b>", "viele <i>Äpfel</i>, <g2/>"]),
        *((text, []) for text in ("Haus | Hof", "P(A|B)", "Haus|", "|Haus", "Haus||Hof")),
        *((text, []) for text in ("<g1>Haus|Hof</g1>", "Ein Haus", "Haus|Hof\nGarten|Feld")),
    ],
)
def test_the_forms_of_a_plural_between_bars_are_texts(text: str, forms: list[str]) -> None:
    """The model lost the bars, or a form: "{0} No|{1} some|[2,*]"."""
    assert messages(text, tagged()) == ([text] if forms else [])
    if forms:
        assert [text[start:stop] for start, stop in branches(text)] == forms
        assert with_branches(text, forms) == text
        assert with_branches(text, ["x"] * len(forms)).count("x") == len(forms)


@pytest.mark.parametrize(
    "code",
    [
        "`Haus|Hof`",
        "https://a.de/haus|hof",
        "$Haus|Hof$",
        '<a href="Haus|Hof">',
        "{{ haus|hof }}",
    ],
)
def test_code_with_bars_has_no_forms_of_a_plural(code: str) -> None:
    assert messages(f"Ein {code} hier", markdown()) == []


@pytest.mark.parametrize(
    ("code", "inside", "said", "written"),
    [
        ('<img src="a" alt="Ein Hund">', ["Ein Hund"], ["x"], '<img src="a" alt="x">'),
        (
            "<a title='Ja &amp; \"nein\"' href=b>",
            ['Ja &amp; "nein"'],
            ['it\'s "x"'],
            "<a title='it&#39;s \"x\"' href=b>",
        ),
        ('<INPUT Type="Submit" VALUE="Los">', ["Los"], ['"x"'], '<INPUT Type="Submit" VALUE="&quot;x&quot;">'),
        ('<b title="a > b" aria-label = "c">', ["a > b", "c"], ["x", "y"], '<b title="x" aria-label = "y">'),
        ('](a.png "Ein \\"Hund\\"")', ['Ein \\"Hund\\"'], ['\\"x\\" "y"'], '](a.png "\\"x\\" \\"y\\"")'),
        ("](<a b> 'Ein Hund')", ["Ein Hund"], ["it's"], "](<a b> 'it\\'s')"),
        (
            """![Hund](a){#fig-a fig-alt="Ein Hund" width='3'}""",
            ["Hund", "Ein Hund"],
            ["dog", 'a "dog"'],
            """![dog](a){#fig-a fig-alt="a \\"dog\\"" width='3'}""",
        ),
        ("![Ein [Hund]](a 'Rex')", ["Ein [Hund]", "Rex"], ["a [dog]", "it's"], "![a [dog]](a 'it\\'s')"),
        ("![Hund][a b]{.x}", ["Hund"], ["dog"], "![dog][a b]{.x}"),
        *((code, [], [], code) for code in ("![](a.png)", "![5](a)")),
        ('![]({{ "a b" | c }} "Hund")', ["Hund"], ["dog"], '![]({{ "a b" | c }} "dog")'),
        ('](a "Hund"){ .x a="b" }', ["Hund"], ["dog"], '](a "dog"){ .x a="b" }'),
        ('<A title={"Ein Hund"} x={y}>', ["Ein Hund"], ['"x"'], '<A title={"\\"x\\""} x={y}>'),
        ('<Frame caption="Ein Hund">', ["Ein Hund"], ["A dog"], '<Frame caption="A dog">'),
        ("<A label={ 'it\\'s' }>", ["it\\'s"], ["it's"], "<A label={ 'it\\'s' }>"),
        (
            '{{< figure src="a.png" caption="Ein Hund" >}}',
            ["Ein Hund"],
            ['"x"'],
            '{{< figure src="a.png" caption="\\"x\\"" >}}',
        ),
        (
            "{% include a.html title='Ein Hund' id='x' %}",
            ["Ein Hund"],
            ["it's"],
            "{% include a.html title='it&#39;s' id='x' %}",
        ),
        (
            '{{< figure `alt="a"` aria-label="Ein \\"Hund\\"" >}}',
            ['Ein \\"Hund\\"'],
            ['a "x"'],
            '{{< figure `alt="a"` aria-label="a \\"x\\"" >}}',
        ),
        (
            '{% include a.html title="Ein \\"Hund\\"" %}',
            ['Ein \\"Hund\\"'],
            ['\\"x\\" "y"'],
            '{% include a.html title="\\"x\\" &quot;y&quot;" %}',
        ),
        *((code, [], [], code) for code in ("<A title={x}>", '<A title={"a" + b}>', '{% set title = "Hund" %}')),
        *((code, [], [], code) for code in ('<b class="Hund">', '<i alt="5">', "</b>", "](a.png)", "](a (b))")),
        *(
            (f'<b title="Hund" {attribute}>', [], [], f'<b title="Hund" {attribute}>')
            for attribute in ("translate=no",)
        ),
    ],
)
def test_attributes_and_titles_are_texts_in_placeholders(
    code: str, inside: list[str], said: list[str], written: str
) -> None:
    assert [code[start:stop] for start, stop in branches(code)] == inside
    assert with_branches(code, said) == written
    assert with_branches(code, inside) == code
    assert with_branches(code, [branch_text(code, *span) for span in branches(code)]) == code
    assert messages(f"Das ist {code} hier", markdown()) == ([code] if inside else [])


@pytest.mark.parametrize("code", ["<A title={'it\\'s'}>", "](a 'it\\'s')", '{{< a title="it\\"s" >}}'])
def test_texts_in_placeholders_are_read_without_the_marks_of_quotation_marks(code: str) -> None:
    (span,) = branches(code)
    assert branch_text(code, *span) in ("it's", 'it"s')


def test_the_frame_of_a_sentence_may_be_a_link_around_a_picture() -> None:
    before, inner, after = unframed(protect("[![Das Haus](x) Ein Hund](y)", MARKDOWN))
    assert (before, inner.originals, after) == ("[", ("![Das Haus](x)",), "](y)")
    assert unframed(protect("<0>Das Haus</0>"))[1].text == "Das Haus"


@pytest.mark.parametrize("picture", ['<img src="a.png" alt="Ein Bild">', "![Bild](a.png)"])
def test_a_picture_beside_a_word_is_no_part_of_the_sentence(picture: str) -> None:
    """A model reads the symbol and the word as one; between spaces the picture may be a part of the sentence."""
    before, inner, after = unframed(protect(f"{picture}Das {picture} Haus.{picture}", MARKDOWN))
    assert (before, inner.originals, after) == (picture, (picture,), picture)
    assert unframed(protect(f"{picture} Das Haus {picture}", MARKDOWN))[1].originals == (picture, picture)


def test_entities_of_letters_are_letters():
    assert protect("M&auml;dchen &amp; Stra&szlig;e&nbsp;5 &#228; &lt;").originals == ("&amp;", "&lt;")
    assert readable("M&auml;dchen &amp; Stra&szlig;e&nbsp;5 &#228; &bdquo;so&ldquo;") == "Mädchen &amp; Straße 5 ä „so“"
    assert readable("Auf&zwnj;lage") == "Auflage"


@pytest.mark.parametrize("letter", "'’äßÀÿŁřŽȘ„“–…")
@pytest.mark.parametrize("form", ["&#{:d};", "&#{:04d};", "&#x{:x};", "&#X{:04X};"])
def test_numeric_entities_of_letters_and_apostrophes_are_letters(letter, form):
    entity = form.format(ord(letter))
    assert protect(f"sch{entity}n").originals == ()
    assert readable(f"sch{entity}n") == f"sch{letter}n"


@pytest.mark.parametrize(
    ("sentence", "originals"),
    [
        ("Das <00:06.000>Auto", ("<00:06.000>",)),
        ("Hallo {first name}, {user name} hat {code}", ("{first name}", "{user name}", "{code}")),
        ("{count, plural, one {# file} other {# files}} da", ("{count, plural, one {# file} other {# files}}",)),
        (f"{MESSAGE} da", (MESSAGE,)),
        ("%d%% fertig, %@ und %1$@", ("%d", "%%", "%@", "%1$@")),
        (r"Zeile\nNoch eine\tSpalte", (r"\n", r"\t")),
        ("{bitte lesen Sie das alles} und {}", ("{}",)),
        (r"C:\neu folgt", (r"C:\neu",)),
    ],
)
def test_variables_times_and_codes_are_placeholders(sentence, originals):
    assert protect(sentence).originals == originals


@pytest.mark.parametrize("sentence", NOT_FOUND)
def test_ordinary_prose_has_no_placeholders(sentence):
    assert protect(sentence).originals == ()


EVERY_KIND = re.compile("|".join(KINDS.values()), re.DOTALL)


@given(
    st.sampled_from(["", "a", "ä", "x_", "7", " ", "×", "Wort "]),
    st.one_of(st.from_regex(re.compile(kind, re.DOTALL), fullmatch=True) for kind in KINDS.values()) | HARD,
)
@example("", "www.x")
@example("km", "²")
@example("a", "×")
@example("_", "xm²")
def test_no_placeholder_is_overlooked(before, sentence):
    sentence = before + sentence
    assert list(protect(sentence).originals) == [match[0] for match in EVERY_KIND.finditer(sentence)]


@given(st.text(max_size=40) | HARD)
@example("⟦1⟧⟦01⟧⟦100⟧")
def test_protected_text_is_restored(sentence):
    protected = protect(sentence)
    assert restore(protected.text, protected.originals) == sentence


@given(HARD, st.randoms())
def test_symbols_may_move_but_none_may_be_lost_doubled_or_made_up(sentence, rng: random.Random):
    originals = protect(sentence + " {a} %s").originals
    symbols = [symbol(i) for i in range(len(originals))]
    moved = rng.sample(symbols, len(symbols))
    restored = restore(" ".join(moved), originals)
    assert restored is not None
    assert sorted(restored) == sorted(" ".join(originals))
    assert restore(" ".join(moved[1:]), originals) is None
    assert restore(" ".join([*moved, moved[0]]), originals) is None
    assert restore(" ".join([*moved, symbol(len(moved))]), originals) is None


@given(st.text(max_size=40) | HARD)
def test_text_between_placeholders_contains_none(sentence):
    pieces = between(sentence)
    assert "".join(piece.text for piece in pieces) == sentence
    fixed = "".join(piece.text for piece in pieces if not piece.translate)
    assert all(original in fixed for original in protect(sentence).originals)


def test_symbols_hold_no_spaces():
    assert not any(re.search(r"\s", symbol(i)) for i in range(99))


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "<", "<a", "`", "``", "{", "%", "&a", "a@", "a.", "/", "/a", "$", "$a", "-", "⟦", "http://", "<!--"),
        *(
            "A1",
            "1.",
            "1.1-",
            "a1-",
            "#",
            "#a",
            "@a",
            "(",
            "www.(",
            "😀",
            "\u200d",
            "1\ufe0f",
            "m²",
            "§",
            "é",
            "ř",
            "*",
            '<a "',
            "<a \"'",
            "<a '\"<b",
            "](",
            "](a",
            "](()",
            "http://.",
            "aA1",
            "aaaaaaaaaa1Aaaaaaaaaaaaaaaaaaa.",
            "data:a/b;base64,",
            "α",
            "α ",
            "{a,plural,",
            "{a,plural,{}",
            "{a,plural,\n",
            "{ \n",
            "{a,choice,",
            "{{PLURAL:|",
            "[[a|",
            "{a,choice,0#a|",
            "{a,choice,0#{",
            "[a]",
            "[![",
            ":a",
            "%a",
            "&#",
            "`a ``b ```c ",
            "{% a {#",
            "[a=",
            "[a b=",
            "[a b=c ",
            "{{a{",
            "{{ a {b",
            "${a{",
            "<% a",
            "<?",
            "[[a ",
            "<<a",
            "«Aa ",
            "@@a",
            "##a-",
            "*|a",
            "#<b>",
            "<span>https://x</span>",
            "<ruby>a<rt>",
            "[a]{.b ",
            "^[a",
            "{++a",
            "{~~a~>",
            "{--",
            "+++=a",
            "+++a",
            " :-",
            " >.",
            " (ツ",
            "ʔ(",
            "a*innen",
            "*a*in",
        ),
    ],
)
def test_long_texts_of_any_kind_take_linear_time(unit):
    def work(size: int) -> None:
        text = unit * (size // len(unit))
        protect(text, MARKDOWN)
        protected = protect(text)
        assert unframed(protected)[1].text in protected.text
        assert restore(protected.text, protected.originals) == text or len(protected.originals) > 99

    assert grows_linearly(work, 2**11, 2**13, most=1.6)  # the longest bound of a repetition takes 1.3


PARTS = ["<i>", "</i>", "<b>", "</b>", "<br/>", "**", "*", "[", "](u)", "x", "y z", " ", "😀", "♪ ", "⟦1⟧", "--", "#ab"]


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join), st.sampled_from([PLACEHOLDER, MARKDOWN]))
def test_the_frame_and_the_inner_text_make_up_the_sentence(sentence, pattern):
    before, inner, after = unframed(protect(sentence, pattern))
    restored = restore(inner.text, inner.originals)
    assert restored is not None
    assert before + restored + after == sentence


@pytest.mark.parametrize(
    ("sentence", "before", "inner", "after"),
    [
        ("<i>Guten Tag!</i>", "<i>", "Guten Tag!", "</i>"),
        ('<a href="x"><b>Tag</b> und <i>Nacht</i></a>', '<a href="x">', "⟦1⟧Tag⟦2⟧ und ⟦3⟧Nacht⟦4⟧", "</a>"),
        ("<b>Tag</b> und <b>Nacht</b>", "", "⟦1⟧Tag⟦2⟧ und ⟦3⟧Nacht⟦4⟧", ""),
        ("😀 Danke, {x}! 👍🏽 🎉", "😀 ", "Danke, ⟦1⟧!", " 👍🏽 🎉"),
        ("** Wichtig **", "** ", "Wichtig", " **"),
        ("[b][url=x]Tag[/url] und Nacht[/b]", "[b]", "⟦1⟧Tag⟦2⟧ und Nacht", "[/b]"),
        ("- Anfang des Texts --", "", "- Anfang des Texts --", ""),
        ("Milch | Brot |", "", "Milch ⟦1⟧ Brot", " |"),
        ("____ kommt", "", "⟦1⟧ kommt", ""),
        ("<i id=x></i> <b>Start</b><b>&nbsp;</b>", "<i id=x></i> <b>", "Start", "</b><b>&nbsp;</b>"),
        ("{x} kommt", "", "⟦1⟧ kommt", ""),
        ("{\\an8}{\\pos(1,2)}- Guten Tag!", "{\\an8}{\\pos(1,2)}", "- Guten Tag!", ""),
        ("{\\i1}Guten{\\i0} Tag!{\\r}", "", "⟦1⟧Guten⟦2⟧ Tag!", "{\\r}"),
        ("Schöner Tag #sonne #meer", "", "Schöner Tag", " #sonne #meer"),
    ],
)
def test_marks_around_a_sentence_are_not_part_of_it(sentence, before, inner, after):
    found = unframed(protect(sentence))
    assert (found[0], found[1].text, found[2]) == (before, inner, after)


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Du **darfst nicht** gehen", "You must not ⟦1⟧⟦2⟧ go", True),
        ("Du *darfst nicht* gehen", "You ⟦1⟧must not⟦2⟧ go", False),
        ("Das <b>Haus</b> <b></b>", "The house ⟦1⟧ ⟦2⟧ ⟦3⟧", True),
        ("{a} und {b}", "⟦1⟧ ⟦2⟧", False),
        ("**Ich** habe **gewonnen**.", "⟦1⟧I⟦2⟧ ⟦3⟧won⟦4⟧.", False),
        ("**Ich** habe **gewonnen**.", "I ⟦1⟧⟦2⟧ ⟦3⟧won⟦4⟧.", True),
        ("Ein <b></b> Wort", "A ⟦1⟧⟦2⟧ word", False),
    ],
)
def test_marks_that_lost_their_words_are_noticed(source: str, translation: str, expected: bool) -> None:
    assert is_emptied(translation, protect(source)) is expected


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Das ist *sehr gut*.", "That is ⟦1⟧ very good ⟦2⟧.", "That is ⟦1⟧very good⟦2⟧."),
        ("*Das* ist **gut**.", "⟦3⟧ Good ⟦4⟧ is ⟦1⟧ that ⟦2⟧.", "⟦3⟧Good⟦4⟧ is ⟦1⟧that⟦2⟧."),
        ("Siehe <b>hier</b> nach.", "See ⟦1⟧ here ⟦2⟧.", "See ⟦1⟧here⟦2⟧."),
        (
            "Das **Haus**, das **alt** ist.",
            "The ⟦1⟧ house⟦2⟧ that is ⟦3⟧old ⟦4⟧.",
            "The ⟦1⟧house⟦2⟧ that is ⟦3⟧old⟦4⟧.",
        ),
        ("Siehe <b> hier</b> nach.", "See ⟦1⟧ here ⟦2⟧.", "See ⟦1⟧ here⟦2⟧."),
        ("Von %s bis {tag}!", "From ⟦1⟧ to ⟦2⟧ !", "From ⟦1⟧ to ⟦2⟧ !"),
    ],
)
def test_marks_around_words_touch_them_as_in_the_source(source: str, translation: str, expected: str) -> None:
    assert without_space_in_marks(translation, protect(source, MARKDOWN)) == expected


@given(HARD, st.randoms(use_true_random=False))
def test_closing_up_removes_white_space_alone(sentence: str, rng: random.Random) -> None:
    protected = protect(sentence, MARKDOWN)
    symbols = [symbol(i) for i in range(len(protected.originals))]
    rng.shuffle(symbols)
    translation = " a  b ".join(["", *symbols, ""])
    closed = without_space_in_marks(translation, protected)
    assert "".join(closed.split()) == "".join(translation.split())
    assert without_space_in_marks(closed, protected) == closed


def test_the_label_of_a_reference_is_a_mark_and_its_text_is_translated() -> None:
    before, inner, after = unframed(protect("[Der Hund][der Hund]", MARKDOWN))
    assert (before, inner.text, after) == ("[", "Der Hund", "][der Hund]")
    protected = protect("Ein [Hund][a] und [die Katze][b c].", MARKDOWN)
    assert protected.originals == ("[", "][a]", "[", "][b c]")
    assert without_space_in_marks("A ⟦1⟧ dog ⟦2⟧ and ⟦3⟧ the cat⟦4⟧.", protected) == "A ⟦1⟧dog⟦2⟧ and ⟦3⟧the cat⟦4⟧."
    assert is_emptied("A dog ⟦1⟧ ⟦2⟧ and ⟦3⟧the cat⟦4⟧.", protected)


@pytest.mark.parametrize(
    "sentence", ["**Das** Haus und **der** Hof", "[a](b) und [c](d)", "[a][b] und [c](d)", "*x* y", "x **y**", "~~"]
)
def test_unpaired_marks_stay_at_their_positions(sentence):
    assert unframed(protect(sentence, MARKDOWN))[1] == protect(sentence, MARKDOWN)


@pytest.mark.parametrize("name", ["Übungsblätter.pdf", "#größe", "{größe}", "@jürgen"])
def test_placeholders_may_have_decomposed_letters_and_stay_byte_for_byte(name: str) -> None:
    decomposed = unicodedata.normalize("NFD", f"Hallo {name} dört")
    protected = protect(decomposed)
    assert protected.text == unicodedata.normalize("NFD", "Hallo ⟦1⟧ dört")
    assert protected.originals == (unicodedata.normalize("NFD", name),)


@given(st.text("a\u0308\u0323e{}{ <b>1.%s\u1100\u1161", max_size=20))
def test_text_in_any_normal_form_is_restored(text: str) -> None:
    protected = protect(text)
    assert restore(protected.text, protected.originals) == text


def test_held_spans_continue_the_numbering_and_are_restored_at_any_position() -> None:
    text = f"Am 30.11.2024 zahlt {symbol(0)} an {symbol(1)} 1.234,56 € und 3 Taler."
    held = mask(text, [(text.index("30"), text.index(" zahlt")), (text.index("1.234"), text.index(" und 3"))])
    assert held.text == f"Am {symbol(2)} zahlt {symbol(0)} an {symbol(1)} {symbol(3)} und 3 Taler."
    said = f"{symbol(1)} {symbol(3)} {symbol(0)} {symbol(2)}"
    assert restore(said, held.originals) == f"{symbol(1)} 1.234,56 € {symbol(0)} 30.11.2024"
    for wrong in (said.replace(symbol(2), ""), said + symbol(2), said.replace(symbol(0), ""), said + symbol(4), ""):
        assert restore(wrong, held.originals) is None


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Il dit «Oui» et {name} à l'ami·e.", "fr", ["{name}"]),
        ("Il dit «Oui» et {name} à l'ami·e.", "fr-CH", ["{name}"]),
        ("Das Feld «Name» und {name}.", "de", ["«Name»", "{name}"]),
        ("今日は。東京(とうきょう)です ★", "ja", ["★"]),
        ("今日は。", "de", ["。"]),
    ],
)
def test_what_is_prose_in_a_language_is_no_placeholder(text: str, language: str, expected: list[str]) -> None:
    pattern = in_language(PLACEHOLDER, language)
    assert [text[start:stop] for start, stop in placeholder_spans(text, pattern)] == expected
    assert in_language(PLACEHOLDER, language) is pattern
