"""Output line n is the translation of input line n, for any content of the lines."""

import io
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import sentencepiece
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import translate.inference.search
import translate.text.formats
from tests.translate.conftest import SENTENCES, random_model
from tests.translate.speakers import Echo, Stubbed
from transformer.config import Hypothesis, ModelConfig, Request
from transformer.model import Transformer
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import Tokenizer, train
from translate.errors import UserError
from translate.inference.search import LIMIT, SentenceSearch
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import FIRST_TEXTS, Translator
from translate.models.folder import ModelFolder
from translate.text.formats import one_line
from translate.text.sentences import cut
from translate.text.translation import Document, EngineName, Opening, Search, Translation

PLAIN = ["der Hund schläft im Haus.", "die Katze läuft am See.", "das Kind singt.", "ein Vogel", "Ja."]
BLANK = ["", " ", "\t", "\r", " \u2028\u0085 ", "\u3000"]
ODD = [
    "a\rb",
    "der\u2028Hund",
    "x\u0085y",
    "\0",
    "漢字",
    "🙂🙃",
    "\ufeffder Hund",
    "<s> </s>",
    "▁▁",
    "  der Hund  ",
    "Ja.\r",
]
LONG = ["das Kind singt im Garten " * 19, "Donaudampfschiff" * 23, "?! " * 97, "ein Vogel" + "\u00bf" * 97]


def mixture(n: int, seed: int = 5) -> list[str]:
    """Lines of all kinds in random order; long ones are rare."""
    rng = random.Random(seed)
    lines = [rng.choice(rng.choice([PLAIN, PLAIN, BLANK, ODD])) for _ in range(n - 3 * len(LONG))] + 3 * LONG
    rng.shuffle(lines)
    return lines


def test_a_thousand_mixed_lines_give_a_thousand_lines_in_order(translator: Translator) -> None:
    lines = mixture(1000)
    translations = [*translator.translate_lines(lines)]
    assert len(translations) == 1000
    alone = {line: [*translator.translate_lines([line])][0].text for line in set(lines)}
    assert [t.text for t in translations] == [alone[line] for line in lines]


def test_translating_shuffled_lines_shuffles_the_translations(translator: Translator) -> None:
    lines = mixture(97)
    order = random.Random(7).sample(range(97), 97)
    translations = [*translator.translate_lines(lines)]
    assert [*translator.translate_lines([lines[i] for i in order])] == [translations[i] for i in order]


