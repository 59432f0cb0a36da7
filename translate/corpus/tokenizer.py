"""Text to token ids and back, exactly: one SentencePiece model for both languages (section 5.1).

`decode(encode(text)) == text` for every text, spaces and control characters included, as long as the model was
trained with byte fallback; nothing is normalised. SentencePiece keeps all characters but one: it writes a space as
U+2581, so a U+2581 of the text would come back as a space. `_escape` hides it before SentencePiece sees it.

Reads on its own: sentencepiece, numpy and the standard library.
"""

import io
import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import sentencepiece

from translate.config.schema import TokenizerConfig
from translate.errors import UserError

PAD, BOS, EOS, UNK = 0, 1, 2, 3

_SPACE_SYMBOL = "\u2581"
_ESCAPE = "\x10"  # "data link escape", a control character that no sentence needs; it is escaped by itself
# Unigram counts are summed by thread, so their rounding, and with it the pieces, depend on this number.
_TRAINING_THREADS = 16
# Memory that training may take, in bytes, and per byte of text. It takes more for text with few spaces, such as
# Chinese: SentencePiece keeps every position of every pair of characters of each distinct word.
_TRAINING_MEMORY = 3 * 2**28
_MEMORY_OF_TEXT = 3
_MEMORY_OF_LONG_WORDS = 50
_LONG_WORD = 32  # bytes; words of languages with spaces are rarely longer


class Tokenizer:
    """A trained SentencePiece model; the ids 0 to 3 are padding, beginning, end and unknown.

    Args:
        serialized: the bytes of a SentencePiece model file. Raises ValueError if they are none, or if its special
            ids are others.
    """

    def __init__(self, serialized: bytes) -> None:
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=serialized)
        except RuntimeError as error:
            raise ValueError("not a SentencePiece model") from error
        p = self._processor
        special = (p.pad_id(), p.bos_id(), p.eos_id(), p.unk_id())
        if special != (PAD, BOS, EOS, UNK):
            raise ValueError(f"its ids of pad, bos, eos and unk are {special}, not {(PAD, BOS, EOS, UNK)}")
        self.serialized = serialized

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a model file; UserError if it is missing or no tokenizer of this project."""
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise UserError(f"{path}: cannot read the tokenizer: {error.strerror}") from error
        except ValueError as error:
            raise UserError(f"{path}: cannot be used as a tokenizer: {error}") from error

    def save(self, path: Path) -> None:
        """Write the model file, the same bytes that were trained or loaded."""
        path.write_bytes(self.serialized)

    @property
    def vocab_size(self) -> int:
        """Number of pieces, special ones included."""
        return int(self._processor.vocab_size())

    @property
    def unk(self) -> int:
        """Id of the unknown piece; with byte fallback no text contains it."""
        return UNK

    @property
    def n_placeholders(self) -> int:
        """How many of the placeholders are a piece of their own, counted from the first."""
        p = self._processor
        return next(i for i in itertools.count() if p.piece_to_id(placeholder(i)) in (UNK, -1))

    def encode(self, text: str) -> list[int]:
        """Token ids of one text, without beginning and end; the empty text has none."""
        return list(self._processor.encode(_escape(text)))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text, several times as fast as one by one."""
        return list(self._processor.encode([_escape(text) for text in texts])) if texts else []

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids; padding, beginning and end vanish, an unknown piece becomes U+2047 between spaces.

        Ids that no text encodes to, such as half a character in bytes, decode to U+FFFD where they make no sense.
        """
        return _unescape(self._processor.decode([int(i) for i in ids if i > EOS]))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The piece of each id as SentencePiece writes it: U+2581 stands for a space, <0x0A> for a byte."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The inverse of `pieces`; what is no piece becomes the unknown one."""
        return [int(self._processor.piece_to_id(piece)) for piece in pieces]


def placeholder(i: int) -> str:
    """Symbol `i`, from 0 on, that stands for a part of a text which is not to be translated."""
    return f"\u27e6{i + 1}\u27e7"


def train(sentences: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Train on sentences of both languages together; the same sentences in the same order give the same pieces.

    `sample` takes `config.max_sentences` of many. Raises UserError if the sentences cannot fill the vocabulary or do
    not fit into it.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=map(_escape, sentences),
            model_writer=model,
            model_type=config.algorithm,
            vocab_size=config.vocab_size,
            byte_fallback=config.byte_fallback,
            character_coverage=config.character_coverage,
            # These two keep the text as it is. The space that SentencePiece puts in front of a sentence stays on,
            # so that a word is the same piece at the start of a sentence as within; decoding takes it off again.
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=2**30,  # bytes; the default would skip long sentences without a word
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            user_defined_symbols=[placeholder(i) for i in range(config.placeholders)],
            num_threads=_TRAINING_THREADS,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise UserError(_training_problem(str(error), config.vocab_size)) from error
    return Tokenizer(model.getvalue())


def sample(sentences: Iterable[str], total: int, n: int) -> Iterator[str]:
    """All of `total` sentences if they are at most `n`, else `n` of them in order, each set of n equally likely.

    None is held: each is taken with the chance that what is still wanted has among what is still to come.
    """
    rng = random.Random(0)
    wanted = min(n, total)
    for left, sentence in zip(range(total, 0, -1), sentences, strict=True):
        if wanted == left or rng.random() * left < wanted:
            wanted -= 1
            yield sentence


def affordable(path: Path, n_sentences: int) -> int:
    """Return the number of sentences of a file, of `n_sentences` of about equal size, that training has memory for."""
    needed = _MEMORY_OF_TEXT * path.stat().st_size + _MEMORY_OF_LONG_WORDS * _in_long_words(path)
    return max(n_sentences * _TRAINING_MEMORY // max(needed, 1), 1)


def _in_long_words(path: Path) -> int:
    """Return the bytes of a file in words of more than _LONG_WORD bytes; only spaces and line ends separate words."""
    n = 0
    with path.open("rb") as file:
        while lines := file.readlines(2**20):
            ends = np.flatnonzero(np.frombuffer(b"".join(lines), dtype=np.uint8) <= ord(" "))
            lengths = np.diff(ends, prepend=-1) - 1
            n += int(lengths[lengths > _LONG_WORD].sum())
    return n


def _training_problem(message: str, vocab_size: int) -> str:
    """SentencePiece's reason as one sentence about the setting that mends it."""
    if largest := re.search(r"<= (\d+)", message):
        return (
            f"tokenizer.vocab_size = {vocab_size} is too large for this corpus: set it to at most {largest[1]}, "
            "or add text"
        )
    if smallest := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return (
            f"tokenizer.vocab_size = {vocab_size} is too small: the special pieces and the characters of this corpus "
            f"alone need {smallest[1]}; raise it or lower tokenizer.character_coverage"
        )
    if "sentences_.empty()" in message:
        return "there is no text to train the tokenizer on: every sentence is empty"
    return f"SentencePiece could not train the tokenizer: {' '.join(message.split())}"


def _escape(text: str) -> str:
    """`text` without U+2581: each becomes two characters, and so does each escape character."""
    if _SPACE_SYMBOL not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE * 2).replace(_SPACE_SYMBOL, _ESCAPE + "_")


def _unescape(text: str) -> str:
    """The inverse of `_escape`; a lone escape, which only a model can invent, stays as it is."""
    if _ESCAPE not in text:
        return text
    return re.sub(f"{_ESCAPE}([{_ESCAPE}_])", lambda m: _SPACE_SYMBOL if m[1] == "_" else _ESCAPE, text)
