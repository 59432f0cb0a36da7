"""A form of address begins each source that the model reads with its tag, and nothing else reads the tag."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.conftest import MAX_EXTRA, MAX_LENGTH
from transformer.config import Hypotheses, Request, SearchConfig
from translate.commands.main import main
from translate.errors import OptionError, UserError
from translate.inference import alignment
from translate.inference.constraints import Constraints, Term
from translate.inference.ctranslate2_engine import CTranslate2Engine
from translate.inference.search import Engine, SentenceSearch
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.formality import TAGS
from translate.text.translation import Document, FormOfAddress, Search, Translation

FORMS: tuple[FormOfAddress, ...] = get_args(FormOfAddress)
LINES = ["the dog sleeps", "the cat runs by the lake.", "the child", "  the child sings in the house.  "]
LONG = " ".join(["the dog sleeps in the house, and"] * 23)


@pytest.fixture(params=["torch", "ctranslate2"])
def engine(tagged: ModelFolder, request: pytest.FixtureRequest) -> Engine:
    return TorchEngine(tagged) if request.param == "torch" else CTranslate2Engine.convert(tagged.folder)


class Noting(TorchEngine):
    """An engine that keeps the requests that it was asked, and the pairs that it scored."""

    def __init__(self, folder: ModelFolder) -> None:
        super().__init__(folder)
        self.asked, self.scored = list[Request](), list[tuple[Sequence[int], ...]]()

    def search(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the hypotheses of the model."""
        self.asked += requests
        return super().search(requests, config)

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
        """Return the log-probabilities of the model."""
        self.scored += zip(sources, targets, strict=True)
        return super().score(sources, targets)


def search(engine: Engine, formality: FormOfAddress | None, **more: object) -> SentenceSearch:
    return SentenceSearch(engine, engine.spec.decoding, formality=formality, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMS)
@given(text=st.text(max_size=30))
def test_a_tag_is_the_beginning_of_a_source_as_in_training(tagged: ModelFolder, form: FormOfAddress, text: str) -> None:
    encode, text = tagged.tokenizer.encode, text.strip()
    tag = search(TorchEngine(tagged), form).tag
    assert encode(f"{TAGS[form]} {text}" if text else TAGS[form]) == [*tag, *encode(text)]


@pytest.mark.parametrize("form", FORMS)
def test_the_model_translates_the_source_with_its_tag(engine: Engine, form: FormOfAddress) -> None:
    encode = engine.tokenizer.encode
    found = search(engine, form).translate(LINES)
    for line, (best, *_) in zip(LINES, found, strict=True):
        source = line.strip()
        request = Request(tuple(encode(f"{TAGS[form]} {source}")), len(encode(source)) + MAX_EXTRA)
        ((hypothesis, *_),) = engine.search([request], engine.spec.decoding)
        assert best.tokens == tuple(engine.tokenizer.tokens(hypothesis.tokens))
        assert best.log_prob == pytest.approx(hypothesis.log_prob, abs=1e-5)
        assert best.n_source_tokens == len(encode(source))


def test_the_forms_and_their_lack_are_different_requests(tagged: ModelFolder) -> None:
    forms = (None, *FORMS)
    asked = {form: search(TorchEngine(tagged), form).requests(LINES) for form in forms}
    assert [[tuple(request.ids) for request in own] for own in asked[None]] == [
        [tuple(tagged.tokenizer.encode(line.strip()))] for line in LINES
    ]
    for line in range(len(LINES)):
        assert len({asked[form][line][0] for form in forms}) == len(forms)
        assert len({asked[form][line][0].max_length for form in forms}) == 1
    texts = [[one.text for one in Translator(tagged, Search(formality=form)).passages(LINES)] for form in forms]
    assert texts[0] != texts[1] != texts[2] != texts[0]


def test_a_translation_does_not_depend_on_its_batch(engine: Engine) -> None:
    for form in FORMS:
        together = Translator(engine, Search(formality=form)).translate_lines(LINES)
        alone = (next(Translator(engine, Search(formality=form)).translate_lines([line])) for line in LINES)
        for one, other in zip(together, alone, strict=True):
            assert (one.text, one.score) == (other.text, pytest.approx(other.score, abs=1e-5))


