"""Translation of texts with a format: their pieces are translated or copied, and paragraphs keep their lines."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from translate.inference.translator import Translator
from translate.text import formats
from translate.text.pieces import Piece
from translate.text.translation import Translation
from translate.text.wrapping import wrapped

TranslatedPiece = tuple[Piece, Translation | None]  # None for a piece that is copied


def translate_pieces(
    translator: Translator, texts: Sequence[str], layout: str, *, guarded: bool = True
) -> Iterator[Translation]:
    """Yield the translation of each piece of text; a piece of several lines keeps its number of lines.

    Args:
        translator: the model.
        texts: pieces of documents.
        layout: one of `formats.FORMATS`; in "lines" a piece is one sentence.
        guarded: as for `Translator.passages`.
    """

    def passages(pieces: Iterable[str]) -> Iterator[Translation]:
        return translator.passages(pieces, guarded=guarded, splits=layout != "lines", markup=formats.markup(layout))

    for source, translation in zip(texts, passages(texts), strict=True):
        if "\n" not in source:
            yield translation
            continue
        text = wrapped(translation.text, source)
        if text is None:  # too few words for this many lines
            lines = source.split("\n")
            translated = [found.text for found in passages(lines)]
            text = "\n".join(new if new.strip() else old for new, old in zip(translated, lines, strict=True))
        yield dataclasses.replace(translation, text=text)


def translate_documents(translator: Translator, texts: Sequence[str], layout: str) -> list[list[TranslatedPiece]]:
    """Return the pieces of each text with their translations; the pieces of all texts are translated together.

    Args:
        translator: the model.
        texts: whole texts.
        layout: one of `formats.FORMATS`.
    """
    read = formats.reader(layout)
    documents = [list(read(StringIO(text, newline="\n"))) for text in texts]
    found = translate_pieces(translator, [p.text for pieces in documents for p in pieces if p.translate], layout)
    return [[(piece, next(found) if piece.translate else None) for piece in pieces] for pieces in documents]


def joined(pieces: Iterable[TranslatedPiece]) -> str:
    """Return the translated text of a document."""
    return "".join(piece.text if translation is None else translation.text for piece, translation in pieces)
