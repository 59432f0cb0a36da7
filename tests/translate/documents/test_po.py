"""PO: empty translations are filled, and everything else stays, as polib and msgfmt read it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.translators import marked, texts, translated, upper
from translate.documents.document import Reading, read
from translate.errors import UserError

HEADER = """# Header
msgid ""
msgstr ""
"Project-Id-Version: x 1\\n"
"PO-Revision-Date: 2026-01-01 10:00+0100\\n"
"Last-Translator: A <a@example.org>\\n"
"Language-Team: B <b@example.org>\\n"
"Language: \\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""


def po(body: str, header: str = HEADER) -> bytes:
    return (header + body).encode()


def strings(data: bytes) -> list[str]:
    """Return the strings of msgstr after the header, as they are written."""
    body = data.decode().split("\n\n", 1)[1]
    return re.findall(r'^msgstr(?:\[\d\])? ((?:".*"\n?)+)', body, re.MULTILINE)


LAYOUT = st.sampled_from(["one", "block", "several"])
TEXT = st.text(alphabet='ab %d\n\t"\\{}<>#[]\u00fc\u4e16', min_size=1, max_size=120)


def quoted(text: str, layout: str) -> str:
    escaped = [c.translate(str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t"})) for c in text]
    if layout == "one":
        return '"' + "".join(escaped) + '"'
    parts = ["".join(escaped[i : i + 7]) for i in range(0, len(escaped), 7)]
    return "\n".join(f'"{part}"' for part in ([""] if layout == "block" else []) + parts)


@st.composite
def catalogs(draw: st.DrawFn) -> bytes:
    parts = []
    for n in range(draw(st.integers(0, 5))):
        text, layout = draw(TEXT), draw(LAYOUT)
        done = draw(st.sampled_from(["", "", "fertig"]))
        lines = [
            draw(st.sampled_from(["", "# note\n", "#. hint\n", "#: a.c:1\n", '#~ msgid "old"\n#~ msgstr "alt"\n']))
        ]
        lines += [draw(st.sampled_from(["", "#, no-wrap\n", '#| msgid "a"\n'])), f'msgctxt "{n}"\n']
        lines += [f"msgid {quoted(text, layout)}\n", f'msgstr "{done}"\n', draw(st.sampled_from(["", "\n", "\n\n"]))]
        parts.append("".join(lines))
    data = po("".join(parts))
    return data.replace(b"\n", b"\r\n") if draw(st.booleans()) else data


@given(catalogs())
def test_only_empty_translations_change(data: bytes) -> None:
    polib = pytest.importorskip("polib")
    document = read(data, Reading(name="a.po", source="en", target="de", final=True))
    assert document.write([None] * len(document.units)) == data
    after = translated("a.po", data, marked, final=True)
    stays = re.compile(rb"(?m)^(?!msgstr|\"|#,).*$")
    assert stays.findall(after) == stays.findall(data)
    before, now = (polib.pofile(one.replace(b"\r\n", b"\n").decode()) for one in (data, after))
    for old, new in zip(before, now, strict=True):
        assert (old.msgid, old.msgctxt, old.obsolete, old.comment) == (
            new.msgid,
            new.msgctxt,
            new.obsolete,
            new.comment,
        )
        inner = old.msgid.strip("\n")
        if old.msgstr or not inner.strip() or old.obsolete:
            assert new.msgstr == old.msgstr
        else:
            assert new.msgstr == old.msgid.replace(inner, f"{inner}\u00b6")


def test_a_translation_that_is_its_source_is_written_as_it_is() -> None:
    body = 'msgid ""\n"One \\033[1m"\n"\\x1b two\\n"\nmsgstr ""\n'
    data = translated("a.po", po(body, HEADER.replace("Language: ", "Language: de")), final=True)
    source = body.removeprefix("msgid ").removesuffix('msgstr ""\n')
    assert data.decode().split("\n\n", 1)[1] == f"msgid {source}msgstr {source}"


@pytest.mark.parametrize(
    ("source", "said", "written"),
    [
        ('"Two files\\n"', "Zwei Dateien", '"Zwei Dateien\\n"\n'),
        ('"\\nTwo\\n\\n"', "Zwei", '"\\nZwei\\n\\n"\n'),
        ('"a\\nb"', "c\nd", '"c\\nd"\n'),
        ('"say \\"x\\""', 'sagen "x"', '"sagen \\"x\\""\n'),
        (
            '""\n"This is a sentence, which the program wrapped at the column where a line "\n"is full."',
            "Das ist ein Satz, den das Programm in der Spalte umbrochen hat, in der eine Zeile voll ist.",
            '""\n"Das ist ein Satz, den das Programm in der Spalte umbrochen hat, in der eine "\n"Zeile voll ist."\n',
        ),
    ],
)
def test_translations_are_written_like_their_sources(source: str, said: str, written: str) -> None:
    data = translated("a.po", po(f'msgid {source}\nmsgstr ""\n'), lambda text: said, final=True)
    assert strings(data) == [written]


@pytest.mark.parametrize(
    "source", ["translator-credits", "translator_credits", "NAME OF TRANSLATORS", "EMAIL OF TRANSLATORS"]
)
def test_what_stands_for_names_of_translators_stays_empty(source: str) -> None:
    data = f'msgid "{source}"\nmsgstr ""\n\nmsgid "{source} is a text"\nmsgstr ""\n'.encode()
    assert texts("a.po", data) == [f"{source} is a text"]


@pytest.mark.parametrize(
    ("flags", "body"),
    [("", "#, fuzzy\n"), ("#, c-format\n", "#, fuzzy, c-format\n"), ('#| msgid "x"\n', '#, fuzzy\n#| msgid "x"\n')],
)
def test_translations_of_machines_are_fuzzy_unless_final(flags: str, body: str) -> None:
    entry = 'msgid "One"\nmsgstr ""\n'
    assert body + 'msgid "One"' in translated("a.po", po(flags + entry), upper).decode()
    assert flags + 'msgid "One"' in translated("a.po", po(flags + entry), upper, final=True).decode()


def test_flags_of_an_obsolete_entry_are_its_own() -> None:
    obsolete = '#, c-format\n#~ msgid "%d"\n#~ msgstr "%d"\n\n'
    data = po(f'{obsolete}msgid "One"\nmsgstr ""\n')
    after = translated("a.po", data, lambda text: "5 % davon").decode()
    assert after.endswith(f'{obsolete}#, fuzzy\nmsgid "One"\nmsgstr "5 % davon"\n')


def test_translations_of_the_file_have_tags_like_their_sources() -> None:
    data = po('#, c-format\nmsgid "%*d of %s\\n"\nmsgstr "%s: %*d\\n"\n')
    (unit,) = read(data, Reading(name="a.po", source="en", target="de")).units
    assert (unit.text, unit.done) == ("<g1/> of %s", "%s: <g1/>")
    assert read(data, Reading(name="a.po", source="en", target="de", replace=True)).write([unit.done]) == data


def test_final_translations_replace_fuzzy_ones() -> None:
    data = po('#, fuzzy, c-format\nmsgid "One"\nmsgstr "Zwei"\n')
    assert translated("a.po", data, upper, final=True) == data
    assert (
        '#, c-format\nmsgid "One"\nmsgstr "ONE"' in translated("a.po", data, upper, final=True, replace=True).decode()
    )


@pytest.mark.parametrize(
    ("target", "n"), [("de", 2), ("xx", 2), ("de-AT", 2), ("ja", 1), ("pl", 3), ("sl", 4), ("ar", 6)]
)
def test_a_plural_has_the_forms_of_the_target(target: str, n: int) -> None:
    polib = pytest.importorskip("polib")
    data = po('#, c-format\nmsgid "one file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n')
    catalog = polib.pofile(translated("a.po", data, upper, target=target).decode())
    assert f"nplurals={n}" in catalog.metadata["Plural-Forms"]
    assert catalog.metadata["Language"] == target.replace("-", "_")
    forms = [text for _, text in sorted(catalog[0].msgstr_plural.items())][:n]
    assert len(forms) == n
    assert forms.count("ONE FILE") == (target not in ("ja", "sl"))  # in Slovenian, that form is for 101 too


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")
@pytest.mark.parametrize("target", ["de", "ja", "pl", "sl", "ar", "fr", "lv"])
def test_msgfmt_accepts_the_plurals_of_each_language(tmp_path: Path, target: str) -> None:
    """An entry without a translation has as many forms as the others."""
    one, other = (
        f'#, c-format\nmsgid "{code} a"\nmsgid_plural "{code} b"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
        for code in ("%d", "%s")
    )
    reports = list[str]()

    def lost(text: str) -> str:
        return text.replace("%s", "")

    after = translated("a.po", po(one + other), lost, target=target, final=True, reports=reports)
    assert reports
    (tmp_path / "a.po").write_bytes(after)
    command = ["msgfmt", "-c", "-o", tmp_path / "a.mo", tmp_path / "a.po"]
    assert subprocess.run(command, capture_output=True, text=True).returncode == 0


def test_the_plural_forms_of_the_header_count() -> None:
    header = HEADER + ""
    header = header.replace('"Language: \\n"', '"Language: de\\n"\n"Plural-Forms: nplurals=1; plural=0;\\n"')
    assert texts("a.po", po('msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n', header)) == ["b"]


@pytest.mark.parametrize(
    ("flag", "source", "said", "written"),
    [
        ("c", "%d of %s", "%s von", None),
        ("c", "%d %% of", "5 % davon %d %%", "5 %% davon %d %%"),
        ("c", "fifty percent of it", "50% davon", "50%% davon"),
        ("c", "%d parts", "100% %d % Teile", "100%% %d %% Teile"),
        ("c", "%5.2f%s", "%5.2f%s", "%5.2f%s"),
        ("python", "%(a)s b", "%(b)s b", None),
        ("python-brace", "{a} b", "b {a}", "b {a}"),
        ("python-brace", "{a} b", "b", None),
        ("qt", "%1 of %L2", "%L2 %1", "%L2 %1"),
        ("qt", "%1 of %L2", "%2 %1", None),
        ("java", "{0} is gone", "{0} isn't there", "{0} isn''t there"),
        ("java", "Don''t {0}", "It's {0}", "It''s {0}"),
        ("java", "Don't", "It's", "It's"),  # the program does not format it, or it would show "Dont"
    ],
)
def test_a_translation_with_other_codes_is_reported(flag: str, source: str, said: str, written: str | None) -> None:
    reports = list[str]()
    data = po(f'#, {flag}-format\nmsgid "{source}"\nmsgstr ""\n')
    after = translated("a.po", data, lambda text: said, final=True, reports=reports)
    assert len(reports) == (written is None)
    assert strings(after) == [f'"{written or ""}"\n']


def test_a_quotation_of_java_is_a_code() -> None:
    data = po("""#, java-format\nmsgid "It''s '{'0'}' or {1}"\nmsgstr ""\n""")
    assert texts("a.po", data) == ["It's <g1/>0<g2/> or {1}"]
    after = translated("a.po", data, lambda text: "{1} <g2/><g1/> isn't")
    assert strings(after) == ["\"{1} '}''{' isn''t\"\n"]


def test_variables_of_drupal_and_pascal_need_no_flag() -> None:
    data = po('msgid "%title of @site-name by !user: %0:s, %1:d. Not me@there.example, 5 % von, 9 %iger!"\nmsgstr ""\n')
    wanted = "%title OF @site-name BY !user: %0:s, %1:d. NOT me@there.example, 5 % VON, 9 %IGER!"
    assert strings(translated("a.po", data, upper)) == [f'"{wanted}"\n']
    data = po('msgid "Read %shere%s, or %d site"\nmsgstr ""\n')
    assert strings(translated("a.po", data, upper)) == ['"READ %sHERE%s, OR %d SITE"\n']
    data = po('#, object-pascal-format\nmsgid "is %1:d of"\nmsgstr ""\n')
    assert strings(translated("a.po", data, upper)) == ['"IS %1:d OF"\n']


@pytest.mark.parametrize("code", ["% d", "%*d", "%<PRIu64>", "%'d", "%dpx", "%2$s", "%.3s"])
def test_each_conversion_is_one_symbol(code: str) -> None:
    """The search has to see a placeholder or an object for the whole code."""
    from translate.text.placeholders import protect

    (text,) = texts("a.po", po(f'#, c-format\nmsgid "before {code} after"\nmsgstr ""\n'))
    assert re.fullmatch("before \u27e61\u27e7(?:px)? after", protect(text).text)
    assert (
        code.removesuffix("px")
        in translated("a.po", po(f'#, c-format\nmsgid "{code} a"\nmsgstr ""\n'), upper).decode().split("msgstr")[-1]
    )


@pytest.mark.parametrize(
    ("source", "text", "said", "written"),
    [
        ("&File", "File", "Datei", "&Datei"),
        ("E&xit", "Exit", "Ende", "&Ende"),
        ("Save _As", "Save As", "Speichern unter Angabe", "Speichern unter _Angabe"),
        ("&Edit %s", "Edit %s", "%s heben", "%s h&eben"),
        ("R&D", "R&D", "F&E", "F&E"),
        ("a &amp; b", "a &amp; b", "c &amp; d", "c &amp; d"),
        ("&a _b", "&a _b", "&c _d", "&c _d"),
        (r"the snake\\_case", r"the snake\_case", r"snake\_case, ja", r"snake\\_case, ja"),
    ],
)
def test_the_key_of_a_menu_is_a_letter_of_the_translation(source: str, text: str, said: str, written: str) -> None:
    data = po(f'#, c-format\nmsgid "{source}"\nmsgstr ""\n')
    assert texts("a.po", data) == [text]
    assert strings(translated("a.po", data, lambda text: said)) == [f'"{written}"\n']
    assert strings(translated("a.po", data)) == [f'"{source}"\n']


def test_the_target_of_a_link_of_a_wiki_stays() -> None:
    data, reports = po('msgid "See [[a b|the page]]"\nmsgstr ""\n'), list[str]()
    assert translated("a.po", data, lambda text: text.replace("a b", "c d"), reports=reports) == data
    assert "[[a b|" in reports[0]
    assert b"[[a b|die Seite]]" in translated("a.po", data, lambda text: text.replace("the page", "die Seite"))


def test_a_tilde_is_the_mark_of_a_key_if_the_header_says_so() -> None:
    message = 'msgid "Save ~ten"\nmsgstr ""\n'
    assert texts("a.po", po(message)) == ["Save ~ten"]
    data = po(message, HEADER.replace("MIME-Version: 1.0", "X-Accelerator-Marker: ~"))
    assert texts("a.po", data) == ["Save ten"]
    assert strings(translated("a.po", data, lambda text: "Es retten")) == ['"Es re~tten"\n']


def test_the_charset_of_the_header_holds_translations() -> None:
    header = HEADER.replace("UTF-8", "ISO-8859-1")
    data, reports = po('msgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n', header), list[str]()
    after = translated("a.po", data, lambda text: {"a": "\u00fc", "b": "\u201e"}[text], reports=reports)
    assert b'msgstr "\xfc"' in after
    assert "ISO-8859-1" in after.decode("latin-1")
    assert len(reports) == 1
    template = translated("a.pot", data.replace(b"ISO-8859-1", b"CHARSET"), lambda text: "\u201e")
    assert "charset=UTF-8" in template.decode()


def test_the_mark_of_the_byte_order_stays() -> None:
    data = b"\xef\xbb\xbf" + po('msgid "a"\nmsgstr ""\n')
    assert translated("a.po", data, upper).startswith(b"\xef\xbb\xbf# Header")


def test_a_file_without_header_gets_one() -> None:
    after = translated("a.po", b'msgid "a"\nmsgstr ""\n', lambda text: "\u00fc").decode()
    assert after.startswith('msgid ""\nmsgstr ""\n"Language: de\\n"')
    assert "charset=UTF-8" in after


def test_translations_into_another_language_are_refused() -> None:
    data = po('msgid "a"\nmsgstr "b"\n', HEADER.replace("Language: ", "Language: fr"))
    with pytest.raises(UserError, match="'fr', not 'de'"):
        translated("a.po", data)
    assert "Language: de" in translated("a.po", data, upper, replace=True).decode()


@pytest.mark.parametrize(
    "body",
    [
        'msgid "a\nmsgstr ""\n',
        'msgstr "a"\n',
        'msgid "a"\n',
        'msgid "a"\nmsgstr[1] ""\n',
        "x\n",
        'msgid "a"\nmsgid "b"\n',
    ],
)
def test_what_is_not_po_is_one_sentence(body: str) -> None:
    with pytest.raises(UserError, match=r"^a\.po, line \d+: [^\n]+$"):
        texts("a.po", po(body))


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")
@given(
    body=TEXT | st.just("a {0} b {1}"),
    flag=st.sampled_from(["", *(f"#, {name}-format\n" for name in ("c", "python", "python-brace", "java"))]),
)
def test_msgfmt_accepts_what_is_written(tmp_path_factory: pytest.TempPathFactory, body: str, flag: str) -> None:
    def is_valid(data: bytes) -> bool:
        file = tmp_path_factory.getbasetemp() / "a.po"
        file.write_bytes(data)
        return subprocess.run(["msgfmt", "-c", "-o", "/dev/null", file], capture_output=True).returncode == 0

    before = po(f'{flag}msgid {quoted(body, "one")}\nmsgstr ""\n')
    for translate in (upper, lambda text: text + " 5 % davon", lambda text: "100%", lambda text: f"It's {text}"):
        after = translated("a.po", before, translate, final=True, reports=[])
        assert is_valid(after) or not is_valid(before)
