"""Word alignments of translations."""

import pytest

from transformer.search.alignment import cross_attention
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.alignment import _words, align, pharaoh, word_attention
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


def test_attention_between_words_is_the_mean_of_the_sums_over_their_pieces(parts: ModelFolder) -> None:
    source, target = "der Hund singt im Haus.", "the dog, sings"
    found = word_attention(parts, source, target)
    assert (found.source, found.target) == (["der", "Hund", "singt", "im", "Haus", "."], ["the", "dog", ",", "sings"])
    encode = parts.tokenizer.encode
    (weights,) = cross_attention(parts.model, [encode(source)], [encode(target)])
    n_der, n_the, n_dog = (len(encode(text)) for text in ("der", "the", "the dog"))
    assert n_dog > n_the + 1  # a word with several pieces
    assert found.weights[1][0] == pytest.approx(weights[n_the:n_dog, :n_der].sum(1).mean().item(), abs=1e-6)
    with pytest.raises(UserError, match="needs all of it"):
        word_attention(parts, "Ja. " * 40, target)
