"""The texts of documents, as they are translated: lines that are one text, and tags.

A text has formatting and objects as tags; see `translate.documents.document`. Pairs of tags are formatting, so that the
words of a text are those of the same text without them; single ones are placeholders. A translation that has not each
tag exactly once, with pairs nested as pairs, is not written: the text stays, and is flagged "tags".

A line of a text is translated by itself, unless a sentence goes on in the next one; so are sounds and names of speakers
in subtitles.
"""

import re
from collections.abc import Iterator, Sequence

from translate.documents.document import Reading, Unit
from translate.text.placeholders import DOCUMENT_TAG, MESSAGE
from translate.text.sentences import Piece
from translate.text.translation import Translation

# Texts translated together: enough to find sentences of equal lengths, few enough to show progress.
WINDOW, WINDOW_CHARACTERS = 1024, 2**17

_ENDS_TEXT = re.compile(r"""[.!?:;\u2026](?:["'\u2018-\u201f\u2039\u203a\u00bb\u00ab)\]]|\s\u00bb)*\s*\Z""")
_BEGINS_TEXT = re.compile(r"\s*\Z|\s+\S|[-*+\u2013\u2014\u2022\u2023\u25aa\u25cf\u25e6\u266a#>]|\(?\w{1,3}[.)]\s")
_MESSAGE_OR_BREAK = re.compile(rf"{MESSAGE.pattern}|\n")
_FULL_LINE = 50  # characters; a line that is shorter was not ended for its length


def unit_windows(units: Sequence[Unit], reading: Reading) -> Iterator[list[int]]:
    """Yield the numbers of the texts to translate, in windows that are translated together."""
    window, n_characters = list[int](), 0
    for n, unit in enumerate(units):
        if unit.done is not None and not reading.replace:
            continue
        window.append(n)
        n_characters += len(unit.text)
        if len(window) >= WINDOW or n_characters >= WINDOW_CHARACTERS:
            yield window
            window, n_characters = [], 0
    if window:
        yield window


def written(translation: Translation) -> str | None:
    """Return the text for a document; None if the document keeps its own."""
    return None if "tags" in translation.flags else translation.text


def pieces(unit: Unit) -> list[Piece]:
    """Divide a text into parts that are translated by themselves, and what is between them."""
    if unit.spoken:
        from translate.text.subtitles import speech  # which other documents do without

        return list(speech(re.findall(r"[^\n]*\n|[^\n]+", unit.text)))
    first, *others = (Piece(line, translate=True) for line in lines(unit))
    return [first, *(piece for line in others for piece in (Piece("\n", translate=False), line))]


def lines(unit: Unit) -> list[str]:
    """Divide a text at the line breaks that end a text; joined with line breaks, the parts are the text."""
    first, *others = _divided(unit.text)
    found = [first]
    before = first
    for line in others:
        shown = DOCUMENT_TAG.sub("", line)
        if _continues(DOCUMENT_TAG.sub("", before), shown, is_wrapped=unit.wrapped):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
        before = line
    return found


def _divided(text: str) -> list[str]:
    """Divide a text at its line breaks, but for those within messages of ICU."""
    if "{" not in text:
        return text.split("\n")
    found, start = list[str](), 0
    for match in _MESSAGE_OR_BREAK.finditer(text):
        if match[0] == "\n":
            found.append(text[start : match.start()])
            start = match.end()
    return [*found, text[start:]]


def _continues(before: str, line: str, *, is_wrapped: bool) -> bool:
    """Return whether a text goes on in the next line."""
    if _BEGINS_TEXT.match(line) or not before.strip():
        return False
    if is_wrapped:
        return True
    return not _ENDS_TEXT.search(before) and (line[0].islower() or len(before.rstrip()) >= _FULL_LINE)


def keeps_tags(source: str, translation: str) -> bool:
    """Return whether a translation has each tag of its source once, and pairs that contain or exclude each other."""
    own, found = DOCUMENT_TAG.findall(source), DOCUMENT_TAG.findall(translation)
    if not own and not found:
        return True
    return sorted(own) == sorted(found) and (_are_nested(found) or not _are_nested(own))


def _are_nested(tags: Sequence[tuple[str, str, str]]) -> bool:
    opened = list[str]()
    for closes, name, is_single in tags:
        if is_single:
            continue
        if not closes:
            opened.append(name)
        elif not opened or opened.pop() != name:
            return False
    return not opened
