"""Translation of texts with a format: their pieces are translated or copied, and paragraphs keep their lines."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO

from translate.inference.translator import Translator
from translate.text import formats
from translate.text.pieces import Piece, pieces
from translate.text.translation import Translation
from translate.text.wrapping import wrapped

TranslatedPiece = tuple[Piece, Translation | None]  # None for a piece that is copied

_CUT = "\v"  # stands for a line break: white space that patterns of markup may contain, unlike "\n"


def translate_pieces(
    translator: Translator,
    texts: Sequence[str],
    layout: str,
    *,
    guarded: bool = True,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Translation]:
    """Yield the translation of each piece of text; a piece of several lines keeps its number of lines.

    Args:
        translator: the model.
        texts: pieces of documents.
        layout: one of `formats.FORMATS`; in "lines" a piece is one sentence.
        guarded: as for `Translator.passages`.
        check: called for each piece; may raise an exception to give up.
    """
    markup, indent = formats.markup(layout), formats.indent(layout)
    plain = [re.sub(rf"\n{indent.pattern}", "\n", text) if "\n" in text else text for text in texts]

    def passages(pieces: Iterable[str]) -> Iterator[Translation]:
        return translator.passages(pieces, guarded=guarded, splits=layout != "lines", markup=markup)

    for source, translation in zip(texts, passages(plain), strict=True):
        check()
        if "\n" not in source:
            yield translation
            continue
        text = wrapped(translation.text, source, indent)
        if text is None:  # too few words for this many lines
            parts = _lines(source, markup)
            found = passages([part.text for part in parts if part.translate])
            # A line that is not blank must not become blank, which would begin a new paragraph.
            text = "".join((part.translate and next(found).text.strip()) or part.text for part in parts)
        yield dataclasses.replace(translation, text=text)


def _lines(text: str, markup: re.Pattern[str]) -> list[Piece]:
    """Divide a text into the parts of its lines to translate, and line breaks and markup of several lines to copy."""
    cut = markup.sub(
        lambda match: re.sub(".", _CUT, match[0]) if _CUT in match[0] else match[0], text.replace("\n", _CUT)
    )
    return pieces(text, [line.span() for line in re.finditer(f"[^{_CUT}]+", cut)])


def translate_documents(
    translator: Translator, texts: Sequence[str], layout: str, check: Callable[[], None] = lambda: None
) -> list[list[TranslatedPiece]]:
    """Return the pieces of each text with their translations; the pieces of all texts are translated together.

    Args:
        translator: the model.
        texts: whole texts.
        layout: one of `formats.FORMATS`.
        check: called for each piece; may raise an exception to give up.
    """
    read = formats.reader(layout)
    documents = [list(read(StringIO(text, newline="\n"))) for text in texts]
    wanted = [piece.text for pieces in documents for piece in pieces if piece.translate]
    found = translate_pieces(translator, wanted, layout, check=check)
    return [[(piece, next(found) if piece.translate else None) for piece in pieces] for pieces in documents]


def joined(pieces: Iterable[TranslatedPiece]) -> str:
    """Return the translated text of a document."""
    return "".join(piece.text if translation is None else translation.text for piece, translation in pieces)
