"""Text to token ids and back, exactly: one SentencePiece model for both languages (section 5.1); subword dropout.

`decode(encode(text)) == text` for every text, including spaces and control characters, if the model was trained with
byte fallback; nothing is normalised. SentencePiece writes a space as U+2581, so it would decode a U+2581 of the text to
a space; `_escape` replaces that character.
"""

import hashlib
import io
import itertools
import math
import random
import re
import threading
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from translate.errors import UserError, reason
from translate.text.placeholders import symbol

if TYPE_CHECKING:  # NumPy takes as long to import as a sentence to translate
    import numpy as np
    from numpy.typing import NDArray

    from translate.config.schema import TokenizerConfig

PAD, BOS, EOS, UNK = 0, 1, 2, 3

SPACE_SYMBOL = "\u2581"
ESCAPE = "\x10"  # "data link escape", a control character that sentences do not contain; it escapes itself
# Unigram counts are summed per thread, so this number affects their rounding and so the pieces.
_TRAINING_THREADS = 16
# Memory that training may take, in bytes, and per byte of text. It takes more for text with few spaces, such as
# Chinese: SentencePiece keeps every position of every pair of characters of each distinct word.
_TRAINING_MEMORY = 3 * 2**28
_MEMORY_OF_TEXT = 3
_MEMORY_OF_LONG_WORDS = 50
_LONG_WORD = 32  # bytes; words of languages with spaces are rarely longer
# SentencePiece starts its threads for each call: up to this many texts are sooner encoded one after another, above all
# where the cores are busy, as in a server.
_FEW = 64
_MOST_WORDS = 2**17  # whose ids `WordEncoder` keeps, in about 140 bytes each


