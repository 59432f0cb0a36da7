"""Documents keep their layout, and alternative translations differ from the best one."""

import pytest

from translate.inference.documents import joined, translate_documents
from translate.inference.translator import Translator
from translate.inference.variants import variants

TEXT = "der Hund schläft.\r\n\n  die Katze singt im Haus. das Kind läuft.  \n\tein Vogel"


def test_documents_are_translated_like_texts(translator: Translator) -> None:
    texts = [TEXT, "", "\n", "das Kind singt."]
    assert [joined(pieces) for pieces in translate_documents(translator, texts, "text")] == translator(texts)


@pytest.mark.parametrize("layout", ["text", "markdown", "html", "srt", "tsv"])
def test_pieces_joined_are_the_document(translator: Translator, layout: str) -> None:
    (pieces,) = translate_documents(translator, [TEXT], layout)
    assert "".join(piece.text for piece, _ in pieces) == TEXT
    assert all((translation is not None) == piece.translate for piece, translation in pieces)


def test_variants_are_distinct_and_few_enough(translator: Translator) -> None:
    text = "der Hund schläft im Haus. die Katze singt am See."
    best = translator(text)
    found = variants(translator, text, 3)
    assert 0 < len(found) <= 3
    assert len({best, *found}) == len(found) + 1
    assert variants(translator, "123 !", 3) == []