def test_no_translation_depends_on_its_batch(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = mixture(53)
    together = [*translator.translate_lines(lines)]
    monkeypatch.setattr(translate.inference.search, "BATCH_HYPOTHESES", 1)
    alone = [*translator.translate_lines(lines)]
    assert [t.tokens for t in alone] == [t.tokens for t in together]
    assert [t.score for t in alone] == pytest.approx([t.score for t in together], abs=1e-5)


@pytest.mark.parametrize("line", BLANK)
def test_a_blank_line_stays_unchanged(translator: Translator, line: str) -> None:
    (translation,) = [*translator.translate_lines([line])]
    assert (translation.text, translation.tokens, translation.log_prob) == (line, (), 0.0)


def test_blank_lines_never_reach_the_model(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer.search.model_step.translate_ids", None)
    assert [t.text for t in translator.translate_lines(BLANK)] == BLANK


@settings(max_examples=40, deadline=None)
@given(lines=st.lists(st.text(max_size=30), max_size=7))
def test_any_text_keeps_its_lines_and_the_white_space_around_them(translator: Translator, lines: list[str]) -> None:
    lines = [line.replace("\n", "") for line in lines]
    texts = [t.text for t in translator.translate_lines(lines)]
    assert len(texts) == len(lines)
    for line, text in zip(lines, texts, strict=True):
        assert "\n" not in text
        assert text.startswith(line[: len(line) - len(line.lstrip())])
        assert text.endswith(line[len(line.rstrip()) :])
        assert line.strip() or text == line


def test_line_ends_of_a_file_are_not_part_of_the_text(translator: Translator) -> None:
    of_file, of_list = ["Ja.\n", "\n", "Ja.\nJa."], ["Ja.", "", "Ja. Ja."]
    assert [*translator.translate_lines(of_file)] == [*translator.translate_lines(of_list)]


def test_a_line_break_in_the_model_output_becomes_a_space(parts: ModelFolder, tokenizer: Tokenizer) -> None:
    inventive = Translator(parts)
    inventive.sentence_search = Talker(inventive, "a\nb\r\u2028c")
    assert [t.text for t in inventive.translate_lines([" x", "y"])] == [" a b c", "a b c"]


class Talker(SentenceSearch):
    """A search that always finds the same sentence."""

    def __init__(self, translator: Translator, sentence: str) -> None:
        super().__init__(translator.engine, translator.sentence_search.config)
        self.ids = self.engine.tokenizer.encode(sentence)

    def hypotheses(self, *arguments):  # type: ignore[no-untyped-def]
        found = super().hypotheses(*arguments)
        return {ids: [replace(h, tokens=self.ids) for h in hypotheses] for ids, hypotheses in found.items()}


@pytest.mark.parametrize("line", LONG)
def test_a_line_beyond_the_limit_is_translated_in_parts_without_loss(translator: Translator, line: str) -> None:
    encode = translator.engine.tokenizer.encode
    pieces = cut(line, lambda text: len(encode(text)) <= translator.limit)
    assert "".join("".join(pieces).split()) == "".join(line.split())
    assert all(len(encode(piece)) <= translator.limit for piece in pieces)
    (wholes,), found = translator.n_best([line], 2), [*translator.n_best(pieces, 2)]
    assert len(wholes) == 2
    for rank, whole in enumerate(wholes):  # the second joins the second best translations of the parts
        parts = [several[min(rank, len(several) - 1)] for several in found]
        assert whole.split
        assert whole.text.strip() == " ".join(part.text for part in parts if part.text)
        assert whole.log_prob == pytest.approx(sum(part.log_prob for part in parts), abs=1e-4)
        assert whole.tokens == tuple(piece for part in parts for piece in part.tokens)


def test_a_line_at_the_limit_is_not_split(translator: Translator) -> None:
    longest = max((" ".join(["Ja."] * n) for n in range(1, 61)), key=lambda s: (fits(translator, s), len(s)))
    at, beyond = [*translator.translate_lines([longest, longest + " Ja. Ja."])]
    assert (at.split, beyond.split) == (False, True)


def fits(translator: Translator, text: str) -> bool:
    return len(translator.engine.tokenizer.encode(text)) <= translator.limit


def test_sinusoids_have_a_limit_too(parts: ModelFolder) -> None:
    config = ModelConfig(vocab_size=parts.tokenizer.vocab_size, d_model=6, n_heads=1, d_ff=5)
    assert Translator(replace(parts, model=Transformer(config).eval())).limit == LIMIT - 1


def test_streaming_reads_a_bounded_number_of_lines_ahead(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translate.text.formats, "WINDOW", 30)
    lines = iter(["Ja."] * 1000)
    found = translator.translate_lines(lines)
    next(found)
    assert len(list(zip(range(15), found, strict=False))) == 15
    next(found)
    assert len(list(lines)) == 1000 - 16 - 30


def test_the_first_window_of_an_iterator_is_small_and_that_of_a_list_is_not(translator: Translator) -> None:
    n_read = 0

    def texts() -> Iterator[str]:
        nonlocal n_read
        for n_read in range(1, 10_000):  # noqa: B007
            yield "Ja."

    for method in (translator, translator.passages, translator.translate_lines):
        next(method(texts()))
        assert n_read == FIRST_TEXTS


@pytest.mark.parametrize("wrong", [None, 3, "x\ud800"])
def test_a_wrong_text_does_not_lose_the_results_before_it(translator: Translator, wrong: str) -> None:
    for method in (translator, translator.passages, translator.translate_lines):
        found = method(iter(["Ja.", "der Hund", wrong, "Ja."]))
        next(found), next(found)
        with pytest.raises((UserError, TypeError), match=r"^(text 3 is (None|3), which is no text|line 3: not UTF-8)"):
            next(found)


def test_a_name_instead_of_a_model_gets_a_sentence() -> None:
    with pytest.raises(TypeError, match=r"expected an open model, not 'de-en'; Translator.load\('de-en'\) opens it"):
        Translator("de-en")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([Document(format="html")], "search is of the type Document; expected search=Search(...)"),
        ([None, Opening(threads=1)], "document is of the type Opening; expected document=Document(...)"),
        ([{"beam_size": 2}], "search is of the type dict; expected search=Search(...)"),
    ],
)
def test_options_in_the_place_of_others_are_refused(parts: ModelFolder, options: list[Any], said: str) -> None:
    for call in (Translator.load, Translator):
        with pytest.raises(TypeError, match=re.escape(said)):
            call(parts, *options)