class Tokenizer:
    """A trained SentencePiece model; the ids 0 to 3 are padding, beginning, end and unknown.

    Args:
        serialized: the bytes of a SentencePiece model file; ValueError if they are not, or if its special ids differ.

    Attributes:
        target: the tokenizer of texts in the target language: this one, but for imported models that have two, with the
            same ids.
    """

    def __init__(self, serialized: bytes) -> None:
        import sentencepiece

        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=serialized)
        except RuntimeError as error:
            raise ValueError("not a SentencePiece model") from error
        p = self._processor
        special = (p.pad_id(), p.bos_id(), p.eos_id(), p.unk_id())
        if special != (PAD, BOS, EOS, UNK):
            raise ValueError(f"its ids of pad, bos, eos and unk are {special}, not {(PAD, BOS, EOS, UNK)}")
        self.serialized = serialized
        self.target = self

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a model file; UserError if it cannot be read or is not a tokenizer of this project."""
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise UserError(f"{path}: cannot read the tokenizer: {reason(error)}") from error
        except ValueError as error:
            raise UserError(f"{path}: cannot be used as a tokenizer: {error}; restore the file") from error

    def save(self, path: Path) -> None:
        """Write the model file, byte for byte as trained or loaded."""
        path.write_bytes(self.serialized)

    @property
    def sha256(self) -> str:
        """SHA-256 of the model file."""
        return hashlib.sha256(self.serialized).hexdigest()

    @property
    def vocab_size(self) -> int:
        """Number of tokens, including special ones."""
        return int(self._processor.vocab_size())

    @property
    def id_type(self) -> str:
        """The smallest type of array for the ids, in the code that `array` and NumPy share."""
        return "H" if self.vocab_size <= 2**16 else "I"

    @property
    def is_bpe(self) -> bool:
        """Whether the pieces are merges of byte-pair encoding."""
        trainer = self._proto().trainer_spec
        return bool(trainer.model_type == trainer.BPE)

    @property
    def unk(self) -> int:
        """Id of the unknown token, which does not occur with byte fallback."""
        return UNK

    @property
    def n_placeholders(self) -> int:
        """Number of placeholders that are tokens, counted from the first."""
        p = self._processor
        return next(i for i in itertools.count() if p.piece_to_id(symbol(i)) in (UNK, -1))

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without bos and eos; empty for the empty text."""
        return list(self._processor.encode(_escape(text)))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the characters of the text, from start to stop, that each token of `encode(text)` stands for.

        A space belongs to the token after it, and a character of several bytes to the last byte.
        """
        places = [i for i, character in enumerate(text) for _ in _escape(character).encode()]
        is_byte, escaped = self._processor.is_byte, _escape(text)
        pieces = zip(self._processor.encode(escaped), self._processor.encode(escaped, out_type=str), strict=True)
        lengths = (1 if is_byte(i) else len(piece.replace(SPACE_SYMBOL, " ").encode()) for i, piece in pieces)
        stops = [0, *itertools.accumulate(lengths)]
        added = stops[-1] - len(places)  # the space before the text
        last = len(places)
        places.append(len(text))
        return [(places[max(0, a - added)], places[min(max(0, b - added), last)]) for a, b in itertools.pairwise(stops)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return `encode` of each text; many texts are encoded in parallel."""
        if len(texts) <= _FEW:
            return [self.encode(text) for text in texts]
        return list(self._processor.encode([_escape(text) for text in texts]))

    @property
    def splits_at_spaces(self) -> bool:
        """Whether the ids of a text are those of its words, one after another, each with the space before it.

        So it is with merges, which join neighbours, as no piece of a tokenizer of `train` has a space within. The most
        probable pieces of a unigram model depend on sums over the text, which are rounded.
        """
        proto = self._proto()
        normalizer = proto.normalizer_spec
        is_plain = normalizer.add_dummy_prefix and not normalizer.remove_extra_whitespaces
        names = {piece.piece for piece in proto.pieces}
        return bool(
            self.is_bpe
            and is_plain
            and not normalizer.precompiled_charsmap
            and not proto.trainer_spec.treat_whitespace_as_suffix
            and SPACE_SYMBOL in names
            and not any(SPACE_SYMBOL in name[1:] for name in names)
        )

    def knows(self, word: str) -> bool:
        """Return whether a model can have learned to write a word.

        Each character must be in a piece and, in a word with a capital, which may be a name, in a longer one: a letter
        that was joined with no other, such as that of a language that the corpus is not in, is too rare to be learned.
        """
        letters = frozenset(letter for letter in word if not letter.isascii())
        return not letters or letters <= (self._letters[1] if word[0].isupper() else self._letters[0])

    @cached_property
    def _letters(self) -> tuple[frozenset[str], frozenset[str]]:
        """The characters of all pieces, and those that are in one of several characters."""
        p = self._processor
        ids = [i for i in range(self.vocab_size) if not (p.is_byte(i) or p.is_control(i) or p.is_unknown(i))]
        pieces = [piece.replace(SPACE_SYMBOL, "") for piece in p.id_to_piece(ids)]
        return frozenset().union(*pieces), frozenset().union(*(piece for piece in pieces if len(piece) > 1))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids; pad, bos and eos are dropped, the unknown token becomes U+2047 between spaces.

        Invalid sequences of bytes, which no text encodes to, become U+FFFD.
        """
        return _unescape(self._processor.decode([int(i) for i in ids if i > EOS]))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the token of each id as SentencePiece writes it, with U+2581 for a space and <0x0A> for a byte."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """Return the id of each token; that of the unknown token if there is no such token."""
        return [int(self._processor.piece_to_id(token)) for token in tokens]

    def scores(self) -> dict[str, tuple[int, float]]:
        """Return id and score of each piece of text: not of special pieces, bytes, placeholders and tags."""
        pieces = self._proto().pieces
        return {piece.piece: (i, piece.score) for i, piece in enumerate(pieces) if piece.type == piece.NORMAL}

    @property
    def symbols(self) -> list[str]:
        """The placeholders and tags, which are tokens wherever they are in a text."""
        return [piece.piece for piece in self._proto().pieces if piece.type == piece.USER_DEFINED]

    def _proto(self) -> Any:
        from sentencepiece import sentencepiece_model_pb2 as schema

        return schema.ModelProto.FromString(self.serialized)


class WordEncoder:
    """Encodes the many texts of a corpus: a frequent word only once, if the tokenizer splits at spaces."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._words = _Words(tokenizer) if tokenizer.splits_at_spaces else None

    def __call__(self, texts: Sequence[str]) -> list[bytes]:
        """Return `Tokenizer.encode` of each text, as the bytes of an array of `Tokenizer.id_type`."""
        if self._words is None:
            return [array(self.tokenizer.id_type, ids).tobytes() for ids in self.tokenizer.encode_batch(texts)]
        return [b"".join(map(self._words.__getitem__, text.split(" "))) if text else b"" for text in texts]


