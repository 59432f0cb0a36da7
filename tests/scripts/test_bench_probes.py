"""The probes read values as a person would, and run on any model of German and English."""

import gzip
import json
import lzma
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import harness
import pytest
from babel.numbers import format_decimal
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import CORPORA
from tests.programs import case, program
from tests.translate.conftest import SENTENCES, random_model
from transformer.config import SearchConfig
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import train
from translate.errors import UserError
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec
from translate.text.formality import TAGS
from translate.text.translation import Translation

bench = case("probes")
expressions = program("expressions")
ROWS = "\n|---|---|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 | 6 | 7 |"


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("en", "The train leaves at 8 p.m.", ["20:00"]),
        ("en", "at 12 am, at 12:30 PM", ["0:00", "12:30"]),
        ("en", "at 12 noon or midnight", ["12:00", "0:00"]),
        ("en", "at 20:15 or at 08:15 am", ["20:15", "8:15"]),
        ("en", "at 1.15.", ["1:15?"]),
        ("en", "at half past two, at a quarter to nine", ["2:30?", "8:45?"]),
        ("en", "ten past 8, eight thirty, 8 o'clock, at seven.", ["8:10?", "8:30?", "8:00?", "7:00?"]),
        ("en", "8 in the evening", ["20:00"]),
        ("en", "2-6 pm", ["14:00?", "18:00"]),
        ("en", "from 9 to 5 pm", ["9:00?", "17:00"]),
        ("en", "7 am–2 pm", ["7:00", "14:00"]),
        ("de", "um 8 Uhr, um 20.15 Uhr.", ["8:00", "20:15"]),
        ("de", "um 8 Uhr 15, um acht Uhr dreißig", ["8:15", "8:30?"]),
        ("de", "9–17 Uhr, von 7 Uhr bis 12 Uhr", ["9:00", "17:00", "7:00", "12:00"]),
        ("de", "um halb neun, um Viertel vor neun, um acht, um ein Uhr", ["8:30?", "8:45?", "8:00?", "1:00?"]),
        ("de", "um 8 Uhr abends, mittags", ["20:00", "12:00"]),
        ("de", "am 08:45 am Bahnhof", ["8:45"]),
        ("de", "bei 1 PM, um 2.m..", []),  # no German
    ],
)
def test_times_are_read(language: str, text: str, wanted: list[str]) -> None:
    """A question mark stands for a half of the day that is not known."""
    found = [f"{m // 60}:{m % 60:02}{'' if known else '?'}" for m, known in expressions.read_times(text, language)]
    assert [one.rstrip("?") for one in found] == [one.rstrip("?") for one in wanted]
    assert [one for one, other in zip(found, wanted, strict=True) if one.endswith("?") < other.endswith("?")] == []


@pytest.mark.parametrize(
    ("wanted", "text", "is_right", "is_other_half"),
    [
        ((20 * 60, True), "at 8 p.m.", True, False),
        ((20 * 60, True), "at 20:00", True, False),
        ((20 * 60, True), "at 8 a.m.", False, True),
        ((20 * 60, True), "at 8 o'clock", False, True),
        ((8 * 60, True), "at 8 o'clock", True, False),
        ((8 * 60, False), "at 8 p.m.", True, False),
        ((8 * 60, True), "at 9 a.m.", False, False),
        ((8 * 60, True), "at ate", False, False),
    ],
)
def test_a_time_in_the_other_half_of_the_day_is_wrong(
    wanted: tuple[int, bool], text: str, is_right: bool, is_other_half: bool
) -> None:
    said = expressions.read_times(text, "en")
    assert expressions.agree([wanted], said) == is_right
    assert expressions.differ_in_half([wanted], said) == is_other_half


