"""Word alignments of translations."""

import pytest

from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.alignment import _words, align, pharaoh
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder

LINES = ["der Hund singt im Haus.", "", "  die Katze schläft am See. "]


def test_an_alignment_has_words_of_both_sides(parts: ModelFolder, translator: Translator) -> None:
    for line, translation in zip(LINES, [*translator.translate_lines(LINES)], strict=True):
        pairs = align(parts, line, translation.tokens)
        assert pairs == sorted(set(pairs))
        assert all(s < len(line.split()) and t < len(translation.text.split()) for s, t in pairs)
    with pytest.raises(UserError, match="needs all of it"):
        align(parts, "Ja. " * 40, ["a"])
    assert pharaoh([(0, 0), (1, 2)]) == "0-0 1-2"


def test_pieces_are_assigned_to_their_words(tokenizer: Tokenizer) -> None:
    for text in ("der Hund singt im Haus.", "a  b", " x", ""):
        words = _words(tokenizer.pieces(tokenizer.encode(text)))
        assert sorted({word for word in words if word is not None}) == list(range(len(text.split())))
    assert _words(["\u2581a", "\u2581", "\u2581b", "c"]) == [0, None, 1, 1]