class _Words(dict[str, bytes]):
    """The ids of words, each with the space before it; a word is encoded when it is first looked up."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self._type = tokenizer, tokenizer.id_type

    def __missing__(self, word: str) -> bytes:
        if len(self) >= _MOST_WORDS:
            self.clear()
        ids = self._tokenizer.encode(word) if word else self._tokenizer.ids([SPACE_SYMBOL])
        self[word] = encoded = array(self._type, ids).tobytes()
        return encoded


class VocabularyError(UserError):
    """A vocabulary of this size cannot be trained on the text."""


class LargeVocabularyError(VocabularyError):
    """The text has fewer pieces than the vocabulary should have; more text may have them."""


def train(sentences: Iterable[str], config: "TokenizerConfig", symbols: Collection[str] = ()) -> Tokenizer:
    """Train on sentences of both languages together; the same sentences in the same order give the same pieces.

    All sentences are used; `sample` limits their number. Raises VocabularyError if the vocabulary is too large or too
    small for them, UserError if SentencePiece fails otherwise, and what the iterator raises.
    """
    import sentencepiece

    model, reading = io.BytesIO(), _Reading(map(_escape, sentences))

    def work() -> None:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=reading,
            model_writer=model,
            model_type=config.algorithm,
            vocab_size=config.vocab_size,
            byte_fallback=config.byte_fallback,
            character_coverage=config.character_coverage,
            # These two keep the text unchanged. SentencePiece still adds a space before a sentence, so that a word is
            # the same piece at the start of a sentence as elsewhere; decoding removes it.
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=2**30,  # bytes; the default silently skips long sentences
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            user_defined_symbols=[*(symbol(i) for i in range(config.placeholders)), *sorted(symbols)],
            num_threads=_TRAINING_THREADS,
            minloglevel=2,
        )

    try:
        _call(work, reading)
    except RuntimeError as error:
        if reading.error is not None:
            raise reading.error from None
        raise _training_problem(str(error), config.vocab_size) from error
    return Tokenizer(model.getvalue())


class _Reading:
    """An iterator that keeps the exception that ends it, which SentencePiece makes a RuntimeError of."""

    def __init__(self, sentences: Iterator[str]) -> None:
        self._sentences = sentences
        self.error: BaseException | None = None
        self.is_stopped = self.is_over = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            if self.is_stopped:
                raise RuntimeError("stopped")
            return next(self._sentences)
        except BaseException as error:
            self.is_over = True
            if not isinstance(error, StopIteration):
                self.error = error
            raise


def _call(work: Callable[[], None], reading: _Reading) -> None:
    """Call a function in a thread, so that Ctrl-C ends the call at once: in C++, no signal reaches Python.

    What the function reads is stopped before; then it computes on until it or the process ends.
    """
    raised = list[BaseException]()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="tokenizer", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)  # a signal just before a wait without limit would be seen after it
    except BaseException:
        reading.is_stopped = True
        while thread.is_alive() and not reading.is_over:
            thread.join(0.01)
        raise
    for error in raised:
        raise error


def sample(sentences: Iterable[str], total: int, n: int) -> Iterator[str]:
    """Return a uniform random sample of `n` sentences in order, or all if there are no more.

    Streams: takes each sentence with probability (sentences still wanted) / (sentences left).

    Args:
        total: their number.
    """
    return (sentence for sentence, is_in in zip(sentences, sampled(total, n), strict=True) if is_in)


def sampled(total: int, n: int) -> Iterator[bool]:
    """Yield for each of `total` sentences whether it is in the `sample` of `n`."""
    rng = random.Random(0)
    wanted = min(n, total)
    for left in range(total, 0, -1):
        is_in = wanted == left or rng.random() * left < wanted
        wanted -= is_in
        yield is_in


class TextSize(NamedTuple):
    """The size of text whose lines are all ended.

    Attributes:
        n_bytes: of UTF-8.
        in_long_words: those in words of more than 32 bytes; only spaces and line ends separate words.
    """

    n_bytes: int
    in_long_words: int

    @classmethod
    def of(cls, lines: bytes) -> "TextSize":
        """Return the size of complete lines."""
        import numpy as np

        ends = np.flatnonzero(np.frombuffer(lines, dtype=np.uint8) <= ord(" "))
        lengths = np.diff(ends, prepend=-1) - 1
        return cls(len(lines), int(lengths[lengths > _LONG_WORD].sum()))

    @classmethod
    def total(cls, sizes: Iterable["TextSize"]) -> "TextSize":
        """Return the sum of sizes."""
        return cls(*map(sum, zip((0, 0), *sizes, strict=True)))


def affordable(size: TextSize, n_sentences: int) -> int:
    """Return the number of sentences of a text, of `n_sentences` of about equal size, that training has memory for."""
    needed = _MEMORY_OF_TEXT * size.n_bytes + _MEMORY_OF_LONG_WORDS * size.in_long_words
    return max(n_sentences * _TRAINING_MEMORY // max(needed, 1), 1)


def _training_problem(message: str, vocab_size: int) -> UserError:
    """Return SentencePiece's error as one sentence that names the setting to change."""
    if largest := re.search(r"<= (\d+)", message):
        return LargeVocabularyError(
            f"tokenizer.vocab_size = {vocab_size} is too large for this corpus: set it to at most {largest[1]}, "
            "or add text"
        )
    if smallest := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return VocabularyError(
            f"tokenizer.vocab_size = {vocab_size} is too small: the special pieces and the characters of this corpus "
            f"alone need {smallest[1]}; raise it or lower tokenizer.character_coverage"
        )
    if "sentences_.empty()" in message:
        return VocabularyError("there is no text to train the tokenizer on: every sentence is empty")
    return UserError(f"SentencePiece could not train the tokenizer: {' '.join(message.split())}")