@pytest.mark.parametrize("language", ["de", "en"])
def test_every_hour_of_the_day_is_asked_for(language: str) -> None:
    """Each text is read as its value, so a translation that says it in the same way would be right."""
    asked = list(expressions.times(language))
    assert {minutes // 60 for _, _, [(minutes, known), *_] in asked if known} == set(range(24))
    for form, text, wanted in asked:
        said = expressions.read_times(text, language)
        assert expressions.agree(wanted, said), (form, text, said)


@pytest.mark.parametrize(
    ("language", "kind", "text", "wanted"),
    [
        ("en", "weekdays", "Mon. and Tues., on Sundays", [0, 1, 6]),
        ("en", "weekdays", "Sun is shining? sun", [6]),
        ("de", "weekdays", "So und Mo, montags, am Sonnabend", [6, 0, 0, 5]),
        ("de", "weekdays", "so di", []),
        ("en", "months", "from Sept. 3 to May", [9, 5]),
        ("de", "months", "Mär, März, Jän. und Mai", [3, 3, 1, 5]),
        ("en", "months", "Mo aprick", []),
    ],
)
def test_weekdays_and_months_are_read(language: str, kind: str, text: str, wanted: list[int]) -> None:
    assert expressions.read_names(text, language, kind) == wanted


def test_every_weekday_and_month_is_asked_for() -> None:
    for language in ("de", "en"):
        for kind, n in (("weekdays", 7), ("months", 12)):
            for width in ("wide", "abbreviated"):
                names = expressions.cldr_names(language, kind, width)
                assert len(names) == n
                for number, name in names.items():
                    assert expressions.read_names(f"{name}.", language, kind) == [number]


def judges(source: str, target: str) -> tuple[Callable[[Decimal, int, str], bool], Callable[[Decimal, int, str], bool]]:
    """Return the judges of `numbers` and `separators`, by value, number of decimals and translation."""

    def kept(value: Decimal, n: int, text: str) -> bool:
        return bool(expressions.has_value(text, (value, n), target, source))

    def separated(value: Decimal, n: int, text: str) -> bool:
        return bool(expressions.has_number(text, (value, n), target))

    return kept, separated


@given(digits=st.integers(1, 10**9), n=st.integers(0, 3), swap=st.booleans())
def test_a_number_is_kept_unless_it_has_another_value(digits: int, n: int, swap: bool) -> None:
    source, target = ("en", "de") if swap else ("de", "en")
    kept, separated = judges(source, target)
    value, shape = Decimal(digits).scaleb(-n), "#,##0" + ("." + "0" * n if n else "")
    copied, own = (format_decimal(value, shape, locale=language) for language in (source, target))
    assert kept(value, n, f"It is {own}.")
    assert separated(value, n, f"It is {own}.")
    assert not kept(value, n, f"It is {own}1.")
    assert not kept(value, n, f"It is 7.{own}")
    assert separated(value, n, f"It is {copied} km.") == (copied == own)
    group, point = (",", ".") if target == "en" else (".", ",")
    try:
        read = Decimal(copied.replace(group, "").replace(point, "."))
    except ArithmeticError:
        read = None
    if read == value:
        assert kept(value, n, f"It is {copied} km.")


@pytest.mark.parametrize(
    ("langpair", "source", "copy", "is_kept"),
    [
        ("en de", "1234", "1,234", False),  # in German a bit more than one
        ("en de", "1234567", "1,234,567", True),
        ("de en", "404.79", "404,79", True),
        ("de en", "5.125", "5,125", False),  # in English five thousand
        ("de en", "1000.5", "1.000,5", True),
    ],
)
def test_a_copied_number_that_reads_as_another_one_is_not_kept(
    langpair: str, source: str, copy: str, is_kept: bool
) -> None:
    kept, separated = judges(*langpair.split())
    value = Decimal(source)
    n = -min(0, int(value.as_tuple().exponent))
    assert kept(value, n, f"x {copy} x") == is_kept
    assert not separated(value, n, f"x {copy} x")


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("K02a", "The train leaves at 8 a.m.", "The train leaves at 8 p.m."),
        ("K02a", "The train departs at eight o'clock.", "The train leaves at 8:30."),
        ("K02b", "The meeting starts at 8:15 a.m.", "The meeting starts at 08:15 pm."),
        ("K02c", "9–17 Uhr geöffnet.", "9 Uhr–5 Uhr geöffnet."),
        ("K02d", "Consultation hours: 2–6 pm", "calculated time: 2-18 pm"),
        ("K02d", "Office hours: 14:00–18:00", "Office hours: 14-18 pm"),
        (
            "K03a",
            f"| Mon | Tue | Wed | Thu | Fri | Sat | Sun |{ROWS}",
            f"| Mo | Di | mi | Do | Fr | Sa | How |{ROWS}",
        ),
        ("K03b", "So und Mo geschlossen", "Auf Sonne und Sonne geschlossen"),
        ("K03c", "Mon - Fri: 08:00 - 17:00", "Mo - Fr: 08:00 - 17:00"),
        ("K03d", "Apr\nAug\nSept", "aprick\neye\nlust"),
        ("K04a", "It was 530,530 euros.", "There were 530 euros."),
        ("K04b", "Die Stadt hat 1.234 Einwohner.", "Die Stadt hat 1,234 Einwohner."),
        (
            "K04c",
            "It costs 1,000.50 euros.\nThe price is 404.79 euros.",
            "It costs 1,000,50 euros.\nIt is 404,79 euros.",
        ),
        ("K09a", "# Introduction\n\n## Requirements\n\n## Contact", "# introduction\n\n## preconditions\n\n## contact"),
        ("K09b", "Second sentence.", "second sentence."),
        (
            "K15a",
            "2\n00:00:02,000 --> 00:00:02,900\nso as not to be fired.",
            "2\n00:00:02,000 --> 00:00:02,900\nto be fired.",
        ),
    ],
)
def test_a_reported_case_has_a_pattern_for_right_translations(name: str, right: str, wrong: str) -> None:
    lines = [line.split("\t") for line in bench.REPORTED.read_text(encoding="utf-8").splitlines()]
    (pattern,) = (pattern for one, _, _, _, pattern in lines if one == name)
    assert bench._matches(pattern)(right)
    assert not bench._matches(pattern)(wrong)