@pytest.mark.parametrize("best", [None, 17])
def test_each_part_of_a_long_sentence_has_the_tag(tagged: ModelFolder, best: int | None) -> None:
    engine = Noting(replace(tagged, spec=replace(tagged.spec, best_source_tokens=best)))
    (found,) = Translator(engine, Search(formality="informal")).passages([LONG])
    encode = tagged.tokenizer.encode
    assert "split" in found.flags
    assert len(engine.asked) > 2
    assert {request.ids[:2] for request in engine.asked} == {tuple(encode(TAGS["informal"]))}
    assert max(len(request.ids) for request in engine.asked) <= (best or MAX_LENGTH - MAX_EXTRA)


def test_every_search_of_a_text_has_the_tag(tagged: ModelFolder) -> None:
    """Searches again, after a check, and those for alternatives have it too; text without words is not searched."""
    engine = Noting(tagged)
    translator = Translator(engine, Search(formality="formal"))
    assert translator("2 + 2 = 4\n\n---") == "2 + 2 = 4\n\n---"
    assert not engine.asked
    translator("THE DOG 7 SLEEPS. The Cat! (the child)\nthe dog\n")
    translator.alternatives("the dog sleeps in the house.", 3)
    assert len(engine.asked) > 4
    assert {request.ids[:2] for request in engine.asked} == {tuple(tagged.tokenizer.encode(TAGS["formal"]))}


@pytest.mark.parametrize("formality", [None, *FORMS])
def test_alignments_and_scores_are_those_of_the_source_with_its_tag(
    engine: Engine, formality: FormOfAddress | None
) -> None:
    tokenizer, pairs = engine.tokenizer, [("the dog sleeps", "der Hund"), ("the child sings", "das Kind singt im")]
    searching = search(engine, formality)
    encoded = [[[*searching.tag, *tokenizer.encode(s)] for s, _ in pairs], [tokenizer.encode(t) for _, t in pairs]]
    n = len(searching.tag)
    assert searching.score(pairs) == pytest.approx(engine.score(*encoded), abs=1e-5)
    for (source, target), found, rows in zip(pairs, searching.align(pairs), engine.align(*encoded), strict=True):
        assert found is not None
        assert found.source == tokenizer.spans(source)
        assert found.target == tokenizer.spans(target)
        assert [len(row) for row in found.weights] == [len(found.source)] * len(found.target)
        assert [row[n:] for row in rows] == [pytest.approx(row, abs=1e-5) for row in found.weights]
        words = alignment.align(engine, source, tokenizer.tokens(tokenizer.encode(target)), searching.tag)
        assert {s for s, _ in words} <= set(range(3))


def test_formatting_returns_around_the_words_of_the_same_translation(tagged: ModelFolder) -> None:
    translator = Translator(tagged, Search(formality="formal"), Document(format="html"))
    plain = translator("<p>the dog sleeps in the house.</p>")
    marked = translator("<p>the <b>dog</b> sleeps in the house.</p>")
    assert marked.replace("<b>", "").replace("</b>", "") == plain
    assert plain != Translator(tagged, document=Document(format="html"))("<p>the dog sleeps in the house.</p>")


def test_a_reranker_reads_the_source_without_the_tag(tagged: ModelFolder, parts: ModelFolder) -> None:
    opposite = Noting(replace(parts, spec=replace(parts.spec, source="de", target="en")))
    list(Translator(tagged, Search(formality="formal"), reranker=opposite).passages(LINES))
    sources = {tuple(parts.tokenizer.encode(line.strip())) for line in LINES}
    assert {tuple(source) for _, source in opposite.scored} == sources


def test_a_tag_is_no_word_of_the_source(tagged: ModelFolder) -> None:
    engine = TorchEngine(tagged)
    constraints = Constraints(engine, [Term("formal", "Hund"), Term("dog", "Haus")])
    searching = search(engine, "formal", phrases=constraints.phrases)
    ((one,), (other,)) = searching.requests(["the dog", "the cat"])
    assert len(one.phrases) == 1
    assert not other.phrases
    with pytest.raises(UserError, match=r"^the translation of 'the cat': forced words need"):
        searching.translate(["the cat"], prefixes=[tuple(tagged.tokenizer.encode("Hund " * 40))])