def test_a_second_name_of_the_model_is_refused(parts: ModelFolder) -> None:
    with pytest.raises(TypeError, match="two models are named, .* and model='en-de'; leave the latter out"):
        Translator.load(parts.folder, opening=Opening(model="en-de"))


def test_a_translator_shows_its_languages_and_its_model(parts: ModelFolder) -> None:
    assert repr(Translator(parts)) == f"<Translator from de to en, {parts.folder}>"


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_several_threads_use_one_translator(parts: ModelFolder, engine: EngineName) -> None:
    translator = Translator.load(parts.folder, opening=Opening(engine=engine, device="cpu"))
    alone = [translator(text) for text in PLAIN]
    with ThreadPoolExecutor(len(PLAIN)) as threads:
        assert [*threads.map(translator, PLAIN)] == alone


def test_more_translations_than_the_beam_has_are_refused(parts: ModelFolder) -> None:
    """A wider beam for a longer list would have another best translation."""
    with pytest.raises(UserError, match="n_best = 3: a beam of 2 has fewer translations"):
        Translator(parts, Search(beam_size=2)).n_best(["der Hund"], 3)
    with pytest.raises(UserError, match="n_best = 0: must be at least 1"):
        Translator(parts).n_best(["der Hund"], 0)
    with pytest.raises(UserError, match="n = -1: must be at least 0"):
        Translator(parts).alternatives("der Hund", -1)


def test_lines_without_checks_are_those_of_the_model_alone_and_calling_is_translating(parts: ModelFolder) -> None:
    lines = [line for line in mixture(60) if "\n" not in line]
    bare = Translator(parts, document=Document(format="lines", checks=False))
    expected = [t.text for t in bare.translate_lines(lines)]
    assert [t.text for t in bare.passages(lines)] == expected
    assert bare("\n".join(lines)) == bare.translate("\n".join(lines)) == "\n".join(expected)


def test_a_line_without_tokens_is_copied(parts: ModelFolder) -> None:
    """Tokenizers of imported models drop some invisible characters."""
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=file, vocab_size=41, normalization_rule_name="nmt_nfkc",
        pad_id=0, bos_id=1, eos_id=2, unk_id=3, minloglevel=2,
    )  # fmt: skip
    tokenizer = Tokenizer(file.getvalue())
    assert tokenizer.encode("\u200b") == []
    translator = Translator(replace(parts, tokenizer=tokenizer, model=random_model(tokenizer)))
    blank, other = [*translator.translate_lines(["\u200b", "der Hund"])]
    assert blank == Translation("\u200b")
    assert other.n_segments == 1


