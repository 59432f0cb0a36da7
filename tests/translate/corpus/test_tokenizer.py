"""The tokenizer restores every text exactly and is the same for the same training sentences."""

import functools
import io
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2

from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, WordEncoder, sample, train
from translate.errors import Terminated, UserError
from translate.text.placeholders import symbol

WORDS = ["der", "Hund", "die", "Katze", "das", "Haus", "läuft", "schläft", "brennt", "nicht", "schnell"]
WORDS += ["the", "dog", "cat", "house", "runs", "sleeps", "burns", "quickly", "3", "12"]
SENTENCES = [f"{a} {b} {c}." for a in WORDS for b in WORDS for c in WORDS[::5]]
Algorithm = Literal["bpe", "unigram"]
# Unusual text that a data set may contain; the tokenizer is trained on it too.
ODD = [
    "▁▁ a▁b",
    "\x10\x10_",
    "tab\tand\nnewline\r\n",
    "\0",
    "a\0b",
    "  two  spaces  ",
    "▅",
    "⁇",
    "<s> </s> <unk> <0x41>",
    "",
]

any_text = st.text(max_size=40)
# Spaces, escapes and similar characters, far more often than in random text.
hard_text = st.text(alphabet=" ▁_\x10\0\t\r\n\u0085\u2028\ufeff\ufffd⁇▅a.ß<>⟦13⟧", max_size=15)