HOUSE = bench.word_item("Haus", ["house", "home"])
LONG = bench.word_item("Haus", ["a long enough reference"])


@pytest.mark.parametrize("answer", ["house", "House.", "HOUSE!", "the house", "A house", " home ", "\u201chouse\u201d"])
def test_case_end_punctuation_and_article_of_a_word_do_not_count(answer: str) -> None:
    assert HOUSE.is_right(answer)
    assert not any(counts(answer) for counts in HOUSE.counts.values())


@pytest.mark.parametrize("answer", ["", "mouse", "houses", "house house", "the", "to the house"])
def test_another_word_is_not_accepted(answer: str) -> None:
    assert not HOUSE.is_right(answer)


@pytest.mark.parametrize("answer", ["no no no", "no, no, no.", "yes sir, yes sir, yes sir", "hahahahaha", "####"])
def test_repeated_text_is_a_loop(answer: str) -> None:
    assert LONG.counts["loops"](answer)


@pytest.mark.parametrize("answer", ["no no", "bye bye", "the man, the dog and the cat", "I see..."])
def test_common_phrases_are_not_loops(answer: str) -> None:
    assert not LONG.counts["loops"](answer)


def test_an_answer_is_too_long_relative_to_the_longest_accepted_one() -> None:
    assert not HOUSE.counts["too_long"]("x" * 15)
    assert HOUSE.counts["too_long"]("x" * 16)


@given(st.text(max_size=20))
def test_a_word_always_equals_itself(text: str) -> None:
    assert bench.word_item("", [text]).is_right(f"{text}!")


@pytest.mark.parametrize("langpair", ["de-en", "en-de"])
def test_a_list_of_words_and_greetings_has_200_with_answers_that_differ(langpair: str) -> None:
    items = bench.accepted_answers(langpair)
    assert len(items) == 200
    for text, accepted in items.items():
        assert text.strip()
        assert not bench.word_item(text, accepted).is_right("")
        assert len({answer.casefold() for answer in accepted}) == len(accepted) > 0


