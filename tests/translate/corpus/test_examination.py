"""The data doctor finds planted faults and reports nothing in clean text."""

import signal
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.commands.data import report
from translate.commands.main import main
from translate.config.load import parse
from translate.config.schema import ExperimentConfig, TrainingConfig
from translate.corpus import examination, prepare, tokenizer
from translate.corpus.examination import Examination, SampleVocabulary, examine, histogram, quantile
from translate.corpus.grammar import generate
from translate.errors import UserError

CLEAN = list(generate("train", 120, 3))
PLANTED = {
    "numbers": ("Wir haben 1945 viele Kinder gesehen.", "We saw many children."),
    "foreign target": ("Der Hund schläft heute im Garten.", "Le chien dort aujourd'hui dans le jardin."),
    "foreign source": ("The children are playing in the garden today.", "The children are playing there today."),
    "end of sentence": ("Kommst du heute mit uns?", "You are coming with us today."),
    "encoding": ("Die TÃ¼r ist offen.", "The door is open."),
    "control characters": ("Das Haus\x07 ist alt.", "The house is old."),
}


def experiment(folder: Path, pairs: list[tuple[str, str]], valid: list[tuple[str, str]]) -> ExperimentConfig:
    for name, chosen in (("train", pairs), ("valid", valid)):
        for language, side in zip(("de", "en"), zip(*chosen, strict=True), strict=True):
            (folder / f"{name}.{language}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    data = {
        **{"source": "de", "target": "en", "root": str(folder)},
        "train": [{"source": "train.de", "target": "train.en"}],
        "valid": {"source": "valid.de", "target": "valid.en"},
    }
    return parse({"data": data, "tokenizer": {"vocab_size": 300}}, "toy")


@pytest.fixture
def found(tmp_path: Path) -> Examination:
    held_out = list(generate("valid", 5, 3))
    return examine(experiment(tmp_path, [*CLEAN, *PLANTED.values(), CLEAN[0], held_out[0], ("Ja", "")], held_out))


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(found: Examination, name: str) -> None:
    assert PLANTED[name] in found.checks[name].examples


def test_a_french_sentence_ends_before_the_space_of_its_quotation_mark(tmp_path: Path) -> None:
    pairs = [*CLEAN, ("Er sagt: «\u202fJa!\u202f»", "He says: “Yes!”"), ("Er sagt: « Ja! »", "He says: “Yes.”")]
    checked = examine(experiment(tmp_path, pairs, CLEAN[:5])).checks["end of sentence"]
    assert [pair for pair in pairs[-2:] if pair in checked.examples] == pairs[-1:]


@pytest.mark.parametrize("name", ["numbers", "encoding", "control characters"])
def test_nothing_else_is_suspicious(found: Examination, name: str) -> None:
    assert set(found.checks[name].examples) == {PLANTED[name]}
    assert found.checks[name].count == 1


def test_pairs_that_prepare_would_drop_are_counted_by_rule(found: Examination) -> None:
    n_doubles = len(CLEAN) - len(set(CLEAN))
    assert found.cleaning.dropped["duplicate"] == n_doubles + 1
    assert found.cleaning.dropped["empty"] == 1
    assert found.cleaning.dropped["test_overlap"] >= 1
    assert found.cleaning.read == found.n_checked == len(CLEAN) + len(PLANTED) + 3


def test_equal_sides_that_prepare_keeps_are_not_counted_as_dropped(tmp_path: Path) -> None:
    config = experiment(tmp_path, [*CLEAN, ("Oslo", "Oslo")], CLEAN[:2])
    assert examine(config).cleaning.dropped["identical"] == 1
    kept = [source.model_copy(update={"keep_identical": True}) for source in config.data.train]
    config = config.model_copy(update={"data": config.data.model_copy(update={"train": kept})})
    assert not examine(config).cleaning.dropped["identical"]


def test_lengths_are_those_of_all_pairs(found: Examination) -> None:
    assert [counts.total() for counts in found.lengths] == [found.cleaning.read] * 2
    assert found.lengths[1][0] == 1
    assert found.n_sides[0] <= found.cleaning.read - 1


def test_vocabularies_get_fewer_tokens_and_rarer_pieces_as_they_grow(found: Examination) -> None:
    sizes = [one.size for one in found.vocabularies]
    assert 300 in sizes
    assert sizes == sorted(sizes)
    assert all(0 <= one.unknown <= 1 and 0 <= one.frequent <= 1 for one in found.vocabularies)
    tokens = [one.tokens_per_sentence for one in found.vocabularies]
    assert tokens == sorted(tokens, reverse=True)


def test_the_largest_vocabulary_with_enough_examples_of_its_pieces_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_SIZES", (100, 400)), ("_OFTEN", 4), ("_SHARE", 0.84)):
        monkeypatch.setattr(examination, name, value)
    found = examine(experiment(tmp_path, CLEAN, CLEAN[:3]))
    enough = {one.size: one.frequent >= 0.84 for one in found.vocabularies}
    assert found.suggested is not None
    assert enough[found.suggested]
    assert not any(enough[size] for size in enough if size > found.suggested)
    assert found.suggested < max(enough)


