"""Every term of a glossary is in the translation or flagged; nothing else changes; every way gives the same."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.commands.main import main
from translate.corpus.grammar import generate
from translate.errors import UserError
from translate.inference import pipeline
from translate.inference.pipeline import Rules
from translate.inference.translator import Translator
from translate.models import registry
from translate.models.folder import ModelFolder
from translate.text.glossary import Glossary
from translate.text.placeholders import SYMBOL
from translate.text.translation import Document, Opening, Translation

TERMS = {"Hund|Hundes": "hound", "Haus": "R&D \\1 building", "rote Auto": "scarlet car", "Ball": "Zorb"}
URL = "https://x.de/Hund"
PARTS = st.sampled_from(["Hund", "Hundes", "Haus", "rote Auto", "Ball", "{Hund}", URL, "<b>", "läuft", "Bälle", "in"])


def asking(loss: int) -> tuple[list[str], pipeline.Model]:
    """A model that swaps capitals, and loses the symbol with the number `loss`."""
    asked: list[str] = []

    def search(texts: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
        asked.extend(texts)
        said = {text: re.sub(r"[^\W\d_]+", lambda word: word[0].swapcase(), text) for text in texts}
        return {
            text: Translation(SYMBOL.sub(lambda m: "" if int(m[1]) == loss else m[0], out), n_segments=1)
            for text, out in said.items()
        }

    return asked, search


def rules(n_symbols: int, glossary: Glossary | None, *, checks: bool = True, segments: bool = True) -> Rules:
    return Rules(source="de", target="en", n_symbols=n_symbols, glossary=glossary, checks=checks, segments=segments)


def n_wanted(parts: Sequence[str]) -> Counter[str]:
    targets = {form: target for forms, target in TERMS.items() for form in forms.split("|")}
    return Counter(targets[part] for part in parts if part in targets)


@given(st.lists(PARTS, max_size=30), st.sampled_from([0, 1, 3, 16]), st.integers(0, 4), st.booleans(), st.booleans())
def test_every_term_is_there_whatever_the_model_loses(
    parts: list[str], n_symbols: int, loss: int, checks: bool, segments: bool
) -> None:
    _, search = asking(loss)
    chosen = rules(n_symbols, Glossary.of(TERMS), checks=checks, segments=segments)
    (found,) = pipeline.translate([" ".join(parts)], search, chosen)
    lost = {target for target, n in n_wanted(parts).items() if found.text.count(target) < n}
    assert bool(lost) == ("term" in found.flags)
    assert not lost or "language" in found.flags
    if checks or segments:  # the model alone does not hold addresses
        assert found.text.count(URL) == parts.count(URL)


@given(
    st.lists(st.sampled_from(["Katze", "läuft", "{Hund}", "Hunde", "Bälle", URL, "3,5"]), max_size=10), st.booleans()
)
def test_text_without_terms_is_translated_as_without_a_glossary(parts: list[str], checks: bool) -> None:
    texts = [" ".join(parts)]
    (asked, search), (asked_before, search_before) = asking(0), asking(0)
    found = pipeline.translate(texts, search, rules(16, Glossary.of(TERMS), checks=checks))
    assert found == pipeline.translate(texts, search_before, rules(16, None, checks=checks))
    assert asked == asked_before


def test_terms_that_the_model_says_anyway_are_searched_once() -> None:
    asked, search = asking(0)
    (found,) = pipeline.translate(["Ein Hund"], search, rules(16, Glossary.of({"Hund": "hUND"})))
    assert (found.text, asked) == ("eIN hUND", ["Ein Hund"])


def test_a_sentence_in_another_language_is_copied_and_its_term_flagged() -> None:
    _, search = asking(0)
    english = "This is the Hund that you have seen."
    (found,) = pipeline.translate([english], search, rules(16, Glossary.of(TERMS)))
    assert (found.text, found.flags, found.suspicious) == (english, ("language", "term"), True)


def test_a_term_that_begins_a_longer_word_counts_where_its_symbol_was() -> None:
    asked: list[str] = []

    def search(texts: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
        asked.extend(texts)
        return {text: Translation(text.replace("\u27e7", "\u27e7s"), n_segments=1) for text in texts}

    (found,) = pipeline.translate(["Ein Hund"], search, rules(16, Glossary.of(TERMS)))
    assert (found.text, asked) == ("Ein hounds", ["Ein Hund", "Ein \u27e61\u27e7"])
    assert "term" not in found.flags


def test_a_text_of_terms_alone_is_not_searched_with_symbols() -> None:
    asked, search = asking(0)
    (found,) = pipeline.translate(["Hund, Haus!"], search, rules(16, Glossary.of(TERMS)))
    assert (found.text, asked) == ("hound, R&D \\1 building!", ["Hund, Haus!"])


def test_a_model_without_symbols_takes_no_glossary(parts: ModelFolder) -> None:
    with pytest.raises(UserError, match="the model has no placeholder symbols to hold the terms of a glossary with"):
        Translator.load(parts.folder, document=Document(terms=TERMS))


def test_only_the_missing_terms_are_held() -> None:
    asked, search = asking(0)
    (found,) = pipeline.translate(
        ["Der Hund im Haus"], search, rules(16, Glossary.of({"Hund": "hUND", "Haus": "Zorp"}))
    )
    assert (found.text, asked) == ("dER hUND IM Zorp", ["Der Hund im Haus", "Der Hund im \u27e61\u27e7"])


# The shipped models


def shipped(terms: object) -> Translator:
    if "de-en" not in dict(registry.installed()):
        pytest.skip("de-en does not ship")
    return Translator.load("de-en", document=Document(terms=terms))  # type: ignore[arg-type]


def nouns(texts: Sequence[str]) -> dict[str, str]:
    """Terms for the nouns of sentences: half of them with words that are in no language."""
    words = sorted({word for text in texts for word in re.findall(r"(?<=\w )[A-ZÄÖÜ][a-zäöüß]{2,}", text)})
    return {word: f"Zo{chr(97 + i % 26)}rb {i}" if i % 2 else f"the{i}" for i, word in enumerate(words)}


def assert_terms(n: int) -> None:
    texts = [german for german, _ in generate("test", n, 11)]
    terms = nouns(texts)
    assert len(terms) > 5
    glossary = Glossary.of(terms)
    for text, found in zip(texts, shipped(terms).passages(texts), strict=True):
        wanted = Counter(term.target for term in glossary.find(text))
        assert "term" not in found.flags
        assert all(found.text.count(target) >= k for target, k in wanted.items()), (text, found.text)


def test_every_term_of_generated_sentences_is_there() -> None:
    assert_terms(40)


@pytest.mark.slow
def test_every_term_of_a_thousand_generated_sentences_is_there() -> None:
    assert_terms(1000)


def test_twenty_terms_in_a_sentence_are_all_there() -> None:
    (found,) = shipped({"Hund": "hound"}).passages(["Der Hund und " * 20 + "der Hund schlafen."])
    assert found.text.count("hound") == 21


def test_other_lines_are_the_same_with_a_glossary() -> None:
    texts = ["Guten Morgen. Wie geht es dir?", "Die Katze schläft auf https://x.de/Hund.", "", "3,50 €"]
    assert shipped(TERMS)(texts) == shipped(None)(texts)


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_each_engine_holds_the_terms(engine: str) -> None:
    shipped(None)
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2")
    translator = Translator.load("de-en", document=Document(terms={"Hund": "Zorp"}), opening=Opening(engine=engine))  # type: ignore[arg-type]
    assert "Zorp" in translator("Der Hund schläft im Haus.")


def test_command_python_and_server_give_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.translate.serving.live import live
    from translate.serving.settings import ServeOptions

    text = "Der Hund schläft im Haus. Das rote Auto ist schnell.\nDer Ball von Peter, siehe https://x.de/Ball.\n"
    file = tmp_path / "terms.tsv"
    file.write_text("".join(f"{forms}\t{target}\n" for forms, target in TERMS.items()), encoding="utf-8")
    expected = shipped(file)(text)
    assert all(target in expected for target in TERMS.values())
    assert shipped(TERMS)(text) == expected
    source = tmp_path / "in.txt"
    source.write_text(text, encoding="utf-8")
    assert main(["text", "--model", "de-en", "--terms", str(file), "--input", str(source)]) == 0
    assert capsys.readouterr().out == expected
    body = {"q": text, "source": "de", "target": "en"}
    with live(
        ServeOptions(model=[dict(registry.installed())["de-en"]], opening=Opening(threads=1)), tmp_path / "serve"
    ) as server:
        for glossary in (TERMS, file.read_text(encoding="utf-8")):
            assert (
                server.http.post("/translate", json={**body, "glossary": glossary}).json()["translatedText"] == expected
            )
        form = {**body, "glossary": file.read_text(encoding="utf-8")}
        assert server.http.post("/translate", data=form).json()["translatedText"] == expected
        wrong = server.http.post("/translate", json={**body, "glossary": "Haus"})
        assert (wrong.status_code, wrong.json()["error"]) == (
            400,
            "Invalid request: glossary, line 1: not a term; write SOURCE, a tab and TARGET",
        )
        assert server.http.post("/translate", json={**body, "glossary": {"Haus": 3}}).status_code == 400


def test_a_wrong_file_gets_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped(None)
    file = tmp_path / "terms.tsv"
    file.write_text("Haus\thouse\nHund\n", encoding="utf-8")
    assert main(["text", "--model", "de-en", "--terms", str(file), "Hallo"]) == 2
    assert capsys.readouterr().err.strip().endswith(f"{file}, line 2: not a term; write SOURCE, a tab and TARGET")
    assert main(["text", "--model", "de-en", "--terms", str(tmp_path / "none"), "Hallo"]) == 2
    assert capsys.readouterr().err.strip().endswith("no such file; correct the path")


def test_the_flag_is_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped(None)
    file = tmp_path / "terms.tsv"
    file.write_text("Hund\tdog\n", encoding="utf-8")
    text = "This is the Hund that you have seen."
    assert main(["text", "--model", "de-en", "--terms", str(file), "--json", text]) == 0
    assert json.loads(capsys.readouterr().out)["flags"] == ["language", "term"]


@pytest.mark.parametrize("terms", [["Haus"], 7])
def test_other_values_than_a_glossary_are_refused(terms: object) -> None:
    with pytest.raises(UserError, match="terms = "):
        Document(terms=terms)  # type: ignore[arg-type]