def _escape(text: str) -> str:
    """Return the text without U+2581: it and the escape character become two characters each."""
    if SPACE_SYMBOL not in text and ESCAPE not in text:
        return text
    return text.replace(ESCAPE, ESCAPE * 2).replace(SPACE_SYMBOL, ESCAPE + "_")


def _unescape(text: str) -> str:
    """Return the inverse of `_escape`; keeps a lone escape, which only a model can produce."""
    if ESCAPE not in text:
        return text
    return re.sub(f"{ESCAPE}([{ESCAPE}_])", lambda m: SPACE_SYMBOL if m[1] == "_" else ESCAPE, text)


NO_PARTS = -1


class SubwordDropout:
    """Subword dropout: splits pieces at random into shorter ones, differently each time that a sentence is used.

    A model that sees a word as different sequences of pieces learns what the pieces mean, which helps with rare words
    and small corpora: BPE-dropout (Provilkov et al., 2020). That method skips merges while it encodes text. This one
    undoes merges of encoded text, so training does not need the text. Every sequence decodes to the same text.

    Args:
        rate: probability that a piece is split; each part is split again with the same probability.
        max_tokens: longest sentence in tokens, its end included; one that would become longer is not split.
    """

    def __init__(self, tokenizer: Tokenizer, rate: float, max_tokens: int) -> None:
        import numpy as np

        self._rate, self._max_tokens = rate, max_tokens
        self._parts = np.full((tokenizer.vocab_size, 2), NO_PARTS)
        for id, found in parts(tokenizer.scores(), merges=tokenizer.is_bpe).items():
            self._parts[id] = found

    def __call__(self, ids: "NDArray[np.integer]", rng: "np.random.Generator") -> "NDArray[np.integer]":
        """Return the ids of one sentence, (T,), with some pieces in parts, (at least T,)."""
        import numpy as np

        whole = ids
        is_new = np.ones(len(ids), dtype=bool)
        while True:
            chosen = is_new & (self._parts[ids, 0] != NO_PARTS)
            chosen &= rng.random(len(ids)) < self._rate
            if not chosen.any():
                return ids if len(ids) < self._max_tokens else whole
            n_parts = np.where(chosen, 2, 1)
            first = np.cumsum(n_parts)[chosen] - 2  # position of the first part of each chosen piece
            found = self._parts[ids[chosen]]
            ids, is_new = np.repeat(ids, n_parts), np.repeat(chosen, n_parts)
            ids[first], ids[first + 1] = found[:, 0], found[:, 1]


def parts(pieces: Mapping[str, tuple[int, float]], *, merges: bool) -> dict[int, tuple[int, int]]:
    """Return the ids of the two parts of each piece, by its id; pieces that no two others make up are skipped.

    Args:
        pieces: id and score of each piece of text.
        merges: whether the pieces are merges of BPE, whose score is the negative rank of the merge: then the parts are
            the two that BPE merges into the piece. In a unigram model they are the two with the highest total score,
            its most probable segmentation in two.
    """
    split = _merged if merges else _most_probable
    found = {id: split(piece, pieces) for piece, (id, _) in pieces.items()}
    return {id: (pieces[two[0]][0], pieces[two[1]][0]) for id, two in found.items() if two is not None}


def _merged(piece: str, pieces: Mapping[str, tuple[int, float]]) -> tuple[str, str] | None:
    """Return the two pieces of the last merge when BPE encodes the text of `piece`."""
    text = list(piece)
    while len(text) > 2:
        joined = [a + b for a, b in pairwise(text)]
        scores = [pieces[one][1] if one in pieces else -math.inf for one in joined]
        best = max(scores)
        if best == -math.inf:
            return None
        i = scores.index(best)
        text[i : i + 2] = [joined[i]]
    return (text[0], text[1]) if len(text) == 2 and all(part in pieces for part in text) else None


def _most_probable(piece: str, pieces: Mapping[str, tuple[int, float]]) -> tuple[str, str] | None:
    splits = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
    known = [(a, b) for a, b in splits if a in pieces and b in pieces]
    return max(known, key=lambda two: pieces[two[0]][1] + pieces[two[1]][1], default=None)