def test_wrong_translations_are_counted_with_and_without_a_flag() -> None:
    items = [bench.Item("a", f"{n}", lambda text: text == "x", {"long": lambda text: len(text) > 1}) for n in range(4)]
    found = [
        Translation("x"),
        Translation("yy"),
        Translation("zz").flagged("missing"),
        Translation("x").flagged("echo"),
    ]
    wanted = {"items": 4, "right": 2, "wrong without flag": 1, "wrong": {"1": "yy", "2": "zz"}, "long": 2}
    assert bench.judged(items, found) == {"a": wanted}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of two untrained models; that into German has the tags for the form of address."""
    found = {}
    for source, target, tags in (("de", "en", []), ("en", "de", [*TAGS.values()])):
        folder = found[f"{source}-{target}"] = tmp_path_factory.mktemp("model") / "model"
        tokenizer = train(SENTENCES, TokenizerConfig(vocab_size=333), tags)
        spec = TranslationSpec(source, target, SearchConfig(beam_size=2, max_extra=5))
        model_folder.save(random_model(tokenizer), tokenizer, spec, folder)
    return found


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Corpora of a few lines."""
    texts = {
        "test/newstest2013": [("Sie kommt nicht.", "She does not come."), ("Das ist ein Haus.", "That is a house.")],
        "train-open/mucow": [("Ein Hund " * 9, "A dog " * 30), ("Um nicht zu gehen.", "So as not to go.")],
        "train-open/mt-geneval": [
            ("Ihre bekannte Entdeckung war wichtig.", "Her well-known discovery remained important."),
            ("Seine bekannte Entdeckung war wichtig.", "His well-known discovery remained important."),
        ],
        "train-open/cocoa-mt-formality": [("Kommen Sie?", "Are you coming?"), ("Kommst du?", "Are you coming?")],
    }
    for name, pairs in texts.items():
        for language, lines in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
            path = tmp_path / f"{name}.{language}.{'gz' if name.startswith('test') else 'xz'}"
            path.parent.mkdir(exist_ok=True)
            opened = gzip.open if path.suffix == ".gz" else lzma.open
            with opened(path, "wt", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
    (tmp_path / "words").mkdir()
    common = "de\ten\nHund\tdog|hound\nHaus\thouse\n"
    (tmp_path / "words/research-frekwencja-common-words.tsv").write_text(common, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("langpair", ["de-en", "en-de"])
def test_every_probe_has_a_table(
    langpair: str,
    folders: dict[str, Path],
    corpora: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench, "LONG", range(20, 200))
    monkeypatch.setattr(bench, "N_NUMBERS", 5)
    out = corpora / "record.json"
    assert harness.main(["probes", str(folders[langpair]), "--data", str(corpora), "--out", str(out)]) == 0
    record = json.loads(out.read_text(encoding="utf-8"))
    skipped = {probe for probe, found in record["probes"].items() if "skipped" in found}
    assert record["probes"].keys() == bench.PROBES.keys()
    assert skipped == (set() if langpair == "en-de" else {"address"})
    for probe, found in record["probes"].items():
        for figures in found.get("table", {}).values():
            assert figures["items"] > 0 or probe == "negation"
            assert 0 <= figures.get("right", 0) <= figures["items"]
    assert record["probes"]["numbers"]["table"]["both"]["items"] == 5
    for text in ("She does not come.", "Ihre bekannte", "Are you coming?", "hound"):  # of a corpus
        assert text not in out.read_text(encoding="utf-8")
    forms = {"formal", "informal", "formal, to nobody", "informal, to nobody"}
    assert record["probes"]["address"].get("table", {}).keys() == (forms if langpair == "en-de" else set())
    shown = capsys.readouterr().out
    assert all(f"| {probe} |" in shown for probe in record["probes"].keys() - skipped)


def test_probes_without_their_data_are_skipped_with_a_reason(folders: dict[str, Path], tmp_path: Path) -> None:
    asked = ["negation", "gender", "words", "long"]
    only = [word for name in asked for word in ("--only", name)]
    out = tmp_path / "record.json"
    assert harness.main(["probes", str(folders["de-en"]), "--data", str(tmp_path), *only, "--out", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))["probes"]
    assert list(found) == asked
    assert all(str(tmp_path) in one["skipped"] for one in found.values())


def test_other_languages_are_refused(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.Model, "languages", ("de", "fr"))
    with pytest.raises(UserError, match="the probes are German and English"):
        harness.main(["probes", str(folders["de-en"])])


def test_the_corpora_have_what_the_probes_read() -> None:
    if not (CORPORA / "train-open").is_dir():
        pytest.skip(f"{CORPORA} has no corpora")
    for name in (*bench.SETS, bench.GENDER, bench.ADDRESS):
        for language in ("de", "en"):
            assert any((CORPORA / f"{name}.{language}{suffix}").is_file() for suffix in (".gz", ".xz")), name