def test_an_unpaired_surrogate_is_refused_with_its_line(translator: Translator) -> None:
    with pytest.raises(UserError, match="line 3"):
        [*translator.translate_lines(["Ja.", "", "x\ud800"])]


def test_a_model_without_finite_probabilities_is_refused(parts: ModelFolder) -> None:
    model = Transformer(parts.model.config).eval()
    torch.nn.init.constant_(model.output_weight, float("nan"))
    with pytest.raises(UserError, match="not finite"):
        [*Translator(replace(parts, model=model)).translate_lines(["Ja."])]


@pytest.mark.parametrize("rule", ["average", "none"])
def test_each_length_penalty_scores_by_its_rule_and_only_gnmt_has_an_alpha(
    parts: ModelFolder, rule: Literal["average", "none"]
) -> None:
    by_rule = Translator(parts, Search(length_penalty=rule))
    for found in by_rule.translate_lines(["der Hund", "die Katze singt. "]):
        n_tokens = len(found.tokens) + 1
        assert found.score == found.log_prob / (n_tokens if rule == "average" else 1)
    assert [t.score for t in by_rule.translate_lines(["", " "])] == [0.0, 0.0]
    with pytest.raises(UserError, match=f"belongs to the length penalty gnmt, and here it is {rule}"):
        Translator(parts, Search(length_penalty=rule, alpha=0.6))


def test_the_length_penalty_of_the_folder_is_the_default(parts: ModelFolder) -> None:
    decoding = replace(parts.spec.decoding, length_penalty="average")
    averaging = replace(parts, spec=replace(parts.spec, decoding=decoding))
    averaged, gnmt = Search(length_penalty="average"), Search(length_penalty="gnmt")
    for one, other in (
        (Translator(averaging), Translator(parts, averaged)),
        (Translator(averaging, gnmt), Translator(parts)),
    ):
        assert [*one.translate_lines(["am See"])] == [*other.translate_lines(["am See"])]


def test_beam_and_alpha_replace_those_of_the_folder(parts: ModelFolder) -> None:
    decoding = Translator(parts, Search(beam_size=3, alpha=0.0)).sentence_search.config
    assert (decoding.beam_size, decoding.alpha, decoding.max_extra) == (3, 0.0, parts.spec.decoding.max_extra)
    with pytest.raises(UserError, match="beam_size = 0"):
        Translator(parts, Search(beam_size=0))


def test_threads_whose_buffers_would_take_all_memory_are_refused() -> None:
    with pytest.raises(UserError, match="threads = 5000"):
        Opening(threads=5000)


def test_scores_are_log_probabilities(translator: Translator) -> None:
    for translation in translator.translate_lines(PLAIN):
        assert translation.log_prob < 0
        assert translation.score == pytest.approx(
            translation.log_prob / ((5 + len(translation.tokens) + 1) / 6) ** 0.6, rel=1e-6
        )


def test_what_load_is_given_reaches_the_models_and_the_translator(
    parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, Opening]] = []

    def opener(name: str, source: str, target: str) -> Callable[..., TorchEngine]:
        folder = replace(parts, spec=replace(parts.spec, source=source, target=target))

        def opens(path: Path, opening: Opening, target: str | None = None) -> TorchEngine:
            opened.append((name, opening))
            return TorchEngine(folder)

        return opens

    monkeypatch.setattr("translate.inference.translator.open_engine", opener("model", "de", "en"))
    monkeypatch.setattr("translate.inference.translator.open_scorer", opener("reranker", "en", "de"))
    search = Search(beam_size=3, alpha=0.25, length_penalty="gnmt", rerank=parts.folder)
    document = Document(checks=False, format="tsv", column=2)
    opening = Opening(engine="torch", precision="fp32", device="cpu", threads=1)
    loaded = Translator.load(parts.folder, search, document, opening, say=print)
    assert opened == [("model", opening), ("reranker", opening)]
    assert loaded.document == document
    assert (loaded.sentence_search.config.beam_size, loaded.sentence_search.config.alpha) == (3, 0.25)
    assert loaded.reranker is not None