def test_a_model_without_tags_or_not_into_german_says_so(parts: ModelFolder, tagged: ModelFolder) -> None:
    english = replace(tagged, spec=replace(tagged.spec, source="de", target="en"))
    german = replace(parts, spec=replace(parts.spec, source="en", target="de"))
    for model in (parts, english, german):
        with pytest.raises(UserError, match="the model cannot choose the form of address; leave formality out"):
            Translator(model, Search(formality="formal"))


@pytest.mark.parametrize("form", FORMS)
def test_the_command_line_writes_what_python_returns(
    tagged: ModelFolder, form: FormOfAddress, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "The dog sleeps.\n\n- the child sings in the house.\n"
    file, options = tmp_path / "x.en", ["--model", str(tagged.folder), "--formality", form]
    file.write_text(text, encoding="utf-8")
    engine = CTranslate2Engine.convert(tagged.folder)
    assert main(["text", *options, "--input", str(file)]) == 0
    assert capsys.readouterr().out == Translator(engine, Search(formality=form))(text)
    lines = Translator(tagged, Search(formality=form), Document(format="lines", checks=False)).translate_lines(LINES)
    records = [one.record() for one in lines]
    assert main(["decode", *options, "--json", "--align", *LINES]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["text"] for one in found] == [one["text"] for one in records]
    assert all(0 <= s < len(line.split()) for one, line in zip(found, LINES, strict=True) for s, _ in one["alignment"])


def test_the_command_line_says_what_a_model_cannot_do(parts: ModelFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["text", "--model", str(parts.folder), "--formality", "formal", "der Hund"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert "cannot choose the form of address" in told[0]
    assert main(["text", "--model", str(parts.folder), "--formality", "polite", "der Hund"]) == 2
    assert "'polite' is not one of formal, informal" in capsys.readouterr().err


def test_a_score_is_that_of_the_search(tagged: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [one for one in Translator(tagged, Search(formality="formal")).translate_lines(LINES) if one.text.strip()]
    for name, lines in (("x.en", LINES), ("x.de", [one.text for one in found])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(tmp_path / "x.en"), str(tmp_path / "x.de"), "--model", str(tagged.folder)]
    scores = []
    for options in ([], ["--formality", "formal"], ["--formality", "informal"]):
        assert main(["score", *files, *options]) == 0
        scores.append([float(line.split("\t")[0]) for line in capsys.readouterr().out.splitlines()])
    encode = tagged.tokenizer.encode
    tag, engine = encode(TAGS["formal"]), TorchEngine(tagged)
    references = [encode(one.text.strip()) for one in found]
    wanted = engine.score([[*tag, *encode(line.strip())] for line in LINES], references)
    assert scores[1] == pytest.approx(wanted, abs=1e-3)
    assert scores[0] != scores[1] != scores[2]


def test_an_evaluation_records_the_form_of_address(tagged: ModelFolder, tmp_path: Path) -> None:
    for name, lines in (("x.en", LINES), ("x.de", ["der Hund"] * len(LINES))):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "x.en"), "--reference", str(tmp_path / "x.de"), "--out", str(tmp_path / "out")]
    assert main(["evaluate", str(tagged.folder), *files, "--formality", "informal"]) == 0
    assert "informal" in "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("out/*.json"))


def test_only_the_two_forms_are_values() -> None:
    with pytest.raises(OptionError, match="formality = 'polite': should be 'formal' or 'informal' or none"):
        Search(formality="polite")  # type: ignore[arg-type]


def test_lines_keep_their_number_and_their_order(tagged: ModelFolder) -> None:
    lines = ["", "the dog", "  ", "123", LONG, "the dog"]
    random.Random(3).shuffle(lines)
    found = list(Translator(tagged, Search(formality="informal")).translate_lines(lines))
    assert [bool(one.text.strip()) for one in found] == [bool(line.strip()) for line in lines]
    assert all(isinstance(one, Translation) for one in found)