@pytest.fixture(scope="module", params=[("bpe", 0), ("unigram", 0), ("bpe", 3)], ids=["bpe", "unigram", "placeholders"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    algorithm, placeholders = request.param
    config = TokenizerConfig(vocab_size=307, algorithm=algorithm, placeholders=placeholders)
    return train(SENTENCES + ODD * 3, config)


@given(text=any_text | hard_text)
@example("▁")
@example(" ▁ ▁")
@example("\x10_")
@example("\x10▁\x10")
@example("\0")
@example("\ufeff")
@example("<s>")
def test_decoding_restores_every_text(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_every_tag_that_the_settings_accept_is_one_piece(algorithm: Algorithm) -> None:
    tags = ("<BT>", "<ä>", "a,b", '"q"', "\\t", "{0}", "der", "<0x0a>", "<S>", "⟦0⟧")
    config = TokenizerConfig(vocab_size=313, algorithm=algorithm, placeholders=3, tags=tags)
    tokenizer = train(SENTENCES, config, config.tags)
    for tag in tags:
        assert tag in tokenizer.tokens(tokenizer.encode(f"{tag} Hund"))


@given(text=any_text | hard_text)
def test_byte_fallback_leaves_no_unknown_token(tokenizer: Tokenizer, text: str) -> None:
    assert not {PAD, BOS, EOS, UNK} & set(tokenizer.encode(text))


@given(texts=st.lists(any_text | hard_text, max_size=5), n_copies=st.sampled_from([1, 71]))
def test_encoding_a_batch_equals_encoding_each_text(tokenizer: Tokenizer, texts: list[str], n_copies: int) -> None:
    texts = texts * n_copies  # few and many texts are encoded in different ways
    ids = tokenizer.encode_batch(texts)
    assert ids == [tokenizer.encode(text) for text in texts]
    assert [tokenizer.decode(one) for one in ids] == texts


@given(chunks=st.lists(st.lists(any_text | hard_text, max_size=5), max_size=3))
@example(chunks=[["", " ", "  a", "a  b ", "Hund Hund"], ["Hund \u2581 \x10_", "a\tb"]])
def test_encoding_words_once_equals_encoding_each_text(tokenizer: Tokenizer, chunks: list[list[str]]) -> None:
    encoder = WordEncoder(tokenizer)
    for texts in chunks:
        assert word_ids(encoder, texts) == [tokenizer.encode(text) for text in texts]


def test_ids_of_more_than_two_bytes_are_encoded_whole(tokenizer: Tokenizer) -> None:
    model = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.serialized)
    symbols = [f"<{i}>" for i in range(2**16)]
    model.pieces.extend(model.SentencePiece(piece=symbol, type=model.SentencePiece.USER_DEFINED) for symbol in symbols)
    large = Tokenizer(model.SerializeToString())
    texts = [f"der Hund {symbols[-1]}", "der Hund"]
    assert max(large.encode(texts[0])) >= 2**16
    assert word_ids(WordEncoder(large), texts) == [large.encode(text) for text in texts]


def word_ids(encoder: WordEncoder, texts: list[str]) -> list[list[int]]:
    return [np.frombuffer(ids, encoder.tokenizer.id_type).tolist() for ids in encoder(texts)]


@functools.cache
def foreign_tokenizer(rule: str, suffix: bool, across: bool) -> Tokenizer:
    """A model that this project does not train; with `across`, pieces may have spaces within."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=model,
        model_type="bpe",
        vocab_size=501 if across else 317,
        byte_fallback=True,
        normalization_rule_name=rule,
        remove_extra_whitespaces=rule != "identity",
        treat_whitespace_as_suffix=suffix,
        split_by_whitespace=not across,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        unk_id=UNK,
        minloglevel=2,
    )
    return Tokenizer(model.getvalue())


@pytest.mark.parametrize(
    "kind", [("identity", True, False), ("nmt_nfkc", False, False), ("identity", False, True)], ids=str
)
@given(texts=st.lists(hard_text | st.sampled_from(SENTENCES), max_size=5))
@example(texts=["der Hund der Hund das", " der  Hund ", "\u2460 \u00bd a\tb"])
def test_a_tokenizer_whose_pieces_depend_on_spaces_encodes_whole_texts(
    kind: tuple[str, bool, bool], texts: list[str]
) -> None:
    tokenizer = foreign_tokenizer(*kind)
    assert word_ids(WordEncoder(tokenizer), texts) == [tokenizer.encode(text) for text in texts]


@given(texts=st.lists(hard_text, max_size=9))
def test_words_that_are_forgotten_change_no_id(tokenizer: Tokenizer, texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translate.corpus.tokenizer._MOST_WORDS", 3)
        encoder = WordEncoder(tokenizer)
        assert word_ids(encoder, texts) == [tokenizer.encode(text) for text in texts]


@given(ids=st.lists(st.integers(0, 306), max_size=12))
def test_any_ids_decode_to_text(tokenizer: Tokenizer, ids: list[int]) -> None:
    """A model may output any sequence of ids; decoding must return valid Unicode without an error."""
    tokenizer.decode(ids).encode("utf-8")


@given(text=hard_text, control=st.lists(st.sampled_from([PAD, BOS, EOS]), min_size=1, max_size=3))
def test_padding_beginning_and_end_vanish_in_decoding(tokenizer: Tokenizer, text: str, control: list[int]) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode([*control, *ids[:2], *control, *ids[2:], *control]) == text


def test_a_word_has_the_same_pieces_at_any_position(tokenizer: Tokenizer) -> None:
    dog = tokenizer.encode("Hund")
    assert tokenizer.encode("Hund Hund") == dog + dog


def test_the_space_symbol_of_the_text_is_not_a_space(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("a▁b") != tokenizer.encode("a b")


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_the_same_sentences_give_the_same_pieces(algorithm: Algorithm) -> None:
    config = TokenizerConfig(vocab_size=290, algorithm=algorithm)
    assert train(SENTENCES, config).serialized == train(iter(SENTENCES), config).serialized


@given(total=st.integers(0, 31), n=st.integers(0, 40))
def test_a_sample_is_reproducible_and_keeps_size_and_order(total: int, n: int) -> None:
    texts = [str(i) for i in range(total)]
    chosen = list(sample(texts, total, n))
    assert len(chosen) == min(n, total)
    assert chosen == sorted(set(chosen), key=int) == list(sample(iter(texts), total, n))
    assert set(chosen) <= set(texts)


def test_a_sample_is_drawn_evenly_from_all_parts() -> None:
    """A tenth of each tenth, within five standard deviations; corpora are often sorted by origin."""
    chosen = np.array([int(text) for text in sample(map(str, range(70_000)), 70_000, 7_000)])
    counts = np.histogram(chosen, bins=10, range=(0, 70_000))[0]
    assert abs(counts - 700).max() < 5 * (700 * 0.9 * 0.9) ** 0.5


def test_special_ids_come_first_in_every_vocabulary(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens([PAD, BOS, EOS, UNK]) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert tokenizer.vocab_size == 307
    assert tokenizer.unk == UNK


def test_pieces_join_to_the_text(tokenizer: Tokenizer) -> None:
    assert "".join(tokenizer.tokens(tokenizer.encode("the dog sleeps."))) == "▁the▁dog▁sleeps."


def test_a_saved_tokenizer_loads_as_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    assert loaded.serialized == tokenizer.serialized == path.read_bytes()
    assert loaded.encode("die Katze") == tokenizer.encode("die Katze")


def test_training_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    train(SENTENCES, TokenizerConfig(vocab_size=310))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_a_vocabulary_too_large_names_the_setting_and_a_size_that_works(algorithm: Algorithm) -> None:
    sentences = ["der Hund läuft", "the dog runs"] * 3
    with pytest.raises(UserError, match=r"tokenizer\.vocab_size = 999 is too large .* at most \d+") as caught:
        train(sentences, TokenizerConfig(vocab_size=999, algorithm=algorithm))
    largest = int(str(caught.value).split("at most ")[1].split(",")[0])
    assert train(sentences, TokenizerConfig(vocab_size=largest, algorithm=algorithm)).vocab_size == largest


def test_a_vocabulary_too_small_for_its_characters_says_how_many_it_needs() -> None:
    with pytest.raises(UserError, match=r"tokenizer\.vocab_size = 100 is too small.* need (\d+)"):
        train(SENTENCES, TokenizerConfig(vocab_size=100))


@pytest.mark.parametrize("sentences", [[], [""]])
def test_no_text_is_an_error(sentences: list[str]) -> None:
    with pytest.raises(UserError, match="no text"):
        train(sentences, TokenizerConfig(vocab_size=300))


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        Terminated(),
        UserError("corpus.de, line 2: not UTF-8 text"),
        OSError(5, "Input/output error", "corpus.de"),
        RuntimeError("SentencePiece <= 42"),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("n_before", [0, 1, 300])
def test_an_exception_of_the_sentences_is_that_of_training(error: BaseException, n_before: int) -> None:
    """SentencePiece makes a RuntimeError of its name: Ctrl-C would be a mistake of the user."""

    def broken() -> Iterator[str]:
        yield from ["der Hund"] * n_before
        raise error

    with pytest.raises(type(error)) as caught:
        train(broken(), TokenizerConfig(vocab_size=300))
    assert caught.value is error


INTERRUPTED = """
import os, random, signal, sys, threading
from translate.commands import main
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import train

def sentences():
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 12))) for _ in range(50_000)]
    for _ in range(20_000):
        yield " ".join(draw.choices(words, k=20))
    print("computes", flush=True)