def test_loading_a_run_gives_the_model_in_it(parts: ModelFolder, translator: Translator) -> None:
    run = Path(parts.folder).parent
    loaded = Translator.load(run, opening=Opening(device="cpu", engine="torch"))
    assert [*loaded.translate_lines(PLAIN)] == [*translator.translate_lines(PLAIN)]


def test_links_of_markdown_follow_the_headings_that_they_name(parts: ModelFolder) -> None:
    """Also from a window before that of the heading, and from a paragraph that is translated line by line."""
    said = {"Das Haus": "The House", "Wir": "We", "siehe": ""}
    stub = Stubbed(parts, lambda text: re.sub("|".join(said), lambda word: said[word[0]], text))
    text = "siehe\n[Wir](#wir)\n\n- [Das Haus](#das-haus)\n\n# Das Haus\n\n# Wir\n"
    expected = "siehe\n[We](#we)\n\n- [The House](#the-house)\n\n# The House\n\n# We\n"
    assert stub.for_format("markdown")(text) == expected


@pytest.mark.parametrize("wrong", [None, 5, b"der Hund", {"der Hund": 1}])
def test_a_call_refuses_at_once_what_is_no_text(translator: Translator, wrong: object) -> None:
    with pytest.raises(TypeError, match=f"not {type(wrong).__name__}"):
        translator(wrong)  # type: ignore[call-overload]


def test_a_call_returns_a_text_for_a_text_a_list_for_a_list_and_an_iterator_for_an_iterator(parts: ModelFolder) -> None:
    echo = Echo(parts)
    text = "der Hund singt. Ja!\n\n  am See {x}\n"
    assert echo(text) == "DER HUND SINGT. JA!\n\n  AM SEE {x}\n"
    assert echo([text, "", "ja"]) == [echo(text), "", "JA"]
    assert echo(("ja", "nein")) == ["JA", "NEIN"]
    lines = (f"zeile {i}" for i in range(10_000))
    assert [next(echo(lines)) for _ in range(1)] == ["ZEILE 0"]
    assert len(list(lines)) > 8_000


def test_a_call_gives_the_same_translations_as_passages(translator: Translator) -> None:
    lines = mixture(60)
    found = translator("\n".join(line.replace("\n", " ") for line in lines))
    assert found.split("\n") == [t.text for t in translator.passages(lines)]