def test_without_enough_examples_the_vocabulary_that_comes_nearest_is_named(tmp_path: Path, found: Examination) -> None:
    """Small vocabularies may have the larger share of rare pieces, as their characters are rare."""
    shares = {300: 0.86, 500: 0.92, 700: 0.49}
    vocabularies = [SampleVocabulary(size, 9.0, 0.0, share) for size, share in shares.items()]
    chapters = report(experiment(tmp_path, CLEAN, CLEAN[:3]), replace(found, vocabularies=vocabularies, suggested=None))
    assert "500 comes nearest" in chapters[-1].note


@pytest.mark.parametrize("size", [270, 330, 9999])
def test_the_report_says_why_prepare_will_refuse_the_vocabulary(tmp_path: Path, size: int) -> None:
    """All pieces of 256 bytes and the characters need more than 270; the text has fewer than 9,999."""
    config = experiment(tmp_path, CLEAN, CLEAN[:1])
    config = config.model_copy(update={"tokenizer": config.tokenizer.model_copy(update={"vocab_size": size})})
    try:
        prepare.prepare(config, tmp_path / "prepared", say=lambda _: None)
        why = ""
    except UserError as error:
        why = str(error)
    assert bool(why) == (size != 330)
    found = examine(config)
    assert found.refusal == why
    assert why in report(config, found)[-1].note


def test_more_text_than_was_read_may_have_the_pieces_of_a_large_vocabulary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "SAMPLE", 10)
    config = experiment(tmp_path, CLEAN, CLEAN[:1])
    large = config.tokenizer.model_copy(update={"vocab_size": 9999})
    assert not examine(config.model_copy(update={"tokenizer": large})).refusal


def test_no_pairs_is_a_mistake(tmp_path: Path) -> None:
    config = experiment(tmp_path, CLEAN[:1], CLEAN[:1])
    for name in ("train.de", "train.en"):
        (tmp_path / name).write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"data.train: has no pairs to examine"):
        examine(config)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=30), st.floats(0.01, 1.0))
def test_a_quantile_is_the_value_that_the_given_share_does_not_exceed(values: list[int], share: float) -> None:
    found = quantile(Counter(values), share)
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values)


@given(st.lists(st.integers(0, 400), max_size=30))
def test_a_histogram_counts_every_sentence_once(lengths: list[int]) -> None:
    assert sum(histogram(Counter(lengths)).values()) == len(lengths)


def test_the_command_prints_a_report_and_writes_a_page_that_needs_no_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment(tmp_path, [*CLEAN, *PLANTED.values(), ("<script>x", "<script>y")], CLEAN[:3])
    monkeypatch.chdir(tmp_path)
    Path("toy.toml").write_text(
        '[data]\nsource = "de"\ntarget = "en"\ntrain = [{ source = "train.de", target = "train.en" }]\n'
        'valid = { source = "valid.de", target = "valid.en" }\n[tokenizer]\nvocab_size = 300\n',
        encoding="utf-8",
    )
    assert main(["data", "toy.toml", "--html", "page.html"]) == 0
    said = capsys.readouterr().out
    assert all(title in said for title in ("PAIRS", "LENGTHS", "CONTENT", "VOCABULARY"))
    assert "numbers: Wir haben 1945" in said
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Wir haben 1945" in page
    assert "http" not in page
    assert "<script>x" not in page
    for existing in ("toy.toml", "page.html"):
        before = Path(existing).read_bytes()
        assert main(["data", "toy.toml", "--html", existing]) == 2
        assert f"{existing}: exists already" in capsys.readouterr().err
        assert Path(existing).read_bytes() == before
    assert main(["data", "toy.toml", "--html", "page.html", "--force"]) == 0


def interrupted(sentences: Iterable[str], *rest: Any) -> tokenizer.Tokenizer:
    """Train, and press Ctrl-C while SentencePiece asks for sentences."""

    def slowly() -> Iterator[str]:
        for n, sentence in enumerate(sentences):
            if n == 7:
                signal.raise_signal(signal.SIGINT)
            yield sentence

    return TRAIN(slowly(), *rest)


TRAIN = tokenizer.train


@pytest.mark.parametrize("command", ["data", "prepare", "train"])
def test_ctrl_c_while_a_vocabulary_is_trained_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """`translate data` would skip the size and suggest another one."""
    config = experiment(tmp_path, CLEAN, CLEAN[:3]).model_copy(update={"training": TrainingConfig(max_steps=1)})
    (tmp_path / "toy.json").write_text(config.model_dump_json(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(examination if command == "data" else prepare, "train", interrupted)
    assert main([command, "toy.json"]) == 130
    said = capsys.readouterr()
    assert "SentencePiece" not in said.err
    assert "VOCABULARY" not in said.out
    assert not Path("prepared/toy").exists()


def test_a_failure_of_sentencepiece_is_not_taken_for_a_size_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise UserError("SentencePiece could not train the tokenizer")

    monkeypatch.setattr(examination, "train", fail)
    with pytest.raises(UserError, match="SentencePiece could not"):
        examine(experiment(tmp_path, CLEAN, CLEAN[:3]))