signal.signal(signal.SIGINT, signal.default_int_handler)
main._run = lambda _: train(sentences(), TokenizerConfig(vocab_size=8000, algorithm="unigram"))
main.program()
"""


def seconds_of_children() -> float:
    """The processor time of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the time of a running process is read in /proc")
def test_ctrl_c_ends_the_computation_of_sentencepiece_at_once() -> None:
    """It waited for SentencePiece, which takes minutes for a large corpus: no signal reaches Python meanwhile."""
    before = seconds_of_children()
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "computes\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        ticks = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        used = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        assert process.wait(60) == 130
    assert seconds_of_children() - before - used < 1.5  # of the 6 that the computation takes


def test_without_byte_fallback_a_new_character_is_unknown() -> None:
    tokenizer = train(SENTENCES, TokenizerConfig(vocab_size=100, byte_fallback=False))
    assert UNK in tokenizer.encode("Ω")
    assert "\u2047" in tokenizer.decode(tokenizer.encode("Ω"))


@pytest.mark.parametrize("content", [b"", b"no model", b"\0" * 100])
def test_a_file_that_is_not_a_tokenizer_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"tokenizer\.model"):
        Tokenizer.load(path)


def test_a_cut_off_tokenizer_is_refused_by_name(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(tokenizer.serialized[: len(tokenizer.serialized) // 2])
    with pytest.raises(UserError, match=r"tokenizer\.model"):
        Tokenizer.load(path)


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"absent\.model: cannot read the tokenizer"):
        Tokenizer.load(tmp_path / "absent.model")


def test_a_foreign_tokenizer_with_other_special_ids_is_refused(tmp_path: Path) -> None:
    """In SentencePiece's defaults id 0 is <unk>, but here it is padding."""
    prefix = tmp_path / "foreign"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_prefix=str(prefix), vocab_size=40, minloglevel=2
    )
    with pytest.raises(UserError, match="ids of pad, bos, eos and unk"):
        Tokenizer.load(prefix.with_suffix(".model"))


@given(before=hard_text, after=hard_text, i=st.integers(0, 2))
def test_a_placeholder_is_one_piece_next_to_any_text(before: str, after: str, i: int) -> None:
    """A model copies one symbol reliably, but not an arbitrary string."""
    piece = symbol(i)
    pieces = with_placeholders().tokens(with_placeholders().encode(before + piece + after))
    assert pieces.count(piece) == (before + piece + after).count(piece)


def test_the_number_of_placeholders_is_the_configured_one() -> None:
    assert with_placeholders().n_placeholders == 3
    assert len(set(map(symbol, range(99)))) == 99
    assert train(SENTENCES, TokenizerConfig(vocab_size=307)).n_placeholders == 0


@functools.cache
def with_placeholders() -> Tokenizer:
    return train([*SENTENCES, "a ⟦1⟧b⟦3⟧"], TokenizerConfig(vocab_size=307, placeholders=3))


def test_a_word_with_letters_that_are_bytes_or_were_joined_with_no_other_is_unknown() -> None:
    tokenizer = train([*SENTENCES, "ř", "ř ż"], TokenizerConfig(vocab_size=320))
    known = ["der", "Häuser", "läuft", "x", "ZZ"]
    assert [word for word in [*known, "Dvořák", "dvořák", "漢", "\u0416"] if not tokenizer.knows(word)] == [
        "Dvořák", "dvořák", "漢", "\u0416"
    ]  # fmt: skip
    assert tokenizer.knows("ř")
    assert not tokenizer.knows("Bř")


@given(text=st.text())
def test_spans_partition_the_text(tokenizer: Tokenizer, text: str) -> None:
    spans = tokenizer.spans(text)
    assert len(spans) == len(tokenizer.encode(text))
    assert "".join(text[start:stop] for start, stop in spans) == text


def test_spans_are_those_of_the_pieces(tokenizer: Tokenizer) -> None:
    text = "der Hund schläft."
    pieces = tokenizer.tokens(tokenizer.encode(text))
    assert [" " * (not start) + text[start:stop] for start, stop in tokenizer.spans(text)] == [
        piece.replace("\u2581", " ") for piece in pieces
    ]