def test_no_passage_depends_on_its_neighbours_or_its_batch(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with retries, placeholders, splitting and joining."""
    extra = ["DER HUND SINGT!", "Ja {x}. Nein %s!", "The dog that you have is not here.", "3,50", LONG[0] + ". Ja."]
    lines = [*PLAIN, *BLANK, *ODD, *extra]
    together = list(translator.passages(lines))
    order = random.Random(5).sample(range(len(lines)), len(lines))
    assert list(translator.passages([lines[i] for i in order])) == [together[i] for i in order]
    monkeypatch.setattr(translate.inference.search, "BATCH_HYPOTHESES", 1)
    monkeypatch.setattr(translate.text.formats, "WINDOW", 7)
    alone = list(translator.passages(lines))
    assert [(t.text, t.tokens, t.flags) for t in alone] == [(t.text, t.tokens, t.flags) for t in together]
    assert [t.log_prob for t in alone] == pytest.approx([t.log_prob for t in together], abs=1e-4)


def test_passages_are_read_a_bounded_number_of_characters_ahead(translator: Translator) -> None:
    lines = iter(["x" * 30_000] * 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            translator.sentence_search, "translate", lambda lines, **_: [[Translation(line)] for line in lines]
        )
        next(translator.translate_lines(lines))
    assert len(list(lines)) == 100 - 9


@pytest.mark.parametrize("lengths", [(7, None), (7, 30), (30, 7), (None, 7)])
def test_long_sentences_are_split_in_passages_but_not_in_lines(
    lengths: tuple[int | None, int | None], parts: ModelFolder
) -> None:
    spec = replace(parts.spec, max_source_tokens=lengths[0], best_source_tokens=lengths[1])
    short = Translator(replace(parts, spec=spec))
    line = "der Hund singt im Haus, die Katze läuft am See"
    assert 7 < len(parts.tokenizer.encode(line)) <= short.limit
    (passage,), (sentence,) = short.passages([line]), [*short.translate_lines([line])]
    assert (passage.split, passage.flags[-1], sentence.split) == (True, "split", False)
    assert not next(Translator(parts).passages([line])).split


def test_the_n_best_are_those_of_the_search_best_first(parts: ModelFolder) -> None:
    lines = ["der Hund singt", " ", "am See"]
    wide = Translator(parts, Search(beam_size=5))
    found = list(wide.n_best(lines, 5))
    assert [len(best) for best in found] == [5, 1, 5]
    assert [best[0] for best in found] == [*wide.translate_lines(lines)]
    for best in found:
        assert [t.score for t in best] == sorted((t.score for t in best), reverse=True)
        assert len({tuple(t.tokens) for t in best}) == len(best)


def test_an_overlong_translation_is_searched_again_and_flagged(parts: ModelFolder) -> None:
    class Verbose(SentenceSearch):
        """Answers with a long sentence, or with a short one if repetitions are excluded."""

        def hypotheses(
            self, requests: Iterable[Request], n_best: int, no_repeat: int
        ) -> dict[Request, list[Hypothesis]]:
            said = self.engine.tokenizer.encode("Ja." if no_repeat else "der Hund singt im Haus, ein Vogel am See.")
            return {request: [Hypothesis(said, -0.5 * (len(said) + 1), -0.5)] * n_best for request in requests}

    translator = Translator(parts)
    translator.sentence_search = Verbose(translator.engine, translator.sentence_search.config)
    (found,) = translator.passages(["am See"])
    assert (found.text, "repetition" in found.flags) == ("Ja.", True)


def test_confidence_is_the_mean_log_probability_of_a_token(translator: Translator) -> None:
    for translation in translator.translate_lines(PLAIN):
        assert translation.confidence == pytest.approx(translation.log_prob / (len(translation.tokens) + 1))


def test_placeholders_are_symbols_where_the_tokenizer_has_them(parts: ModelFolder) -> None:
    own = train([*SENTENCES, "ein Wort"], TokenizerConfig(vocab_size=340, placeholders=2))
    model = random_model(own)
    echo = Echo(replace(parts, tokenizer=own, model=model))
    (both,) = echo.passages(["Ja {name} und %s."])
    (many,) = echo.passages(["Ja {a} {b} {c}."])
    assert (both.text, both.flags) == ("JA {name} UND %s.", ())
    assert (many.text, many.flags) == ("JA {a} {b} {c}.", ("placeholders",))


def test_a_single_text_is_not_taken_for_a_list(parts: ModelFolder) -> None:
    translator = Translator(parts, Search(beam_size=2))
    for method in (translator.translate_lines, translator.passages):
        with pytest.raises(TypeError, match="calling the translator"):
            list(method("ein Hund"))


@given(st.text("a \t\n", max_size=12))
def test_a_line_break_and_the_white_space_around_it_are_one_space(text: str) -> None:
    assert one_line(text) == re.sub(r"[ \t]*\n[ \t]*", " ", text.removesuffix("\n"))
    assert one_line(text.replace("\n", "\r\n") + "x") == one_line(text + "x")


def test_long_white_space_takes_no_longer_than_other_text() -> None:
    """A quadratic rule took 22 seconds for 60,000 spaces, which could block a server."""
    start = time.process_time()
    assert one_line("a" + " " * 500_000 + "b").startswith("a ")
    assert time.process_time() - start < 5
